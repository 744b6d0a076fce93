//! What a share group does with a partition: which records are out, with which member and until when, and which are done.
//!
//! Records between the start and the end offset are in flight: available, acquired, acknowledged or archived. They are kept as
//! they were handed out, in batches; a batch whose records went different ways is tracked by offset. When everything up to
//! some offset is done, the start offset moves.
//!
//! It is a state machine: time comes in as an argument, and what has to last goes out as [`Change`]s.

mod acknowledge;
mod acquire;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use milena_messages::ErrorCode;

pub(crate) use self::acknowledge::{Acknowledgement, Change};
pub(crate) use self::acquire::{Acquire, AcquiredRange};
use crate::share::ShareRefusal;
use crate::share::combine::StateBatch;
use crate::share::settings::ShareSettings;
use crate::share::state::ShareState;

/// Where a record is on its way. The numbers are those of Kafka's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordState {
    Available = 0,
    Acquired = 1,
    Acknowledged = 2,
    Archived = 4,
}

impl RecordState {
    fn from_number(number: i8) -> Option<Self> {
        match number {
            0 => Some(Self::Available),
            1 => Some(Self::Acquired),
            2 => Some(Self::Acknowledged),
            // 3 is on its way to a dead letter queue, and would be archived next.
            3 | 4 => Some(Self::Archived),
            _ => None,
        }
    }

    fn is_final(self) -> bool {
        matches!(self, Self::Acknowledged | Self::Archived)
    }
}

/// The state of one record, or of all records of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InFlight {
    state: RecordState,
    deliveries: i32,
    /// The member that acquired it.
    member: Option<Arc<str>>,
    /// When its lock ends.
    until: Option<i64>,
}

impl InFlight {
    fn is_held_by(&self, member: &str) -> bool {
        self.member.as_deref() == Some(member)
    }

    /// Gives up the lock. A record that was delivered too often is not available again.
    fn release(&mut self, to: RecordState, max_deliveries: i32) {
        self.state = match to {
            RecordState::Available if self.deliveries >= max_deliveries => RecordState::Archived,
            to => to,
        };
        self.member = None;
        self.until = None;
    }

    fn change(&self, first: i64, last: i64) -> StateBatch {
        let deliveries = i16::try_from(self.deliveries).unwrap_or(i16::MAX);
        StateBatch { first, last, state: self.state as i8, deliveries }
    }
}

/// How a batch is tracked.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Tracking {
    Whole(InFlight),
    Each(BTreeMap<i64, InFlight>),
}

/// A batch in flight; its first offset is its key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InFlightBatch {
    last: i64,
    tracking: Tracking,
}

impl InFlightBatch {
    /// Tracks each offset by itself from now on.
    fn split(&mut self, first: i64) -> &mut BTreeMap<i64, InFlight> {
        if let Tracking::Whole(whole) = &self.tracking {
            self.tracking = Tracking::Each((first..=self.last).map(|offset| (offset, whole.clone())).collect());
        }
        match &mut self.tracking {
            Tracking::Each(each) => each,
            Tracking::Whole(_) => unreachable!("it was split just now"),
        }
    }

    /// The states with the offsets they are for.
    fn parts(&self, first: i64) -> Vec<(i64, i64, &InFlight)> {
        match &self.tracking {
            Tracking::Whole(whole) => vec![(first, self.last, whole)],
            Tracking::Each(each) => each.iter().map(|(offset, state)| (*offset, *offset, state)).collect(),
        }
    }
}

/// Offsets between batches that a replay brought back, which were never delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    /// The end offset at the replay. When more is acquired, there are no gaps left.
    end_offset: i64,
    start: i64,
}

/// A partition as the leader hands it out to one share group.
#[derive(Clone, Debug)]
pub(crate) struct SharePartition {
    leader_epoch: i32,
    state_epoch: i32,
    batches: BTreeMap<i64, InFlightBatch>,
    start_offset: i64,
    /// The last offset in flight; the next one to acquire when nothing is in flight.
    end_offset: i64,
    /// Something before the end may be available.
    look_back: bool,
    gap: Option<Gap>,
    /// Records in flight that are done.
    complete_count: i32,
}

