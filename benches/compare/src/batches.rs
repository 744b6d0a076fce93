//! Works on record batches.

use bytes::{Bytes, BytesMut};
use milena_records::{BatchBuilder, Batches, Codec, ReadOptions, Record};

use crate::Bench;
use crate::measure::{Subject, subject};

/// What every side says about the records that it read.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    records: u64,
    offsets: i64,
    timestamps: i64,
    /// Sizes and first bytes of keys and values.
    content: u64,
}

impl Seen {
    fn add(&mut self, offset: i64, timestamp: i64, key: Option<&[u8]>, value: Option<&[u8]>) {
        let part =
            |part: Option<&[u8]>| part.map_or(7, |part| part.len() as u64 + u64::from(part.first().map_or(0, |b| *b)));
        self.records += 1;
        self.offsets = self.offsets.wrapping_add(offset);
        self.timestamps = self.timestamps.wrapping_add(timestamp);
        self.content += part(key) * 3 + part(value);
    }
}

const BASE_TIMESTAMP: i64 = 1_700_000_000_000;

/// 1000 records with keys of 8 and values of 100 bytes, half of which repeats from record to record.
fn records() -> Vec<Record> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..1000)
        .map(|index| {
            let mut value =
                format!("{{\"id\":{index:06},\"state\":\"shipped\",\"carrier\":\"post\",\"ref\":\"").into_bytes();
            while value.len() < 100 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                value.push(b'a' + (state % 26) as u8);
            }
            Record::new(format!("key{index:05}"), value).with_timestamp(BASE_TIMESTAMP + index)
        })
        .collect()
}

fn milena_encode(records: &[Record], codec: Codec) -> Bytes {
    milena_records::encode(records, codec).expect("records that milena writes")
}

fn milena_decode(bytes: &Bytes) -> Seen {
    let mut seen = Seen::default();
    for batch in Batches::new(bytes.clone()) {
        for record in batch.expect("a batch that milena reads").records() {
            let record = record.expect("a record that milena reads");
            seen.add(record.offset, record.timestamp, record.key, record.value);
        }
    }
    seen
}

fn kafka_protocol_codec(codec: Codec) -> kafka_protocol::records::Compression {
    use kafka_protocol::records::Compression;
    match codec {
        Codec::None => Compression::None,
        Codec::Gzip => Compression::Gzip,
        Codec::Snappy => Compression::Snappy,
        Codec::Lz4 => Compression::Lz4,
        Codec::Zstd => Compression::Zstd,
    }
}

fn kafka_protocol_records(bytes: &Bytes) -> Vec<kafka_protocol::records::Record> {
    kafka_protocol::records::RecordBatchDecoder::decode(&mut bytes.clone())
        .expect("bytes that kafka-protocol reads")
        .records
}

fn kafka_protocol_decode(bytes: &Bytes) -> Seen {
    let mut seen = Seen::default();
    for record in &kafka_protocol_records(bytes) {
        seen.add(record.offset, record.timestamp, record.key.as_deref(), record.value.as_deref());
    }
    seen
}

fn kafka_protocol_encode(records: &[kafka_protocol::records::Record], codec: Codec) -> Bytes {
    let options = kafka_protocol::records::RecordEncodeOptions { version: 2, compression: kafka_protocol_codec(codec) };
    let mut buffer = BytesMut::new();
    kafka_protocol::records::RecordBatchEncoder::encode(&mut buffer, records, &options)
        .expect("records that kafka-protocol writes");
    buffer.freeze()
}

#[cfg(feature = "krabka")]
mod krabka {
    use bytes::Bytes;
    use krabka_protocol::DecodeBorrow as _;
    use krabka_protocol::records::{RecordBatch, RecordBatchBorrowed};

    use super::Seen;

    pub fn read(bytes: &Bytes) -> RecordBatch {
        RecordBatch::decode_batch(&mut bytes.clone()).expect("bytes that krabka-protocol reads")
    }

    pub fn decode(bytes: &Bytes) -> Seen {
        let (batch, mut seen) = (read(bytes), Seen::default());
        for record in &batch.records {
            seen.add(
                batch.base_offset + i64::from(record.offset_delta),
                batch.base_timestamp + record.timestamp_delta,
                record.key.as_deref(),
                record.value.as_deref(),
            );
        }
        seen
    }

    pub fn decode_borrowed(bytes: &Bytes) -> Seen {
        let batch = RecordBatchBorrowed::decode_borrow(&mut &bytes[..], 0).expect("bytes that krabka-protocol reads");
        let mut seen = Seen::default();
        for record in &batch {
            let record = record.expect("a record that krabka-protocol reads");
            seen.add(
                batch.header().base_offset.get() + i64::from(record.offset_delta),
                batch.header().base_timestamp.get() + record.timestamp_delta,
                record.key,
                record.value,
            );
        }
        seen
    }

