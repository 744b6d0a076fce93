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
pub(crate) mod tests {
    use super::*;

    const NEVER: RollAt = RollAt { bytes: u64::MAX, age_ms: i64::MAX };

    /// The bytes of a batch of so many records and bytes, of which only the header says something.
    pub(crate) fn raw(records: i32, max_timestamp: i64, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        bytes[8..12].copy_from_slice(&(size as i32 - 12).to_be_bytes());
        bytes[16] = 2;
        bytes[23..27].copy_from_slice(&(records - 1).to_be_bytes());
        bytes[35..43].copy_from_slice(&max_timestamp.to_be_bytes());
        bytes[43..57].fill(0xff);
        bytes
    }

    pub(crate) fn append(log: &mut Log, batch: &[u8], epoch: i32, now_ms: i64, roll_at: RollAt) -> bool {
        let base_offset = log.end_offset();
        let finish = |bytes: &mut [u8]| -> Result<(), ()> {
            bytes[..8].copy_from_slice(&base_offset.to_be_bytes());
            bytes[12..16].copy_from_slice(&epoch.to_be_bytes());
            Ok(())
        };
        log.append(batch, (epoch, Header(batch).max_timestamp()), now_ms, roll_at, finish).unwrap()
    }

    /// Batches of three records and 100 bytes each, at these times, in segments of at most so many bytes.
    fn log_of(times: &[i64], segment_bytes: u64) -> Log {
        let mut log = Log::default();
        for &time in times {
            append(&mut log, &raw(3, time, 100), 0, 5, RollAt { bytes: segment_bytes, ..NEVER });
        }
        log
    }

    /// The same log in one segment and in several.
    fn both(times: &[i64]) -> [Log; 2] {
        [log_of(times, u64::MAX), log_of(times, 200)]
    }

    fn bases(log: &Log, offset: i64, max_bytes: usize, whole_first: bool) -> Vec<i64> {
        let run = log.read(offset, i64::MAX, max_bytes, whole_first).unwrap();
        let bases: Vec<i64> = run.batches().map(|batch| batch.base_offset).collect();
        assert_eq!(run.bytes().len(), 100 * bases.len());
        assert_eq!(run.end_offset, bases.last().map(|base| base + 3));
        bases
    }

    #[test]
    fn reading_begins_with_the_batch_that_holds_the_offset() {
        let [whole, parts] = both(&[1, 2, 3]);
        assert_eq!([0, 5].map(|offset| bases(&whole, offset, 1000, false)), [vec![0, 3, 6], vec![3, 6]]);
        // No more than the rest of the segment.
        assert_eq!([0, 5, 6].map(|offset| bases(&parts, offset, 1000, false)), [vec![0, 3], vec![3], vec![6]]);
        for log in [whole, parts] {
            assert_eq!(bases(&log, 9, 1000, false), [0i64; 0]);
            assert_eq!(log.read(10, 99, 1000, false).unwrap_err(), OutOfRange);
            assert_eq!(log.read(-1, 99, 1000, false).unwrap_err(), OutOfRange);
        }
    }

    #[test]
    fn the_limits_count_whole_batches_but_not_the_first() {
        for log in both(&[1, 2, 3]) {
            assert_eq!(bases(&log, 0, 200, false), [0, 3]);
            assert_eq!(bases(&log, 0, 299, true), [0, 3]);
            assert_eq!(bases(&log, 4, 1, true), [3]);
            assert_eq!(bases(&log, 4, 1, false), [0i64; 0]);
            assert_eq!(log.read(0, 5, 1000, true).unwrap().end_offset, Some(3));
            assert_eq!(log.read(0, 2, 1000, true).unwrap().end_offset, None);
        }
    }

    #[test]
    fn bytes_are_counted_from_the_batch_that_holds_the_offset() {
        for log in both(&[1, 2, 3]) {
            let from = |offset| log.bytes_from(offset);
            assert_eq!([0, 2, 3, 8, 9].map(from), [300, 300, 200, 100, 0].map(Ok));
            assert_eq!([-1, 10].map(from), [Err(OutOfRange); 2]);
        }
    }

    #[test]
    fn batches_of_a_full_segment_are_read_without_a_copy() {
        let mut log = log_of(&[1, 2], u64::MAX);
        log.roll();
        let (one, other) = (log.read(0, 99, 1000, true).unwrap(), log.read(0, 99, 1000, true).unwrap());
        assert_eq!((one.bytes().as_ptr(), one.to_copy()), (other.bytes().as_ptr(), 0));
        assert_eq!(log.read(6, 99, 1000, true).unwrap().bytes(), Bytes::new());
    }

    #[test]
    fn times_that_go_back_are_found_all_the_same() {
        for log in both(&[10, 50, 20, 50, 60]) {
            let at = |time| log.at_time(time, 0).map(|batch| batch.base_offset);
            assert_eq!(
                [at(0), at(10), at(11), at(50), at(51), at(61)],
                [Some(0), Some(0), Some(3), Some(3), Some(12), None]
            );
            assert_eq!(log.at_greatest_time().unwrap().base_offset, 12);
        }
        assert!(Log::default().at_greatest_time().is_none());
    }

