//! Records for clients that are older than record batches: magic 0 up to Fetch 1 and Produce 1, magic 1 up to
//! Fetch 3 and Produce 2. The log itself holds batches of magic 2 only.

use bytes::{Bytes, BytesMut};
use milena_messages::ErrorCode;
use milena_records::{Batch, BatchBuilder, Codec, ErrorKind, MessageSetBuilder, TimestampType};

use crate::cost::Cost;
use crate::refusal::Refusal;
use crate::storage::log::LogBatch;

/// The records from `offset` on as messages of magic 0 or 1, as far as they fit in `limit` bytes; the first message comes
/// in any case. They are not compressed, whatever the batches are, and lose their headers, and in magic 0 their
/// timestamps.
///
/// # Errors
/// The first batch cannot be read, is compressed in a way that clients of that age do not know, or exceeds the budget.
pub(crate) fn down_convert(
    batches: &[LogBatch],
    offset: i64,
    magic: i8,
    limit: usize,
    cost: &mut Cost,
) -> Result<Bytes, Refusal> {
    let mut all = BytesMut::new();
    for stored in batches {
        match convert(stored, offset, magic, limit.saturating_sub(all.len()), cost) {
            Ok((set, _)) if !all.is_empty() && all.len() + set.len() > limit => break,
            Ok((set, whole)) => {
                all.extend_from_slice(&set);
                if !whole {
                    break;
                }
            }
            Err(refusal) if all.is_empty() => return Err(refusal),
            // It is the first one of the next response.
            Err(_) => break,
        }
    }
    Ok(all.freeze())
}

/// One batch as a message set; false when its last records did not fit.
fn convert(stored: &LogBatch, offset: i64, magic: i8, limit: usize, cost: &mut Cost) -> Result<(Bytes, bool), Refusal> {
    let failed = |error| refusal(&error);
    // Its checksum was right when it came in.
    let batch = cost.open(&stored.bytes, false).map_err(failed)?;
    if batch.codec().is_ok_and(|codec| codec == Codec::Zstd) {
        return Err(Refusal::new(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Fetch version 10"));
    }
    if batch.is_control() {
        return Ok((Bytes::new(), true));
    }
    let mut set = MessageSetBuilder::new(magic).map_err(failed)?.max_size(limit);
    if batch.timestamp_type() == TimestampType::LogAppendTime && magic > 0 {
        set = set.log_append_time(batch.max_timestamp());
    }
    let mut whole = true;
    for record in batch.records() {
        let mut record = record.map_err(failed)?;
        if record.offset < offset {
            continue;
        }
        // All negative timestamps mean that there is none; message sets have one way to write that.
        record.timestamp = record.timestamp.max(-1);
        match set.append(record.offset, &record) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Full => {
                whole = false;
                break;
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Ok((set.build().map_err(failed)?, whole))
}

/// All records of messages of magic 0 and 1 as one batch of magic 2, with the codec that they came with. `None` when
/// there is no record at all.
///
/// # Errors
/// A message that cannot be read, or has a wrong checksum; more decompressed bytes than the budget allows.
pub(crate) fn up_convert(entries: &[Batch], cost: &mut Cost) -> Result<Option<Bytes>, Refusal> {
    let failed = |error| refusal(&error);
    let mut codec = Codec::None;
    for entry in entries {
        match entry.codec().map_err(failed)? {
            Codec::None => {}
            other => codec = other,
        }
    }
    let mut builder = BatchBuilder::new().codec(codec);
    for entry in entries {
        let entry = cost.open(entry.bytes(), true).map_err(failed)?;
        for record in entry.records() {
            builder.push(&record.map_err(failed)?).map_err(failed)?;
        }
    }
    if builder.is_empty() { Ok(None) } else { builder.build().map(Some).map_err(failed) }
}

/// What a producer or consumer gets for records that cannot be read.
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
        LogBatch::of(bytes)
    }

    fn down_convert(batches: &[LogBatch], offset: i64, magic: i8) -> Result<Bytes, Refusal> {
        super::down_convert(batches, offset, magic, usize::MAX, &mut Cost::full(0))
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
    fn records_before_the_wanted_offset_are_left_out() {
        let records = read(down_convert(&[stored(Codec::None)], 1, 1).unwrap());
        assert_eq!(records.iter().map(|record| record.offset).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn zstd_is_refused_to_clients_that_cannot_know_it() {
        let refusal = down_convert(&[stored(Codec::Zstd)], 0, 1).unwrap_err();
        assert_eq!(refusal.code, ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
    }

    #[test]
    fn messages_become_a_batch_and_back() {
        let messages = down_convert(&[stored(Codec::None)], 0, 1).unwrap();
        let entries: Vec<Batch> = Batches::new(messages.clone()).map(Result::unwrap).collect();
        let bytes = up_convert(&entries, &mut Cost::full(0)).unwrap().unwrap();
        let batch = LogBatch::of(bytes);
        assert_eq!(down_convert(&[batch], 0, 1).unwrap(), messages);
        assert_eq!(up_convert(&[], &mut Cost::full(0)).unwrap(), None);
    }

    #[test]
    fn conversion_stops_at_the_limit_but_not_before_the_first_message() {
        // 26 bytes of overhead, and 2 of key and value.
        let batches = [stored(Codec::None), stored(Codec::None)];
        let convert = |limit| super::down_convert(&batches, 0, 0, limit, &mut Cost::full(0)).unwrap().len();
        assert_eq!(
            [convert(0), convert(28), convert(53), convert(54), convert(81), convert(82)],
            [28, 28, 28, 54, 54, 82]
        );
    }

    #[test]
    fn a_bomb_in_the_log_is_decompressed_within_the_budget() {
        let bytes = encode(&[Record::from_value(vec![0; 900_000])], Codec::Gzip).unwrap();
        let bomb = LogBatch::of(bytes);
        let mut cost = Cost::quick();
        // The second one does not fit, and waits for the next request.
        let set = super::down_convert(&[bomb.clone(), bomb.clone()], 0, 1, usize::MAX, &mut cost).unwrap();
        assert_eq!(read(set).len(), 1);
        let refused = super::down_convert(&[bomb], 0, 1, usize::MAX, &mut cost).unwrap_err();
        assert_eq!(refused.code, ErrorCode::MESSAGE_TOO_LARGE);
    }
}
