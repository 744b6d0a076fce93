//! What a Fetch request gets out of each partition.

use std::sync::Arc;

use bytes::Bytes;
use milena_messages::fetch::response::{AbortedTransaction, EpochEndOffset, PartitionData};
use milena_messages::{ByteString, ErrorCode};
use milena_records::{Batch, Codec, ReadOptions};

use super::{FOLLOWERS, LEADER_HINTS, size, unknown};
use crate::cost::Cost;
use crate::fetch_session::Wanted;
use crate::handler::Context;
use crate::storage::legacy::down_convert;
use crate::storage::log::{LogBatch, OutOfRange, Run};
use crate::storage::partition::{Inner, Partition};
use crate::storage::transactions::Aborted;

/// From here on the first batch comes whole, and the request limits the whole response (KIP-74).
pub(super) const WHOLE_FIRST: i16 = 3;
/// From here on clients read batches of magic 2.
const BATCHES: i16 = 4;
/// The isolation level of those who read committed records only.
pub(super) const COMMITTED: i8 = 1;

/// What a request says of all partitions.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) version: i16,
    /// Whether records of open transactions are left out.
    pub(super) committed: bool,
    /// The replica that reads; -1 for a consumer.
    pub(super) replica: i32,
    pub(super) max_bytes: i32,
    /// Where the client is.
    pub(super) rack: ByteString,
}

/// The bytes that a partition has for a request.
///
/// # Errors
/// Why there is no reason to wait for them.
pub(super) fn available(
    context: &Context,
    partition: &Partition,
    wanted: &Wanted,
    reading: &Reading,
) -> Result<usize, ErrorCode> {
    let bytes = partition.with(|partition| {
        check(context, partition, wanted, reading)?;
        // A log that went another way is reported as soon as an error, and so is a replica that is nearer.
        if diverging(partition, wanted)?.is_some() || nearer(context, partition, wanted, reading).is_some() {
            return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
        }
        let bytes = partition.log.bytes_from(wanted.offset).map_err(out_of_range)?;
        // What an open transaction wrote is nothing yet for readers of committed records.
        let end = partition.last_stable_offset();
        let hidden = if reading.committed { partition.log.bytes_from(end).unwrap_or(0) } else { 0 };
        Ok(bytes.saturating_sub(hidden))
    })?;
    Ok(size(wanted.max_bytes).min(usize::try_from(bytes).unwrap_or(usize::MAX)))
}

fn out_of_range(_: OutOfRange) -> ErrorCode {
    ErrorCode::OFFSET_OUT_OF_RANGE
}

/// Checks that a client may read the partition here, at an epoch that it knows (KIP-320).
fn check(context: &Context, partition: &Inner, wanted: &Wanted, reading: &Reading) -> Result<(), ErrorCode> {
    let leadership = &partition.leadership;
    // Fetch takes any negative epoch for none.
    leadership.check_epoch(wanted.leader_epoch.max(-1))?;
    let own = context.node.id;
    let is_stranger =
        reading.replica >= 0 && (reading.replica == own || !leadership.replicas.contains(&reading.replica));
    let follows = reading.replica < 0 && reading.version >= FOLLOWERS && leadership.in_sync.contains(&own);
    if is_stranger {
        // With an epoch, the replica may be one that this node has not heard of yet.
        let knows_epoch = wanted.leader_epoch >= 0;
        return Err(if knows_epoch { ErrorCode::UNKNOWN_LEADER_EPOCH } else { ErrorCode::NOT_LEADER_OR_FOLLOWER });
    }
    if follows { Ok(()) } else { leadership.check_leader(own) }
}

/// Where the log of the client went another way than this one (KIP-595).
fn diverging(partition: &Inner, wanted: &Wanted) -> Result<Option<EpochEndOffset>, ErrorCode> {
    if wanted.last_fetched_epoch < 0 {
        return Ok(None);
    }
    let end = partition.end_of_epoch(wanted.last_fetched_epoch);
    let (epoch, end_offset) = end.ok_or(ErrorCode::OFFSET_OUT_OF_RANGE)?;
    if wanted.offset < partition.log.start_offset() {
        return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
    }
    let diverges = epoch < wanted.last_fetched_epoch || end_offset < wanted.offset;
    Ok(diverges.then(|| EpochEndOffset { epoch, end_offset, ..Default::default() }))
}

