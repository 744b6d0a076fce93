//! What members say about records that they got, and what happens to records that they keep for too long.

use milena_messages::ErrorCode;

use crate::share::ShareRefusal;
use crate::share::combine::StateBatch;
use crate::share::delivery::{InFlight, InFlightBatch, RecordState, SharePartition, Tracking};
use crate::share::settings::ShareSettings;

/// The verdict of a member on records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Becomes(RecordState),
    /// The lock begins again (KIP-1222).
    Renew,
}

impl Verdict {
    fn of(kind: i8) -> Option<Self> {
        match kind {
            // 0 is for offsets without a record.
            0 | 3 => Some(Self::Becomes(RecordState::Archived)),
            1 => Some(Self::Becomes(RecordState::Acknowledged)),
            2 => Some(Self::Becomes(RecordState::Available)),
            4 => Some(Self::Renew),
            _ => None,
        }
    }
}

/// Verdicts on a range of offsets: one for all, or one for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    pub(crate) first: i64,
    /// Included.
    pub(crate) last: i64,
    /// Never empty; when there are several, as many as offsets.
    pub(crate) kinds: Vec<i8>,
}

impl Acknowledgement {
    fn kind_of(&self, offset: i64) -> i8 {
        let at = usize::try_from(offset - self.first).unwrap_or(0);
        if self.kinds.len() > 1 { self.kinds.get(at).copied().unwrap_or(-1) } else { self.kinds[0] }
    }
}

/// What changed and has to last, and how it was before.
#[derive(Debug, Default)]
pub(crate) struct Change {
    pub(crate) batches: Vec<StateBatch>,
    before: Vec<(i64, Option<i64>, InFlight)>,
    complete_count: i32,
}

fn invalid_state(message: &str) -> ShareRefusal {
    ShareRefusal::new(ErrorCode::INVALID_RECORD_STATE, message)
}

impl SharePartition {
    fn begin_change(&self) -> Change {
        Change { complete_count: self.complete_count, ..Change::default() }
    }

    /// Takes a change back that could not be kept.
    pub(crate) fn undo(&mut self, change: Change) {
        self.complete_count = change.complete_count;
        for (first, offset, before) in change.before.into_iter().rev() {
            let Some(batch) = self.batches.get_mut(&first) else { continue };
            match (&mut batch.tracking, offset) {
                (Tracking::Whole(whole), None) => *whole = before,
                (Tracking::Each(each), Some(offset)) => _ = each.insert(offset, before),
                // A batch that was split since has the state in each of its parts.
                (Tracking::Each(each), None) => each.values_mut().for_each(|state| *state = before.clone()),
                (Tracking::Whole(_), Some(_)) => {}
            }
        }
    }

    /// The change is kept: the start offset may move, and records may be available again.
    pub(crate) fn keep(&mut self, change: &Change) {
        self.look_back |= change.batches.iter().any(|batch| batch.state == RecordState::Available as i8);
        self.move_start();
    }

    /// Carries out the verdicts of a member, all or none.
    ///
    /// # Errors
    /// Records are not out with this member.
    pub(crate) fn acknowledge(
        &mut self,
        member: &str,
        verdicts: &[Acknowledgement],
        settings: &ShareSettings,
        now_ms: i64,
    ) -> Result<Change, ShareRefusal> {
        let mut change = self.begin_change();
        for verdict in verdicts {
            if verdict.last < self.start_offset {
                continue;
            }
            if let Err(refusal) = self.acknowledge_range(member, verdict, settings, now_ms, &mut change) {
                self.undo(change);
                return Err(refusal);
            }
        }
        Ok(change)
    }

    fn acknowledge_range(
        &mut self,
        member: &str,
        verdict: &Acknowledgement,
        settings: &ShareSettings,
        now_ms: i64,
        change: &mut Change,
    ) -> Result<(), ShareRefusal> {
        for first in self.batches_of(verdict)? {
            let start_offset = self.start_offset;
            let Some(last) = self.batches.get(&first).map(|batch| batch.last).filter(|last| *last >= start_offset)
            else {
                continue;
            };
            let starts_inside = self.starts_inside(first, last);
            let counts = |state: &InFlight, first, last| {
                if state.state.is_final() { super::count(first, last) } else { 0 }
            };
            let Some(batch) = self.batches.get_mut(&first) else { continue };
            if let Tracking::Whole(whole) = &mut batch.tracking {
                if whole.member.is_none() {
                    let message = "The batch cannot be acknowledged. The batch is not in the acquired state.";
                    return Err(invalid_state(message));
                }
                if !whole.is_held_by(member) {
                    return Err(invalid_state("Member is not the owner of batch record"));
                }
                let is_whole = first >= verdict.first && last <= verdict.last;
                if is_whole && verdict.kinds.len() == 1 && !starts_inside {
                    let before = whole.clone();
                    if judge(whole, verdict.kinds[0], settings, now_ms)? {
                        change.batches.push(whole.change(first, last));
                        self.complete_count += counts(whole, first, last);
                        change.before.push((first, None, before));
                    }
                    continue;
                }
            }
            let from = verdict.first.max(start_offset);
            if from > verdict.last {
                continue;
            }
            for (&offset, state) in batch.split(first).range_mut(from..=verdict.last) {
                if state.state != RecordState::Acquired {
                    let message = "The offset cannot be acknowledged. The offset is not acquired.";
                    return Err(invalid_state(message));
                }
                if !state.is_held_by(member) {
                    return Err(invalid_state("Member is not the owner of offset"));
                }
                let before = state.clone();
                if judge(state, verdict.kind_of(offset), settings, now_ms)? {
                    change.batches.push(state.change(offset, offset));
                    self.complete_count += counts(state, offset, offset);
                    change.before.push((first, Some(offset), before));
                }
            }
        }
        Ok(())
    }

