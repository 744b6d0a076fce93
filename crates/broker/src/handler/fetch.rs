use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use milena_messages::fetch::request::{FetchPartition, FetchTopic};
use milena_messages::fetch::response::{FetchableTopicResponse, PartitionData};
use milena_messages::{ByteString, ErrorCode, FetchRequest, FetchResponse, Uuid};
use milena_records::{Batch, Codec, ReadOptions};
use tokio::time::{Instant, timeout_at};

use super::Outcome;
use super::each_once::{Listed, each_once};
use crate::cost::Cost;
use crate::legacy::down_convert;
use crate::log::{LEADER_EPOCH, LogBatch, OutOfRange, concat};
use crate::partition::{Partition, Waiter};
use crate::state::{State, TopicRef};

/// From here on the first batch comes whole, and the request limits the whole response (KIP-74).
const WHOLE_FIRST: i16 = 3;
/// From here on clients read batches of magic 2.
const BATCHES: i16 = 4;
/// From here on topics go by id (KIP-516).
const TOPIC_IDS: i16 = 13;

impl Listed for FetchTopic {
    type Partition = FetchPartition;

    fn topic(&self) -> (ByteString, Uuid) {
        (self.topic.clone(), self.topic_id)
    }

    fn partitions(&mut self) -> &mut Vec<FetchPartition> {
        &mut self.partitions
    }

    fn index(partition: &FetchPartition) -> i32 {
        partition.partition
    }
}

pub(super) fn handle(
    state: &State,
    mut request: FetchRequest,
    version: i16,
    cost: &mut Cost,
) -> Outcome<FetchResponse> {
    // No session was ever opened that could go on: every response says that there is none (KIP-227).
    if request.session_epoch > 0 {
        return FetchResponse { error_code: ErrorCode::FETCH_SESSION_ID_NOT_FOUND, ..Default::default() }.into();
    }
    request.topics = each_once(request.topics);
    let ready = Ready::of(state, &request, version);
    if ready.is_enough(state, &request) {
        return read(state, &request, version, cost).into();
    }
    Outcome::Wait(Box::new(Waiting { request, version }))
}

/// A Fetch that waits for records.
#[derive(Debug, PartialEq)]
pub(crate) struct Waiting {
    request: FetchRequest,
    version: i16,
}

impl Waiting {
    /// Waits until there is enough to read, or an error to report, or the time is up.
    pub(crate) async fn news(&mut self, state: &State) {
        let wait = Duration::from_millis(self.request.max_wait_ms.max(0) as u64);
        // It cannot fail in any other way.
        let _ = timeout_at(Instant::now() + wait, self.enough(state)).await;
    }

    async fn enough(&self, state: &State) {
        let waiter = Arc::new(Waiter::default());
        let (request, version) = (&self.request, self.version);
        let listed = || request.topics.iter().flat_map(|topic| topic.partitions.iter().map(move |one| (topic, one)));
        for (number, (topic, wanted)) in listed().enumerate() {
            if let Some(topic) = state.topic(topic_ref(topic, version)) {
                if let Some(partition) = topic.partition(wanted.partition) {
                    partition.watch(&waiter, number);
                }
            }
        }
        // After the watch began, so that nothing is missed in between. From now on only what changed is looked at.
        let mut ready = Ready::of(state, request, version);
        let places: Vec<_> = listed().collect();
        while !ready.is_enough(state, request) {
            for number in waiter.news().await {
                let (topic, wanted) = places[number];
                ready.set(number, available(state, topic, wanted, version));
            }
        }
    }

    /// The response with what there is now.
    pub(super) fn finish(&self, state: &State, cost: &mut Cost) -> FetchResponse {
        read(state, &self.request, self.version, cost)
    }
}

fn topic_ref(wanted: &FetchTopic, version: i16) -> TopicRef<'_> {
    if version >= TOPIC_IDS { TopicRef::Id(wanted.topic_id) } else { TopicRef::Name(&wanted.topic) }
}

/// How many bytes each partition has for the request, in the order of the request.
struct Ready {
    bytes: Vec<usize>,
    total: usize,
    failed: bool,
}

impl Ready {
    fn of(state: &State, request: &FetchRequest, version: i16) -> Self {
        let mut ready = Self { bytes: Vec::new(), total: 0, failed: false };
        for topic in &request.topics {
            for wanted in &topic.partitions {
                ready.bytes.push(0);
                ready.set(ready.bytes.len() - 1, available(state, topic, wanted, version));
            }
        }
        ready
    }

    fn set(&mut self, number: usize, bytes: Result<usize, ErrorCode>) {
        self.failed |= bytes.is_err();
        let bytes = bytes.unwrap_or(0);
        self.total = self.total - self.bytes[number] + bytes;
        self.bytes[number] = bytes;
    }

    /// Whether there is no reason to wait. Errors are reported at once.
    fn is_enough(&self, state: &State, request: &FetchRequest) -> bool {
        request.max_wait_ms <= 0
            || self.bytes.is_empty()
            || self.failed
            || self.total >= size(request.min_bytes.min(state.config.fetch_max_bytes))
    }
}

