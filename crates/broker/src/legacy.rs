//! Records for clients that are older than record batches: magic 0 up to Fetch 1 and Produce 1, magic 1 up to
//! Fetch 3 and Produce 2. The log itself holds batches of magic 2 only.

use bytes::{BufMut, Bytes, BytesMut};
use milena_messages::ErrorCode;
use milena_records::{Batch, BatchBuilder, Codec, ErrorKind, ReadOptions, TimestampType};

use crate::log::LogBatch;
use crate::refusal::Refusal;

/// Attribute bit 3 of a message of magic 1.
const LOG_APPEND_TIME: u8 = 0x08;

/// The records at `offset` and above as messages of magic 0 or 1. They are not compressed, whatever the batches are, and
/// lose their headers, and in magic 0 their timestamps.
///
/// # Errors
/// A batch that cannot be read, or that is compressed in a way that clients of that age do not know.
pub(crate) fn down_convert(batches: &[LogBatch], offset: i64, magic: u8) -> Result<Bytes, Refusal> {
    let mut out = BytesMut::new();
    // Checked when it came in.
    let options = ReadOptions { check_crc: false, ..ReadOptions::default() };
    for stored in batches {
        let batch = Batch::parse(stored.bytes.clone(), options).map_err(|error| refusal(&error))?;
        if batch.codec().is_ok_and(|codec| codec == Codec::Zstd) {
            return Err(Refusal::new(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Fetch version 10"));
        }
        if batch.is_control() {
            continue;
        }
        let attributes = if batch.timestamp_type() == TimestampType::LogAppendTime { LOG_APPEND_TIME } else { 0 };
        for record in batch.records() {
            let record = record.map_err(|error| refusal(&error))?;
            if record.offset >= offset {
                put_message(&mut out, record.offset, magic, attributes, record.timestamp, record.key, record.value);
            }
        }
    }
    Ok(out.freeze())
}

fn put_message(
    out: &mut BytesMut,
    offset: i64,
    magic: u8,
    attributes: u8,
    timestamp: i64,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
) {
    out.put_i64(offset);
    let size_at = out.len();
    out.put_i32(0);
    out.put_u32(0);
    let body_at = out.len();
    out.put_u8(magic);
    out.put_u8(if magic == 0 { 0 } else { attributes });
    if magic > 0 {
        out.put_i64(timestamp);
    }
    for part in [key, value] {
        match part {
            Some(part) => {
                // A record of a batch is shorter than an int32 can count.
                out.put_i32(part.len() as i32);
                out.put_slice(part);
            }
            None => out.put_i32(-1),
        }
    }
    let crc = crc32fast::hash(&out[body_at..]);
    let size = (out.len() - size_at - 4) as i32;
    out[size_at..size_at + 4].copy_from_slice(&size.to_be_bytes());
    out[size_at + 4..body_at].copy_from_slice(&crc.to_be_bytes());
}

/// All records of messages of magic 0 and 1 as one batch of magic 2, with the codec that they came with. `None` when
/// there is no record at all.
///
/// # Errors
/// A message that cannot be read, or has a checksum that does not fit.
pub(crate) fn up_convert(entries: &[Batch]) -> Result<Option<Bytes>, Refusal> {
    let mut codec = Codec::None;
    for entry in entries {
        match entry.codec().map_err(|error| refusal(&error))? {
            Codec::None => {}
            other => codec = other,
        }
    }
    let mut builder = BatchBuilder::new().codec(codec);
    for entry in entries {
        for record in entry.records() {
            let record = record.map_err(|error| refusal(&error))?;
            builder.push(&record).map_err(|error| refusal(&error))?;
        }
    }
    if builder.is_empty() { Ok(None) } else { builder.build().map(Some).map_err(|error| refusal(&error)) }
}

/// What a producer or consumer is told of records that cannot be read.
pub(crate) fn refusal(error: &milena_records::Error) -> Refusal {
    let code = match error.kind() {
        ErrorKind::Framing | ErrorKind::BadCrc => ErrorCode::CORRUPT_MESSAGE,
        ErrorKind::UnsupportedCodec => ErrorCode::UNSUPPORTED_COMPRESSION_TYPE,
        ErrorKind::LimitExceeded | ErrorKind::Full => ErrorCode::MESSAGE_TOO_LARGE,
        _ => ErrorCode::INVALID_RECORD,
    };
    Refusal::new(code, error.to_string())
}

#[cfg(test)]
mod tests {
    use milena_records::{Batches, Record, encode};

    use super::*;

    fn stored(codec: Codec) -> LogBatch {
        let records = [
            Record::new("k", "v").with_timestamp(1_700_000_000_000).with_header("h", "x"),
            Record { timestamp: 1_700_000_000_001, ..Record::default() },
        ];
        let bytes = encode(&records, codec).unwrap();
        LogBatch { base_offset: 0, last_offset: 1, max_timestamp: 1_700_000_000_001, bytes }
    }

    fn read(bytes: Bytes) -> Vec<Record> {
        Batches::new(bytes).flat_map(|batch| batch.unwrap().into_records().map(Result::unwrap)).collect()
    }

    #[test]
    fn old_clients_get_the_same_records_less_what_they_cannot_know() {
        for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4] {
            let records = read(down_convert(&[stored(codec)], 0, 1).unwrap());
            assert_eq!(records[0], Record::new("k", "v").with_timestamp(1_700_000_000_000));
            assert_eq!(records[1], Record { offset: 1, timestamp: 1_700_000_000_001, ..Record::default() });
            let records = read(down_convert(&[stored(codec)], 0, 0).unwrap());
            assert_eq!(records[0], Record::new("k", "v"));
        }
    }

    #[test]
    fn records_in_front_of_the_wanted_offset_are_left_out() {
        let records = read(down_convert(&[stored(Codec::None)], 1, 1).unwrap());
        assert_eq!(records.iter().map(|record| record.offset).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn zstd_is_not_shown_to_those_who_cannot_know_it() {
        let refusal = down_convert(&[stored(Codec::Zstd)], 0, 1).unwrap_err();
        assert_eq!(refusal.code, ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
    }

    #[test]
    fn messages_become_a_batch_and_back() {
        let messages = down_convert(&[stored(Codec::None)], 0, 1).unwrap();
        let entries: Vec<Batch> = Batches::new(messages.clone()).map(Result::unwrap).collect();
        let bytes = up_convert(&entries).unwrap().unwrap();
        let batch = LogBatch { base_offset: 0, last_offset: 1, max_timestamp: 0, bytes };
        assert_eq!(down_convert(&[batch], 0, 1).unwrap(), messages);
        assert_eq!(up_convert(&[]).unwrap(), None);
    }
}
