//! The first half of a rebalance: members join, and the last one ends the phase.

use milena_messages::{Bytes, ErrorCode, JoinGroupRequest, JoinGroupResponse, SyncGroupResponse};

use milena_wire::MAX_STRING_BYTES;

use crate::coordinator::{Effects, Ticket};
use crate::group::classic::{ClassicGroup, InitialDelay, Member, NEW_MEMBER_JOIN_TIMEOUT_MS, Phase, no_generation};
use crate::group::consumer::{ConsumerSettings, TopicLookup};
use crate::group::{GroupMachine, GroupReply, GroupSettings, record};

/// From this version on a new member has to come again with the id that it was given (KIP-394).
pub(super) const ID_REQUIRED: i16 = 4;
/// From this version on a static member that leads may be asked to leave the assignment as it is (KIP-814).
const SKIP_ASSIGNMENT: i16 = 9;

/// A JoinGroup request, and what is known of its client.
pub(crate) struct Join<'a> {
    pub(crate) request: &'a JoinGroupRequest,
    pub(crate) version: i16,
    pub(crate) client_id: &'a str,
    pub(crate) client_host: &'a str,
    /// Random, for the id of a new member.
    pub(crate) unique: String,
    pub(crate) ticket: Ticket,
    pub(crate) topics: &'a dyn TopicLookup,
    /// The settings of the group, in case it is a consumer group.
    pub(crate) settings: &'a ConsumerSettings,
}

impl Join<'_> {
    fn instance_id(&self) -> Option<&str> {
        self.request.group_instance_id.as_deref()
    }

    pub(super) fn protocols(&self) -> Vec<(String, Bytes)> {
        let protocols = self.request.protocols.iter();
        // A slice of the request should not keep all of it in memory.
        protocols.map(|one| (one.name.to_string(), Bytes::copy_from_slice(&one.metadata))).collect()
    }

    pub(super) fn rebalance_timeout_ms(&self) -> i32 {
        // Version 0 has one timeout for both.
        if self.version == 0 { self.request.session_timeout_ms } else { self.request.rebalance_timeout_ms }
    }

    pub(super) fn refuse(&self, member_id: &str, error_code: ErrorCode, effects: &mut Effects<GroupMachine>) {
        let response = JoinGroupResponse { error_code, member_id: member_id.to_owned().into(), ..no_generation() };
        effects.reply(self.ticket, GroupReply::Join(response));
    }

    fn member(&self, id: String) -> Member {
        Member {
            id,
            instance_id: self.instance_id().map(str::to_owned),
            client_id: self.client_id.to_owned(),
            client_host: self.client_host.to_owned(),
            session_timeout_ms: self.request.session_timeout_ms,
            rebalance_timeout_ms: self.rebalance_timeout_ms(),
            protocols: self.protocols(),
            assignment: Bytes::new(),
            joining: Some(self.ticket),
            syncing: None,
            is_new: true,
        }
    }
}

impl GroupMachine {
    /// JoinGroup.
    pub(crate) fn join(&mut self, join: &Join<'_>, now_ms: i64, effects: &mut Effects<GroupMachine>) {
        let (id, member_id) = (&*join.request.group_id, &*join.request.member_id);
        let timeout = join.request.session_timeout_ms;
        if id.is_empty() {
            return join.refuse(member_id, ErrorCode::INVALID_GROUP_ID, effects);
        }
        if timeout < self.settings.min_session_timeout_ms || timeout > self.settings.max_session_timeout_ms {
            return join.refuse(member_id, ErrorCode::INVALID_SESSION_TIMEOUT, effects);
        }
        if self.has_consumers(id) {
            return self.join_consumers(join, now_ms, effects);
        }
        if self.has_streams_members(id) || self.is_share_group(id) {
            return join.refuse("", ErrorCode::INCONSISTENT_GROUP_PROTOCOL, effects);
        }
        // A group of another protocol without members gives way, whatever comes of the request.
        self.delete_consumer_group(id, effects);
        self.delete_streams_group(id, effects);
        if !self.groups.contains_key(id) && !member_id.is_empty() {
            return join.refuse(member_id, ErrorCode::UNKNOWN_MEMBER_ID, effects);
        }
        let settings = self.settings.clone();
        let group = self.groups.entry(id.to_owned()).or_insert_with(|| ClassicGroup::new(id.to_owned(), now_ms));
        group.join(join, now_ms, &settings, effects);
        self.arm(id);
    }
}

