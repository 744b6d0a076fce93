use milena_messages::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use milena_messages::offset_commit::response::{OffsetCommitResponsePartition, OffsetCommitResponseTopic};
use milena_messages::{ErrorCode, OffsetCommitRequest, OffsetCommitResponse};

use super::Context;
use crate::cluster::TopicRef;
use crate::cost::Cost;
use crate::group::offset::{Committer, Offset};

/// From here on topics go by id (KIP-848).
const TOPIC_IDS: i16 = 10;
/// A commit without a time, and one without a retention of its own.
const NONE: i64 = -1;

pub(super) fn handle(context: &Context, request: OffsetCommitRequest, _cost: &mut Cost) -> OffsetCommitResponse {
    let state = &context.state;
    let committed = state.groups.with(state, context.node.id, &request.group_id, |machine, now_ms, effects| {
        let who = Committer {
            member_id: &request.member_id,
            instance_id: request.group_instance_id.as_deref(),
            generation: request.generation_id_or_member_epoch,
            is_transactional: false,
        };
        machine.check_commit(&request.group_id, who, now_ms)?;
        let mut topics = Vec::with_capacity(request.topics.len());
        for topic in &request.topics {
            let name = match known(context, topic) {
                Ok(name) => name,
                Err(code) => {
                    topics.push(all_with(topic, code));
                    continue;
                }
            };
            let mut commit = |partition: &OffsetCommitRequestPartition| {
                let offset = offset(partition, request.retention_time_ms, now_ms);
                machine.commit(&request.group_id, &name, partition.partition_index, &offset, effects)
            };
            topics.push(each(topic, &mut commit));
        }
        Ok(topics)
    });
    let topics = committed
        .and_then(|result| result)
        .unwrap_or_else(|code| request.topics.iter().map(|topic| all_with(topic, code)).collect());
    OffsetCommitResponse { topics, ..Default::default() }
}

/// The name of a topic that is there.
fn known(context: &Context, topic: &OffsetCommitRequestTopic) -> Result<String, ErrorCode> {
    let wanted = if context.version >= TOPIC_IDS { TopicRef::Id(topic.topic_id) } else { TopicRef::Name(&topic.name) };
    let found = context.state.topic(wanted).ok_or_else(|| wanted.unknown())?;
    Ok(found.name.to_string())
}

fn offset(partition: &OffsetCommitRequestPartition, retention_ms: i64, now_ms: i64) -> Offset {
    let commit_timestamp = if partition.commit_timestamp == NONE { now_ms } else { partition.commit_timestamp };
    Offset {
        offset: partition.committed_offset,
        leader_epoch: partition.committed_leader_epoch,
        // A copy: a slice would keep the whole request.
        metadata: partition.committed_metadata.as_deref().unwrap_or_default().to_owned().into(),
        commit_timestamp,
        expire_timestamp: (retention_ms != NONE).then(|| commit_timestamp.saturating_add(retention_ms)),
    }
}

fn each(
    topic: &OffsetCommitRequestTopic,
    code: &mut dyn FnMut(&OffsetCommitRequestPartition) -> ErrorCode,
) -> OffsetCommitResponseTopic {
    let partition = |partition: &OffsetCommitRequestPartition| OffsetCommitResponsePartition {
        partition_index: partition.partition_index,
        error_code: code(partition),
        ..Default::default()
    };
    OffsetCommitResponseTopic {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partitions: topic.partitions.iter().map(partition).collect(),
        ..Default::default()
    }
}

fn all_with(topic: &OffsetCommitRequestTopic, code: ErrorCode) -> OffsetCommitResponseTopic {
    each(topic, &mut |_| code)
}
