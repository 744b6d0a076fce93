//! `records` and `build`: batches as a harness sees and makes them.

use milena_records::{BatchBuilder, Codec, Header, MessageSetBuilder, Record};
use milena_wire::{Bytes, Error, Result};
use serde_json::{Map, Value};

use super::line::{self, Line};
use crate::batches::{Walk, fault_json};
use milena_inspect::text::from_base64;

/// Reads batches of any magic. What was read before a failure is in the response all the same.
pub(super) fn read(line: &Line, answer: &mut Vec<u8>) -> Result<()> {
    let bytes = line.bytes("hex")?;
    let tolerant = flag(line, "tolerant")?;
    let mut walk = Walk::new(bytes);
    let mut batches = Vec::new();
    let mut failed = None;
    for entry in walk.by_ref() {
        if !batches.is_empty() {
            batches.push(b',');
        }
        let error = entry.push_json(&mut batches, tolerant).map(|fault| fault_json(&fault));
        let stop = error.is_some() && !tolerant;
        failed = failed.or(error);
        if stop {
            break;
        }
    }
    let partial = walk.partial().map_or(0, |partial| partial.size);
    if let Some(error) = failed {
        answer.clear();
        line::begin(answer, line.id(), false);
        answer.extend_from_slice(format!(",\"error\":{error}").as_bytes());
    }
    answer.extend_from_slice(format!(",\"partialTail\":{partial},\"batches\":[").as_bytes());
    answer.append(&mut batches);
    answer.push(b']');
    Ok(())
}

/// Writes a batch of magic 2, or a message set of magic 0 or 1.
pub(super) fn build(line: &Line) -> Result<Bytes> {
    let magic = integer(line, "magic")?.unwrap_or(2_i8);
    let records = match line.optional("records")? {
        None => Vec::new(),
        Some(Value::Array(records)) => records
            .into_iter()
            .enumerate()
            .map(|(index, json)| record(json).map_err(|error| in_record(error, index)))
            .collect::<Result<Vec<_>>>()?,
        Some(_) => return Err(Error::invalid("`records` is not an array")),
    };
    let common = Common {
        codec: match line.optional("codec")? {
            None => Codec::None,
            Some(Value::String(name)) => name.parse()?,
            Some(_) => return Err(Error::invalid("`codec` is not a string")),
        },
        level: integer(line, "level")?,
        base_offset: match integer(line, "baseOffset")? {
            Some(offset) => offset,
            None => records.first().filter(|(_, placed)| *placed).map_or(0, |(record, _)| record.offset),
        },
        log_append_time: log_append_time(line, magic, &records)?,
    };
    match magic {
        0 | 1 => message_set(line, magic, common, &records),
        2 => batch(line, common, &records),
        magic => Err(Error::invalid(format!("magic {magic} is unknown; expected 0, 1 or 2"))),
    }
}

/// What all formats have.
struct Common {
    codec: Codec,
    level: Option<i32>,
    base_offset: i64,
    log_append_time: Option<i64>,
}

/// A record, and whether its offset is its own or follows from its place.
type Placed = (Record, bool);

fn batch(line: &Line, common: Common, records: &[Placed]) -> Result<Bytes> {
    let mut builder = BatchBuilder::new()
        .base_offset(common.base_offset)
        .codec(common.codec)
        .producer(
            integer(line, "producerId")?.unwrap_or(-1),
            integer(line, "producerEpoch")?.unwrap_or(-1),
            integer(line, "baseSequence")?.unwrap_or(-1),
        )
        .partition_leader_epoch(integer(line, "partitionLeaderEpoch")?.unwrap_or(-1))
        .transactional(flag(line, "isTransactional")?)
        .control(flag(line, "isControl")?);
    if let Some(level) = common.level {
        builder = builder.level(level);
    }
    if let Some(timestamp) = common.log_append_time {
        builder = builder.log_append_time(timestamp);
    }
    if let Some(timestamp) = integer(line, "deleteHorizon")? {
        builder = builder.delete_horizon(timestamp);
    }
    if let Some(offset) = integer(line, "lastOffset")? {
        builder = builder.last_offset(offset);
    }
    for (index, (record, placed)) in records.iter().enumerate() {
        let pushed = if *placed { builder.push_at_offset(record) } else { builder.push(record) };
        pushed.map_err(|error| in_record(error.into(), index))?;
    }
    Ok(builder.build()?)
}