    #[test]
    fn epochs_end_where_the_next_one_begins() {
        let mut log = Log::default();
        assert_eq!(log.end_of_epoch(0), None);
        for epoch in [0, 0, 3, 7] {
            append(&mut log, &raw(3, 0, 100), epoch, 5, NEVER);
        }
        let end = |epoch| log.end_of_epoch(epoch);
        assert_eq!([end(0), end(2), end(3), end(5), end(7)], [(0, 6), (0, 6), (3, 9), (3, 9), (7, 12)].map(Some));
        assert_eq!([end(8), end(-1)], [None; 2]);
        assert_eq!([log.epoch_at(5), log.epoch_at(6), log.epoch_at(99)], [Some(0), Some(3), Some(7)]);
    }

    #[test]
    fn a_log_is_cut_at_both_ends_in_whole_batches() {
        for segment_bytes in [u64::MAX, 100, 250] {
            let mut log = Log::default();
            for epoch in [0, 1, 2, 3] {
                append(&mut log, &raw(3, 0, 100), epoch, 5, RollAt { bytes: segment_bytes, ..NEVER });
            }
            log.truncate_to(10, 6);
            assert_eq!((log.end_offset(), log.latest_epoch(), log.size_in_bytes()), (9, Some(2), 300));
            log.delete_before(4);
            assert_eq!((log.start_offset(), bases(&log, 4, 1000, true)[0]), (4, 3));
            assert_eq!((log.end_of_epoch(0), log.end_of_epoch(1)), (Some((0, 4)), Some((1, 6))));
            log.delete_before(100);
            assert_eq!((log.start_offset(), log.end_offset()), (9, 9));
            log.truncate_to(0, 7);
            assert_eq!((log.start_offset(), log.end_offset(), log.size_in_bytes()), (9, 9, 0));
            append(&mut log, &raw(3, 0, 100), 4, 5, NEVER);
            assert_eq!(bases(&log, 9, 1000, true), [9]);
        }
    }

    #[test]
    fn a_segment_is_full_by_size_or_by_the_age_of_its_first_batch() {
        let mut log = Log::default();
        let roll_at = RollAt { bytes: 250, age_ms: 1000 };
        let mut add = |time, now_ms| append(&mut log, &raw(1, time, 100), 0, now_ms, roll_at);
        // Timestamps count; without them the time of the clock does.
        assert_eq!([add(5000, 0), add(6000, 9000), add(6000, 0)], [false, false, true]);
        assert_eq!([add(7001, 0), add(-1, 0)], [true, false]);
        assert_eq!([add(-1, 0), add(-1, 1000), add(-1, 0)], [true, false, true]);
        assert!(add(-1, 1001));
        let all: Vec<_> = log.segments().map(Segment::base_offset).collect();
        assert_eq!(all, [0, 2, 3, 5, 7, 8]);
    }

    const ALL: Keep = Keep { ms: None, bytes: None };

    #[test]
    fn retention_by_size_leaves_at_least_that_much() {
        let left = |bytes| {
            let mut log = log_of(&[1, 2, 3, 4], 100);
            log.apply_retention(Some(Keep { bytes: Some(bytes), ..ALL }), 0);
            (log.start_offset(), log.size_in_bytes())
        };
        assert_eq!([left(400), left(301), left(300), left(100)], [(0, 400), (0, 400), (3, 300), (9, 100)]);
        assert_eq!(left(0), (12, 0));
    }

    #[test]
    fn retention_by_time_stops_at_the_first_segment_that_is_young_enough() {
        let left = |now_ms| {
            let mut log = log_of(&[1000, 3000, 2000, -1], 100);
            log.apply_retention(Some(Keep { ms: Some(100), ..ALL }), now_ms);
            log.start_offset()
        };
        assert_eq!([left(1100), left(1101), left(2500), left(3100)], [0, 3, 3, 3]);
        // A segment without timestamps is as old as its last batch, which came at 5.
        assert_eq!(left(3101), 12);
        assert_eq!(log_of(&[1, 2], 100).apply_retention(Some(ALL), i64::MAX), 0);
    }

    #[test]
    fn deleted_records_go_with_their_segment_in_any_topic() {
        let mut log = log_of(&[1, 2, 3], 100);
        log.delete_before(5);
        assert_eq!((log.apply_retention(None, 0), log.size_in_bytes(), log.start_offset()), (1, 200, 5));
        log.delete_before(9);
        assert_eq!((log.apply_retention(None, 0), log.size_in_bytes(), log.start_offset()), (1, 100, 9));
    }

    #[test]
    fn small_batches_cost_few_bytes_more_than_their_own() {
        let mut log = Log::default();
        // A batch of one record of 100 bytes.
        for _ in 0..50_000 {
            append(&mut log, &raw(1, 0, 170), 0, 0, RollAt { bytes: 4 << 20, ..NEVER });
        }
        let (size, memory) = (log.size_in_bytes(), log.memory());
        assert!(memory * 100 < size * 108, "{memory} bytes for {size}");
    }
}
