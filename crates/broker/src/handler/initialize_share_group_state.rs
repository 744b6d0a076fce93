use milena_messages::initialize_share_group_state::response::{InitializeStateResult, PartitionResult};
use milena_messages::{InitializeShareGroupStateRequest, InitializeShareGroupStateResponse};

use super::Context;
use super::share_state::{at_coordinator, by_topic, outcome};
use crate::cost::Cost;

pub(super) fn handle(
    context: &Context,
    request: InitializeShareGroupStateRequest,
    _cost: &mut Cost,
) -> InitializeShareGroupStateResponse {
    if request.group_id.is_empty() {
        return InitializeShareGroupStateResponse::default();
    }
    let wanted = request
        .topics
        .iter()
        .map(|topic| (topic.topic_id, topic.partitions.iter().map(|one| (one.partition, one)).collect::<Vec<_>>()));
    let results = by_topic(wanted).into_iter().map(|(topic_id, partitions)| InitializeStateResult {
        topic_id,
        partitions: partitions
            .into_iter()
            .map(|(partition, wanted)| {
                let place = (&*request.group_id, topic_id, partition);
                let done = at_coordinator(context, place, "initialize", |machine, key, now, effects| {
                    machine.initialize(key, wanted.state_epoch, wanted.start_offset, now, effects)
                });
                let (error_code, error_message) = outcome(done.err());
                PartitionResult { partition, error_code, error_message, ..Default::default() }
            })
            .collect(),
        ..Default::default()
    });
    InitializeShareGroupStateResponse { results: results.collect(), ..Default::default() }
}
