use std::fs;
use std::ops::Range;

use milena_records::{Batch, Control};

use crate::checkpoint::EpochEntry;
use crate::fault::Fault;
use crate::folder::File;
use crate::item::Verified;
use crate::log::{Content, LogReader};
use crate::walk::{Step, Walk};

/// The segments of a partition, one after the other.
pub(super) struct Logs {
    /// What the checkpoint says, if there is one.
    pub(super) epochs: Option<Vec<EpochEntry>>,
    /// Behind the segments before.
    pub(super) next_offset: Option<i64>,
}

impl Logs {
    /// One segment. `end` is where the next begins.
    pub(super) fn segment(&mut self, walk: &mut Walk, file: &File, end: Option<i64>) -> Step<Verified> {
        let base = file.name.offset;
        if let Some(before) = self.next_offset.filter(|before| *before > base) {
            let message = format!("the segment before goes up to offset {}, this one begins at {base}", before - 1);
            walk.fault(&Fault::mismatch(0..0, message))?;
        }
        let mut next = base;
        let mut verified = Verified::default();
        let mut check = |walk: &mut Walk, batch: &Batch, range: &Range<u64>, offsets: &Range<i64>| {
            if offsets.start < next {
                let message = format!("offset {} stands behind {}", offsets.start, next - 1);
                walk.fault(&Fault::mismatch(range.clone(), message))?;
            }
            if let Some(end) = end.filter(|end| offsets.end > *end) {
                let message = format!("offset {} stands in front of a segment that begins at {end}", offsets.end - 1);
                walk.fault(&Fault::mismatch(range.clone(), message))?;
            }
            next = next.max(offsets.end);
            self.epoch(walk, batch, range, offsets.start)
        };
        all(walk, file, &mut verified, &mut check)?;
        self.next_offset = Some(next);
        Ok(verified)
    }

    /// The epoch of a batch has to be that of the leader of its time.
    fn epoch(&self, walk: &mut Walk, batch: &Batch, range: &Range<u64>, offset: i64) -> Step {
        let (Some(epochs), epoch) = (&self.epochs, batch.partition_leader_epoch()) else { return Ok(()) };
        if epoch < 0 {
            return Ok(());
        }
        let told = epochs.iter().rev().find(|entry| entry.start_offset <= offset);
        let message = match told {
            Some(entry) if entry.epoch == epoch => return Ok(()),
            Some(entry) => format!("leader epoch {epoch}, the checkpoint says {} at offset {offset}", entry.epoch),
            None => format!("leader epoch {epoch}, the checkpoint knows none at offset {offset}"),
        };
        walk.fault(&Fault::mismatch(range.clone(), message))
    }
}

/// A KRaft snapshot has a log of its own between header and footer (KIP-630).
pub(super) fn snapshot(walk: &mut Walk, file: &File) -> Step<Verified> {
    let mut verified = Verified::default();
    let (mut first, mut last) = (None, None);
    all(walk, file, &mut verified, &mut |_, batch, _, _| {
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

type Check<'a> = dyn FnMut(&mut Walk, &Batch, &Range<u64>, &Range<i64>) -> Step + 'a;

/// Every batch and record of a log as a consumer reads them, and `check` for each batch with its offsets.
fn all(walk: &mut Walk, file: &File, verified: &mut Verified, check: &mut Check) -> Step {
    for entry in LogReader::with_options(fs::File::open(&file.path)?, walk.options.log) {
        let entry = entry?;
        let (batch, crc_valid) = match entry.content {
            Content::Batch { batch, crc_valid } => (batch, crc_valid),
            Content::Damaged(fault) => {
                walk.fault(&fault)?;
                continue;
            }
            Content::CutOff { .. } => {
                walk.fault(&Fault::new("cut_off", entry.range, "a batch that is cut off at the end"))?;
                continue;
            }
            Content::Zeros => continue,
        };
        verified.entries += 1;
        walk.summary.batches += 1;
        let damage = match crc_valid {
            true => None,
            false => batch.check_crc().err(),
        };
        let mut offsets = None::<Range<i64>>;
        let mut damage = damage.map(|error| Fault::of_batch(&error, entry.range.clone()));
        for record in batch.records() {
            let record = match record {
                Ok(record) => record,
                Err(error) => {
                    damage.get_or_insert(Fault::of_batch(&error, entry.range.clone()));
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
                damage.get_or_insert(Fault::mismatch(entry.range.clone(), message));
            }
            let start = offsets.map_or(record.offset, |offsets| offsets.start);
            offsets = Some(start..record.offset.saturating_add(1));
        }
        if let Some(fault) = damage {
            walk.fault(&fault)?;
        }
        // What compaction has taken away still counts for the offsets of a batch.
        let start = match batch.count() {
            Some(_) => batch.base_offset(),
            None => offsets.map_or(batch.base_offset(), |offsets| offsets.start),
        };
        let offsets = start..batch.last_offset().saturating_add(1);
        let first = verified.offsets.as_ref().map_or(offsets.start, |known| known.start);
        verified.offsets = Some(first..offsets.end);
        check(walk, &batch, &entry.range, &offsets)?;
    }
    Ok(())
}
