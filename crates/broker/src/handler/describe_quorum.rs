use milena_messages::describe_quorum::response::{Listener, Node, PartitionData, ReplicaState, TopicData};
use milena_messages::{ByteString, DescribeQuorumRequest, DescribeQuorumResponse, ErrorCode};

use super::Context;
use crate::cluster::State;
use crate::cost::Cost;
use crate::security::acl::Operation;

/// The topic of the controllers, which this broker has in name only.
const METADATA_TOPIC: &str = "__cluster_metadata";
/// There is one epoch of controllers.
const LEADER_EPOCH: i32 = 1;

/// Describes all nodes as voters that have caught up. There is no metadata log, so all offsets are 0.
pub(super) fn handle(context: &Context, request: DescribeQuorumRequest, cost: &mut Cost) -> DescribeQuorumResponse {
    if let Err(refusal) = context.authorize_cluster(Operation::Describe) {
        let (error_code, error_message) = (refusal.code, refusal.text());
        return DescribeQuorumResponse { error_code, error_message, ..Default::default() };
    }
    let state = &context.state;
    let mut response =
        DescribeQuorumResponse { error_message: Some(ByteString::from_static("")), ..Default::default() };
    // Kafka describes the one partition, and only when nothing else is asked for.
    let valid = match &request.topics[..] {
        [topic] if topic.topic_name == METADATA_TOPIC => match &topic.partitions[..] {
            [partition] => partition.partition_index == 0,
            _ => false,
        },
        _ => false,
    };
    // Older versions cannot carry the nodes.
    if valid && context.version >= 2 {
        response.nodes = nodes(state);
    }
    for topic in request.topics {
        let partition = |partition_index| {
            if valid { describe(state, partition_index) } else { unknown(partition_index) }
        };
        let partitions = topic.partitions.iter().map(|asked| partition(asked.partition_index)).collect();
        response.topics.push(TopicData { topic_name: topic.topic_name, partitions, ..Default::default() });
    }
    cost.entries(response.nodes.len());
    response
}

fn unknown(partition_index: i32) -> PartitionData {
    PartitionData {
        partition_index,
        error_code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        error_message: Some(ByteString::from_static("This server does not host this topic-partition.")),
        ..Default::default()
    }
}

fn describe(state: &State, partition_index: i32) -> PartitionData {
    let now_ms = state.now_ms();
    let voter = |node: &std::sync::Arc<crate::cluster::node::Node>| ReplicaState {
        replica_id: node.id,
        log_end_offset: 0,
        last_fetch_timestamp: now_ms,
        last_caught_up_timestamp: now_ms,
        ..Default::default()
    };
    PartitionData {
        partition_index,
        error_message: Some(ByteString::from_static("")),
        leader_id: state.controller(),
        leader_epoch: LEADER_EPOCH,
        high_watermark: 0,
        current_voters: state.nodes().iter().map(voter).collect(),
        ..Default::default()
    }
}

fn nodes(state: &State) -> Vec<Node> {
    let node = |node: &std::sync::Arc<crate::cluster::node::Node>| {
        let endpoint = node.endpoint_of(0);
        let listener = Listener {
            name: ByteString::from_static("CONTROLLER"),
            host: endpoint.host.clone(),
            port: endpoint.port,
            ..Default::default()
        };
        Node { node_id: node.id, listeners: vec![listener], ..Default::default() }
    };
    state.nodes().iter().map(node).collect()
}

#[cfg(test)]
mod tests {
    use milena_messages::describe_quorum::request;

    use super::*;
    use crate::config::BrokerConfig;
    use crate::handler::tests::Fixture;

    /// As Kafka 4.4, but for offsets and times.
    #[test]
    fn the_one_partition_is_described_when_nothing_else_is_asked_for() {
        let state = Fixture::new(BrokerConfig::default(), 3);
        let ask = |topics: &[(&str, &[i32])]| {
            let partition = |index: &i32| request::PartitionData { partition_index: *index, ..Default::default() };
            let topic = |(name, indexes): &(&str, &[i32])| request::TopicData {
                topic_name: (*name).into(),
                partitions: indexes.iter().map(partition).collect(),
                ..Default::default()
            };
            let topics = topics.iter().map(topic).collect();
            handle(&state.at(2), DescribeQuorumRequest { topics, ..Default::default() }, &mut Cost::quick())
        };
        let quorum = ask(&[(METADATA_TOPIC, &[0])]);
        let partition = &quorum.topics[0].partitions[0];
        let voters: Vec<i32> = partition.current_voters.iter().map(|voter| voter.replica_id).collect();
        assert_eq!((partition.error_code, partition.leader_id, &voters[..]), (ErrorCode::NONE, 1, &[1, 2, 3][..]));
        assert_eq!(quorum.nodes.len(), 3);
        let codes = |response: DescribeQuorumResponse| -> Vec<_> {
            let all = response.topics.iter().flat_map(|topic| &topic.partitions);
            all.map(|one| (one.error_code, one.leader_id)).collect()
        };
        let unknown = (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, 0);
        assert_eq!(codes(ask(&[(METADATA_TOPIC, &[1])])), [unknown]);
        assert_eq!(codes(ask(&[("t", &[0])])), [unknown]);
        assert_eq!(codes(ask(&[(METADATA_TOPIC, &[0]), ("t", &[0])])), [unknown, unknown]);
        assert_eq!(codes(ask(&[])), []);
    }
}