    pub fn encode(batch: &RecordBatch) -> Bytes {
        batch.encode_to_bytes().expect("records that krabka-protocol writes")
    }
}

#[cfg(feature = "odradek")]
mod odradek {
    use bytes::{Bytes, BytesMut};
    use odradek_protocol::records::{RecordBatch, Records};

    use super::Seen;

    pub fn read(bytes: &Bytes) -> RecordBatch {
        RecordBatch::decode(&mut bytes.clone()).expect("bytes that odradek-protocol reads")
    }

    pub fn decode(bytes: &Bytes) -> Seen {
        let (batch, mut seen) = (read(bytes), Seen::default());
        let Records::Plain(records) = &batch.records else { panic!("odradek-protocol opens no compressed batch") };
        for record in records {
            seen.add(
                batch.base_offset + i64::from(record.offset_delta),
                batch.base_timestamp + record.timestamp_delta,
                record.key.as_deref(),
                record.value.as_deref(),
            );
        }
        seen
    }

    pub fn encode(batch: &RecordBatch) -> Bytes {
        let mut buffer = BytesMut::new();
        batch.encode_to(&mut buffer).expect("records that odradek-protocol writes");
        buffer.freeze()
    }
}

#[cfg(feature = "rskafka")]
mod rskafka {
    use bytes::Bytes;
    use rskafka::protocol::record::{ControlBatchOrRecords, RecordBatch};
    use rskafka::protocol::traits::{ReadType, WriteType};

    use super::Seen;

    pub fn read(bytes: &Bytes) -> RecordBatch {
        RecordBatch::read(&mut &bytes[..]).expect("bytes that rskafka reads")
    }

    pub fn decode(bytes: &Bytes) -> Seen {
        let (batch, mut seen) = (read(bytes), Seen::default());
        let ControlBatchOrRecords::Records(records) = &batch.records else { panic!("not a control batch") };
        for record in records {
            seen.add(
                batch.base_offset + i64::from(record.offset_delta),
                batch.first_timestamp + record.timestamp_delta,
                record.key.as_deref(),
                record.value.as_deref(),
            );
        }
        seen
    }

    pub fn encode(batch: &RecordBatch) -> Bytes {
        let mut buffer = Vec::new();
        batch.write(&mut buffer).expect("records that rskafka writes");
        buffer.into()
    }
}

fn decode(bench: &mut Bench, codec: Codec, bytes: &Bytes) {
    let work = format!("batch of 1000 x 100 B, {codec}, decode");
    if !bench.wants(&work) {
        return;
    }
    let expected = milena_decode(bytes);
    assert_eq!(expected.records, 1000);
    let peer = |name: &'static str, decode: fn(&Bytes) -> Seen| {
        assert_eq!(decode(bytes), expected, "{name}");
        subject(name, move || decode(bytes))
    };
    let mut peers = vec![peer("kafka-protocol", kafka_protocol_decode)];
    #[cfg(feature = "krabka")]
    peers.extend([peer("krabka-protocol", krabka::decode), peer("krabka-protocol, borrowed", krabka::decode_borrowed)]);
    #[cfg(feature = "odradek")]
    if codec == Codec::None {
        peers.push(peer("odradek-protocol", odradek::decode));
    }
    #[cfg(feature = "rskafka")]
    peers.push(peer("rskafka", rskafka::decode));
    bench.work(&work, subject("milena", || milena_decode(bytes)), peers);
}

