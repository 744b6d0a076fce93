use std::sync::Arc;

use milena_messages::describe_cluster::response::DescribeClusterBroker;
use milena_messages::{DescribeClusterRequest, DescribeClusterResponse, ErrorCode};

use super::Context;
use crate::cluster::node::Node;
use crate::cost::Cost;

const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

pub(super) fn handle(context: &Context, request: DescribeClusterRequest, _cost: &mut Cost) -> DescribeClusterResponse {
    let refused = |error_code, message: &'static str| DescribeClusterResponse {
        error_code,
        error_message: Some(message.into()),
        // Kafka names its own type, whatever was asked for.
        endpoint_type: BROKERS,
        ..Default::default()
    };
    match request.endpoint_type {
        BROKERS => {}
        CONTROLLERS => {
            return refused(ErrorCode::MISMATCHED_ENDPOINT_TYPE, "The request was sent to an endpoint of type BROKER");
        }
        _ => return refused(ErrorCode::UNSUPPORTED_ENDPOINT_TYPE, "Endpoint types are 1, brokers, and 2, controllers"),
    }
    let broker = |node: &Arc<Node>| {
        let endpoint = context.endpoint(node);
        DescribeClusterBroker {
            broker_id: node.id,
            host: endpoint.host.clone(),
            port: endpoint.port.into(),
            rack: node.rack.clone(),
            ..Default::default()
        }
    };
    DescribeClusterResponse {
        cluster_id: context.state.cluster_id.clone(),
        controller_id: context.state.controller(),
        endpoint_type: BROKERS,
        brokers: context.state.alive().iter().map(broker).collect(),
        cluster_authorized_operations: if request.include_cluster_authorized_operations {
            context.cluster_operations()
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
        let ask = |endpoint_type| {
            handle(&state.at(2), DescribeClusterRequest { endpoint_type, ..Default::default() }, &mut Cost::quick())
        };
        assert_eq!(ask(1).brokers[0].broker_id, 1);
        assert_eq!((ask(2).error_code, ask(2).endpoint_type), (ErrorCode::MISMATCHED_ENDPOINT_TYPE, 1));
        assert_eq!(ask(3).error_code, ErrorCode::UNSUPPORTED_ENDPOINT_TYPE);
    }
}
