use milena_messages::describe_cluster::response::DescribeClusterBroker;
use milena_messages::{DescribeClusterRequest, DescribeClusterResponse, ErrorCode};

use super::metadata::CLUSTER_OPERATIONS;
use crate::state::State;

const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

pub(super) fn handle(state: &State, request: DescribeClusterRequest) -> DescribeClusterResponse {
    let refused = |error_code, message: &'static str| DescribeClusterResponse {
        error_code,
        error_message: Some(message.into()),
        endpoint_type: request.endpoint_type,
        ..Default::default()
    };
    match request.endpoint_type {
        BROKERS => {}
        CONTROLLERS => {
            return refused(ErrorCode::MISMATCHED_ENDPOINT_TYPE, "The request was sent to an endpoint of type BROKER");
        }
        _ => return refused(ErrorCode::UNSUPPORTED_ENDPOINT_TYPE, "Endpoint types are 1, brokers, and 2, controllers"),
    }
    DescribeClusterResponse {
        cluster_id: state.cluster_id.clone(),
        controller_id: state.node_id(),
        brokers: vec![DescribeClusterBroker {
            broker_id: state.node_id(),
            host: state.host.clone(),
            port: state.port.into(),
            rack: state.rack(),
            ..Default::default()
        }],
        cluster_authorized_operations: if request.include_cluster_authorized_operations {
            CLUSTER_OPERATIONS
        } else {
            i32::MIN
        },
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::tests::state;

    #[test]
    fn only_brokers_are_to_be_found_here() {
        let state = state();
        let ask = |endpoint_type| handle(&state, DescribeClusterRequest { endpoint_type, ..Default::default() });
        assert_eq!(ask(1).brokers[0].broker_id, 1);
        assert_eq!(ask(2).error_code, ErrorCode::MISMATCHED_ENDPOINT_TYPE);
        assert_eq!(ask(3).error_code, ErrorCode::UNSUPPORTED_ENDPOINT_TYPE);
    }
}
