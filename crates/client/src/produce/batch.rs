//! Records as bytes of a batch, and how they are spread over batches.

use std::ops::Range;

use bytes::Bytes;
use milena_records::{BatchBuilder, Codec, MessageSetBuilder, Record};

use crate::error::{Error, Result};

/// Bytes of a batch before its first record.
const BATCH_HEADER: usize = 61;

/// Upper bound of the bytes that a record has besides its key, value and headers.
const RECORD_OVERHEAD: usize = 34;

/// The record format of a version of Produce.
pub(super) fn magic(version: i16) -> i8 {
    match version {
        0 | 1 => 0,
        2 => 1,
        _ => 2,
    }
}

/// The bytes of a batch. `first` is the index of the first record in the call.
pub(super) fn encode(records: &[Record], first: usize, codec: Codec, magic: i8) -> Result<Bytes> {
    let invalid = |error: milena_records::Error| Error::Invalid(format!("cannot write the records: {error}"));
    let record = |index, cause| Error::RecordInvalid { record: first + index, cause };
    if magic == 2 {
        let mut builder = BatchBuilder::new().codec(codec);
        for (index, one) in records.iter().enumerate() {
            builder.push(one).map_err(|cause| record(index, cause))?;
        }
        return builder.build().map_err(invalid);
    }
    let mut builder = MessageSetBuilder::new(magic).map_err(invalid)?.codec(codec);
    for (index, one) in records.iter().enumerate() {
        builder.push(one).map_err(|cause| record(index, cause))?;
    }
    builder.build().map_err(invalid)
}

/// Upper bound of the bytes of a record in a batch that is not compressed.
fn size(record: &Record) -> usize {
    let headers =
        record.headers.iter().map(|header| 10 + header.key.len() + header.value.as_ref().map_or(0, Bytes::len));
    let data = [&record.key, &record.value].into_iter().flatten().map(Bytes::len);
    RECORD_OVERHEAD + data.chain(headers).sum::<usize>()
}

/// Consecutive records that fit below a size together. A larger record is alone.
pub(super) fn chunks(records: &[Record], most: usize) -> Vec<Range<usize>> {
    let mut chunks = Vec::new();
    let (mut start, mut bytes) = (0, BATCH_HEADER);
    for (index, record) in records.iter().enumerate() {
        let more = size(record);
        if index > start && bytes.saturating_add(more) > most {
            chunks.push(start..index);
            (start, bytes) = (index, BATCH_HEADER);
        }
        bytes = bytes.saturating_add(more);
    }
    if start < records.len() {
        chunks.push(start..records.len());
    }
    chunks
}

/// What is left of a range without some of its records.
pub(super) fn without(range: Range<usize>, gone: &[usize]) -> Vec<Range<usize>> {
    let mut left = Vec::new();
    let mut start = range.start;
    for &record in gone.iter().filter(|record| range.contains(record)) {
        if start < record {
            left.push(start..record);
        }
        start = record + 1;
    }
    if start < range.end {
        left.push(start..range.end);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_stay_below_the_limit_as_they_are_written_and_keep_every_record_once() {
        let records: Vec<Record> = (0..50)
            .map(|index| {
                Record::new("k".repeat(index % 7), "v".repeat(index * 13)).with_header("h", "1").with_timestamp(1)
            })
            .collect();
        let most = 2000;
        let chunks = chunks(&records, most);
        let joined: Vec<usize> = chunks.iter().cloned().flatten().collect();
        assert_eq!(joined, (0..records.len()).collect::<Vec<_>>());
        assert!(chunks.len() > 3);
        for chunk in chunks {
            for magic in [1, 2] {
                let plain: Vec<Record> = records[chunk.clone()]
                    .iter()
                    .cloned()
                    .map(|record| if magic == 2 { record } else { Record { headers: vec![], ..record } })
                    .collect();
                let bytes = encode(&plain, 0, Codec::None, magic).unwrap();
                assert!(bytes.len() <= most, "{} bytes for {chunk:?} in magic {magic}", bytes.len());
            }
        }
    }

    #[test]
    fn a_record_above_the_limit_is_alone() {
        let record = |bytes| Record::from_value("v".repeat(bytes));
        assert_eq!(chunks(&[record(1), record(500), record(1), record(1)], 300), [0..1, 1..2, 2..4]);
        assert_eq!(chunks(&[], 300), Vec::<Range<usize>>::new());
    }

    #[test]
    fn ranges_without_some_records_keep_all_others() {
        assert_eq!(without(0..5, &[0, 3]), [1..3, 4..5]);
        assert_eq!(without(2..4, &[2, 3]), Vec::<Range<usize>>::new());
        assert_eq!(without(2..5, &[3, 7]), [2..3, 4..5]);
    }
}
