use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use milena_messages::fetch::request::FetchPartition;
use milena_messages::fetch::response::{FetchableTopicResponse, PartitionData};
use milena_messages::{ErrorCode, FetchRequest, FetchResponse};
use milena_records::{Batch, Codec, ReadOptions};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::legacy::down_convert;
use crate::log::{LogBatch, concat};
use crate::state::{LEADER_EPOCH, State, TopicRef};

/// From here on the first batch comes whole, and the answer as a whole has a limit (KIP-74).
const WHOLE_FIRST: i16 = 3;
/// From here on clients read batches of magic 2.
const BATCHES: i16 = 4;
/// From here on topics go by id (KIP-516).
const TOPIC_IDS: i16 = 13;

pub(super) async fn handle(state: &State, request: FetchRequest, version: i16) -> FetchResponse {
    // No session was ever opened that could go on: every answer says that there is none (KIP-227).
    if request.session_epoch > 0 {
        return FetchResponse { error_code: ErrorCode::FETCH_SESSION_ID_NOT_FOUND, ..Default::default() };
    }
    let mut found = read(state, &request, version);
    if !found.is_enough(&request) {
        found = wait(state, &request, version).await;
    }
    answer(request, version, found)
}

/// Reads again whenever one of the partitions has news, until it is enough or the time is up.
async fn wait(state: &State, request: &FetchRequest, version: i16) -> Found {
    let deadline = Instant::now() + Duration::from_millis(request.max_wait_ms.max(0) as u64);
    let news = Arc::new(Notify::new());
    for wanted in &request.topics {
        if let Some(topic) = state.topic(topic_ref(wanted, version)) {
            let partitions = wanted.partitions.iter().filter_map(|wanted| topic.partition(wanted.partition));
            partitions.for_each(|partition| partition.watch(&news));
        }
    }
    loop {
        // After the watch began, so that nothing is missed in between.
        let found = read(state, request, version);
        if found.is_enough(request) || timeout_at(deadline, news.notified()).await.is_err() {
            return found;
        }
    }
}

fn topic_ref(wanted: &milena_messages::fetch::request::FetchTopic, version: i16) -> TopicRef<'_> {
    if version >= TOPIC_IDS { TopicRef::Id(wanted.topic_id) } else { TopicRef::Name(&wanted.topic) }
}

/// What there is for each partition asked for, in the order of the request.
struct Found {
    partitions: Vec<Result<Piece, ErrorCode>>,
    size: usize,
}

struct Piece {
    batches: Vec<LogBatch>,
    /// Cut what is sent at that many bytes: the first batch is larger, and clients of that age want to see it.
    cut: Option<usize>,
    high_watermark: i64,
    last_stable_offset: i64,
    log_start_offset: i64,
}

impl Found {
    /// Whether there is no reason to wait. An error is to be told at once.
    fn is_enough(&self, request: &FetchRequest) -> bool {
        request.max_wait_ms <= 0
            || self.partitions.is_empty()
            || self.size >= usize::try_from(request.min_bytes).unwrap_or(0)
            || self.partitions.iter().any(Result::is_err)
    }
}

fn read(state: &State, request: &FetchRequest, version: i16) -> Found {
    let mut left = if version >= WHOLE_FIRST { size(request.max_bytes) } else { usize::MAX };
    let mut found = Found { partitions: Vec::new(), size: 0 };
    for wanted in &request.topics {
        let reference = topic_ref(wanted, version);
        let topic = state.topic(reference);
        for partition in &wanted.partitions {
            let whole_first = version >= WHOLE_FIRST && found.size == 0;
            let piece = match &topic {
                None => Err(reference.unknown()),
                Some(topic) => match topic.partition(partition.partition) {
                    None => Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
                    Some(log) => read_partition(log, partition, left, whole_first, version),
                },
            };
            if let Ok(piece) = &piece {
                let size: usize = piece.batches.iter().map(|batch| batch.bytes.len()).sum();
                found.size += piece.cut.unwrap_or(size);
                left = left.saturating_sub(size);
            }
            found.partitions.push(piece);
        }
    }
    found
}

