//! Odd and broken message sets of magic 0 and 1, and the ways between the formats.

use bytes::Bytes;
use milena_records::{
    Batch, BatchBuilder, BatchMut, Batches, Codec, Control, ErrorKind, LegacyMessage, MessageSetBuilder, ReadOptions,
    Record, Result, TimestampType, down_convert, encode, up_convert,
};

fn message(magic: i8, offset: i64, timestamp: i64, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let message = LegacyMessage { magic, attributes: 0, offset, timestamp, key: None, value: Some(value) };
    message.write(&mut bytes).expect("a message");
    bytes
}

/// A wrapper around these bytes.
fn wrapper(magic: i8, attributes: i8, offset: i64, inner: &[u8]) -> Vec<u8> {
    let codec = Codec::from_id(attributes as u8 & 7).expect("a codec");
    let value = codec.compress(inner, None).expect("compressed");
    let mut bytes = Vec::new();
    let wrapper =
        LegacyMessage { magic, attributes, offset, timestamp: 777, key: Some(b"ignored"), value: Some(&value) };
    wrapper.write(&mut bytes).expect("a message");
    bytes
}

fn read(bytes: &[u8], options: ReadOptions) -> Result<Vec<(i64, i64, Vec<u8>)>> {
    let batch = Batch::parse(bytes.to_vec().into(), options)?;
    batch
        .into_records()
        .map(|record| record.map(|r| (r.offset, r.timestamp, r.value.unwrap_or_default().to_vec())))
        .collect()
}

fn strict(bytes: &[u8]) -> Result<Vec<(i64, i64, Vec<u8>)>> {
    read(bytes, ReadOptions::default())
}

fn offsets(bytes: &[u8]) -> Result<Vec<i64>> {
    strict(bytes).map(|records| records.into_iter().map(|(offset, ..)| offset).collect())
}

fn set(magic: i8, offsets: impl IntoIterator<Item = i64>) -> Vec<u8> {
    offsets.into_iter().flat_map(|offset| message(magic, offset, 100 + offset, b"v")).collect()
}

const GZIP: i8 = 1;
const LOG_APPEND: i8 = 8;

#[test]
fn offsets_in_a_wrapper_are_absolute_in_magic_0_and_relative_in_magic_1() {
    assert_eq!(offsets(&wrapper(0, GZIP, 999, &set(0, 5..8))), Ok(vec![5, 6, 7]));
    assert_eq!(offsets(&wrapper(1, GZIP, 102, &set(1, 0..3))), Ok(vec![100, 101, 102]));
    // Compaction took some away.
    assert_eq!(offsets(&wrapper(1, GZIP, 102, &set(1, [1, 4]))), Ok(vec![99, 102]));
    // Old producers left the wrapper at 0.
    assert_eq!(offsets(&wrapper(1, GZIP, 0, &set(1, 0..3))), Ok(vec![0, 1, 2]));
    let error = offsets(&wrapper(1, GZIP, 1, &set(1, 0..3))).unwrap_err();
    assert_eq!((error.kind(), error.path().as_str()), (ErrorKind::Malformed, "batches[0].offset"));
    let tolerant = read(&wrapper(1, GZIP, 1, &set(1, 0..3)), ReadOptions::tolerant()).unwrap();
    assert_eq!(tolerant[2].0, 2);
}

#[test]
fn the_wrapper_decides_about_offsets_whatever_the_magic_inside() {
    assert_eq!(offsets(&wrapper(1, GZIP, 102, &set(0, 0..3))), Ok(vec![100, 101, 102]));
    assert_eq!(offsets(&wrapper(0, GZIP, 102, &set(1, 0..3))), Ok(vec![0, 1, 2]));
}

#[test]
fn the_time_of_a_log_append_wrapper_is_that_of_all_inside() {
    let times = |bytes: &[u8]| -> Vec<i64> { strict(bytes).unwrap().into_iter().map(|(_, time, _)| time).collect() };
    assert_eq!(times(&wrapper(1, GZIP | LOG_APPEND, 102, &set(1, 0..2))), [777, 777]);
    assert_eq!(times(&wrapper(1, GZIP, 102, &set(1, 0..2))), [100, 101]);
    assert_eq!(times(&wrapper(1, GZIP | LOG_APPEND, 102, &set(0, 0..2))), [-1, -1]);
    // Magic 0 has no such bit.
    let bytes = wrapper(0, GZIP | LOG_APPEND, 102, &set(0, 0..2));
    assert_eq!(times(&bytes), [-1, -1]);
    assert_eq!(Batch::parse(bytes.into(), ReadOptions::default()).unwrap().timestamp_type(), TimestampType::None);
}

