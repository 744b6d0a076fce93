//! Handing records out to members.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::share::delivery::{InFlight, InFlightBatch, RecordState, SharePartition, Tracking};
use crate::share::settings::ShareSettings;
use crate::storage::log::{BatchKind, LogBatch};
use crate::storage::partition::marker;
use crate::storage::transactions::Aborted;

/// Records that a member got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AcquiredRange {
    pub(crate) first: i64,
    /// Included.
    pub(crate) last: i64,
    /// This delivery included.
    pub(crate) deliveries: i32,
}

/// What a member wants, and what was read for it.
pub(crate) struct Acquire<'a> {
    pub(crate) member: &'a Arc<str>,
    /// Never more than `max_records` (KIP-1206). Otherwise whole batches.
    pub(crate) strict: bool,
    /// The preferred number of records in each range.
    pub(crate) batch_size: i32,
    pub(crate) max_records: i32,
    /// Where the log was read from.
    pub(crate) offset: i64,
    pub(crate) batches: &'a [LogBatch],
    /// The transactions to leave out, for groups that read committed records only.
    pub(crate) aborted: &'a [Aborted],
    pub(crate) settings: &'a ShareSettings,
    pub(crate) now_ms: i64,
}

impl Acquire<'_> {
    fn until(&self) -> Option<i64> {
        Some(self.now_ms.saturating_add(i64::from(self.settings.lock_ms)))
    }

    fn acquired(&self, deliveries: i32) -> InFlight {
        InFlight { state: RecordState::Acquired, deliveries, member: Some(self.member.clone()), until: self.until() }
    }

    /// The last offset of the batch with this offset, so that whole batches are handed out.
    fn end_of_batch_with(&self, offset: i64) -> i64 {
        let batch = self.batches.iter().take_while(|batch| batch.base_offset <= offset).last();
        batch.map_or(offset, |batch| batch.last_offset.max(offset))
    }

    /// From this number of deliveries on, fewer records are handed out together, so that a bad one is found.
    fn throttle_limit(&self) -> i32 {
        (self.settings.max_deliveries + 1) / 2
    }
}

/// Fewest deliveries after which records are handed out in smaller numbers.
const MIN_THROTTLE_LIMIT: i32 = 2;

impl SharePartition {
    /// Hands out what is available of the batches that were read.
    pub(crate) fn acquire(&mut self, wanted: &Acquire<'_>) -> Vec<AcquiredRange> {
        let (Some(first_read), Some(last_read)) = (wanted.batches.first(), wanted.batches.last()) else {
            return Vec::new();
        };
        if wanted.max_records <= 0 || last_read.last_offset < self.start_offset {
            return Vec::new();
        }
        let (last_offset, mut max) = self.limits(wanted, last_read.last_offset);
        if max <= 0 {
            return Vec::new();
        }
        let first_read = first_read.base_offset;
        self.archive_missing(wanted.offset, first_read);
        let base = match self.batches.range(..=first_read).next_back() {
            None => first_read.max(self.start_offset),
            Some((first, batch)) if batch.last >= first_read => *first,
            Some(_) => first_read,
        };
        let from = first_read.min(base);
        let known = |batches: &std::collections::BTreeMap<i64, InFlightBatch>| -> Vec<(i64, i64)> {
            if from > last_offset {
                return Vec::new();
            }
            batches.range(from..=last_offset).map(|(first, batch)| (*first, batch.last)).collect()
        };
        let in_flight = known(&self.batches);
        if in_flight.is_empty() {
            let acquired = self.acquire_new(wanted, base, last_offset, max);
            return self.without_aborted(wanted, acquired);
        }
        let mut acquired: Vec<AcquiredRange> = Vec::new();
        let mut number: i64 = 0;
        let mut gap_start = base;
        for (first, last) in in_flight {
            if number >= max {
                break;
            }
            if self.active_gap().is_some() {
                if gap_start < first {
                    let new = self.acquire_new(wanted, gap_start, first - 1, max - number);
                    number += new.iter().map(|range| range.last - range.first + 1).sum::<i64>();
                    acquired.extend(new);
                }
                gap_start = last + 1;
                if number >= max {
                    break;
                }
            }
            let throttled = self.is_throttled(wanted, first, first_read, last_offset);
            if throttled && number > 0 {
                max = 0;
                break;
            }
            let remaining = max - number;
            let is_whole = first >= first_read && last <= last_offset;
            let fits = !wanted.strict || last - first < remaining;
            let Some(batch) = self.batches.get_mut(&first) else { continue };
            match &mut batch.tracking {
                Tracking::Whole(whole) if whole.state != RecordState::Available => continue,
                Tracking::Whole(whole) if is_whole && fits && !throttled => {
                    *whole = wanted.acquired(whole.deliveries + 1);
                    acquired.push(AcquiredRange { first, last, deliveries: whole.deliveries });
                    number += last - first + 1;
                    continue;
                }
                _ => {}
            }
            let some = self.acquire_some(wanted, first, (first_read, last_offset), remaining, &mut acquired);
            number += some;
            if throttled && some > 0 {
                max = 0;
                break;
            }
        }
        let last_in_flight = known(&self.batches).last().map(|(_, last)| *last);
        if let Some(last) = last_in_flight.filter(|last| number < max && *last < last_offset) {
            acquired.extend(self.acquire_new(wanted, last + 1, last_offset, max - number));
        }
        if let Some(last) = acquired.last() {
            self.gap_goes_on_at(last.last + 1);
        }
        self.without_aborted(wanted, acquired)
    }

