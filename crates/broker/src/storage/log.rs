//! What a partition holds: the exact batches, in order.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use crate::storage::producer_state::Sequence;

/// What a batch holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchKind {
    Plain,
    Transactional,
    /// The marker that ends a transaction.
    Control,
}

/// A batch at its place in the log, as it goes out to consumers, with what its header says.
#[derive(Clone, Debug)]
pub(crate) struct LogBatch {
    pub(crate) base_offset: i64,
    pub(crate) last_offset: i64,
    pub(crate) max_timestamp: i64,
    pub(crate) leader_epoch: i32,
    pub(crate) kind: BatchKind,
    /// The producer with its epoch and sequence numbers; `None` when the batch names none.
    pub(crate) sequence: Option<Sequence>,
    pub(crate) bytes: Bytes,
}

#[derive(Debug)]
struct Entry {
    batch: LogBatch,
    /// The greatest timestamp up to here. It never falls, so that one can search for it.
    max_so_far: i64,
    /// Bytes of all batches before this one.
    position: u64,
}

/// Batches in the order of their offsets, without a gap.
#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: VecDeque<Entry>,
    start_offset: i64,
    end_offset: i64,
    /// Bytes of all batches.
    size: u64,
    /// When the last batch came, in milliseconds since 1970.
    appended_at: i64,
    /// Each leader epoch that appended something, with its first offset. Both grow.
    epochs: Vec<(i32, i64)>,
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

    /// Where consumers stop reading. With one replica everything is replicated as soon as it is written.
    pub(crate) fn high_watermark(&self) -> i64 {
        self.end_offset
    }

    pub(crate) fn appended_at(&self) -> i64 {
        self.appended_at
    }

    /// Appends a batch whose base offset is the end offset.
    pub(crate) fn append(&mut self, batch: LogBatch, now_ms: i64) {
        debug_assert_eq!(batch.base_offset, self.end_offset, "the caller gives out the offsets");
        self.begin_epoch(batch.leader_epoch);
        let before = self.entries.back().map_or(i64::MIN, |entry| entry.max_so_far);
        let position = self.size;
        self.end_offset = batch.last_offset + 1;
        self.size += batch.bytes.len() as u64;
        self.appended_at = now_ms;
        self.entries.push_back(Entry { max_so_far: before.max(batch.max_timestamp), position, batch });
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
    pub(crate) fn truncate_to(&mut self, offset: i64) {
        while let Some(last) = self.entries.back().filter(|last| last.batch.last_offset >= offset) {
            self.size -= last.batch.bytes.len() as u64;
            self.entries.pop_back();
        }
        self.end_offset = self.entries.back().map_or(self.start_offset, |last| last.batch.last_offset + 1);
        self.epochs.retain(|(_, start)| *start < self.end_offset);
    }

    /// Makes this the first offset, and drops the batches before it. The batch that holds the offset stays whole.
    pub(crate) fn delete_before(&mut self, offset: i64) {
        self.start_offset = self.start_offset.max(offset.min(self.end_offset));
        while self.entries.front().is_some_and(|first| first.batch.last_offset < self.start_offset) {
            self.entries.pop_front();
        }
        let before = self.epochs.partition_point(|(_, start)| *start <= self.start_offset).saturating_sub(1);
        self.epochs.drain(..before);
        if let Some((_, start)) = self.epochs.first_mut() {
            *start = (*start).max(self.start_offset);
        }
    }

    /// All batches, oldest first.
    pub(crate) fn batches(&self) -> impl Iterator<Item = &LogBatch> {
        self.entries.iter().map(|entry| &entry.batch)
    }

    /// Bytes of all batches that are there.
    #[cfg(test)]
    pub(crate) fn size_in_bytes(&self) -> u64 {
        self.entries.front().map_or(0, |first| self.size - first.position)
    }

    /// The index of the batch that holds the offset.
    fn index_of(&self, offset: i64) -> usize {
        self.entries.partition_point(|entry| entry.batch.last_offset < offset)
    }

    fn check(&self, offset: i64) -> Result<(), OutOfRange> {
        if offset < self.start_offset || offset > self.end_offset { Err(OutOfRange) } else { Ok(()) }
    }

    /// Bytes from the batch that holds `offset` to the end.
    pub(crate) fn bytes_from(&self, offset: i64) -> Result<u64, OutOfRange> {
        self.check(offset)?;
        Ok(self.entries.get(self.index_of(offset)).map_or(0, |entry| self.size - entry.position))
    }

    /// Whole batches from the one on that holds `offset`, of at most `max_bytes` together; with `whole_first` the first
    /// one comes in any case (KIP-74). Empty at the end of the log.
    pub(crate) fn read(&self, offset: i64, max_bytes: usize, whole_first: bool) -> Result<Vec<LogBatch>, OutOfRange> {
        self.check(offset)?;
        let mut size = 0;
        let mut batches = Vec::new();
        for batch in self.entries.range(self.index_of(offset)..).map(|entry| &entry.batch) {
            size += batch.bytes.len();
            if size > max_bytes && !(whole_first && batches.is_empty()) {
                break;
            }
            batches.push(batch.clone());
        }
        Ok(batches)
    }

    /// The first batch that has a record at or after the time.
    pub(crate) fn at_time(&self, timestamp: i64) -> Option<LogBatch> {
        let first = self.entries.partition_point(|entry| entry.max_so_far < timestamp);
        let mut rest = self.entries.range(first..);
        rest.find(|entry| entry.batch.max_timestamp >= timestamp).map(|entry| entry.batch.clone())
    }

    /// The first batch with the greatest timestamp.
    pub(crate) fn at_greatest_time(&self) -> Option<LogBatch> {
        self.at_time(self.entries.back()?.max_so_far)
    }
}

