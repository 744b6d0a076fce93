//! Members that go, and what others see of a group.

use milena_messages::describe_groups::response::{DescribedGroup, DescribedGroupMember};
use milena_messages::leave_group::request::MemberIdentity;
use milena_messages::leave_group::response::MemberResponse;
use milena_messages::list_groups::response::ListedGroup;
use milena_messages::{Bytes, ErrorCode, LeaveGroupResponse};

use crate::coordinator::Effects;
use crate::group::classic::{ClassicGroup, Member, Phase, no_generation};
use crate::group::consumer::ConsumerGroup;
use crate::group::share::ShareGroup;
use crate::group::streams::StreamsGroup;
use crate::group::{GroupMachine, text};

impl GroupMachine {
    /// LeaveGroup of these members.
    pub(crate) fn leave(
        &mut self,
        id: &str,
        members: &[MemberIdentity],
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) -> LeaveGroupResponse {
        let refused = |error_code| LeaveGroupResponse { error_code, ..Default::default() };
        if id.is_empty() {
            return refused(ErrorCode::INVALID_GROUP_ID);
        }
        if self.consumers.contains_key(id) {
            let codes = self.leave_consumers(id, members, now_ms, effects);
            self.arm(id);
            let members = members.iter().zip(codes).map(|(leaving, code)| left(leaving, code)).collect();
            return LeaveGroupResponse { members, ..Default::default() };
        }
        let settings = self.settings.clone();
        let Some(group) = self.groups.get_mut(id) else {
            let members = members.iter().map(|member| left(member, ErrorCode::UNKNOWN_MEMBER_ID)).collect();
            return LeaveGroupResponse { members, ..Default::default() };
        };
        let members: Vec<_> = members.iter().map(|member| group.leave(member, effects)).collect();
        if members.iter().any(|member| member.error_code.is_none()) {
            group.rebalance_without(now_ms, &settings, effects);
        }
        self.arm(id);
        LeaveGroupResponse { members, ..Default::default() }
    }

    /// All groups, for ListGroups.
    pub(crate) fn list(&self) -> Vec<ListedGroup> {
        let listed = |id: &str, protocol_type: Option<&str>, phase: Phase| ListedGroup {
            group_id: id.to_owned().into(),
            protocol_type: text(protocol_type),
            group_state: phase.name().into(),
            group_type: "classic".into(),
            ..Default::default()
        };
        let groups = self.groups.values().map(|group| listed(group.id(), group.protocol_type(), group.phase));
        let consumers = self.consumers.values().map(ConsumerGroup::listed);
        let shares = self.shares.values().map(ShareGroup::listed);
        let streams = self.streams.values().map(StreamsGroup::listed);
        groups.chain(consumers).chain(shares).chain(streams).collect()
    }

    /// DescribeGroups of one group; `None` when there is none.
    pub(crate) fn describe(&self, id: &str) -> Option<DescribedGroup> {
        self.groups.get(id).map(ClassicGroup::describe)
    }
}

fn left(leaving: &MemberIdentity, error_code: ErrorCode) -> MemberResponse {
    MemberResponse {
        member_id: leaving.member_id.clone(),
        group_instance_id: leaving.group_instance_id.clone(),
        error_code,
        ..Default::default()
    }
}

impl ClassicGroup {
    fn leave(&mut self, leaving: &MemberIdentity, effects: &mut Effects<GroupMachine>) -> MemberResponse {
        let respond = |error_code| left(leaving, error_code);
        let instance_id = leaving.group_instance_id.as_deref();
        // An operator removes static members by their instance id alone.
        if leaving.member_id.is_empty() {
            let Some(id) = instance_id.and_then(|instance_id| self.statics.get(instance_id)).cloned() else {
                return respond(ErrorCode::UNKNOWN_MEMBER_ID);
            };
            self.dismiss(&id, effects);
            return respond(ErrorCode::NONE);
        }
        if self.pending.remove(&*leaving.member_id) {
            return respond(ErrorCode::NONE);
        }
        if let Err(code) = self.check_member(&leaving.member_id, instance_id) {
            return respond(code);
        }
        self.dismiss(&leaving.member_id, effects);
        respond(ErrorCode::NONE)
    }

    /// Takes a member out, and tells its requests that wait.
    fn dismiss(&mut self, id: &str, effects: &mut Effects<GroupMachine>) {
        let error_code = ErrorCode::UNKNOWN_MEMBER_ID;
        self.complete_join(id, milena_messages::JoinGroupResponse { error_code, ..no_generation() }, effects);
        let unknown = milena_messages::SyncGroupResponse { error_code, ..Default::default() };
        self.complete_sync(id, unknown, effects);
        self.remove(id);
    }

    fn describe(&self) -> DescribedGroup {
        let stable = self.phase == Phase::Stable;
        let protocol = self.protocol().filter(|_| stable).unwrap_or_default();
        let member = |member: &Member| DescribedGroupMember {
            member_id: member.id.clone().into(),
            group_instance_id: member.instance_id.clone().map(Into::into),
            client_id: member.client_id.clone().into(),
            client_host: member.client_host.clone().into(),
            member_metadata: if stable { member.metadata(protocol).unwrap_or_default() } else { Bytes::new() },
            member_assignment: if stable { member.assignment.clone() } else { Bytes::new() },
            ..Default::default()
        };
        DescribedGroup {
            group_id: self.id().to_owned().into(),
            group_state: self.phase.name().into(),
            protocol_type: text(self.protocol_type()),
            protocol_data: protocol.to_owned().into(),
            members: self.members().map(member).collect(),
            ..Default::default()
        }
    }
}
