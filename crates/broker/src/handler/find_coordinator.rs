use std::borrow::Cow;

use milena_messages::find_coordinator::response::Coordinator;
use milena_messages::{ByteString, ErrorCode, FindCoordinatorRequest, FindCoordinatorResponse};

use super::Context;
use super::authorize::unauthorized;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};

const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;

/// From here on several keys are asked for at once.
const BATCHED: i16 = 4;

pub(super) fn handle(context: &Context, request: FindCoordinatorRequest, _cost: &mut Cost) -> FindCoordinatorResponse {
    let kind = request.key_type;
    if context.version >= BATCHED {
        let find = |key| coordinator(context, key, kind);
        let coordinators = request.coordinator_keys.into_iter().map(find).collect();
        return FindCoordinatorResponse { coordinators, ..Default::default() };
    }
    let found = coordinator(context, request.key, kind);
    FindCoordinatorResponse {
        error_code: found.error_code,
        error_message: found.error_message,
        node_id: found.node_id,
        host: found.host,
        port: found.port,
        ..Default::default()
    }
}

fn coordinator(context: &Context, key: ByteString, kind: i8) -> Coordinator {
    let refused = |key, error_code, message: Cow<'static, str>| Coordinator {
        key,
        node_id: -1,
        port: -1,
        error_code,
        error_message: Some(message.as_ref().into()),
        ..Default::default()
    };
    if !matches!(kind, GROUP | TRANSACTION) {
        let message = "Only groups and transactions have a coordinator here";
        return refused(key, ErrorCode::INVALID_REQUEST, message.into());
    }
    let authorized = match kind {
        TRANSACTION => context.authorize(Operation::Describe, Resource::transactional_id(&key)),
        _ => context.authorize(Operation::Describe, Resource::group(&key)),
    };
    if let Err(code) = authorized {
        return refused(key, code, unauthorized(code).message);
    }
    let found = match kind {
        TRANSACTION => context.state.transactions.find(&context.state, &key),
        _ => context.state.groups.find(&context.state, &key),
    };
    match found {
        Ok(node) => {
            let endpoint = context.endpoint(&node);
            Coordinator {
                key,
                node_id: node.id,
                host: endpoint.host.clone(),
                port: endpoint.port.into(),
                ..Default::default()
            }
        }
        Err(code) => refused(key, code, "The coordinator is not available.".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::tests::{Fixture, state};

    fn handle(state: &Fixture, request: FindCoordinatorRequest, version: i16) -> FindCoordinatorResponse {
        super::handle(&state.at(version), request, &mut Cost::quick())
    }

    #[test]
    fn the_only_node_coordinates_everything() {
        let state = state();
        let one = handle(&state, FindCoordinatorRequest { key: "g".into(), ..Default::default() }, 3);
        assert_eq!((one.error_code, one.node_id, one.port), (ErrorCode::NONE, 1, 9092));
        let request = FindCoordinatorRequest {
            coordinator_keys: vec!["g".into(), "h".into()],
            key_type: TRANSACTION,
            ..Default::default()
        };
        let keys: Vec<_> = handle(&state, request, 4).coordinators.into_iter().map(|found| found.key).collect();
        assert_eq!(keys, ["g", "h"]);
    }

    #[test]
    fn share_groups_are_not_known() {
        let request = FindCoordinatorRequest { coordinator_keys: vec!["g".into()], key_type: 2, ..Default::default() };
        assert_eq!(handle(&state(), request, 6).coordinators[0].error_code, ErrorCode::INVALID_REQUEST);
    }
}