#[cfg(test)]
impl LogBatch {
    /// A batch of epoch 0 by no producer.
    pub(crate) fn plain(base_offset: i64, last_offset: i64, max_timestamp: i64, bytes: Bytes) -> Self {
        let kind = BatchKind::Plain;
        Self { base_offset, last_offset, max_timestamp, leader_epoch: 0, kind, sequence: None, bytes }
    }
}

/// The batches as one run of bytes; a single one is not copied.
pub(crate) fn concat(batches: &[LogBatch]) -> Bytes {
    match batches {
        [] => Bytes::new(),
        [batch] => batch.bytes.clone(),
        _ => {
            let mut all = BytesMut::with_capacity(batches.iter().map(|batch| batch.bytes.len()).sum());
            batches.iter().for_each(|batch| all.extend_from_slice(&batch.bytes));
            all.freeze()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches of three records and 10 bytes each, at these times.
    fn log(times: &[i64]) -> Log {
        let mut log = Log::default();
        for &max_timestamp in times {
            let base_offset = log.end_offset();
            let bytes = Bytes::from(vec![base_offset as u8; 10]);
            log.append(LogBatch::plain(base_offset, base_offset + 2, max_timestamp, bytes), 5);
        }
        log
    }

    fn bases(batches: &[LogBatch]) -> Vec<i64> {
        batches.iter().map(|batch| batch.base_offset).collect()
    }

    #[test]
    fn reading_begins_with_the_batch_that_holds_the_offset() {
        let log = log(&[1, 2, 3]);
        assert_eq!(bases(&log.read(0, 100, false).unwrap()), [0, 3, 6]);
        assert_eq!(bases(&log.read(5, 100, false).unwrap()), [3, 6]);
        assert_eq!(bases(&log.read(9, 100, false).unwrap()), [0i64; 0]);
        assert_eq!(log.read(10, 100, false).unwrap_err(), OutOfRange);
        assert_eq!(log.read(-1, 100, false).unwrap_err(), OutOfRange);
    }

    #[test]
    fn the_limit_counts_whole_batches_but_not_the_first() {
        let log = log(&[1, 2, 3]);
        assert_eq!(bases(&log.read(0, 20, false).unwrap()), [0, 3]);
        assert_eq!(bases(&log.read(0, 29, true).unwrap()), [0, 3]);
        assert_eq!(bases(&log.read(4, 1, true).unwrap()), [3]);
        assert_eq!(bases(&log.read(4, 1, false).unwrap()), [0i64; 0]);
    }

    #[test]
    fn bytes_are_counted_from_the_batch_that_holds_the_offset() {
        let log = log(&[1, 2, 3]);
        assert_eq!([0, 2, 3, 8, 9].map(|offset| log.bytes_from(offset)), [30, 30, 20, 10, 0].map(Ok));
        assert_eq!([-1, 10].map(|offset| log.bytes_from(offset)), [Err(OutOfRange); 2]);
    }

    #[test]
    fn a_single_batch_is_read_without_a_copy() {
        let log = log(&[1]);
        let batches = log.read(1, 100, true).unwrap();
        assert_eq!(concat(&batches).as_ptr(), batches[0].bytes.as_ptr());
        assert_eq!(concat(&log.read(3, 100, true).unwrap()), Bytes::new());
    }

    #[test]
    fn times_that_go_back_are_found_all_the_same() {
        let log = log(&[10, 50, 20, 50, 60]);
        let at = |time| log.at_time(time).map(|batch| batch.base_offset);
        assert_eq!(
            [at(0), at(10), at(11), at(50), at(51), at(61)],
            [Some(0), Some(0), Some(3), Some(3), Some(12), None]
        );
        assert_eq!(log.at_greatest_time().unwrap().base_offset, 12);
        assert!(Log::default().at_greatest_time().is_none());
    }

    fn at_epoch(log: &mut Log, leader_epoch: i32) {
        let base_offset = log.end_offset();
        let batch = LogBatch::plain(base_offset, base_offset + 2, 0, Bytes::from_static(b"0123456789"));
        log.append(LogBatch { leader_epoch, ..batch }, 5);
    }

    #[test]
    fn epochs_end_where_the_next_one_begins() {
        let mut log = Log::default();
        assert_eq!(log.end_of_epoch(0), None);
        for epoch in [0, 0, 3, 7] {
            at_epoch(&mut log, epoch);
        }
        let end = |epoch| log.end_of_epoch(epoch);
        assert_eq!([end(0), end(2), end(3), end(5), end(7)], [(0, 6), (0, 6), (3, 9), (3, 9), (7, 12)].map(Some));
        assert_eq!([end(8), end(-1)], [None; 2]);
        assert_eq!([log.epoch_at(5), log.epoch_at(6), log.epoch_at(99)], [Some(0), Some(3), Some(7)]);
    }

    #[test]
    fn a_log_is_cut_at_both_ends_in_whole_batches() {
        let mut log = Log::default();
        for epoch in [0, 1, 2, 3] {
            at_epoch(&mut log, epoch);
        }
        log.truncate_to(10);
        assert_eq!((log.end_offset(), log.latest_epoch(), log.size_in_bytes()), (9, Some(2), 30));
        log.delete_before(4);
        assert_eq!(
            (log.start_offset(), bases(&log.read(4, 100, true).unwrap()), log.size_in_bytes()),
            (4, vec![3, 6], 20)
        );
        assert_eq!((log.end_of_epoch(0), log.end_of_epoch(1)), (Some((0, 4)), Some((1, 6))));
        log.delete_before(100);
        assert_eq!((log.start_offset(), log.end_offset(), log.size_in_bytes()), (9, 9, 0));
        log.truncate_to(0);
        assert_eq!((log.start_offset(), log.end_offset()), (9, 9));
    }
}
