//! What the fuzz targets run: each takes any bytes, and panics when a promise of this crate does not hold. Only with the
//! feature `fuzzing`.

use bytes::Bytes;

use crate::{
    Batch, BatchBuilder, BatchMut, Batches, Codec, Control, Error, ErrorKind, Header, MessageSetBuilder, Mode,
    ReadOptions, Record, down_convert, encode, up_convert,
};

const LIMIT: usize = 1 << 20;

/// Reads the bytes as a run of entries in both modes: nothing panics, borrowed and owned records are the same, entries
/// and tail add up to the input, and a tolerant reader sees all that a strict one does.
pub fn read(data: &[u8]) {
    let input = Bytes::copy_from_slice(data);
    let strict = ReadOptions { check_crc: false, limit: LIMIT, ..ReadOptions::default() };
    let tolerant = ReadOptions { mode: Mode::Tolerant, ..strict };
    let mut walk = Batches::with_options(input.clone(), strict);
    let mut size = 0;
    let mut framed = true;
    for batch in walk.by_ref() {
        match batch {
            Ok(batch) => {
                size += batch.size_in_bytes();
                assert_eq!(batch.bytes()[..], data[batch.place().range]);
                let seen = records(&batch);
                let again = Batch::parse(batch.bytes().clone(), tolerant).expect("it was read before");
                assert!(records(&again).len() >= seen.len());
                header(&batch);
            }
            Err(error) => {
                let place = error.batch().expect("the walk knows where it is");
                framed = error.kind() != ErrorKind::Framing;
                size += if framed { place.range.len() } else { 0 };
            }
        }
    }
    assert_eq!(size, walk.position());
    if framed {
        assert_eq!(size + walk.partial().map_or(0, |partial| partial.size), data.len());
    }
    for magic in 0..=2 {
        let _ = down_convert(input.clone(), magic, strict);
        let _ = up_convert(input.clone(), magic, strict);
    }
}

/// The records in front of the first error, three times over.
fn records(batch: &Batch) -> Vec<Record> {
    let good = |records: &mut dyn Iterator<Item = Result<Record, Error>>| -> Vec<Record> {
        records.take_while(Result::is_ok).map(|record| record.expect("good")).collect()
    };
    let shared = good(&mut batch.records().map(|record| record.map(|record| record.to_owned())));
    let detached = good(&mut batch.records().map(|record| record.map(|record| record.to_detached())));
    assert_eq!(shared, detached);
    assert_eq!(shared, good(&mut batch.clone().into_records()));
    shared
}

fn header(batch: &Batch) {
    let _ = (batch.codec(), batch.check_crc(), batch.last_sequence(), batch.next_offset(), batch.delete_horizon());
    let _ = batch.message().map(|message| message.map(|message| message.to_owned()));
    for record in batch.records().map_while(Result::ok) {
        let _ = Control::parse(&record);
    }
    let mut copy = batch.bytes().to_vec();
    let mut rewrite = BatchMut::new(&mut copy).expect("it was read before");
    rewrite.set_last_offset(7);
    rewrite.update_crc();
    let copy = Batch::parse(copy.into(), ReadOptions::default()).expect("only the offset has changed");
    assert_eq!((copy.last_offset(), copy.check_crc()), (7, Ok(())));
}

/// Decompresses the bytes with each codec, within the limit; compresses them, and gets them back.
pub fn codec(data: &[u8]) {
    for codec in Codec::ALL.into_iter().filter(|codec| codec.is_available()) {
        if let Ok(read) = codec.decompress(data, LIMIT) {
            assert!(read.len() <= LIMIT);
        }
        let compressed = codec.compress(data, None).expect("any bytes can be compressed");
        assert_eq!(codec.decompress(&compressed, data.len()).as_deref(), Ok(data), "{codec}");
    }
}

