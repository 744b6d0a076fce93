use milena_messages::describe_transactions::response::{TopicData, TransactionState};
use milena_messages::{ByteString, DescribeTransactionsRequest, DescribeTransactionsResponse, ErrorCode};

use super::Context;
use crate::cost::Cost;

pub(super) fn handle(
    context: &Context,
    request: DescribeTransactionsRequest,
    _cost: &mut Cost,
) -> DescribeTransactionsResponse {
    let transaction_states = request.transactional_ids.into_iter().map(|id| describe(context, id)).collect();
    DescribeTransactionsResponse { transaction_states, ..Default::default() }
}

fn describe(context: &Context, id: ByteString) -> TransactionState {
    let state = &context.state;
    let found = state.transactions.with(state, context.node.id, &id, |machine, _, _| {
        if id.is_empty() {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        machine.get(&id).cloned().ok_or(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND)
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
                .map(|(topic, partitions)| TopicData { topic: topic.into(), partitions, ..Default::default() })
                .collect(),
            transactional_id: id,
            ..Default::default()
        },
        Err(error_code) => TransactionState { transactional_id: id, error_code, ..Default::default() },
    }
}
