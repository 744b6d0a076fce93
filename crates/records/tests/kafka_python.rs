//! Bytes that kafka-python wrote: read to the same records, and written to the same bytes.

use milena_records::{Batch, BatchBuilder, Batches, Codec, Header, MessageSetBuilder, ReadOptions, Record};

const TIME: i64 = 1_500_000_000_000;

fn vector(name: &str) -> Vec<u8> {
    let line = include_str!("vectors/kafka-python.txt")
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
        .expect(name);
    (0..line.len()).step_by(2).map(|at| u8::from_str_radix(&line[at..at + 2], 16).expect("hex")).collect()
}

/// The records that all vectors hold; headers on the first in magic 2.
fn records(magic: i8) -> Vec<Record> {
    let x = "x".repeat(200);
    let parts: [(Option<&str>, Option<&str>); 5] = [
        (Some("k0"), Some("v0")),
        (None, Some("v1")),
        (Some(""), None),
        (Some("k3"), Some("")),
        (Some("k4"), Some(&x)),
    ];
    let mut records: Vec<Record> = parts
        .into_iter()
        .zip(0..)
        .map(|((key, value), offset)| Record {
            offset,
            timestamp: if magic == 0 { -1 } else { TIME + 10 * offset },
            key: key.map(|key| key.to_owned().into()),
            value: value.map(|value| value.to_owned().into()),
            headers: Vec::new(),
        })
        .collect();
    if magic == 2 {
        records[0].headers = vec![Header::new("h", "1"), Header { key: "h".into(), value: None }, Header::new("é", "")];
    }
    records
}

fn read(bytes: &[u8]) -> Vec<Record> {
    let mut records = Vec::new();
    for batch in Batches::new(bytes.to_vec().into()) {
        let records_of = batch.expect("a batch").into_records();
        records.extend(records_of.map(|record| record.expect("a record")));
    }
    records
}

#[test]
fn every_set_reads_as_the_records_that_were_written() {
    for codec in Codec::ALL.into_iter().filter(|codec| codec.is_available() && *codec != Codec::Zstd) {
        for magic in 0..=2 {
            assert_eq!(read(&vector(&format!("v{magic}-{codec}"))), records(magic), "magic {magic} {codec}");
        }
    }
}

#[test]
fn batches_are_written_to_the_same_bytes() {
    // kafka-python leaves the leader epoch at 0.
    let builder = || BatchBuilder::new().partition_leader_epoch(0);
    for (name, mut builder, step) in [
        ("v2-none", builder(), 10),
        ("v2-transactional", builder().producer(4000, 2, 17).transactional(true), 10),
        ("v2-backwards", builder(), -10),
    ] {
        for mut record in records(2) {
            record.timestamp = TIME + step * record.offset;
            builder.push(&record).unwrap();
        }
        assert_eq!(builder.build().unwrap(), vector(name), "{name}");
    }
}

#[test]
fn plain_message_sets_are_written_to_the_same_bytes() {
    for magic in 0..=1 {
        let mut builder = MessageSetBuilder::new(magic).unwrap();
        for record in records(magic) {
            builder.push(&record).unwrap();
        }
        assert_eq!(builder.build().unwrap(), vector(&format!("v{magic}-none")), "magic {magic}");
    }
}

#[test]
fn a_transactional_batch_says_so() {
    let batch = Batch::parse(vector("v2-transactional").into(), ReadOptions::default()).unwrap();
    assert!(batch.is_transactional() && !batch.is_control());
    assert_eq!((batch.producer_id(), batch.producer_epoch(), batch.base_sequence()), (4000, 2, 17));
    assert_eq!((batch.last_sequence(), batch.last_offset(), batch.max_timestamp()), (21, 4, TIME + 40));
    assert_eq!((batch.count(), batch.partition_leader_epoch(), batch.delete_horizon()), (Some(5), 0, None));
}

#[test]
fn message_sets_cut_anywhere_give_the_whole_messages() {
    for magic in 0..=1 {
        let bytes = vector(&format!("v{magic}-none"));
        let ends: Vec<usize> =
            Batches::new(bytes.clone().into()).map(|batch| batch.unwrap().place().range.end).collect();
        for cut in 0..=bytes.len() {
            let mut batches = Batches::new(bytes[..cut].to_vec().into());
            let whole = batches.by_ref().inspect(|batch| assert!(batch.is_ok())).count();
            assert_eq!(whole, ends.iter().filter(|end| **end <= cut).count());
            let end = ends.iter().copied().rfind(|end| *end <= cut).unwrap_or(0);
            assert_eq!(batches.partial().map_or(0, |partial| partial.size), cut - end);
        }
    }
}
