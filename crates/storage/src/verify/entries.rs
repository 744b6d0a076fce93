use std::fs;
use std::io;
use std::ops::Range;

use milena_messages::AbortedTxn;

use super::pending::Pending;
use crate::folder::File;
use crate::index::{IndexEntry, IndexKind, IndexPart, IndexReader, OffsetEntry, TimeEntry};

/// The entries of an index, one at a time.
pub(super) struct Entries {
    reader: IndexReader<fs::File>,
    next: Option<(Range<u64>, IndexEntry)>,
    pub(super) read: u64,
    /// Faults of the file.
    pub(super) faults: Pending,
}

impl Entries {
    pub(super) fn open(file: &File, kind: IndexKind) -> io::Result<Self> {
        let reader = IndexReader::new(fs::File::open(&file.path)?, kind, file.name.offset);
        let mut entries = Self { reader, next: None, read: 0, faults: Pending::default() };
        entries.advance()?;
        Ok(entries)
    }

    pub(super) fn advance(&mut self) -> io::Result<()> {
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
                IndexPart::Damaged(fault) => self.faults.push(fault),
            }
        }
        Ok(())
    }

    pub(super) fn offset(&self) -> Option<(Range<u64>, OffsetEntry)> {
        match &self.next {
            Some((range, IndexEntry::Offset(entry))) => Some((range.clone(), *entry)),
            _ => None,
        }
    }

    pub(super) fn time(&self) -> Option<(Range<u64>, TimeEntry)> {
        match &self.next {
            Some((range, IndexEntry::Time(entry))) => Some((range.clone(), *entry)),
            _ => None,
        }
    }

    pub(super) fn aborted(&self) -> Option<(Range<u64>, &AbortedTxn)> {
        match &self.next {
            Some((range, IndexEntry::Aborted(entry))) => Some((range.clone(), entry)),
            _ => None,
        }
    }
}
