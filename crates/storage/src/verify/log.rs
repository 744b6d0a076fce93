use std::fs;
use std::ops::Range;

use milena_records::{Batch, Control};

use super::checkpoints::{Checkpoints, live_logs};
use super::entries::Entries;
use super::transaction::{Transactions, skip};
use crate::fault::Fault;
use crate::folder::{File, Folder};
use crate::index::IndexKind;
use crate::item::Verified;
use crate::log::{LogContent, LogOptions, LogReader};
use crate::name::{FileKind, FileName, FileState};
use crate::walk::{Step, Walk};

/// The segments of a partition, one after the other.
pub(super) struct Logs<'a> {
    folder: &'a Folder,
    pub(super) checkpoints: Checkpoints,
    transactions: Transactions,
    /// What follows the last record, if that is known.
    next_offset: Option<i64>,
    /// Whether offsets are missing above those that compaction has seen: a follower may copy a compacted log.
    has_holes: bool,
    /// Whether the batches themselves show compaction, once somebody has looked.
    looks_compacted: Option<bool>,
    /// The index of aborted transactions of the last segment, whose faults are reported with its file.
    aborted: Option<(FileName, Entries)>,
}

/// What stands beside the segment that is read.
struct Beside {
    /// Where the next segment begins.
    next: Option<i64>,
    /// Whether a segment that compaction has written replaces this one and some after it.
    is_swapped: bool,
    /// The index of aborted transactions.
    entries: Option<Entries>,
}

impl<'a> Logs<'a> {
    pub(super) fn new(folder: &'a Folder) -> Self {
        Self {
            folder,
            checkpoints: Checkpoints::read(folder),
            transactions: Transactions::default(),
            next_offset: None,
            has_holes: false,
            looks_compacted: None,
            aborted: None,
        }
    }

    /// A segment, and its `.txnindex` if there is one. Live segments are read in order; any other stands alone.
    pub(super) fn segment(&mut self, walk: &mut Walk, file: &File, index: Option<&File>) -> Step<Verified> {
        let entries = index.map(|index| Entries::open(index, IndexKind::Txn)).transpose()?;
        let base = file.name.offset;
        if file.name.state != FileState::Live {
            // Only compaction writes segments beside the live ones, and what is deleted may be what it has replaced.
            let mut alone = Logs::new(self.folder);
            alone.checkpoints.is_compacted = true;
            let mut beside = Beside { next: None, is_swapped: false, entries };
            let verified = alone.one(walk, file, &mut beside)?;
            self.aborted = index.map(|index| index.name).zip(beside.entries);
            return Ok(verified);
        }
        let next = live_logs(self.folder).map(|next| next.name.offset).filter(|next| *next > base).min();
        let is_swapped = self.folder.files.iter().any(|other| {
            let FileName { kind, offset, state } = other.name;
            let is_between = offset >= base && next.is_none_or(|next| offset < next);
            kind == FileKind::Log && state == FileState::Swap && is_between
        });
        let mut beside = Beside { next, is_swapped, entries };
        let verified = self.one(walk, file, &mut beside)?;
        self.aborted = index.map(|index| index.name).zip(beside.entries);
        Ok(verified)
    }

    /// The `.txnindex` of the segment that was read last, or of another one.
    pub(super) fn aborted(&mut self, walk: &mut Walk, file: &File, log: &File) -> Step<Verified> {
        let mut entries = match self.aborted.take().filter(|(name, _)| *name == file.name) {
            Some((_, entries)) => entries,
            None => {
                let mut entries = Entries::open(file, IndexKind::Txn)?;
                for entry in LogReader::with_options(fs::File::open(&log.path)?, walk.options.log) {
                    match entry?.content {
                        LogContent::Batch { batch, crc_valid: true } => {
                            let is_compacted = self.checkpoints.is_compacted;
                            self.transactions.batch(&batch, Some(&mut entries), is_compacted)?;
                        }
                        LogContent::Zeros => {}
                        _ => self.transactions.forget(),
                    }
                }
                skip(&mut entries, i64::MAX)?;
                entries
            }
        };
        entries.faults.give(walk)?;
        Ok(Verified { entries: entries.read, ..Verified::default() })
    }

