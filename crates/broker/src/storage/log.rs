//! What a partition holds: the exact batches, in order, in segments.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use crate::disk::LoadedLog;
pub(crate) use crate::storage::batch::{BatchKind, LogBatch};
use crate::storage::compaction::Pass;
use crate::storage::segment::{Header, Segment, split};

/// Batches in the order of their offsets. What compaction removed leaves gaps.
#[derive(Debug)]
pub(crate) struct Log {
    /// At least one; batches are appended to the last one, the active segment.
    segments: VecDeque<Segment>,
    start_offset: i64,
    end_offset: i64,
    /// Each leader epoch that appended something, with its first offset. Both grow.
    epochs: Vec<(i32, i64)>,
    /// Grows when batches are removed, so that compaction sees that somebody else was faster.
    generation: u64,
    /// Compaction has seen all batches before this offset.
    clean_until: Option<i64>,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            segments: VecDeque::from([Segment::new(0)]),
            start_offset: 0,
            end_offset: 0,
            epochs: Vec::new(),
            generation: 0,
            clean_until: None,
        }
    }
}

/// When the active segment is full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RollAt {
    /// `segment.bytes`
    pub(crate) bytes: u64,
    /// `segment.ms`, or less when the topic is compacted within less.
    pub(crate) age_ms: i64,
}

/// What retention keeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    /// `retention.ms`; `None` for ever.
    pub(crate) ms: Option<i64>,
    /// `retention.bytes`; `None` for any number.
    pub(crate) bytes: Option<u64>,
}

/// Whole batches that were read together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    pieces: Vec<Bytes>,
    /// The offset after the last batch; `None` when there is none.
    pub(crate) end_offset: Option<i64>,
}

impl Run {
    /// Bytes to copy to make it one piece.
    pub(crate) fn to_copy(&self) -> usize {
        if self.pieces.len() > 1 { self.pieces.iter().map(Bytes::len).sum() } else { 0 }
    }

    /// All bytes in one piece; a single one is not copied.
    pub(crate) fn bytes(&self) -> Bytes {
        match &self.pieces[..] {
            [] => Bytes::new(),
            [piece] => piece.clone(),
            pieces => {
                let mut all = BytesMut::with_capacity(self.to_copy());
                pieces.iter().for_each(|piece| all.extend_from_slice(piece));
                all.freeze()
            }
        }
    }

    /// The batches one by one.
    pub(crate) fn batches(&self) -> impl Iterator<Item = LogBatch> + '_ {
        self.pieces.iter().cloned().flat_map(split)
    }
}

/// An offset that the log does not have, and is not its end either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfRange;

impl Log {
    /// Offset of the first record, or of the next one when there is none.
    pub(crate) fn start_offset(&self) -> i64 {
        self.start_offset
    }

    /// Offset that the next record gets.
    pub(crate) fn end_offset(&self) -> i64 {
        self.end_offset
    }

    /// Where consumers stop reading. All replicas share one log, so that everything is replicated as soon as it is written.
    pub(crate) fn high_watermark(&self) -> i64 {
        self.end_offset
    }

    /// The segments, oldest first.
    pub(crate) fn segments(&self) -> impl DoubleEndedIterator<Item = &Segment> + ExactSizeIterator {
        self.segments.iter()
    }

    /// A log that was in files: its segments, of which the last one is written to, its first offset, and its epochs.
    pub(crate) fn restored(loaded: &LoadedLog) -> Self {
        let mut log = Self { segments: loaded.segments.iter().cloned().collect(), ..Self::default() };
        if log.segments.is_empty() {
            log.segments.push_back(Segment::new(0));
        }
        log.end_offset = log.active().end_offset();
        log.start_offset = loaded.start_offset;
        log.epochs = loaded.epochs.clone();
        log.clean_until = loaded.clean_until;
        log
    }

    /// The leader epochs, each with its first offset.
    pub(crate) fn epochs(&self) -> &[(i32, i64)] {
        &self.epochs
    }