impl SharePartition {
    /// The partition as the share coordinator knows it, from this offset on.
    ///
    /// # Errors
    /// The state makes no sense.
    pub(crate) fn load(state: &ShareState, leader_epoch: i32, start_offset: i64) -> Result<Self, ShareRefusal> {
        let mut partition = Self {
            leader_epoch,
            state_epoch: state.state_epoch,
            batches: BTreeMap::new(),
            start_offset,
            end_offset: start_offset,
            look_back: false,
            gap: None,
            complete_count: 0,
        };
        let failed = || ShareRefusal::new(ErrorCode::UNKNOWN_SERVER_ERROR, "Failed to initialize the share partition");
        let mut gap = None;
        let mut previous = start_offset - 1;
        for batch in &state.batches {
            let known = RecordState::from_number(batch.state).filter(|_| batch.first >= start_offset);
            let (Some(state), true) = (known, batch.first <= batch.last) else { return Err(failed()) };
            if gap.is_none() && batch.first > previous + 1 {
                gap = Some(previous + 1);
            }
            previous = batch.last;
            if state.is_final() {
                partition.complete_count = partition.complete_count.saturating_add(count(batch.first, batch.last));
            }
            let whole = InFlight { state, deliveries: batch.deliveries.into(), member: None, until: None };
            let tracking = Tracking::Whole(whole);
            partition.batches.insert(batch.first, InFlightBatch { last: batch.last, tracking });
        }
        if let Some((_, last)) = partition.batches.last_key_value() {
            partition.look_back = true;
            partition.end_offset = last.last;
            partition.gap = gap.map(|start| Gap { end_offset: last.last, start });
            partition.move_start();
        }
        Ok(partition)
    }

    pub(crate) fn leader_epoch(&self) -> i32 {
        self.leader_epoch
    }

    pub(crate) fn state_epoch(&self) -> i32 {
        self.state_epoch
    }

    pub(crate) fn start_offset(&self) -> i64 {
        self.start_offset
    }

    pub(crate) fn complete_count(&self) -> i32 {
        self.complete_count
    }

    /// When a lock ends.
    pub(crate) fn next_deadline(&self) -> Option<i64> {
        let of_batch = |batch: &InFlightBatch| match &batch.tracking {
            Tracking::Whole(whole) => whole.until,
            Tracking::Each(each) => each.values().filter_map(|state| state.until).min(),
        };
        self.batches.values().filter_map(of_batch).min()
    }

    /// Records that are out with members, each with its member and how often it was delivered.
    pub(crate) fn acquired(&self) -> Vec<(i64, i64, &str, i32)> {
        let mut all = Vec::new();
        for (first, batch) in &self.batches {
            for (first, last, state) in batch.parts(*first) {
                if state.state == RecordState::Acquired {
                    all.push((first, last, state.member.as_deref().unwrap_or_default(), state.deliveries));
                }
            }
        }
        all
    }

    /// Where to read next.
    pub(crate) fn next_offset(&mut self) -> i64 {
        let last_in_flight = self.batches.last_key_value().map(|(_, last)| last.last);
        let nothing_in_flight = last_in_flight.is_none_or(|last| self.start_offset > last);
        if !self.look_back || nothing_in_flight {
            self.look_back = false;
            return if nothing_in_flight { self.end_offset } else { self.end_offset + 1 };
        }
        let mut gap_start = self.active_gap().map(|gap| gap.start);
        for (first, batch) in &self.batches {
            if let Some(start) = gap_start {
                if *first > start {
                    return start;
                }
                gap_start = Some(start.max(batch.last + 1));
            }
            let available = batch.parts(*first).into_iter().find(|(.., state)| state.state == RecordState::Available);
            if let Some((offset, ..)) = available {
                return offset;
            }
        }
        self.look_back = false;
        self.end_offset + 1
    }

    /// Whether a member can get more: there is something available, or fewer records are in flight than allowed.
    pub(crate) fn can_acquire(&mut self, settings: &ShareSettings) -> bool {
        self.next_offset() != self.end_offset + 1 || self.in_flight() < i64::from(settings.max_locks)
    }

    /// How many records are in flight, done or not.
    fn in_flight(&self) -> i64 {
        if self.batches.is_empty() { 0 } else { self.end_offset - self.start_offset + 1 }
    }

    fn active_gap(&self) -> Option<Gap> {
        self.gap.filter(|gap| gap.end_offset == self.end_offset)
    }

    fn gap_goes_on_at(&mut self, offset: i64) {
        self.gap = self.active_gap().filter(|gap| offset <= gap.end_offset).map(|gap| Gap { start: offset, ..gap });
    }

    /// Whether the start offset is inside of these offsets.
    fn starts_inside(&self, first: i64, last: i64) -> bool {
        first < self.start_offset && last >= self.start_offset
    }

