use std::fs;
use std::ops::Range;

use super::entries::Entries;
use crate::fault::Fault;
use crate::folder::File;
use crate::index::{IndexKind, OffsetEntry, TimeEntry};
use crate::item::Verified;
use crate::log::{LogContent, LogReader};
use crate::walk::{Step, Walk};

/// An index without its log.
pub(super) fn alone(walk: &mut Walk, file: &File) -> Step<Verified> {
    walk.fault(&Fault::mismatch(0..file.size, "the log that it belongs to is missing"))?;
    Ok(Verified::default())
}

/// Each entry of a `.index` has to point at a batch from which the offset is found, and entries have to be in order.
///
/// Before Kafka 4.0 an entry may name the last offset of several batches that were appended at once, and the position of
/// the first of them; of messages of magic 0 and 1 these are many. A reader finds the offset all the same.
pub(super) fn offsets(walk: &mut Walk, file: &File, log: Option<&File>) -> Step<Verified> {
    let Some(log) = log else { return alone(walk, file) };
    let mut entries = Entries::open(file, IndexKind::Offset)?;
    // An entry whose offset has not been met yet.
    let mut open = None::<(Range<u64>, OffsetEntry)>;
    let (mut before, mut behind) = (None::<OffsetEntry>, file.name.offset);
    for part in LogReader::with_options(fs::File::open(&log.path)?, walk.options.log) {
        let part = part?;
        let LogContent::Batch { batch, .. } = part.content else { continue };
        while let Some((range, entry)) = entries.offset() {
            let position = u64::from(entry.position);
            if position > part.range.start {
                break;
            }
            let of_wrapper = batch.count().is_none();
            let first = if of_wrapper { behind } else { batch.base_offset() };
            let what = format!("offset {} at position {position}", entry.offset);
            if before.is_some_and(|before| before.offset >= entry.offset || before.position > entry.position) {
                walk.fault(&Fault::mismatch(range, format!("{what} comes after a later one")))?;
            } else if position < part.range.start {
                walk.fault(&Fault::mismatch(range, format!("{what}: no batch begins there")))?;
            } else if entry.offset < first {
                walk.fault(&Fault::mismatch(range, format!("{what}: the batch there begins at offset {first}")))?;
            } else {
                if let Some((range, entry)) = open.take() {
                    walk.fault(&missing(range, entry))?;
                }
                open = Some((range, entry));
            }
            before = Some(entry);
            entries.advance()?;
        }
        if open.as_ref().is_some_and(|(_, entry)| entry.offset <= batch.last_offset()) {
            open = None;
        }
        behind = behind.max(batch.next_offset());
    }
    if let Some((range, entry)) = open.take() {
        walk.fault(&missing(range, entry))?;
    }
    while let Some((range, entry)) = entries.offset() {
        let message = format!("offset {} at position {}, after the end of the log", entry.offset, entry.position);
        walk.fault(&Fault::mismatch(range, message))?;
        entries.advance()?;
    }
    entries.faults.give(walk)?;
    Ok(Verified { entries: entries.read, ..Verified::default() })
}

fn missing(range: Range<u64>, entry: OffsetEntry) -> Fault {
    let message =
        format!("offset {} at position {}: that offset is not found from there", entry.offset, entry.position);
    Fault::mismatch(range, message)
}

/// Each entry of a `.timeindex` has to be the greatest timestamp up to the batch with its offset, and entries have to be in
/// order. Messages of magic 0 had a timestamp while they were appended, and kept it in the index alone.
pub(super) fn times(walk: &mut Walk, file: &File, log: Option<&File>) -> Step<Verified> {
    let Some(log) = log else { return alone(walk, file) };
    let mut entries = Entries::open(file, IndexKind::Time)?;
    let (mut before, mut greatest) = (None::<TimeEntry>, -1);
    for part in LogReader::with_options(fs::File::open(&log.path)?, walk.options.log) {
        let LogContent::Batch { batch, .. } = part?.content else { continue };
        greatest = batch.max_timestamp().max(greatest);
        while let Some((range, entry)) = entries.time().filter(|(_, entry)| entry.offset <= batch.last_offset()) {
            let TimeEntry { timestamp, offset } = entry;
            if before.is_some_and(|before| before.timestamp > timestamp || before.offset > offset) {
                let message = format!("timestamp {timestamp} at offset {offset} comes after a later one");
                walk.fault(&Fault::mismatch(range, message))?;
            } else if timestamp != greatest && batch.magic() > 0 {
                let message = format!("timestamp {timestamp} at offset {offset}, the log has {greatest} up to there");
                walk.fault(&Fault::mismatch(range, message))?;
            }
            before = Some(entry);
            entries.advance()?;
        }
    }
    while let Some((range, entry)) = entries.time() {
        let message = format!("timestamp {} at offset {}, after the end of the log", entry.timestamp, entry.offset);
        walk.fault(&Fault::mismatch(range, message))?;
        entries.advance()?;
    }
    entries.faults.give(walk)?;
    Ok(Verified { entries: entries.read, ..Verified::default() })
}
