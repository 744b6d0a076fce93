use milena_messages::find_coordinator::response::Coordinator;
use milena_messages::{ByteString, ErrorCode, FindCoordinatorRequest, FindCoordinatorResponse};

use crate::state::State;

const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;

/// From here on several keys are asked for at once.
const BATCHED: i16 = 4;

pub(super) fn handle(state: &State, request: FindCoordinatorRequest, version: i16) -> FindCoordinatorResponse {
    let known = matches!(request.key_type, GROUP | TRANSACTION);
    if version >= BATCHED {
        let find = |key| coordinator(state, key, known);
        let coordinators = request.coordinator_keys.into_iter().map(find).collect();
        return FindCoordinatorResponse { coordinators, ..Default::default() };
    }
    let found = coordinator(state, request.key, known);
    FindCoordinatorResponse {
        error_code: found.error_code,
        error_message: found.error_message,
        node_id: found.node_id,
        host: found.host,
        port: found.port,
        ..Default::default()
    }
}

fn coordinator(state: &State, key: ByteString, known: bool) -> Coordinator {
    if !known {
        return Coordinator {
            key,
            node_id: -1,
            port: -1,
            error_code: ErrorCode::INVALID_REQUEST,
            error_message: Some("Only groups and transactions have a coordinator here".into()),
            ..Default::default()
        };
    }
    Coordinator {
        key,
        node_id: state.node_id(),
        host: state.host.clone(),
        port: state.port.into(),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::tests::state;

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
