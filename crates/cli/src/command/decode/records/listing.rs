//! Batches for eyes: two lines for the header, then a table of the records.

use std::io::Write;

use milena_inspect::segment::control_json;
use milena_records::{Batch, Error, HeaderRef, RecordRef, TimestampType};
use serde_json::Value;

use crate::batch_json::base_offset;
use crate::batches::Entry;
use crate::failure::Result;
use crate::output::{hex, short, size};
use crate::table::Table;
use crate::time;

/// Records in one table, so that a batch of very many takes no memory of note.
const ROWS: usize = 1000;

/// Bytes that are shown of what is no text.
const HEX_BYTES: usize = 16;

/// Writes one batch.
pub(super) fn entry(out: &mut impl Write, entry: &Entry, tolerant: bool) -> Result {
    let range = format!("batch {}  bytes {}..{}", entry.index, entry.range.start, entry.range.end);
    let Some(batch) = &entry.batch else {
        writeln!(out, "{range}")?;
        return fault(out, "damaged", entry.refused.as_ref());
    };
    writeln!(out, "{range}  {}", head(batch))?;
    writeln!(out, "  {}", details(batch))?;
    if entry.refused.is_some() && !tolerant {
        return fault(out, "damaged", entry.refused.as_ref());
    }
    let mut records = batch.records().peekable();
    let mut failed = None;
    while records.peek().is_some() {
        let mut table = Table::new(&[">OFFSET", "TIMESTAMP", "KEY", "VALUE", "HEADERS"]);
        let mut rows = 0;
        for record in records.by_ref().take(ROWS) {
            match record {
                Ok(record) => table.row(row(batch, &record)),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
            rows += 1;
        }
        if rows > 0 {
            for line in table.render().lines() {
                writeln!(out, "  {line}")?;
            }
        }
    }
    match (&failed, &entry.refused) {
        (Some(error), _) => fault(out, "damaged", Some(error)),
        (None, Some(error)) => fault(out, "refused", Some(error)),
        (None, None) => Ok(()),
    }
}

fn fault(out: &mut impl Write, word: &str, error: Option<&Error>) -> Result {
    if let Some(error) = error {
        writeln!(out, "  {word}: {}: {}", error.kind(), short(&error.to_string(), 300))?;
    }
    Ok(())
}

/// What there is, and in which form.
pub(in crate::command::decode) fn head(batch: &Batch) -> String {
    let (first, last) = (base_offset(batch), batch.last_offset());
    let offsets = if first == last { format!("offset {first}") } else { format!("offsets {first} to {last}") };
    let codec = match batch.codec() {
        Ok(codec) if batch.is_compressed() => codec.name(),
        Ok(_) => "not compressed",
        Err(_) => "unknown codec",
    };
    let mut parts = vec![offsets, format!("magic {}", batch.magic()), codec.to_owned()];
    match batch.count() {
        Some(1) => parts.push("1 record".to_owned()),
        Some(count) => parts.push(format!("{count} records")),
        None => {}
    }
    parts.extend(batch.is_transactional().then(|| "transactional".to_owned()));
    parts.extend(batch.is_control().then(|| "control".to_owned()));
    parts.join("  ")
}

/// The other fields of the header, where they say something.
pub(in crate::command::decode) fn details(batch: &Batch) -> String {
    let right = if batch.check_crc().is_ok() { "right" } else { "WRONG" };
    let mut parts = vec![format!("crc {:08x} {right}", batch.crc())];
    match batch.timestamp_type() {
        TimestampType::None => {}
        // The base is the horizon then.
        TimestampType::CreateTime if batch.delete_horizon().is_some() => {
            parts.push(format!("created up to {}", when(batch.max_timestamp())));
        }
        TimestampType::CreateTime if batch.count().is_some() => {
            parts.push(format!("created {} to {}", when(batch.base_timestamp()), when(batch.max_timestamp())));
        }
        TimestampType::CreateTime => parts.push(format!("created {}", when(batch.max_timestamp()))),
        TimestampType::LogAppendTime => parts.push(format!("appended {}", when(batch.max_timestamp()))),
    }
    if batch.count().is_some() {
        parts.push(format!("leader epoch {}", batch.partition_leader_epoch()));
    }
    if batch.producer_id() >= 0 {
        let (id, epoch, sequence) = (batch.producer_id(), batch.producer_epoch(), batch.base_sequence());
        parts.push(format!("producer {id} epoch {epoch} sequence {sequence}"));
    }
    parts.extend(batch.delete_horizon().map(|horizon| format!("delete horizon {}", when(horizon))));
    parts.join("  ")
}

pub(in crate::command::decode) fn when(millis: i64) -> String {
    if millis == -1 { "-".to_owned() } else { time::format(millis) }
}

pub(in crate::command::decode) fn row(batch: &Batch, record: &RecordRef) -> Vec<String> {
    let (key, value) = match batch.is_control() {
        true => said(&control_json(record)),
        false => (shown(record.key, 30), shown(record.value, 60)),
    };
    let headers: Vec<String> = record.headers().map(header).collect();
    vec![record.offset.to_string(), when(record.timestamp), key, value, headers.join(", ")]
}

/// A control record: its type, and what comes with it.
fn said(control: &Value) -> (String, String) {
    let name = control["type"].as_str().unwrap_or_default().to_owned();
    let rest = control.as_object().into_iter().flatten().filter(|(name, _)| *name != "type");
    let rest: Vec<String> = rest.map(|(name, value)| format!("{name}: {value}")).collect();
    (name, short(&rest.join(", "), 100))
}

fn header(header: HeaderRef) -> String {
    let key = header.key_str();
    // What could be taken for what stands between headers is quoted.
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "-_./".contains(c));
    let key = if plain { short(&key, 30) } else { short(&format!("{key:?}"), 30) };
    format!("{key}={}", shown(header.value, 30))
}

/// Text as text, other bytes as hex, and null apart from empty.
fn shown(bytes: Option<&[u8]>, width: usize) -> String {
    let Some(bytes) = bytes else { return "null".to_owned() };
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains(char::is_control) => format!("{:?}", short(text, width)),
        _ if bytes.len() <= HEX_BYTES => format!("0x{}", hex(bytes)),
        _ => format!("0x{}… ({})", hex(bytes.get(..HEX_BYTES).unwrap_or_default()), size(bytes.len())),
    }
}
