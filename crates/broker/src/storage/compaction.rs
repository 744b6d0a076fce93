//! Compaction of a log, as Kafka's cleaner does it: of the records with the same key the last one stays.
//!
//! A pass first notes the last offset of each key in the part that was not compacted yet, and then copies all segments before
//! the active one without the records that have a later one. Records of aborted transactions go, and the markers of
//! transactions without records. Tombstones and such markers get a delete horizon in the first pass that sees them, and go
//! in a pass after that time (KIP-534). A batch that has become empty stays when it is the last one of a producer, because
//! it carries the sequence number, or the last one of the pass, because it carries the offset.

mod transaction;

use std::collections::HashMap;

use bytes::{BufMut, Bytes};
use milena_records::{Batch, BatchBuilder, BatchMut, Control, Error, ReadOptions, TimestampType};

use self::transaction::CleanedTransactions;
use crate::storage::log::{BatchKind, LogBatch};
use crate::storage::segment::Segment;
use crate::storage::transactions::Aborted;

/// What a pass works on: a copy of the segments, which shares their memory.
#[derive(Debug)]
pub(crate) struct Pass {
    /// All segments before the active one, or before the first one that cannot be compacted yet.
    pub(crate) segments: Vec<Segment>,
    /// The offset from which nothing was compacted yet.
    pub(crate) first_dirty: i64,
    /// Where the segment begins that comes after those.
    pub(crate) end: i64,
    /// The state of the log that the copy is of.
    pub(crate) generation: u64,
    /// The last batch of each producer.
    pub(crate) producers: HashMap<i64, LastBatch>,
    pub(crate) aborted: Vec<Aborted>,
    pub(crate) now_ms: i64,
    pub(crate) delete_retention_ms: i64,
    /// Most bytes of a segment.
    pub(crate) segment_bytes: u64,
}

/// What is known of the last batch of a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastBatch {
    /// The last offset of its last batch with records.
    Data(i64),
    /// There is only a marker, of this epoch.
    Marker(i16),
}

/// What comes of a pass.
#[derive(Debug)]
pub(crate) struct Compacted {
    /// They take the place of those of the pass.
    pub(crate) segments: Vec<Segment>,
    /// The aborted transactions of which something is left.
    pub(crate) aborted: Vec<Aborted>,
}

impl Pass {
    /// Compacts the segments.
    pub(crate) fn run(&self) -> Compacted {
        let latest = self.latest_offsets();
        let mut transactions = CleanedTransactions::default();
        let mut segments = Vec::new();
        for group in self.groups() {
            let mut cleaned = Segment::new(group[0].base_offset());
            for segment in group {
                let end = segment.end_offset().max(segment.base_offset());
                transactions.expect(self.aborted_between(segment.base_offset(), end));
                for batch in segment.batches() {
                    self.copy(&batch, &latest, &mut transactions, &mut cleaned);
                }
            }
            cleaned.seal();
            cleaned.set_modified_ms(group[group.len() - 1].modified_ms());
            segments.push(cleaned);
        }
        Compacted { segments, aborted: transactions.left() }
    }

