use std::borrow::Cow;

use milena_messages::find_coordinator::response::Coordinator;
use milena_messages::{ByteString, ErrorCode, FindCoordinatorRequest, FindCoordinatorResponse};

use super::Context;
use super::authorize::unauthorized;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};
use crate::share::is_share_key;

const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;
const SHARE: i8 = 2;

/// From here on several keys are asked for at once.
const BATCHED: i16 = 4;
/// From here on share groups have coordinators (KIP-932).
const SHARE_GROUPS: i16 = 6;

pub(super) fn handle(context: &Context, request: FindCoordinatorRequest, _cost: &mut Cost) -> FindCoordinatorResponse {
    let kind = request.key_type;
    if context.version >= BATCHED {
        let find = |key| coordinator(context, key, kind);
        let coordinators = request.coordinator_keys.into_iter().map(find).collect();
        return FindCoordinatorResponse { coordinators, ..Default::default() };
    }
    let found = coordinator(context, request.key, kind);
    let fine = found.error_code.is_none();
    FindCoordinatorResponse {
        error_code: found.error_code,
        // Kafka puts the name of the code there.
        error_message: if fine { Some("NONE".into()) } else { found.error_message },
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
    let authorized = match kind {
        SHARE if context.version < SHARE_GROUPS => Err(ErrorCode::INVALID_REQUEST),
        SHARE => context.authorize(Operation::ClusterAction, Resource::CLUSTER),
        TRANSACTION => context.authorize(Operation::Describe, Resource::transactional_id(&key)),
        GROUP => context.authorize(Operation::Describe, Resource::group(&key)),
        _ => Ok(()),
    };
    if let Err(code) = authorized {
        return refused(key, code, unauthorized(code).message);
    }
    let is_valid = match kind {
        GROUP | TRANSACTION => true,
        SHARE => is_share_key(&key),
        _ => false,
    };
    if !is_valid {
        let message = "Only groups, transactions and share partitions have a coordinator";
        return refused(key, ErrorCode::INVALID_REQUEST, message.into());
    }
    let found = match kind {
        TRANSACTION => context.state.transactions.find(&context.state, &key),
        SHARE => context.state.shares.find(&context.state, &key),
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
        assert_eq!(one.error_message.as_deref(), Some("NONE"));
        let request = FindCoordinatorRequest {
            coordinator_keys: vec!["g".into(), "h".into()],
            key_type: TRANSACTION,
            ..Default::default()
        };
        let keys: Vec<_> = handle(&state, request, 4).coordinators.into_iter().map(|found| found.key).collect();
        assert_eq!(keys, ["g", "h"]);
    }

    #[test]
    fn share_partitions_have_a_coordinator_from_version_6_on() {
        let state = state();
        let code = |key: &'static str, version| {
            let coordinator_keys = vec![key.into()];
            let request = FindCoordinatorRequest { coordinator_keys, key_type: SHARE, ..Default::default() };
            handle(&state, request, version).coordinators[0].error_code
        };
        assert_eq!(code("g:AQEBAQEBAQEBAQEBAQEBAQ:0", 6), ErrorCode::NONE);
        assert_eq!(code("g:AQEBAQEBAQEBAQEBAQEBAQ:0", 5), ErrorCode::INVALID_REQUEST);
        assert_eq!(code("g", 6), ErrorCode::INVALID_REQUEST);
    }
}
