use bytes::Bytes;
use milena_wire::counted;

use crate::error::{Error, Result};
use crate::layout::LOG_APPEND_TIME;
use crate::read::batch::{Batch, increment_sequence};
use crate::read::cursor::Cursor;
use crate::view::{Headers, RecordRef};

/// What the records of a batch of magic 2 are relative to.
#[derive(Clone, Copy)]
pub(super) struct Base {
    offset: i64,
    timestamp: i64,
    log_append_time: Option<i64>,
    sequence: i32,
}

impl Base {
    #[inline]
    pub(super) fn new(batch: &Batch) -> Self {
        Self {
            offset: batch.base_offset(),
            timestamp: batch.base_timestamp(),
            log_append_time: (batch.attributes() & LOG_APPEND_TIME != 0).then(|| batch.max_timestamp()),
            sequence: batch.base_sequence(),
        }
    }

    /// Reads the record at `pos`, and moves `pos` after it.
    #[inline]
    pub(super) fn record<'a>(&self, source: &'a Bytes, pos: &mut usize) -> Result<RecordRef<'a>> {
        let mut cursor = Cursor { bytes: source, pos: *pos };
        let length = cursor.varint().map_err(|error| error.in_field("length"))?;
        let end = match usize::try_from(length) {
            Ok(length) if length <= cursor.remaining() => cursor.pos + length,
            _ => return Err(bad_length(*pos, length, cursor.remaining())),
        };
        cursor.bytes = &source[..end];
        cursor.i8().map_err(|error| error.in_field("attributes"))?;
        let timestamp_delta = cursor.varlong().map_err(|error| error.in_field("timestampDelta"))?;
        let offset_delta = cursor.varint().map_err(|error| error.in_field("offsetDelta"))?;
        let key = cursor.nullable("key")?;
        let value = cursor.nullable("value")?;
        let headers = headers(&mut cursor)?;
        if cursor.pos != end {
            return Err(left_over(cursor.pos, end - cursor.pos));
        }
        *pos = end;
        Ok(RecordRef {
            offset: self.offset.wrapping_add(offset_delta.into()),
            timestamp: self.log_append_time.unwrap_or(self.timestamp.wrapping_add(timestamp_delta)),
            key,
            value,
            headers,
            sequence: if self.sequence < 0 { -1 } else { increment_sequence(self.sequence, offset_delta) },
            source,
        })
    }
}

/// Goes over the headers once, so that nothing can be wrong with them when they are asked for.
#[inline]
fn headers<'a>(cursor: &mut Cursor<'a>) -> Result<Headers<'a>> {
    let at = cursor.pos;
    match cursor.varint().map_err(|error| error.in_field("headers"))? {
        0 => Ok(Headers::default()),
        count => some_headers(cursor, at, count),
    }
}

fn some_headers<'a>(cursor: &mut Cursor<'a>, at: usize, count: i32) -> Result<Headers<'a>> {
    let left = match usize::try_from(count) {
        Ok(left) if left <= cursor.remaining() => left,
        _ => {
            let message = format!("{}, but {} left", counted(count, "header"), counted(cursor.remaining(), "byte"));
            return Err(Error::malformed(at, message).in_field("headers"));
        }
    };
    let start = cursor.pos;
    for _ in 0..left {
        cursor.header()?;
    }
    Ok(Headers { bytes: &cursor.bytes[start..cursor.pos], left })
}

#[cold]
fn bad_length(at: usize, length: i32, left: usize) -> Error {
    Error::malformed(at, format!("record of {}, {left} left", counted(length, "byte"))).in_field("length")
}

#[cold]
fn left_over(at: usize, left: usize) -> Error {
    let left = counted(left, "byte");
    Error::malformed(at, format!("the record's length counts {left} in no field")).in_field("length")
}
