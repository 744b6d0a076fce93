//! Checks the files of a partition against each other.

mod checkpoints;
mod entries;
mod index;
mod log;
mod pending;
mod transaction;

use std::io;
use std::path::Path;

use crate::checkpoint::{read_epochs, read_offsets};
use crate::fault::Fault;
use crate::folder::{File, Folder, list};
use crate::item::{Item, Skipped, Verified};
use crate::name::{FileKind, FileName, FileState};
use crate::property::read_properties;
use crate::snapshot::read_producers;
use crate::walk::{Options, Step, Stop, Summary, Visit, Walk};
use log::Logs;

/// Checks the files of each partition against each other, and gives an [`Item::Verified`] for each file, after its faults.
/// Of [`Options`] only `strict` and `log` matter.
///
/// A path of a log stands for its segment: the log and the indexes beside it. Files and folders that the broker will delete
/// are [`Item::Skipped`], unless the path is theirs. What a broker does is no fault: DeleteRecords moves the first leader
/// epoch up, and compaction leaves gaps between offsets. What is compacted shows in the checkpoints of the log folder, or
/// else in the batches.
///
/// # Errors
/// A path that does not exist or cannot be read; a folder without files of a log; an error of `visit`.
pub fn verify(path: &Path, options: &Options, visit: &mut Visit) -> io::Result<Summary> {
    let folders = list(path)?;
    let mut walk = Walk::new(options, visit);
    let ended = match folders.as_slice() {
        [alone] if path.is_file() => named(&mut walk, alone),
        folders => folders.iter().try_for_each(|found| {
            let is_skipped = found.is_deleted() && found.path != path;
            folder(&mut walk, found, if is_skipped { Scope::Deleted } else { Scope::Partition })
        }),
    };
    walk.finish(ended)
}

/// What to check of a folder.
#[derive(Clone, Copy)]
enum Scope<'a> {
    /// All of it.
    Partition,
    /// Nothing: the broker will delete it.
    Deleted,
    /// This file, and the indexes of the same segment if it is a log.
    Named(&'a File),
}

impl Scope<'_> {
    fn holds(self, file: &File) -> bool {
        let Self::Named(named) = self else { return true };
        let is_index = matches!(file.name.kind, FileKind::OffsetIndex | FileKind::TimeIndex | FileKind::TxnIndex);
        let is_beside = (file.name.offset, file.name.state) == (named.name.offset, named.name.state);
        file.path.file_name() == named.path.file_name() || named.name.kind == FileKind::Log && is_index && is_beside
    }

    fn skips(self, file: &File) -> Option<Skipped> {
        match (self, file.name.state) {
            (Self::Named(_), _) => None,
            (Self::Deleted, _) | (_, FileState::Deleted) => Some(Skipped::Deleted),
            (_, FileState::Cleaned) => Some(Skipped::Cleaned),
            (_, FileState::Live | FileState::Swap | FileState::Renamed) => None,
        }
    }
}

/// One file, beside the others of its folder.
fn named(walk: &mut Walk, alone: &Folder) -> Step {
    let Some(file) = alone.files.first() else { return Ok(()) };
    let parent = file.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = Folder::read(parent)?;
    // A file whose name says nothing belongs to no folder.
    let is_there = beside.files.iter().any(|other| other.path.file_name() == file.path.file_name());
    folder(walk, if is_there { &beside } else { alone }, Scope::Named(file))
}

fn folder(walk: &mut Walk, folder: &Folder, scope: Scope) -> Step {
    let mut logs = Logs::new(folder);
    for file in folder.files.iter().filter(|file| scope.holds(file)) {
        walk.begin(file)?;
        if let Some(why) = scope.skips(file) {
            walk.give(&Item::Skipped(why))?;
            continue;
        }
        let before = walk.summary.faults;
        let mut verified = match file_of(walk, &mut logs, folder, file) {
            Ok(verified) => verified,
            // A broker may still be at work in the folder.
            Err(Stop::Read(error)) if error.kind() == io::ErrorKind::NotFound && !file.path.exists() => {
                walk.give(&Item::Skipped(Skipped::Gone))?;
                continue;
            }
            Err(stop) => return Err(stop.in_file(&file.path)),
        };
        verified.faults = walk.summary.faults - before;
        walk.give(&Item::Verified(&verified))?;
    }
    Ok(())
}

fn file_of(walk: &mut Walk, logs: &mut Logs, folder: &Folder, file: &File) -> Step<Verified> {
    let of_segment = |kind| folder.files.iter().find(|other| other.name == FileName { kind, ..file.name });
    match file.name.kind {
        FileKind::Log => logs.segment(walk, file, of_segment(FileKind::TxnIndex)),
        FileKind::KraftSnapshot => log::snapshot(walk, file),
        FileKind::OffsetIndex => index::offsets(walk, file, of_segment(FileKind::Log)),
        FileKind::TimeIndex => index::times(walk, file, of_segment(FileKind::Log)),
        FileKind::TxnIndex => match of_segment(FileKind::Log) {
            Some(log) => logs.aborted(walk, file, log),
            None => index::alone(walk, file),
        },
        FileKind::ProducerSnapshot => producers(walk, file),
        _ => text(walk, file),
    }
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
                        "epoch {} at offset {} comes after epoch {} at offset {}",
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