    fn aborted_between(&self, from: i64, to: i64) -> impl Iterator<Item = Aborted> + '_ {
        self.aborted.iter().copied().filter(move |one| one.last_offset >= from && one.first_offset < to)
    }

    /// The last offset of each key from the first dirty offset on.
    fn latest_offsets(&self) -> HashMap<Vec<u8>, i64> {
        let mut latest = HashMap::new();
        let mut transactions = CleanedTransactions::default();
        transactions.expect(self.aborted_between(self.first_dirty, self.end));
        for stored in self.segments.iter().filter(|one| one.end_offset() > self.first_dirty).flat_map(Segment::batches)
        {
            let Ok(batch) = Batch::parse(stored.bytes.clone(), ReadOptions::default()) else { continue };
            if stored.kind == BatchKind::Control {
                transactions.marker(&stored, control(&batch));
                continue;
            }
            if transactions.data(&stored) {
                continue;
            }
            for record in batch.records().flatten() {
                if let Some(key) = record.key.filter(|_| record.offset >= self.first_dirty) {
                    match latest.get_mut(key) {
                        Some(offset) => *offset = record.offset,
                        None => _ = latest.insert(key.to_vec(), record.offset),
                    }
                }
            }
        }
        latest
    }

    /// Segments that together are not larger than one may be.
    fn groups(&self) -> Vec<&[Segment]> {
        let mut groups = Vec::new();
        let mut rest = &self.segments[..];
        while let Some(first) = rest.first() {
            let (mut count, mut size) = (1, first.size());
            while let Some(next) = rest.get(count) {
                let end = rest.get(count + 1).map_or(self.end, Segment::base_offset) - 1;
                let fits = size + next.size() <= self.segment_bytes;
                let is_near = next.size() == 0 || end - first.base_offset() <= i64::from(i32::MAX);
                if !fits || !is_near {
                    break;
                }
                size += next.size();
                count += 1;
            }
            let (group, after) = rest.split_at(count);
            groups.push(group);
            rest = after;
        }
        groups
    }

    /// Appends to a segment what is left of a batch.
    fn copy(
        &self,
        stored: &LogBatch,
        latest: &HashMap<Vec<u8>, i64>,
        transactions: &mut CleanedTransactions,
        cleaned: &mut Segment,
    ) {
        let kept = match Batch::parse(stored.bytes.clone(), ReadOptions::default()) {
            Ok(batch) => self.filter(stored, &batch, latest, transactions),
            Err(error) => Err(error),
        };
        let bytes = match kept {
            Ok(None) => return,
            Ok(Some(bytes)) => bytes,
            Err(error) => {
                // It may be of a codec that this build lacks. A batch that cannot be read loses nothing.
                tracing::warn!(%error, offset = stored.base_offset, "compaction leaves a batch as it is");
                stored.bytes.clone()
            }
        };
        let done: Result<(), std::convert::Infallible> = cleaned.append(&bytes, self.now_ms, |_| Ok(()));
        match done {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }

    /// What is left of a batch.
    fn filter(
        &self,
        stored: &LogBatch,
        batch: &Batch,
        latest: &HashMap<Vec<u8>, i64>,
        transactions: &mut CleanedTransactions,
    ) -> Result<Option<Bytes>, Error> {
        let is_control = stored.kind == BatchKind::Control;
        // Decompresses, and finds whether all can be read.
        let records = batch.records().collect::<Result<Vec<_>, _>>()?;
        let goes = if is_control { transactions.marker(stored, control(batch)) } else { transactions.data(stored) };
        let horizon = batch.delete_horizon();
        let is_past_horizon = horizon.is_some_and(|horizon| horizon <= self.now_ms);
        let discarded = goes && (!is_control || is_past_horizon);
        let keeps_empty = self.is_last_of_producer(stored) || stored.last_offset + 1 == self.end;
        if discarded && !keeps_empty {
            return Ok(None);
        }
        let stays = |record: &milena_records::RecordRef<'_>| {
            if discarded {
                return false;
            }
            if is_control {
                return true;
            }
            let Some(key) = record.key else { return false };
            let is_latest = latest.get(key).is_none_or(|latest| record.offset >= *latest);
            is_latest && (record.value.is_some() || !is_past_horizon)
        };
        let kept: Vec<_> = records.iter().filter(|record| stays(record)).collect();
        if kept.is_empty() {
            return Ok(keeps_empty.then(|| empty(batch)));
        }
        let has_tombstone = kept.iter().any(|record| record.value.is_none());
        let needs_horizon = (has_tombstone || (goes && is_control)) && horizon.is_none();
        if kept.len() == records.len() && !needs_horizon {
            return Ok(Some(stored.bytes.clone()));
        }
        let mut builder = BatchBuilder::like(batch)?.last_offset(batch.last_offset());
        if needs_horizon {
            builder = builder.delete_horizon(self.now_ms.saturating_add(self.delete_retention_ms));
        }
        for record in kept {
            builder.push_at_offset(record)?;
        }
        builder.build().map(Some)
    }

    fn is_last_of_producer(&self, batch: &LogBatch) -> bool {
        let Some(sequence) = batch.sequence else { return false };
        match self.producers.get(&sequence.producer_id) {
            Some(LastBatch::Data(offset)) => batch.last_offset == *offset,
            Some(LastBatch::Marker(epoch)) => batch.kind == BatchKind::Control && sequence.epoch == *epoch,
            None => false,
        }
    }
}

/// What a marker says; `None` when compaction removed its record.
fn control(batch: &Batch) -> Option<Control<'_>> {
    let record = batch.records().next()?.ok()?;
    Control::parse(&record).ok()
}

/// The header of a batch without its records, as Kafka writes it.
fn empty(batch: &Batch) -> Bytes {
    const SIZE: i32 = 61;
    let mut bytes = Vec::with_capacity(SIZE as usize);
    let log_append_time = i16::from(batch.timestamp_type() == TimestampType::LogAppendTime) << 3;
    let (transactional, control) = (i16::from(batch.is_transactional()) << 4, i16::from(batch.is_control()) << 5);
    bytes.put_i64(batch.base_offset());
    bytes.put_i32(SIZE - 12);
    bytes.put_i32(batch.partition_leader_epoch());
    bytes.put_i8(2);
    bytes.put_u32(0);
    bytes.put_i16(log_append_time | transactional | control);
    bytes.put_i32(batch.last_offset_delta());
    // No timestamp to count from.
    bytes.put_i64(-1);
    bytes.put_i64(batch.max_timestamp());
    bytes.put_i64(batch.producer_id());
    bytes.put_i16(batch.producer_epoch());
    bytes.put_i32(batch.base_sequence());
    bytes.put_i32(0);
    if let Ok(mut header) = BatchMut::new(&mut bytes) {
        header.update_crc();
    }
    bytes.into()
}

#[cfg(test)]
mod tests;
