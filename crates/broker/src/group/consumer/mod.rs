//! Groups of the consumer protocol (KIP-848): the coordinator assigns, and each member reconciles by itself.
//!
//! A group has an epoch that grows with each change of its members, subscriptions or topics. A target assignment is
//! computed for an epoch. Each member moves to it step by step: it first gives up what it has to, then gets what is free.
//! All of this is in the log. Only timers are in memory, and begin again after a replay.

mod assignor;
mod classic;
mod commit;
mod describe;
mod heartbeat;
mod leave;
mod migrate;
#[cfg(test)]
mod migration_tests;
pub(crate) mod re2;
mod reconcile;
mod record;
mod subscription;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use milena_messages::{
    ByteString, Bytes, ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey, ConsumerGroupRegularExpressionKey, ErrorCode, TypedRecord, Uuid,
};
use milena_messages::{ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMetadataKey};

pub(crate) use self::assignor::{Assignor, Partitions};
pub(in crate::group) use self::heartbeat::hash_of;
pub(crate) use self::heartbeat::{CLIENT_CHOOSES_ID, ConsumerHeartbeat, check};
pub(crate) use self::migrate::{MigrationPolicy, subscription};
use crate::cluster::{State, TopicRef};
use crate::coordinator::record::CoordinatorRecord;
use crate::group::GroupMachine;
use crate::group::consumer::subscription::Resolved;

/// The epoch with which a member joins.
pub(crate) const JOIN: i32 = 0;
/// The epoch with which a member leaves.
pub(crate) const LEAVE: i32 = -1;
/// The epoch with which a static member leaves for a while.
pub(crate) const LEAVE_STATIC: i32 = -2;

/// The settings of groups of the consumer protocol, under Kafka's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConsumerSettings {
    /// `group.consumer.session.timeout.ms`
    pub(crate) session_timeout_ms: i32,
    /// `group.consumer.heartbeat.interval.ms`
    pub(crate) heartbeat_interval_ms: i32,
    /// `group.consumer.max.size`
    pub(crate) max_size: usize,
    /// `group.consumer.migration.policy`
    pub(crate) migration: MigrationPolicy,
    /// `group.consumer.assignment.interval.ms`: at least so long between two target assignments.
    pub(crate) assignment_interval_ms: i32,
}

/// The topics of the cluster, as assignors see them.
pub(crate) trait TopicLookup {
    /// Id and number of partitions of a topic.
    fn find(&self, name: &str) -> Option<(Uuid, i32)>;

    /// The name of the topic with this id.
    fn name(&self, id: Uuid) -> Option<String>;

    /// The names of all topics.
    fn names(&self) -> Vec<ByteString>;

    /// The number of all topics.
    fn count(&self) -> usize;

    /// A number that grows whenever one of the others would give something else.
    fn version(&self) -> i64;
}

impl TopicLookup for State {
    fn find(&self, name: &str) -> Option<(Uuid, i32)> {
        let topic = self.topic(TopicRef::Name(name))?;
        Some((topic.id, i32::try_from(topic.partition_count()).unwrap_or(i32::MAX)))
    }

    fn name(&self, id: Uuid) -> Option<String> {
        self.topic(TopicRef::Id(id)).map(|topic| topic.name.to_string())
    }

    fn names(&self) -> Vec<ByteString> {
        self.topic_names()
    }

    fn count(&self) -> usize {
        self.topic_count()
    }

    fn version(&self) -> i64 {
        self.topics_version()
    }
}

/// A refusal: a code, and a text for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

/// What a request gets that needs a group of this kind: there is none of the id, or one of another kind.
pub(in crate::group) fn no_group(id: &str, kind: &str, is_of_another: bool) -> Refused {
    let message = match is_of_another {
        true => format!("Group {id} is not a {kind} group."),
        false => format!("Group {id} not found."),
    };
    refused(ErrorCode::GROUP_ID_NOT_FOUND, message)
}

pub(in crate::group) fn refused(code: ErrorCode, message: impl Into<String>) -> Refused {
    Refused { code, message: message.into() }
}

/// How far a member is on its way to the target. The numbers are those of Kafka's records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MemberState {
    /// It has its target, or nothing it could get.
    #[default]
    Stable = 1,
    /// It has to give up partitions before its epoch moves on.
    UnrevokedPartitions = 2,
    /// Others have not given up yet what it should get.
    UnreleasedPartitions = 3,
    /// Written by a later version; the member has to join again.
    Unknown = 127,
}

impl MemberState {
    pub(crate) fn from_number(number: i8) -> Self {
        match number {
            1 => Self::Stable,
            2 => Self::UnrevokedPartitions,
            3 => Self::UnreleasedPartitions,
            _ => Self::Unknown,
        }
    }
}

/// Partitions by topic, each with the epoch in which the member got it.
pub(crate) type Owned = BTreeMap<(Uuid, i32), i32>;

