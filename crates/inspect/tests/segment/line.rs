//! Items in the words of Kafka's DumpLogSegments, version 4.4.

use std::fmt::Write as _;

use milena_records::{Batch, Control, RecordRef, TimestampType};
use milena_storage::{IndexEntry, Item};
use serde_json::Value;

/// The line that the tool prints; empty for what it does not print.
pub(crate) fn line(item: &Item) -> String {
    match item {
        Item::Batch { batch, crc_valid } => batch_line(batch, *crc_valid),
        Item::Record { batch, record, .. } => record_line(batch, record),
        Item::Index { entry: IndexEntry::Offset(entry), .. } => {
            format!("offset: {} position: {}", entry.offset, entry.position)
        }
        Item::Index { entry: IndexEntry::Time(entry), .. } => {
            format!("timestamp: {} offset: {}", entry.timestamp, entry.offset)
        }
        Item::Index { entry: IndexEntry::Aborted(aborted), .. } => format!(
            "version: 0 producerId: {} firstOffset: {} lastOffset: {} lastStableOffset: {}",
            aborted.producer_id, aborted.first_offset, aborted.last_offset, aborted.last_stable_offset
        ),
        Item::Producer(entry) => {
            let open = match entry.current_txn_first_offset {
                -1 => "OptionalLong.empty".to_owned(),
                offset => format!("OptionalLong[{offset}]"),
            };
            let begin = format!(
                "producerId: {} producerEpoch: {} coordinatorEpoch: {} currentTxnFirstOffset: {open} lastTimestamp: {} ",
                entry.producer_id, entry.epoch, entry.coordinator_epoch, entry.timestamp
            );
            // A producer that only ever ended transactions has written no batch.
            let batch = match entry.last_offset {
                -1 => String::new(),
                _ => format!(
                    "firstSequence: {} lastSequence: {} lastOffset: {} offsetDelta: {} timestamp: {}",
                    entry.last_sequence - entry.offset_delta,
                    entry.last_sequence,
                    entry.last_offset,
                    entry.offset_delta,
                    entry.timestamp
                ),
            };
            begin + &batch
        }
        _ => String::new(),
    }
}

fn clock(batch: &Batch) -> &'static str {
    match batch.timestamp_type() {
        TimestampType::None => "NoTimestampType",
        TimestampType::CreateTime => "CreateTime",
        TimestampType::LogAppendTime => "LogAppendTime",
    }
}

fn batch_line(batch: &Batch, crc_valid: bool) -> String {
    let mut line = String::new();
    if let Some(count) = batch.count() {
        let horizon = match batch.delete_horizon() {
            Some(horizon) => format!("OptionalLong[{horizon}]"),
            None => "OptionalLong.empty".to_owned(),
        };
        let _ = write!(
            line,
            "baseOffset: {} lastOffset: {} count: {count} baseSequence: {} lastSequence: {} producerId: {} \
             producerEpoch: {} partitionLeaderEpoch: {} isTransactional: {} isControl: {} deleteHorizonMs: {horizon}",
            batch.base_offset(),
            batch.last_offset(),
            batch.base_sequence(),
            batch.last_sequence(),
            batch.producer_id(),
            batch.producer_epoch(),
            batch.partition_leader_epoch(),
            batch.is_transactional(),
            batch.is_control(),
        );
    } else {
        let _ = write!(line, "offset: {}", batch.last_offset());
    }
    let _ = write!(
        line,
        " position: {} {}: {} size: {} magic: {} compresscodec: {} crc: {} isvalid: {crc_valid}",
        batch.place().range.start,
        clock(batch),
        batch.max_timestamp(),
        batch.size_in_bytes(),
        batch.magic(),
        batch.codec().unwrap(),
        batch.crc(),
    );
    line
}

fn record_line(batch: &Batch, record: &RecordRef) -> String {
    let size = |part: Option<&[u8]>| part.map_or(-1, |part| part.len() as i64);
    let mut line = format!(
        "| offset: {} {}: {} keySize: {} valueSize: {}",
        record.offset,
        clock(batch),
        record.timestamp,
        size(record.key),
        size(record.value)
    );
    match batch.count() {
        Some(_) => {
            let keys: Vec<String> = record.headers().map(|header| header.key_str().into_owned()).collect();
            let _ = write!(line, " sequence: {} headerKeys: [{}]", record.sequence(), keys.join(","));
        }
        // Of a message inside of a wrapper the tool tells the checksum, which a reader of records has no business with.
        None => line.push_str(" isValid: true crc: *"),
    }
    line
}

/// What comes after the fields of a line: the key and the value as text, or what a control record says.
pub(crate) fn content(batch: &Batch, record: &RecordRef) -> String {
    if batch.is_control() {
        return match Control::parse(record).unwrap() {
            Control::Abort { coordinator_epoch } => {
                format!(" endTxnMarker: ABORT coordinatorEpoch: {coordinator_epoch}")
            }
            Control::Commit { coordinator_epoch } => {
                format!(" endTxnMarker: COMMIT coordinatorEpoch: {coordinator_epoch}")
            }
            _ => {
                let json = milena_inspect::record::control_json(record);
                let name = match json["type"].as_str() {
                    Some("LEADER_CHANGE") => "LeaderChange:",
                    Some("SNAPSHOT_HEADER") => "SnapshotHeader",
                    Some("SNAPSHOT_FOOTER") => "SnapshotFooter",
                    Some("KRAFT_VERSION") => "KRaftVersion",
                    other => panic!("the tool's name of {other:?} is not known"),
                };
                format!(" {name} {}", json["message"])
            }
        };
    }
    let text = |name: &str, part: Option<&[u8]>| {
        part.map(|part| format!(" {name}: {}", String::from_utf8_lossy(part))).unwrap_or_default()
    };
    text("key", record.key) + &text("payload", record.value)
}

/// Whether our JSON of a key or value is what the tool prints. It names the states of transactions and opens subscriptions
/// and assignments, which are numbers and bytes in the record.
pub(crate) fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            ours.len() == theirs.len()
                && theirs.iter().all(|(name, theirs)| ours.get(name).is_some_and(|ours| same(ours, theirs)))
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(ours, theirs)| same(ours, theirs))
        }
        (Value::Number(state), Value::String(name)) => {
            let states = ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"];
            state.as_u64().and_then(|state| states.get(state as usize)) == Some(&name.as_str())
        }
        (Value::String(_), Value::Object(opened)) => {
            ["topics", "assignedPartitions"].iter().any(|of| opened.contains_key(*of))
        }
        (ours, theirs) => ours == theirs,
    }
}
