use milena_messages::{EndTxnRequest, EndTxnResponse, ErrorCode};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};
use crate::transaction::{End, Producer};

/// From here on each transaction has an epoch of its own (KIP-890).
const BUMPS_EPOCH: i16 = 5;
/// From here on clients know that they can be fenced (KIP-588).
const KNOWS_FENCED: i16 = 2;

pub(super) fn handle(context: &Context, request: EndTxnRequest, _cost: &mut Cost) -> EndTxnResponse {
    let state = &context.state;
    let id = &*request.transactional_id;
    let producer = Producer { id: request.producer_id, epoch: request.producer_epoch };
    let bumps_epoch = context.version >= BUMPS_EPOCH;
    let end =
        End { commit: request.committed, bumps_epoch, fresh: if bumps_epoch { state.new_producer_id() } else { -1 } };
    let authorized = context.authorize(Operation::Write, Resource::transactional_id(id));
    let ended = authorized.and_then(|()| {
        state.transactions.with(state, context.node.id, id, |machine, now_ms, effects| {
            if id.is_empty() {
                Err(ErrorCode::INVALID_REQUEST)
            } else {
                machine.end(id, producer, end, now_ms, effects)
            }
        })
    });
    match ended.and_then(|result| result) {
        Ok(next) if bumps_epoch => {
            EndTxnResponse { producer_id: next.id, producer_epoch: next.epoch, ..Default::default() }
        }
        Ok(_) => EndTxnResponse::default(),
        Err(error_code) => {
            let old = error_code == ErrorCode::PRODUCER_FENCED && context.version < KNOWS_FENCED;
            let error_code = if old { ErrorCode::INVALID_PRODUCER_EPOCH } else { error_code };
            EndTxnResponse { error_code, ..Default::default() }
        }
    }
}
