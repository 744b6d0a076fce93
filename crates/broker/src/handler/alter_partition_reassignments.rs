use milena_messages::alter_partition_reassignments::request::ReassignablePartition;
use milena_messages::alter_partition_reassignments::response::{
    ReassignablePartitionResponse, ReassignableTopicResponse,
};
use milena_messages::{AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, ByteString, ErrorCode};

use super::Context;
use crate::cluster::TopicRef;
use crate::cost::Cost;
use crate::refusal::Refusal;
use crate::security::acl::Operation;

/// Replicas share one log, so a reassignment is complete when the response is sent.
pub(super) fn handle(
    context: &Context,
    request: AlterPartitionReassignmentsRequest,
    _cost: &mut Cost,
) -> AlterPartitionReassignmentsResponse {
    let same_number = !request.allow_replication_factor_change;
    let mut responses = Vec::with_capacity(request.topics.len());
    let authorized = context.authorize_cluster(Operation::Alter);
    // Kafka does not send null when there is nothing to do.
    let error_message = match &authorized {
        Ok(()) => request.topics.is_empty().then(|| ByteString::from_static("")),
        Err(refusal) => refusal.text(),
    };
    for topic in request.topics {
        let respond = |partition: &ReassignablePartition| {
            let reassigned = authorized.clone().and_then(|()| reassign(context, &topic.name, partition, same_number));
            let refusal = reassigned.err();
            ReassignablePartitionResponse {
                partition_index: partition.partition_index,
                error_code: refusal.as_ref().map_or(ErrorCode::NONE, |refusal| refusal.code),
                error_message: refusal.filter(|refusal| !refusal.message.is_empty()).and_then(|refusal| refusal.text()),
                ..Default::default()
            }
        };
        let partitions = topic.partitions.iter().map(respond).collect();
        responses.push(ReassignableTopicResponse { name: topic.name.clone(), partitions, ..Default::default() });
    }
    AlterPartitionReassignmentsResponse {
        allow_replication_factor_change: !same_number,
        error_code: authorized.map_or_else(|refusal| refusal.code, |()| ErrorCode::NONE),
        error_message,
        responses,
        ..Default::default()
    }
}

fn reassign(context: &Context, name: &str, wanted: &ReassignablePartition, same_number: bool) -> Result<(), Refusal> {
    let (state, index) = (&context.state, wanted.partition_index);
    let unknown = |message| Refusal::new(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, message);
    let topic = state.topic(TopicRef::Name(name));
    let topic = topic.ok_or_else(|| unknown(format!("Unable to find a topic named {name}.")))?;
    let partition = topic.partition(index);
    let partition = partition.ok_or_else(|| unknown(format!("Unable to find partition {name}:{index}.")))?;
    match &wanted.replicas {
        None => Err(Refusal::new(ErrorCode::NO_REASSIGNMENT_IN_PROGRESS, "")),
        Some(replicas) => state.reassign(&partition, replicas, same_number),
    }
}

#[cfg(test)]
mod tests {
    use milena_messages::Int32s;
    use milena_messages::alter_partition_reassignments::request::ReassignableTopic;

    use super::*;
    use crate::config::BrokerConfig;
    use crate::handler::tests::Fixture;

    /// As a cluster of three nodes of Kafka 4.4.
    #[test]
    fn replicas_move_and_the_leader_stays_when_it_can() {
        let state = Fixture::new(BrokerConfig::default(), 3);
        let topic =
            state.create_topic("r", vec![vec![1, 2], vec![2, 1]], state.topic_config([]).unwrap(), false).unwrap();
        let ask = |partition_index, replicas: Option<&[i32]>, allow_replication_factor_change| {
            let replicas = replicas.map(Int32s::from_slice);
            let partitions = vec![ReassignablePartition { partition_index, replicas, ..Default::default() }];
            let topics = vec![ReassignableTopic { name: "r".into(), partitions, ..Default::default() }];
            let request =
                AlterPartitionReassignmentsRequest { topics, allow_replication_factor_change, ..Default::default() };
            let response = handle(&state.at(1), request, &mut Cost::quick()).responses.remove(0).partitions.remove(0);
            (response.error_code, response.error_message.map(|text| text.to_string()).unwrap_or_default())
        };
        let refused = |code, message: &str| (code, message.to_owned());
        let assignment = ErrorCode::INVALID_REPLICA_ASSIGNMENT;
        assert_eq!(
            ask(0, Some(&[1]), false),
            refused(ErrorCode::INVALID_REPLICATION_FACTOR, "The replication factor is changed from 2 to 1")
        );
        assert_eq!(ask(0, None, true), refused(ErrorCode::NO_REASSIGNMENT_IN_PROGRESS, ""));
        assert_eq!(
            ask(9, Some(&[1]), true),
            refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "Unable to find partition r:9.")
        );
        assert_eq!(
            ask(0, Some(&[-1]), true),
            refused(
                assignment,
                "The manual partition assignment includes broker -1, but no such broker is registered."
            )
        );
        assert_eq!(ask(0, Some(&[3, 1]), true).0, ErrorCode::NONE);
        assert_eq!(ask(1, Some(&[1, 3]), true).0, ErrorCode::NONE);
        let at = |index| topic.partition(index).unwrap().leadership();
        assert_eq!((at(0).leader, &at(0).replicas[..], &at(0).in_sync[..]), (1, &[3, 1][..], &[1, 3][..]));
        assert_eq!(
            (at(1).leader, at(1).epoch, &at(1).replicas[..], &at(1).in_sync[..]),
            (1, 1, &[1, 3][..], &[1, 3][..])
        );
    }
}
