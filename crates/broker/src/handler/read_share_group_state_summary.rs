use milena_messages::read_share_group_state_summary::response::{PartitionResult, ReadStateSummaryResult};
use milena_messages::{ReadShareGroupStateSummaryRequest, ReadShareGroupStateSummaryResponse};

use super::Context;
use super::share_state::{at_coordinator, by_topic, outcome};
use crate::cost::Cost;

pub(super) fn handle(
    context: &Context,
    request: ReadShareGroupStateSummaryRequest,
    _cost: &mut Cost,
) -> ReadShareGroupStateSummaryResponse {
    if request.group_id.is_empty() || request.topics.iter().any(|topic| topic.partitions.is_empty()) {
        return ReadShareGroupStateSummaryResponse::default();
    }
    let wanted = request
        .topics
        .iter()
        .map(|topic| (topic.topic_id, topic.partitions.iter().map(|one| (one.partition, ())).collect::<Vec<_>>()));
    let results = by_topic(wanted).into_iter().map(|(topic_id, partitions)| ReadStateSummaryResult {
        topic_id,
        partitions: partitions
            .into_iter()
            .map(|(partition, ())| {
                let place = (&*request.group_id, topic_id, partition);
                let read = at_coordinator(context, place, "read", |machine, key, (topics, _), _| {
                    machine.summary(key, topics).map(|state| state.cloned())
                });
                match read {
                    Ok(Some(state)) => PartitionResult {
                        partition,
                        state_epoch: state.state_epoch,
                        leader_epoch: state.leader_epoch,
                        start_offset: state.start_offset,
                        delivery_complete_count: state.complete_count,
                        ..Default::default()
                    },
                    Ok(None) => PartitionResult {
                        partition,
                        start_offset: -1,
                        delivery_complete_count: -1,
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
    ReadShareGroupStateSummaryResponse { results: results.collect(), ..Default::default() }
}
