//! A group of the classic protocol: who is in it, and in which phase of a rebalance it is.

use std::collections::{BTreeMap, BTreeSet};

use milena_messages::join_group::response::JoinGroupResponseMember;
use milena_messages::{Bytes, ErrorCode, GroupMetadataValue, JoinGroupResponse, SyncGroupResponse};

use crate::coordinator::{Effects, Ticket};
use crate::group::{GroupMachine, GroupReply, GroupSettings, text};
use crate::timers::Timers;

/// How long a new member that waits for the others may stay away (KIP-394).
pub(super) const NEW_MEMBER_JOIN_TIMEOUT_MS: i64 = 5 * 60 * 1000;

/// Where a group is in its rebalance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Empty,
    /// Members join.
    PreparingRebalance,
    /// The leader assigns.
    CompletingRebalance,
    Stable,
}

impl Phase {
    /// As clients see it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
        }
    }
}

/// A member of a classic group.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) id: String,
    pub(crate) instance_id: Option<String>,
    pub(crate) client_id: String,
    pub(crate) client_host: String,
    pub(crate) session_timeout_ms: i32,
    pub(crate) rebalance_timeout_ms: i32,
    /// Names and metadata, most wanted first.
    pub(crate) protocols: Vec<(String, Bytes)>,
    pub(crate) assignment: Bytes,
    /// The JoinGroup request that waits.
    pub(super) joining: Option<Ticket>,
    /// The SyncGroup request that waits.
    pub(super) syncing: Option<Ticket>,
    /// It joined for the first time, and does not know its id until the response comes.
    pub(super) is_new: bool,
}

impl Member {
    /// What it said about a protocol.
    pub(crate) fn metadata(&self, protocol: &str) -> Option<Bytes> {
        self.protocols.iter().find(|(name, _)| name == protocol).map(|(_, metadata)| metadata.clone())
    }
}

/// What delays the first rebalance of a group, so that not every member begins one.
#[derive(Clone, Copy, Debug)]
pub(super) struct InitialDelay {
    pub(super) until: i64,
    pub(super) delay_ms: i64,
    pub(super) remaining_ms: i64,
}

/// A group of the classic protocol.
#[derive(Debug)]
pub(crate) struct ClassicGroup {
    id: String,
    pub(super) phase: Phase,
    pub(super) previous: Phase,
    state_since: i64,
    pub(super) protocol_type: Option<String>,
    pub(super) generation: i32,
    pub(super) protocol: Option<String>,
    pub(super) leader: Option<String>,
    pub(super) members: BTreeMap<String, Member>,
    /// How many members have each protocol.
    supported: BTreeMap<String, usize>,
    /// When the session of each member ends.
    pub(super) sessions: Timers,
    /// Members by their instance ids (KIP-345).
    pub(super) statics: BTreeMap<String, String>,
    /// Ids that were given out and did not come back yet (KIP-394), with the time until which they may.
    pub(super) pending: Timers,
    /// Members of this generation that did not sync yet.
    pub(super) pending_sync: BTreeSet<String>,
    /// Another member came while the first rebalance was delayed.
    pub(super) new_member_added: bool,
    pub(super) initial_delay: Option<InitialDelay>,
    pub(super) join_until: Option<i64>,
    pub(super) sync_until: Option<i64>,
}

impl ClassicGroup {
    pub(super) fn new(id: String, now_ms: i64) -> Self {
        Self {
            id,
            phase: Phase::Empty,
            previous: Phase::Empty,
            state_since: now_ms,
            protocol_type: None,
            generation: 0,
            protocol: None,
            leader: None,
            members: BTreeMap::new(),
            supported: BTreeMap::new(),
            sessions: Timers::default(),
            statics: BTreeMap::new(),
            pending: Timers::default(),
            pending_sync: BTreeSet::new(),
            new_member_added: false,
            initial_delay: None,
            join_until: None,
            sync_until: None,
        }
    }

    /// The group as its last record says.
    pub(super) fn from_record(id: String, value: GroupMetadataValue) -> Self {
        let mut group = Self::new(id, value.current_state_timestamp);
        group.generation = value.generation;
        group.protocol_type = Some(value.protocol_type.to_string()).filter(|name| !name.is_empty());
        group.protocol = value.protocol.map(|name| name.to_string());
        group.leader = value.leader.map(|id| id.to_string());
        group.phase = if value.members.is_empty() { Phase::Empty } else { Phase::Stable };
        group.previous = group.phase;
        for member in value.members {
            let id = member.member_id.to_string();
            let instance_id = member.group_instance_id.map(|id| id.to_string());
            if let Some(instance_id) = &instance_id {
                group.statics.insert(instance_id.clone(), id.clone());
            }
            let protocol = group.protocol.clone().unwrap_or_default();
            group.insert(Member {
                id,
                instance_id,
                client_id: member.client_id.to_string(),
                client_host: member.client_host.to_string(),
                session_timeout_ms: member.session_timeout,
                rebalance_timeout_ms: member.rebalance_timeout,
                protocols: vec![(protocol, member.subscription)],
                assignment: member.assignment,
                joining: None,
                syncing: None,
                is_new: false,
            });
        }
        group
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    #[cfg(test)]
    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.phase == Phase::Empty
    }

