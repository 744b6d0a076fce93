use std::collections::BTreeMap;
use std::sync::Arc;

use milena_messages::list_offsets::request::{ListOffsetsPartition, ListOffsetsTopic};
use milena_messages::list_offsets::response::ListOffsetsPartitionResponse;
use milena_messages::{ApiKey, ByteString, ListOffsetsRequest};

use crate::attempts::Attempts;
use crate::client::{About, Client, Whom};
use crate::error::{Error, Result};
use crate::link::Link;

/// Which offset of a partition is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OffsetSpec {
    /// The oldest record that is still there.
    Earliest,
    /// The end: the offset that the next record will get; with [`Isolation::ReadCommitted`] the first offset whose
    /// transaction is not decided.
    Latest,
    /// The first record at or after a time, in milliseconds since 1970. Before 0.10.1 (ListOffsets 0) brokers only know
    /// where a segment begins, and answer with the beginning of one that was last written before that time.
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
    /// The number in the request, and the version that brought it.
    fn number(self) -> (i64, i16) {
        match self {
            Self::Latest => (-1, 0),
            Self::Earliest => (-2, 0),
            Self::Timestamp(timestamp) => (timestamp, 0),
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

impl Client {
    /// Looks up one offset; `None` when there is no such record.
    ///
    /// # Errors
    /// A kind of offset that the broker's version cannot look up ([`Error::Unsupported`]); the broker's refusal; the
    /// deadline.
    pub async fn offset(&self, topic: &str, partition: i32, spec: OffsetSpec) -> Result<Option<FoundOffset>> {
        self.offset_as(topic, partition, spec, Isolation::default()).await
    }

    pub(crate) async fn offset_as(
        &self,
        topic: &str,
        partition: i32,
        spec: OffsetSpec,
        isolation: Isolation,
    ) -> Result<Option<FoundOffset>> {
        let found = self.list_offsets(&[(topic, partition, spec)], isolation).await?;
        Ok(found.into_iter().next().flatten())
    }

    /// Looks up offsets of several partitions; one answer for each, in their order, `None` where there is no such record.
    ///
    /// # Errors
    /// As [`Client::offset`]; one partition that fails fails all.
    pub async fn list_offsets(
        &self,
        wanted: &[(&str, i32, OffsetSpec)],
        isolation: Isolation,
    ) -> Result<Vec<Option<FoundOffset>>> {
        let mut attempts = Attempts::new(&self.inner.config);
        let mut found = vec![None; wanted.len()];
        let mut missing: Vec<usize> = (0..wanted.len()).collect();
        while !missing.is_empty() {
            if let Err(error) = self.list_some(wanted, &mut missing, &mut found, isolation, &attempts).await {
                attempts.again_after(error).await?;
            }
        }
        Ok(found)
    }

    /// Asks every leader once. What was answered is no longer missing; the last error is given.
    async fn list_some(
        &self,
        wanted: &[(&str, i32, OffsetSpec)],
        missing: &mut Vec<usize>,
        found: &mut [Option<FoundOffset>],
        isolation: Isolation,
        attempts: &Attempts,
    ) -> Result<()> {
        let deadline = attempts.request_deadline();
        let mut last = Ok(());
        let mut rounds: Vec<(milena_transport::Address, Vec<usize>)> = Vec::new();
        for &index in missing.iter() {
            let (topic, partition, _) = wanted[index];
            match self.leader(topic, partition, deadline).await {
                Err(error) => last = Err(error),
                Ok(leader) => {
                    // One partition may be asked for more than once, but not in one request.
                    let round = rounds.iter_mut().find(|(address, round)| {
                        let twice = |&other: &usize| (wanted[other].0, wanted[other].1) == (topic, partition);
                        address.text() == leader.address.text() && !round.iter().any(twice)
                    });
                    match round {
                        Some((_, round)) => round.push(index),
                        None => rounds.push((leader.address, vec![index])),
                    }
                }
            }
        }
        for (address, round) in rounds {
            let make = |link: &Link, version| request(link, wanted, &round, version, isolation, attempts);
            let version = |link: &Link| link.version_of(ApiKey::LIST_OFFSETS);
            let mut told = match self.ask(Whom::At(&address), deadline, version, make).await {
                Ok(told) => told,
                Err(error) => {
                    round.iter().for_each(|&index| self.doubt(&error, wanted[index].0));
                    last = Err(error);
                    continue;
                }
            };
            let version = told.version;
            let answers = told.answer.take().unwrap_or_default().topics;
            for index in round {
                let (topic, partition, _) = wanted[index];
                let named = answers.iter().filter(|answer| &*answer.name == topic);
                let answer = named.flat_map(|named| &named.partitions).find(|named| named.partition_index == partition);
                let Some(answer) = answer else {
                    let reason = format!("the answer does not name {topic}-{partition}");
                    return Err(Error::Unsupported { address: told.address, api: ApiKey::LIST_OFFSETS, reason });
                };
                if answer.error_code.is_none() {
                    found[index] = read(answer, version);
                    missing.retain(|missing| *missing != index);
                } else {
                    let about = About::partition(topic, partition, None);
                    let error = told.error(ApiKey::LIST_OFFSETS, answer.error_code, about);
                    self.doubt(&error, topic);
                    last = Err(error);
                }
            }
        }
        last
    }
}

fn read(answer: &ListOffsetsPartitionResponse, version: i16) -> Option<FoundOffset> {
    let offset = if version == 0 { *answer.old_style_offsets.first()? } else { answer.offset };
    (offset >= 0).then_some(FoundOffset {
        offset,
        timestamp: (answer.timestamp >= 0).then_some(answer.timestamp),
        leader_epoch: (answer.leader_epoch >= 0).then_some(answer.leader_epoch),
    })
}

fn request(
    link: &Link,
    wanted: &[(&str, i32, OffsetSpec)],
    round: &[usize],
    version: i16,
    isolation: Isolation,
    attempts: &Attempts,
) -> Result<ListOffsetsRequest> {
    let mut topics: BTreeMap<&str, Vec<ListOffsetsPartition>> = BTreeMap::new();
    for &index in round {
        let (topic, partition_index, spec) = wanted[index];
        let (timestamp, since) = spec.number();
        if version < since {
            return Err(Error::Unsupported {
                address: Arc::clone(link.address()),
                api: ApiKey::LIST_OFFSETS,
                reason: format!("{spec:?} needs version {since}, the broker speaks {version}"),
            });
        }
        let partition = ListOffsetsPartition { partition_index, timestamp, ..Default::default() };
        topics.entry(topic).or_default().push(partition);
    }
    let topic =
        |(name, partitions)| ListOffsetsTopic { name: ByteString::from(name), partitions, ..Default::default() };
    Ok(ListOffsetsRequest {
        replica_id: -1,
        // Before version 2 there are no transactions.
        isolation_level: if version >= 2 { isolation.number() } else { 0 },
        topics: topics.into_iter().map(topic).collect(),
        timeout_ms: attempts.broker_timeout_ms(),
        ..Default::default()
    })
}
