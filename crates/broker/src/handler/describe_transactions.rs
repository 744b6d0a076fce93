use milena_messages::describe_transactions::response::{TopicData, TransactionState};
use milena_messages::{ByteString, DescribeTransactionsRequest, DescribeTransactionsResponse, ErrorCode};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};

/// About the memory of a partition besides the name of its topic.
const PARTITION_SIZE: usize = 32;

pub(super) fn handle(
    context: &Context,
    request: DescribeTransactionsRequest,
    cost: &mut Cost,
) -> DescribeTransactionsResponse {
    let transaction_states = request.transactional_ids.into_iter().map(|id| describe(context, id, cost)).collect();
    DescribeTransactionsResponse { transaction_states, ..Default::default() }
}

fn describe(context: &Context, id: ByteString, cost: &mut Cost) -> TransactionState {
    let state = &context.state;
    if let Err(error_code) = context.authorize(Operation::Describe, Resource::transactional_id(&id)) {
        return TransactionState { transactional_id: id, error_code, ..Default::default() };
    }
    let found = state.transactions.with(state, context.node.id, &id, |machine, _, _| {
        if id.is_empty() {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        let found = machine.get(&id).ok_or(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND)?;
        let bytes = found.partitions.iter().map(|(topic, _)| PARTITION_SIZE + topic.len()).sum();
        if cost.response(bytes) { Ok(found.clone()) } else { Err(ErrorCode::UNKNOWN_SERVER_ERROR) }
    });
    match found.and_then(|found| found) {
        Ok(found) => TransactionState {
            transaction_state: found.status.name().into(),
            transaction_timeout_ms: found.timeout_ms,
            transaction_start_time_ms: found.started_at,
            producer_id: found.producer_id,
            producer_epoch: found.epoch,
            topics: found
                .topics()
                .into_iter()
                .filter(|(topic, _)| context.may(Operation::Describe, Resource::topic(topic)))
                .map(|(topic, partitions)| TopicData { topic: topic.into(), partitions, ..Default::default() })
                .collect(),
            transactional_id: id,
            ..Default::default()
        },
        Err(error_code) => TransactionState { transactional_id: id, error_code, ..Default::default() },
    }
}
