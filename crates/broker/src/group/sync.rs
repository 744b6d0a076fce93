//! The second half of a rebalance: the leader assigns. And heartbeats, which tell members of it.

use std::collections::BTreeMap;

use milena_messages::{Bytes, ErrorCode, HeartbeatRequest, SyncGroupRequest, SyncGroupResponse};

use crate::coordinator::{Effects, MAX_BATCH_BYTES, Ticket};
use crate::group::classic::{ClassicGroup, Phase};
use crate::group::consumer::TopicLookup;
use crate::group::{GroupMachine, GroupReply, GroupSettings, record};

impl GroupMachine {
    /// SyncGroup.
    pub(crate) fn sync(
        &mut self,
        request: &SyncGroupRequest,
        ticket: Ticket,
        topics: &dyn TopicLookup,
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) {
        let refuse = |error_code, effects: &mut Effects<GroupMachine>| {
            effects.reply(ticket, GroupReply::Sync(SyncGroupResponse { error_code, ..Default::default() }));
        };
        if request.group_id.is_empty() {
            return refuse(ErrorCode::INVALID_GROUP_ID, effects);
        }
        if self.consumers.contains_key(&*request.group_id) {
            return self.sync_consumers(request, ticket, topics, now_ms, effects);
        }
        let settings = self.settings.clone();
        let Some(group) = self.groups.get_mut(&*request.group_id) else {
            return refuse(ErrorCode::UNKNOWN_MEMBER_ID, effects);
        };
        match group.check_sync(request) {
            Ok(()) => group.sync(request, ticket, now_ms, &settings, effects),
            Err(code) => refuse(code, effects),
        }
        self.arm(&request.group_id);
    }

    /// Heartbeat.
    pub(crate) fn heartbeat(&mut self, request: &HeartbeatRequest, now_ms: i64) -> ErrorCode {
        if request.group_id.is_empty() {
            return ErrorCode::INVALID_GROUP_ID;
        }
        if self.consumers.contains_key(&*request.group_id) {
            return self.heartbeat_consumers(request, now_ms);
        }
        let Some(group) = self.groups.get_mut(&*request.group_id) else { return ErrorCode::UNKNOWN_MEMBER_ID };
        if let Err(code) = group.check_member(&request.member_id, request.group_instance_id.as_deref()) {
            return code;
        }
        if request.generation_id != group.generation {
            return ErrorCode::ILLEGAL_GENERATION;
        }
        let code = match group.phase {
            Phase::Empty => return ErrorCode::UNKNOWN_MEMBER_ID,
            Phase::PreparingRebalance => ErrorCode::REBALANCE_IN_PROGRESS,
            Phase::CompletingRebalance | Phase::Stable => ErrorCode::NONE,
        };
        group.heard_of(&request.member_id, now_ms);
        self.arm(&request.group_id);
        code
    }
}

impl ClassicGroup {
    fn check_sync(&self, request: &SyncGroupRequest) -> Result<(), ErrorCode> {
        self.check_member(&request.member_id, request.group_instance_id.as_deref())?;
        if request.generation_id != self.generation {
            return Err(ErrorCode::ILLEGAL_GENERATION);
        }
        let differs = |asked: Option<&str>, own: Option<&str>| asked.is_some_and(|asked| own != Some(asked));
        if differs(request.protocol_type.as_deref(), self.protocol_type())
            || differs(request.protocol_name.as_deref(), self.protocol())
        {
            return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        match self.phase {
            Phase::Empty => Err(ErrorCode::UNKNOWN_MEMBER_ID),
            Phase::PreparingRebalance => Err(ErrorCode::REBALANCE_IN_PROGRESS),
            Phase::CompletingRebalance | Phase::Stable => Ok(()),
        }
    }

    fn sync(
        &mut self,
        request: &SyncGroupRequest,
        ticket: Ticket,
        now_ms: i64,
        settings: &GroupSettings,
        effects: &mut Effects<GroupMachine>,
    ) {
        let id = &*request.member_id;
        self.pending_sync.remove(id);
        if self.phase == Phase::Stable {
            self.heard_of(id, now_ms);
            return effects.reply(ticket, GroupReply::Sync(self.assigned(id)));
        }
        if let Some(member) = self.members.get_mut(id) {
            if let Some(before) = member.syncing.replace(ticket) {
                let again = SyncGroupResponse { error_code: ErrorCode::REBALANCE_IN_PROGRESS, ..Default::default() };
                effects.reply(before, GroupReply::Sync(again));
            }
        }
        if !self.is_leader(id) {
            return;
        }
        let assignments: BTreeMap<&str, &Bytes> =
            request.assignments.iter().map(|one| (&*one.member_id, &one.assignment)).collect();
        for member in self.members.values_mut() {
            // Members that the leader left out have nothing. A slice of the request should not keep all of it in memory.
            member.assignment =
                assignments.get(&*member.id).map(|bytes| Bytes::copy_from_slice(bytes)).unwrap_or_default();
        }
        self.enter(Phase::Stable, now_ms);
        let record = record::group(self);
        if record.size() > MAX_BATCH_BYTES {
            return self.refuse_assignments(now_ms, settings, effects);
        }
        effects.record(record);
        let ids: Vec<String> = self.members.keys().cloned().collect();
        for id in ids {
            if self.members.get(&id).is_some_and(|member| member.syncing.is_some()) {
                let response = self.assigned(&id);
                self.complete_sync(&id, response, effects);
                self.heard_of(&id, now_ms);
            }
        }
        if self.pending_sync.is_empty() {
            self.sync_until = None;
        }
    }

    /// The group does not fit into the log: nobody gets an assignment, and all join again.
    fn refuse_assignments(&mut self, now_ms: i64, settings: &GroupSettings, effects: &mut Effects<GroupMachine>) {
        let refused = SyncGroupResponse { error_code: ErrorCode::UNKNOWN_SERVER_ERROR, ..Default::default() };
        let ids: Vec<String> = self.members.keys().cloned().collect();
        for id in ids {
            if let Some(member) = self.members.get_mut(&id) {
                member.assignment = Bytes::new();
            }
            self.complete_sync(&id, refused.clone(), effects);
        }
        self.rebalance(now_ms, settings, effects);
    }

    fn assigned(&self, member: &str) -> SyncGroupResponse {
        SyncGroupResponse {
            protocol_type: self.protocol_type.clone().map(Into::into),
            protocol_name: self.protocol.clone().map(Into::into),
            assignment: self.members.get(member).map(|member| member.assignment.clone()).unwrap_or_default(),
            ..Default::default()
        }
    }

    /// Members that joined and did not ask for their assignment in time are gone.
    pub(super) fn expire_sync(&mut self, now_ms: i64, settings: &GroupSettings, effects: &mut Effects<GroupMachine>) {
        self.sync_until = None;
        if !matches!(self.phase, Phase::CompletingRebalance | Phase::Stable) || self.pending_sync.is_empty() {
            return;
        }
        for id in std::mem::take(&mut self.pending_sync) {
            self.remove(&id);
        }
        self.rebalance(now_ms, settings, effects);
    }
}
