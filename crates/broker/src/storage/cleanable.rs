//! Which part of a log can be compacted, and whether it is time, as Kafka's cleaner decides it.

use crate::storage::log::Log;
use crate::storage::segment::Segment;

/// When a log is compacted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompactWhen {
    /// `min.compaction.lag.ms`
    pub(crate) min_lag_ms: i64,
    /// `max.compaction.lag.ms`
    pub(crate) max_lag_ms: i64,
    /// `min.cleanable.dirty.ratio`
    pub(crate) min_ratio: f64,
}

/// The part of a log that can be compacted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cleanable {
    /// From here on nothing was compacted yet.
    pub(crate) first_dirty: i64,
    /// Where the first segment begins that has to stay as it is.
    pub(crate) end: i64,
    /// The part of the bytes that was not compacted yet.
    pub(crate) ratio: f64,
    /// Whether it has waited as long as it may.
    pub(crate) is_late: bool,
}

impl Cleanable {
    /// Whether a pass is worthwhile.
    pub(crate) fn is_due(&self, when: &CompactWhen) -> bool {
        self.ratio > 0.0 && (self.is_late || self.ratio > when.min_ratio)
    }
}

impl Log {
    /// The segments from the one with the offset on, without the active one.
    fn inactive_from(&self, offset: i64) -> impl Iterator<Item = &Segment> {
        let first = self.segment_of(offset);
        let inactive = self.segments().len() - 1;
        self.segments().take(inactive).skip(first)
    }

    /// The part that can be compacted now. `stable` is where open transactions begin.
    pub(crate) fn cleanable(&self, when: &CompactWhen, stable: i64, now_ms: i64) -> Cleanable {
        let (start, end) = (self.start_offset(), self.end_offset());
        let first_dirty = self.clean_until().filter(|clean| (start..=end).contains(clean)).unwrap_or(start);
        let is_young = |segment: &&Segment| segment.largest_timestamp() > now_ms.saturating_sub(when.min_lag_ms);
        let young = self.inactive_from(first_dirty).find(is_young).filter(|_| when.min_lag_ms > 0);
        let young = young.map_or(i64::MAX, Segment::base_offset);
        let uncleanable = stable.min(young).max(first_dirty);
        let active = self.active_base_offset();
        let end = self.inactive_from(uncleanable).next().map_or(active, Segment::base_offset);
        let size = |segments: &mut dyn Iterator<Item = &Segment>| segments.map(Segment::size).sum::<u64>();
        let clean = size(&mut self.segments().take_while(|segment| segment.base_offset() < first_dirty));
        let dirty = self.segment_of(first_dirty.min(end));
        let dirty = size(&mut self.segments().skip(dirty).take_while(|segment| segment.base_offset() < end));
        let earliest = self.earliest_dirty(first_dirty);
        Cleanable {
            first_dirty,
            end,
            ratio: if dirty == 0 { 0.0 } else { dirty as f64 / (clean + dirty) as f64 },
            is_late: earliest.is_some_and(|earliest| earliest < now_ms.saturating_sub(when.max_lag_ms)),
        }
    }

    /// The time of the first batch of the oldest segment that was not compacted yet.
    fn earliest_dirty(&self, first_dirty: i64) -> Option<i64> {
        self.inactive_from(first_dirty).filter_map(Segment::first_timestamp).filter(|time| *time > 0).min()
    }

    /// When compaction is due without any more records; in the past when it is now.
    pub(crate) fn compaction_at(&self, when: &CompactWhen, stable: i64, now_ms: i64) -> Option<i64> {
        if self.segments().len() < 2 {
            return None;
        }
        let cleanable = self.cleanable(when, stable, now_ms);
        if cleanable.is_due(when) {
            return Some(i64::MIN);
        }
        let dirty = || self.inactive_from(cleanable.first_dirty).filter(|segment| segment.size() > 0);
        let ripe = dirty().map(|segment| segment.largest_timestamp().saturating_add(when.min_lag_ms));
        let late = self.earliest_dirty(cleanable.first_dirty).map(|earliest| earliest.saturating_add(when.max_lag_ms));
        ripe.chain(late).map(|time| time.saturating_add(1)).filter(|time| *time > now_ms).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::log::RollAt;
    use crate::storage::log::tests::{append, raw};

    const ANY: CompactWhen = CompactWhen { min_lag_ms: 0, max_lag_ms: i64::MAX, min_ratio: 0.5 };

    /// Segments of one batch with one record each, at these times.
    fn log(times: &[i64]) -> Log {
        let mut log = Log::default();
        for &time in times {
            append(&mut log, &raw(1, time, 100), 0, 0, RollAt { bytes: 100, age_ms: i64::MAX });
        }
        log
    }

    #[test]
    fn all_before_the_active_segment_can_be_compacted() {
        let cleanable = log(&[10, 20, 30]).cleanable(&ANY, 3, 1000);
        assert_eq!(cleanable, Cleanable { first_dirty: 0, end: 2, ratio: 1.0, is_late: false });
        assert!(cleanable.is_due(&ANY));
        assert!(!log(&[10]).cleanable(&ANY, 1, 1000).is_due(&ANY));
    }

    #[test]
    fn open_transactions_and_young_records_hold_it_back() {
        let log = log(&[10, 20, 30, 40]);
        assert_eq!(log.cleanable(&ANY, 1, 1000).end, 1);
        assert_eq!(log.cleanable(&ANY, 0, 1000).ratio, 0.0);
        let lag = CompactWhen { min_lag_ms: 100, ..ANY };
        assert_eq!([110, 120, 129, 130].map(|now_ms| log.cleanable(&lag, 4, now_ms).end), [1, 2, 2, 3]);
        assert_eq!(log.compaction_at(&lag, 4, 50), Some(111));
    }

    #[test]
    fn a_log_that_waited_for_long_is_compacted_whatever_the_ratio() {
        let mut log = log(&[10, 20, 30, 40]);
        log.set_clean_until(2);
        let when = CompactWhen { max_lag_ms: 100, ..ANY };
        let cleanable = log.cleanable(&when, 4, 130);
        assert_eq!((cleanable.first_dirty, cleanable.end, cleanable.is_late), (2, 3, false));
        assert!((cleanable.ratio - 1.0 / 3.0).abs() < 1e-9 && !cleanable.is_due(&when));
        assert_eq!(log.compaction_at(&when, 4, 130), Some(131));
        assert!(log.cleanable(&when, 4, 131).is_due(&when));
    }
}
