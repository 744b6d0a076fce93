use milena_messages::offset_delete::request::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use milena_messages::offset_delete::response::{OffsetDeleteResponsePartition, OffsetDeleteResponseTopic};
use milena_messages::{ErrorCode, OffsetDeleteRequest, OffsetDeleteResponse};

use super::Context;
use crate::cluster::TopicRef;
use crate::cost::Cost;

pub(super) fn handle(context: &Context, request: OffsetDeleteRequest, _cost: &mut Cost) -> OffsetDeleteResponse {
    let state = &context.state;
    let id = &*request.group_id;
    let deleted = state.groups.with(state, context.node.id, id, |machine, _, effects| {
        machine.check_delete_offsets(id)?;
        let topic = |topic: &OffsetDeleteRequestTopic| {
            let known = state.topic(TopicRef::Name(&topic.name));
            let subscribed = machine.is_subscribed(id, &topic.name);
            let mut partition = |partition: &OffsetDeleteRequestPartition| {
                let index = partition.partition_index;
                let known = known.as_ref().is_some_and(|topic| topic.partition(index).is_some());
                let error_code = match subscribed {
                    _ if !known => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                    true => ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC,
                    false => ErrorCode::NONE,
                };
                if error_code.is_none() {
                    machine.delete_offset(id, &topic.name, index, effects);
                }
                OffsetDeleteResponsePartition { partition_index: index, error_code }
            };
            OffsetDeleteResponseTopic {
                name: topic.name.clone(),
                partitions: topic.partitions.iter().map(&mut partition).collect(),
            }
        };
        Ok(request.topics.iter().map(topic).collect())
    });
    match deleted.and_then(|result| result) {
        Ok(topics) => OffsetDeleteResponse { topics, ..Default::default() },
        Err(error_code) => OffsetDeleteResponse { error_code, ..Default::default() },
    }
}