fn message_set(line: &Line, magic: i8, common: Common, records: &[Placed]) -> Result<Bytes> {
    for name in ["producerId", "producerEpoch", "baseSequence", "partitionLeaderEpoch"] {
        if integer(line, name)?.unwrap_or(-1_i64) != -1 {
            return Err(Error::invalid(format!("`{name}` needs magic 2")));
        }
    }
    for name in ["isTransactional", "isControl"] {
        if flag(line, name)? {
            return Err(Error::invalid(format!("`{name}` needs magic 2")));
        }
    }
    if line.optional("deleteHorizon")?.is_some() {
        return Err(Error::invalid("`deleteHorizon` needs magic 2"));
    }
    let mut builder = MessageSetBuilder::new(magic)?.base_offset(common.base_offset).codec(common.codec);
    if let Some(level) = common.level {
        builder = builder.level(level);
    }
    if let Some(timestamp) = common.log_append_time {
        builder = builder.log_append_time(timestamp);
    }
    for (index, (record, placed)) in records.iter().enumerate() {
        let pushed = if *placed { builder.push_at_offset(record) } else { builder.push(record) };
        pushed.map_err(|error| in_record(error.into(), index))?;
    }
    Ok(builder.build()?)
}

/// The broker's timestamp, if it is the broker's: `maxTimestamp`, or else the greatest of the records.
fn log_append_time(line: &Line, magic: i8, records: &[Placed]) -> Result<Option<i64>> {
    let name = line.optional("timestampType")?.unwrap_or_else(|| "create".into());
    match (name.as_str(), magic) {
        (Some("create"), _) | (Some("none"), 0) => Ok(None),
        (Some("logAppend"), 1..) => {
            let greatest = || records.iter().map(|(record, _)| record.timestamp).max().unwrap_or(-1);
            Ok(Some(integer(line, "maxTimestamp")?.unwrap_or_else(greatest)))
        }
        (Some(name @ ("none" | "logAppend")), _) => {
            Err(Error::invalid(format!("there is no timestamp type {name} in magic {magic}")))
        }
        _ => Err(Error::invalid(format!("no timestamp type is named {name}; expected none, create or logAppend"))),
    }
}

fn record(json: Value) -> Result<Placed> {
    let Value::Object(mut map) = json else {
        return Err(Error::invalid("a record is an object"));
    };
    let offset = number(&mut map, "offset")?;
    let record = Record {
        offset: offset.unwrap_or(0),
        timestamp: number(&mut map, "timestamp")?.unwrap_or(-1),
        key: bytes("key", map.remove("key").unwrap_or_default())?,
        value: bytes("value", map.remove("value").unwrap_or_default())?,
        headers: match map.remove("headers").unwrap_or_default() {
            Value::Null => Vec::new(),
            Value::Array(headers) => headers
                .into_iter()
                .enumerate()
                .map(|(index, json)| header(json).map_err(|error| error.within_index(index).within("headers")))
                .collect::<Result<_>>()?,
            _ => return Err(Error::invalid("`headers` is not an array").within("headers")),
        },
    };
    // Both follow from the rest.
    map.remove("sequence");
    map.remove("control");
    match map.keys().next() {
        Some(name) => Err(Error::invalid(format!("a record has no `{name}`"))),
        None => Ok((record, offset.is_some())),
    }
}

fn header(json: Value) -> Result<Header> {
    match json {
        Value::Array(mut pair) if pair.len() == 2 => {
            let value = bytes("value", pair.pop().unwrap_or_default())?;
            match bytes("key", pair.pop().unwrap_or_default())? {
                Some(key) => Ok(Header { key, value }),
                None => Err(Error::invalid("the key of a header is not null")),
            }
        }
        _ => Err(Error::invalid("a header is an array of key and value")),
    }
}

fn bytes(name: &'static str, json: Value) -> Result<Option<Bytes>> {
    match json {
        Value::Null => Ok(None),
        Value::String(text) => match from_base64(&text) {
            Some(bytes) => Ok(Some(bytes.into())),
            None => Err(Error::invalid(format!("`{name}` is not base64")).within(name)),
        },
        _ => Err(Error::invalid(format!("`{name}` is neither base64 nor null")).within(name)),
    }
}

fn in_record(error: Error, index: usize) -> Error {
    error.within_index(index).within("records")
}

fn number(map: &mut Map<String, Value>, name: &'static str) -> Result<Option<i64>> {
    match map.remove(name).unwrap_or_default() {
        Value::Null => Ok(None),
        json => match json.as_i64() {
            Some(number) => Ok(Some(number)),
            None => Err(Error::invalid(format!("`{name}` is not an int64")).within(name)),
        },
    }
}

/// An integer; null is as good as none.
fn integer<T: TryFrom<i64>>(line: &Line, name: &str) -> Result<Option<T>> {
    let Some(json) = line.optional(name)? else { return Ok(None) };
    let number = json.as_i64().and_then(|number| T::try_from(number).ok());
    match number {
        Some(number) => Ok(Some(number)),
        None => {
            let bits = 8 * size_of::<T>();
            Err(Error::invalid(format!(
                "`{name}` is not an int{bits}: {}",
                crate::output::short(&json.to_string(), 40)
            )))
        }
    }
}

/// False unless said otherwise.
fn flag(line: &Line, name: &str) -> Result<bool> {
    match line.optional(name)? {
        None => Ok(false),
        Some(Value::Bool(yes)) => Ok(yes),
        Some(_) => Err(Error::invalid(format!("`{name}` is neither true nor false"))),
    }
}
