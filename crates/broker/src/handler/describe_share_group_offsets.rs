use std::collections::{BTreeMap, BTreeSet};

use milena_messages::describe_share_group_offsets::request::DescribeShareGroupOffsetsRequestGroup;
use milena_messages::describe_share_group_offsets::response::{
    DescribeShareGroupOffsetsResponseGroup, DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
};
use milena_messages::{DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsResponse, ErrorCode, Uuid};

use super::Context;
use super::authorize::unauthorized;
use crate::cluster::{Topic, TopicRef};
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};
use crate::share::{ShareKey, message};

/// About the memory of a partition.
const PARTITION_SIZE: usize = 48;

pub(super) fn handle(
    context: &Context,
    request: DescribeShareGroupOffsetsRequest,
    cost: &mut Cost,
) -> DescribeShareGroupOffsetsResponse {
    let groups = request.groups.iter().map(|group| describe(context, group, cost)).collect();
    DescribeShareGroupOffsetsResponse { groups, ..Default::default() }
}

fn describe(
    context: &Context,
    wanted: &DescribeShareGroupOffsetsRequestGroup,
    cost: &mut Cost,
) -> DescribeShareGroupOffsetsResponseGroup {
    let group = DescribeShareGroupOffsetsResponseGroup { group_id: wanted.group_id.clone(), ..Default::default() };
    let refused = |error_code| DescribeShareGroupOffsetsResponseGroup {
        error_code,
        error_message: Some(message(error_code).into()),
        ..group.clone()
    };
    let state = &context.state;
    let id = &*wanted.group_id;
    let may = |name: &str| context.may(Operation::Describe, Resource::topic(name));
    if let Err(error_code) = context.authorize(Operation::Describe, Resource::group(id)) {
        return DescribeShareGroupOffsetsResponseGroup { error_code, ..group };
    }
    let mut partitions: BTreeMap<Uuid, BTreeSet<i32>> = BTreeMap::new();
    let mut unknown = Vec::new();
    match &wanted.topics {
        None => {
            let known = state.groups.with(state, context.node.id, id, |machine, _, _| machine.share_partitions(id));
            match known {
                Ok(known) => partitions = known,
                Err(code) => return refused(code),
            }
        }
        Some(topics) => {
            for topic in topics {
                let indexes = topic.partitions.iter().copied();
                if !may(&topic.topic_name) {
                    let code = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
                    let unauthorized = |partition_index| DescribeShareGroupOffsetsResponsePartition {
                        partition_index,
                        start_offset: -1,
                        error_code: code,
                        error_message: Some(unauthorized(code).message.as_ref().into()),
                        ..Default::default()
                    };
                    unknown.push(DescribeShareGroupOffsetsResponseTopic {
                        topic_name: topic.topic_name.clone(),
                        partitions: indexes.map(unauthorized).collect(),
                        ..Default::default()
                    });
                    continue;
                }
                match state.topic(TopicRef::Name(&topic.topic_name)) {
                    Some(found) => partitions.entry(found.id).or_default().extend(indexes),
                    None => unknown.push(DescribeShareGroupOffsetsResponseTopic {
                        topic_name: topic.topic_name.clone(),
                        partitions: indexes.map(nothing_of).collect(),
                        ..Default::default()
                    }),
                }
            }
        }
    }
    let count: usize = partitions.values().map(BTreeSet::len).sum();
    if !cost.response(PARTITION_SIZE * count) {
        return refused(ErrorCode::UNKNOWN_SERVER_ERROR);
    }
    let describe = |(topic_id, partitions): (Uuid, BTreeSet<i32>)| {
        let topic = state.topic(TopicRef::Id(topic_id)).filter(|topic| may(&topic.name))?;
        Some(DescribeShareGroupOffsetsResponseTopic {
            topic_name: topic.name.clone(),
            topic_id,
            partitions: partitions.into_iter().map(|index| partition(context, id, &topic, index)).collect(),
            ..Default::default()
        })
    };
    let topics = partitions.into_iter().filter_map(describe).chain(unknown).collect();
    DescribeShareGroupOffsetsResponseGroup { topics, ..group }
}

/// A partition that is not known.
fn nothing_of(partition_index: i32) -> DescribeShareGroupOffsetsResponsePartition {
    DescribeShareGroupOffsetsResponsePartition { partition_index, start_offset: -1, lag: -1, ..Default::default() }
}

fn partition(context: &Context, group: &str, topic: &Topic, index: i32) -> DescribeShareGroupOffsetsResponsePartition {
    let key = ShareKey { group: group.to_owned(), topic: topic.id, partition: index };
    let state = &context.state;
    let summary =
        state.with_share_state(&key, |machine, _, _| machine.summary(&key, &**state).map(|known| known.cloned()));
    // Kafka does not pass errors of the share coordinator on.
    let Ok(Some(known)) = summary else { return nothing_of(index) };
    let end = topic.partition(index).map(|partition| partition.with_log(|log| log.high_watermark()));
    let lag = match end {
        Some(end) if known.start_offset != -1 && known.complete_count != -1 => {
            end - known.start_offset - i64::from(known.complete_count)
        }
        _ => -1,
    };
    DescribeShareGroupOffsetsResponsePartition {
        partition_index: index,
        start_offset: known.start_offset,
        leader_epoch: known.leader_epoch,
        lag,
        ..Default::default()
    }
}
