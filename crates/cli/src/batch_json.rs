//! Batches and their records as JSON: what `codec` answers to `records`, and what `decode --records --json` prints.
//!
//! Bytes are base64, null is null. Written without a tree in between, because batches may be large.

use std::io::Write as _;

use base64::engine::general_purpose::STANDARD;
use milena_inspect::segment::control_json;
use milena_records::{Batch, Codec, Error, RecordRef, TimestampType};
use milena_wire::{Bytes, Error as WireError, ErrorKind};
use serde_json::{Value, json};

use crate::batches::Entry;

/// JSON of one batch above this is not written: many small records in few compressed bytes would make it very large.
const MAX_BATCH: usize = 512 * 1024 * 1024;

/// Appends a batch. Gives the error that makes strict reading fail, if there is one.
///
/// A batch that cannot be read has `error` in place of `records`. With `tolerant` there may be more: `readable` beside
/// `error`, the records in front of it; and `refused` beside `records`, why strict reading would not give them.
pub(crate) fn push_entry(out: &mut Vec<u8>, entry: &Entry, bytes: &Bytes, tolerant: bool) -> Option<Value> {
    out.push(b'{');
    let refused = entry.refused.as_ref().map(error_json);
    let Some(batch) = &entry.batch else {
        push_remains(out, bytes.get(entry.range.clone()).unwrap_or_default());
        push_member(out, "error", refused.as_ref().unwrap_or(&Value::Null));
        out.push(b'}');
        return refused;
    };
    push_header(out, batch);
    let start = out.len();
    let error = match (&refused, tolerant) {
        (Some(refused), false) => Some(refused.clone()),
        _ => push_records(out, batch).err(),
    };
    match &error {
        None => {
            if let Some(refused) = &refused {
                push_member(out, "refused", refused);
            }
        }
        Some(error) if tolerant && out.len() > start => {
            let records = out.split_off(start);
            push_member(out, "error", error);
            out.extend_from_slice(b",\"readable\"");
            out.extend_from_slice(records.get(b",\"records\"".len()..).unwrap_or_default());
        }
        Some(error) => push_member(out, "error", error),
    }
    out.push(b'}');
    refused.or(error)
}

/// What went wrong, in the form of `codec`. With `decompressed` the offset counts in the decompressed payload.
pub(crate) fn error_json(error: &Error) -> Value {
    let mut json = wire_error_json(&WireError::from(error.clone()));
    if error.is_decompressed() {
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

/// Whose clock it is, as one word.
pub(crate) fn timestamp_type(batch: &Batch) -> &'static str {
    match batch.timestamp_type() {
        TimestampType::None => "none",
        TimestampType::CreateTime => "create",
        TimestampType::LogAppendTime => "logAppend",
    }
}

/// The offset of the first record. The wrapper of a message set does not say it, but the messages inside do.
pub(crate) fn base_offset(batch: &Batch) -> i64 {
    let inner = || batch.records().next().and_then(Result::ok).map(|record| record.offset);
    match batch.magic() < 2 && batch.is_compressed() {
        true => inner().unwrap_or(batch.base_offset()),
        false => batch.base_offset(),
    }
}

/// A few members of an entry that has no whole header.
fn push_remains(out: &mut Vec<u8>, bytes: &[u8]) {
    let offset = bytes.first_chunk().map_or(-1, |offset| i64::from_be_bytes(*offset));
    let magic = bytes.get(16).map_or("null".to_owned(), |magic| (*magic as i8).to_string());
    put(out, format_args!("\"magic\":{magic},\"baseOffset\":{offset}"));
}

fn push_header(out: &mut Vec<u8>, batch: &Batch) {
    let codec = batch.codec().map_or("null".to_owned(), |codec: Codec| format!("\"{codec}\""));
    put(
        out,
        format_args!(
            "\"magic\":{},\"baseOffset\":{},\"lastOffset\":{},\"partitionLeaderEpoch\":{},\"crc\":{},\"crcValid\":{},\
             \"codec\":{codec},\"timestampType\":\"{}\",\"baseTimestamp\":{},\"maxTimestamp\":{}",
            batch.magic(),
            base_offset(batch),
            batch.last_offset(),
            batch.partition_leader_epoch(),
            batch.crc(),
            batch.check_crc().is_ok(),
            timestamp_type(batch),
            batch.base_timestamp(),
            batch.max_timestamp(),
        ),
    );
    if batch.count().is_some() {
        put(
            out,
            format_args!(
                ",\"producerId\":{},\"producerEpoch\":{},\"baseSequence\":{}",
                batch.producer_id(),
                batch.producer_epoch(),
                batch.base_sequence(),
            ),
        );
    }
    let or_null = |number: Option<i64>| number.map_or("null".to_owned(), |number| number.to_string());
    put(
        out,
        format_args!(
            ",\"isTransactional\":{},\"isControl\":{},\"deleteHorizon\":{},\"count\":{},\"sizeInBytes\":{}",
            batch.is_transactional(),
            batch.is_control(),
            or_null(batch.delete_horizon()),
            or_null(batch.count().map(i64::from)),
            batch.size_in_bytes(),
        ),
    );
}

/// Appends `records`. When it fails, those in front of the fault are there.
fn push_records(out: &mut Vec<u8>, batch: &Batch) -> Result<(), Value> {
    out.extend_from_slice(b",\"records\":[");
    let start = out.len();
    let mut result = Ok(());
    for record in batch.records() {
        match record {
            Ok(record) => {
                if out.len() > start {
                    out.push(b',');
                }
                push_record(out, &record, batch.is_control());
            }
            Err(error) => {
                result = Err(error_json(&error));
                break;
            }
        }
        if out.len() - start > MAX_BATCH {
            out.truncate(start);
            let message = format!("the records make more than {MAX_BATCH} bytes of JSON");
            let error = WireError::new(ErrorKind::LimitExceeded, message).within("records");
            result = Err(wire_error_json(&error.within_index(batch.place().index).within("batches")));
            break;
        }
    }
    out.push(b']');
    result
}

fn push_record(out: &mut Vec<u8>, record: &RecordRef, control: bool) {
    put(out, format_args!("{{\"offset\":{},\"timestamp\":{},\"key\":", record.offset, record.timestamp));
    push_base64(out, record.key);
    out.extend_from_slice(b",\"value\":");
    push_base64(out, record.value);
    out.extend_from_slice(b",\"headers\":[");
    for (index, header) in record.headers().enumerate() {
        out.extend_from_slice(if index > 0 { b",[" } else { b"[" });
        push_base64(out, Some(header.key));
        out.push(b',');
        push_base64(out, header.value);
        out.push(b']');
    }
    put(out, format_args!("],\"sequence\":{}", record.sequence()));
    push_member(out, "control", &if control { control_json(record) } else { Value::Null });
    out.push(b'}');
}

fn push_base64(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => put(out, format_args!("\"{}\"", base64::display::Base64Display::new(bytes, &STANDARD))),
        None => out.extend_from_slice(b"null"),
    }
}

fn push_member(out: &mut Vec<u8>, name: &str, value: &Value) {
    put(out, format_args!(",\"{name}\":{value}"));
}

/// Writing to memory does not fail.
fn put(out: &mut Vec<u8>, text: std::fmt::Arguments) {
    let _ = out.write_fmt(text);
}
