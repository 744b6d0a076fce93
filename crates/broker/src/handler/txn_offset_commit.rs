use milena_messages::txn_offset_commit::request::{TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic};
use milena_messages::txn_offset_commit::response::{TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic};
use milena_messages::{ErrorCode, TxnOffsetCommitRequest, TxnOffsetCommitResponse};

use super::Context;
use crate::cluster::TopicRef;
use crate::cost::Cost;
use crate::group::offset::{Committer, Offset};
use crate::transaction::{self, Producer};

/// From here on the group joins the transaction with the first commit (KIP-890).
const IMPLICIT: i16 = 5;

pub(super) fn handle(context: &Context, request: TxnOffsetCommitRequest, _cost: &mut Cost) -> TxnOffsetCommitResponse {
    let topics = commit(context, &request)
        .unwrap_or_else(|code| request.topics.iter().map(|topic| each(topic, &mut |_| code)).collect());
    TxnOffsetCommitResponse { topics, ..Default::default() }
}

fn commit(context: &Context, request: &TxnOffsetCommitRequest) -> Result<Vec<TxnOffsetCommitResponseTopic>, ErrorCode> {
    let (state, group) = (&context.state, &*request.group_id);
    let producer = Producer { id: request.producer_id, epoch: request.producer_epoch };
    let who = Committer {
        member_id: &request.member_id,
        instance_id: request.group_instance_id.as_deref(),
        generation: request.generation_id_or_member_epoch,
        is_transactional: true,
    };
    let index = state.groups.index(state, group)?;
    let node = context.node.id;
    // A member that may not commit does not become a part of the transaction.
    state.groups.with(state, node, group, |machine, now_ms, _| machine.check_commit(group, who, now_ms))??;
    let place = (state.groups.topic_name(), index);
    transaction::admit(state, &request.transactional_id, producer, place, context.version >= IMPLICIT)?;
    state.groups.with(state, node, group, |machine, now_ms, effects| {
        machine.check_commit(group, who, now_ms)?;
        effects.transactional(producer.id, producer.epoch);
        let topic = |topic: &TxnOffsetCommitRequestTopic| {
            if state.topic(TopicRef::Name(&topic.name)).is_none() {
                return each(topic, &mut |_| ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
            }
            each(topic, &mut |partition| {
                let offset = Offset {
                    offset: partition.committed_offset,
                    leader_epoch: partition.committed_leader_epoch,
                    // A copy: a slice would keep the whole request.
                    metadata: partition.committed_metadata.as_deref().unwrap_or_default().to_owned().into(),
                    commit_timestamp: now_ms,
                    expire_timestamp: None,
                };
                machine.commit(group, &topic.name, partition.partition_index, &offset, effects)
            })
        };
        Ok(request.topics.iter().map(topic).collect())
    })?
}

fn each(
    topic: &TxnOffsetCommitRequestTopic,
    code: &mut dyn FnMut(&TxnOffsetCommitRequestPartition) -> ErrorCode,
) -> TxnOffsetCommitResponseTopic {
    let partition = |partition: &TxnOffsetCommitRequestPartition| TxnOffsetCommitResponsePartition {
        partition_index: partition.partition_index,
        error_code: code(partition),
        ..Default::default()
    };
    TxnOffsetCommitResponseTopic {
        name: topic.name.clone(),
        partitions: topic.partitions.iter().map(partition).collect(),
        ..Default::default()
    }
}
