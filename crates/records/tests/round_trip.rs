//! What is written is read again, through every codec.

use milena_records::{Batch, BatchBuilder, BatchMut, Batches, Codec, ErrorKind, ReadOptions, Record, encode};

fn records() -> Vec<Record> {
    let mut records: Vec<Record> = (0..300)
        .map(|i| {
            Record::new(format!("key-{}", i % 7), "x".repeat(i as usize * 3))
                .with_offset(i)
                .with_timestamp(1_700_000_000_000 + i * 11)
                .with_header("trace", i.to_string())
                .with_header("trace", "")
        })
        .collect();
    records[3].key = None;
    records[4].value = None;
    records[5].value = Some("".into());
    records[6].headers[0].value = None;
    records[7].timestamp -= 1_000_000;
    records
}

#[test]
fn every_codec_gives_back_the_records() {
    for codec in Codec::ALL.into_iter().filter(|codec| codec.is_available()) {
        let records = records();
        let bytes = encode(&records, codec).unwrap();
        let batch = Batch::parse(bytes.clone(), ReadOptions::default()).unwrap();
        assert_eq!(batch.codec().unwrap(), codec);
        assert_eq!((batch.base_offset(), batch.last_offset(), batch.next_offset()), (0, 299, 300));
        assert_eq!(batch.count(), Some(300));
        let read: Vec<Record> = batch.records().map(|record| record.unwrap().to_owned()).collect();
        assert_eq!(read, records, "{codec}");
        let read: Vec<Record> = batch.records().map(|record| record.unwrap().to_detached()).collect();
        assert_eq!(read, records, "{codec}");
        let read: Vec<Record> = batch.into_records().map(|record| record.unwrap()).collect();
        assert_eq!(read, records, "{codec}");
    }
}

#[test]
fn a_batch_cut_anywhere_is_partial_and_no_error() {
    let one = encode(&records(), Codec::None).unwrap();
    let both = [&one[..], &one[..]].concat();
    for cut in 0..both.len() {
        let mut batches = Batches::new(both[..cut].to_vec().into());
        let whole = batches.by_ref().inspect(|batch| assert!(batch.is_ok())).count();
        assert_eq!(whole, cut / one.len());
        assert_eq!(batches.partial().map_or(0, |partial| partial.size), cut % one.len());
    }
}

#[test]
fn the_builder_goes_on_where_it_was() {
    let mut builder = BatchBuilder::new().base_offset(10).producer(7, 1, i32::MAX - 1).codec(Codec::None);
    let mut out = Vec::new();
    for _ in 0..2 {
        for record in &records()[..3] {
            builder.push(record).unwrap();
        }
        builder.build_into(&mut out).unwrap();
    }
    let batches: Vec<_> = Batches::new(out.into()).map(|batch| batch.unwrap()).collect();
    assert_eq!(batches[0].base_offset(), 10);
    assert_eq!(batches[1].base_offset(), 13);
    assert_eq!((batches[0].base_sequence(), batches[0].last_sequence()), (i32::MAX - 1, 0));
    assert_eq!(batches[1].base_sequence(), 1);
    let sequences: Vec<i32> = batches[0].records().map(|record| record.unwrap().sequence()).collect();
    assert_eq!(sequences, [i32::MAX - 1, i32::MAX, 0]);
}

#[test]
fn setting_offset_and_epoch_leaves_the_checksum_and_the_payload_alone() {
    let before = encode(&records(), Codec::None).unwrap();
    let mut after = before.to_vec();
    let mut batch = BatchMut::new(&mut after).unwrap();
    batch.set_last_offset(1299);
    batch.set_partition_leader_epoch(9);
    assert_eq!(after[16..], before[16..]);
    let batch = Batch::parse(after.into(), ReadOptions::default()).unwrap();
    assert_eq!((batch.base_offset(), batch.partition_leader_epoch()), (1000, 9));
    assert_eq!(batch.records().last().unwrap().unwrap().offset, 1299);
}

#[test]
fn damage_is_distinguished_from_nonsense() {
    let mut bytes = encode(&records(), Codec::None).unwrap().to_vec();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let read = |bytes: &[u8]| {
        let batch = Batch::parse(bytes.to_vec().into(), ReadOptions::default()).unwrap();
        batch.records().find_map(|record| record.err()).unwrap()
    };
    let error = read(&bytes);
    assert_eq!((error.kind(), error.path().as_str()), (ErrorKind::BadCrc, "batches[0].crc"));
    // The last header value, one byte of it, now says that it has 64 bytes.
    bytes[last] = 0x80;
    BatchMut::new(&mut bytes).unwrap().update_crc();
    let error = read(&bytes);
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert_eq!(error.path(), "batches[0].records[299].headers");
    assert_eq!(error.offset(), Some(last));
    assert_eq!(error.batch().unwrap().range, 0..bytes.len());
}
