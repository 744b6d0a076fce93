use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use milena_messages::list_offsets::request::{ListOffsetsPartition, ListOffsetsTopic};
use milena_messages::list_offsets::response::ListOffsetsPartitionResponse;
use milena_messages::{ApiKey, ByteString, ListOffsetsRequest, ListOffsetsResponse};
use tokio::task::JoinSet;

use crate::call::{Operation, Reply, Route, Subject, invalidate, send_once};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::metadata::Lookup;
use crate::net::{Endpoint, Link};

/// Which offset of a partition is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OffsetSpec {
    /// The oldest record that is still there.
    Earliest,
    /// The end: the offset that the next record will get; with [`Isolation::ReadCommitted`] the first offset whose
    /// transaction is still open.
    Latest,
    /// The first record at or after a time, in milliseconds since 1970, which is not negative. Before 0.10.1 (ListOffsets 0)
    /// brokers know no times of records, so that the client reads the partition and compares.
    Timestamp(i64),
    /// The record with the greatest timestamp (KIP-734, Kafka 3.0).
    MaxTimestamp,
    /// The oldest record on the broker's own disk (KIP-405, Kafka 3.5).
    EarliestLocal,
    /// The newest record in tiered storage (KIP-1005, Kafka 3.9).
    LatestTiered,
    /// The oldest record that is not in tiered storage yet (Kafka 4.2).
    EarliestPendingUpload,
}

impl OffsetSpec {
    /// The number in the request, and the version from which on it means this.
    fn number(self) -> (i64, i16) {
        match self {
            Self::Latest => (-1, 0),
            Self::Earliest => (-2, 0),
            Self::Timestamp(timestamp) => (timestamp, 1),
            Self::MaxTimestamp => (-3, 7),
            Self::EarliestLocal => (-4, 8),
            Self::LatestTiered => (-5, 9),
            Self::EarliestPendingUpload => (-6, 11),
        }
    }
}

/// What a reader sees of transactions (KIP-98).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// Every record, also those of transactions that are open or were aborted.
    #[default]
    ReadUncommitted,
    /// No record of a transaction that is open or was aborted.
    ReadCommitted,
}

impl Isolation {
    pub(crate) fn number(self) -> i8 {
        i8::from(self == Self::ReadCommitted)
    }
}

/// An offset that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundOffset {
    /// The offset.
    pub offset: i64,
    /// Timestamp of the record there, in milliseconds since 1970; `None` for the ends of the log.
    pub timestamp: Option<i64>,
    /// Epoch of the leader that wrote it (KIP-320); `None` before ListOffsets 4.
    pub leader_epoch: Option<i32>,
}

/// One offset that is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) topic: &'a str,
    pub(crate) partition: i32,
    pub(crate) spec: OffsetSpec,
}

/// The result for one of them.
#[derive(Clone, Debug)]
pub(crate) enum Listed {
    Found(Option<FoundOffset>),
    /// The broker knows no times.
    NoTimes,
    Failed(Error),
}