    /// The first offsets of the batches in flight that a verdict is about.
    fn batches_of(&self, verdict: &Acknowledgement) -> Result<Vec<i64>, ShareRefusal> {
        let floor = |offset: i64| self.batches.range(..=offset).next_back().map(|(first, _)| *first);
        let from = match floor(verdict.first) {
            Some(first) => first,
            None if !self.starts_inside(verdict.first, verdict.last) => {
                let message = "Batch record not found. The request batch offsets are not found in the cache.";
                return Err(invalid_state(message));
            }
            None => floor(self.start_offset).ok_or_else(|| ShareRefusal::of(ErrorCode::UNKNOWN_SERVER_ERROR))?,
        };
        let invalid = |which: &str| {
            let message = format!("Batch record not found. The {which} offset in request is past acquired records.");
            ShareRefusal::new(ErrorCode::INVALID_REQUEST, message)
        };
        let found: Vec<(i64, i64)> =
            self.batches.range(from..=verdict.last.max(from)).map(|(first, batch)| (*first, batch.last)).collect();
        let last = found.last().map_or(from, |(_, last)| *last);
        if last < verdict.first {
            return Err(invalid("first"));
        }
        if verdict.last > last {
            return Err(invalid("last"));
        }
        Ok(found.into_iter().map(|(first, _)| first).collect())
    }

    /// A member goes: what it has is available to others.
    pub(crate) fn release(&mut self, member: &str, settings: &ShareSettings) -> Change {
        self.give_back(|state| state.is_held_by(member), settings)
    }

    /// Locks that ended by this time are given up.
    pub(crate) fn expire(&mut self, now_ms: i64, settings: &ShareSettings) -> Change {
        self.give_back(|state| state.until.is_some_and(|until| until <= now_ms), settings)
    }

    fn give_back(&mut self, which: impl Fn(&InFlight) -> bool, settings: &ShareSettings) -> Change {
        let mut change = self.begin_change();
        let start_offset = self.start_offset;
        let gives = |state: &InFlight| state.state == RecordState::Acquired && which(state);
        let mut complete = 0;
        let mut give = |state: &mut InFlight, key: i64, offset: Option<i64>, (first, last): (i64, i64)| {
            let before = state.clone();
            // What the start offset has passed is gone.
            let to = if last < start_offset { RecordState::Archived } else { RecordState::Available };
            state.release(to, settings.max_deliveries);
            change.batches.push(state.change(first, last));
            change.before.push((key, offset, before));
            if state.state.is_final() && last >= start_offset {
                complete += super::count(first.max(start_offset), last);
            }
        };
        for (&first, batch) in &mut self.batches {
            let InFlightBatch { last, tracking } = batch;
            let starts_inside = first < start_offset && *last >= start_offset;
            match tracking {
                Tracking::Whole(whole) if !gives(whole) => continue,
                Tracking::Whole(whole) if !starts_inside => {
                    give(whole, first, None, (first, *last));
                    continue;
                }
                _ => {}
            }
            for (&offset, state) in batch.split(first).iter_mut().filter(|(_, state)| gives(state)) {
                give(state, first, Some(offset), (offset, offset));
            }
        }
        self.complete_count += complete;
        change
    }
}

/// Carries out a verdict on what is out with the member; says whether its state changed.
fn judge(state: &mut InFlight, kind: i8, settings: &ShareSettings, now_ms: i64) -> Result<bool, ShareRefusal> {
    match Verdict::of(kind) {
        Some(Verdict::Becomes(to)) => {
            state.release(to, settings.max_deliveries);
            Ok(true)
        }
        Some(Verdict::Renew) if settings.may_renew => {
            state.until = Some(now_ms.saturating_add(i64::from(settings.lock_ms)));
            Ok(false)
        }
        Some(Verdict::Renew) => Err(invalid_state("Renewing acquisition locks is not enabled for the group.")),
        None => Err(ShareRefusal::new(ErrorCode::INVALID_REQUEST, format!("Invalid acknowledge type: {kind}"))),
    }
}
