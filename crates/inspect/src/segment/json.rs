use std::io::{self, Write};
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milena_records::{Batch, Codec, RecordRef, TimestampType};
use milena_storage::{Fault, File, FileState, IndexEntry, Item};
use serde_json::Value;

use super::control::control_json;
use super::quorum::quorum_state_json;
use crate::topic::TopicRecord;

/// Writes items as JSON, one object on a line, with its kind in `type`.
///
/// Nothing is lost: bytes are base64, null is null and not empty, headers keep their order and duplicates. A record says
/// which topic and partition it is of when its folder does; of Kafka's own topics it says in `decoded` what it means, as
/// [`TopicRecord::to_json`](crate::topic::TopicRecord::to_json) has it. Of other topics no tree is built in between.
///
/// ```
/// use milena_inspect::segment::{JsonLines, read_log};
/// use milena_records::{Codec, Record, encode};
/// use milena_storage::Options;
///
/// let file = encode(&[Record::new("k", "v").with_timestamp(7)], Codec::None)?;
/// let mut lines = JsonLines::new(Vec::new());
/// read_log(&file[..], &Options::default(), &mut |item, decoded| lines.item(item, decoded))?;
/// let text = String::from_utf8(lines.into_inner())?;
/// assert_eq!(
///     text.lines().nth(1).unwrap(),
///     r#"{"type":"record","offset":0,"timestamp":7,"sequence":-1,"key":"aw==","value":"dg==","headers":[]}"#
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct JsonLines<W> {
    out: W,
    line: Vec<u8>,
    /// What each record of the file begins with.
    record: Vec<u8>,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `out`, a whole line at a time; a buffer around it is worth while.
    pub fn new(out: W) -> Self {
        Self { out, line: Vec::new(), record: b"{\"type\":\"record\"".to_vec() }
    }

    /// What was written to.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Writes a line.
    ///
    /// # Errors
    /// What writing gives.
    pub fn item(&mut self, item: &Item, decoded: Option<&TopicRecord>) -> io::Result<()> {
        self.line.clear();
        let line = &mut self.line;
        match item {
            Item::Record { batch, record } => {
                line.extend_from_slice(&self.record);
                push_record(line, batch, record);
                if let Some(decoded) = decoded {
                    json(line, "decoded", &decoded.to_json());
                }
            }
            Item::Batch { batch, crc_valid } => push_batch(line, batch, *crc_valid),
            Item::File(file) => {
                self.record = record_prefix(file);
                push_file(line, file);
            }
            Item::Fault(fault) => push_fault(line, fault),
            Item::Zeros(range) => {
                begin(line, "zeros");
                push_range(line, range);
            }
            Item::CutOff { range, expected } => {
                begin(line, "cutOff");
                push_range(line, range);
                push_optional(line, "expectedSize", expected.map(|size| size as i64));
            }
            Item::Index { entry, .. } => push_index(line, entry),
            Item::Producers(producers) => {
                begin(line, "producers");
                number(line, "version", producers.version.into());
                number(line, "crc", producers.crc.into());
                raw(line, "crcValid", if producers.crc_valid { "true" } else { "false" });
                number(line, "count", producers.entries.len() as i64);
            }
            Item::Producer(entry) => {
                begin(line, "producer");
                number(line, "producerId", entry.producer_id);
                number(line, "producerEpoch", entry.epoch.into());
                number(line, "lastSequence", entry.last_sequence.into());
                number(line, "lastOffset", entry.last_offset);
                number(line, "offsetDelta", entry.offset_delta.into());
                number(line, "timestamp", entry.timestamp);
                number(line, "coordinatorEpoch", entry.coordinator_epoch.into());
                number(line, "currentTxnFirstOffset", entry.current_txn_first_offset);
            }
            Item::Epoch(entry) => {
                begin(line, "leaderEpoch");
                number(line, "epoch", entry.epoch.into());
                number(line, "startOffset", entry.start_offset);
            }
            Item::Offset(entry) => {
                begin(line, "offset");
                text(line, "topic", &entry.topic);
                number(line, "partition", entry.partition.into());
                number(line, "offset", entry.offset);
            }
            Item::Property { name, value } => {
                begin(line, "property");
                text(line, "name", name);
                text(line, "value", value);
            }
            Item::QuorumState(state) => {
                begin(line, "quorumState");
                json(line, "state", &quorum_state_json(state).unwrap_or_default());
            }
            Item::Verified(verified) => {
                begin(line, "verified");
                number(line, "entries", verified.entries as i64);
                number(line, "records", verified.records as i64);
                push_optional(line, "firstOffset", verified.offsets.as_ref().map(|offsets| offsets.start));
                push_optional(line, "lastOffset", verified.offsets.as_ref().map(|offsets| offsets.end - 1));
                number(line, "faults", verified.faults as i64);
            }
            Item::Skipped(why) => {
                begin(line, "skipped");
                text(line, "why", why.name());
            }
            _ => return Ok(()),
        }
        line.extend_from_slice(b"}\n");
        self.out.write_all(line)
    }

    /// Writes what is still in the buffer of the output.
    ///
    /// # Errors
    /// What writing gives.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn record_prefix(file: &File) -> Vec<u8> {
    let mut prefix = Vec::new();
    begin(&mut prefix, "record");
    if let Some(partition) = &file.partition {
        text(&mut prefix, "topic", &partition.topic);
        number(&mut prefix, "partition", partition.partition.into());
    }
    prefix
}

