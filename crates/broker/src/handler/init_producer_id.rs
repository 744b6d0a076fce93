use milena_messages::{ErrorCode, InitProducerIdRequest, InitProducerIdResponse};

use super::Context;
use crate::cost::Cost;

pub(super) fn handle(context: &Context, request: InitProducerIdRequest, _cost: &mut Cost) -> InitProducerIdResponse {
    let refused = |error_code| InitProducerIdResponse { error_code, producer_epoch: -1, ..Default::default() };
    match request.transactional_id.as_deref() {
        _ if (request.producer_id == -1) != (request.producer_epoch == -1) => refused(ErrorCode::INVALID_REQUEST),
        // Whatever id a producer had, a new one is always right when there is no transaction to it.
        None => InitProducerIdResponse { producer_id: context.state.new_producer_id(), ..Default::default() },
        Some("") => refused(ErrorCode::INVALID_REQUEST),
        // There are no transactions here. Producers take this code as final; one that they try again on would let them
        // wait for good.
        Some(_) => refused(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    }
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
    fn transactions_are_refused_for_good() {
        let request = InitProducerIdRequest { transactional_id: Some("t".into()), ..Default::default() };
        let answer = handle(&state(), request);
        assert!(!answer.error_code.is_retriable() && !answer.error_code.is_none());
        assert_eq!(answer.producer_id, -1);
    }
}