    /// The active segment.
    pub(crate) fn active_segment(&self) -> &Segment {
        self.active()
    }

    /// Where the active segment begins.
    pub(crate) fn active_base_offset(&self) -> i64 {
        self.active().base_offset()
    }

    /// Compaction has seen all batches before this offset.
    pub(crate) fn clean_until(&self) -> Option<i64> {
        self.clean_until
    }

    #[cfg(test)]
    pub(crate) fn set_clean_until(&mut self, offset: i64) {
        self.clean_until = Some(offset);
    }

    /// Which state of the log it is: another number when batches were removed.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Puts what compaction left in the place of the first segments, unless others removed batches meanwhile.
    pub(crate) fn replace(&mut self, pass: &Pass, compacted: Vec<Segment>) -> bool {
        if self.generation != pass.generation {
            return false;
        }
        self.generation += 1;
        self.segments.drain(..pass.segments.len());
        compacted.into_iter().rev().for_each(|segment| self.segments.push_front(segment));
        self.clean_until = Some(pass.end);
        true
    }

    fn active(&self) -> &Segment {
        &self.segments[self.segments.len() - 1]
    }

    /// Appends the bytes of a batch to the end, after `finish` has set what its header lacks: its base offset, this epoch
    /// and perhaps this greatest timestamp. Gives whether a new segment began with it.
    ///
    /// # Errors
    /// That of `finish`; nothing is appended then.
    pub(crate) fn append<E>(
        &mut self,
        batch: &[u8],
        (epoch, max_timestamp): (i32, i64),
        now_ms: i64,
        roll_at: RollAt,
        finish: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<bool, E> {
        let last_delta = Header(batch).last_offset() - Header(batch).base_offset();
        let active = self.active();
        let is_old = active.size() > 0 && active.age(max_timestamp, now_ms) > roll_at.age_ms;
        let is_full = (active.size() + batch.len() as u64) > roll_at.bytes;
        let is_wide = self.end_offset + last_delta - active.base_offset() > i64::from(i32::MAX);
        let rolls = (is_old || is_full || is_wide) && self.roll();
        let last = self.segments.len() - 1;
        self.begin_epoch(epoch);
        self.segments[last].append(batch, now_ms, finish)?;
        self.end_offset = self.segments[last].end_offset();
        Ok(rolls)
    }

    /// Begins a new segment, unless the active one is empty.
    pub(crate) fn roll(&mut self) -> bool {
        let end_offset = self.end_offset;
        let Some(active) = self.segments.back_mut().filter(|active| active.size() > 0) else { return false };
        active.seal();
        self.segments.push_back(Segment::new(end_offset));
        true
    }

    /// A leader of this epoch begins to append. Epochs that are not greater than the last one change nothing.
    pub(crate) fn begin_epoch(&mut self, epoch: i32) {
        if self.epochs.last().is_none_or(|(last, _)| *last < epoch) {
            // An epoch that appended nothing leaves no trace, as in Kafka.
            while self.epochs.last().is_some_and(|(_, start)| *start >= self.end_offset) {
                self.epochs.pop();
            }
            self.epochs.push((epoch, self.end_offset));
        }
    }

    /// The epoch of the last batch, or of the leader after it.
    pub(crate) fn latest_epoch(&self) -> Option<i32> {
        self.epochs.last().map(|(epoch, _)| *epoch)
    }

    /// The epoch that appended the record at this offset.
    pub(crate) fn epoch_at(&self, offset: i64) -> Option<i32> {
        let after = self.epochs.partition_point(|(_, start)| *start <= offset);
        self.epochs[..after].last().map(|(epoch, _)| *epoch)
    }

    /// Where the log of an epoch ends: the greatest epoch that is not above the one asked for, and the first offset after
    /// it (KIP-101, KIP-279). `None` when nothing is known of it.
    pub(crate) fn end_of_epoch(&self, asked: i32) -> Option<(i32, i64)> {
        let &(latest, _) = self.epochs.last()?;
        if asked == latest {
            return Some((asked, self.end_offset));
        }
        if asked == -1 || asked > latest {
            return None;
        }
        let after = self.epochs.partition_point(|(epoch, _)| *epoch <= asked);
        let end = self.epochs[after].1;
        Some((if after == 0 { asked } else { self.epochs[after - 1].0 }, end))
    }

    /// Removes all batches with records at or after the offset.
    pub(crate) fn truncate_to(&mut self, offset: i64, now_ms: i64) {
        self.generation += 1;
        while self.segments.len() > 1 && self.active().base_offset() >= offset {
            self.segments.pop_back();
        }
        if let Some(active) = self.segments.back_mut() {
            active.truncate_to(offset, now_ms);
        }
        self.end_offset = self.active().end_offset().max(self.start_offset);
        if self.active().size() == 0 && self.active().base_offset() != self.end_offset {
            self.segments.pop_back();
            self.segments.push_back(Segment::new(self.end_offset));
        }
        self.clean_until = self.clean_until.map(|clean| clean.min(self.end_offset));
        self.epochs.retain(|(_, start)| *start < self.end_offset);
    }

    /// Makes this the first offset. As in Kafka, the batches before it stay until retention removes their segment.
    pub(crate) fn delete_before(&mut self, offset: i64) {
        let offset = offset.min(self.end_offset);
        if offset <= self.start_offset {
            return;
        }
        self.start_offset = offset;
        let before = self.epochs.partition_point(|(_, start)| *start <= offset).saturating_sub(1);
        self.epochs.drain(..before);
        if let Some((_, start)) = self.epochs.first_mut() {
            *start = (*start).max(offset);
        }
    }

    /// Removes segments as Kafka does: those before the first offset; the oldest ones as long as at least so many bytes are
    /// left; those whose records are all too old. `keep` is `None` for topics whose records are not deleted.
    /// Gives how many segments went.
    pub(crate) fn apply_retention(&mut self, keep: Option<Keep>, now_ms: i64) -> usize {
        let start = self.start_offset;
        let mut removed = self.remove_oldest(|_, next| next.is_some_and(|next| next.base_offset() <= start));
        let Some(keep) = keep else { return removed };
        if let Some(mut excess) = keep.bytes.and_then(|bytes| self.size_in_bytes().checked_sub(bytes)) {
            removed += self.remove_oldest(|segment, _| match excess.checked_sub(segment.size()) {
                Some(left) => {
                    excess = left;
                    true
                }
                None => false,
            });
        }
        if let Some(ms) = keep.ms {
            removed += self.remove_oldest(|segment, _| now_ms.saturating_sub(segment.largest_timestamp()) > ms);
        }
        removed
    }

    /// When [`apply_retention`](Self::apply_retention) has something to remove; `i64::MIN` when it has now.
    pub(crate) fn expires_at(&self, keep: Option<Keep>) -> Option<i64> {
        let first = self.segments.front()?;
        if self.segments.get(1).is_some_and(|second| second.base_offset() <= self.start_offset) {
            return Some(i64::MIN);
        }
        let keep = keep.filter(|_| first.size() > 0)?;
        if keep.bytes.is_some_and(|bytes| self.size_in_bytes().saturating_sub(bytes) >= first.size()) {
            return Some(i64::MIN);
        }
        keep.ms.map(|ms| first.largest_timestamp().saturating_add(ms).saturating_add(1))
    }

    /// Removes the oldest segments for which this holds, which gets each with the one after it. An active segment that is
    /// empty stays; when all others go, a new one begins.
    fn remove_oldest(&mut self, mut goes: impl FnMut(&Segment, Option<&Segment>) -> bool) -> usize {
        let mut count = 0;
        while let Some(segment) = self.segments.get(count) {
            let next = self.segments.get(count + 1);
            let is_empty_end = next.is_none() && segment.size() == 0;
            if is_empty_end || !goes(segment, next) {
                break;
            }
            count += 1;
        }
        if count == 0 {
            return 0;
        }
        if count == self.segments.len() {
            self.roll();
        }
        self.generation += 1;
        self.segments.drain(..count);
        self.delete_before(self.segments[0].base_offset());
        count
    }

    /// All batches, oldest first, with those that are there although they are before the first offset.
    pub(crate) fn batches(&self) -> impl Iterator<Item = LogBatch> + '_ {
        self.segments.iter().flat_map(Segment::batches)
    }

