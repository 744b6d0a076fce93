use milena_messages::offset_fetch::request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use milena_messages::offset_fetch::response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions, OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
};
use milena_messages::{ErrorCode, OffsetFetchRequest, OffsetFetchResponse};

use super::Context;
use crate::cluster::TopicRef;
use crate::cost::Cost;
use crate::group::GroupMachine;
use crate::group::offset::Offset;
use crate::security::acl::{Operation, Resource};

/// About the memory of a partition besides its metadata.
const PARTITION_SIZE: usize = 64;
/// From here on several groups are asked for at once.
const BATCHED: i16 = 8;
/// From here on members of consumer groups say who they are (KIP-848).
const MEMBER_EPOCHS: i16 = 9;
/// From here on topics go by id (KIP-848).
const TOPIC_IDS: i16 = 10;

pub(super) fn handle(context: &Context, request: OffsetFetchRequest, cost: &mut Cost) -> OffsetFetchResponse {
    if context.version >= BATCHED {
        let groups = request.groups.iter().map(|group| fetch(context, group, request.require_stable, cost)).collect();
        return OffsetFetchResponse { groups, ..Default::default() };
    }
    let topics = request.topics.map(|topics| {
        let topic = |topic: milena_messages::offset_fetch::request::OffsetFetchRequestTopic| OffsetFetchRequestTopics {
            name: topic.name,
            partition_indexes: topic.partition_indexes,
            ..Default::default()
        };
        topics.into_iter().map(topic).collect()
    });
    let wanted = OffsetFetchRequestGroup { group_id: request.group_id, topics, ..Default::default() };
    let found = fetch(context, &wanted, request.require_stable, cost);
    let topic = |topic: OffsetFetchResponseTopics| OffsetFetchResponseTopic {
        name: topic.name,
        partitions: topic.partitions.into_iter().map(|partition| alone(partition, context.version)).collect(),
        ..Default::default()
    };
    OffsetFetchResponse {
        error_code: found.error_code,
        topics: found.topics.into_iter().map(topic).collect(),
        ..Default::default()
    }
}

fn alone(found: OffsetFetchResponsePartitions, version: i16) -> OffsetFetchResponsePartition {
    // Version 0 asked ZooKeeper, which knew of no partition without an offset.
    let missing = version == 0 && found.committed_offset == -1 && found.error_code.is_none();
    OffsetFetchResponsePartition {
        partition_index: found.partition_index,
        committed_offset: found.committed_offset,
        committed_leader_epoch: found.committed_leader_epoch,
        metadata: found.metadata,
        error_code: if missing { ErrorCode::UNKNOWN_TOPIC_OR_PARTITION } else { found.error_code },
        ..Default::default()
    }
}

fn fetch(
    context: &Context,
    wanted: &OffsetFetchRequestGroup,
    require_stable: bool,
    cost: &mut Cost,
) -> OffsetFetchResponseGroup {
    let state = &context.state;
    let id = &*wanted.group_id;
    let mut unknown = Vec::new();
    let authorized = context.authorize(Operation::Describe, Resource::group(id));
    let found = authorized.and_then(|()| {
        state.groups.with(state, context.node.id, id, |machine, _, _| {
            // Before, members were not named.
            if context.version >= MEMBER_EPOCHS {
                machine.check_fetch(id, wanted.member_id.as_deref(), wanted.member_epoch)?;
            }
            Ok(match &wanted.topics {
                None => all(context, machine, id, require_stable, cost),
                Some(topics) => {
                    let mut list = |topic| match listed(context, machine, id, topic, require_stable, cost) {
                        Ok(found) => Some(found),
                        Err(code) => {
                            unknown.push(refused(topic, code));
                            None
                        }
                    };
                    let mut found: Vec<_> = topics.iter().filter_map(&mut list).collect();
                    // As in Kafka, what is refused comes last.
                    found.append(&mut unknown);
                    found
                }
            })
        })
    });
    let mut response = OffsetFetchResponseGroup { group_id: wanted.group_id.clone(), ..Default::default() };
    match found.and_then(|result| result) {
        Ok(topics) => response.topics = topics,
        Err(code) => response.error_code = code,
    }
    if context.version < 2 && !response.error_code.is_none() {
        // There is no place for an error but at each partition.
        let code = response.error_code;
        let topics = wanted.topics.iter().flatten();
        response.topics = topics.map(|topic| refused(topic, code)).collect();
    }
    response
}

