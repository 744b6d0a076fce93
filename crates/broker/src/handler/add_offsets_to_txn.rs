use milena_messages::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse, ErrorCode};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};
use crate::transaction::Producer;

/// From here on clients know that they can be fenced (KIP-588).
const KNOWS_FENCED: i16 = 2;

pub(super) fn handle(context: &Context, request: AddOffsetsToTxnRequest, _cost: &mut Cost) -> AddOffsetsToTxnResponse {
    let error_code = add(context, &request).err().unwrap_or(ErrorCode::NONE);
    let old = error_code == ErrorCode::PRODUCER_FENCED && context.version < KNOWS_FENCED;
    let error_code = if old { ErrorCode::INVALID_PRODUCER_EPOCH } else { error_code };
    AddOffsetsToTxnResponse { error_code, ..Default::default() }
}

fn add(context: &Context, request: &AddOffsetsToTxnRequest) -> Result<(), ErrorCode> {
    let (state, id) = (&context.state, &*request.transactional_id);
    context.authorize(Operation::Write, Resource::transactional_id(id))?;
    context.authorize(Operation::Read, Resource::group(&request.group_id))?;
    if id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    let partition = (state.groups.topic_name().to_owned(), state.groups.index(state, &request.group_id)?);
    let producer = Producer { id: request.producer_id, epoch: request.producer_epoch };
    let added = state.transactions.with(state, context.node.id, id, |machine, now_ms, effects| {
        machine.add(id, producer, [partition], false, now_ms, effects)
    });
    added.and_then(|result| result)
}