    /// The last offset to hand out, and how many records.
    fn limits(&self, wanted: &Acquire<'_>, last_read: i64) -> (i64, i64) {
        let asked = i64::from(wanted.max_records);
        let room = i64::from(wanted.settings.max_locks) - self.in_flight();
        if asked.min(room) > 0 {
            return (last_read, asked.min(room));
        }
        if wanted.offset <= self.end_offset {
            // What is in flight already may be handed out again.
            return (last_read.min(self.end_offset), asked.min(self.end_offset - wanted.offset + 1));
        }
        (last_read, 0)
    }

    /// The log has nothing between these offsets any more, as after a compaction.
    fn archive_missing(&mut self, from: i64, to: i64) {
        if self.batches.is_empty() || from >= to {
            return;
        }
        let first = match self.batches.range(..=from).next_back() {
            Some((first, batch)) if batch.last >= from => *first,
            _ => from,
        };
        let firsts: Vec<i64> = self.batches.range(first..to).map(|(first, _)| *first).collect();
        self.look_back |= self.archive(&firsts, from, to - 1, RecordState::Available, true);
    }

    /// Hands out records that were never delivered.
    fn acquire_new(&mut self, wanted: &Acquire<'_>, first: i64, last: i64, max: i64) -> Vec<AcquiredRange> {
        let first = if self.batches.is_empty() { first.max(self.end_offset) } else { first };
        let mut end = last;
        if max < last - first + 1 {
            end = wanted.end_of_batch_with(first + max - 1);
            if self.active_gap().is_some() {
                end = end.min(last);
            }
        }
        let mut ranges = Vec::new();
        let mut from = first;
        if !wanted.strict && end - first >= i64::from(wanted.batch_size) {
            for batch in wanted.batches.iter().take_while(|batch| batch.base_offset <= end) {
                let base = batch.base_offset;
                if base > from && base - from >= i64::from(wanted.batch_size) {
                    ranges.push(AcquiredRange { first: from, last: base - 1, deliveries: 1 });
                    from = base;
                }
            }
        }
        ranges.push(AcquiredRange { first: from, last: end, deliveries: 1 });
        let kept = first + max - 1;
        if wanted.strict && end > kept {
            // The rest of the batch is available to others.
            let mut batch = InFlightBatch { last: end, tracking: Tracking::Whole(wanted.acquired(1)) };
            for state in batch.split(first).range_mut(kept + 1..).map(|(_, state)| state) {
                *state = InFlight { state: RecordState::Available, deliveries: 0, member: None, until: None };
            }
            self.batches.insert(first, batch);
            self.look_back = true;
            ranges = vec![AcquiredRange { first, last: kept, deliveries: 1 }];
        } else {
            for range in &ranges {
                let tracking = Tracking::Whole(wanted.acquired(1));
                self.batches.insert(range.first, InFlightBatch { last: range.last, tracking });
            }
        }
        if self.batches.first_key_value().is_some_and(|(key, _)| *key == first) {
            self.start_offset = first;
        }
        self.end_offset = self.end_offset.max(end);
        let handed_out = if wanted.strict { ranges[0].last } else { end };
        self.gap_goes_on_at(handed_out + 1);
        ranges
    }