    pub(crate) fn generation(&self) -> i32 {
        self.generation
    }

    pub(crate) fn protocol_type(&self) -> Option<&str> {
        self.protocol_type.as_deref()
    }

    /// The protocol that this generation agreed on.
    pub(crate) fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }

    pub(crate) fn leader(&self) -> Option<&str> {
        self.leader.as_deref()
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    /// When the group came into its phase, in milliseconds since 1970.
    pub(crate) fn state_since(&self) -> i64 {
        self.state_since
    }

    pub(super) fn is_leader(&self, member: &str) -> bool {
        self.leader.as_deref() == Some(member)
    }

    pub(super) fn enter(&mut self, phase: Phase, now_ms: i64) {
        self.previous = self.phase;
        self.phase = phase;
        self.state_since = now_ms;
    }

    /// Sessions of all members begin at this time: after a replay nobody knows when they last spoke.
    pub(super) fn begin_sessions(&mut self, now_ms: i64) {
        for member in self.members.values() {
            self.sessions.set(&member.id, now_ms + i64::from(member.session_timeout_ms));
        }
    }

    /// The member spoke: its session goes on.
    pub(super) fn heard_of(&mut self, member: &str, now_ms: i64) {
        if let Some(member) = self.members.get(member) {
            self.sessions.set(&member.id, now_ms + i64::from(member.session_timeout_ms));
        }
    }

    /// Checks that a member is in the group under this id.
    ///
    /// # Errors
    /// It is not, or another member took its place (KIP-345).
    pub(crate) fn check_member(&self, member: &str, instance_id: Option<&str>) -> Result<(), ErrorCode> {
        if let Some(instance_id) = instance_id {
            return match self.statics.get(instance_id) {
                None => Err(ErrorCode::UNKNOWN_MEMBER_ID),
                Some(known) if known != member => Err(ErrorCode::FENCED_INSTANCE_ID),
                Some(_) => Ok(()),
            };
        }
        if self.members.contains_key(member) { Ok(()) } else { Err(ErrorCode::UNKNOWN_MEMBER_ID) }
    }

    /// Protocols that all members have.
    pub(super) fn candidates(&self) -> BTreeSet<&str> {
        let by_all = self.supported.iter().filter(|(_, count)| **count == self.members.len());
        by_all.map(|(name, _)| &**name).collect()
    }

    /// Whether a member with these protocols fits in.
    pub(super) fn supports(&self, protocol_type: &str, protocols: &[(String, Bytes)]) -> bool {
        if self.phase == Phase::Empty {
            return !protocol_type.is_empty() && !protocols.is_empty();
        }
        self.protocol_type.as_deref() == Some(protocol_type)
            && protocols.iter().any(|(name, _)| self.supported.get(name).copied().unwrap_or(0) == self.members.len())
    }

    /// The protocol that most members want most.
    pub(super) fn select_protocol(&self) -> Option<String> {
        let candidates = self.candidates();
        let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
        for member in self.members.values() {
            let vote = member.protocols.iter().find(|(name, _)| candidates.contains(&**name));
            if let Some((name, _)) = vote {
                *votes.entry(name).or_default() += 1;
            }
        }
        let most = votes.values().max().copied()?;
        votes.into_iter().find(|(_, count)| *count == most).map(|(name, _)| name.to_owned())
    }

    /// Members for the leader, who assigns.
    pub(super) fn members_for_leader(&self) -> Vec<JoinGroupResponseMember> {
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let member = |member: &Member| JoinGroupResponseMember {
            member_id: member.id.clone().into(),
            group_instance_id: member.instance_id.clone().map(Into::into),
            metadata: member.metadata(protocol).unwrap_or_default(),
            ..Default::default()
        };
        self.members.values().map(member).collect()
    }

    /// What a member gets that joined this generation.
    pub(super) fn joined(&self, member: &str) -> JoinGroupResponse {
        JoinGroupResponse {
            generation_id: self.generation,
            protocol_type: self.protocol_type.clone().map(Into::into),
            protocol_name: self.protocol.clone().map(Into::into),
            leader: text(self.leader()),
            member_id: member.to_owned().into(),
            members: if self.is_leader(member) { self.members_for_leader() } else { Vec::new() },
            ..Default::default()
        }
    }

    /// Gives a member that waits for the others its response.
    pub(super) fn complete_join(
        &mut self,
        member: &str,
        response: JoinGroupResponse,
        effects: &mut Effects<GroupMachine>,
    ) {
        if let Some(ticket) = self.members.get_mut(member).and_then(|member| member.joining.take()) {
            effects.reply(ticket, GroupReply::Join(response));
        }
    }

    /// Gives a member that waits for its assignment a response.
    pub(super) fn complete_sync(
        &mut self,
        member: &str,
        response: SyncGroupResponse,
        effects: &mut Effects<GroupMachine>,
    ) {
        if let Some(ticket) = self.members.get_mut(member).and_then(|member| member.syncing.take()) {
            effects.reply(ticket, GroupReply::Sync(response));
        }
    }

    /// When the group has something to do.
    pub(super) fn next_deadline(&self) -> Option<i64> {
        let delay = self.initial_delay.map(|delay| delay.until);
        let all = [self.sessions.first(), self.pending.first(), self.join_until, self.sync_until, delay];
        all.into_iter().flatten().min()
    }

    /// Does what is due.
    pub(super) fn tick(&mut self, now_ms: i64, settings: &GroupSettings, effects: &mut Effects<GroupMachine>) {
        if self.initial_delay.is_some_and(|delay| delay.until <= now_ms) {
            self.end_initial_delay(now_ms, settings, effects);
        }
        if self.join_until.is_some_and(|until| until <= now_ms) {
            self.complete_join_phase(now_ms, effects);
        }
        if self.sync_until.is_some_and(|until| until <= now_ms) {
            self.expire_sync(now_ms, settings, effects);
        }
        for id in self.pending.due(now_ms) {
            self.pending.remove(&id);
            self.maybe_complete_join_phase(now_ms, effects);
        }
        for id in self.sessions.due(now_ms) {
            self.expire_member(&id, now_ms, settings, effects);
        }
    }

    /// The session of a member ended. One that waits for a response is alive.
    fn expire_member(&mut self, id: &str, now_ms: i64, settings: &GroupSettings, effects: &mut Effects<GroupMachine>) {
        let Some(member) = self.members.get(id) else { return };
        if !member.is_new && (member.joining.is_some() || member.syncing.is_some()) {
            // Its session begins again with the response.
            self.sessions.remove(id);
            return;
        }
        let unknown = JoinGroupResponse { error_code: ErrorCode::UNKNOWN_MEMBER_ID, ..no_generation() };
        self.complete_join(id, unknown, effects);
        self.remove(id);
        self.rebalance_without(now_ms, settings, effects);
    }

    /// Takes a member in.
    pub(super) fn insert(&mut self, member: Member) {
        self.count(&member, true);
        self.members.insert(member.id.clone(), member);
    }

    /// Takes out what another member takes the place of.
    pub(super) fn take(&mut self, id: &str) -> Option<Member> {
        let member = self.members.remove(id)?;
        self.sessions.remove(id);
        self.count(&member, false);
        Some(member)
    }

    /// A member has other protocols than before.
    pub(super) fn set_protocols(&mut self, id: &str, protocols: Vec<(String, Bytes)>) {
        let Some(mut member) = self.members.remove(id) else { return };
        self.count(&member, false);
        member.protocols = protocols;
        self.insert(member);
    }

    fn count(&mut self, member: &Member, comes: bool) {
        let names: BTreeSet<&str> = member.protocols.iter().map(|(name, _)| &**name).collect();
        for name in names {
            match self.supported.get_mut(name) {
                Some(count) if comes => *count += 1,
                Some(count) if *count > 1 => *count -= 1,
                Some(_) => _ = self.supported.remove(name),
                None if comes => _ = self.supported.insert(name.to_owned(), 1),
                None => {}
            }
        }
    }

    /// Takes a member out.
    pub(super) fn remove(&mut self, id: &str) -> Option<Member> {
        let member = self.take(id)?;
        self.pending_sync.remove(id);
        if let Some(instance_id) = &member.instance_id {
            self.statics.remove(instance_id);
        }
        if self.is_leader(id) {
            self.leader = self.members.keys().next().cloned();
        }
        Some(member)
    }
}

/// A JoinGroup response of a request that joined nothing.
pub(super) fn no_generation() -> JoinGroupResponse {
    JoinGroupResponse { generation_id: -1, ..Default::default() }
}
