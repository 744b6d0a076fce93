//! Whatever happens to one batch of a log, all others are found.

use milena_records::{BatchBuilder, BatchMut, Codec, MessageSetBuilder, Record};
use milena_storage::{Fault, LogContent, LogReader};
use proptest::collection::vec;
use proptest::prelude::*;

/// Batches one after the other, with the first offset of each and of what follows.
struct Log {
    batches: Vec<Vec<u8>>,
    offsets: Vec<i64>,
}

#[derive(Clone, Debug)]
struct Shape {
    magic: i8,
    codec: Codec,
    sizes: Vec<usize>,
    fill: u8,
}

fn log(shapes: &[Shape]) -> Log {
    let mut log = Log { batches: Vec::new(), offsets: vec![1000] };
    for shape in shapes {
        let base = *log.offsets.last().unwrap();
        let records: Vec<Record> = shape
            .sizes
            .iter()
            .enumerate()
            .map(|(index, size)| {
                // Neither all alike nor all random: both hide faults of a search.
                let value: Vec<u8> =
                    (0..*size).map(|at| if at % 7 == 0 { (at * 31 + index) as u8 } else { shape.fill }).collect();
                let key = (index % 3 > 0).then(|| bytes::Bytes::from(format!("key-{index}")));
                Record {
                    key,
                    value: Some(value.into()),
                    timestamp: base,
                    offset: base + index as i64,
                    ..Record::default()
                }
            })
            .collect();
        if shape.magic == 2 {
            let mut builder = BatchBuilder::new().codec(shape.codec);
            records.iter().for_each(|record| builder.push(record).unwrap());
            let mut bytes = builder.build().unwrap().to_vec();
            BatchMut::new(&mut bytes).unwrap().set_base_offset(base);
            log.batches.push(bytes);
            log.offsets.push(base + records.len() as i64);
        } else {
            // Without compression each message is an entry of its own.
            let entries: Vec<&[Record]> =
                if shape.codec == Codec::None { records.chunks(1).collect() } else { vec![&records[..]] };
            for entry in entries {
                let mut builder = MessageSetBuilder::new(shape.magic).unwrap().codec(shape.codec);
                entry.iter().for_each(|record| builder.push_at_offset(record).unwrap());
                log.batches.push(builder.build().unwrap().to_vec());
                log.offsets.push(log.offsets.last().unwrap() + entry.len() as i64);
            }
        }
    }
    log
}

/// What happens to a batch.
#[derive(Clone, Debug)]
enum Damage {
    Bytes {
        at: usize,
        bytes: Vec<u8>,
    },
    Bit {
        at: usize,
        bit: u8,
    },
    Zeros {
        at: usize,
        size: usize,
    },
    Size(i32),
    SizeBy(i32),
    /// The size covers this many whole batches, so that the claimed end is the beginning of one.
    SizeOver(usize),
    Cut {
        at: usize,
        size: usize,
    },
    Insert {
        at: usize,
        bytes: Vec<u8>,
    },
    Gone,
}

fn damaged(log: &Log, which: usize, damage: &Damage) -> Vec<u8> {
    let mut batch = log.batches[which].clone();
    let size = i32::from_be_bytes(batch[8..12].try_into().unwrap());
    let mut set_size = |size: i32| batch[8..12].copy_from_slice(&size.to_be_bytes());
    match damage {
        Damage::Size(size) => set_size(*size),
        Damage::SizeBy(by) => set_size(size.wrapping_add(*by)),
        Damage::SizeOver(count) => {
            let all = log.batches[which..].iter().take(*count).map(Vec::len).sum::<usize>();
            set_size(all as i32 - 12);
        }
        Damage::Bytes { at, bytes } => {
            let at = at % batch.len();
            for (to, byte) in batch[at..].iter_mut().zip(bytes) {
                *to = *byte;
            }
        }
        Damage::Bit { at, bit } => {
            let at = at % batch.len();
            batch[at] ^= 1 << (bit % 8);
        }
        Damage::Zeros { at, size } => {
            let at = at % batch.len();
            batch[at..].iter_mut().take(*size).for_each(|byte| *byte = 0);
        }
        Damage::Cut { at, size } => {
            let at = at % batch.len();
            batch.drain(at..batch.len().min(at + size));
        }
        Damage::Insert { at, bytes } => {
            let at = at % batch.len();
            batch.splice(at..at, bytes.iter().copied());
        }
        Damage::Gone => batch.iter_mut().for_each(|byte| *byte = 0xa5),
    }
    let mut file = log.batches[..which].concat();
    file.extend_from_slice(&batch);
    file.extend_from_slice(&log.batches[which + 1..].concat());
    file
}