    /// Bytes of all batches that are there.
    pub(crate) fn size_in_bytes(&self) -> u64 {
        self.segments.iter().map(Segment::size).sum()
    }

    /// Bytes of the batches in the active segment.
    pub(crate) fn active_size(&self) -> u64 {
        self.active().size()
    }

    /// Bytes of memory that the active segment takes.
    pub(crate) fn active_memory(&self) -> u64 {
        self.active().memory()
    }

    /// Bytes of memory that the batches take, and what belongs to them.
    pub(crate) fn memory(&self) -> u64 {
        self.segments.iter().map(Segment::memory).sum()
    }

    fn check(&self, offset: i64) -> Result<(), OutOfRange> {
        if offset < self.start_offset || offset > self.end_offset { Err(OutOfRange) } else { Ok(()) }
    }

    /// The index of the segment that has the offset.
    pub(crate) fn segment_of(&self, offset: i64) -> usize {
        self.segments.partition_point(|segment| segment.base_offset() <= offset).saturating_sub(1)
    }

    /// Bytes from the batch that holds `offset` to the end.
    pub(crate) fn bytes_from(&self, offset: i64) -> Result<u64, OutOfRange> {
        self.check(offset)?;
        let first = self.segment_of(offset);
        let after: u64 = self.segments.range(first + 1..).map(Segment::size).sum();
        let segment = &self.segments[first];
        Ok(segment.size() - segment.position_of(offset) + after)
    }

