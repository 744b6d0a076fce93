use milena_messages::{ErrorCode, SyncGroupRequest, SyncGroupResponse};

use super::{Context, Outcome, coordinated};
use crate::cost::Cost;
use crate::group::GroupReply;
use crate::security::acl::{Operation, Resource};

/// From here on a client has to name the protocol (KIP-559).
const NAMES_PROTOCOL: i16 = 5;

pub(super) fn handle(context: &Context, request: SyncGroupRequest, _cost: &mut Cost) -> Outcome<SyncGroupResponse> {
    let refused = |error_code| SyncGroupResponse { error_code, ..Default::default() };
    let names_protocol = request.protocol_type.is_some() && request.protocol_name.is_some();
    if context.version >= NAMES_PROTOCOL && !names_protocol {
        return refused(ErrorCode::INCONSISTENT_GROUP_PROTOCOL).into();
    }
    if let Err(code) = context.authorize(Operation::Read, Resource::group(&request.group_id)) {
        return refused(code).into();
    }
    let state = &context.state;
    let reply = state.groups.run(state, context.node.id, &request.group_id, |machine, now_ms, ticket, effects| {
        machine.sync(&request, ticket, &**state, now_ms, effects);
    });
    coordinated(reply, move |reply| match reply {
        Ok(GroupReply::Sync(response)) => response,
        Ok(_) => refused(ErrorCode::UNKNOWN_SERVER_ERROR),
        Err(code) => refused(code),
    })
}
