//! What a partition holds: the exact batches, in order.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// The leader epoch of every partition: the one node that could lead never changes.
pub(crate) const LEADER_EPOCH: i32 = 0;

/// A batch at its place in the log, as it goes out to consumers.
#[derive(Clone, Debug)]
pub(crate) struct LogBatch {
    pub(crate) base_offset: i64,
    pub(crate) last_offset: i64,
    pub(crate) max_timestamp: i64,
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

    /// Where consumers stop that read committed records only: there are no transactions that could be open.
    pub(crate) fn last_stable_offset(&self) -> i64 {
        self.high_watermark()
    }

    pub(crate) fn appended_at(&self) -> i64 {
        self.appended_at
    }

    /// Appends a batch whose base offset is the end offset.
    pub(crate) fn append(&mut self, batch: LogBatch, now_ms: i64) {
        debug_assert_eq!(batch.base_offset, self.end_offset, "the caller gives out the offsets");
        let before = self.entries.back().map_or(i64::MIN, |entry| entry.max_so_far);
        let position = self.size;
        self.end_offset = batch.last_offset + 1;
        self.size += batch.bytes.len() as u64;
        self.appended_at = now_ms;
        self.entries.push_back(Entry { max_so_far: before.max(batch.max_timestamp), position, batch });
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
            log.append(LogBatch { base_offset, last_offset: base_offset + 2, max_timestamp, bytes }, 5);
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
}
