//! Damaged files, and which bytes and offsets are lost.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use milena_records::{BatchBuilder, BatchMut, Codec, Record};
use milena_storage::{Fault, Item, LogContent, LogOptions, LogReader, Options, Selection, read_log, verify};

use crate::folder::unpack;

/// Batches of three records each, from these offsets on.
fn log(bases: &[i64]) -> (Vec<u8>, Vec<usize>) {
    let (mut file, mut ends) = (Vec::new(), Vec::new());
    for base in bases {
        let mut builder = BatchBuilder::new().codec(Codec::None);
        for index in 0..3 {
            builder
                .push(&Record::new(format!("k{index}"), format!("v{}", base + index)).with_timestamp(*base))
                .unwrap();
        }
        let mut bytes = builder.build().unwrap().to_vec();
        BatchMut::new(&mut bytes).unwrap().set_base_offset(*base);
        file.extend_from_slice(&bytes);
        ends.push(file.len());
    }
    (file, ends)
}

/// Offsets of the batches that are right, and the faults.
fn walk(file: &[u8]) -> (Vec<i64>, Vec<Fault>, Vec<String>) {
    let (mut bases, mut faults, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = 0;
    for entry in LogReader::new(file) {
        let entry = entry.unwrap();
        assert_eq!(entry.range.start, at, "no byte is passed over");
        at = entry.range.end;
        match entry.content {
            LogContent::Batch { batch, crc_valid: true } => bases.push(batch.base_offset()),
            LogContent::Batch { batch, crc_valid: false } => rest.push(format!("wrong {}", batch.base_offset())),
            LogContent::Damaged(fault) => faults.push(fault),
            LogContent::Zeros => rest.push(format!("zeros {:?}", entry.range)),
            LogContent::CutOff { expected } => rest.push(format!("cut {:?} of {expected:?}", entry.range)),
        }
    }
    assert_eq!(at, file.len() as u64);
    (bases, faults, rest)
}

#[test]
fn a_size_that_cannot_be_costs_one_batch() {
    for size in [[0xff; 4], [0, 0, 0, 13], [0x7f, 0xff, 0xff, 0xff], [0, 0, 0x40, 0]] {
        let (mut file, ends) = log(&[0, 3, 6, 9]);
        file[ends[0] + 8..ends[0] + 12].copy_from_slice(&size);
        let (bases, faults, rest) = walk(&file);
        assert_eq!((bases, rest), (vec![0, 6, 9], vec![]), "{size:?}");
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(faults[0].range, ends[0] as u64..ends[1] as u64);
        assert_eq!(faults[0].lost, Some(3..6));
    }
}

#[test]
fn a_size_that_is_a_little_wrong_costs_one_batch_too() {
    for wrong in [-20i32, -1, 1, 7, 50, 90] {
        let (mut file, ends) = log(&[0, 3, 6, 9]);
        let size = (ends[1] - ends[0]) as i32 - 12 + wrong;
        file[ends[0] + 8..ends[0] + 12].copy_from_slice(&size.to_be_bytes());
        let (bases, faults, _) = walk(&file);
        assert_eq!(bases, [0, 6, 9], "{wrong}");
        assert_eq!(faults[0].range, ends[0] as u64..ends[1] as u64, "{wrong}");
        assert_eq!((faults[0].kind, faults[0].lost.clone()), ("bad_crc", Some(3..6)));
    }
}

#[test]
fn a_flipped_bit_is_a_wrong_checksum_and_a_range() {
    let (file, ends) = log(&[0, 3, 6]);
    let mut damaged = file.clone();
    damaged[ends[1] - 3] ^= 4;
    let options = Options::default();
    let (mut faults, mut offsets) = (Vec::new(), Vec::new());
    let mut look = |options: &Options| {
        faults.clear();
        offsets.clear();
        read_log(&damaged[..], options, &mut |item| {
            match item {
                Item::Fault(fault) => faults.push((*fault).clone()),
                Item::Record { record, .. } => offsets.push(record.offset),
                _ => {}
            }
            Ok(None)
        })
        .unwrap();
        (faults.iter().map(|fault| (fault.kind, fault.range.clone())).collect::<Vec<_>>(), offsets.clone())
    };
    let fault = ("bad_crc", ends[0] as u64..ends[1] as u64);
    assert_eq!(look(&options), (vec![fault.clone()], vec![0, 1, 2, 6, 7, 8]));
    let tolerant = Options { tolerant: true, ..options.clone() };
    assert_eq!(look(&tolerant), (vec![fault.clone()], (0..9).collect()));
    let strict = Options { strict: true, ..options };
    assert_eq!(look(&strict), (vec![fault], vec![0, 1, 2]));
}

#[test]
fn the_end_may_be_cut_anywhere() {
    let (file, ends) = log(&[0, 3]);
    for cut in ends[0] + 1..ends[1] {
        let (bases, faults, rest) = walk(&file[..cut]);
        assert_eq!((bases, faults), (vec![0], vec![]), "{cut}");
        let whole = ends[1] - ends[0];
        // The first 8 bytes of offset 3 begin with zeros, which could as well be room set aside.
        let expected = match cut - ends[0] {
            1..=7 => format!("zeros {}..{cut}", ends[0]),
            8..=11 => format!("cut {}..{cut} of None", ends[0]),
            _ => format!("cut {}..{cut} of Some({whole})", ends[0]),
        };
        assert_eq!(rest, [expected]);
    }
}

#[test]
fn zeros_at_the_end_are_room_and_between_batches_damage() {
    let (file, ends) = log(&[0, 3]);
    for zeros in [1, 11, 12, 17, 61, 300_000] {
        let mut padded = file.clone();
        padded.resize(file.len() + zeros, 0);
        let (bases, faults, rest) = walk(&padded);
        assert_eq!((bases, faults), (vec![0, 3], vec![]));
        assert_eq!(rest, [format!("zeros {}..{}", ends[1], padded.len())]);

        padded.extend_from_slice(&log(&[9]).0);
        let (bases, faults, rest) = walk(&padded);
        assert_eq!((bases, rest), (vec![0, 3, 9], vec![]), "{zeros}");
        assert_eq!((faults.len(), faults[0].lost.clone()), (1, Some(6..9)), "{zeros}");
    }
}

#[test]
fn a_batch_above_the_limit_is_damage() {
    let (file, _) = log(&[0, 3]);
    let options = LogOptions { max_batch: 64, ..LogOptions::default() };
    let entries: Vec<_> = LogReader::with_options(&file[..], options).map(|entry| entry.unwrap().content).collect();
    assert!(
        matches!(&entries[..], [LogContent::Damaged(fault)] if fault.message.contains("more than the limit of 64"))
    );
}

#[test]
fn headers_that_lead_nowhere_cost_no_time() {
    // Each claims most of the file, so that comparing all checksums would take hours.
    let (batch, _) = log(&[0]);
    let mut file = vec![0xff; 17];
    while file.len() < 1 << 20 {
        let mut head = batch[..61].to_vec();
        head[8..12].copy_from_slice(&(1i32 << 19).to_be_bytes());
        file.extend_from_slice(&head);
    }
    let (bases, faults, _) = walk(&file);
    assert_eq!((bases, faults.len()), (vec![], 1));
}

#[test]
fn records_are_chosen_by_offset_time_and_key() {
    let (file, _) = log(&[0, 3, 6]);
    let chosen = |selection: Selection| {
        let (mut batches, mut offsets) = (0, Vec::new());
        let options = Options { selection, ..Options::default() };
        read_log(&file[..], &options, &mut |item| {
            match item {
                Item::Batch { .. } => batches += 1,
                Item::Record { record, .. } => offsets.push(record.offset),
                _ => {}
            }
            Ok(None)
        })
        .unwrap();
        (batches, offsets)
    };
    let all = Selection::default();
    assert_eq!(chosen(Selection { offsets: 2..4, ..all.clone() }), (2, vec![2, 3]));
    // Timestamps are those of the first offset of a batch.
    assert_eq!(chosen(Selection { time: 3..6, ..all.clone() }).1, [3, 4, 5]);
    assert_eq!(chosen(Selection { key: Some(Bytes::from("k1")), ..all.clone() }), (3, vec![1, 4, 7]));
    assert_eq!(chosen(Selection { key: Some(Bytes::from("k9")), ..all }), (0, vec![]));
}

fn faults(folder: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    verify(folder, &Options::default(), &mut |item| {
        if let Item::Fault(fault) = item {
            faults.push(fault.message.clone());
        }
        Ok(None)
    })
    .unwrap();
    faults
}

/// Changes a byte of a file, counted from its end.
fn change(file: &Path, from_end: usize, by: u8) -> Vec<u8> {
    let before = fs::read(file).unwrap();
    let mut bytes = before.clone();
    let at = bytes.len() - from_end;
    bytes[at] ^= by;
    fs::write(file, bytes).unwrap();
    before
}

#[test]
fn each_way_in_which_files_disagree_is_found() {
    let folder = unpack("4.4", "disagree");
    let txn = folder.join("txn-0");
    let base = "00000000000000000000";
    for (file, from_end, by, expected) in [
        (format!("{base}.index"), 1, 1, "no batch begins there"),
        (format!("{base}.index"), 6, 0x40, "not found from there"),
        (format!("{base}.timeindex"), 5, 1, "the log has"),
        (format!("{base}.timeindex"), 1, 0x40, "timestamp"),
        (format!("{base}.txnindex"), 25, 1, "it is producer"),
        (format!("{base}.txnindex"), 9, 4, "did not abort"),
        ("leader-epoch-checkpoint".to_owned(), 2, 1, "leader epoch"),
        (format!("{base}.log"), 1, 1, "checksum is"),
        ("00000000000000000068.snapshot".to_owned(), 1, 1, "the checksum does not match"),
    ] {
        let path = txn.join(&file);
        let before = change(&path, from_end, by);
        let found = faults(&txn);
        fs::write(&path, before).unwrap();
        assert!(found.iter().any(|fault| fault.contains(expected)), "{file}, {expected}: {found:?}");
    }
    let txnindex = txn.join(format!("{base}.txnindex"));
    let before = fs::read(&txnindex).unwrap();
    fs::remove_file(&txnindex).unwrap();
    assert!(faults(&txn).iter().all(|fault| fault.contains("and no .txnindex has it")));
    fs::write(&txnindex, before).unwrap();
    assert_eq!(faults(&txn), [""; 0]);
    fs::rename(txn.join(format!("{base}.log")), txn.join("00000000000000000005.log")).unwrap();
    assert!(faults(&txn).iter().any(|fault| fault.contains("the log that it belongs to is missing")));
}