    fn one(&mut self, walk: &mut Walk, file: &File, end: &mut Beside) -> Step<Verified> {
        let base = file.name.offset;
        if let Some(before) = self.next_offset.filter(|before| *before > base) {
            let message = format!("the segment before goes up to offset {}, this one begins at {base}", before - 1);
            walk.fault(&Fault::mismatch(0..0, message))?;
        }
        // Somebody may have renamed the first file, so that its name does not tell where it begins.
        self.next_offset = self.next_offset.map(|before| before.max(base));
        let (mut verified, faults) = (Verified::default(), walk.summary.faults);
        all(walk, file, &mut verified, &mut |walk, part| self.part(walk, part, end))?;
        if verified.offsets.is_none() && walk.summary.faults == faults {
            self.next_offset.get_or_insert(base);
        }
        if let (Some(next), Some(from)) = (end.next, self.next_offset) {
            if from < next && !end.is_swapped && !self.is_explained(walk.options.log, from..next)? {
                let message = format!("offsets {from} to {} are missing before the next segment", next - 1);
                let fault = Fault { lost: Some(from..next), ..Fault::new("missing", file.size..file.size, message) };
                walk.fault(&fault)?;
                self.next_offset = None;
            }
        }
        if let Some(entries) = &mut end.entries {
            skip(entries, i64::MAX)?;
        }
        Ok(verified)
    }

    fn part(&mut self, walk: &mut Walk, part: Part, end: &mut Beside) -> Step {
        let Part::Batch { batch, range, offsets } = part else {
            self.next_offset = None;
            self.transactions.forget();
            return Ok(());
        };
        let next = self.next_offset.unwrap_or(offsets.start);
        if offsets.start < next {
            let message = format!("offset {} comes after {}", offsets.start, next - 1);
            walk.fault(&Fault::mismatch(range.clone(), message))?;
        }
        self.has_holes |= offsets.start > next && self.checkpoints.cleaned_to.is_some_and(|to| offsets.start > to);
        if let Some(limit) = end.next.filter(|limit| offsets.end > *limit) {
            let message = format!("offset {} comes before a segment that begins at {limit}", offsets.end - 1);
            walk.fault(&Fault::mismatch(range.clone(), message))?;
        }
        self.next_offset = Some(next.max(offsets.end));
        if let Some(message) = self.checkpoints.wrong_epoch(batch.partition_leader_epoch(), offsets.start) {
            walk.fault(&Fault::mismatch(range.clone(), message))?;
        }
        let is_compacted = self.checkpoints.is_compacted || self.looks_compacted == Some(true);
        match self.transactions.batch(batch, end.entries.as_mut(), is_compacted)? {
            Some(fault) => walk.fault(&fault),
            None => Ok(()),
        }
    }

    /// Whether compaction explains that offsets are missing at the end of a segment. Without it a segment begins where the
    /// one before ends.
    fn is_explained(&mut self, options: LogOptions, missing: Range<i64>) -> Step<bool> {
        match self.checkpoints.cleaned_to {
            // Compaction has not come so far, and everything else up there is complete.
            Some(to) if missing.end > to && !self.has_holes => Ok(false),
            Some(_) => Ok(true),
            None if self.checkpoints.is_compacted => Ok(true),
            None => match self.looks_compacted {
                Some(answer) => Ok(answer),
                None => {
                    let mut answer = false;
                    for file in live_logs(self.folder) {
                        answer = answer || looks_compacted(file, options)?;
                    }
                    self.looks_compacted = Some(answer);
                    Ok(answer)
                }
            },
        }
    }
}

/// Whether records are missing inside of a segment.
fn looks_compacted(file: &File, options: LogOptions) -> Step<bool> {
    let mut next = None;
    for entry in LogReader::with_options(fs::File::open(&file.path)?, options) {
        let LogContent::Batch { batch, crc_valid: true } = entry?.content else {
            next = None;
            continue;
        };
        let Some(count) = batch.count() else {
            // A message set has the offset of its last message in front.
            next = Some(batch.next_offset());
            continue;
        };
        let has_hole = next.is_some_and(|next| batch.base_offset() > next);
        if has_hole || i64::from(count) <= i64::from(batch.last_offset_delta()) {
            return Ok(true);
        }
        next = Some(batch.next_offset());
    }
    Ok(false)
}

