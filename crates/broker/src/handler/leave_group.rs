use milena_messages::leave_group::request::MemberIdentity;
use milena_messages::{LeaveGroupRequest, LeaveGroupResponse};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};

/// From here on several members leave at once (KIP-345).
const BATCHED: i16 = 3;

pub(super) fn handle(context: &Context, request: LeaveGroupRequest, _cost: &mut Cost) -> LeaveGroupResponse {
    if let Err(error_code) = context.authorize(Operation::Read, Resource::group(&request.group_id)) {
        return LeaveGroupResponse { error_code, ..Default::default() };
    }
    let state = &context.state;
    let members = if context.version >= BATCHED {
        request.members
    } else {
        vec![MemberIdentity { member_id: request.member_id, ..Default::default() }]
    };
    let left = state.groups.with(state, context.node.id, &request.group_id, |machine, now_ms, effects| {
        machine.leave(&request.group_id, &members, now_ms, effects)
    });
    let mut response = left.unwrap_or_else(|error_code| LeaveGroupResponse { error_code, ..Default::default() });
    if context.version < BATCHED {
        // The error of the one member is that of the response.
        if let Some(member) = response.members.pop().filter(|_| response.error_code.is_none()) {
            response.error_code = member.error_code;
        }
    }
    response
}
