//! Share groups (KIP-932): their members, who reads which partitions, and for which partitions there is state at the share
//! coordinator. What is delivered is not known here, see [`crate::share`].
//!
//! As in consumer groups, an epoch grows with each change, and a target assignment is computed for an epoch. Members move to
//! it at once, since a partition may have several readers. A partition is assigned only after its state was set up.

pub(crate) mod assignor;
mod describe;
mod heartbeat;
mod offsets;
mod record;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use milena_messages::{ErrorCode, Uuid};

pub(crate) use self::heartbeat::{ShareHeartbeat, check, is_member_id};
pub(crate) use self::offsets::{StartOffsets, initialize_share_state};
use crate::coordinator::Effects;
use crate::group::GroupMachine;
use crate::group::consumer::{Partitions, Refused, no_group, refused};
use crate::share::settings::ShareSettings;
use crate::timers::Timers;

/// The epoch with which a member joins.
pub(crate) const JOIN: i32 = 0;
/// The epoch with which a member leaves.
pub(crate) const LEAVE: i32 = -1;
/// The epoch of a group of which nothing was written yet.
const FIRST_EPOCH: i32 = 1;

/// A member of a share group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShareMember {
    pub(crate) id: String,
    pub(crate) rack_id: Option<String>,
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    /// Names of topics, sorted.
    pub(crate) subscribed: BTreeSet<String>,
    pub(crate) epoch: i32,
    pub(crate) previous_epoch: i32,
    pub(crate) assigned: Partitions,
}

impl ShareMember {
    fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            rack_id: None,
            client_id: String::new(),
            client_host: String::new(),
            subscribed: BTreeSet::new(),
            epoch: 0,
            previous_epoch: -1,
            assigned: Partitions::new(),
        }
    }
}

/// Partitions of a topic whose state is set up, or about to be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StateTopic {
    name: String,
    partitions: BTreeSet<i32>,
    /// When that began, in milliseconds since 1970.
    since: i64,
}

/// For which topics there is state at the share coordinator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct StateTopics {
    initializing: BTreeMap<Uuid, StateTopic>,
    initialized: BTreeMap<Uuid, StateTopic>,
    /// With their names.
    deleting: BTreeMap<Uuid, String>,
}

/// A share group.
#[derive(Clone, Debug)]
pub(crate) struct ShareGroup {
    id: String,
    epoch: i32,
    /// What the topics were like when the epoch began.
    metadata_hash: i64,
    assignment_epoch: i32,
    assignment_timestamp: i64,
    members: BTreeMap<String, ShareMember>,
    targets: BTreeMap<String, Partitions>,
    /// `None` before anything was ever set up.
    state_topics: Option<StateTopics>,
    /// When the session of each member ends.
    sessions: Timers,
    /// Topics that members read, as they were when this node last looked; `None` for one that is not there.
    known: BTreeMap<String, Option<(Uuid, i32)>>,
    /// Partitions whose state a heartbeat found missing, until the work for them is given out.
    to_set_up: Option<StartOffsets>,
}

impl ShareGroup {
    fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            epoch: FIRST_EPOCH,
            metadata_hash: 0,
            assignment_epoch: 0,
            assignment_timestamp: 0,
            members: BTreeMap::new(),
            targets: BTreeMap::new(),
            state_topics: None,
            sessions: Timers::default(),
            known: BTreeMap::new(),
            to_set_up: None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The state as clients see it.
    pub(crate) fn state_name(&self) -> &'static str {
        if self.members.is_empty() { "Empty" } else { "Stable" }
    }

    /// The members by id.
    pub(crate) fn members(&self) -> impl Iterator<Item = &ShareMember> {
        self.members.values()
    }

    fn member(&self, id: &str) -> Result<&ShareMember, Refused> {
        let unknown =
            || refused(ErrorCode::UNKNOWN_MEMBER_ID, format!("Member {id} is not a member of group {}.", self.id));
        self.members.get(id).ok_or_else(unknown)
    }

    /// Names of all topics that members read.
    fn subscribed(&self) -> BTreeSet<&str> {
        self.members.values().flat_map(|member| member.subscribed.iter().map(|name| &**name)).collect()
    }

    /// When the group has something to do.
    pub(super) fn next_deadline(&self) -> Option<i64> {
        self.sessions.first()
    }

    /// Sessions of all members begin at this time: after a replay nobody knows when they last spoke.
    pub(super) fn begin_sessions(&mut self, now_ms: i64, settings: &ShareSettings) {
        let until = now_ms.saturating_add(i64::from(settings.session_timeout_ms));
        self.members.keys().for_each(|id| self.sessions.set(&**id, until));
    }

    /// Removes members whose session ended.
    pub(super) fn tick(&mut self, now_ms: i64, effects: &mut Effects<GroupMachine>) {
        for id in self.sessions.due(now_ms) {
            self.remove(&id, effects);
        }
    }
}

impl GroupMachine {
    /// The share group of this id, for a request that needs one.
    ///
    /// # Errors
    /// There is none, or the group is of another protocol.
    pub(crate) fn share_group(&self, id: &str) -> Result<&ShareGroup, Refused> {
        self.shares.get(id).ok_or_else(|| self.no_share_group(id))
    }

    fn no_share_group(&self, id: &str) -> Refused {
        no_group(id, "share", self.is_of_another_protocol(id))
    }

    /// Whether there is a group of this id that is no share group.
    fn is_of_another_protocol(&self, id: &str) -> bool {
        self.groups.contains_key(id)
            || self.consumers.contains_key(id)
            || self.streams.contains_key(id)
            || self.offsets.contains_key(id)
    }

    /// Whether the id is that of a share group.
    pub(crate) fn is_share_group(&self, id: &str) -> bool {
        self.shares.contains_key(id)
    }
}
