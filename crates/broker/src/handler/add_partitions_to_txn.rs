use std::collections::HashSet;

use milena_messages::add_partitions_to_txn::request::{AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction};
use milena_messages::add_partitions_to_txn::response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnResult, AddPartitionsToTxnTopicResult,
};
use milena_messages::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, ByteString, ErrorCode, Uuid};

use super::Context;
use super::merged::{Merged, Responded};
use crate::cluster::TopicRef;
use crate::cluster::topics::is_internal;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};
use crate::transaction::Producer;

/// From here on several transactions come at once, for brokers (KIP-890).
const BATCHED: i16 = 4;
/// From here on clients know that they can be fenced (KIP-588).
const KNOWS_FENCED: i16 = 2;

pub(super) fn handle(
    context: &Context,
    request: AddPartitionsToTxnRequest,
    _cost: &mut Cost,
) -> AddPartitionsToTxnResponse {
    if context.version >= BATCHED {
        if let Err(error_code) = context.authorize(Operation::ClusterAction, Resource::CLUSTER) {
            return AddPartitionsToTxnResponse { error_code, ..Default::default() };
        }
        let result = |transaction: &AddPartitionsToTxnTransaction| AddPartitionsToTxnResult {
            transactional_id: transaction.transactional_id.clone(),
            topic_results: add(context, transaction),
            ..Default::default()
        };
        let results_by_transaction = request.transactions.iter().map(result).collect();
        return AddPartitionsToTxnResponse { results_by_transaction, ..Default::default() };
    }
    let transaction = AddPartitionsToTxnTransaction {
        transactional_id: request.v3_and_below_transactional_id,
        producer_id: request.v3_and_below_producer_id,
        producer_epoch: request.v3_and_below_producer_epoch,
        topics: request.v3_and_below_topics,
        ..Default::default()
    };
    let results_by_topic_v3_and_below = add(context, &transaction);
    AddPartitionsToTxnResponse { results_by_topic_v3_and_below, ..Default::default() }
}