/// A member of a consumer group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConsumerMember {
    pub(crate) id: String,
    pub(crate) instance_id: Option<String>,
    pub(crate) rack_id: Option<String>,
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    pub(crate) rebalance_timeout_ms: i32,
    pub(crate) server_assignor: Option<String>,
    /// Names of topics, sorted.
    pub(crate) subscribed: BTreeSet<String>,
    /// A regular expression of further topics; empty for none.
    pub(crate) regex: String,
    pub(crate) epoch: i32,
    pub(crate) previous_epoch: i32,
    pub(crate) state: MemberState,
    pub(crate) assigned: Owned,
    pub(crate) pending_revocation: Owned,
    /// What a member of the classic protocol said when it joined.
    pub(crate) classic: Option<ClassicSide>,
}

/// What is known of a member of the classic protocol besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClassicSide {
    pub(crate) session_timeout_ms: i32,
    /// Names and metadata, most wanted first.
    pub(crate) protocols: Vec<(String, Bytes)>,
}

/// The member that a request names, as it was before.
#[derive(Clone, Debug)]
struct Found {
    member: ConsumerMember,
    /// The target of a static member whose place another id takes.
    target: Option<Partitions>,
}

impl ConsumerMember {
    fn new(id: &str) -> Self {
        Self { id: id.to_owned(), rebalance_timeout_ms: -1, ..Self::default() }
    }

    fn is_reconciled_to(&self, epoch: i32) -> bool {
        self.state == MemberState::Stable && self.epoch == epoch
    }
}

/// When members have to be heard of again.
#[derive(Clone, Copy, Debug, Default)]
struct Timers {
    session: Option<i64>,
    /// The epoch that the member has to leave, and until when.
    revocation: Option<(i32, i64)>,
    /// Until when a member of the classic protocol has to join again.
    join: Option<i64>,
    /// Until when a member of the classic protocol has to ask for its assignment.
    sync: Option<i64>,
}

/// A group of the consumer protocol.
#[derive(Clone, Debug)]
pub(crate) struct ConsumerGroup {
    id: String,
    epoch: i32,
    /// What the topics were like when the epoch began.
    metadata_hash: i64,
    assignment_epoch: i32,
    assignment_timestamp: i64,
    members: BTreeMap<String, ConsumerMember>,
    targets: BTreeMap<String, Partitions>,
    timers: BTreeMap<String, Timers>,
    /// The topics of each regular expression of members.
    regexes: BTreeMap<String, Resolved>,
    /// Topics that members read, as they were when this node last looked; `None` for one that is not there.
    known: BTreeMap<String, Option<(Uuid, i32)>>,
    /// The version of the topics at that time; `None` before the first look.
    known_version: Option<i64>,
    /// The version of the topics that the regular expressions were compared with.
    regex_version: Option<i64>,
    /// A regular expression has not been compared yet.
    has_new_regex: bool,
    /// When expressions were compared last.
    compared_at: Option<i64>,
}

/// The epoch of a group of which nothing was written yet.
const FIRST_EPOCH: i32 = 1;

impl ConsumerGroup {
    fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            epoch: FIRST_EPOCH,
            metadata_hash: 0,
            assignment_epoch: 0,
            assignment_timestamp: 0,
            members: BTreeMap::new(),
            targets: BTreeMap::new(),
            timers: BTreeMap::new(),
            regexes: BTreeMap::new(),
            known: BTreeMap::new(),
            known_version: None,
            regex_version: None,
            has_new_regex: false,
            compared_at: None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether a member reads the topic.
    pub(crate) fn is_subscribed(&self, topic: &str) -> bool {
        let resolved = |regex: &Resolved| regex.topics.contains(topic);
        self.members.values().any(|member| member.subscribed.contains(topic)) || self.regexes.values().any(resolved)
    }

    /// The member, checked that it is there.
    fn member(&self, id: &str) -> Result<&ConsumerMember, Refused> {
        let unknown =
            || refused(ErrorCode::UNKNOWN_MEMBER_ID, format!("Member {id} is not a member of group {}.", self.id));
        self.members.get(id).ok_or_else(unknown)
    }

    fn static_member(&self, instance_id: &str) -> Option<&ConsumerMember> {
        self.members.values().find(|member| member.instance_id.as_deref() == Some(instance_id))
    }

    fn target(&self, member: &str) -> Partitions {
        self.targets.get(member).cloned().unwrap_or_default()
    }