fn shape() -> impl Strategy<Value = Shape> {
    let codec = prop_oneof![Just(Codec::None), Just(Codec::Gzip), Just(Codec::Lz4), Just(Codec::Snappy)];
    (prop_oneof![4 => Just(2_i8), 1 => Just(1), 1 => Just(0)], codec, vec(0_usize..400, 1..6), any::<u8>())
        .prop_map(|(magic, codec, sizes, fill)| Shape { magic, codec, sizes, fill: if fill < 128 { 0 } else { fill } })
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = 0_usize..2000;
    prop_oneof![
        (at.clone(), vec(any::<u8>(), 1..80)).prop_map(|(at, bytes)| Damage::Bytes { at, bytes }),
        (0_usize..64, vec(any::<u8>(), 1..20)).prop_map(|(at, bytes)| Damage::Bytes { at, bytes }),
        (at.clone(), any::<u8>()).prop_map(|(at, bit)| Damage::Bit { at, bit }),
        (0_usize..64, any::<u8>()).prop_map(|(at, bit)| Damage::Bit { at, bit }),
        (at.clone(), 1_usize..200).prop_map(|(at, size)| Damage::Zeros { at, size }),
        any::<i32>().prop_map(Damage::Size),
        (0_i32..10_000).prop_map(Damage::Size),
        (-200_i32..2000).prop_map(Damage::SizeBy),
        (1_usize..6).prop_map(Damage::SizeOver),
        (at.clone(), 1_usize..100).prop_map(|(at, size)| Damage::Cut { at, size }),
        (at, vec(any::<u8>(), 1..100)).prop_map(|(at, bytes)| Damage::Insert { at, bytes }),
        Just(Damage::Gone),
    ]
}

/// All that is found: bytes of right batches, and faults.
fn walk(file: &[u8]) -> (Vec<Vec<u8>>, Vec<Fault>) {
    let (mut right, mut faults, mut end) = (Vec::new(), Vec::new(), 0);
    for entry in LogReader::new(file) {
        let entry = entry.unwrap();
        assert_eq!(entry.range.start, end, "no byte is skipped");
        end = entry.range.end;
        match entry.content {
            LogContent::Batch { batch, crc_valid: true } => right.push(batch.bytes().to_vec()),
            LogContent::Damaged(fault) => faults.push(fault),
            _ => {}
        }
    }
    assert_eq!(end, file.len() as u64);
    (right, faults)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_intact_batch_is_found(shapes in vec(shape(), 2..7), which in any::<prop::sample::Index>(), damage in damage()) {
        let log = log(&shapes);
        let which = which.index(log.batches.len());
        let file = damaged(&log, which, &damage);
        // Not damaged after all, or the next one is: cutting a zero off the end takes the zero with which that begins.
        let start = log.batches[..which].iter().map(Vec::len).sum::<usize>();
        if file[start..].starts_with(&log.batches[which]) {
            return Ok(());
        }
        let (right, faults) = walk(&file);
        for (index, batch) in log.batches.iter().enumerate().filter(|(index, _)| *index != which) {
            prop_assert!(right.contains(batch), "batch {index} is lost, {faults:?}");
        }
        // The damaged batch itself may still be right, if what is damaged is under no checksum.
        prop_assert!(right.len() <= log.batches.len());
        // An offset at the end that is wrong and possible cannot be distinguished from a right one.
        let is_last = which + 1 == log.batches.len();
        for lost in faults.iter().filter_map(|fault| fault.lost.as_ref()).filter(|_| !is_last) {
            prop_assert_eq!(lost.clone(), log.offsets[which]..log.offsets[which + 1]);
        }
    }
}

