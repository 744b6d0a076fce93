use milena_messages::write_share_group_state::request::{PartitionData, StateBatch};
use milena_messages::write_share_group_state::response::{PartitionResult, WriteStateResult};
use milena_messages::{WriteShareGroupStateRequest, WriteShareGroupStateResponse};

use super::Context;
use super::share_state::{at_coordinator, by_topic, outcome};
use crate::cost::Cost;
use crate::share::combine;
use crate::share::state::ShareWrite;

pub(super) fn handle(
    context: &Context,
    request: WriteShareGroupStateRequest,
    _cost: &mut Cost,
) -> WriteShareGroupStateResponse {
    if request.group_id.is_empty() || request.topics.iter().any(|topic| topic.partitions.is_empty()) {
        return WriteShareGroupStateResponse::default();
    }
    let wanted = request
        .topics
        .iter()
        .map(|topic| (topic.topic_id, topic.partitions.iter().map(|one| (one.partition, one)).collect::<Vec<_>>()));
    let results = by_topic(wanted).into_iter().map(|(topic_id, partitions)| WriteStateResult {
        topic_id,
        partitions: partitions
            .into_iter()
            .map(|(partition, wanted)| {
                let place = (&*request.group_id, topic_id, partition);
                let done = at_coordinator(context, place, "write", |machine, key, now, effects| {
                    machine.write(key, write(wanted), now, effects)
                });
                let (error_code, error_message) = outcome(done.err());
                PartitionResult { partition, error_code, error_message, ..Default::default() }
            })
            .collect(),
        ..Default::default()
    });
    WriteShareGroupStateResponse { results: results.collect(), ..Default::default() }
}

fn write(wanted: &PartitionData) -> ShareWrite {
    let batch = |batch: &StateBatch| combine::StateBatch {
        first: batch.first_offset,
        last: batch.last_offset,
        state: batch.delivery_state,
        deliveries: batch.delivery_count,
    };
    ShareWrite {
        state_epoch: wanted.state_epoch,
        leader_epoch: wanted.leader_epoch,
        start_offset: wanted.start_offset,
        complete_count: wanted.delivery_complete_count,
        batches: wanted.state_batches.iter().map(batch).collect(),
    }
}
