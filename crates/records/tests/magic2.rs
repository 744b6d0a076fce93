//! Odd and broken batches of magic 2, built byte by byte, and what Kafka does with them.

use milena_records::{
    Batch, BatchBuilder, BatchMut, Batches, Codec, Control, ErrorKind, Mode, ReadOptions, Record, Result,
};

/// A batch around these bytes of records, with a right checksum.
fn batch(count: i32, attributes: i16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = 1000i64.to_be_bytes().to_vec();
    bytes.extend_from_slice(&(49 + payload.len() as i32).to_be_bytes());
    bytes.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0]);
    bytes.extend_from_slice(&attributes.to_be_bytes());
    bytes.extend_from_slice(&7i32.to_be_bytes());
    bytes.extend_from_slice(&5000i64.to_be_bytes());
    bytes.extend_from_slice(&9000i64.to_be_bytes());
    bytes.extend_from_slice(&[0xff; 14]);
    bytes.extend_from_slice(&count.to_be_bytes());
    bytes.extend_from_slice(payload);
    BatchMut::new(&mut bytes).expect("a batch").update_crc();
    bytes
}

fn read(bytes: &[u8], options: ReadOptions) -> Result<Vec<Record>> {
    let batch = Batch::parse(bytes.to_vec().into(), options)?;
    let views: Result<Vec<Record>> = batch.records().map(|record| record.map(|record| record.to_owned())).collect();
    let owned: Result<Vec<Record>> = batch.into_records().collect();
    assert_eq!(views, owned);
    views
}

fn strict(bytes: &[u8]) -> Result<Vec<Record>> {
    read(bytes, ReadOptions::default())
}

/// Timestamp delta 1, offset delta 2, key "k", value "v", no headers.
const PLAIN: &[u8] = b"\x10\0\x02\x04\x02k\x02v\0";

#[track_caller]
fn refused(count: i32, payload: &[u8], path: &str, at: usize) {
    let error = strict(&batch(count, 0, payload)).expect_err("refused");
    assert_eq!((error.kind(), error.path().as_str(), error.offset()), (ErrorKind::Malformed, path, Some(at)));
}

#[test]
fn fields_are_where_the_format_has_them() {
    let bytes = batch(1, 0, PLAIN);
    let batch = Batch::parse(bytes.clone().into(), ReadOptions::default()).unwrap();
    assert_eq!((batch.base_offset(), batch.last_offset(), batch.next_offset()), (1000, 1007, 1008));
    assert_eq!((batch.base_timestamp(), batch.max_timestamp()), (5000, 9000));
    assert_eq!((batch.size_in_bytes(), &batch.bytes()[..]), (70, &bytes[..]));
    let record = batch.records().next().unwrap().unwrap();
    assert_eq!((record.offset, record.timestamp, record.sequence()), (1002, 5001, -1));
    assert_eq!((record.key, record.value, record.headers().len()), (Some(&b"k"[..]), Some(&b"v"[..]), 0));
}

#[test]
fn log_append_time_gives_every_record_the_time_of_the_batch() {
    assert_eq!(strict(&batch(1, 8, PLAIN)).unwrap()[0].timestamp, 9000);
}

#[test]
fn the_delete_horizon_is_what_timestamps_count_from() {
    let bytes = batch(1, 0x40, PLAIN);
    assert_eq!(Batch::parse(bytes.clone().into(), ReadOptions::default()).unwrap().delete_horizon(), Some(5000));
    assert_eq!(strict(&bytes).unwrap()[0].timestamp, 5001);
}

#[test]
fn negative_lengths_of_key_and_value_are_null() {
    // Key -7, value -1, one header with the value -2.
    let record = &strict(&batch(1, 0, b"\x12\0\0\0\x0d\x01\x02\x02h\x03")).unwrap()[0];
    assert_eq!((&record.key, &record.value, &record.headers[0].value), (&None, &None, &None));
}

#[test]
fn varints_may_be_longer_than_needed_and_spill() {
    // Offset delta of five bytes with spare bits.
    assert_eq!(strict(&batch(1, 0, b"\x14\0\0\xff\xff\xff\xff\x7f\x01\x01\0")).unwrap()[0].offset, 1000 - (1 << 31));
    // Timestamp delta in ten bytes.
    let record = b"\x1e\0\x82\x80\x80\x80\x80\x80\x80\x80\x80\0\0\x01\x01\0";
    assert_eq!(strict(&batch(1, 0, record)).unwrap()[0].timestamp, 5001);
    refused(1, b"\x16\0\0\xff\xff\xff\xff\xff\x7f\x01\x01\0", "batches[0].records[0].offsetDelta", 64);
}

#[test]
fn attribute_bits_without_meaning_are_ignored() {
    assert_eq!(strict(&batch(1, !0x7f, b"\x10\x55\x02\x04\x02k\x02v\0")).unwrap().len(), 1);
}