    /// The state as clients see it.
    pub(crate) fn state_name(&self) -> &'static str {
        if self.members.is_empty() {
            "Empty"
        } else if self.epoch > self.assignment_epoch {
            "Assigning"
        } else if self.members.values().any(|member| !member.is_reconciled_to(self.assignment_epoch)) {
            "Reconciling"
        } else {
            "Stable"
        }
    }

    /// When the group has something to do.
    pub(super) fn next_deadline(&self) -> Option<i64> {
        let each =
            |timers: &Timers| [timers.session, timers.revocation.map(|(_, time)| time), timers.join, timers.sync];
        self.timers.values().flat_map(each).flatten().min()
    }

    /// Timers of all members begin at this time: after a replay nobody knows when they last spoke.
    pub(super) fn begin_timers(&mut self, now_ms: i64, settings: &ConsumerSettings) {
        let timers = |member: &ConsumerMember| Timers {
            session: Some(now_ms + i64::from(settings.session_timeout_ms)),
            revocation: (member.state == MemberState::UnrevokedPartitions)
                .then(|| (member.epoch, now_ms + i64::from(member.rebalance_timeout_ms))),
            ..Timers::default()
        };
        self.timers = self.members.iter().map(|(id, member)| (id.clone(), timers(member))).collect();
    }

    /// The members whose session ended, and those that did not give up partitions, join or sync in time.
    pub(super) fn late(&mut self, now_ms: i64) -> Vec<String> {
        let is_late = |(id, timers): (&String, &Timers)| {
            let is_past = |time: Option<i64>| time.is_some_and(|time| time <= now_ms);
            let session = is_past(timers.session) || is_past(timers.join) || is_past(timers.sync);
            let revocation = timers.revocation.is_some_and(|(epoch, time)| {
                time <= now_ms && self.members.get(id).is_some_and(|member| member.epoch == epoch)
            });
            (session || revocation).then(|| id.clone())
        };
        let late: Vec<String> = self.timers.iter().filter_map(is_late).collect();
        for timers in self.timers.values_mut() {
            // A member that went on in time is not late.
            timers.revocation = timers.revocation.filter(|(_, time)| *time > now_ms);
        }
        late
    }
}

impl GroupMachine {
    /// The consumer group of this id, for a request that needs one.
    ///
    /// # Errors
    /// There is none, or the group is of another protocol.
    pub(crate) fn consumer_group(&self, id: &str) -> Result<&ConsumerGroup, Refused> {
        self.consumers.get(id).ok_or_else(|| self.no_consumer_group(id))
    }

    fn no_consumer_group(&self, id: &str) -> Refused {
        no_group(id, "consumer", self.has_group(id))
    }

    /// Replays a record of a consumer group; `false` when it is none. A live group is ahead of its records, and does not
    /// listen to them.
    ///
    /// # Errors
    /// The record cannot be read.
    pub(super) fn replay_consumer(&mut self, kind: i16, record: &CoordinatorRecord) -> Result<(), milena_wire::Error> {
        if !self.loading {
            return Ok(());
        }
        let live = record.value.is_some();
        match kind {
            ConsumerGroupMetadataKey::TYPE => {
                let id = record.read_key::<ConsumerGroupMetadataKey>()?.group_id.to_string();
                if live {
                    let value = record.read_value()?;
                    self.loaded_group(&id).replay_metadata(&value);
                } else {
                    self.consumers.remove(&id);
                }
            }
            ConsumerGroupMemberMetadataKey::TYPE => {
                let key: ConsumerGroupMemberMetadataKey = record.read_key()?;
                if live {
                    let value = record.read_value()?;
                    self.loaded_group(&key.group_id).replay_member(&key.member_id, value);
                } else if let Some(group) = self.consumers.get_mut(&*key.group_id) {
                    group.members.remove(&*key.member_id);
                }
            }
            ConsumerGroupTargetAssignmentMetadataKey::TYPE => {
                let id = record.read_key::<ConsumerGroupTargetAssignmentMetadataKey>()?.group_id.to_string();
                if live {
                    let value = record.read_value()?;
                    self.loaded_group(&id).replay_target_metadata(&value);
                } else if let Some(group) = self.consumers.get_mut(&id) {
                    (group.assignment_epoch, group.assignment_timestamp) = (0, 0);
                }
            }
            ConsumerGroupTargetAssignmentMemberKey::TYPE => {
                let key: ConsumerGroupTargetAssignmentMemberKey = record.read_key()?;
                if live {
                    let value = record.read_value()?;
                    self.loaded_group(&key.group_id).replay_target(&key.member_id, &value);
                } else if let Some(group) = self.consumers.get_mut(&*key.group_id) {
                    group.targets.remove(&*key.member_id);
                }
            }
            ConsumerGroupCurrentMemberAssignmentKey::TYPE => {
                let key: ConsumerGroupCurrentMemberAssignmentKey = record.read_key()?;
                if live {
                    let value = record.read_value()?;
                    self.loaded_group(&key.group_id).replay_current(&key.member_id, &value);
                } else if let Some(group) = self.consumers.get_mut(&*key.group_id) {
                    group.replay_no_current(&key.member_id);
                }
            }
            ConsumerGroupRegularExpressionKey::TYPE => {
                let key: ConsumerGroupRegularExpressionKey = record.read_key()?;
                if live {
                    let value = record.read_value()?;
                    self.loaded_group(&key.group_id).replay_regex(&key.regular_expression, value);
                } else if let Some(group) = self.consumers.get_mut(&*key.group_id) {
                    group.regexes.remove(&*key.regular_expression);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn loaded_group(&mut self, id: &str) -> &mut ConsumerGroup {
        // Its offsets may come first and make an empty classic group.
        self.groups.remove(id);
        self.consumers.entry(id.to_owned()).or_insert_with(|| ConsumerGroup::new(id))
    }
}