impl ClassicGroup {
    fn join(&mut self, join: &Join<'_>, now_ms: i64, settings: &GroupSettings, effects: &mut Effects<GroupMachine>) {
        let member_id = &*join.request.member_id;
        if !self.has_room_for(member_id, settings.max_size) {
            if self.remove(member_id).is_some() {
                self.rebalance_without(now_ms, settings, effects);
            }
            return join.refuse("", ErrorCode::GROUP_MAX_SIZE_REACHED, effects);
        }
        if !self.supports(&join.request.protocol_type, &join.protocols()) {
            return join.refuse(member_id, ErrorCode::INCONSISTENT_GROUP_PROTOCOL, effects);
        }
        if member_id.is_empty() {
            self.join_new(join, now_ms, settings, effects);
        } else {
            self.join_again(join, now_ms, settings, effects);
        }
    }

    fn has_room_for(&self, member: &str, max_size: usize) -> bool {
        match self.phase {
            Phase::Empty => true,
            Phase::PreparingRebalance => {
                self.members.get(member).is_some_and(|member| member.joining.is_some())
                    || self.members.values().filter(|member| member.joining.is_some()).count() < max_size
            }
            Phase::CompletingRebalance | Phase::Stable => {
                self.members.contains_key(member) || self.members.len() < max_size
            }
        }
    }

    fn join_new(
        &mut self,
        join: &Join<'_>,
        now_ms: i64,
        settings: &GroupSettings,
        effects: &mut Effects<GroupMachine>,
    ) {
        let name = join.instance_id().unwrap_or(join.client_id);
        let id = format!("{name}-{}", join.unique);
        if id.len() > MAX_STRING_BYTES {
            // Neither a response nor a record can carry it.
            return join.refuse("", ErrorCode::UNKNOWN_SERVER_ERROR, effects);
        }
        if let Some(instance_id) = join.instance_id() {
            return match self.statics.get(instance_id).cloned() {
                Some(old) => self.replace(&old, id, join, now_ms, settings, effects),
                None => self.add(id, join, now_ms, settings, effects),
            };
        }
        if join.version < ID_REQUIRED {
            return self.add(id, join, now_ms, settings, effects);
        }
        self.pending.set(&id, now_ms + i64::from(join.request.session_timeout_ms));
        join.refuse(&id, ErrorCode::MEMBER_ID_REQUIRED, effects);
    }

    fn join_again(
        &mut self,
        join: &Join<'_>,
        now_ms: i64,
        settings: &GroupSettings,
        effects: &mut Effects<GroupMachine>,
    ) {
        let id = &*join.request.member_id;
        if join.instance_id().is_some() && self.pending.get(id).is_some() {
            // A static member never gets an id before it joins, and Kafka fails.
            return join.refuse("", ErrorCode::UNKNOWN_SERVER_ERROR, effects);
        }
        if join.instance_id().is_none() && self.pending.remove(id) {
            return self.add(id.to_owned(), join, now_ms, settings, effects);
        }
        if let Err(code) = self.check_member(id, join.instance_id()) {
            return join.refuse(id, code, effects);
        }
        let same = self.members.get(id).is_some_and(|member| member.protocols == join.protocols());
        match self.phase {
            // Its response was lost, or it follows and has nothing new to say.
            Phase::CompletingRebalance if same => {
                effects.reply(join.ticket, GroupReply::Join(self.joined(id)));
            }
            Phase::Stable if same && !self.is_leader(id) => {
                effects.reply(join.ticket, GroupReply::Join(self.joined(id)));
            }
            Phase::Empty => join.refuse(id, ErrorCode::UNKNOWN_MEMBER_ID, effects),
            _ => {
                self.update(id, join, effects);
                self.rebalance(now_ms, settings, effects);
            }
        }
    }

