use milena_messages::offset_delete::request::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use milena_messages::offset_delete::response::{OffsetDeleteResponsePartition, OffsetDeleteResponseTopic};
use milena_messages::{ByteString, ErrorCode, OffsetDeleteRequest, OffsetDeleteResponse, Uuid};

use super::Context;
use super::merged::{Merged, Responded};
use crate::cluster::TopicRef;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};

pub(super) fn handle(context: &Context, request: OffsetDeleteRequest, _cost: &mut Cost) -> OffsetDeleteResponse {
    let state = &context.state;
    let id = &*request.group_id;
    if let Err(error_code) = context.authorize(Operation::Delete, Resource::group(id)) {
        return OffsetDeleteResponse { error_code, ..Default::default() };
    }
    let (wanted, refused) = split(context, &request.topics);
    let deleted = state.groups.with(state, context.node.id, id, |machine, _, effects| {
        machine.check_delete_offsets(id)?;
        let topic = |topic: &OffsetDeleteRequestTopic| {
            let subscribed = machine.is_subscribed(id, &topic.name);
            each(topic, &mut |index| {
                if subscribed {
                    return ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC;
                }
                machine.delete_offset(id, &topic.name, index, effects);
                ErrorCode::NONE
            })
        };
        Ok(wanted.iter().map(topic).collect())
    });
    match deleted.and_then(|result| result) {
        Ok(deleted) => OffsetDeleteResponse { topics: refused.with(deleted), ..Default::default() },
        Err(error_code) => OffsetDeleteResponse { error_code, ..Default::default() },
    }
}

/// The topics and partitions that are there, and what the others get.
fn split(
    context: &Context,
    topics: &[OffsetDeleteRequestTopic],
) -> (Vec<OffsetDeleteRequestTopic>, Merged<OffsetDeleteResponseTopic>) {
    let (mut known, mut refused) = (Vec::new(), Merged::new());
    for topic in topics {
        if let Err(code) = context.authorize(Operation::Read, Resource::topic(&topic.name)) {
            refused.add(each(topic, &mut |_| code));
            continue;
        }
        let found = context.state.topic(TopicRef::Name(&topic.name));
        let is_there = |one: &OffsetDeleteRequestPartition| {
            found.as_ref().is_some_and(|found| found.partition(one.partition_index).is_some())
        };
        let (there, missing): (Vec<_>, Vec<_>) = topic.partitions.iter().cloned().partition(is_there);
        let with = |partitions| OffsetDeleteRequestTopic { partitions, ..topic.clone() };
        if !missing.is_empty() {
            refused.add(each(&with(missing), &mut |_| ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
        }
        if !there.is_empty() {
            known.push(with(there));
        }
    }
    (known, refused)
}

impl Responded for OffsetDeleteResponseTopic {
    fn topic(&self) -> (ByteString, Uuid) {
        (self.name.clone(), Uuid::ZERO)
    }

    fn append(&mut self, mut other: Self) {
        self.partitions.append(&mut other.partitions);
    }
}

fn each(topic: &OffsetDeleteRequestTopic, code: &mut dyn FnMut(i32) -> ErrorCode) -> OffsetDeleteResponseTopic {
    let mut partition = |partition: &OffsetDeleteRequestPartition| OffsetDeleteResponsePartition {
        partition_index: partition.partition_index,
        error_code: code(partition.partition_index),
    };
    OffsetDeleteResponseTopic {
        name: topic.name.clone(),
        partitions: topic.partitions.iter().map(&mut partition).collect(),
    }
}
