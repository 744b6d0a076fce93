//! Checks the files of a partition against each other.

mod index;
mod log;
mod transaction;

use std::io;
use std::path::Path;

use crate::checkpoint::{EpochEntry, read_epochs, read_offsets};
use crate::fault::Fault;
use crate::folder::{File, list};
use crate::item::{Item, Verified};
use crate::name::{FileKind, FileName};
use crate::property::read_properties;
use crate::snapshot::read_producers;
use crate::walk::{Options, Step, Summary, Visit, Walk};

/// Checks the files of each partition against each other, and gives an [`Item::Verified`] for each file, after its faults.
/// Of [`Options`] only `strict` and `log` matter.
///
/// # Errors
/// A path that does not exist or cannot be read; a folder without files of a log; an error of `visit`.
pub fn verify(path: &Path, options: &Options, visit: &mut Visit) -> io::Result<Summary> {
    let folders = list(path)?;
    let mut walk = Walk::new(options, visit);
    let ended = folders.iter().try_for_each(|found| folder(&mut walk, &found.files));
    walk.finish(ended)
}

/// All files of one folder.
fn folder(walk: &mut Walk, files: &[File]) -> Step {
    let mut logs = log::Logs { epochs: epochs(walk, files)?, next_offset: None };
    for (index, file) in files.iter().enumerate() {
        walk.begin(file)?;
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
            None => index::alone(walk, file),
        },
        FileKind::ProducerSnapshot => producers(walk, file),
        _ => text(walk, file),
    }
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
        FileKind::QuorumState => {
            walk.give(&Item::QuorumState(&bytes))?;
            (1, Vec::new())
        }
        _ => {
            let (properties, faults) = read_properties(&bytes);
            (properties.len(), faults)
        }
    };
    faults.iter().try_for_each(|fault| walk.fault(fault))?;
    Ok(Verified { entries: entries as u64, ..Verified::default() })
}
