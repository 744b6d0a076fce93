use milena_messages::{ErrorCode, JoinGroupRequest, JoinGroupResponse};

use super::{Context, Outcome, coordinated};
use crate::cost::Cost;
use crate::group::GroupReply;
use crate::group::join::Join;
use crate::security::acl::{Operation, Resource};

pub(super) fn handle(context: &Context, request: JoinGroupRequest, _cost: &mut Cost) -> Outcome<JoinGroupResponse> {
    let state = &context.state;
    if let Err(code) = context.authorize(Operation::Read, Resource::group(&request.group_id)) {
        return respond(Err(code), context.version).into();
    }
    let settings = state.consumer_settings(&request.group_id);
    let client_host = context.client.host();
    let reply = state.groups.run(state, context.node.id, &request.group_id, |machine, now_ms, ticket, effects| {
        let join = Join {
            request: &request,
            version: context.version,
            client_id: context.client_id.as_deref().unwrap_or_default(),
            client_host: &client_host,
            unique: state.random_id(),
            ticket,
            topics: &**state,
            settings: &settings,
        };
        machine.join(&join, now_ms, effects);
    });
    let version = context.version;
    coordinated(reply, move |reply| respond(reply, version))
}

fn respond(reply: Result<GroupReply, ErrorCode>, version: i16) -> JoinGroupResponse {
    let mut response = match reply {
        Ok(GroupReply::Join(response)) => response,
        Ok(_) => refused(ErrorCode::UNKNOWN_SERVER_ERROR),
        Err(code) => refused(code),
    };
    // As in Kafka; before version 7 the name could not be null.
    if !response.error_code.is_none() {
        response.protocol_name = None;
    }
    if version < 7 {
        response.protocol_name.get_or_insert_default();
    }
    response
}

fn refused(error_code: ErrorCode) -> JoinGroupResponse {
    JoinGroupResponse { error_code, generation_id: -1, ..Default::default() }
}
