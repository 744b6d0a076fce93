//! Walks over every byte of a batch and says what it is for. Continues as far as the bytes can be read, whatever the verdict.

use std::ops::Range;

use bytes::Bytes;
use milena_records::{Batch, Codec, ReadOptions};
use milena_wire::varint;

use super::fields::{Content, Fields, Place};
use crate::batches::Entry;
use crate::output::size;
use crate::time;

/// Writes the fields of one batch.
pub(super) fn entry(fields: &mut Fields, entry: &Entry) {
    let bytes = entry.batch.as_ref().map_or(&entry.head, Batch::bytes).clone();
    let end = (entry.range.end - entry.range.start) as usize;
    let outside = Place { bytes, base: entry.range.start, inner: false, path: String::new(), depth: 0 };
    let name = format!("batches[{}]", entry.index);
    fields.push(&outside, &name, "batch", 0..end, Content::Part);
    let mut cursor = Cursor { place: outside.inside(&name), fields, pos: 0, end };
    let walked = match &entry.batch {
        None => cursor.head(),
        Some(batch) if batch.magic() == 2 => cursor.batch(batch),
        Some(batch) => cursor.message(Some(batch)),
    };
    cursor.rest(if walked.is_some() { "(left over)" } else { "(not read)" });
}

/// Reads fields one after the other. Those that return `None` have written the failure.
struct Cursor<'a> {
    fields: &'a mut Fields,
    place: Place,
    pos: usize,
    end: usize,
}

