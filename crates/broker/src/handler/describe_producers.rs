use milena_messages::describe_producers::response::{PartitionResponse, ProducerState, TopicResponse};
use milena_messages::{DescribeProducersRequest, DescribeProducersResponse, ErrorCode};

use super::Context;
use crate::cluster::TopicRef;
use crate::cost::Cost;
use crate::security::acl::Operation;

pub(super) fn handle(
    context: &Context,
    request: DescribeProducersRequest,
    cost: &mut Cost,
) -> DescribeProducersResponse {
    let mut topics = Vec::with_capacity(request.topics.len());
    for wanted in request.topics {
        let topic = context.topic(Operation::Read, TopicRef::Name(&wanted.name));
        let mut partitions = Vec::with_capacity(wanted.partition_indexes.len());
        for partition_index in &wanted.partition_indexes {
            let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
            let found = topic.clone().and_then(|topic| topic.partition(*partition_index).ok_or(unknown));
            let result = found.and_then(|found| {
                found.with(|partition| {
                    partition.leadership.check_leader(context.node.id)?;
                    let mut active = Vec::new();
                    for (producer_id, producer) in partition.producers.all() {
                        // A partition that is listed often could ask for gigabytes.
                        if !cost.entries(1) {
                            return Err(ErrorCode::INVALID_REQUEST);
                        }
                        active.push(ProducerState {
                            producer_id,
                            producer_epoch: producer.epoch.into(),
                            last_sequence: producer.last_sequence(),
                            last_timestamp: producer.last_timestamp,
                            coordinator_epoch: producer.coordinator_epoch,
                            current_txn_start_offset: partition.transactions.open_since(producer_id).unwrap_or(-1),
                            ..Default::default()
                        });
                    }
                    active.sort_by_key(|producer| producer.producer_id);
                    Ok(active)
                })
            });
            let mut response = PartitionResponse { partition_index: *partition_index, ..Default::default() };
            match result {
                Ok(active) => response.active_producers = active,
                Err(code) => {
                    response.error_code = code;
                    // Kafka says more only when it does not know the topic either.
                    let message = || "This server does not host this topic-partition.".into();
                    response.error_message = topic.is_err().then(message);
                }
            }
            partitions.push(response);
        }
        topics.push(TopicResponse { name: wanted.name, partitions, ..Default::default() });
    }
    DescribeProducersResponse { topics, ..Default::default() }
}