#[test]
fn an_inner_set_that_is_cut_off_is_numbered_back_from_the_wrapper() {
    let whole = set(1, 0..3);
    assert_eq!(offsets(&wrapper(1, GZIP, 102, &whole[..whole.len() - 1])), Ok(vec![101, 102]));
    let error = |inner: &[u8]| offsets(&wrapper(1, GZIP, 102, inner)).map(|_| ()).map_err(|error| error.kind());
    assert_eq!(error(&[&whole[..], &[0; 11]].concat()), Ok(()));
    assert_eq!(error(&[&whole[..], &[0; 12]].concat()), Err(ErrorKind::Malformed));
    assert_eq!(error(b""), Err(ErrorKind::Malformed));
    assert_eq!(error(&whole[..20]), Err(ErrorKind::Malformed));
}

#[test]
fn wrappers_without_value_within_wrappers_or_of_zstd_are_refused() {
    let mut null = Vec::new();
    LegacyMessage { magic: 1, attributes: GZIP, ..LegacyMessage::default() }.write(&mut null).unwrap();
    assert_eq!(offsets(&null).unwrap_err().path(), "batches[0].value");
    let nested = [message(1, 0, 1, b"v"), wrapper(1, GZIP, 1, &set(1, 0..1))].concat();
    let error = offsets(&wrapper(1, GZIP, 1, &nested)).unwrap_err();
    assert_eq!((error.path().as_str(), error.is_decompressed()), ("batches[0].records[1].attributes", true));
    if Codec::Zstd.is_available() {
        let zstd = wrapper(1, 4, 2, &set(1, 0..3));
        assert_eq!(offsets(&zstd).unwrap_err().kind(), ErrorKind::Malformed);
        assert_eq!(read(&zstd, ReadOptions::tolerant()).unwrap().len(), 3);
    }
    let mut unknown = wrapper(1, GZIP, 2, &set(1, 0..3));
    unknown[17] = 5;
    BatchMut::new(&mut unknown).unwrap().update_crc();
    assert_eq!(offsets(&unknown).unwrap_err().path(), "batches[0].attributes");
}

#[test]
fn checksums_inside_count_when_checksums_do() {
    let mut inner = set(1, 0..2);
    let last = inner.len() - 1;
    inner[last] ^= 1;
    let bytes = wrapper(1, GZIP, 1, &inner);
    let error = offsets(&bytes).unwrap_err();
    assert_eq!((error.kind(), error.path().as_str()), (ErrorKind::BadCrc, "batches[0].records[1].crc"));
    let unchecked = ReadOptions { check_crc: false, ..ReadOptions::default() };
    assert_eq!(read(&bytes, unchecked).unwrap().len(), 2);
}

#[test]
fn lengths_beyond_the_message_are_refused_and_bytes_after_it_are_not() {
    let mut long = message(0, 0, 0, b"value");
    long[25] = 6;
    BatchMut::new(&mut long).unwrap().update_crc();
    let error = strict(&long).unwrap_err();
    assert_eq!((error.path().as_str(), error.offset()), ("batches[0].records[0].value", Some(22)));
    long[25] = 4;
    BatchMut::new(&mut long).unwrap().update_crc();
    assert_eq!(strict(&long).unwrap()[0].2, b"valu");
    long[18..22].copy_from_slice(&99i32.to_be_bytes());
    BatchMut::new(&mut long).unwrap().update_crc();
    assert_eq!(strict(&long).unwrap_err().path(), "batches[0].records[0].key");
}

#[test]
fn the_old_lz4_has_its_wrong_checksum_in_magic_0_alone() {
    if !Codec::Lz4.is_available() {
        return;
    }
    let record = Record::from_value("value").with_timestamp(1);
    let payload = |magic| {
        let mut builder = MessageSetBuilder::new(magic).unwrap().codec(Codec::Lz4);
        builder.push(&record).unwrap();
        let batch = Batch::parse(builder.build().unwrap(), ReadOptions::default()).unwrap();
        assert_eq!(batch.records().count(), 1);
        batch.message().unwrap().unwrap().value.unwrap().to_vec()
    };
    // Header checksums of 60 40 as kafka-python and lz4 have them.
    assert_eq!(payload(0)[..7], [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x1a]);
    assert_eq!(payload(1)[..7], [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82]);
}

#[test]
fn a_broker_rewrites_old_messages_in_place() {
    let mut bytes = message(1, 0, 5, b"v");
    let mut entry = BatchMut::new(&mut bytes).unwrap();
    entry.set_last_offset(42);
    entry.set_partition_leader_epoch(9);
    entry.set_timestamps(TimestampType::LogAppendTime, 99).unwrap();
    assert!(entry.set_producer(1, 0, 0).is_err());
    assert_eq!(strict(&bytes), Ok(vec![(42, 99, b"v".to_vec())]));
    let mut bytes = message(0, 0, 0, b"v");
    assert!(BatchMut::new(&mut bytes).unwrap().set_timestamps(TimestampType::CreateTime, 99).is_err());
}