/// Looks up offsets with ListOffsets requests. Each partition has its own result; those that fail for the moment are tried
/// again while the others are kept.
pub(crate) async fn list(core: &Arc<Core>, wanted: &[Wanted<'_>], isolation: Isolation) -> Vec<Listed> {
    let mut results: Vec<Option<Listed>> = wanted.iter().map(|wanted| refused(*wanted).map(Listed::Failed)).collect();
    let mut operation = Operation::new(core).with_leader_grace();
    loop {
        let missing: Vec<usize> = (0..wanted.len()).filter(|&index| results[index].is_none()).collect();
        if missing.is_empty() {
            break;
        }
        let mut again = None;
        for (index, listed) in attempt(core, &mut operation, wanted, &missing, isolation).await {
            match listed {
                Listed::Failed(error) => {
                    invalidate(core, &error, Some(wanted[index].topic));
                    match operation.attempts.is_over(&error) {
                        true => results[index] = Some(Listed::Failed(operation.attempts.over(error))),
                        false => again = Some(error),
                    }
                }
                listed => results[index] = Some(listed),
            }
        }
        // What is not over gets a pause and another attempt.
        let Some(error) = again else { continue };
        if let Err(error) = operation.settle::<()>(Err(error)).await {
            results.iter_mut().filter(|result| result.is_none()).for_each(|result| {
                *result = Some(Listed::Failed(error.clone()));
            });
        }
    }
    results.into_iter().flatten().collect()
}

/// What is refused without asking.
fn refused(wanted: Wanted<'_>) -> Option<Error> {
    match wanted.spec {
        OffsetSpec::Timestamp(time) if time < 0 => {
            Some(Error::Invalid(format!("the time {time} is before 1970; times are milliseconds from then on")))
        }
        _ => None,
    }
}

/// Asks all leaders once, at the same time.
async fn attempt(
    core: &Arc<Core>,
    operation: &mut Operation<'_>,
    wanted: &[Wanted<'_>],
    missing: &[usize],
    isolation: Isolation,
) -> Vec<(usize, Listed)> {
    let mut results = Vec::new();
    let mut rounds: Vec<(Endpoint, Vec<usize>)> = Vec::new();
    for (index, leader) in leaders(core, operation, wanted, missing).await {
        let endpoint = match leader {
            Ok(endpoint) => endpoint,
            Err(error) => {
                results.push((index, Listed::Failed(error)));
                continue;
            }
        };
        // One partition may be asked for more than once, but not in one request.
        let same = |other: &usize| {
            (wanted[*other].topic, wanted[*other].partition) == (wanted[index].topic, wanted[index].partition)
        };
        let round = rounds
            .iter_mut()
            .find(|(other, round)| other.address.text() == endpoint.address.text() && !round.iter().any(same));
        match round {
            Some((_, round)) => round.push(index),
            None => rounds.push((endpoint, vec![index])),
        }
    }
    let (limit, timeout_ms) = (operation.attempts.limit(), operation.attempts.broker_timeout_ms());
    let mut requests = JoinSet::new();
    for (endpoint, round) in rounds {
        let core = Arc::clone(core);
        let entries: Vec<(String, i32, OffsetSpec)> =
            round.iter().map(|&index| wanted[index]).map(|w| (w.topic.to_owned(), w.partition, w.spec)).collect();
        requests.spawn(async move {
            let version = |link: &Link| link.version_of(ApiKey::LIST_OFFSETS);
            let make = |_: &Link, version| Ok(request(&entries, version, isolation, timeout_ms));
            let (result, muted) = send_once(&core, Route::At(&endpoint), limit, version, make).await;
            (round, result, muted)
        });
    }
    let mut longest = Duration::ZERO;
    while let Some(done) = requests.join_next().await {
        // Only a panic or the end of the runtime comes here without a result.
        let Ok((round, result, muted)) = done else { continue };
        longest = longest.max(muted);
        match result {
            Ok(reply) => results.extend(round.into_iter().map(|index| (index, read(&reply, wanted[index])))),
            Err(error) => results.extend(round.into_iter().map(|index| (index, Listed::Failed(error.clone())))),
        }
    }
    operation.attempts.extend(longest);
    results
}

/// The leader of each partition. What is not known is looked up with one request for all.
async fn leaders(
    core: &Core,
    operation: &mut Operation<'_>,
    wanted: &[Wanted<'_>],
    missing: &[usize],
) -> Vec<(usize, Result<Endpoint>)> {
    let look_up = |index: usize| core.metadata.cache.look_up(wanted[index].topic, wanted[index].partition);
    let unknown = missing.iter().filter(|&&index| !matches!(look_up(index), Lookup::Leader(_)));
    let mut topics: Vec<&str> = unknown.map(|&index| wanted[index].topic).collect();
    topics.sort_unstable();
    topics.dedup();
    let snapshot = match topics.is_empty() {
        true => None,
        false => Some(operation.refresh(&topics).await),
    };
    let mut leaders = Vec::new();
    for &index in missing {
        let Wanted { topic, partition, .. } = wanted[index];
        let leader = match (look_up(index), &snapshot) {
            (Lookup::Leader(leader), _) => Ok(leader.endpoint),
            (_, Some(Err(error))) => Err(error.clone()),
            (_, Some(Ok(snapshot))) => Err(snapshot.no_leader(topic, partition)),
            // Another call has just found out that the leader moved.
            (_, None) => Err(Error::NoLeader { topic: topic.into(), partition }),
        };
        leaders.push((index, leader));
    }
    leaders
}

fn read(reply: &Reply<ListOffsetsResponse>, wanted: Wanted<'_>) -> Listed {
    let Wanted { topic, partition, spec } = wanted;
    let (_, since) = spec.number();
    if reply.version < since {
        if let OffsetSpec::Timestamp(_) = spec {
            return Listed::NoTimes;
        }
        return Listed::Failed(Error::Unsupported {
            address: Arc::clone(&reply.address),
            api: ApiKey::LIST_OFFSETS,
            reason: format!("{spec:?} needs version {since}, the broker speaks {}", reply.version),
        });
    }
    let topics = reply.body.iter().flat_map(|body| &body.topics).filter(|named| &*named.name == topic);
    let Some(found) = topics.flat_map(|named| &named.partitions).find(|named| named.partition_index == partition)
    else {
        return Listed::Failed(Error::missing(&reply.address, ApiKey::LIST_OFFSETS, topic, partition));
    };
    match found.error_code.is_none() {
        true => Listed::Found(offset(found, reply.version)),
        false => {
            let subject = Subject::partition(topic, partition);
            Listed::Failed(reply.error(ApiKey::LIST_OFFSETS, found.error_code, subject))
        }
    }
}

fn offset(found: &ListOffsetsPartitionResponse, version: i16) -> Option<FoundOffset> {
    let offset = if version == 0 { *found.old_style_offsets.first()? } else { found.offset };
    (offset >= 0).then_some(FoundOffset {
        offset,
        timestamp: (found.timestamp >= 0).then_some(found.timestamp),
        leader_epoch: (found.leader_epoch >= 0).then_some(found.leader_epoch),
    })
}

/// What the version cannot look up is left out.
fn request(
    entries: &[(String, i32, OffsetSpec)],
    version: i16,
    isolation: Isolation,
    timeout_ms: i32,
) -> ListOffsetsRequest {
    let mut topics: BTreeMap<&str, Vec<ListOffsetsPartition>> = BTreeMap::new();
    for (topic, partition_index, spec) in entries {
        let (timestamp, since) = spec.number();
        if version >= since {
            let partition = ListOffsetsPartition { partition_index: *partition_index, timestamp, ..Default::default() };
            topics.entry(topic).or_default().push(partition);
        }
    }
    let topic =
        |(name, partitions)| ListOffsetsTopic { name: ByteString::from(name), partitions, ..Default::default() };
    ListOffsetsRequest {
        replica_id: -1,
        // Before version 2 there are no transactions.
        isolation_level: if version >= 2 { isolation.number() } else { 0 },
        topics: topics.into_iter().map(topic).collect(),
        timeout_ms,
        ..Default::default()
    }
}
