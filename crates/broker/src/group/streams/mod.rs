//! Groups of Kafka Streams applications (KIP-1071): the coordinator knows the topology, sees to its internal topics, and
//! assigns tasks.
//!
//! As with consumer groups, an epoch begins with each change, a target is computed for an epoch, and each member moves to
//! it step by step. Warmup tasks are in the protocol, but no assignor of Kafka 4.4 makes any.

mod assignor;
mod check;
mod describe;
mod heartbeat;
mod leave;
mod reconcile;
mod record;
#[cfg(test)]
mod tests;
mod topology;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use milena_messages::{ErrorCode, StreamsGroupTopologyValue, Uuid};

pub(crate) use self::check::{check, check_topics};
pub(crate) use self::heartbeat::StreamsHeartbeat;
pub(crate) use self::topology::{InternalTopic, Status};
use crate::group::GroupMachine;
use crate::group::consumer::{MemberState, Refused, no_group};
use crate::group::offset::Committer;
use crate::group::streams::topology::Configured;

/// A task: the id of a subtopology, and a partition.
pub(crate) type Task = (String, i32);

/// The name of the one assignor.
pub(crate) const ASSIGNOR: &str = "sticky";

/// The settings of streams groups, under Kafka's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamsSettings {
    /// `group.streams.session.timeout.ms`
    pub(crate) session_timeout_ms: i32,
    /// `group.streams.heartbeat.interval.ms`
    pub(crate) heartbeat_interval_ms: i32,
    /// `group.streams.max.size`
    pub(crate) max_size: usize,
    /// `group.streams.num.standby.replicas`
    pub(crate) standby_replicas: i32,
    /// `group.streams.initial.rebalance.delay.ms`
    pub(crate) initial_delay_ms: i32,
    /// `group.streams.assignment.interval.ms`
    pub(crate) assignment_interval_ms: i32,
    /// `group.streams.task.offset.interval.ms`
    pub(crate) task_offset_interval_ms: i32,
    /// `group.streams.acceptable.recovery.lag`
    pub(crate) acceptable_recovery_lag: i64,
    /// `group.streams.rack.aware.assignment.tags`
    pub(crate) rack_tags: String,
}

/// Tasks that a member has, the active ones with the epoch in which it got them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(super) active: BTreeMap<Task, i32>,
    pub(super) standby: BTreeSet<Task>,
}

impl Owned {
    fn is_empty(&self) -> bool {
        self.active.is_empty() && self.standby.is_empty()
    }
}

/// Tasks that a member should have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub(super) active: BTreeSet<Task>,
    pub(super) standby: BTreeSet<Task>,
}

/// A member of a streams group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamsMember {
    id: String,
    instance_id: Option<String>,
    rack_id: Option<String>,
    client_id: String,
    client_host: String,
    rebalance_timeout_ms: i32,
    topology_epoch: i32,
    /// The same for all members of one process.
    process_id: String,
    /// Host and port for interactive queries.
    endpoint: Option<(String, u16)>,
    tags: BTreeMap<String, String>,
    epoch: i32,
    previous_epoch: i32,
    state: MemberState,
    assigned: Owned,
    pending: Owned,
}

impl StreamsMember {
    fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            instance_id: None,
            rack_id: None,
            client_id: String::new(),
            client_host: String::new(),
            rebalance_timeout_ms: -1,
            topology_epoch: -1,
            process_id: String::new(),
            endpoint: None,
            tags: BTreeMap::new(),
            epoch: 0,
            previous_epoch: 0,
            state: MemberState::Stable,
            assigned: Owned::default(),
            pending: Owned::default(),
        }
    }

    fn is_reconciled_to(&self, epoch: i32) -> bool {
        self.state == MemberState::Stable && self.epoch == epoch
    }
}

/// When a member has to be heard of again.
#[derive(Clone, Copy, Debug, Default)]
struct Timers {
    session: Option<i64>,
    /// The epoch that the member has to leave, and until when.
    revocation: Option<(i32, i64)>,
}

/// How far a member restored the state of its tasks, and to where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Offsets {
    reached: BTreeMap<Task, i64>,
    end: BTreeMap<Task, i64>,
}

/// A streams group.
#[derive(Clone, Debug)]
pub(crate) struct StreamsGroup {
    id: String,
    epoch: i32,
    metadata_hash: i64,
    /// The epoch of the topology whose topics were all there.
    validated_epoch: i32,
    /// Settings of the assignor when an epoch began last.
    configs: BTreeMap<String, String>,
    /// The epochs of topologies whose description a plugin stored or refused; this broker has none.
    descriptions: (i32, i32),
    assignment_epoch: i32,
    assignment_timestamp: i64,
    topology: Option<Arc<StreamsGroupTopologyValue>>,
    configured: Option<Arc<Configured>>,
    members: BTreeMap<String, StreamsMember>,
    targets: BTreeMap<String, Target>,
    timers: BTreeMap<String, Timers>,
    offsets: BTreeMap<String, Offsets>,
    /// The version of the topics when this node last looked.
    known_version: Option<i64>,
    /// Until when the first assignment waits for more members.
    delay_until: Option<i64>,
    /// The member that wants the application to stop.
    shutdown: Option<String>,
    endpoint_epoch: i32,
}