    /// Whole batches of one segment, from the one on that holds `offset`, as long as their last offset is below `until`, of at most
    /// `max_bytes` together; with `whole_first` the first one comes in any case (KIP-74). Empty at the end of the log.
    pub(crate) fn read(&self, offset: i64, until: i64, max_bytes: usize, whole_first: bool) -> Result<Run, OutOfRange> {
        self.check(offset)?;
        let (mut run, mut size) = (Run::default(), 0);
        let first = self.segment_of(offset);
        for (index, segment) in self.segments.range(first..).enumerate() {
            let from = if index == 0 { segment.position_of(offset) } else { 0 };
            let mut to = from;
            let mut ended = false;
            for (position, header) in segment.headers_from(from) {
                let is_first = size == 0;
                size += header.size();
                if header.last_offset() >= until || (size > max_bytes && !(whole_first && is_first)) {
                    ended = true;
                    break;
                }
                to = position + header.size() as u64;
                run.end_offset = Some(header.last_offset() + 1);
            }
            segment.slices(from, to, &mut run.pieces);
            // As in Kafka, nothing comes out of two segments.
            if ended || from < segment.size() {
                break;
            }
        }
        Ok(run)
    }

    /// The first batch from an offset on that has a record at or after the time, as Kafka looks for it: in the first
    /// segment that has such a time.
    pub(crate) fn at_time(&self, timestamp: i64, offset: i64) -> Option<LogBatch> {
        let from = self.segment_of(offset);
        let mut rest = self.segments.range(from..);
        rest.find(|segment| segment.size() > 0 && segment.max_timestamp() >= timestamp)?.at_time(timestamp, offset)
    }

    /// The first batch with the greatest timestamp.
    pub(crate) fn at_greatest_time(&self) -> Option<LogBatch> {
        let greatest = self.segments.iter().filter(|segment| segment.size() > 0).map(Segment::max_timestamp).max()?;
        self.at_time(greatest, self.segments[0].base_offset())
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
pub(crate) mod tests;