fn push_file(line: &mut Vec<u8>, file: &File) {
    begin(line, "file");
    text(line, "path", &file.path.to_string_lossy());
    text(line, "kind", file.name.kind.name());
    if file.name.state != FileState::Live {
        text(line, "state", file.name.state.name());
    }
    if let Some(partition) = &file.partition {
        text(line, "topic", &partition.topic);
        number(line, "partition", partition.partition.into());
    }
    number(line, "offset", file.name.offset);
    number(line, "size", file.size as i64);
}

/// The members of `milena codec`, with the place in the file.
fn push_batch(line: &mut Vec<u8>, batch: &Batch, crc_valid: bool) {
    begin(line, "batch");
    number(line, "position", batch.place().range.start as i64);
    number(line, "sizeInBytes", batch.size_in_bytes() as i64);
    number(line, "magic", batch.magic().into());
    number(line, "baseOffset", batch.base_offset());
    number(line, "lastOffset", batch.last_offset());
    number(line, "partitionLeaderEpoch", batch.partition_leader_epoch().into());
    number(line, "crc", batch.crc().into());
    boolean(line, "crcValid", crc_valid);
    match batch.codec() {
        Ok(codec) => text(line, "codec", Codec::name(codec)),
        Err(_) => raw(line, "codec", "null"),
    }
    let clock = match batch.timestamp_type() {
        TimestampType::None => "none",
        TimestampType::CreateTime => "create",
        TimestampType::LogAppendTime => "logAppend",
    };
    text(line, "timestampType", clock);
    number(line, "baseTimestamp", batch.base_timestamp());
    number(line, "maxTimestamp", batch.max_timestamp());
    number(line, "producerId", batch.producer_id());
    number(line, "producerEpoch", batch.producer_epoch().into());
    number(line, "baseSequence", batch.base_sequence().into());
    number(line, "lastSequence", batch.last_sequence().into());
    boolean(line, "isTransactional", batch.is_transactional());
    boolean(line, "isControl", batch.is_control());
    push_optional(line, "deleteHorizon", batch.delete_horizon());
    push_optional(line, "count", batch.count().map(i64::from));
}