    /// Whether records of a batch were delivered so often that they are handed out in smaller numbers.
    fn is_throttled(&self, wanted: &Acquire<'_>, first: i64, from: i64, to: i64) -> bool {
        let limit = wanted.throttle_limit().max(MIN_THROTTLE_LIMIT);
        let Some(batch) = self.batches.get(&first) else { return false };
        let is_asked = |offset: i64| offset >= from && offset <= to;
        batch.parts(first).into_iter().any(|(offset, last, state)| {
            let counts = offset != last || matches!(batch.tracking, Tracking::Whole(_)) || is_asked(offset);
            counts && state.state == RecordState::Available && state.deliveries >= limit
        })
    }

    /// Hands out what is available of one batch between two offsets, record by record; says how many that are.
    fn acquire_some(
        &mut self,
        wanted: &Acquire<'_>,
        first: i64,
        (from, to): (i64, i64),
        max: i64,
        acquired: &mut Vec<AcquiredRange>,
    ) -> i64 {
        let max_deliveries = wanted.settings.max_deliveries;
        let limit = wanted.throttle_limit().max(MIN_THROTTLE_LIMIT);
        let Some(batch) = self.batches.get_mut(&first) else { return 0 };
        let states = batch.split(first);
        let size = states.len();
        let mut most_while_throttled = None;
        let mut number = 0;
        let mut ranges: Vec<AcquiredRange> = Vec::new();
        let from = from.min(to + 1);
        for (&offset, state) in states.range_mut(from..=to) {
            if state.state != RecordState::Available {
                continue;
            }
            // A record on its last delivery goes alone.
            if max_deliveries > 2 && state.deliveries == max_deliveries - 1 && number > 0 {
                break;
            }
            if state.deliveries >= limit && most_while_throttled.is_none() {
                let shift = u32::try_from(state.deliveries - limit + 1).unwrap_or(u32::MAX);
                most_while_throttled = Some(i64::try_from(size.checked_shr(shift).unwrap_or(0)).unwrap_or(1).max(1));
            }
            *state = wanted.acquired(state.deliveries + 1);
            number += 1;
            let deliveries = state.deliveries;
            match ranges.last_mut() {
                Some(range) if range.last + 1 == offset && range.deliveries == deliveries => range.last = offset,
                _ => ranges.push(AcquiredRange { first: offset, last: offset, deliveries }),
            }
            let is_last_delivery = deliveries == max_deliveries && max_deliveries > 2;
            if is_last_delivery || wanted.strict && number == max || most_while_throttled == Some(number) {
                break;
            }
        }
        acquired.extend(ranges);
        number
    }

    /// What was acquired without what aborted transactions wrote, which is archived at once.
    fn without_aborted(&mut self, wanted: &Acquire<'_>, acquired: Vec<AcquiredRange>) -> Vec<AcquiredRange> {
        let mut left = acquired;
        for batch in aborted_batches(wanted.batches, wanted.aborted) {
            let (first, last) = (batch.base_offset, batch.last_offset);
            let Some(floor) = self.batches.range(..=first).next_back().map(|(key, _)| *key) else { continue };
            let firsts: Vec<i64> = self.batches.range(floor..=last).map(|(key, _)| *key).collect();
            self.archive(&firsts, first, last, RecordState::Acquired, true);
            let outside = |range: AcquiredRange| {
                let before = AcquiredRange { last: range.last.min(first - 1), ..range };
                let after = AcquiredRange { first: range.first.max(last + 1), ..range };
                [before, after].into_iter().filter(|range| range.first <= range.last)
            };
            left = left.into_iter().flat_map(outside).collect();
        }
        left
    }
}

/// The batches of aborted transactions.
fn aborted_batches<'a>(batches: &'a [LogBatch], aborted: &[Aborted]) -> Vec<&'a LogBatch> {
    let mut pending = aborted.to_vec();
    pending.sort_by_key(|one| one.first_offset);
    let mut pending = pending.into_iter().peekable();
    let mut producers = BTreeSet::new();
    let mut found = Vec::new();
    for batch in batches {
        let Some(sequence) = batch.sequence else { continue };
        while let Some(one) = pending.next_if(|one| one.first_offset <= batch.last_offset) {
            producers.insert(one.producer_id);
        }
        match batch.kind {
            BatchKind::Control if marker(batch).is_some_and(|(commits, _)| !commits) => {
                _ = producers.remove(&sequence.producer_id)
            }
            BatchKind::Transactional if producers.contains(&sequence.producer_id) => found.push(batch),
            _ => {}
        }
    }
    found
}