fn plain(sizes: &[usize]) -> Shape {
    Shape { magic: 2, codec: Codec::None, sizes: sizes.to_vec(), fill: 0x61 }
}

/// Zeros look like messages of magic 0 with an offset, a size and no key.
#[test]
fn a_made_up_message_hides_no_batch() {
    let mut log = log(&[plain(&[40]), plain(&[300]), plain(&[50]), plain(&[60])]);
    // In the second batch: offset 2^55, a size that reaches into the third, magic 0.
    let size = (log.batches[1].len() - 112 + log.batches[2].len() - 5) as i32;
    let made_up =
        [&(1_i64 << 55).to_be_bytes()[..], &size.to_be_bytes(), &[0; 4], &[0, 0], &[0xff; 4], &[0; 4]].concat();
    log.batches[1][100..100 + made_up.len()].copy_from_slice(&made_up);
    // The size of the batch points at it.
    log.batches[1][8..12].copy_from_slice(&88_i32.to_be_bytes());
    let (right, faults) = walk(&log.batches.concat());
    assert_eq!(right, [&log.batches[0][..], &log.batches[2], &log.batches[3]]);
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].lost, Some(1001..1002));
}

#[test]
fn a_batch_inside_of_a_record_is_a_part_of_it() {
    let inner = log(&[plain(&[10]), plain(&[20])]).batches.concat();
    let outer = |base| {
        let mut builder = BatchBuilder::new();
        builder.push(&Record::new("copy", inner.clone())).unwrap();
        let mut bytes = builder.build().unwrap().to_vec();
        BatchMut::new(&mut bytes).unwrap().set_base_offset(base);
        bytes
    };
    let (mut first, second) = (outer(0), outer(1));
    first[17] ^= 1;
    let file = [&first[..], &second].concat();
    let entries: Vec<_> = LogReader::new(&file[..]).map(|entry| entry.unwrap()).collect();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0].range, 0..first.len() as u64);
    assert!(matches!(&entries[0].content, LogContent::Batch { crc_valid: false, .. }));
    assert!(matches!(&entries[1].content, LogContent::Batch { crc_valid: true, .. }));
}

/// A wrapper of magic 1 has the offset of its last message in front.
#[test]
fn lost_offsets_end_before_the_first_message_of_a_wrapper() {
    let wrapper = Shape { magic: 1, codec: Codec::Gzip, sizes: vec![9, 9, 9, 9], fill: 0x61 };
    let mut log = log(&[plain(&[40]), plain(&[30, 30]), wrapper]);
    log.batches[1][8..12].fill(0xff);
    let (right, faults) = walk(&log.batches.concat());
    assert_eq!(right.len(), 2);
    assert_eq!(faults[0].lost, Some(1001..1003));
}

/// No segment has offsets 2^31 apart; its indexes could not hold them.
#[test]
fn impossible_offsets_are_never_reported_as_lost() {
    let mut log = log(&[plain(&[40]), plain(&[30]), plain(&[20])]);
    log.batches[1].fill(0xa5);
    log.batches[2][..8].copy_from_slice(&(1_i64 << 40).to_be_bytes());
    let (right, faults) = walk(&log.batches.concat());
    assert_eq!((right.len(), faults.len()), (2, 1));
    assert_eq!(faults[0].lost, None);
}

#[test]
fn neighbours_with_wrong_checksums_are_distinguished() {
    let mut log = log(&[plain(&[40]), plain(&[30]), plain(&[20]), plain(&[10])]);
    log.batches[1][70] ^= 1;
    log.batches[2][70] ^= 1;
    let file = log.batches.concat();
    let valid: Vec<bool> = LogReader::new(&file[..])
        .map(|entry| match entry.unwrap().content {
            LogContent::Batch { crc_valid, .. } => crc_valid,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(valid, [true, false, false, true]);
}
