use milena_messages::{HeartbeatRequest, HeartbeatResponse};

use super::Context;
use crate::cost::Cost;

pub(super) fn handle(context: &Context, request: HeartbeatRequest, _cost: &mut Cost) -> HeartbeatResponse {
    let state = &context.state;
    let beat = state
        .groups
        .with(state, context.node.id, &request.group_id, |machine, now_ms, _| machine.heartbeat(&request, now_ms));
    HeartbeatResponse { error_code: beat.unwrap_or_else(|code| code), ..Default::default() }
}