fn all(bytes: Bytes) -> Vec<Record> {
    let batches: Vec<Batch> = Batches::new(bytes).collect::<Result<_>>().expect("batches");
    batches.into_iter().flat_map(|batch| batch.into_records().map(|record| record.expect("a record"))).collect()
}

#[test]
fn conversion_keeps_offsets_times_and_codec() {
    for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4].into_iter().filter(|codec| codec.is_available())
    {
        let mut builder = BatchBuilder::new().base_offset(50).codec(codec);
        let records: Vec<Record> = [50, 52, 60]
            .into_iter()
            .map(|offset| Record::new("k", format!("{offset}")).with_offset(offset).with_timestamp(offset * 10))
            .collect();
        for record in &records {
            builder.push_at_offset(&record.clone().with_header("lost", "on the way")).unwrap();
        }
        let new = builder.build().unwrap();
        let options = ReadOptions::default();
        let one = down_convert(new.clone(), 1, options).unwrap();
        assert_eq!(all(one.clone()), records, "{codec}");
        let zero = down_convert(one.clone(), 0, options).unwrap();
        let timeless: Vec<Record> = records.iter().map(|record| record.clone().with_timestamp(-1)).collect();
        assert_eq!(all(zero.clone()), timeless, "{codec}");
        for (old, records) in [(&one, &records), (&zero, &timeless)] {
            let back = up_convert(old.clone(), 2, options).unwrap();
            assert_eq!(&all(back.clone()), records, "{codec}");
            let batches: Vec<Batch> = Batches::new(back).collect::<Result<_>>().unwrap();
            assert_eq!((batches.len(), batches[0].codec().unwrap(), batches[0].base_offset()), (1, codec, 50));
        }
        // Old enough and new enough pass as they are.
        assert_eq!(down_convert(one.clone(), 1, options).unwrap(), one);
        assert_eq!(up_convert(new.clone(), 2, options).unwrap(), new);
        assert_eq!(down_convert(new.slice(..new.len() - 1), 1, options).unwrap().len(), 0);
    }
}

#[test]
fn conversion_drops_control_batches_and_refuses_zstd() {
    let mut marker = BatchBuilder::new().producer(1, 0, -1).transactional(true).control(true);
    marker.push(&Control::Abort { coordinator_epoch: 0 }.to_record()).unwrap();
    let marker = marker.build().unwrap();
    assert_eq!(down_convert(marker.clone(), 1, ReadOptions::default()).unwrap().len(), 0);
    assert_eq!(up_convert(marker.clone(), 2, ReadOptions::default()).unwrap(), marker);
    if Codec::Zstd.is_available() {
        let zstd = encode(&[Record::from_value("x")], Codec::Zstd).unwrap();
        assert_eq!(down_convert(zstd, 1, ReadOptions::default()).unwrap_err().kind(), ErrorKind::InvalidValue);
    }
}

#[test]
fn log_append_time_survives_conversion() {
    let mut builder = BatchBuilder::new().log_append_time(4444);
    for _ in 0..2 {
        builder.push(&Record::from_value("x").with_timestamp(1)).unwrap();
    }
    let one = down_convert(builder.build().unwrap(), 1, ReadOptions::default()).unwrap();
    let two = up_convert(one.clone(), 2, ReadOptions::default()).unwrap();
    for bytes in [one, two] {
        let batch = Batches::new(bytes.clone()).next().unwrap().unwrap();
        assert_eq!((batch.timestamp_type(), batch.max_timestamp()), (TimestampType::LogAppendTime, 4444));
        assert!(all(bytes).iter().all(|record| record.timestamp == 4444));
    }
}

#[test]
fn a_set_takes_no_headers_and_no_zstd() {
    let mut builder = MessageSetBuilder::new(1).unwrap().codec(Codec::Zstd).max_size(100);
    let record = Record::from_value("x");
    assert_eq!(builder.push(&record.clone().with_header("a", "b")).unwrap_err().kind(), ErrorKind::InvalidValue);
    builder.push(&record).unwrap();
    assert_eq!(builder.push(&Record::from_value(vec![0; 100])).unwrap_err().kind(), ErrorKind::Full);
    assert_eq!(builder.build().unwrap_err().kind(), ErrorKind::InvalidValue);
    assert!(MessageSetBuilder::new(2).is_err());
    assert!(MessageSetBuilder::new(0).unwrap().codec(Codec::Gzip).build().unwrap().is_empty());
}