fn push_record(line: &mut Vec<u8>, batch: &Batch, record: &RecordRef) {
    number(line, "offset", record.offset);
    number(line, "timestamp", record.timestamp);
    number(line, "sequence", record.sequence().into());
    name(line, "key");
    push_bytes(line, record.key);
    name(line, "value");
    push_bytes(line, record.value);
    name(line, "headers");
    line.push(b'[');
    for (index, header) in record.headers().enumerate() {
        line.extend_from_slice(if index > 0 { b",[" } else { b"[" });
        push_bytes(line, Some(header.key));
        line.push(b',');
        push_bytes(line, header.value);
        line.push(b']');
    }
    line.push(b']');
    if batch.is_control() {
        json(line, "control", &control_json(record));
    }
}

fn push_fault(line: &mut Vec<u8>, fault: &Fault) {
    begin(line, "fault");
    text(line, "kind", fault.kind);
    push_range(line, &fault.range);
    push_optional(line, "at", fault.at.map(|at| at as i64));
    if fault.decompressed {
        boolean(line, "decompressed", true);
    }
    if !fault.path.is_empty() {
        text(line, "path", &fault.path);
    }
    text(line, "message", &fault.message);
    if let Some(lost) = &fault.lost {
        number(line, "firstLostOffset", lost.start);
        number(line, "lastLostOffset", lost.end - 1);
    }
}

fn push_index(line: &mut Vec<u8>, entry: &IndexEntry) {
    match entry {
        IndexEntry::Offset(entry) => {
            begin(line, "index");
            number(line, "offset", entry.offset);
            number(line, "position", entry.position.into());
        }
        IndexEntry::Time(entry) => {
            begin(line, "timeIndex");
            number(line, "timestamp", entry.timestamp);
            number(line, "offset", entry.offset);
        }
        IndexEntry::Aborted(aborted) => {
            begin(line, "abortedTxn");
            number(line, "producerId", aborted.producer_id);
            number(line, "firstOffset", aborted.first_offset);
            number(line, "lastOffset", aborted.last_offset);
            number(line, "lastStableOffset", aborted.last_stable_offset);
        }
    }
}

fn begin(line: &mut Vec<u8>, kind: &str) {
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(kind.as_bytes());
    line.push(b'"');
}

fn name(line: &mut Vec<u8>, name: &str) {
    line.extend_from_slice(b",\"");
    line.extend_from_slice(name.as_bytes());
    line.extend_from_slice(b"\":");
}

fn raw(line: &mut Vec<u8>, member: &str, value: &str) {
    name(line, member);
    line.extend_from_slice(value.as_bytes());
}

fn boolean(line: &mut Vec<u8>, member: &str, value: bool) {
    raw(line, member, if value { "true" } else { "false" });
}

fn number(line: &mut Vec<u8>, member: &str, value: i64) {
    name(line, member);
    push_number(line, value);
}

fn push_optional(line: &mut Vec<u8>, member: &str, value: Option<i64>) {
    match value {
        Some(value) => number(line, member, value),
        None => raw(line, member, "null"),
    }
}

fn push_range(line: &mut Vec<u8>, range: &Range<u64>) {
    number(line, "start", range.start as i64);
    number(line, "end", range.end as i64);
}

/// Digits from behind: `write!` takes a third of all the time otherwise.
fn push_number(line: &mut Vec<u8>, value: i64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        line.push(b'-');
    }
    line.extend_from_slice(&digits[at..]);
}

fn text(line: &mut Vec<u8>, member: &str, value: &str) {
    json(line, member, &Value::String(value.to_owned()));
}

fn json(line: &mut Vec<u8>, member: &str, value: &Value) {
    name(line, member);
    // Writing a value to memory does not fail.
    let _ = serde_json::to_writer(line, value);
}

fn push_bytes(line: &mut Vec<u8>, bytes: Option<&[u8]>) {
    let Some(bytes) = bytes else { return line.extend_from_slice(b"null") };
    line.push(b'"');
    let start = line.len();
    let room = bytes.len().div_ceil(3) * 4;
    line.resize(start + room, b'=');
    // The room is what base64 takes, so this does not fail either.
    let written = STANDARD.encode_slice(bytes, &mut line[start..]).unwrap_or_default();
    line.truncate(start + written);
    line.push(b'"');
}