impl Cursor<'_> {
    /// What all formats begin with.
    fn head(&mut self) -> Option<()> {
        self.int("offset", "int64")?;
        self.int("size", "int32")?;
        None
    }

    fn batch(&mut self, batch: &Batch) -> Option<()> {
        self.int("baseOffset", "int64")?;
        self.int("size", "int32")?;
        self.int("partitionLeaderEpoch", "int32")?;
        self.int("magic", "int8")?;
        self.int_as("crc", "uint32", |_| crc(batch))?;
        self.int_as("attributes", "int16", attributes)?;
        let base = batch.base_offset();
        self.int_as("lastOffsetDelta", "int32", |delta| format!("(offset {})", base.wrapping_add(delta)))?;
        self.int_as("baseTimestamp", "int64", when)?;
        self.int_as("maxTimestamp", "int64", when)?;
        self.int("producerId", "int64")?;
        self.int("producerEpoch", "int16")?;
        self.int("baseSequence", "int32")?;
        let count = self.int("count", "int32")?;
        if !batch.is_compressed() {
            return self.records(batch, count);
        }
        let payload = self.pos..self.end;
        let mut inside = self.decompressed(batch, "records", payload)?;
        let read = inside.records(batch, count);
        inside.rest(if read.is_some() { "(left over)" } else { "(not read)" });
        Some(())
    }

    fn records(&mut self, batch: &Batch, count: i64) -> Option<()> {
        for index in 0..count {
            self.record(batch, &format!("records[{index}]"))?;
        }
        Some(())
    }

    fn record(&mut self, batch: &Batch, name: &str) -> Option<()> {
        let start = self.pos;
        let length = self.peek_varint().and_then(|(length, size)| Some(size + usize::try_from(length).ok()?));
        let Some(end) = length.map(|length| start + length).filter(|end| *end <= self.end) else {
            return self.fail(&format!("{name}.length"), "varint");
        };
        self.fields.push(&self.place, name, "record", start..end, Content::Part);
        let mut inside = Cursor { place: self.place.inside(name), fields: self.fields, pos: start, end };
        let read = inside.record_fields(batch);
        inside.rest(if read.is_some() { "(left over)" } else { "(not read)" });
        self.pos = end;
        read
    }

    fn record_fields(&mut self, batch: &Batch) -> Option<()> {
        let (timestamp, offset) = (batch.base_timestamp(), batch.base_offset());
        self.varint_as("length", |_| String::new())?;
        self.int("attributes", "int8")?;
        self.varlong("timestampDelta", |delta| when(timestamp.wrapping_add(delta)))?;
        self.varint_as("offsetDelta", |delta| format!("(offset {})", offset.wrapping_add(delta)))?;
        self.var_bytes("key")?;
        self.var_bytes("value")?;
        for index in 0..self.varint_as("headers", |_| String::new())? {
            self.var_bytes(&format!("headers[{index}].key"))?;
            self.var_bytes(&format!("headers[{index}].value"))?;
        }
        Some(())
    }

    /// A message of magic 0 or 1; `batch` when it is not inside of a wrapper.
    fn message(&mut self, batch: Option<&Batch>) -> Option<()> {
        self.int("offset", "int64")?;
        self.int("size", "int32")?;
        self.int_as("crc", "uint32", |_| batch.map(crc).unwrap_or_default())?;
        let magic = self.int("magic", "int8")?;
        self.int_as("attributes", "int8", attributes)?;
        if magic != 0 {
            self.int_as("timestamp", "int64", when)?;
        }
        self.int_bytes("key")?;
        let Some(batch) = batch.filter(|batch| batch.is_compressed()) else {
            return self.int_bytes("value");
        };
        let length = self.int("value.length", "int32")?;
        let Some(end) = usize::try_from(length).ok().map(|length| self.pos + length).filter(|end| *end <= self.end)
        else {
            return self.fail("value", "bytes");
        };
        let mut inside = self.decompressed(batch, "value", self.pos..end)?;
        let mut index = 0;
        while inside.pos < inside.end {
            let start = inside.pos;
            let size = inside.peek_int(8).and_then(|size| usize::try_from(size).ok());
            let Some(end) = size.map(|size| start + 12 + size).filter(|end| *end <= inside.end) else { break };
            let name = format!("messages[{index}]");
            inside.fields.push(&inside.place, &name, "message", start..end, Content::Part);
            let mut message = Cursor { place: inside.place.inside(&name), fields: inside.fields, pos: start, end };
            let read = message.message(None);
            message.rest(if read.is_some() { "(left over)" } else { "(not read)" });
            inside.pos = end;
            index += 1;
        }
        inside.rest("(cut off)");
        Some(())
    }

    /// A compressed payload, and a cursor inside of it.
    fn decompressed(&mut self, batch: &Batch, name: &str, range: Range<usize>) -> Option<Cursor<'_>> {
        let compressed = self.place.bytes.get(range.clone()).unwrap_or_default();
        let limit = ReadOptions::default().limit;
        let codec = batch.codec().unwrap_or_default();
        let opened = match batch.codec() {
            Err(error) => Err(error),
            Ok(codec) if self.fields.tolerant => Ok(codec.salvage(compressed, limit, batch.magic())),
            Ok(codec) => codec.decompress_message(compressed, limit, batch.magic()).map(|data| (data, None)),
        };
        let shown = match &opened {
            Ok((data, fault)) => {
                let fault =
                    fault.as_ref().map(|fault| format!(", up to where {}", fault.message())).unwrap_or_default();
                format!("{}, decompressed {} (in parentheses){fault}", size(range.len()), size(data.len()))
            }
            Err(error) => format!("<-- cannot be decompressed: {}", error.message()),
        };
        let ty = if codec == Codec::None { "bytes" } else { codec.name() };
        self.fields.push(&self.place, name, ty, range.clone(), Content::Opaque(shown));
        self.pos = range.end;
        let data = Bytes::from(opened.ok()?.0);
        let end = data.len();
        // Records are those of the batch, compressed or not.
        let place =
            Place { bytes: data, base: 0, inner: true, path: self.place.path.clone(), depth: self.place.depth + 1 };
        Some(Cursor { fields: self.fields, place, pos: 0, end })
    }

    fn int(&mut self, name: &str, ty: &'static str) -> Option<i64> {
        self.int_as(name, ty, |_| String::new())
    }

    fn int_as(&mut self, name: &str, ty: &'static str, meaning: impl FnOnce(i64) -> String) -> Option<i64> {
        let length = match ty {
            "int8" => 1,
            "int16" => 2,
            "int64" => 8,
            _ => 4,
        };
        let range = self.pos..self.pos + length;
        let bytes = self.place.bytes.get(range.clone()).filter(|_| range.end <= self.end);
        let Some(bytes) = bytes else { return self.fail(name, ty) };
        let number = big_endian(bytes, ty != "uint32");
        self.field(name, ty, range, Content::Number(number, meaning(number)))?;
        Some(number)
    }

    fn peek_int(&self, after: usize) -> Option<i64> {
        let at = self.pos + after;
        self.place.bytes.get(at..at + 4).filter(|_| at + 4 <= self.end).map(|bytes| big_endian(bytes, true))
    }

    fn peek_varint(&self) -> Option<(i64, usize)> {
        let rest = self.place.bytes.get(self.pos..self.end)?;
        varint::read_u32(rest).map(|(value, size)| (i64::from(varint::unzigzag32(value)), size))
    }

    fn varint_as(&mut self, name: &str, meaning: impl FnOnce(i64) -> String) -> Option<i64> {
        let Some((number, size)) = self.peek_varint() else { return self.fail(name, "varint") };
        self.field(name, "varint", self.pos..self.pos + size, Content::Number(number, meaning(number)))?;
        Some(number)
    }

    fn varlong(&mut self, name: &str, meaning: impl FnOnce(i64) -> String) -> Option<i64> {
        let read = self.place.bytes.get(self.pos..self.end).and_then(varint::read_u64);
        let Some((number, size)) = read else { return self.fail(name, "varlong") };
        let number = varint::unzigzag64(number);
        self.field(name, "varlong", self.pos..self.pos + size, Content::Number(number, meaning(number)))?;
        Some(number)
    }

    /// Bytes after a varint, as one field.
    fn var_bytes(&mut self, name: &str) -> Option<()> {
        match self.peek_varint() {
            Some((length, size)) => self.bytes(name, length, size),
            None => self.fail(name, "bytes"),
        }
    }

    /// Bytes after an int32, as one field.
    fn int_bytes(&mut self, name: &str) -> Option<()> {
        match self.peek_int(0) {
            Some(length) => self.bytes(name, length, 4),
            None => self.fail(name, "bytes"),
        }
    }

    fn bytes(&mut self, name: &str, length: i64, size: usize) -> Option<()> {
        let start = self.pos + size;
        let Ok(length) = usize::try_from(length) else {
            return self.field(name, "bytes", self.pos..start, Content::Bytes(None));
        };
        let Some(bytes) = self.place.bytes.get(start..self.end).and_then(|rest| rest.get(..length)) else {
            return self.fail(name, "bytes");
        };
        let bytes = self.place.bytes.slice_ref(bytes);
        self.field(name, "bytes", self.pos..start + length, Content::Bytes(Some(bytes)))
    }

    fn field(&mut self, name: &str, ty: &'static str, range: Range<usize>, content: Content) -> Option<()> {
        self.pos = range.end;
        self.fields.push(&self.place, name, ty, range, content);
        (!self.fields.is_closed()).then_some(())
    }

    fn fail<T>(&mut self, name: &str, ty: &'static str) -> Option<T> {
        let range = self.pos..self.end;
        self.field(name, ty, range, Content::Failed);
        None
    }

    /// Bytes that belong to no field, if there are some.
    fn rest(&mut self, name: &str) {
        if self.pos < self.end {
            let range = self.pos..self.end;
            self.field(name, "", range.clone(), Content::Opaque(size(range.len())));
        }
    }
}

fn big_endian(bytes: &[u8], signed: bool) -> i64 {
    let negative = signed && bytes.first().is_some_and(|byte| *byte >= 0x80);
    bytes.iter().fold(if negative { -1 } else { 0 }, |number, byte| number << 8 | i64::from(*byte))
}

fn crc(batch: &Batch) -> String {
    match (batch.crc(), batch.computed_crc()) {
        (stated, computed) if stated == computed => "(valid)".to_owned(),
        (_, computed) => format!("(INVALID, the bytes give {computed})"),
    }
}

fn when(millis: i64) -> String {
    if millis == -1 { String::new() } else { format!("({})", time::format(millis)) }
}

/// The bits by name.
fn attributes(bits: i64) -> String {
    let codec = Codec::from_id((bits & 7) as u8).map_or("unknown codec", Codec::name);
    let names = [(8, "logAppend"), (16, "transactional"), (32, "control"), (64, "deleteHorizon")];
    let mut parts = vec![codec];
    parts.extend(names.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name));
    format!("({})", parts.join(", "))
}
