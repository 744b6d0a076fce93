//! Holds the files of a partition against each other.

mod index;
mod log;
mod transaction;

use std::ops::Range;

use super::fault::Fault;
use super::item::{File, Item};
use super::name::{FileKind, FileName};
use super::read::{Step, Walk};
use super::snapshot::read_producers;
use super::text::{EpochEntry, read_epochs, read_offsets, read_properties, read_quorum_state};

/// What was found in a file that was held against the others of its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Batches of a log, entries of an index, producers of a snapshot, lines of a text.
    pub entries: u64,
    /// Records of a log.
    pub records: u64,
    /// The offsets that a log has, from the first record up to what follows the last.
    pub offsets: Option<Range<i64>>,
    /// Things that are not as they should be.
    pub faults: u64,
}

/// All files of one folder.
pub(super) fn folder(walk: &mut Walk, files: &[File]) -> Step {
    let mut logs = log::Logs { epochs: epochs(walk, files)?, next_offset: None };
    for (index, file) in files.iter().enumerate() {
        walk.summary.files += 1;
        walk.summary.bytes += file.size;
        walk.give(&Item::File(file))?;
        let before = walk.summary.faults;
        let read = file_of(walk, &mut logs, files, index);
        let mut verified = read.map_err(|stop| stop.in_file(&file.path))?;
        verified.faults = walk.summary.faults - before;
        walk.give(&Item::Verified(&verified))?;
    }
    Ok(())
}

/// One of them.
fn file_of(walk: &mut Walk, logs: &mut log::Logs, files: &[File], index: usize) -> Step<Verified> {
    let file = &files[index];
    let of_segment = |kind| files.iter().find(|other| other.name == (FileName { kind, ..file.name }));
    match file.name.kind {
        FileKind::Log => {
            let next = files[index + 1..].iter().find(|next| next.name.kind == FileKind::Log);
            let verified = logs.segment(walk, file, next.map(|next| next.name.offset))?;
            if of_segment(FileKind::TxnIndex).is_none() {
                transaction::verify(walk, file, None)?;
            }
            Ok(verified)
        }
        FileKind::KraftSnapshot => log::snapshot(walk, file),
        FileKind::OffsetIndex => index::offsets(walk, file, of_segment(FileKind::Log)),
        FileKind::TimeIndex => index::times(walk, file, of_segment(FileKind::Log)),
        FileKind::TxnIndex => match of_segment(FileKind::Log) {
            Some(log) => transaction::verify(walk, log, Some(file)),
            None => alone(walk, file),
        },
        FileKind::ProducerSnapshot => producers(walk, file),
        _ => text(walk, file),
    }
}

/// An index without the log that it is of.
fn alone(walk: &mut Walk, file: &File) -> Step<Verified> {
    walk.fault(&Fault::mismatch(0..file.size, "the log that it belongs to is not there"))?;
    Ok(Verified::default())
}

/// The checkpoint of leader epochs, if the folder has one. Its faults are told with the file.
fn epochs(walk: &mut Walk, files: &[File]) -> Step<Option<Vec<EpochEntry>>> {
    let Some(file) = files.iter().find(|file| file.name.kind == FileKind::LeaderEpochs) else { return Ok(None) };
    Ok(walk.whole(file)?.map(|bytes| read_epochs(&bytes).0))
}

fn producers(walk: &mut Walk, file: &File) -> Step<Verified> {
    let Some(bytes) = walk.whole(file)? else { return Ok(Verified::default()) };
    let producers = match read_producers(&bytes) {
        Ok(producers) => producers,
        Err(fault) => {
            walk.fault(&fault)?;
            return Ok(Verified::default());
        }
    };
    if !producers.crc_valid {
        walk.fault(&Fault::new("bad_crc", 0..file.size, "the checksum does not match the bytes"))?;
    }
    for entry in &producers.entries {
        if entry.last_offset >= file.name.offset {
            let (id, last, end) = (entry.producer_id, entry.last_offset, file.name.offset);
            let message = format!("producer {id} wrote offset {last}, and the snapshot ends before {end}");
            walk.fault(&Fault::mismatch(0..file.size, message))?;
        }
    }
    Ok(Verified { entries: producers.entries.len() as u64, ..Verified::default() })
}

fn text(walk: &mut Walk, file: &File) -> Step<Verified> {
    let Some(bytes) = walk.whole(file)? else { return Ok(Verified::default()) };
    let (entries, faults) = match file.name.kind {
        FileKind::LeaderEpochs => {
            let (epochs, mut faults) = read_epochs(&bytes);
            for pair in epochs.windows(2) {
                if pair[0].epoch >= pair[1].epoch || pair[0].start_offset > pair[1].start_offset {
                    let message = format!(
                        "epoch {} at offset {} stands behind epoch {} at offset {}",
                        pair[1].epoch, pair[1].start_offset, pair[0].epoch, pair[0].start_offset
                    );
                    faults.push(Fault::mismatch(0..file.size, message));
                }
            }
            (epochs.len(), faults)
        }
        FileKind::Offsets => {
            let (offsets, faults) = read_offsets(&bytes);
            (offsets.len(), faults)
        }
        FileKind::QuorumState => match read_quorum_state(&bytes) {
            Ok(_) => (1, Vec::new()),
            Err(fault) => (0, vec![*fault]),
        },
        _ => {
            let (properties, faults) = read_properties(&bytes);
            (properties.len(), faults)
        }
    };
    faults.iter().try_for_each(|fault| walk.fault(fault))?;
    Ok(Verified { entries: entries as u64, ..Verified::default() })
}
