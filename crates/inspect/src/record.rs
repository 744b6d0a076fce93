//! Batches and records as JSON: the one form that `milena codec`, `decode` and `consume` write.
//!
//! A **batch** has `magic`, `baseOffset`, `lastOffset`, `partitionLeaderEpoch`, `crc`, `crcValid`, `codec`,
//! `timestampType` (`none`, `create` or `logAppend`), `baseTimestamp`, `maxTimestamp`, `isTransactional`, `isControl`,
//! `deleteHorizon`, `count` and `sizeInBytes`; one of magic 2 also has `producerId`, `producerEpoch` and `baseSequence`. What
//! the format does not tell is null, or -1 for a number. Where a batch comes with its records, they are in `records`.
//!
//! A **record** has `offset`, `timestamp`, `key`, `value`, `headers`, `sequence` and `control`. Times are milliseconds since
//! 1970. `control` is null, or for a record of a control batch what it says, with its `type`. There are two ways to write
//! bytes:
//!
//! | | exact, of `codec` and `decode` | readable, of `consume` |
//! |---|---|---|
//! | key and value | base64 | text in `key` and `value`; what is not UTF-8 is base64 in `keyBase64` and `valueBase64` |
//! | headers | pairs of key and value, in base64 | objects with `key` and `value` (or `keyBase64` and `valueBase64`) |
//! | no timestamp | -1 | null |
//! | `sequence`, `control` | there | left out: a consumer does not see them |
//!
//! Null is null in both, and differs from empty; headers keep their order and duplicates.
//!
//! ```
//! use milena_inspect::record::{push_readable, push_record};
//! use milena_records::{Batch, Codec, ReadOptions, Record, encode};
//!
//! let bytes = encode(&[Record::new("k", "v").with_timestamp(7)], Codec::None)?;
//! let batch = Batch::parse(bytes, ReadOptions::default())?;
//! let record = batch.records().next().unwrap()?;
//!
//! let mut exact = b"{".to_vec();
//! push_record(&mut exact, &batch, &record);
//! assert_eq!(
//!     exact,
//!     br#"{"offset":0,"timestamp":7,"key":"aw==","value":"dg==","headers":[],"sequence":-1,"control":null"#
//! );
//! let mut readable = b"{".to_vec();
//! push_readable(&mut readable, &record.to_owned());
//! assert_eq!(readable, br#"{"offset":0,"timestamp":7,"key":"k","value":"v","headers":[]"#);
//! # Ok::<(), milena_records::Error>(())
//! ```

use milena_records::{Batch, Record, RecordRef, TimestampType};

pub use crate::control::control_json;
use crate::member::{base64, boolean, json, name, number, optional, raw, string, text};

/// The timestamp of a record that has none.
const NO_TIMESTAMP: i64 = -1;

/// Appends the members of a batch to an object that has begun. `base_offset` is that of the first record, which the header
/// of a compressed message set does not tell: see [`first_offset`].
pub fn push_batch(out: &mut Vec<u8>, batch: &Batch, base_offset: i64, crc_valid: bool) {
    number(out, "magic", batch.magic().into());
    number(out, "baseOffset", base_offset);
    number(out, "lastOffset", batch.last_offset());
    number(out, "partitionLeaderEpoch", batch.partition_leader_epoch().into());
    number(out, "crc", batch.crc().into());
    boolean(out, "crcValid", crc_valid);
    match batch.codec() {
        Ok(codec) => text(out, "codec", codec.name()),
        Err(_) => raw(out, "codec", "null"),
    }
    text(out, "timestampType", timestamp_type(batch));
    number(out, "baseTimestamp", batch.base_timestamp());
    number(out, "maxTimestamp", batch.max_timestamp());
    if batch.count().is_some() {
        number(out, "producerId", batch.producer_id());
        number(out, "producerEpoch", batch.producer_epoch().into());
        number(out, "baseSequence", batch.base_sequence().into());
    }
    boolean(out, "isTransactional", batch.is_transactional());
    boolean(out, "isControl", batch.is_control());
    optional(out, "deleteHorizon", batch.delete_horizon());
    optional(out, "count", batch.count().map(i64::from));
    number(out, "sizeInBytes", batch.size_in_bytes() as i64);
}

/// The offset of the first record of a batch. A compressed message set is decompressed for that.
pub fn first_offset(batch: &Batch) -> i64 {
    let inner = || batch.records().next().and_then(Result::ok).map(|record| record.offset);
    match batch.magic() < 2 && batch.is_compressed() {
        true => inner().unwrap_or(batch.base_offset()),
        false => batch.base_offset(),
    }
}

fn timestamp_type(batch: &Batch) -> &'static str {
    match batch.timestamp_type() {
        TimestampType::None => "none",
        TimestampType::CreateTime => "create",
        TimestampType::LogAppendTime => "logAppend",
    }
}

/// Appends the members of a record to an object that has begun, in the exact form.
pub fn push_record(out: &mut Vec<u8>, batch: &Batch, record: &RecordRef) {
    number(out, "offset", record.offset);
    number(out, "timestamp", record.timestamp);
    name(out, "key");
    base64(out, record.key);
    name(out, "value");
    base64(out, record.value);
    name(out, "headers");
    out.push(b'[');
    for (index, header) in record.headers().enumerate() {
        out.extend_from_slice(if index > 0 { b",[" } else { b"[" });
        base64(out, Some(header.key));
        out.push(b',');
        base64(out, header.value);
        out.push(b']');
    }
    out.push(b']');
    number(out, "sequence", record.sequence().into());
    match batch.is_control() {
        true => json(out, "control", &control_json(record)),
        false => raw(out, "control", "null"),
    }
}

/// Appends the members of a record to an object that has begun, in the readable form.
pub fn push_readable(out: &mut Vec<u8>, record: &Record) {
    number(out, "offset", record.offset);
    optional(out, "timestamp", (record.timestamp != NO_TIMESTAMP).then_some(record.timestamp));
    readable(out, ("key", "keyBase64"), record.key.as_deref());
    readable(out, ("value", "valueBase64"), record.value.as_deref());
    name(out, "headers");
    out.push(b'[');
    for (index, header) in record.headers.iter().enumerate() {
        out.extend_from_slice(if index > 0 { b",{" } else { b"{" });
        readable(out, ("key", "keyBase64"), Some(&header.key));
        readable(out, ("value", "valueBase64"), header.value.as_deref());
        out.push(b'}');
    }
    out.push(b']');
}

fn readable(out: &mut Vec<u8>, (plain, encoded): (&str, &str), bytes: Option<&[u8]>) {
    match bytes.map(std::str::from_utf8) {
        None => raw(out, plain, "null"),
        Some(Ok(value)) => {
            name(out, plain);
            string(out, value);
        }
        Some(Err(_)) => {
            name(out, encoded);
            base64(out, bytes);
        }
    }
}