fn encode(bench: &mut Bench, codec: Codec, bytes: &Bytes, records: &[Record]) {
    let work = format!("batch of 1000 x 100 B, {codec}, encode");
    if !bench.wants(&work) {
        return;
    }
    let expected = milena_decode(bytes);
    // Without compression there is one way to write it; compressed bytes may differ, the records in them may not.
    let check = |name: &str, written: &Bytes| match codec {
        Codec::None => assert!(written[21..] == bytes[21..], "{name} writes other bytes"),
        _ => assert_eq!(milena_decode(written), expected, "{name}"),
    };
    // Sizes tell how hard each one tries.
    let size = |name: &str, written: &Bytes| eprintln!("{work}: {name} {} bytes", written.len());
    size("milena", bytes);
    let mut peers: Vec<Subject<'_>> = Vec::new();
    let theirs = kafka_protocol_records(bytes);
    let written = kafka_protocol_encode(&theirs, codec);
    check("kafka-protocol", &written);
    size("kafka-protocol", &written);
    peers.push(subject("kafka-protocol", move || kafka_protocol_encode(&theirs, codec)));
    #[cfg(feature = "krabka")]
    let batch = krabka::read(bytes);
    #[cfg(feature = "krabka")]
    {
        check("krabka-protocol", &krabka::encode(&batch));
        size("krabka-protocol", &krabka::encode(&batch));
        peers.push(subject("krabka-protocol", move || krabka::encode(&batch)));
    }
    #[cfg(feature = "odradek")]
    let batch = odradek::read(bytes);
    #[cfg(feature = "odradek")]
    if codec == Codec::None {
        check("odradek-protocol", &odradek::encode(&batch));
        peers.push(subject("odradek-protocol", move || odradek::encode(&batch)));
    }
    #[cfg(feature = "rskafka")]
    let batch = rskafka::read(bytes);
    #[cfg(feature = "rskafka")]
    {
        check("rskafka", &rskafka::encode(&batch));
        size("rskafka", &rskafka::encode(&batch));
        peers.push(subject("rskafka", move || rskafka::encode(&batch)));
    }
    bench.work(&work, subject("milena", || milena_encode(records, codec)), peers);
}

/// Headers of all batches in a segment of 100 MB, beside what it takes to copy the segment.
fn headers(bench: &mut Bench, batch: &Bytes) {
    let work = "batch headers of a 100 MB segment";
    if !bench.wants(work) {
        return;
    }
    let segment = Bytes::from(batch.repeat(100_000_000 / batch.len()));
    let milena = || {
        let (mut batches, mut records) = (0, 0);
        for batch in Batches::new(segment.clone()) {
            batches += 1;
            records += batch.expect("a batch that milena reads").count().unwrap_or_default() as u64;
        }
        (batches, records)
    };
    let records = milena().1;
    assert_eq!(milena().0, segment.len() / batch.len());
    let kafka_protocol = || {
        let infos = kafka_protocol::records::RecordBatchDecoder::decode_batch_info(&mut segment.clone())
            .expect("bytes that kafka-protocol reads");
        infos.iter().map(|info| info.record_count as u64).sum::<u64>()
    };
    assert_eq!(kafka_protocol(), records);
    let mut copy = vec![0u8; segment.len()];
    let mut peers = vec![
        subject("memcpy of the segment", || copy.copy_from_slice(std::hint::black_box(&segment))),
        subject("kafka-protocol, with CRC", kafka_protocol),
    ];
    #[cfg(feature = "krabka")]
    {
        use krabka_protocol::records::count_records_in_v2_batches;
        assert_eq!(count_records_in_v2_batches(&segment), records);
        peers.push(subject("krabka-protocol, counts alone", || count_records_in_v2_batches(&segment)));
    }
    bench.work(work, subject("milena", milena), std::mem::take(&mut peers));
}

/// The checksum of one batch of 1 MiB.
fn crc(bench: &mut Bench) {
    let work = "CRC-32C of 1 MiB";
    if !bench.wants(work) {
        return;
    }
    let content: Vec<u8> = (0..1 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut builder = BatchBuilder::new();
    builder.push(&Record::from_value(content)).expect("one record");
    let bytes = builder.build().expect("one batch");
    let batch = milena_records::Batch::parse(bytes.clone(), ReadOptions::default()).expect("one batch");
    let covered = bytes.slice(21..);
    let mut copy = vec![0u8; covered.len()];
    let mut peers = vec![
        subject("memcpy", || copy.copy_from_slice(std::hint::black_box(&covered))),
        subject("crate crc32c", || crc32c::crc32c(&covered)),
    ];
    #[cfg(feature = "krabka")]
    {
        assert_eq!(krabka_protocol::records::crc32c(&covered), batch.crc());
        peers.push(subject("krabka-protocol", || krabka_protocol::records::crc32c(&covered)));
    }
    #[cfg(feature = "odradek")]
    {
        assert_eq!(odradek_protocol::records::crc32c(&covered), batch.crc());
        peers.push(subject("odradek-protocol", || odradek_protocol::records::crc32c(&covered)));
    }
    assert_eq!(batch.computed_crc(), batch.crc());
    bench.work(work, subject("milena", || batch.computed_crc()), std::mem::take(&mut peers));
}

pub fn run(bench: &mut Bench) {
    let records = records();
    for codec in Codec::ALL {
        let bytes = milena_encode(&records, codec);
        decode(bench, codec, &bytes);
        encode(bench, codec, &bytes, &records);
    }
    headers(bench, &milena_encode(&records[..100], Codec::None));
    crc(bench);
}