    /// Records of a batch at or after the start offset.
    fn count_in_flight(&self, first: i64, last: i64) -> i32 {
        if last >= self.start_offset { count(first.max(self.start_offset), last) } else { 0 }
    }

    /// The log begins later than it did: what is before and was not out is archived.
    pub(crate) fn log_starts_at(&mut self, log_start: i64) {
        if log_start <= self.start_offset {
            return;
        }
        if self.batches.is_empty() {
            (self.start_offset, self.end_offset, self.complete_count) = (log_start, log_start, 0);
            return;
        }
        let mut done = 0;
        for (first, batch) in self.batches.range(..log_start) {
            for (first, last, state) in batch.parts(*first) {
                let (first, last) = (first.max(self.start_offset), last.min(log_start - 1));
                if state.state.is_final() && first <= last {
                    done += count(first, last);
                }
            }
        }
        let firsts: Vec<i64> = self.batches.range(..log_start).map(|(first, _)| *first).collect();
        self.look_back |= self.archive(&firsts, self.start_offset, log_start - 1, RecordState::Available, false);
        self.start_offset = log_start;
        self.complete_count -= done;
        self.end_offset = self.end_offset.max(self.start_offset);
    }

    /// Archives records of these batches between two offsets that are in the state `from`.
    fn archive(&mut self, firsts: &[i64], first: i64, last: i64, from: RecordState, counts: bool) -> bool {
        let mut any = false;
        for start in firsts {
            let Some(batch) = self.batches.get_mut(start) else { continue };
            let archive = |state: &mut InFlight| {
                state.state = RecordState::Archived;
                state.member = None;
                state.until = None;
            };
            let is_inside = *start >= first && batch.last <= last;
            match &mut batch.tracking {
                Tracking::Whole(whole) if whole.state != from => {}
                Tracking::Whole(whole) if is_inside => {
                    archive(whole);
                    any = true;
                    if counts {
                        self.complete_count = self.complete_count.saturating_add(count(*start, batch.last));
                    }
                }
                _ => {
                    for state in batch.split(*start).range_mut(first.min(last + 1)..=last).map(|(_, state)| state) {
                        if state.state == from {
                            archive(state);
                            any = true;
                            self.complete_count += i32::from(counts);
                        }
                    }
                }
            }
        }
        any
    }

    /// Moves the start offset over what is done, and forgets it. Says whether it moved.
    pub(crate) fn move_start(&mut self) -> bool {
        if !self.start_is_done() {
            return false;
        }
        let (done, passed) = self.last_done();
        let (Some(done), Some((_, last))) = (done, self.batches.last_key_value()) else { return false };
        if done == last.last {
            (self.start_offset, self.end_offset) = (done + 1, done + 1);
            self.batches.clear();
            self.complete_count = 0;
            return true;
        }
        let Some((&key, batch)) = self.batches.range(..=done).next_back() else { return false };
        if done == batch.last {
            let next = self.batches.range(key + 1..).next().map_or(done + 1, |(next, _)| *next);
            self.start_offset = self.start_offset.max(next);
            if let Some(gap) = self.active_gap() {
                self.start_offset = self.start_offset.min(gap.start);
            }
            self.batches = self.batches.split_off(&(key + 1));
        } else {
            self.start_offset = self.start_offset.max(done + 1);
            self.batches = self.batches.split_off(&key);
        }
        self.complete_count -= passed;
        true
    }

    fn start_is_done(&self) -> bool {
        let Some((_, batch)) = self.batches.range(..=self.start_offset).next_back() else { return false };
        let state = match &batch.tracking {
            Tracking::Whole(whole) => Some(whole.state),
            Tracking::Each(each) => each.get(&self.start_offset).map(|state| state.state),
        };
        state.is_some_and(RecordState::is_final)
    }

    /// The last offset up to which everything is done, and how many records in flight that are.
    fn last_done(&self) -> (Option<i64>, i32) {
        let (mut done, mut passed) = (None, 0);
        for (first, batch) in &self.batches {
            if self.active_gap().is_some_and(|gap| batch.last >= gap.start) {
                break;
            }
            for (first, last, state) in batch.parts(*first) {
                if !state.state.is_final() {
                    return (done, passed);
                }
                done = Some(last);
                passed += self.count_in_flight(first, last);
            }
        }
        (done, passed)
    }
}

fn count(first: i64, last: i64) -> i32 {
    i32::try_from(last - first + 1).unwrap_or(i32::MAX)
}