fn available(state: &State, topic: &FetchTopic, wanted: &FetchPartition, version: i16) -> Result<usize, ErrorCode> {
    let reference = topic_ref(topic, version);
    let topic = state.topic(reference).ok_or_else(|| reference.unknown())?;
    let partition = topic.partition(wanted.partition).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    check_epochs(wanted)?;
    let bytes = partition.with_log(|log| log.bytes_from(wanted.fetch_offset)).map_err(out_of_range)?;
    Ok(size(wanted.partition_max_bytes).min(usize::try_from(bytes).unwrap_or(usize::MAX)))
}

fn size(bytes: i32) -> usize {
    usize::try_from(bytes).unwrap_or(0)
}

fn out_of_range(_: OutOfRange) -> ErrorCode {
    ErrorCode::OFFSET_OUT_OF_RANGE
}

/// Compares the leader epoch that a client knows with the only one there is (KIP-320).
pub(super) fn check_epoch(current_leader_epoch: i32) -> Result<(), ErrorCode> {
    if current_leader_epoch > LEADER_EPOCH { Err(ErrorCode::UNKNOWN_LEADER_EPOCH) } else { Ok(()) }
}

fn check_epochs(wanted: &FetchPartition) -> Result<(), ErrorCode> {
    check_epoch(wanted.current_leader_epoch)?;
    // There are no epochs after the first that a log could have been cut at.
    if wanted.last_fetched_epoch > LEADER_EPOCH { Err(ErrorCode::OFFSET_OUT_OF_RANGE) } else { Ok(()) }
}

/// What of a response is still free.
struct Room {
    left: usize,
    /// The first batch of the response comes even when it is too large.
    whole_first: bool,
    version: i16,
}

fn read(state: &State, request: &FetchRequest, version: i16, cost: &mut Cost) -> FetchResponse {
    // Old requests name no limit. When clients leave their responses unread, new ones become small.
    let asked = if version >= WHOLE_FIRST { request.max_bytes } else { i32::MAX };
    let left = size(asked.min(state.config.fetch_max_bytes)).min(state.unsent.room());
    let mut room = Room { left, whole_first: version >= WHOLE_FIRST, version };
    let committed = request.isolation_level == 1;
    let mut responses = Vec::new();
    for wanted in &request.topics {
        let reference = topic_ref(wanted, version);
        let topic = state.topic(reference);
        let mut partitions = Vec::with_capacity(wanted.partitions.len());
        for wanted in &wanted.partitions {
            let data = match &topic {
                None => Err(reference.unknown()),
                Some(topic) => match topic.partition(wanted.partition) {
                    None => Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
                    Some(partition) => read_partition(partition, wanted, &mut room, cost),
                },
            };
            let mut data = data.unwrap_or_else(|error_code| PartitionData {
                error_code,
                high_watermark: -1,
                // Null is allowed, but some clients fail on it.
                records: Some(Bytes::new()),
                ..Default::default()
            });
            data.partition_index = wanted.partition;
            data.aborted_transactions = committed.then(Vec::new);
            partitions.push(data);
        }
        responses.push(FetchableTopicResponse {
            topic: wanted.topic.clone(),
            topic_id: wanted.topic_id,
            partitions,
            ..Default::default()
        });
    }
    FetchResponse { responses, ..Default::default() }
}

fn read_partition(
    partition: &Partition,
    wanted: &FetchPartition,
    room: &mut Room,
    cost: &mut Cost,
) -> Result<PartitionData, ErrorCode> {
    check_epochs(wanted)?;
    let limit = room.left.min(size(wanted.partition_max_bytes));
    // Before version 3 a first batch that is too large is cut, for clients to see that they need more room.
    let cut = room.version < WHOLE_FIRST && limit > 0;
    let whole_first = room.whole_first || cut;
    let (batches, data) = partition.with_log(|log| {
        let batches = log.read(wanted.fetch_offset, limit, whole_first).map_err(out_of_range)?;
        let data = PartitionData {
            high_watermark: log.high_watermark(),
            last_stable_offset: log.last_stable_offset(),
            log_start_offset: log.start_offset(),
            ..Default::default()
        };
        Ok((batches, data))
    })?;
    let mut records = if room.version >= BATCHES {
        joined(&batches, room.version, cost)?
    } else {
        let magic = i8::from(room.version >= 2);
        down_convert(&batches, wanted.fetch_offset, magic, limit, cost).map_err(|refusal| refusal.code)?
    };
    if records.len() > limit && !room.whole_first {
        records.truncate(if cut { limit } else { 0 });
    }
    room.left = room.left.saturating_sub(records.len());
    room.whole_first &= records.is_empty();
    Ok(PartitionData { records: Some(records), ..data })
}

fn joined(batches: &[LogBatch], version: i16, cost: &mut Cost) -> Result<Bytes, ErrorCode> {
    if version < 10 && batches.iter().any(is_zstd) {
        return Err(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
    }
    // A single batch is not copied.
    let copied = if batches.len() > 1 { batches.iter().map(|batch| batch.bytes.len()).sum() } else { 0 };
    Ok(if cost.copy(copied) { concat(batches) } else { Bytes::new() })
}

fn is_zstd(stored: &LogBatch) -> bool {
    let batch = Batch::parse(stored.bytes.clone(), ReadOptions::default());
    batch.and_then(|batch| batch.codec()).is_ok_and(|codec| codec == Codec::Zstd)
}

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