    fn add(
        &mut self,
        id: String,
        join: &Join<'_>,
        now_ms: i64,
        settings: &GroupSettings,
        effects: &mut Effects<GroupMachine>,
    ) {
        if self.phase == Phase::PreparingRebalance && self.previous == Phase::Empty {
            self.new_member_added = true;
        }
        if self.members.is_empty() {
            self.protocol_type = Some(join.request.protocol_type.to_string());
        }
        if let Some(instance_id) = join.instance_id() {
            self.statics.insert(instance_id.to_owned(), id.clone());
        }
        self.leader.get_or_insert_with(|| id.clone());
        self.sessions.set(&id, now_ms + NEW_MEMBER_JOIN_TIMEOUT_MS);
        self.insert(join.member(id));
        self.rebalance(now_ms, settings, effects);
    }

    fn update(&mut self, id: &str, join: &Join<'_>, effects: &mut Effects<GroupMachine>) {
        self.set_protocols(id, join.protocols());
        let Some(member) = self.members.get_mut(id) else { return };
        member.rebalance_timeout_ms = join.rebalance_timeout_ms();
        member.session_timeout_ms = join.request.session_timeout_ms;
        // A client that asks again does not wait for the first response any more.
        if let Some(before) = member.joining.replace(join.ticket) {
            let again = JoinGroupResponse { error_code: ErrorCode::REBALANCE_IN_PROGRESS, ..no_generation() };
            effects.reply(before, GroupReply::Join(again));
        }
    }

    /// A static member came back without its id: a new id takes the place of the old one (KIP-345).
    fn replace(
        &mut self,
        old: &str,
        new: String,
        join: &Join<'_>,
        now_ms: i64,
        settings: &GroupSettings,
        effects: &mut Effects<GroupMachine>,
    ) {
        let fenced = JoinGroupResponse {
            error_code: ErrorCode::FENCED_INSTANCE_ID,
            member_id: old.to_owned().into(),
            ..no_generation()
        };
        self.complete_join(old, fenced, effects);
        let fenced = SyncGroupResponse { error_code: ErrorCode::FENCED_INSTANCE_ID, ..Default::default() };
        self.complete_sync(old, fenced, effects);
        let Some(before) = self.take(old) else { return };
        let old_leader = self.leader.clone();
        if self.is_leader(old) {
            self.leader = Some(new.clone());
        }
        if self.pending_sync.remove(old) {
            self.pending_sync.insert(new.clone());
        }
        if let Some(instance_id) = join.instance_id() {
            self.statics.insert(instance_id.to_owned(), new.clone());
        }
        let member = Member { assignment: before.assignment, is_new: false, ..join.member(new.clone()) };
        self.insert(member);
        self.heard_of(&new, now_ms);
        if self.phase != Phase::Stable {
            return self.rebalance(now_ms, settings, effects);
        }
        if self.select_protocol() != self.protocol {
            return self.rebalance(now_ms, settings, effects);
        }
        // The assignment stays as it is.
        effects.record(record::group(self));
        let mut response = self.joined(&new);
        if join.version >= SKIP_ASSIGNMENT {
            response.skip_assignment = self.is_leader(&new);
        } else {
            // An old leader that learns that it leads would assign again: it gets its former id.
            response.members = Vec::new();
            response.leader = crate::group::text(old_leader.as_deref());
        }
        self.complete_join(&new, response, effects);
    }

    /// Begins a rebalance, or goes on with one that has begun.
    pub(super) fn rebalance(&mut self, now_ms: i64, settings: &GroupSettings, effects: &mut Effects<GroupMachine>) {
        if self.phase == Phase::PreparingRebalance {
            self.maybe_complete_join_phase(now_ms, effects);
        } else {
            self.prepare_rebalance(now_ms, settings, effects);
        }
    }

    /// A member is gone.
    pub(super) fn rebalance_without(
        &mut self,
        now_ms: i64,
        settings: &GroupSettings,
        effects: &mut Effects<GroupMachine>,
    ) {
        match self.phase {
            Phase::Empty => {}
            _ => self.rebalance(now_ms, settings, effects),
        }
    }