fn size(bytes: i32) -> usize {
    usize::try_from(bytes).unwrap_or(0)
}

fn read_partition(
    partition: &crate::partition::Partition,
    wanted: &FetchPartition,
    left: usize,
    whole_first: bool,
    version: i16,
) -> Result<Piece, ErrorCode> {
    check_epoch(wanted.current_leader_epoch)?;
    // There are no epochs after the first that a log could have been cut at.
    if wanted.last_fetched_epoch > LEADER_EPOCH {
        return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
    }
    let limit = left.min(size(wanted.partition_max_bytes));
    let piece = partition.with_log(|log| {
        let mut batches = log.read(wanted.fetch_offset, limit, whole_first)?;
        let mut cut = None;
        if batches.is_empty() && version < WHOLE_FIRST && limit > 0 {
            batches = log.read(wanted.fetch_offset, 0, true)?;
            cut = (!batches.is_empty()).then_some(limit);
        }
        Ok(Piece {
            batches,
            cut,
            high_watermark: log.high_watermark(),
            last_stable_offset: log.last_stable_offset(),
            log_start_offset: log.start_offset(),
        })
    });
    piece.map_err(|_: crate::log::OutOfRange| ErrorCode::OFFSET_OUT_OF_RANGE)
}

/// Compares the leader epoch that a client knows with the only one there is (KIP-320).
pub(super) fn check_epoch(current_leader_epoch: i32) -> Result<(), ErrorCode> {
    if current_leader_epoch > LEADER_EPOCH { Err(ErrorCode::UNKNOWN_LEADER_EPOCH) } else { Ok(()) }
}

fn answer(request: FetchRequest, version: i16, found: Found) -> FetchResponse {
    let committed = request.isolation_level == 1;
    let mut pieces = found.partitions.into_iter();
    let mut responses = Vec::new();
    for wanted in request.topics {
        // One piece was read for each partition, in this order.
        let partitions = wanted.partitions.iter().zip(pieces.by_ref());
        let partitions = partitions.map(|(wanted, piece)| data(wanted, piece, version, committed)).collect();
        responses.push(FetchableTopicResponse {
            topic: wanted.topic,
            topic_id: wanted.topic_id,
            partitions,
            ..Default::default()
        });
    }
    FetchResponse { responses, ..Default::default() }
}

fn data(wanted: &FetchPartition, piece: Result<Piece, ErrorCode>, version: i16, committed: bool) -> PartitionData {
    let sent = piece.and_then(|piece| records(wanted, &piece, version).map(|records| (piece, records)));
    match sent {
        Ok((piece, records)) => PartitionData {
            partition_index: wanted.partition,
            high_watermark: piece.high_watermark,
            last_stable_offset: piece.last_stable_offset,
            log_start_offset: piece.log_start_offset,
            aborted_transactions: committed.then(Vec::new),
            records: Some(records),
            ..Default::default()
        },
        Err(error_code) => PartitionData {
            partition_index: wanted.partition,
            error_code,
            high_watermark: -1,
            aborted_transactions: committed.then(Vec::new),
            // Not null, which some clients stumble over.
            records: Some(Bytes::new()),
            ..Default::default()
        },
    }
}

fn records(wanted: &FetchPartition, piece: &Piece, version: i16) -> Result<Bytes, ErrorCode> {
    if version >= BATCHES {
        if version < 10 && piece.batches.iter().any(is_zstd) {
            return Err(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
        }
        return Ok(concat(&piece.batches));
    }
    let magic = u8::from(version >= 2);
    let records = down_convert(&piece.batches, wanted.fetch_offset, magic).map_err(|refusal| refusal.code)?;
    Ok(match piece.cut {
        Some(cut) => records.slice(..cut.min(records.len())),
        None => records,
    })
}

fn is_zstd(stored: &LogBatch) -> bool {
    let batch = Batch::parse(stored.bytes.clone(), ReadOptions::default());
    batch.and_then(|batch| batch.codec()).is_ok_and(|codec| codec == Codec::Zstd)
}

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