fn refused(topic: &OffsetFetchRequestTopics, error_code: ErrorCode) -> OffsetFetchResponseTopics {
    let partition = |index: &i32| OffsetFetchResponsePartitions { error_code, ..unknown(*index) };
    OffsetFetchResponseTopics {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partitions: topic.partition_indexes.iter().map(partition).collect(),
        ..Default::default()
    }
}

/// What there is of a partition without an offset.
fn unknown(partition_index: i32) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index,
        committed_offset: -1,
        committed_leader_epoch: -1,
        metadata: Some(Default::default()),
        ..Default::default()
    }
}

fn partition(
    machine: &GroupMachine,
    (id, topic, index): (&str, &str, i32),
    require_stable: bool,
) -> OffsetFetchResponsePartitions {
    let offsets = machine.offsets.get(id);
    if require_stable && offsets.is_some_and(|offsets| offsets.is_unstable(topic, index)) {
        return OffsetFetchResponsePartitions { error_code: ErrorCode::UNSTABLE_OFFSET_COMMIT, ..unknown(index) };
    }
    match offsets.and_then(|offsets| offsets.get(topic, index)) {
        Some(offset) => committed(index, offset),
        None => unknown(index),
    }
}

/// A partition, or an error in its place when the response would get too large.
fn within(cost: &mut Cost, found: OffsetFetchResponsePartitions) -> OffsetFetchResponsePartitions {
    let metadata = found.metadata.as_ref().map_or(0, |metadata| metadata.len());
    if cost.response(PARTITION_SIZE + metadata) {
        return found;
    }
    OffsetFetchResponsePartitions { error_code: ErrorCode::UNKNOWN_SERVER_ERROR, ..unknown(found.partition_index) }
}

fn committed(partition_index: i32, offset: &Offset) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index,
        committed_offset: offset.offset,
        committed_leader_epoch: offset.leader_epoch,
        metadata: Some(offset.metadata.clone()),
        ..Default::default()
    }
}

fn listed(
    context: &Context,
    machine: &GroupMachine,
    id: &str,
    topic: &OffsetFetchRequestTopics,
    require_stable: bool,
    cost: &mut Cost,
) -> Result<OffsetFetchResponseTopics, ErrorCode> {
    let name = if context.version >= TOPIC_IDS {
        context.topic(Operation::Describe, TopicRef::Id(topic.topic_id))?.name.clone()
    } else {
        context.authorize(Operation::Describe, Resource::topic(&topic.name))?;
        topic.name.clone()
    };
    let find = |index: &i32| within(cost, partition(machine, (id, &name, *index), require_stable));
    Ok(OffsetFetchResponseTopics {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partitions: topic.partition_indexes.iter().map(find).collect(),
        ..Default::default()
    })
}

fn all(
    context: &Context,
    machine: &GroupMachine,
    id: &str,
    require_stable: bool,
    cost: &mut Cost,
) -> Vec<OffsetFetchResponseTopics> {
    let mut topics: Vec<OffsetFetchResponseTopics> = Vec::new();
    let Some(offsets) = machine.offsets.get(id) else { return topics };
    let may = |topic: &str| context.may(Operation::Describe, Resource::topic(topic));
    for (topic, index, _) in offsets.committed().filter(|(topic, ..)| may(topic)) {
        let found = within(cost, partition(machine, (id, topic, index), require_stable));
        if topics.last().is_none_or(|last| last.name != *topic) {
            let topic_id = context.state.topic(TopicRef::Name(topic)).map(|topic| topic.id).unwrap_or_default();
            topics.push(OffsetFetchResponseTopics { name: topic.to_owned().into(), topic_id, ..Default::default() });
        }
        if let Some(last) = topics.last_mut() {
            last.partitions.push(found);
        }
    }
    if context.version >= TOPIC_IDS {
        // A topic that is gone has no id.
        topics.retain(|topic| !topic.topic_id.is_zero());
        topics.iter_mut().for_each(|topic| topic.name = Default::default());
    } else {
        topics.iter_mut().for_each(|topic| topic.topic_id = Default::default());
    }
    topics
}