impl StreamsGroup {
    fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            epoch: 1,
            metadata_hash: 0,
            validated_epoch: -1,
            configs: BTreeMap::new(),
            descriptions: (-1, -1),
            assignment_epoch: 0,
            assignment_timestamp: 0,
            topology: None,
            configured: None,
            members: BTreeMap::new(),
            targets: BTreeMap::new(),
            timers: BTreeMap::new(),
            offsets: BTreeMap::new(),
            known_version: None,
            delay_until: None,
            shutdown: None,
            endpoint_epoch: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether the application reads the topic.
    pub(crate) fn is_subscribed(&self, topic: &str) -> bool {
        !self.is_empty() && self.topology.as_ref().is_some_and(|all| topology::reader(all, topic).is_some())
    }

    fn member(&self, id: &str) -> Result<&StreamsMember, Refused> {
        let message = || format!("Member {id} is not a member of group {}.", self.id);
        self.members.get(id).ok_or_else(|| Refused { code: ErrorCode::UNKNOWN_MEMBER_ID, message: message() })
    }

    fn static_member(&self, instance_id: &str) -> Option<&StreamsMember> {
        self.members.values().find(|member| member.instance_id.as_deref() == Some(instance_id))
    }

    fn target(&self, member: &str) -> Target {
        self.targets.get(member).cloned().unwrap_or_default()
    }

    /// The state as clients see it.
    pub(crate) fn state_name(&self) -> &'static str {
        let topology_epoch = self.topology.as_ref().map(|topology| topology.epoch);
        if self.members.is_empty() {
            "Empty"
        } else if topology_epoch != Some(self.validated_epoch) {
            "NotReady"
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
        let each = |timers: &Timers| [timers.session, timers.revocation.map(|(_, time)| time)];
        self.timers.values().flat_map(each).flatten().chain(self.delay_until).min()
    }

    /// Timers of all members begin at this time: after a replay nobody knows when they last spoke.
    pub(super) fn begin_timers(&mut self, now_ms: i64, session_timeout_ms: i32) {
        let timers = |member: &StreamsMember| Timers {
            session: Some(now_ms + i64::from(session_timeout_ms)),
            revocation: (member.state == MemberState::UnrevokedPartitions)
                .then(|| (member.epoch, now_ms + i64::from(member.rebalance_timeout_ms))),
        };
        self.timers = self.members.iter().map(|(id, member)| (id.clone(), timers(member))).collect();
    }

    /// Checks whether a member may commit at all.
    ///
    /// # Errors
    /// It is no member, its epoch is from the future, or its request is too old to know of epochs.
    pub(crate) fn check_commit(&self, who: Committer<'_>) -> Result<(), ErrorCode> {
        if self.may_commit_anything(who) {
            return Ok(());
        }
        let member = self.members.get(who.member_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        if !who.is_transactional && !who.knows_epochs {
            return Err(ErrorCode::UNSUPPORTED_VERSION);
        }
        if who.generation > member.epoch { Err(ErrorCode::STALE_MEMBER_EPOCH) } else { Ok(()) }
    }

    /// Checks whether a member that passed [`check_commit`](Self::check_commit) may commit for this partition: one of an
    /// older epoch has to have had its task since then.
    ///
    /// # Errors
    /// It got the task later, or does not have it.
    pub(crate) fn check_partition(&self, who: Committer<'_>, topic: &str, partition: i32) -> Result<(), ErrorCode> {
        if self.may_commit_anything(who) {
            return Ok(());
        }
        let member = self.members.get(who.member_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        if who.generation == member.epoch {
            return Ok(());
        }
        let part = self.topology.as_ref().and_then(|all| topology::reader(all, topic));
        let task = (part.ok_or(ErrorCode::STALE_MEMBER_EPOCH)?.to_owned(), partition);
        match member.assigned.active.get(&task).or_else(|| member.pending.active.get(&task)) {
            Some(since) if *since <= who.generation => Ok(()),
            _ => Err(ErrorCode::STALE_MEMBER_EPOCH),
        }
    }

    fn may_commit_anything(&self, who: Committer<'_>) -> bool {
        let names_nobody = who.generation == -1 && who.member_id.is_empty() && who.instance_id.is_none();
        who.generation < 0 && self.is_empty() || who.is_transactional && names_nobody
    }

    /// Checks whether a member may fetch offsets; without a member id and an epoch everybody may.
    ///
    /// # Errors
    /// It is no member, or of another epoch.
    pub(crate) fn check_fetch(&self, member_id: Option<&str>, epoch: i32) -> Result<(), ErrorCode> {
        let Some(member_id) = member_id else {
            return if epoch < 0 { Ok(()) } else { Err(ErrorCode::UNKNOWN_SERVER_ERROR) };
        };
        let member = self.members.get(member_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        if epoch == member.epoch { Ok(()) } else { Err(ErrorCode::STALE_MEMBER_EPOCH) }
    }
}

impl GroupMachine {
    /// The streams group of this id.
    ///
    /// # Errors
    /// There is none, or the group is of another protocol.
    pub(crate) fn streams_group(&self, id: &str) -> Result<&StreamsGroup, Refused> {
        self.streams.get(id).ok_or_else(|| self.no_streams_group(id))
    }

    fn no_streams_group(&self, id: &str) -> Refused {
        no_group(id, "streams", self.has_group(id))
    }

    /// Does what is due.
    pub(super) fn tick_streams(&mut self, id: &str, now_ms: i64, effects: &mut crate::coordinator::Effects<Self>) {
        let Some(group) = self.streams.get_mut(id) else { return };
        group.expire(now_ms, effects);
    }
}

/// Topics as they were when an epoch began.
type Known = BTreeMap<String, Option<(Uuid, i32)>>;
