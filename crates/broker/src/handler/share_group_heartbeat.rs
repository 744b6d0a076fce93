use milena_messages::{ErrorCode, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};

use super::Context;
use crate::cost::Cost;
use crate::group::consumer::Refused;
use crate::group::share::{ShareHeartbeat, check};
use crate::security::acl::{Operation, Resource};

pub(super) fn handle(
    context: &Context,
    request: ShareGroupHeartbeatRequest,
    _cost: &mut Cost,
) -> ShareGroupHeartbeatResponse {
    if let Err(error_code) = authorize(context, &request) {
        return ShareGroupHeartbeatResponse { error_code, ..Default::default() };
    }
    if let Err(refused) = check(&request) {
        return respond(refused);
    }
    let state = &context.state;
    let client_host = context.client.host();
    let heartbeat = ShareHeartbeat {
        request: &request,
        client_id: context.client_id.as_deref().unwrap_or_default(),
        client_host: &client_host,
        topics: &**state,
        settings: &state.share_settings(&request.group_id),
    };
    let beat = state.groups.with(state, context.node.id, &request.group_id, |machine, now_ms, effects| {
        machine.share_heartbeat(&heartbeat, now_ms, effects)
    });
    match beat {
        Ok(Ok(response)) => response,
        Ok(Err(refused)) => respond(refused),
        Err(error_code) => ShareGroupHeartbeatResponse { error_code, ..Default::default() },
    }
}

/// Checks that the client may read the group and may know of the topics.
fn authorize(context: &Context, request: &ShareGroupHeartbeatRequest) -> Result<(), ErrorCode> {
    context.authorize(Operation::Read, Resource::group(&request.group_id))?;
    let mut topics = request.subscribed_topic_names.iter().flatten();
    topics.try_for_each(|name| context.authorize(Operation::Describe, Resource::topic(name)))
}

fn respond(refused: Refused) -> ShareGroupHeartbeatResponse {
    let Refused { code, message } = refused;
    ShareGroupHeartbeatResponse { error_code: code, error_message: Some(message.into()), ..Default::default() }
}
