use milena_messages::read_share_group_state::response::{PartitionResult, ReadStateResult, StateBatch};
use milena_messages::{ReadShareGroupStateRequest, ReadShareGroupStateResponse};

use super::Context;
use super::share_state::{at_coordinator, by_topic, outcome};
use crate::cost::Cost;
use crate::share::combine;

pub(super) fn handle(
    context: &Context,
    request: ReadShareGroupStateRequest,
    _cost: &mut Cost,
) -> ReadShareGroupStateResponse {
    if request.group_id.is_empty() || request.topics.iter().any(|topic| topic.partitions.is_empty()) {
        return ReadShareGroupStateResponse::default();
    }
    let wanted = request.topics.iter().map(|topic| {
        (topic.topic_id, topic.partitions.iter().map(|one| (one.partition, one.leader_epoch)).collect::<Vec<_>>())
    });
    let results = by_topic(wanted).into_iter().map(|(topic_id, partitions)| ReadStateResult {
        topic_id,
        partitions: partitions
            .into_iter()
            .map(|(partition, leader_epoch)| {
                let place = (&*request.group_id, topic_id, partition);
                let read = at_coordinator(context, place, "read", |machine, key, now, effects| {
                    machine.read(key, leader_epoch, now, effects)
                });
                match read {
                    Ok(state) => PartitionResult {
                        partition,
                        state_epoch: state.state_epoch,
                        start_offset: state.start_offset,
                        state_batches: state.batches.iter().map(batch).collect(),
                        ..Default::default()
                    },
                    Err(refusal) => {
                        let (error_code, error_message) = outcome(Some(refusal));
                        PartitionResult { partition, error_code, error_message, ..Default::default() }
                    }
                }
            })
            .collect(),
        ..Default::default()
    });
    ReadShareGroupStateResponse { results: results.collect(), ..Default::default() }
}

fn batch(batch: &combine::StateBatch) -> StateBatch {
    StateBatch {
        first_offset: batch.first,
        last_offset: batch.last,
        delivery_state: batch.state,
        delivery_count: batch.deliveries,
        ..Default::default()
    }
}
