use std::sync::Arc;

use milena_messages::ErrorCode;

use crate::cluster::State;
use crate::transaction::machine::Producer;

/// Checks that a partition is a part of the producer's open transaction. With `implicit` it becomes one (KIP-890).
///
/// # Errors
/// It is not; the producer is unknown or fenced; the coordinator is not available.
pub(crate) fn admit(
    state: &Arc<State>,
    id: &str,
    producer: Producer,
    (topic, partition): (&str, i32),
    implicit: bool,
) -> Result<(), ErrorCode> {
    if id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    let node = state.transactions.find(state, id)?.id;
    let admitted = state.transactions.with(state, node, id, |machine, now_ms, effects| {
        if implicit {
            machine.add(id, producer, [(topic.to_owned(), partition)], true, now_ms, effects)
        } else {
            machine.verify(id, producer, topic, partition)
        }
    });
    // Producers of records know the fenced one by another name.
    admitted.and_then(|result| result).map_err(|code| match code {
        ErrorCode::PRODUCER_FENCED => ErrorCode::INVALID_PRODUCER_EPOCH,
        code => code,
    })
}