/// Takes the bytes for a script of records, writes them in every format, and reads them back.
pub fn write(data: &[u8]) {
    let mut script = data;
    let mut records = Vec::new();
    while let Some((&op, rest)) = script.split_first() {
        script = rest;
        let offset = records.last().map_or(0, |record: &Record| record.offset + 1) + i64::from(op >> 6);
        let mut part = |null: bool| {
            let size = usize::from(script.first().copied().unwrap_or(0)).min(script.len());
            let (part, rest) = script.split_at(size);
            script = rest;
            (!null).then(|| Bytes::copy_from_slice(part))
        };
        let (key, value) = (part(op & 1 != 0), part(op & 2 != 0));
        let headers =
            (0..op >> 2 & 3).map(|i| Header { key: part(false).unwrap_or_default(), value: part(i == 1) }).collect();
        records.push(Record { offset, timestamp: i64::from(op) * 1000 - 1, key, value, headers });
    }
    for codec in Codec::ALL.into_iter().filter(|codec| codec.is_available()) {
        let mut builder = BatchBuilder::new().codec(codec);
        records.iter().for_each(|record| builder.push_at_offset(record).expect("it fits"));
        let bytes = builder.build().expect("a batch");
        let batch = Batch::parse(bytes.clone(), ReadOptions::default()).expect("a batch");
        let read: Result<Vec<Record>, Error> = batch.into_records().collect();
        assert_eq!(read.as_ref(), Ok(&records));
        assert_eq!(encode(&records, codec).map(|bytes| bytes.len() > 60), Ok(true));
        if codec == Codec::Zstd {
            continue;
        }
        for magic in 0..=1 {
            let mut old: Vec<Record> = records.clone();
            old.iter_mut().for_each(|record| record.headers.clear());
            if magic == 0 {
                old.iter_mut().for_each(|record| record.timestamp = -1);
            }
            let mut builder = MessageSetBuilder::new(magic).expect("magic").codec(codec);
            old.iter().for_each(|record| builder.push_at_offset(record).expect("it fits"));
            let set = builder.build().expect("a set");
            let converted = down_convert(bytes.clone(), magic, ReadOptions::default()).expect("converted");
            assert_eq!(converted, set, "{codec} magic {magic}");
            let read: Vec<Record> = Batches::new(set)
                .flat_map(|batch| batch.expect("a batch").into_records())
                .map(|record| record.expect("a record"))
                .collect();
            assert_eq!(read, old);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Batches of every format and codec, to be damaged.
    fn seeds() -> Vec<Vec<u8>> {
        let records: Vec<Record> = (0..4)
            .map(|i| Record::new(format!("k{i}"), "value ".repeat(i)).with_offset(i as i64).with_timestamp(i as i64))
            .collect();
        let mut seeds = Vec::new();
        for codec in Codec::ALL.into_iter().filter(|codec| codec.is_available()) {
            let batch = encode(&records, codec).unwrap();
            seeds.push(batch.to_vec());
            for magic in 0..2 {
                if let Ok(set) = down_convert(batch.clone(), magic, ReadOptions::default()) {
                    seeds.push(set.to_vec());
                }
            }
        }
        seeds
    }

    #[test]
    fn seeds_changed_in_any_bit_keep_the_promises() {
        for seed in seeds() {
            for at in 0..seed.len() {
                for bit in 0..8 {
                    let mut changed = seed.clone();
                    changed[at] ^= 1 << bit;
                    read(&changed);
                }
                read(&seed[..at]);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_keep_the_promises_of_reading(data in vec(any::<u8>(), 0..200)) {
            read(&data);
        }

        #[test]
        fn any_bytes_keep_the_promises_of_the_codecs(data in vec(any::<u8>(), 0..2000), fold in 1u8..=255) {
            let folded: Vec<u8> = data.iter().map(|byte| byte % fold).collect();
            codec(&folded);
        }

        #[test]
        fn any_script_of_records_comes_back(data in vec(any::<u8>(), 0..500)) {
            write(&data);
        }
    }
}
