//! Batches of unknown origin, each with a verdict: would a consumer that checks checksums accept it?

use std::ops::Range;

use bytes::Bytes;
use milena_inspect::record::{first_offset, push_batch, push_record};
use milena_records::{Batch, Batches, Partial, ReadOptions};
use milena_storage::{Fault, LogContent, LogEntry};
use milena_wire::{Error as WireError, ErrorKind};
use serde_json::{Value, json};

/// JSON of one batch above this is not written: many small records in few compressed bytes would make it very large.
const MAX_BATCH: usize = 512 * 1024 * 1024;

/// One batch, or what is there in place of one.
pub(crate) struct Entry {
    /// Its number, from 0.
    pub(crate) index: usize,
    /// Its bytes, counted from the start of the input.
    pub(crate) range: Range<u64>,
    /// The first of them, at most as many as the longest header has.
    pub(crate) head: Bytes,
    /// None if the header cannot be read.
    pub(crate) batch: Option<Batch>,
    /// Why the batch as a whole is refused. Its records may be at fault too.
    pub(crate) refused: Option<Fault>,
}

impl Entry {
    /// A part of a log; `None` for what is no damage.
    pub(crate) fn of_log(index: usize, entry: LogEntry) -> Option<Self> {
        let (batch, refused) = match entry.content {
            LogContent::Batch { batch, .. } => {
                let refused = batch.check_crc().err();
                (Some(batch), refused.map(|error| Fault::of_batch(&error, entry.range.clone())))
            }
            LogContent::Damaged(fault) => (None, Some(fault)),
            _ => return None,
        };
        Some(Self { index, range: entry.range, head: entry.head, batch, refused })
    }

    /// The batch as [`Mode::Tolerant`](milena_records::Mode::Tolerant) reads it.
    pub(crate) fn tolerant(&self) -> Option<Batch> {
        let batch = self.batch.as_ref()?;
        let again = Batch::parse(batch.bytes().clone(), ReadOptions::tolerant()).ok()?;
        Some(again.placed(batch.place().index, batch.place().range.start))
    }

    /// Appends the batch as JSON, in the form of [`milena_inspect::record`] with its records in `records`. Returns the fault
    /// that makes strict reading fail, if there is one.
    ///
    /// A batch that cannot be read has `error` in place of `records`. With `tolerant` there may be more: `readable` beside
    /// `error` has the records before the fault; `refused` beside `records` says why strict reading would refuse them.
    pub(crate) fn push_json(&self, out: &mut Vec<u8>, tolerant: bool) -> Option<Fault> {
        out.push(b'{');
        let Some(batch) = &self.batch else {
            self.push_remains(out);
            push_error(out, "error", self.refused.as_ref());
            out.push(b'}');
            return self.refused.clone();
        };
        push_batch(out, batch, first_offset(batch), batch.check_crc().is_ok());
        let start = out.len();
        let strict = match &self.refused {
            Some(fault) => Err(fault.clone().into()),
            None => push_records(out, batch, self.range.clone()),
        };
        let Err(refused) = strict else {
            out.push(b'}');
            return None;
        };
        out.truncate(start);
        let read = match self.tolerant().filter(|_| tolerant) {
            Some(batch) => push_records(out, &batch, self.range.clone()),
            None => Err(refused.clone()),
        };
        match read {
            Ok(()) => push_error(out, "refused", Some(&refused)),
            Err(error) if out.len() > start => {
                let records = out.split_off(start);
                push_error(out, "error", Some(&error));
                out.extend_from_slice(b",\"readable\"");
                out.extend_from_slice(records.get(b",\"records\"".len()..).unwrap_or_default());
            }
            Err(error) => push_error(out, "error", Some(&error)),
        }
        out.push(b'}');
        Some(*refused)
    }

