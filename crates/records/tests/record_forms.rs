//! Records at the edges of the forms that the builder writes differently, compared with bytes put together field by field
//! from the description of the format (KIP-98).

use bytes::Bytes;
use milena_records::{BatchBuilder, Codec, Record, encode};

/// Bytes of the header of a batch.
const HEADER: usize = 61;

/// A signed number in zigzag form, seven bits to a byte.
fn varint(out: &mut Vec<u8>, number: i64) {
    let mut rest = (number << 1 ^ number >> 63) as u64;
    while rest > 0x7f {
        out.push(rest as u8 & 0x7f | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

fn part(out: &mut Vec<u8>, part: Option<&Bytes>) {
    varint(out, part.map_or(-1, |part| part.len() as i64));
    out.extend_from_slice(part.map_or(&[], |part| part));
}

fn expected(record: &Record, base_timestamp: i64) -> Vec<u8> {
    let mut body = vec![0];
    varint(&mut body, record.timestamp - base_timestamp);
    varint(&mut body, record.offset);
    part(&mut body, record.key.as_ref());
    part(&mut body, record.value.as_ref());
    varint(&mut body, record.headers.len() as i64);
    for header in &record.headers {
        part(&mut body, Some(&header.key));
        part(&mut body, header.value.as_ref());
    }
    let mut out = Vec::new();
    varint(&mut out, body.len() as i64);
    out.extend_from_slice(&body);
    out
}

fn filled(size: Option<usize>) -> Option<Bytes> {
    size.map(|size| (0..size).map(|i| i as u8 ^ 0xa5).collect::<Vec<u8>>().into())
}

const KEYS: [Option<usize>; 14] = [
    None,
    Some(0),
    Some(1),
    Some(7),
    Some(8),
    Some(9),
    Some(15),
    Some(16),
    Some(17),
    Some(63),
    Some(64),
    Some(127),
    Some(8191),
    Some(8192),
];

#[test]
fn keys_and_values_of_every_size_class_are_written_as_the_format_says() {
    let values = [0, 1, 7, 8, 48, 49, 50, 51, 52, 63, 64, 65, 127, 128, 8100, 8191, 8192, 20_000];
    // The length of the whole record passes from two bytes to three somewhere in here, for each of the keys.
    let near = (8170..8192).chain(8100..8130);
    for key in KEYS {
        for value in [None].into_iter().chain(values.into_iter().chain(near.clone()).map(Some)) {
            let record = Record { key: filled(key), value: filled(value), timestamp: 7, ..Record::default() };
            let batch = encode([&record, &record], Codec::None).unwrap();
            let two = [expected(&record, 7), expected(&Record { offset: 1, ..record.clone() }, 7)].concat();
            assert!(batch[HEADER..] == two, "key {key:?}, value {value:?}");
        }
    }
}

#[test]
fn deltas_and_headers_of_every_size_class_are_written_as_the_format_says() {
    const BASE: i64 = 1_700_000_000_000;
    let distances = [0, 1, 63, 64, 65, 127, 128, 8191, 8192, 16_383, 16_384, 1 << 20, i64::from(i32::MAX)];
    for headers in 0..2 {
        for offset in distances {
            for delta in distances.into_iter().flat_map(|delta| [delta, -delta]) {
                let mut record = Record::new("key-0001", "value").with_timestamp(BASE + delta);
                for _ in 0..headers {
                    record = record.with_header("trace", "7f");
                }
                record.offset = offset + 1;
                let first = Record::from_value("first").with_timestamp(BASE);
                let mut builder = BatchBuilder::new();
                builder.push(&first).unwrap();
                if offset == i64::from(i32::MAX) {
                    builder.push_at_offset(&record).unwrap_err();
                    record.offset = offset;
                }
                builder.push_at_offset(&record).unwrap();
                let two = [expected(&first, BASE), expected(&record, BASE)].concat();
                assert!(builder.build().unwrap()[HEADER..] == two, "offset {offset}, delta {delta}");
            }
        }
    }
}
