use std::fs;
use std::ops::Range;

use crate::fault::Fault;
use crate::folder::File;
use crate::index::{IndexEntry, IndexKind, IndexPart, IndexReader, OffsetEntry, TimeEntry};
use crate::item::Verified;
use crate::log::{Content, LogReader};
use crate::walk::{Step, Walk};

/// The entries of an index, one at a time; what is wrong with the file itself is told on the way.
pub(super) struct Entries {
    reader: IndexReader<fs::File>,
    next: Option<(Range<u64>, IndexEntry)>,
    pub(super) read: u64,
}

impl Entries {
    pub(super) fn open(walk: &mut Walk, file: &File, kind: IndexKind) -> Step<Self> {
        let reader = IndexReader::new(fs::File::open(&file.path)?, kind, file.name.offset);
        let mut entries = Self { reader, next: None, read: 0 };
        entries.advance(walk)?;
        Ok(entries)
    }

    pub(super) fn peek(&self) -> Option<&(Range<u64>, IndexEntry)> {
        self.next.as_ref()
    }

    pub(super) fn advance(&mut self, walk: &mut Walk) -> Step {
        self.next = None;
        for part in self.reader.by_ref() {
            let (range, part) = part?;
            match part {
                IndexPart::Entry(entry) => {
                    self.read += 1;
                    self.next = Some((range, entry));
                    break;
                }
                IndexPart::Zeros => {}
                IndexPart::Damaged(fault) => walk.fault(&fault)?,
            }
        }
        Ok(())
    }

    fn offset(&self) -> Option<(Range<u64>, OffsetEntry)> {
        match self.peek() {
            Some((range, IndexEntry::Offset(entry))) => Some((range.clone(), *entry)),
            _ => None,
        }
    }

    fn time(&self) -> Option<(Range<u64>, TimeEntry)> {
        match self.peek() {
            Some((range, IndexEntry::Time(entry))) => Some((range.clone(), *entry)),
            _ => None,
        }
    }
}

/// An index without the log that it is of.
pub(super) fn alone(walk: &mut Walk, file: &File) -> Step<Verified> {
    walk.fault(&Fault::mismatch(0..file.size, "the log that it belongs to is not there"))?;
    Ok(Verified::default())
}

/// Each entry of a `.index` has to point at a batch from which the offset is found, and no entry in front of the one before.
///
/// Before Kafka 4.0 an entry may name the last offset of several batches that were appended at once, and the position of
/// the first of them; of messages of magic 0 and 1 these are many. A reader finds the offset all the same.
pub(super) fn offsets(walk: &mut Walk, file: &File, log: Option<&File>) -> Step<Verified> {
    let Some(log) = log else { return alone(walk, file) };
    let mut entries = Entries::open(walk, file, IndexKind::Offset)?;
    // An entry whose offset has not been met yet.
    let mut open = None::<(Range<u64>, OffsetEntry)>;
    let (mut before, mut behind) = (None::<OffsetEntry>, file.name.offset);
    for part in LogReader::with_options(fs::File::open(&log.path)?, walk.options.log) {
        let part = part?;
        let Content::Batch { batch, .. } = part.content else { continue };
        while let Some((range, entry)) = entries.offset() {
            let position = u64::from(entry.position);
            if position > part.range.start {
                break;
            }
            let of_wrapper = batch.count().is_none();
            let first = if of_wrapper { behind } else { batch.base_offset() };
            let what = format!("offset {} at position {position}", entry.offset);
            if before.is_some_and(|before| before.offset >= entry.offset || before.position > entry.position) {
                walk.fault(&Fault::mismatch(range, format!("{what} stands behind a later one")))?;
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
            entries.advance(walk)?;
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
        let message = format!("offset {} at position {}, behind the end of the log", entry.offset, entry.position);
        walk.fault(&Fault::mismatch(range, message))?;
        entries.advance(walk)?;
    }
    Ok(Verified { entries: entries.read, ..Verified::default() })
}

fn missing(range: Range<u64>, entry: OffsetEntry) -> Fault {
    let message = format!("offset {} at position {}: it is not to be found from there", entry.offset, entry.position);
    Fault::mismatch(range, message)
}

/// Each entry of a `.timeindex` has to be the greatest timestamp up to the batch with its offset, and no entry below the
/// one before. Messages of magic 0 had a timestamp while they were appended, and kept it in the index alone.
pub(super) fn times(walk: &mut Walk, file: &File, log: Option<&File>) -> Step<Verified> {
    let Some(log) = log else { return alone(walk, file) };
    let mut entries = Entries::open(walk, file, IndexKind::Time)?;
    let (mut before, mut greatest) = (None::<TimeEntry>, -1);
    for part in LogReader::with_options(fs::File::open(&log.path)?, walk.options.log) {
        let Content::Batch { batch, .. } = part?.content else { continue };
        greatest = batch.max_timestamp().max(greatest);
        while let Some((range, entry)) = entries.time().filter(|(_, entry)| entry.offset <= batch.last_offset()) {
            let TimeEntry { timestamp, offset } = entry;
            if before.is_some_and(|before| before.timestamp > timestamp || before.offset > offset) {
                let message = format!("timestamp {timestamp} at offset {offset} stands behind a later one");
                walk.fault(&Fault::mismatch(range, message))?;
            } else if timestamp != greatest && batch.magic() > 0 {
                let message = format!("timestamp {timestamp} at offset {offset}, the log has {greatest} up to there");
                walk.fault(&Fault::mismatch(range, message))?;
            }
            before = Some(entry);
            entries.advance(walk)?;
        }
    }
    while let Some((range, entry)) = entries.time() {
        let message = format!("timestamp {} at offset {}, behind the end of the log", entry.timestamp, entry.offset);
        walk.fault(&Fault::mismatch(range, message))?;
        entries.advance(walk)?;
    }
    Ok(Verified { entries: entries.read, ..Verified::default() })
}
