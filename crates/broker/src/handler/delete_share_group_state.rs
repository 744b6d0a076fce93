use milena_messages::delete_share_group_state::response::{DeleteStateResult, PartitionResult};
use milena_messages::{DeleteShareGroupStateRequest, DeleteShareGroupStateResponse};

use super::Context;
use super::share_state::{at_coordinator, by_topic, outcome};
use crate::cost::Cost;

pub(super) fn handle(
    context: &Context,
    request: DeleteShareGroupStateRequest,
    _cost: &mut Cost,
) -> DeleteShareGroupStateResponse {
    if request.group_id.is_empty() || request.topics.iter().any(|topic| topic.partitions.is_empty()) {
        return DeleteShareGroupStateResponse::default();
    }
    let wanted = request
        .topics
        .iter()
        .map(|topic| (topic.topic_id, topic.partitions.iter().map(|one| (one.partition, ())).collect::<Vec<_>>()));
    let results = by_topic(wanted).into_iter().map(|(topic_id, partitions)| DeleteStateResult {
        topic_id,
        partitions: partitions
            .into_iter()
            .map(|(partition, ())| {
                let place = (&*request.group_id, topic_id, partition);
                let done = at_coordinator(context, place, "delete", |machine, key, (topics, _), effects| {
                    machine.delete(key, topics, effects)
                });
                let (error_code, error_message) = outcome(done.err());
                PartitionResult { partition, error_code, error_message, ..Default::default() }
            })
            .collect(),
        ..Default::default()
    });
    DeleteShareGroupStateResponse { results: results.collect(), ..Default::default() }
}