    fn prepare_rebalance(&mut self, now_ms: i64, settings: &GroupSettings, effects: &mut Effects<GroupMachine>) {
        if self.phase == Phase::CompletingRebalance {
            let again = SyncGroupResponse { error_code: ErrorCode::REBALANCE_IN_PROGRESS, ..Default::default() };
            let ids: Vec<String> = self.members.keys().cloned().collect();
            for id in ids {
                if let Some(member) = self.members.get_mut(&id) {
                    member.assignment = Bytes::new();
                }
                self.complete_sync(&id, again.clone(), effects);
            }
        }
        self.sync_until = None;
        self.pending_sync.clear();
        let is_first = self.phase == Phase::Empty;
        self.enter(Phase::PreparingRebalance, now_ms);
        if !is_first {
            if self.have_all_joined() {
                self.complete_join_phase(now_ms, effects);
            } else {
                self.join_until = Some(now_ms + self.rebalance_timeout_ms());
            }
            return;
        }
        let delay_ms = i64::from(settings.initial_rebalance_delay_ms);
        let remaining_ms = (self.rebalance_timeout_ms() - delay_ms).max(0);
        self.new_member_added = false;
        self.initial_delay = Some(InitialDelay { until: now_ms + delay_ms, delay_ms, remaining_ms });
        if delay_ms == 0 {
            self.end_initial_delay(now_ms, settings, effects);
        }
    }

    /// The first rebalance waited. When somebody came meanwhile, it waits on for others.
    pub(super) fn end_initial_delay(
        &mut self,
        now_ms: i64,
        settings: &GroupSettings,
        effects: &mut Effects<GroupMachine>,
    ) {
        let Some(delay) = self.initial_delay.take() else { return };
        if !self.new_member_added || delay.remaining_ms == 0 {
            return self.complete_join_phase(now_ms, effects);
        }
        self.new_member_added = false;
        let next = i64::from(settings.initial_rebalance_delay_ms).min(delay.remaining_ms);
        let remaining_ms = (delay.remaining_ms - delay.delay_ms).max(0);
        self.initial_delay = Some(InitialDelay { until: now_ms + next, delay_ms: next, remaining_ms });
    }

    fn rebalance_timeout_ms(&self) -> i64 {
        self.members.values().map(|member| i64::from(member.rebalance_timeout_ms)).max().unwrap_or(0)
    }

    fn have_all_joined(&self) -> bool {
        self.pending.is_empty() && self.members.values().all(|member| member.joining.is_some())
    }

    pub(super) fn maybe_complete_join_phase(&mut self, now_ms: i64, effects: &mut Effects<GroupMachine>) {
        let waits_for_more = self.initial_delay.is_some();
        if self.phase == Phase::PreparingRebalance && !waits_for_more && self.have_all_joined() {
            self.complete_join_phase(now_ms, effects);
        }
    }

    /// Ends the phase: those who joined are the next generation.
    pub(super) fn complete_join_phase(&mut self, now_ms: i64, effects: &mut Effects<GroupMachine>) {
        self.join_until = None;
        if self.phase != Phase::PreparingRebalance {
            return;
        }
        let away = |member: &&Member| member.joining.is_none() && member.instance_id.is_none();
        let away: Vec<String> = self.members.values().filter(away).map(|member| member.id.clone()).collect();
        away.iter().for_each(|id| _ = self.remove(id));
        if !self.elect_joined_leader() && !self.members.is_empty() {
            // Only static members are left, and none of them is back.
            self.join_until = Some(now_ms + self.rebalance_timeout_ms());
            return;
        }
        self.generation = self.generation.wrapping_add(1).max(0);
        self.pending_sync.clear();
        if self.members.is_empty() {
            self.protocol = None;
            self.leader = None;
            self.enter(Phase::Empty, now_ms);
            effects.record(record::group(self));
            return;
        }
        self.protocol = self.select_protocol();
        self.enter(Phase::CompletingRebalance, now_ms);
        let ids: Vec<String> = self.members.keys().cloned().collect();
        for id in ids {
            let response = self.joined(&id);
            self.complete_join(&id, response, effects);
            if let Some(member) = self.members.get_mut(&id) {
                member.is_new = false;
            }
            self.heard_of(&id, now_ms);
            self.pending_sync.insert(id);
        }
        self.sync_until = Some(now_ms + self.rebalance_timeout_ms());
    }

    /// Whether the leader joined; another one takes its place if not.
    fn elect_joined_leader(&mut self) -> bool {
        let joined = |member: &Member| member.joining.is_some();
        if self.leader.as_ref().and_then(|id| self.members.get(id)).is_some_and(joined) {
            return true;
        }
        let next = self.members.values().find(|member| joined(member)).map(|member| member.id.clone());
        let found = next.is_some();
        if found {
            self.leader = next;
        }
        found
    }
}
