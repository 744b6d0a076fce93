use milena_messages::{HeartbeatRequest, HeartbeatResponse};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};

pub(super) fn handle(context: &Context, request: HeartbeatRequest, _cost: &mut Cost) -> HeartbeatResponse {
    if let Err(error_code) = context.authorize(Operation::Read, Resource::group(&request.group_id)) {
        return HeartbeatResponse { error_code, ..Default::default() };
    }
    let state = &context.state;
    let beat = state
        .groups
        .with(state, context.node.id, &request.group_id, |machine, now_ms, _| machine.heartbeat(&request, now_ms));
    HeartbeatResponse { error_code: beat.unwrap_or_else(|code| code), ..Default::default() }
}
