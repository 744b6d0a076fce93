use std::collections::HashSet;

use milena_messages::list_transactions::response::TransactionState;
use milena_messages::{ListTransactionsRequest, ListTransactionsResponse};

use super::Context;
use crate::cost::Cost;
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
    let all = context.state.transactions.each(&context.state, context.node.id, |machine| {
        let wanted = machine.all().filter(|(_, transaction)| {
            let name = transaction.status.name();
            let lasts = now_ms - transaction.started_at;
            let is_open = transaction.started_at >= 0;
            (states.is_empty() || states.contains(name))
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