#[test]
fn records_that_do_not_fit_their_batch_are_refused() {
    refused(-1, PLAIN, "batches[0].count", 57);
    refused(2, PLAIN, "batches[0].records[1].length", 70);
    refused(1, b"", "batches[0].records[0].length", 61);
    refused(1, &[PLAIN, b"\0"].concat(), "batches[0].records[0]", 70);
    refused(1, b"\x12\0\x02\x04\x02k\x02v\0", "batches[0].records[0].length", 61);
    refused(1, b"\x12\0\x02\x04\x02k\x02v\0\0", "batches[0].records[0].length", 70);
    refused(1, b"\x0e\0\x02\x04\x02k\x02v\0", "batches[0].records[0].headers", 69);
    refused(1, b"\x01\0\x02\x04\x02k\x02v\0", "batches[0].records[0].length", 61);
    refused(1, b"\x10\0\x02\x04\x08k\x02v\0", "batches[0].records[0].value", 70);
    refused(1, b"\x10\0\x02\x04\x0ak\x02v\0", "batches[0].records[0].key", 65);
    refused(1, b"\x10\0\x02\x04\x02k\x02v\x01", "batches[0].records[0].headers", 69);
    refused(1, b"\x10\0\x02\x04\x02k\x02v\x02", "batches[0].records[0].headers", 69);
    refused(1, b"\x14\0\x02\x04\x02k\x02v\x02\x01\0", "batches[0].records[0].headers", 70);
}

#[test]
fn a_batch_without_records_may_carry_anything() {
    for payload in [&b""[..], b"what is this"] {
        assert_eq!(strict(&batch(0, 0, payload)), Ok(Vec::new()));
    }
}

#[test]
fn codecs_that_do_not_exist_are_refused_for_this_batch_alone() {
    for id in 5..=7 {
        let bytes = [batch(1, id, PLAIN), batch(1, 0, PLAIN)].concat();
        let batches: Vec<Batch> = Batches::new(bytes.into()).collect::<Result<_>>().unwrap();
        let error = batches[0].records().next().unwrap().unwrap_err();
        assert_eq!((error.kind(), error.path().as_str()), (ErrorKind::Malformed, "batches[0].attributes"));
        assert_eq!(error.batch().unwrap().range, 0..70);
        assert!(batches[1].records().all(|record| record.is_ok()));
    }
}

#[test]
fn the_walk_tells_tails_from_nonsense_in_the_order_of_kafka() {
    let kind = |bytes: &[u8]| {
        let mut batches = Batches::new(bytes.to_vec().into());
        match batches.next() {
            Some(batch) => Err(batch.map(|_| ()).expect_err("no batch").kind()),
            None => Ok(batches.partial().map_or(0, |partial| partial.size)),
        }
    };
    let entry = |size: i32, magic: u8, len: usize| {
        let mut bytes = vec![0; len.max(17)];
        bytes[8..12].copy_from_slice(&size.to_be_bytes());
        bytes[16] = magic;
        bytes.truncate(len);
        bytes
    };
    assert_eq!(kind(b""), Ok(0));
    assert_eq!(kind(&[0; 11]), Ok(11));
    assert_eq!(kind(&[0; 12]), Err(ErrorKind::Framing));
    assert_eq!(kind(&entry(-1, 2, 61)), Err(ErrorKind::Framing));
    assert_eq!(kind(&entry(13, 0, 16)), Err(ErrorKind::Framing));
    assert_eq!(kind(&entry(14, 0, 16)), Ok(16));
    assert_eq!(kind(&entry(100, 3, 16)), Ok(16));
    assert_eq!(kind(&entry(100, 3, 17)), Err(ErrorKind::Framing));
    assert_eq!(kind(&entry(100, 0xff, 17)), Err(ErrorKind::Framing));
    assert_eq!(kind(&entry(2_147_483_635, 2, 61)), Ok(61));
    assert_eq!(kind(&entry(2_147_483_636, 2, 61)), Err(ErrorKind::Framing));
    assert_eq!(kind(&entry(i32::MAX, 2, 16)), Ok(16));
    assert_eq!(kind(&entry(i32::MAX, 2, 17)), Err(ErrorKind::Framing));
    for size in [14, 48] {
        assert_eq!(kind(&entry(size, 2, size as usize + 12)), Err(ErrorKind::Malformed));
    }
    assert_eq!(kind(&entry(21, 1, 33)), Err(ErrorKind::Malformed));
}

#[test]
fn the_walk_goes_on_after_a_batch_that_is_refused() {
    let mut bytes = vec![0; 12 + 14];
    bytes[11] = 14;
    bytes[16] = 2;
    bytes.extend(batch(1, 0, PLAIN));
    let batches: Vec<Result<Batch>> = Batches::new(bytes.into()).collect();
    assert_eq!(batches[0].as_ref().unwrap_err().path(), "batches[0].size");
    assert_eq!(batches[1].as_ref().unwrap().place().range, 26..96);
}

