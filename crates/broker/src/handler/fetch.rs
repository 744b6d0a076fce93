use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use milena_messages::fetch::request::{FetchPartition, FetchTopic};
use milena_messages::fetch::response::{AbortedTransaction, EpochEndOffset, FetchableTopicResponse, PartitionData};
use milena_messages::{ByteString, ErrorCode, FetchRequest, FetchResponse, Uuid};
use milena_records::{Batch, Codec, ReadOptions};
use tokio::time::{Instant, timeout_at};

use super::each_once::{Listed, each_once};
use super::{Context, Outcome};
use crate::cluster::{State, TopicRef};
use crate::cost::Cost;
use crate::storage::legacy::down_convert;
use crate::storage::log::{LogBatch, OutOfRange, Run};
use crate::storage::partition::{Inner, Partition, Waiter};
use crate::storage::transactions::Aborted;

/// From here on the first batch comes whole, and the request limits the whole response (KIP-74).
const WHOLE_FIRST: i16 = 3;
/// From here on clients read batches of magic 2.
const BATCHES: i16 = 4;
/// The isolation level of those who read committed records only.
const COMMITTED: i8 = 1;
/// From here on errors say who leads (KIP-951).
const LEADER_HINTS: i16 = 16;
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

pub(super) fn handle(context: &Context, mut request: FetchRequest, cost: &mut Cost) -> Outcome<FetchResponse> {
    // No session was ever opened that could go on: every response says that there is none (KIP-227).
    if request.session_epoch > 0 {
        return FetchResponse { error_code: ErrorCode::FETCH_SESSION_ID_NOT_FOUND, ..Default::default() }.into();
    }
    let is_known = |topic: &FetchTopic| {
        let found = context.state.topic(topic_ref(topic, context.version));
        found.is_some_and(|found| topic.partitions.iter().any(|one| found.partition(one.partition).is_some()))
    };
    // Kafka looks at it only when there is something to read.
    if !matches!(request.isolation_level, 0 | COMMITTED) && request.topics.iter().any(is_known) {
        return refused(&request, context.version, ErrorCode::UNKNOWN_SERVER_ERROR).into();
    }
    request.topics = each_once(request.topics);
    if Ready::of(context, &request).is_enough(&context.state, &request) {
        return read(context, &request, cost).into();
    }
    let context = context.clone();
    Outcome::later(async move {
        let wait = Duration::from_millis(request.max_wait_ms.max(0) as u64);
        // It cannot fail in any other way.
        let _ = timeout_at(Instant::now() + wait, enough(&context, &request)).await;
        let (state, frame_size) = (context.state.clone(), context.frame_size);
        let read = move |cost: &mut Cost| read(&context, &request, cost);
        match state.workers.budgeted(frame_size, read).await {
            Ok(response) => response.into(),
            Err(error) => Outcome::Close(format!("the handler failed: {error}")),
        }
    })
}

/// The data of a partition that was not looked at.
fn unknown(error_code: ErrorCode) -> PartitionData {
    // Null is allowed for the records, but some clients fail on it.
    PartitionData { error_code, high_watermark: -1, records: Some(Bytes::new()), ..Default::default() }
}

/// A response that refuses the whole request.
fn refused(request: &FetchRequest, version: i16, error_code: ErrorCode) -> FetchResponse {
    let partition =
        |wanted: &FetchPartition| PartitionData { partition_index: wanted.partition, ..unknown(error_code) };
    let topic = |wanted: &FetchTopic| FetchableTopicResponse {
        topic: wanted.topic.clone(),
        partitions: wanted.partitions.iter().map(partition).collect(),
        ..Default::default()
    };
    // With topic ids there is nothing to name the topics by when they are not looked at.
    let topics = if version < TOPIC_IDS { &request.topics[..] } else { &[] };
    FetchResponse { error_code, responses: topics.iter().map(topic).collect(), ..Default::default() }
}

