use milena_messages::{ErrorCode, InitProducerIdRequest, InitProducerIdResponse};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource, ResourceType};
use crate::transaction::Producer;

/// Kafka's default of `transaction.max.timeout.ms`.
const MAX_TIMEOUT_MS: i32 = 900_000;

pub(super) fn handle(context: &Context, request: InitProducerIdRequest, _cost: &mut Cost) -> InitProducerIdResponse {
    match init(context, &request) {
        Ok(producer) => {
            InitProducerIdResponse { producer_id: producer.id, producer_epoch: producer.epoch, ..Default::default() }
        }
        Err(error_code) => {
            // Before version 4 clients did not know that they can be fenced.
            let old = error_code == ErrorCode::PRODUCER_FENCED && context.version < 4;
            let error_code = if old { ErrorCode::INVALID_PRODUCER_EPOCH } else { error_code };
            InitProducerIdResponse { error_code, producer_id: -1, producer_epoch: -1, ..Default::default() }
        }
    }
}

fn init(context: &Context, request: &InitProducerIdRequest) -> Result<Producer, ErrorCode> {
    let state = &context.state;
    match request.transactional_id.as_deref() {
        Some(id) => {
            context.authorize(Operation::Write, Resource::transactional_id(id))?;
            if request.enable2_pc {
                context.authorize(Operation::TwoPhaseCommit, Resource::transactional_id(id))?;
            }
        }
        // Who may write to some topic may do so idempotently (KIP-679).
        None if context.may_somewhere(Operation::Write, ResourceType::Topic) => {}
        None => context.authorize(Operation::IdempotentWrite, Resource::CLUSTER)?,
    }
    if (request.producer_id == -1) != (request.producer_epoch == -1) {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    let Some(id) = request.transactional_id.as_deref() else {
        // Whatever id a producer had, a new one is always right when there is no transaction to it.
        return Ok(Producer { id: state.new_producer_id(), epoch: 0 });
    };
    if id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    if !(1..=MAX_TIMEOUT_MS).contains(&request.transaction_timeout_ms) {
        return Err(ErrorCode::INVALID_TRANSACTION_TIMEOUT);
    }
    let before = Producer { id: request.producer_id, epoch: request.producer_epoch };
    let expected = Some(before).filter(|before| before.id != -1);
    let fresh = state.new_producer_id();
    let timeout_ms = request.transaction_timeout_ms;
    let begun = state.transactions.with(state, context.node.id, id, |machine, now_ms, effects| {
        machine.init(id, timeout_ms, expected, fresh, now_ms, effects)
    });
    begun.and_then(|result| result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::tests::{Fixture, state};

    fn handle(state: &Fixture, request: InitProducerIdRequest) -> InitProducerIdResponse {
        super::handle(&state.at(5), request, &mut Cost::quick())
    }

    #[test]
    fn each_producer_gets_an_id_of_its_own() {
        let state = state();
        let ask = || handle(&state, InitProducerIdRequest { transactional_id: None, ..Default::default() });
        let (a, b) = (ask(), ask());
        assert_eq!((a.error_code, a.producer_epoch), (ErrorCode::NONE, 0));
        assert_ne!(a.producer_id, b.producer_id);
    }

    #[test]
    fn a_transactional_id_keeps_its_producer_id_and_gets_the_next_epoch() {
        let state = state();
        let ask = |transaction_timeout_ms| {
            let transactional_id = Some("t".into());
            handle(&state, InitProducerIdRequest { transactional_id, transaction_timeout_ms, ..Default::default() })
        };
        let (a, b) = (ask(60_000), ask(60_000));
        assert_eq!((a.error_code, a.producer_epoch), (ErrorCode::NONE, 0));
        assert_eq!((b.producer_id, b.producer_epoch), (a.producer_id, 1));
        assert_eq!(ask(900_001).error_code, ErrorCode::INVALID_TRANSACTION_TIMEOUT);
        assert_eq!((ask(0).error_code, ask(0).producer_id), (ErrorCode::INVALID_TRANSACTION_TIMEOUT, -1));
    }
}
