//! What reading costs in allocations: a guard that does not depend on the clock.

use allocation_counter::{AllocationInfo, measure};
use bytes::Bytes;
use milena_records::{BatchBuilder, Batches, Codec, ErrorKind, Record, encode};

/// ruzstd is what there is without C, and makes buffers of its own.
const PURE: bool = cfg!(all(feature = "zstd-pure", not(feature = "zstd")));

fn batch(codec: Codec) -> Bytes {
    let records: Vec<Record> = (0..1000)
        .map(|i| Record::new(format!("key-{i}"), vec![i as u8; 100]).with_timestamp(i).with_header("a", "b"))
        .collect();
    encode(&records, codec).expect("a batch")
}

fn walk(bytes: &Bytes) -> usize {
    let mut size = 0;
    for batch in Batches::new(bytes.clone()) {
        for record in batch.expect("a batch").records() {
            let record = record.expect("a record");
            size +=
                record.value.map_or(0, <[u8]>::len) + record.headers().map(|header| header.key.len()).sum::<usize>();
        }
    }
    size
}

#[test]
fn reading_a_plain_batch_allocates_nothing() {
    let mut bytes = batch(Codec::None).to_vec();
    bytes.extend_from_within(..);
    // The first clone of what came from a Vec makes the counter that all others share.
    let bytes = Bytes::from(bytes);
    let _shared = bytes.clone();
    let info = measure(|| assert_eq!(walk(&bytes), 2 * 101_000));
    assert_eq!(info.count_total, 0);
}

#[test]
fn reading_a_compressed_batch_allocates_by_the_batch_and_not_by_the_record() {
    for codec in Codec::ALL.into_iter().filter(|codec| codec.is_available()) {
        let bytes = batch(codec);
        walk(&bytes);
        let info = measure(|| assert_eq!(walk(&bytes), 101_000));
        let most = if PURE && codec == Codec::Zstd { 48 } else { 12 };
        assert!(info.count_total <= most, "{codec}: {}", info.count_total);
    }
}

#[test]
fn writing_allocates_by_the_batch_and_not_by_the_record() {
    let record = Record::new("key", vec![7; 100]).with_header("a", "b");
    let mut builder = BatchBuilder::new();
    let mut out = Vec::new();
    let mut fill = || {
        out.clear();
        (0..1000).for_each(|_| builder.push(&record).unwrap());
        builder.build_into(&mut out).unwrap();
    };
    fill();
    assert_eq!(measure(fill).count_total, 0);

    // The first record, the rest, and what makes bytes of them.
    let records = vec![record; 1000];
    let info = measure(|| drop(encode(&records, Codec::None).unwrap()));
    assert!(info.count_total <= 4, "{}", info.count_total);
    assert!(info.bytes_total <= 150_000, "{}", info.bytes_total);
}

/// What opening the batch of these bytes costs at most at one time, and what it gives.
fn peak(codec: Codec, payload: &[u8], limit: usize) -> (AllocationInfo, ErrorKind) {
    let mut kind = None;
    let info = measure(|| kind = codec.decompress(payload, limit).err().map(|error| error.kind()));
    (info, kind.expect("an error"))
}

#[test]
fn a_bomb_costs_no_more_than_the_limit_and_a_few_times_the_input() {
    const LIMIT: usize = 4 << 20;
    let zeros = vec![0; 64 << 20];
    for codec in Codec::ALL.into_iter().filter(|codec| codec.is_available() && *codec != Codec::None) {
        let bomb = codec.compress(&zeros, None).unwrap();
        let (info, kind) = peak(codec, &bomb, LIMIT);
        assert_eq!(kind, ErrorKind::LimitExceeded, "{codec}");
        // Growing copies: the old buffer and the new one are there for a moment.
        let times = if PURE && codec == Codec::Zstd { 4 } else { 2 };
        let most = times * LIMIT + 4 * bomb.len();
        assert!(info.bytes_max <= most as u64, "{codec}: {} of {most}", info.bytes_max);
    }
}

#[test]
fn a_few_bytes_with_great_claims_cost_kilobytes() {
    let claims: [(Codec, &[u8]); 4] = [
        (Codec::Snappy, b"\xff\xff\xff\xff\x0f\x00\x61"),
        (Codec::Lz4, b"\x04\x22\x4d\x18\x60\x70\x73\xff\xff\x3f\0\0"),
        (Codec::Gzip, b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x03\0\0\0\0\0\xff\xff\xff\x7f"),
        // A window of 128 MiB, and four GiB of content.
        (Codec::Zstd, b"\x28\xb5\x2f\xfd\x80\x88\xff\xff\xff\xff"),
    ];
    for (codec, payload) in claims.into_iter().filter(|(codec, _)| codec.is_available()) {
        let (info, kind) = peak(codec, payload, 1 << 30);
        assert_eq!(kind, ErrorKind::Malformed, "{codec}");
        assert!(info.bytes_max <= 256 << 10, "{codec}: {}", info.bytes_max);
    }
}
