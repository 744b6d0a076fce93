use std::io::{self, Write};

use milena_storage::{Fault, File, FileState, IndexEntry, Item};

use super::quorum::quorum_state_json;
use crate::member::{begin, boolean, json, number, optional, raw, span, text};
use crate::record::{first_offset, push_batch, push_record};
use crate::topic::TopicRecord;

/// Writes items as JSON, one object on a line, with its kind in `type`.
///
/// Batches and records have the exact form of [`record`](crate::record). A batch also has its `position` in the file and
/// its `lastSequence`; a record the `topic` and `partition` that its folder names and, in Kafka's own topics, its meaning in
/// `decoded`, in the form of [`TopicRecord::to_json`](crate::topic::TopicRecord::to_json).
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
///     r#"{"type":"record","offset":0,"timestamp":7,"key":"aw==","value":"dg==","headers":[],"sequence":-1,"control":null}"#
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct JsonLines<W> {
    out: W,
    line: Vec<u8>,
    /// What each record of the file begins with.
    record: Vec<u8>,
    headers_only: bool,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `out`, a whole line at a time; a buffer around it is worth while.
    pub fn new(out: W) -> Self {
        Self { out, line: Vec::new(), record: b"{\"type\":\"record\"".to_vec(), headers_only: false }
    }

    /// Decompresses nothing: `baseOffset` of a compressed message set is what its header says, its last offset.
    pub fn headers_only(mut self, yes: bool) -> Self {
        self.headers_only = yes;
        self
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
            Item::Batch { batch, crc_valid } => {
                begin(line, "batch");
                number(line, "position", batch.place().range.start as i64);
                let base_offset = if self.headers_only { batch.base_offset() } else { first_offset(batch) };
                push_batch(line, batch, base_offset, *crc_valid);
                number(line, "lastSequence", batch.last_sequence().into());
            }
            Item::File(file) => {
                self.record = record_prefix(file);
                push_file(line, file);
            }
            Item::Fault(fault) => push_fault(line, fault),
            Item::Zeros(range) => {
                begin(line, "zeros");
                span(line, range);
            }
            Item::CutOff { range, expected } => {
                begin(line, "cutOff");
                span(line, range);
                optional(line, "expectedSize", expected.map(|size| size as i64));
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
                optional(line, "firstOffset", verified.offsets.as_ref().map(|offsets| offsets.start));
                optional(line, "lastOffset", verified.offsets.as_ref().map(|offsets| offsets.end - 1));
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

fn push_fault(line: &mut Vec<u8>, fault: &Fault) {
    begin(line, "fault");
    text(line, "kind", fault.kind);
    span(line, &fault.range);
    optional(line, "at", fault.at.map(|at| at as i64));
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
