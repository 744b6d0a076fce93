use milena_messages::list_partition_reassignments::response::{OngoingPartitionReassignment, OngoingTopicReassignment};
use milena_messages::{ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::Operation;

/// None is ever in progress: each is complete at once.
pub(super) fn handle(
    context: &Context,
    request: ListPartitionReassignmentsRequest,
    _cost: &mut Cost,
) -> ListPartitionReassignmentsResponse {
    let Err(refusal) = context.authorize_cluster(Operation::Describe) else {
        return ListPartitionReassignmentsResponse { error_message: None, ..Default::default() };
    };
    // As in Kafka, whatever was asked for is in the response, with nothing about it.
    let partition = |partition_index: &i32| OngoingPartitionReassignment {
        partition_index: *partition_index,
        ..Default::default()
    };
    let topics = request.topics.into_iter().flatten().map(|topic| OngoingTopicReassignment {
        partitions: topic.partition_indexes.iter().map(partition).collect(),
        name: topic.name,
        ..Default::default()
    });
    let topics = topics.collect();
    ListPartitionReassignmentsResponse {
        error_code: refusal.code,
        error_message: refusal.text(),
        topics,
        ..Default::default()
    }
}
