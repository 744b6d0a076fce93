//! What is written is byte for byte what real brokers have written.

use std::fs;

use bytes::Bytes;
use milena_storage::{
    FileKind, FileState, IndexEntry, IndexKind, IndexPart, IndexReader, OffsetEntry, TimeEntry, list, read_epochs,
    read_offsets, read_producers, read_properties, write_epochs, write_offsets, write_partition_metadata,
    write_producers,
};

use crate::folder::{RELEASES, unpack};

/// An index that is read and written again, and how many entries it has.
fn index(bytes: &[u8], kind: IndexKind, base_offset: i64) -> (Vec<u8>, usize) {
    let (mut out, mut entries) = (Vec::new(), 0);
    for part in IndexReader::new(bytes, kind, base_offset) {
        match part.unwrap() {
            (_, IndexPart::Entry(entry)) => {
                entry.push(base_offset, &mut out).unwrap();
                entries += 1;
            }
            (range, IndexPart::Zeros) => out.resize(range.end as usize, 0),
            (_, IndexPart::Damaged(fault)) => panic!("{fault}"),
        }
    }
    (out, entries)
}

#[test]
fn files_of_brokers_are_written_as_they_were() {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for release in RELEASES {
        for folder in list(&unpack(release, "write")).unwrap() {
            for file in folder.files.iter().filter(|file| file.name.state == FileState::Live) {
                let bytes = fs::read(&file.path).unwrap();
                let offset = file.name.offset;
                let (again, entries) = match file.name.kind {
                    FileKind::OffsetIndex => index(&bytes, IndexKind::Offset, offset),
                    FileKind::TimeIndex => index(&bytes, IndexKind::Time, offset),
                    FileKind::TxnIndex => index(&bytes, IndexKind::Txn, offset),
                    FileKind::ProducerSnapshot => {
                        let producers = read_producers(&Bytes::from(bytes.clone())).unwrap();
                        (write_producers(&producers.entries, producers.version).unwrap(), producers.entries.len())
                    }
                    FileKind::LeaderEpochs => {
                        let (epochs, faults) = read_epochs(&bytes);
                        assert_eq!(faults, []);
                        (write_epochs(&epochs).into_bytes(), epochs.len())
                    }
                    FileKind::Offsets => {
                        let (offsets, faults) = read_offsets(&bytes);
                        assert_eq!(faults, []);
                        (write_offsets(&offsets).into_bytes(), offsets.len())
                    }
                    FileKind::Partition => {
                        let (properties, _) = read_properties(&bytes);
                        let id = properties.iter().find(|(name, _)| name == "topic_id").unwrap().1.parse().unwrap();
                        (write_partition_metadata(id).into_bytes(), 1)
                    }
                    _ => continue,
                };
                // A checkpoint that a broker has just made is empty.
                if !bytes.is_empty() {
                    assert_eq!(again, bytes, "{}", file.path.display());
                }
                *counts.entry(file.name.kind.name()).or_default() += entries;
            }
        }
    }
    for (kind, least) in [
        ("index", 30),
        ("timeIndex", 30),
        ("txnIndex", 5),
        ("producerSnapshot", 20),
        ("leaderEpochs", 10),
        ("offsets", 20),
        ("partition", 5),
    ] {
        assert!(counts.get(kind).is_some_and(|count| *count >= least), "{kind}: {counts:?}");
    }
}

#[test]
fn an_offset_of_another_segment_is_refused() {
    let mut out = Vec::new();
    for offset in [99, -1, 100 + (1 << 31), i64::MIN] {
        assert!(IndexEntry::Offset(OffsetEntry { offset, position: 0 }).push(100, &mut out).is_err(), "{offset}");
        assert!(IndexEntry::Time(TimeEntry { timestamp: 0, offset }).push(100, &mut out).is_err(), "{offset}");
    }
    assert!(IndexEntry::Offset(OffsetEntry { offset: 100, position: 1 << 31 }).push(100, &mut out).is_err());
    assert_eq!(out, [0; 0]);
}