    /// A few members of an entry that has no whole header.
    fn push_remains(&self, out: &mut Vec<u8>) {
        let offset = self.head.first_chunk().map_or(-1, |offset| i64::from_be_bytes(*offset));
        let magic = self.head.get(16).map_or("null".to_owned(), |magic| (*magic as i8).to_string());
        out.extend_from_slice(format!("\"magic\":{magic},\"baseOffset\":{offset}").as_bytes());
    }
}

/// Appends `records`. When it fails, those before the fault are there.
fn push_records(out: &mut Vec<u8>, batch: &Batch, range: Range<u64>) -> Result<(), Box<Fault>> {
    out.extend_from_slice(b",\"records\":[");
    let start = out.len();
    let mut result = Ok(());
    for record in batch.records() {
        match record {
            Ok(record) => {
                out.extend_from_slice(if out.len() > start { b",{" } else { b"{" });
                push_record(out, batch, &record);
                out.push(b'}');
            }
            Err(error) => {
                result = Err(Fault::of_batch(&error, range).into());
                break;
            }
        }
        if out.len() - start > MAX_BATCH {
            out.truncate(start);
            let message = format!("the records make more than {MAX_BATCH} bytes of JSON");
            let path = format!("batches[{}].records", batch.place().index);
            let fault = Fault::new(ErrorKind::LimitExceeded.name(), range, message);
            result = Err(Fault { at: None, path, ..fault }.into());
            break;
        }
    }
    out.push(b']');
    result
}

fn push_error(out: &mut Vec<u8>, name: &str, fault: Option<&Fault>) {
    let error = fault.map_or(Value::Null, fault_json);
    out.extend_from_slice(format!(",\"{name}\":{error}").as_bytes());
}

/// What is wrong, in the form of `codec`. With `decompressed` the offset counts in the decompressed payload.
pub(crate) fn fault_json(fault: &Fault) -> Value {
    let path = if fault.path.is_empty() { Value::Null } else { Value::String(fault.path.clone()) };
    // `codec` has the kinds of messages, which do not tell these apart.
    let kind = match fault.kind {
        "framing" | "bad_crc" => ErrorKind::Malformed.name(),
        "unsupported_codec" | "full" => ErrorKind::InvalidValue.name(),
        kind => kind,
    };
    let mut json = json!({ "kind": kind, "offset": fault.at, "path": path, "message": fault.message });
    if fault.decompressed {
        json["decompressed"] = Value::Bool(true);
    }
    json
}

/// What went wrong, in the form of `codec`.
pub(crate) fn wire_error_json(error: &WireError) -> Value {
    let path = error.path();
    json!({
        "kind": error.kind().name(),
        "offset": error.offset(),
        "path": if path.is_empty() { Value::Null } else { Value::String(path) },
        "message": error.message(),
    })
}

/// Walks from batch to batch in bytes that are exactly that, as in a response. Where a size is impossible, it ends.
pub(crate) struct Walk {
    bytes: Bytes,
    batches: Batches,
}

impl Walk {
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self { batches: Batches::new(bytes.clone()), bytes }
    }

    /// The batch that is cut off at the end. Batches that were not walked over are skipped for that.
    pub(crate) fn partial(&mut self) -> Option<Partial> {
        self.batches.by_ref().for_each(drop);
        self.batches.partial()
    }
}

impl Iterator for Walk {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let start = self.batches.position();
        let (place, batch, error) = match self.batches.next()? {
            Ok(batch) => (Some(batch.place()), batch.check_crc().err(), Ok(batch)),
            Err(error) => (error.batch().cloned(), Some(error.clone()), Err(())),
        };
        let (batch, error) = (error.ok(), batch);
        let (index, range) = place.map_or((0, start..self.bytes.len()), |place| (place.index, place.range));
        let head = self.bytes.slice(range.start..range.end.min(range.start + 61).min(self.bytes.len()));
        let range = range.start as u64..range.end as u64;
        let refused = error.map(|error| Fault::of_batch(&error, range.clone()));
        Some(Entry { index, range, head, batch, refused })
    }
}
