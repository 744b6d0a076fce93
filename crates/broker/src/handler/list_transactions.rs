use std::collections::HashSet;

use milena_messages::list_transactions::response::TransactionState;
use milena_messages::{ErrorCode, ListTransactionsRequest, ListTransactionsResponse};

use super::Context;
use crate::cost::Cost;
use crate::group::consumer::re2::TopicPattern;
use crate::security::acl::{Operation, Resource};
use crate::transaction::Status;

pub(super) fn handle(
    context: &Context,
    request: ListTransactionsRequest,
    _cost: &mut Cost,
) -> ListTransactionsResponse {
    let unknown_state_filters: Vec<_> =
        request.state_filters.iter().filter(|name| Status::named(name).is_none()).cloned().collect();
    let now_ms = context.state.now_ms();
    // A filter may name as many as it likes: each transaction looks only once.
    let states: HashSet<&str> = request.state_filters.iter().map(|state| &**state).collect();
    let ids: HashSet<i64> = request.producer_id_filters.iter().copied().collect();
    let pattern = request.transactional_id_pattern.as_deref().filter(|pattern| !pattern.is_empty());
    let Ok(pattern) = pattern.map(TopicPattern::compile).transpose() else {
        return ListTransactionsResponse { error_code: ErrorCode::INVALID_REGULAR_EXPRESSION, ..Default::default() };
    };
    let all = context.state.transactions.each(&context.state, context.node.id, |machine| {
        let wanted = machine.all().filter(|(id, transaction)| {
            let name = transaction.status.name();
            let lasts = now_ms - transaction.started_at;
            let is_open = transaction.started_at >= 0;
            pattern.as_ref().is_none_or(|pattern| pattern.matches(id))
                && (states.is_empty() || states.contains(name))
                && (ids.is_empty() || ids.contains(&transaction.producer_id))
                && (request.duration_filter < 0 || (is_open && lasts > request.duration_filter))
        });
        let listed = wanted.map(|(id, transaction)| TransactionState {
            transactional_id: id.to_owned().into(),
            producer_id: transaction.producer_id,
            transaction_state: transaction.status.name().into(),
            ..Default::default()
        });
        listed.collect::<Vec<_>>()
    });
    let may = |transaction: &TransactionState| {
        context.may(Operation::Describe, Resource::transactional_id(&transaction.transactional_id))
    };
    let transaction_states = all.into_iter().flatten().filter(may).collect();
    ListTransactionsResponse { unknown_state_filters, transaction_states, ..Default::default() }
}

#[cfg(test)]
mod tests {
    use milena_messages::InitProducerIdRequest;

    use super::*;
    use crate::handler::init_producer_id;
    use crate::handler::tests::state;

    /// As Kafka 4.4.
    #[test]
    fn a_pattern_matches_whole_ids() {
        let state = state();
        for id in ["a1", "a2", "b1"] {
            let (transactional_id, transaction_timeout_ms) = (Some(id.into()), 1000);
            let request = InitProducerIdRequest { transactional_id, transaction_timeout_ms, ..Default::default() };
            init_producer_id::handle(&state.at(4), request, &mut Cost::quick());
        }
        let ask = |pattern: Option<&str>| {
            let transactional_id_pattern = pattern.map(Into::into);
            let request = ListTransactionsRequest { transactional_id_pattern, ..Default::default() };
            let response = handle(&state.at(2), request, &mut Cost::quick());
            (response.error_code.0, response.transaction_states.len())
        };
        assert_eq!([ask(None), ask(Some("")), ask(Some("a.*"))], [(0, 3), (0, 3), (0, 2)]);
        assert_eq!([ask(Some("a")), ask(Some("[a-z]1")), ask(Some("["))], [(0, 0), (0, 2), (128, 0)]);
    }
}
