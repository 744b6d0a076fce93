//! Batches in another compression: what changes, and what has to stay.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use bytes::Bytes;
use milena_records::{
    Batch, BatchBuilder, Batches, Codec, ErrorKind, MessageSetBuilder, ReadOptions, Record, encode, recompress,
};

const CODECS: [Codec; 5] = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

fn to(bytes: &Bytes, codec: Codec) -> Bytes {
    recompress(bytes.clone(), codec, ReadOptions::default()).unwrap()
}

fn only(bytes: &Bytes) -> Batch {
    let batches: Vec<Batch> = Batches::new(bytes.clone()).collect::<Result<_, _>>().unwrap();
    assert_eq!(batches.len(), 1);
    batches[0].clone()
}

fn records(bytes: &Bytes) -> Vec<Record> {
    Batches::new(bytes.clone()).flat_map(|batch| batch.unwrap().into_records()).map(Result::unwrap).collect()
}

/// A batch with everything in its header that there can be, and a gap in its offsets.
fn rich(codec: Codec) -> Bytes {
    let mut builder = BatchBuilder::new()
        .base_offset(100)
        .partition_leader_epoch(9)
        .producer(7, 3, 55)
        .transactional(true)
        .delete_horizon(1_700_000_000_000)
        .last_offset(120)
        .codec(codec);
    for offset in [100, 104, 105] {
        let record =
            Record::new("key", "value".repeat(50)).with_offset(offset).with_timestamp(1_700_000_000_000 + offset);
        builder.push_at_offset(&record.with_header("h", "x")).unwrap();
    }
    builder.build().unwrap()
}

#[test]
fn a_batch_gives_the_same_bytes_as_one_built_with_the_codec() {
    for (from, codec) in CODECS.into_iter().flat_map(|from| CODECS.map(|codec| (from, codec))) {
        assert_eq!(to(&rich(from), codec), rich(codec), "{from} to {codec}");
    }
}

#[test]
fn control_batches_and_batches_of_the_codec_pass_untouched() {
    let mut marker = BatchBuilder::new().producer(7, 0, -1).transactional(true).control(true);
    marker.push(&Record::new(&b"\0\0\0\x01"[..], &b"\0\0\0\0\0\0"[..])).unwrap();
    let marker = marker.build().unwrap();
    assert_eq!(to(&marker, Codec::Lz4), marker);
    // At a level that recompression would not choose.
    let mut best = BatchBuilder::new().codec(Codec::Gzip).level(9);
    best.push(&Record::from_value("value".repeat(500))).unwrap();
    let best = best.build().unwrap();
    assert_eq!(to(&best, Codec::Gzip), best);
}

#[test]
fn a_batch_that_compaction_emptied_stays_empty() {
    let empty = BatchBuilder::new().base_offset(5).last_offset(8).build().unwrap();
    let batch = only(&to(&empty, Codec::Zstd));
    assert_eq!(
        (batch.codec(), batch.count(), batch.base_offset(), batch.last_offset()),
        (Ok(Codec::Zstd), Some(0), 5, 8)
    );
    assert_eq!(batch.records().count(), 0);
}

#[test]
fn old_messages_are_wrapped_and_unwrapped_at_their_offsets() {
    for magic in [0, 1] {
        let build = |codec| {
            let mut set = MessageSetBuilder::new(magic).unwrap().base_offset(40).codec(codec);
            for text in ["a", "b", "c"] {
                set.push(&Record::from_value(text).with_timestamp(if magic == 1 { 77 } else { -1 })).unwrap();
            }
            set.build().unwrap()
        };
        let plain = build(Codec::None);
        assert_eq!(to(&plain, Codec::Gzip), build(Codec::Gzip), "magic {magic}");
        assert_eq!(to(&build(Codec::Snappy), Codec::None), plain, "magic {magic}");
        assert_eq!(records(&to(&plain, Codec::Lz4)), records(&plain));
        let error = recompress(plain, Codec::Zstd, ReadOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
    }
}

#[test]
fn damaged_batches_are_refused_and_a_cut_off_end_is_left_out() {
    let mut bytes = encode(&[Record::new("k", "v")], Codec::None).unwrap().to_vec();
    let whole = bytes.len();
    bytes.extend_from_within(..30);
    assert_eq!(to(&Bytes::from(bytes.clone()), Codec::Lz4), to(&Bytes::from(bytes[..whole].to_vec()), Codec::Lz4));
    bytes[whole - 2] ^= 1;
    let error = recompress(bytes.into(), Codec::Lz4, ReadOptions::default()).unwrap_err();
    assert_eq!(error.path(), "batches[0].crc");
}

#[test]
fn a_builder_like_a_batch_builds_that_batch() {
    for codec in CODECS {
        let batch = only(&rich(codec));
        let mut builder = BatchBuilder::like(&batch).unwrap().last_offset(batch.last_offset());
        for record in batch.clone().into_records() {
            builder.push_at_offset(&record.unwrap()).unwrap();
        }
        assert_eq!(builder.build().unwrap(), rich(codec));
    }
    let mut stamped = BatchBuilder::new().log_append_time(99);
    stamped.push(&Record::from_value("v")).unwrap();
    let stamped = stamped.build().unwrap();
    let mut again = BatchBuilder::like(&only(&stamped)).unwrap();
    again.push(&Record::from_value("v")).unwrap();
    assert_eq!(again.build().unwrap(), stamped);
}

#[test]
fn a_tombstone_has_a_key_and_a_null_value() {
    let record = Record::tombstone("k");
    assert_eq!((record.key.as_deref(), record.value), (Some(&b"k"[..]), None));
}
