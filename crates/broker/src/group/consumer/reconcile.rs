//! How a member moves from what it has to its target.

use std::collections::BTreeSet;

use milena_messages::consumer_group_heartbeat::request::TopicPartitions;
use milena_messages::{ErrorCode, Uuid};

use crate::group::consumer::{ConsumerGroup, ConsumerMember, LEAVE_STATIC, MemberState, Owned, Refused, refused};

/// What a heartbeat says about the member.
pub(super) struct Report<'a> {
    /// What the member says it has.
    pub(super) owned: Option<&'a [TopicPartitions]>,
    pub(super) subscription_changed: bool,
    /// Ids of the topics that it subscribed to.
    pub(super) subscribed: BTreeSet<Uuid>,
}

impl Report<'_> {
    /// A member that does not say what it has, has all of it.
    fn owns_any(&self, revoked: &Owned) -> bool {
        let Some(owned) = self.owned else { return true };
        owned.iter().any(|topic| topic.partitions.iter().any(|index| revoked.contains_key(&(topic.topic_id, *index))))
    }
}

impl ConsumerGroup {
    /// The next state of a member.
    ///
    /// # Errors
    /// The member has to join again.
    pub(super) fn reconcile(&self, member: &ConsumerMember, report: &Report<'_>) -> Result<ConsumerMember, Refused> {
        match member.state {
            MemberState::Stable if member.epoch != self.assignment_epoch => Ok(self.next(member, report)),
            MemberState::Stable if report.subscription_changed => Ok(without_unsubscribed(member, report)),
            MemberState::Stable => Ok(member.clone()),
            MemberState::UnrevokedPartitions if report.owns_any(&member.pending_revocation) => {
                if report.subscription_changed {
                    return Ok(without_unsubscribed(member, report));
                }
                Ok(member.clone())
            }
            MemberState::UnrevokedPartitions | MemberState::UnreleasedPartitions => Ok(self.next(member, report)),
            MemberState::Unknown => {
                if report.owned.is_none_or(|owned| !owned.is_empty()) {
                    let message = "The consumer group member is in a unknown state. The member must abandon all its \
                                   partitions and rejoin.";
                    return Err(refused(ErrorCode::FENCED_MEMBER_EPOCH, message));
                }
                let member = ConsumerMember { epoch: self.assignment_epoch, ..member.clone() };
                Ok(self.next(&member, report))
            }
        }
    }

    /// A step on the way to the target: gives up what is no longer wanted, and only then gets what is free.
    fn next(&self, member: &ConsumerMember, report: &Report<'_>) -> ConsumerMember {
        let target: BTreeSet<(Uuid, i32)> = self
            .target(&member.id)
            .into_iter()
            .filter(|(topic, _)| report.subscribed.contains(topic))
            .flat_map(|(topic, partitions)| partitions.into_iter().map(move |partition| (topic, partition)))
            .collect();
        let (mut kept, revoked): (Owned, Owned) =
            member.assigned.iter().partition(|(place, _)| target.contains(*place));
        if !revoked.is_empty() && report.owns_any(&revoked) {
            // The epoch stays until they are given up.
            return ConsumerMember {
                state: MemberState::UnrevokedPartitions,
                assigned: kept,
                pending_revocation: revoked,
                previous_epoch: member.epoch,
                ..member.clone()
            };
        }
        let mut waits = false;
        for place in target {
            if kept.contains_key(&place) {
                continue;
            }
            if self.is_held_by_another(&member.id, place) {
                waits = true;
            } else {
                kept.insert(place, self.assignment_epoch);
            }
        }
        ConsumerMember {
            state: if waits { MemberState::UnreleasedPartitions } else { MemberState::Stable },
            assigned: kept,
            pending_revocation: Owned::new(),
            previous_epoch: member.epoch,
            epoch: self.assignment_epoch,
            ..member.clone()
        }
    }

    /// Whether another member has the partition, or has not given it up yet.
    pub(super) fn is_held_by_another(&self, id: &str, place: (Uuid, i32)) -> bool {
        let holds = |member: &ConsumerMember| {
            member.assigned.contains_key(&place) || member.pending_revocation.contains_key(&place)
        };
        self.members.values().any(|member| member.id != id && holds(member))
    }
}

/// Partitions of topics that the member no longer reads are given up before there is a new target.
fn without_unsubscribed(member: &ConsumerMember, report: &Report<'_>) -> ConsumerMember {
    let (kept, dropped): (Owned, Owned) =
        member.assigned.iter().partition(|((topic, _), _)| report.subscribed.contains(topic));
    if dropped.is_empty() {
        return member.clone();
    }
    let mut pending_revocation = member.pending_revocation.clone();
    let mut state = member.state;
    if report.owns_any(&dropped) {
        pending_revocation.extend(dropped);
        state = MemberState::UnrevokedPartitions;
    }
    ConsumerMember { state, assigned: kept, pending_revocation, previous_epoch: member.epoch, ..member.clone() }
}

impl ConsumerMember {
    /// Whether everything that the member says it has is assigned to it.
    pub(super) fn covers(&self, owned: Option<&[TopicPartitions]>) -> bool {
        owned.is_some_and(|owned| {
            let known = |topic: &TopicPartitions| {
                topic.partitions.iter().all(|index| self.assigned.contains_key(&(topic.topic_id, *index)))
            };
            owned.iter().all(known)
        })
    }

    /// The member is away for a while: it keeps its partitions, for the next one with its instance id.
    pub(super) fn step_aside(&mut self) {
        self.epoch = LEAVE_STATIC;
        self.pending_revocation.clear();
        self.assigned.values_mut().for_each(|epoch| *epoch = 0);
    }
}
