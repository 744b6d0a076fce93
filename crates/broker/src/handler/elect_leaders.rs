use milena_messages::elect_leaders::request::TopicPartitions;
use milena_messages::elect_leaders::response::{PartitionResult, ReplicaElectionResult};
use milena_messages::{ElectLeadersRequest, ElectLeadersResponse, ErrorCode};

use super::Context;
use crate::cluster::TopicRef;
use crate::cost::Cost;
use crate::refusal::Refusal;
use crate::security::acl::Operation;

const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;

pub(super) fn handle(context: &Context, request: ElectLeadersRequest, cost: &mut Cost) -> ElectLeadersResponse {
    let state = &context.state;
    if !matches!(request.election_type, PREFERRED | UNCLEAN) {
        let code = ErrorCode::INVALID_REQUEST;
        let refusal = || Refusal::new(code, "The server was asked for an election of a type that it does not know.");
        let refused = |wanted: TopicPartitions| ReplicaElectionResult {
            partition_result: wanted.partitions.iter().map(|index| respond(*index, Err(refusal()))).collect(),
            topic: wanted.topic,
            ..Default::default()
        };
        let replica_election_results = request.topic_partitions.into_iter().flatten().map(refused).collect();
        return ElectLeadersResponse { error_code: code, replica_election_results, ..Default::default() };
    }
    if let Err(refusal) = context.authorize_cluster(Operation::Alter) {
        let topic = |topic: TopicPartitions| ReplicaElectionResult {
            partition_result: topic.partitions.iter().map(|index| respond(*index, Err(refusal.clone()))).collect(),
            topic: topic.topic,
            ..Default::default()
        };
        let replica_election_results = request.topic_partitions.into_iter().flatten().map(topic).collect();
        // Version 0 has the error in each partition only.
        let error_code = if context.version >= 1 { refusal.code } else { ErrorCode::NONE };
        return ElectLeadersResponse { error_code, replica_election_results, ..Default::default() };
    }
    let unclean = request.election_type == UNCLEAN;
    let mut results = Vec::new();
    let Some(topics) = request.topic_partitions else {
        let topics = state.topics();
        let count: usize = topics.iter().map(|topic| topic.partition_count()).sum();
        // Many partitions are gone through on a thread of its own.
        if !cost.entries(count) && cost.needs_full() {
            return ElectLeadersResponse::default();
        }
        for topic in topics {
            let elected = (0..).zip(topic.partitions()).map(|(index, one)| (index, state.elect_leader(&one, unclean)));
            // Those that need none are left out.
            let needed = elected.filter(
                |(_, result)| !matches!(result, Err(refusal) if refusal.code == ErrorCode::ELECTION_NOT_NEEDED),
            );
            let partition_result = needed.map(|(index, result)| respond(index, result)).collect();
            results.push(ReplicaElectionResult { topic: topic.name.clone(), partition_result, ..Default::default() });
        }
        return ElectLeadersResponse { replica_election_results: results, ..Default::default() };
    };
    for wanted in topics {
        let name = &*wanted.topic;
        let topic = state.topic(TopicRef::Name(name));
        let elect = |index| {
            let unknown = |message| Refusal::new(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, message);
            let topic = topic.as_ref().ok_or_else(|| unknown(format!("No such topic as {name}")))?;
            let partition = topic.partition(index);
            let partition = partition.ok_or_else(|| unknown(format!("No such partition as {name}-{index}")))?;
            state.elect_leader(&partition, unclean)
        };
        let partition_result = wanted.partitions.iter().copied().map(|index| respond(index, elect(index))).collect();
        results.push(ReplicaElectionResult { topic: wanted.topic.clone(), partition_result, ..Default::default() });
    }
    ElectLeadersResponse { replica_election_results: results, ..Default::default() }
}

fn respond(partition_id: i32, result: Result<(), Refusal>) -> PartitionResult {
    let (error_code, error_message) = match result {
        Ok(()) => (ErrorCode::NONE, None),
        Err(refusal) => (refusal.code, refusal.text()),
    };
    PartitionResult { partition_id, error_code, error_message, ..Default::default() }
}

#[cfg(test)]
mod tests {
    use milena_messages::Int32s;

    use super::*;
    use crate::config::BrokerConfig;
    use crate::handler::tests::Fixture;

    /// As a cluster of three nodes of Kafka 4.4.
    #[test]
    fn the_preferred_replica_leads_again_when_it_is_up() {
        let state = Fixture::new(BrokerConfig::default(), 3);
        let topic =
            state.create_topic("r", vec![vec![3, 1], vec![1, 3]], state.topic_config([]).unwrap(), false).unwrap();
        let ask = |election_type, topics: Option<&[i32]>| {
            let one = |indexes: &[i32]| {
                let partitions = Int32s::from_slice(indexes);
                vec![TopicPartitions { topic: "r".into(), partitions, ..Default::default() }]
            };
            let request =
                ElectLeadersRequest { election_type, topic_partitions: topics.map(one), ..Default::default() };
            let response = handle(&state.at(2), request, &mut Cost::quick());
            let results = response.replica_election_results.into_iter().flat_map(|topic| topic.partition_result);
            (response.error_code, results.map(|one| (one.partition_id, one.error_code)).collect::<Vec<_>>())
        };
        state.node_down(3);
        assert_eq!(ask(0, None).1, [(0, ErrorCode::PREFERRED_LEADER_NOT_AVAILABLE)]);
        state.node_up(3);
        let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        let expected = [(0, ErrorCode::NONE), (1, ErrorCode::ELECTION_NOT_NEEDED), (9, unknown)];
        assert_eq!(ask(0, Some(&[0, 1, 9])).1, expected);
        assert_eq!((topic.partition(0).unwrap().leadership().leader, ask(0, None).1), (3, vec![]));
        assert_eq!(ask(1, Some(&[0])).1, [(0, ErrorCode::ELECTION_NOT_NEEDED)]);
        assert_eq!(ask(5, None), (ErrorCode::INVALID_REQUEST, vec![]));
        assert_eq!(ask(5, Some(&[1])).1, [(1, ErrorCode::INVALID_REQUEST)]);
        // Node 1 left the replicas in sync first; then node 3 is gone too, and node 1 comes back.
        state.node_down(1);
        state.node_down(3);
        state.node_up(1);
        assert_eq!(topic.partition(0).unwrap().leadership().leader, -1);
        assert_eq!(ask(1, Some(&[0])).1, [(0, ErrorCode::NONE)]);
        assert_eq!(topic.partition(0).unwrap().leadership().leader, 1);
    }
}