#[test]
fn tolerant_reading_gives_what_there_is_and_then_the_error() {
    let options = ReadOptions::tolerant();
    let all = |bytes: Vec<u8>| {
        let batch = Batch::parse(bytes.into(), options).unwrap();
        let (good, bad): (Vec<_>, Vec<_>) = batch.into_records().partition(|record| record.is_ok());
        (good.len(), bad.len())
    };
    assert_eq!(all(batch(1, 0, &[PLAIN, b"\0"].concat())), (1, 1));
    let mut damaged = batch(1, 0, PLAIN);
    damaged[17] ^= 1;
    assert_eq!(all(damaged), (1, 0));
    for codec in [Codec::Gzip, Codec::Lz4, Codec::Zstd].into_iter().filter(|codec| codec.is_available()) {
        let noise: Vec<u8> = (0..300_000u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
        let mut builder = BatchBuilder::new().codec(codec);
        for value in noise.chunks(100) {
            builder.push(&Record::from_value(value.to_vec())).unwrap();
        }
        let whole = builder.build().unwrap();
        let mut cut = whole[..whole.len() / 2].to_vec();
        let size = cut.len() as i32 - 12;
        cut[8..12].copy_from_slice(&size.to_be_bytes());
        let (good, bad) = all(cut);
        assert!(good > 500 && good < 1600 && bad == 1, "{codec}: {good}");
    }
}

#[test]
fn tolerant_lz4_reads_linked_blocks_and_further_frames() {
    if !Codec::Lz4.is_available() {
        return;
    }
    let frame = Codec::Lz4.compress(PLAIN, None).unwrap();
    let mut linked = frame.clone();
    linked[4] &= !0x20;
    for (payload, count) in [(frame.repeat(2), 2), (linked, 1)] {
        let bytes = batch(count, 3, &payload);
        assert_eq!(read(&bytes, ReadOptions::default()).unwrap_err().kind(), ErrorKind::Malformed);
        let options = ReadOptions { mode: Mode::Tolerant, ..ReadOptions::default() };
        assert_eq!(read(&bytes, options).unwrap().len(), count as usize);
    }
}

#[test]
fn control_records_say_what_they_are() {
    let parse = |key: &'static [u8], value: Option<&'static [u8]>| Control::from_parts(Some(key), value);
    assert_eq!(parse(b"\0\0\0\x01", Some(b"\0\0\0\0\0\x05")), Ok(Control::Commit { coordinator_epoch: 5 }));
    assert_eq!(parse(b"\0\x09\0\0more", Some(b"\0\x07\0\0\0\x06more")), Ok(Control::Abort { coordinator_epoch: 6 }));
    assert_eq!(parse(b"\0\0\0\x02", Some(b"\0\0\0")), Ok(Control::LeaderChange(b"\0\0\0")));
    assert_eq!(parse(b"\0\0\0\x07", None), Ok(Control::Unknown { type_id: 7, value: None }));
    assert_eq!(parse(b"\0\0\xff\xff", None).unwrap().name(), "UNKNOWN");
    for key in [&b"\xff\xff\0\0"[..], b"\0\0\0", b""] {
        assert!(parse(key, Some(b"\0\0\0\0\0\0")).is_err());
    }
    assert!(parse(b"\0\0\0\0", Some(b"\0\0\0\0\0")).is_err());
    assert!(parse(b"\0\0\0\0", Some(b"\xff\xff\0\0\0\0")).is_err());
    assert!(parse(b"\0\0\0\x03", None).is_err());
}

#[test]
fn a_transaction_marker_comes_back() {
    let mut builder = BatchBuilder::new().producer(9, 1, -1).transactional(true).control(true);
    builder.push(&Control::Commit { coordinator_epoch: 3 }.to_record().with_timestamp(77)).unwrap();
    let batch = Batch::parse(builder.build().unwrap(), ReadOptions::default()).unwrap();
    assert!(batch.is_control() && batch.is_transactional());
    let record = batch.records().next().unwrap().unwrap();
    assert_eq!((record.key, record.value), (Some(&b"\0\0\0\x01"[..]), Some(&b"\0\0\0\0\0\x03"[..])));
    assert_eq!(Control::parse(&record), Ok(Control::Commit { coordinator_epoch: 3 }));
}

#[test]
fn builders_refuse_what_the_format_cannot_say() {
    let mut builder = BatchBuilder::new().base_offset(5);
    let at = |offset| Record::from_value("x").with_offset(offset);
    builder.push_at_offset(&at(7)).unwrap();
    for record in [at(7), at(6 + (1 << 31)), at(8).with_timestamp(-2)] {
        assert_eq!(builder.push_at_offset(&record).unwrap_err().kind(), ErrorKind::InvalidValue);
    }
    builder.push_at_offset(&at(9)).unwrap();
    let bytes = builder.last_offset(20).build().unwrap();
    let batch = Batch::parse(bytes, ReadOptions::default()).unwrap();
    assert_eq!((batch.base_offset(), batch.next_offset(), batch.count()), (5, 21, Some(2)));
}

#[test]
fn a_compacted_batch_may_be_empty() {
    let bytes = BatchBuilder::new().base_offset(30).producer(1, 0, 4).last_offset(39).build().unwrap();
    let batch = Batch::parse(bytes, ReadOptions::default()).unwrap();
    assert_eq!((batch.next_offset(), batch.last_sequence(), batch.base_timestamp()), (40, 13, -1));
    assert_eq!(batch.records().count(), 0);
}