/// A KRaft snapshot has a log of its own between header and footer (KIP-630).
pub(super) fn snapshot(walk: &mut Walk, file: &File) -> Step<Verified> {
    let mut verified = Verified::default();
    let (mut first, mut last) = (None, None);
    all(walk, file, &mut verified, &mut |_, part| {
        let Part::Batch { batch, .. } = part else { return Ok(()) };
        let kind = batch.is_control().then(|| batch.records().next().and_then(Result::ok)).flatten();
        let kind = kind.and_then(|record| Control::parse(&record).ok()).map(|control| control.name());
        first.get_or_insert(kind);
        last = kind;
        Ok(())
    })?;
    for (found, name, place) in [(first.flatten(), "SNAPSHOT_HEADER", "begins"), (last, "SNAPSHOT_FOOTER", "ends")] {
        // The bootstrap file of Kafka 3.3 and later is none that ends.
        if found != Some(name) {
            walk.fault(&Fault::mismatch(0..file.size, format!("no {name} where the snapshot {place}")))?;
        }
    }
    Ok(verified)
}

/// What was read of a log.
enum Part<'a> {
    /// A batch that is right, and its offsets.
    Batch { batch: &'a Batch, range: &'a Range<u64>, offsets: &'a Range<i64> },
    /// Something that was reported.
    Damaged,
}

type Check<'a> = dyn FnMut(&mut Walk, Part) -> Step + 'a;

/// Every batch and record of a log as a consumer reads them, and `check` for each batch.
fn all(walk: &mut Walk, file: &File, verified: &mut Verified, check: &mut Check) -> Step {
    for entry in LogReader::with_options(fs::File::open(&file.path)?, walk.options.log) {
        let entry = entry?;
        let (batch, crc_valid) = match entry.content {
            LogContent::Batch { batch, crc_valid } => (batch, crc_valid),
            LogContent::Damaged(fault) => {
                walk.fault(&fault)?;
                check(walk, Part::Damaged)?;
                continue;
            }
            LogContent::CutOff { .. } => {
                walk.fault(&Fault::new("cut_off", entry.range, "a batch that is cut off at the end"))?;
                check(walk, Part::Damaged)?;
                continue;
            }
            LogContent::Zeros => continue,
        };
        verified.entries += 1;
        walk.summary.batches += 1;
        if let (false, Err(error)) = (crc_valid, batch.check_crc()) {
            walk.fault(&Fault::of_batch(&error, entry.range))?;
            check(walk, Part::Damaged)?;
            continue;
        }
        let read = records(walk, &batch, &entry.range, verified)?;
        // What compaction has removed still counts for the offsets of a batch.
        let start = match (batch.count(), &read) {
            (None, Some(read)) => read.start,
            _ => batch.base_offset(),
        };
        let offsets = start..batch.last_offset().saturating_add(1);
        let first = verified.offsets.as_ref().map_or(offsets.start, |known| known.start);
        verified.offsets = Some(first..offsets.end);
        check(walk, Part::Batch { batch: &batch, range: &entry.range, offsets: &offsets })?;
    }
    Ok(())
}

/// The offsets of the records of a batch. What is wrong with them is reported once for the batch.
fn records(walk: &mut Walk, batch: &Batch, range: &Range<u64>, verified: &mut Verified) -> Step<Option<Range<i64>>> {
    let (mut offsets, mut damage) = (None::<Range<i64>>, None);
    for record in batch.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                damage.get_or_insert(Fault::of_batch(&error, range.clone()));
                break;
            }
        };
        verified.records += 1;
        walk.summary.records += 1;
        let is_next = offsets.as_ref().is_none_or(|offsets| record.offset >= offsets.end);
        if !is_next
            || record.offset > batch.last_offset()
            || batch.count().is_some() && record.offset < batch.base_offset()
        {
            let message = format!("offset {} does not belong there", record.offset);
            damage.get_or_insert(Fault::mismatch(range.clone(), message));
        }
        let start = offsets.map_or(record.offset, |offsets| offsets.start);
        offsets = Some(start..record.offset.saturating_add(1));
    }
    if let Some(fault) = damage {
        walk.fault(&fault)?;
    }
    Ok(offsets)
}
