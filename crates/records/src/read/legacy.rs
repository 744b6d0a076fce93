//! Messages of magic 0 and 1, on their own or inside of the wrapper of a compressed set.

use bytes::Bytes;
use milena_wire::counted;

use crate::codec::Codec;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{CODEC_BITS, LOG_OVERHEAD, MAGIC, NONE, SIZE, i32_at, i64_at, legacy, u32_at};
use crate::options::Mode;
use crate::read::batch::{Batch, TimestampType};
use crate::read::payload::Payload;
use crate::view::{Headers, RecordRef};

/// The key and the value of an entry that begins at byte `at` of `source` and takes `total` bytes.
fn parts(source: &Bytes, at: usize, total: usize) -> Result<[Option<&[u8]>; 2]> {
    let entry = &source[at..at + total];
    let mut pos = legacy::key(entry[MAGIC] as i8);
    let mut part = |field| {
        let Some(length) = entry.get(pos..pos + 4) else {
            return Err(Error::malformed(at + pos, "cut off").in_field(field));
        };
        let length = i32_at(length, 0);
        pos += 4;
        if length < 0 {
            return Ok(None);
        }
        let part = entry.get(pos..).and_then(|rest| rest.get(..length as usize)).ok_or_else(|| {
            let message = format!("length {length}, but {} left", counted(total - pos, "byte"));
            Error::malformed(at + pos - 4, message).in_field(field)
        })?;
        pos += part.len();
        Ok(Some(part))
    };
    // Bytes after the value are none of our business, nor of Kafka's.
    Ok([part("key")?, part("value")?])
}

/// The message of a batch without a look into its compression.
pub(super) fn outer(batch: &Batch) -> Result<RecordRef<'_>> {
    let [key, value] =
        parts(&batch.bytes, 0, batch.bytes.len()).map_err(|error| error.shift(batch.start).in_batch(batch.place()))?;
    Ok(RecordRef {
        offset: batch.base_offset(),
        timestamp: batch.max_timestamp(),
        key,
        value,
        headers: Headers::default(),
        sequence: NONE.into(),
        source: &batch.bytes,
    })
}

/// Opens a wrapper: decompresses the set, and finds out what its offsets are relative to.
pub(super) fn open(batch: &Batch, codec: Codec) -> Result<Payload> {
    let corrupt = |at: usize, message: &'static str| {
        Error::malformed(batch.start + at, message).in_field("value").in_batch(batch.place())
    };
    let tolerant = batch.options.mode == Mode::Tolerant;
    if codec == Codec::Zstd && !tolerant {
        return Err(corrupt(legacy::ATTRIBUTES, "zstd needs magic 2"));
    }
    let Some(value) = outer(batch)?.value else {
        return Err(corrupt(legacy::key(batch.magic()), "the wrapper of a compressed message set has no value"));
    };
    let at = value.as_ptr() as usize - batch.bytes.as_ptr() as usize;
    let mut payload = batch.decompress(codec, at, value)?;
    let mut last = None;
    let mut pos = 0;
    loop {
        match next_entry(&payload.data, pos) {
            Ok(Some(total)) => {
                last = Some(i64_at(&payload.data, pos));
                pos += total;
            }
            Ok(None) => break,
            Err(error) => {
                let error = error.decompressed().in_batch(batch.place());
                if !tolerant {
                    return Err(error);
                }
                payload.fault.get_or_insert(error);
                break;
            }
        }
    }
    let Some(last) = last else {
        return Err(payload.fault.unwrap_or_else(|| corrupt(at, "the compressed message set is empty")));
    };
    // Old producers left the wrapper's offset at 0.
    let offset = batch.base_offset();
    if batch.magic() == 1 && offset != 0 {
        if offset >= last {
            payload.inner_base = offset.wrapping_sub(last);
        } else if !tolerant {
            let message = format!("the wrapper's offset {offset} is below that of its last message, {last}");
            return Err(Error::malformed(batch.start, message).in_field("offset").in_batch(batch.place()));
        }
    }
    Ok(payload)
}

/// The size of the entry at `pos`, `None` at the end or when it is cut off, as Kafka has it.
fn next_entry(data: &[u8], pos: usize) -> Result<Option<usize>> {
    let rest = &data[pos..];
    if rest.len() < LOG_OVERHEAD {
        return Ok(None);
    }
    let size = i32_at(rest, SIZE);
    if size < legacy::MIN_SIZE_V0 as i32 {
        let message = format!("message of {}, the smallest has {}", counted(size, "byte"), legacy::MIN_SIZE_V0);
        return Err(Error::malformed(pos + SIZE, message).in_field("size"));
    }
    let total = size as usize + LOG_OVERHEAD;
    Ok((total <= rest.len()).then_some(total))
}

/// Reads the messages of one entry: itself, or those that it wraps.
#[derive(Clone, Copy)]
pub(super) struct Messages {
    wrapped: bool,
    base: i64,
    /// Overrides the timestamps of wrapped messages of magic 1.
    log_append_time: Option<i64>,
    check_crc: bool,
}

impl Messages {
    pub(super) fn new(batch: &Batch, payload: &Payload) -> Self {
        let wrapped = payload.decompressed;
        let log_append = wrapped && batch.timestamp_type() == TimestampType::LogAppendTime;
        Self {
            wrapped,
            base: payload.inner_base,
            log_append_time: log_append.then(|| batch.max_timestamp()),
            // That of a message on its own is that of the batch, and done with.
            check_crc: wrapped && batch.options.check_crc,
        }
    }

    pub(super) fn next<'a>(&self, data: &'a Bytes, pos: &mut usize) -> Option<Result<RecordRef<'a>>> {
        match next_entry(data, *pos) {
            Ok(Some(total)) => {
                let at = *pos;
                *pos += total;
                Some(self.message(data, at, total))
            }
            // The walk that opened the wrapper has come by here and kept the error.
            Ok(None) | Err(_) => None,
        }
    }

    fn message<'a>(&self, data: &'a Bytes, at: usize, total: usize) -> Result<RecordRef<'a>> {
        let entry = &data[at..at + total];
        let magic = entry[MAGIC] as i8;
        if magic != 0 && total < LOG_OVERHEAD + legacy::MIN_SIZE_V1 {
            return Err(Error::malformed(at + SIZE, format!("message of {total} bytes is cut off")).in_field("size"));
        }
        if self.wrapped && i16::from(entry[legacy::ATTRIBUTES]) & CODEC_BITS != 0 {
            let message = "a compressed message inside of a compressed set";
            return Err(Error::malformed(at + legacy::ATTRIBUTES, message).in_field("attributes"));
        }
        if self.check_crc {
            // CRC-32 whatever the magic says, which nobody looks at in here.
            let (stated, computed) = (u32_at(entry, legacy::CRC), crc32fast::hash(&entry[MAGIC..]));
            if stated != computed {
                let message = format!("checksum is {stated:#010x}, the bytes give {computed:#010x}");
                return Err(Error::new(ErrorKind::BadCrc, message).at(at + legacy::CRC).in_field("crc"));
            }
        }
        let [key, value] = parts(data, at, total)?;
        let timestamp = match (magic, self.log_append_time) {
            (0, _) => NONE.into(),
            // As Kafka has it: a magic that cannot be, but that nobody looks at in here, keeps its own.
            (1, Some(timestamp)) => timestamp,
            _ => i64_at(entry, legacy::TIMESTAMP),
        };
        Ok(RecordRef {
            offset: self.base.wrapping_add(i64_at(entry, 0)),
            timestamp,
            key,
            value,
            headers: Headers::default(),
            sequence: NONE.into(),
            source: data,
        })
    }
}