/// A replica in the rack of the consumer, when the leader is in another one, as Kafka's RackAwareReplicaSelector chooses.
fn nearer(context: &Context, partition: &Inner, wanted: &Wanted, reading: &Reading) -> Option<i32> {
    let (state, leadership, log) = (&context.state, &partition.leadership, &partition.log);
    let asks = state.config.rack_aware_fetch && reading.version >= FOLLOWERS && reading.replica < 0;
    if !asks || reading.rack.is_empty() || leadership.leader != context.node.id {
        return None;
    }
    let is_near = |node: &i32| {
        let node = state.node(*node).filter(|node| node.is_alive());
        node.is_some_and(|node| node.rack.as_ref() == Some(&reading.rack))
    };
    if is_near(&leadership.leader) {
        return None;
    }
    let has = (log.start_offset()..=log.end_offset()).contains(&wanted.offset);
    // All replicas in sync have the same records; Kafka takes the last one then.
    leadership.in_sync.iter().copied().filter(is_near).max().filter(|_| has)
}

/// What of a response is still free.
struct Room {
    left: usize,
    /// The first batch of the response comes even when it is too large.
    whole_first: bool,
}

/// Reads the partitions in their order, as far as the response has room.
pub(super) fn read<'a>(
    context: &Context,
    reading: &Reading,
    partitions: impl Iterator<Item = (&'a Wanted, Result<Arc<Partition>, ErrorCode>)>,
    cost: &mut Cost,
) -> Vec<(Wanted, PartitionData)> {
    let state = &*context.state;
    // Old requests name no limit. When clients leave their responses unread, new ones become small.
    let left = size(reading.max_bytes.min(state.config.fetch_max_bytes)).min(state.unsent.room());
    let mut room = Room { left, whole_first: reading.version >= WHOLE_FIRST };
    let mut all = Vec::new();
    for (wanted, found) in partitions {
        let read = match &found {
            Ok(partition) => read_partition(context, partition, wanted, reading, &mut room, cost),
            Err(code) => Err(*code),
        };
        // Null says that there was no list of aborted transactions to look at.
        let failed = |code| PartitionData { aborted_transactions: None, ..unknown(code) };
        let mut data = read.unwrap_or_else(failed);
        data.partition_index = wanted.partition;
        // Where the leader is, for clients that went astray (KIP-951).
        let astray = [ErrorCode::NOT_LEADER_OR_FOLLOWER, ErrorCode::FENCED_LEADER_EPOCH];
        if let (true, true, Ok(partition)) =
            (reading.version >= LEADER_HINTS, astray.contains(&data.error_code), &found)
        {
            let leadership = partition.leadership();
            data.current_leader.leader_id = leadership.leader;
            data.current_leader.leader_epoch = leadership.epoch;
        }
        all.push((wanted.clone(), data));
    }
    all
}

fn read_partition(
    context: &Context,
    partition: &Partition,
    wanted: &Wanted,
    reading: &Reading,
    room: &mut Room,
    cost: &mut Cost,
) -> Result<PartitionData, ErrorCode> {
    let limit = room.left.min(size(wanted.max_bytes));
    // Before version 3 a first batch that is too large is cut, for clients to see that they need more room.
    let cut = reading.version < WHOLE_FIRST && limit > 0;
    let whole_first = room.whole_first || cut;
    let (batches, data) = partition.with(|partition| {
        check(context, partition, wanted, reading)?;
        let (log, stable) = (&partition.log, partition.last_stable_offset());
        let mut data = PartitionData {
            high_watermark: log.high_watermark(),
            last_stable_offset: stable,
            log_start_offset: log.start_offset(),
            aborted_transactions: None,
            ..Default::default()
        };
        if let Some(node) = nearer(context, partition, wanted, reading) {
            data.preferred_read_replica = node;
            return Ok((Run::default(), data));
        }
        if let Some(end) = diverging(partition, wanted)? {
            data.diverging_epoch = end;
            return Ok((Run::default(), data));
        }
        let until = if reading.committed { stable } else { i64::MAX };
        let batches = log.read(wanted.offset, until, limit, whole_first).map_err(out_of_range)?;
        if reading.committed {
            let end = batches.end_offset.unwrap_or(wanted.offset);
            let aborted = partition.transactions.aborted_between(wanted.offset, end);
            data.aborted_transactions = Some(aborted.into_iter().map(aborted_transaction).collect());
        }
        Ok((batches, data))
    })?;
    let mut records = if reading.version >= BATCHES {
        joined(&batches, reading.version, cost)?
    } else {
        let magic = i8::from(reading.version >= 2);
        let batches: Vec<LogBatch> = batches.batches().collect();
        down_convert(&batches, wanted.offset, magic, limit, cost).map_err(|refusal| refusal.code)?
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