fn add(context: &Context, transaction: &AddPartitionsToTxnTransaction) -> Vec<AddPartitionsToTxnTopicResult> {
    let state = &context.state;
    let authorized = context.authorize(Operation::Write, Resource::transactional_id(&transaction.transactional_id));
    if let (Err(code), true) = (authorized, context.version < BATCHED) {
        return each(&transaction.topics, |_, _| code);
    }
    // Clients reach the internal topics through their coordinators only.
    let may = |name: &str| {
        context.version >= BATCHED || !is_internal(name) && context.may(Operation::Write, Resource::topic(name))
    };
    let check = |topic: &AddPartitionsToTxnTopic, partition: i32| match state.topic(TopicRef::Name(&topic.name)) {
        _ if !may(&topic.name) => Some(ErrorCode::TOPIC_AUTHORIZATION_FAILED),
        Some(topic) if topic.partition(partition).is_some() => None,
        _ => Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
    };
    let all = |topic: &AddPartitionsToTxnTopic| topic.partitions.iter().all(|one| check(topic, *one).is_none());
    if !transaction.topics.iter().all(all) {
        // One that is refused keeps out all of them. Then each is in the response once.
        let results = each(&transaction.topics, |topic, partition| {
            check(topic, partition).unwrap_or(ErrorCode::OPERATION_NOT_ATTEMPTED)
        });
        return once(results);
    }
    let id = &*transaction.transactional_id;
    let producer = Producer { id: transaction.producer_id, epoch: transaction.producer_epoch };
    let result = state.transactions.with(state, context.node.id, id, |machine, now_ms, effects| {
        if id.is_empty() {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        let partitions = transaction
            .topics
            .iter()
            .flat_map(|topic| topic.partitions.iter().map(|partition| (topic.name.to_string(), *partition)));
        if transaction.verify_only {
            return Ok(Some(each(&transaction.topics, |topic, partition| {
                machine.verify(id, producer, &topic.name, partition).err().unwrap_or(ErrorCode::NONE)
            })));
        }
        machine.add(id, producer, partitions, false, now_ms, effects).map(|()| None)
    });
    match result.and_then(|result| result) {
        Ok(Some(verified)) => verified,
        Ok(None) => each(&transaction.topics, |_, _| ErrorCode::NONE),
        Err(ErrorCode::PRODUCER_FENCED) if context.version < KNOWS_FENCED => {
            each(&transaction.topics, |_, _| ErrorCode::INVALID_PRODUCER_EPOCH)
        }
        Err(code) => each(&transaction.topics, |_, _| code),
    }
}

/// Each topic and each of its partitions once.
fn once(results: Vec<AddPartitionsToTxnTopicResult>) -> Vec<AddPartitionsToTxnTopicResult> {
    let mut merged = Merged::new();
    results.into_iter().for_each(|topic| merged.add(topic));
    let mut topics = merged.with(Vec::new());
    for topic in &mut topics {
        let mut seen = HashSet::new();
        topic.results_by_partition.retain(|partition| seen.insert(partition.partition_index));
    }
    topics
}

impl Responded for AddPartitionsToTxnTopicResult {
    fn topic(&self) -> (ByteString, Uuid) {
        (self.name.clone(), Uuid::ZERO)
    }

    fn append(&mut self, mut other: Self) {
        self.results_by_partition.append(&mut other.results_by_partition);
    }
}

fn each(
    topics: &[AddPartitionsToTxnTopic],
    code: impl Fn(&AddPartitionsToTxnTopic, i32) -> ErrorCode,
) -> Vec<AddPartitionsToTxnTopicResult> {
    let topic = |topic: &AddPartitionsToTxnTopic| {
        let partition = |partition: &i32| AddPartitionsToTxnPartitionResult {
            partition_index: *partition,
            partition_error_code: code(topic, *partition),
            ..Default::default()
        };
        AddPartitionsToTxnTopicResult {
            name: topic.name.clone(),
            results_by_partition: topic.partitions.iter().map(partition).collect(),
            ..Default::default()
        }
    };
    topics.iter().map(topic).collect()
}

#[cfg(test)]
mod tests {
    use milena_messages::Int32s;

    use super::*;
    use crate::handler::tests::{create, state};

    /// As Kafka 4.4 responds.
    #[test]
    fn a_refused_request_lists_each_partition_once() {
        let state = state();
        create(&state, "t", 2);
        let topic = AddPartitionsToTxnTopic {
            name: "t".into(),
            partitions: Int32s::from_slice(&[1, 0, 1, 7, 7]),
            ..Default::default()
        };
        let request = AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: "x".into(),
            v3_and_below_topics: vec![topic],
            ..Default::default()
        };
        let response = handle(&state.at(1), request, &mut Cost::quick());
        let results = &response.results_by_topic_v3_and_below[0].results_by_partition;
        let found: Vec<_> = results.iter().map(|one| (one.partition_index, one.partition_error_code.0)).collect();
        assert_eq!(found, [(1, 55), (0, 55), (7, 3)]);
    }

    /// As Kafka 4.4 responds.
    #[test]
    fn internal_topics_are_no_part_of_a_transaction_of_a_client() {
        let state = state();
        create(&state, "t", 1);
        state.groups.index(&state, "g").unwrap();
        let topic = |name: &'static str| AddPartitionsToTxnTopic {
            name: name.into(),
            partitions: Int32s::from_slice(&[0]),
            ..Default::default()
        };
        let request = AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: "x".into(),
            v3_and_below_topics: vec![topic("__consumer_offsets"), topic("t")],
            ..Default::default()
        };
        let response = handle(&state.at(0), request, &mut Cost::quick());
        let code = |result: &AddPartitionsToTxnTopicResult| result.results_by_partition[0].partition_error_code;
        let codes: Vec<_> = response.results_by_topic_v3_and_below.iter().map(code).collect();
        assert_eq!(codes, [ErrorCode::TOPIC_AUTHORIZATION_FAILED, ErrorCode::OPERATION_NOT_ATTEMPTED]);
    }
}