/// Waits until there is enough to read, or an error to report.
async fn enough(context: &Context, request: &FetchRequest) {
    let waiter = Arc::new(Waiter::default());
    let listed = || request.topics.iter().flat_map(|topic| topic.partitions.iter().map(move |one| (topic, one)));
    for (number, (topic, wanted)) in listed().enumerate() {
        if let Some(topic) = context.state.topic(topic_ref(topic, context.version)) {
            if let Some(partition) = topic.partition(wanted.partition) {
                partition.watch(&waiter, number);
            }
        }
    }
    // After the watch began, so that nothing is missed in between. From now on only what changed is looked at.
    let mut ready = Ready::of(context, request);
    let places: Vec<_> = listed().collect();
    while !ready.is_enough(&context.state, request) {
        for number in waiter.news().await {
            let (topic, wanted) = places[number];
            ready.set(number, available(context, topic, wanted, request.isolation_level, replica(request)));
        }
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
    fn of(context: &Context, request: &FetchRequest) -> Self {
        let mut ready = Self { bytes: Vec::new(), total: 0, failed: false };
        for topic in &request.topics {
            for wanted in &topic.partitions {
                ready.bytes.push(0);
                ready.set(
                    ready.bytes.len() - 1,
                    available(context, topic, wanted, request.isolation_level, replica(request)),
                );
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

fn available(
    context: &Context,
    topic: &FetchTopic,
    wanted: &FetchPartition,
    isolation_level: i8,
    replica: i32,
) -> Result<usize, ErrorCode> {
    let reference = topic_ref(topic, context.version);
    let topic = context.state.topic(reference).ok_or_else(|| reference.unknown())?;
    let partition = topic.partition(wanted.partition).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    let bytes = partition.with(|partition| {
        check(context, partition, wanted, replica)?;
        // A log that went another way is reported as soon as an error.
        if diverging(partition, wanted)?.is_some() {
            return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
        }
        let bytes = partition.log.bytes_from(wanted.fetch_offset).map_err(out_of_range)?;
        // What an open transaction wrote is nothing yet for readers of committed records.
        let end = partition.last_stable_offset();
        let hidden = if isolation_level == COMMITTED { partition.log.bytes_from(end).unwrap_or(0) } else { 0 };
        Ok(bytes.saturating_sub(hidden))
    })?;
    Ok(size(wanted.partition_max_bytes).min(usize::try_from(bytes).unwrap_or(usize::MAX)))
}

fn size(bytes: i32) -> usize {
    usize::try_from(bytes).unwrap_or(0)
}

fn out_of_range(_: OutOfRange) -> ErrorCode {
    ErrorCode::OFFSET_OUT_OF_RANGE
}

/// Checks that this node leads the partition, at an epoch that the client knows (KIP-320).
fn check(context: &Context, partition: &Inner, wanted: &FetchPartition, replica: i32) -> Result<(), ErrorCode> {
    // Fetch takes any negative epoch for none.
    partition.leadership.check_epoch(wanted.current_leader_epoch.max(-1))?;
    if replica >= 0 && !partition.leadership.replicas.contains(&replica) {
        return Err(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    }
    partition.leadership.check_leader(context.node.id)
}

/// Where the log of the client went another way than this one (KIP-595).
fn diverging(partition: &Inner, wanted: &FetchPartition) -> Result<Option<EpochEndOffset>, ErrorCode> {
    if wanted.last_fetched_epoch < 0 {
        return Ok(None);
    }
    let end = partition.end_of_epoch(wanted.last_fetched_epoch);
    let (epoch, end_offset) = end.ok_or(ErrorCode::OFFSET_OUT_OF_RANGE)?;
    if wanted.fetch_offset < partition.log.start_offset() {
        return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
    }
    let diverges = epoch < wanted.last_fetched_epoch || end_offset < wanted.fetch_offset;
    Ok(diverges.then(|| EpochEndOffset { epoch, end_offset, ..Default::default() }))
}

/// The replica that fetches; -1 for a consumer.
fn replica(request: &FetchRequest) -> i32 {
    if request.replica_id == -1 { request.replica_state.replica_id } else { request.replica_id }
}

/// What of a response is still free.
struct Room {
    left: usize,
    /// The first batch of the response comes even when it is too large.
    whole_first: bool,
    version: i16,
    /// Of the request; -1 for a consumer.
    replica: i32,
}

fn read(context: &Context, request: &FetchRequest, cost: &mut Cost) -> FetchResponse {
    let (state, version) = (&*context.state, context.version);
    // Old requests name no limit. When clients leave their responses unread, new ones become small.
    let asked = if version >= WHOLE_FIRST { request.max_bytes } else { i32::MAX };
    let left = size(asked.min(state.config.fetch_max_bytes)).min(state.unsent.room());
    let mut room = Room { left, whole_first: version >= WHOLE_FIRST, version, replica: replica(request) };
    let committed = request.isolation_level == COMMITTED;
    let mut responses = Vec::new();
    for wanted in &request.topics {
        let reference = topic_ref(wanted, version);
        let topic = state.topic(reference);
        let mut partitions = Vec::with_capacity(wanted.partitions.len());
        for wanted in &wanted.partitions {
            let data = match &topic {
                None => Ok(unknown(reference.unknown())),
                Some(topic) => match topic.partition(wanted.partition) {
                    None => Ok(unknown(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)),
                    Some(partition) => read_partition(context, &partition, wanted, committed, &mut room, cost),
                },
            };
            let mut data = data.unwrap_or_else(|error_code| PartitionData {
                error_code,
                aborted_transactions: None,
                ..unknown(error_code)
            });
            // Where the leader is, for clients that went astray (KIP-951).
            let astray = [ErrorCode::NOT_LEADER_OR_FOLLOWER, ErrorCode::FENCED_LEADER_EPOCH];
            if version >= LEADER_HINTS && astray.contains(&data.error_code) {
                if let Some(partition) = topic.as_ref().and_then(|topic| topic.partition(wanted.partition)) {
                    let leadership = partition.leadership();
                    data.current_leader.leader_id = leadership.leader;
                    data.current_leader.leader_epoch = leadership.epoch;
                }
            }
            data.partition_index = wanted.partition;
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
    context: &Context,
    partition: &Partition,
    wanted: &FetchPartition,
    committed: bool,
    room: &mut Room,
    cost: &mut Cost,
) -> Result<PartitionData, ErrorCode> {
    let limit = room.left.min(size(wanted.partition_max_bytes));
    // Before version 3 a first batch that is too large is cut, for clients to see that they need more room.
    let cut = room.version < WHOLE_FIRST && limit > 0;
    let whole_first = room.whole_first || cut;
    let (batches, data) = partition.with(|partition| {
        check(context, partition, wanted, room.replica)?;
        let (log, stable) = (&partition.log, partition.last_stable_offset());
        let mut data = PartitionData {
            high_watermark: log.high_watermark(),
            last_stable_offset: stable,
            log_start_offset: log.start_offset(),
            aborted_transactions: None,
            ..Default::default()
        };
        if let Some(end) = diverging(partition, wanted)? {
            data.diverging_epoch = end;
            return Ok((Run::default(), data));
        }
        let until = if committed { stable } else { i64::MAX };
        let batches = log.read(wanted.fetch_offset, until, limit, whole_first).map_err(out_of_range)?;
        if committed {
            let end = batches.end_offset.unwrap_or(wanted.fetch_offset);
            let aborted = partition.transactions.aborted_between(wanted.fetch_offset, end);
            data.aborted_transactions = Some(aborted.into_iter().map(aborted_transaction).collect());
        }
        Ok((batches, data))
    })?;
    let mut records = if room.version >= BATCHES {
        joined(&batches, room.version, cost)?
    } else {
        let magic = i8::from(room.version >= 2);
        let batches: Vec<LogBatch> = batches.batches().collect();
        down_convert(&batches, wanted.fetch_offset, magic, limit, cost).map_err(|refusal| refusal.code)?
    };
    if records.len() > limit && !room.whole_first {
        records.truncate(if cut { limit } else { 0 });
    }
    room.left = room.left.saturating_sub(records.len());
    room.whole_first &= records.is_empty();
    Ok(PartitionData { records: Some(records), ..data })
}

fn aborted_transaction(aborted: Aborted) -> AbortedTransaction {
    AbortedTransaction { producer_id: aborted.producer_id, first_offset: aborted.first_offset, ..Default::default() }
}

fn joined(batches: &Run, version: i16, cost: &mut Cost) -> Result<Bytes, ErrorCode> {
    if version < 10 && batches.batches().any(is_zstd) {
        return Err(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
    }
    Ok(if cost.copy(batches.to_copy()) { batches.bytes() } else { Bytes::new() })
}

fn is_zstd(stored: LogBatch) -> bool {
    let batch = Batch::parse(stored.bytes, ReadOptions::default());
    batch.and_then(|batch| batch.codec()).is_ok_and(|codec| codec == Codec::Zstd)
}

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
