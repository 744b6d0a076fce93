//! How a member moves from the tasks it has to its target.

use std::collections::{BTreeMap, BTreeSet};

use milena_messages::ErrorCode;

use crate::group::consumer::{MemberState, Refused};
use crate::group::streams::{Owned, StreamsGroup, StreamsMember, Target, Task};

/// The tasks that a member says it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reported {
    pub(super) active: BTreeSet<Task>,
    pub(super) standby: BTreeSet<Task>,
    pub(super) warmup: BTreeSet<Task>,
}

impl Reported {
    fn is_empty(&self) -> bool {
        self.active.is_empty() && self.standby.is_empty() && self.warmup.is_empty()
    }

    fn has_any(&self, owned: &Owned) -> bool {
        self.active.iter().any(|task| owned.active.contains_key(task))
            || self.standby.iter().any(|task| owned.standby.contains(task))
    }
}

/// A member that does not say what it has, has all of it.
fn has_not_released(reported: Option<&Reported>, pending: &Owned) -> bool {
    reported.is_none_or(|reported| reported.has_any(pending))
}

/// Who runs what now, tasks that have to be given up included.
struct Holders<'a> {
    active: BTreeMap<&'a Task, &'a str>,
    standby: BTreeMap<&'a Task, BTreeSet<&'a str>>,
}

impl StreamsGroup {
    /// The next state of a member on its way to the target of an epoch.
    ///
    /// # Errors
    /// The member has to join again.
    pub(super) fn reconcile(
        &self,
        member: &StreamsMember,
        epoch: i32,
        target: &Target,
        reported: Option<&Reported>,
    ) -> Result<StreamsMember, Refused> {
        match member.state {
            MemberState::Stable if member.epoch == epoch => Ok(member.clone()),
            MemberState::Stable | MemberState::UnreleasedPartitions => {
                Ok(self.next(member, member.epoch, epoch, target, reported))
            }
            MemberState::UnrevokedPartitions if has_not_released(reported, &member.pending) => Ok(member.clone()),
            MemberState::UnrevokedPartitions => Ok(self.next(member, member.epoch + 1, epoch, target, reported)),
            MemberState::Unknown if reported.is_none_or(|reported| !reported.is_empty()) => {
                let message = "The streams group member is in a unknown state. The member must abandon all its tasks and \
                               rejoin.";
                Err(Refused { code: ErrorCode::FENCED_MEMBER_EPOCH, message: message.to_owned() })
            }
            MemberState::Unknown => Ok(self.next(member, epoch, epoch, target, reported)),
        }
    }

    fn next(
        &self,
        member: &StreamsMember,
        member_epoch: i32,
        epoch: i32,
        target: &Target,
        reported: Option<&Reported>,
    ) -> StreamsMember {
        let holders = self.holders();
        let own = &*member.process_id;
        let (mut kept, mut revoked) = (Owned::default(), Owned::default());
        for (task, since) in &member.assigned.active {
            let place = if target.active.contains(task) { &mut kept } else { &mut revoked };
            place.active.insert(task.clone(), *since);
        }
        for task in &member.assigned.standby {
            let place = if target.standby.contains(task) { &mut kept } else { &mut revoked };
            place.standby.insert(task.clone());
        }
        let mut waits = false;
        let mut new = Owned::default();
        let holds_copy = |task: &Task| holders.standby.get(task).is_some_and(|all| all.contains(own));
        for task in target.active.iter().filter(|task| !kept.active.contains_key(*task)) {
            let copy_elsewhere = holds_copy(task) && !member.assigned.standby.contains(task);
            if holders.active.contains_key(task) || copy_elsewhere {
                waits = true;
            } else {
                new.active.insert(task.clone(), epoch);
            }
        }
        let missing: Vec<&Task> = target.standby.iter().filter(|task| !kept.standby.contains(*task)).collect();
        for task in missing {
            let runs_here = holders.active.get(task) == Some(&own);
            if runs_here && !member.assigned.active.contains_key(task) || holds_copy(task) {
                waits = true;
            } else if member.assigned.active.contains_key(task) {
                // Its state is here already.
                kept.standby.insert(task.clone());
            } else {
                new.standby.insert(task.clone());
            }
        }
        // A copy that becomes the task itself is not given up: it stays until the task is free.
        let promoted: Vec<&Task> =
            member.assigned.standby.iter().filter(|task| target.active.contains(*task)).collect();
        promoted.iter().for_each(|task| _ = revoked.standby.remove(*task));
        let revokes = !revoked.is_empty() && has_not_released(reported, &revoked);
        for task in promoted {
            if revokes || !new.active.contains_key(task) {
                kept.standby.insert(task.clone());
            }
        }
        if revokes {
            return StreamsMember {
                state: MemberState::UnrevokedPartitions,
                previous_epoch: member.epoch,
                epoch: member_epoch,
                assigned: kept,
                pending: revoked,
                ..member.clone()
            };
        }
        kept.active.extend(new.active);
        kept.standby.extend(new.standby);
        StreamsMember {
            state: if waits { MemberState::UnreleasedPartitions } else { MemberState::Stable },
            previous_epoch: member.epoch,
            epoch,
            assigned: kept,
            pending: Owned::default(),
            ..member.clone()
        }
    }

    fn holders(&self) -> Holders<'_> {
        let mut holders = Holders { active: BTreeMap::new(), standby: BTreeMap::new() };
        for member in self.members.values() {
            for owned in [&member.assigned, &member.pending] {
                holders.active.extend(owned.active.keys().map(|task| (task, &*member.process_id)));
                for task in &owned.standby {
                    holders.standby.entry(task).or_default().insert(&member.process_id);
                }
            }
        }
        holders
    }
}
