use std::sync::Arc;

use milena_messages::txn_offset_commit::request::{TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic};
use milena_messages::txn_offset_commit::response::{TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic};
use milena_messages::{ByteString, ErrorCode, TxnOffsetCommitRequest, TxnOffsetCommitResponse, Uuid};

use super::Context;
use super::merged::{Merged, Responded};
use crate::cluster::{Topic, TopicRef};
use crate::cost::Cost;
use crate::group::offset::{Committer, Offset};
use crate::security::acl::{Operation, Resource};
use crate::transaction::{self, Producer};

/// From here on a group outside of the transaction has an error of its own (KIP-890).
const ABORTABLE: i16 = 4;
/// From here on topics go by id.
const TOPIC_IDS: i16 = 6;
/// From here on the group joins the transaction with the first commit (KIP-890).
const IMPLICIT: i16 = 5;

pub(super) fn handle(context: &Context, request: TxnOffsetCommitRequest, _cost: &mut Cost) -> TxnOffsetCommitResponse {
    let authorized = context
        .authorize(Operation::Write, Resource::transactional_id(&request.transactional_id))
        .and_then(|()| context.authorize(Operation::Read, Resource::group(&request.group_id)));
    if let Err(code) = authorized {
        let topics = request.topics.iter().map(|topic| each(topic, &mut |_| code)).collect();
        return TxnOffsetCommitResponse { topics, ..Default::default() };
    }
    let (wanted, refused) = split(context, &request.topics);
    if wanted.is_empty() {
        return TxnOffsetCommitResponse { topics: refused.with(Vec::new()), ..Default::default() };
    }
    let committed = commit(context, &request, &wanted)
        .unwrap_or_else(|code| wanted.iter().map(|(_, topic)| each(topic, &mut |_| code)).collect());
    TxnOffsetCommitResponse { topics: refused.with(committed), ..Default::default() }
}

fn wanted(topic: &TxnOffsetCommitRequestTopic, version: i16) -> TopicRef<'_> {
    if version >= TOPIC_IDS { TopicRef::Id(topic.topic_id) } else { TopicRef::Name(&topic.name) }
}

/// The topics and partitions that are there, and what the others get.
fn split(
    context: &Context,
    topics: &[TxnOffsetCommitRequestTopic],
) -> (Vec<(Arc<Topic>, TxnOffsetCommitRequestTopic)>, Merged<TxnOffsetCommitResponseTopic>) {
    let (mut known, mut refused) = (Vec::new(), Merged::new());
    for topic in topics {
        let found = match context.topic(Operation::Read, wanted(topic, context.version)) {
            Ok(found) => found,
            Err(code) => {
                refused.add(each(topic, &mut |_| code));
                continue;
            }
        };
        let with = |partitions| TxnOffsetCommitRequestTopic { partitions, ..topic.clone() };
        let there = |one: &TxnOffsetCommitRequestPartition| found.partition(one.partition_index).is_some();
        let (there, missing): (Vec<_>, Vec<_>) = topic.partitions.iter().cloned().partition(there);
        if !missing.is_empty() {
            refused.add(each(&with(missing), &mut |_| ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
        }
        if !there.is_empty() {
            known.push((found, with(there)));
        }
    }
    (known, refused)
}

fn commit(
    context: &Context,
    request: &TxnOffsetCommitRequest,
    topics: &[(Arc<Topic>, TxnOffsetCommitRequestTopic)],
) -> Result<Vec<TxnOffsetCommitResponseTopic>, ErrorCode> {
    let (state, group) = (&context.state, &*request.group_id);
    if group.is_empty() {
        return Err(ErrorCode::INVALID_GROUP_ID);
    }
    let producer = Producer { id: request.producer_id, epoch: request.producer_epoch };
    let who = Committer {
        member_id: &request.member_id,
        instance_id: request.group_instance_id.as_deref(),
        generation: request.generation_id_or_member_epoch,
        is_transactional: true,
        knows_epochs: true,
    };
    let index = state.groups.index(state, group)?;
    let node = context.node.id;
    let place = (state.groups.topic_name(), index);
    let admitted = transaction::admit(state, &request.transactional_id, producer, place, context.version >= IMPLICIT);
    admitted.map_err(|code| match code {
        ErrorCode::TRANSACTION_ABORTABLE if context.version < ABORTABLE => ErrorCode::INVALID_TXN_STATE,
        code => code,
    })?;
    state.groups.with(state, node, group, |machine, now_ms, effects| {
        machine.check_commit(group, who, now_ms)?;
        effects.transactional(producer.id, producer.epoch);
        let mut committed = Vec::with_capacity(topics.len());
        for (found, topic) in topics {
            committed.push(each(topic, &mut |partition| {
                if let Err(code) =
                    machine.check_partition(group, who, (&found.name, found.id), partition.partition_index)
                {
                    return code;
                }
                let offset = Offset {
                    offset: partition.committed_offset,
                    leader_epoch: partition.committed_leader_epoch,
                    // A copy: a slice would keep the whole request.
                    metadata: partition.committed_metadata.as_deref().unwrap_or_default().to_owned().into(),
                    commit_timestamp: now_ms,
                    expire_timestamp: None,
                };
                machine.commit(group, &found.name, partition.partition_index, &offset, effects)
            }));
        }
        effects.check_size()?;
        Ok(committed)
    })?
}

impl Responded for TxnOffsetCommitResponseTopic {
    fn topic(&self) -> (ByteString, Uuid) {
        (self.name.clone(), self.topic_id)
    }

    fn append(&mut self, mut other: Self) {
        self.partitions.append(&mut other.partitions);
    }
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
        topic_id: topic.topic_id,
        partitions: topic.partitions.iter().map(partition).collect(),
        ..Default::default()
    }
}
