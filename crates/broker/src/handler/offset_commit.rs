use std::sync::Arc;

use milena_messages::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use milena_messages::offset_commit::response::{OffsetCommitResponsePartition, OffsetCommitResponseTopic};
use milena_messages::{ByteString, ErrorCode, OffsetCommitRequest, OffsetCommitResponse, Uuid};

use super::Context;
use super::merged::{Merged, Responded};
use crate::cluster::{Topic, TopicRef};
use crate::cost::Cost;
use crate::group::offset::{Committer, Offset};
use crate::security::acl::{Operation, Resource};

/// From here on members of consumer groups may commit (KIP-848).
const MEMBER_EPOCHS: i16 = 9;
/// From here on topics go by id (KIP-848).
const TOPIC_IDS: i16 = 10;
/// A commit without a time, and one without a retention of its own.
const NONE: i64 = -1;

pub(super) fn handle(context: &Context, request: OffsetCommitRequest, _cost: &mut Cost) -> OffsetCommitResponse {
    let OffsetCommitRequest { group_id: id, topics, .. } = &request;
    if let Err(code) = context.authorize(Operation::Read, Resource::group(id)) {
        return OffsetCommitResponse {
            topics: topics.iter().map(|topic| all_with(topic, code)).collect(),
            ..Default::default()
        };
    }
    let (wanted, refused) = split(context, topics);
    if wanted.is_empty() {
        return OffsetCommitResponse { topics: refused.with(Vec::new()), ..Default::default() };
    }
    let state = &context.state;
    let committed = state.groups.with(state, context.node.id, id, |machine, now_ms, effects| {
        let who = Committer {
            member_id: &request.member_id,
            instance_id: request.group_instance_id.as_deref(),
            generation: request.generation_id_or_member_epoch,
            is_transactional: false,
            knows_epochs: context.version >= MEMBER_EPOCHS,
        };
        machine.check_commit(id, who, now_ms)?;
        let mut topics = Vec::with_capacity(wanted.len());
        for (found, topic) in &wanted {
            let mut commit = |partition: &OffsetCommitRequestPartition| {
                let index = partition.partition_index;
                if let Err(code) = machine.check_partition(id, who, (&found.name, found.id), index) {
                    return code;
                }
                let offset = offset(partition, request.retention_time_ms, now_ms);
                machine.commit(id, &found.name, index, &offset, effects)
            };
            topics.push(each(topic, &mut commit));
        }
        effects.check_size()?;
        Ok(topics)
    });
    let committed = committed
        .and_then(|result| result)
        .unwrap_or_else(|code| wanted.iter().map(|(_, topic)| all_with(topic, code)).collect());
    OffsetCommitResponse { topics: refused.with(committed), ..Default::default() }
}

/// The topics and partitions that are there, and what the others get.
fn split(
    context: &Context,
    topics: &[OffsetCommitRequestTopic],
) -> (Vec<(Arc<Topic>, OffsetCommitRequestTopic)>, Merged<OffsetCommitResponseTopic>) {
    let (mut known, mut refused) = (Vec::new(), Merged::new());
    for topic in topics {
        let by_id = context.version >= TOPIC_IDS;
        let wanted = if by_id { TopicRef::Id(topic.topic_id) } else { TopicRef::Name(&topic.name) };
        let found = match context.topic(Operation::Read, wanted) {
            Ok(found) => found,
            Err(code) => {
                refused.add(all_with(topic, code));
                continue;
            }
        };
        let with = |partitions| OffsetCommitRequestTopic { partitions, ..topic.clone() };
        let there = |one: &OffsetCommitRequestPartition| found.partition(one.partition_index).is_some();
        let (there, missing): (Vec<_>, Vec<_>) = topic.partitions.iter().cloned().partition(there);
        if !missing.is_empty() {
            refused.add(all_with(&with(missing), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
        }
        if !there.is_empty() {
            known.push((found, with(there)));
        }
    }
    (known, refused)
}

impl Responded for OffsetCommitResponseTopic {
    fn topic(&self) -> (ByteString, Uuid) {
        (self.name.clone(), self.topic_id)
    }

    fn append(&mut self, mut other: Self) {
        self.partitions.append(&mut other.partitions);
    }
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

#[cfg(test)]
mod tests {
    use milena_messages::{OffsetFetchRequest, TxnOffsetCommitRequest};

    use super::*;
    use crate::handler::tests::{Fixture, create, state};
    use crate::handler::{offset_fetch, txn_offset_commit};

    fn topic(name: &str, partitions: &[i32], metadata: &str) -> OffsetCommitRequestTopic {
        let partition = |index: &i32| OffsetCommitRequestPartition {
            partition_index: *index,
            committed_offset: 5,
            committed_metadata: Some(metadata.to_owned().into()),
            ..Default::default()
        };
        OffsetCommitRequestTopic {
            name: name.to_owned().into(),
            partitions: partitions.iter().map(partition).collect(),
            ..Default::default()
        }
    }

    fn commit(state: &Fixture, topics: Vec<OffsetCommitRequestTopic>) -> Vec<(String, Vec<(i32, i16)>)> {
        let request = OffsetCommitRequest { group_id: "g".into(), topics, ..Default::default() };
        let response = handle(&state.at(2), request, &mut Cost::quick());
        let topic = |topic: OffsetCommitResponseTopic| {
            let partitions = topic.partitions.iter().map(|one| (one.partition_index, one.error_code.0));
            (topic.name.to_string(), partitions.collect())
        };
        response.topics.into_iter().map(topic).collect()
    }

    /// As Kafka 4.4 responds to the same request.
    #[test]
    fn partitions_that_are_not_there_are_refused_before_the_others() {
        let state = state();
        create(&state, "t", 4);
        let topics = vec![topic("t", &[0, -1, 1, 9], ""), topic("nono", &[0], ""), topic("t", &[2], "")];
        let expected =
            [("t".to_owned(), vec![(-1, 3), (9, 3), (0, 0), (1, 0), (2, 0)]), ("nono".to_owned(), vec![(0, 3)])];
        assert_eq!(commit(&state, topics), expected);
        let known = vec![topic("t", &[0], ""), topic("t", &[2], "")];
        assert_eq!(commit(&state, known).len(), 2);
    }

    /// As Kafka 4.4 does with 400 entries of 4096 bytes.
    #[test]
    fn commits_that_are_too_large_for_the_log_are_all_refused() {
        let state = state();
        create(&state, "t", 4);
        let all: Vec<i32> = (0..400).map(|n| n % 4).collect();
        let topics = vec![topic("t", &all, &"m".repeat(4096))];
        let refused = commit(&state, topics);
        assert!(refused[0].1.iter().all(|(_, code)| *code == -1), "{:?}", refused[0].1);
        assert_eq!(commit(&state, vec![topic("t", &[0], "")]), [("t".to_owned(), vec![(0, 0)])]);
    }

    #[test]
    fn a_transaction_commits_for_no_group_without_a_name() {
        use milena_messages::txn_offset_commit::request as txn;
        let state = state();
        create(&state, "t", 1);
        let partitions = vec![txn::TxnOffsetCommitRequestPartition::default()];
        let topics = vec![txn::TxnOffsetCommitRequestTopic { name: "t".into(), partitions, ..Default::default() }];
        let request = TxnOffsetCommitRequest { transactional_id: "x".into(), topics, ..Default::default() };
        let response = txn_offset_commit::handle(&state.at(3), request, &mut Cost::quick());
        assert_eq!(response.topics[0].partitions[0].error_code, ErrorCode::INVALID_GROUP_ID);
    }

    #[test]
    fn an_offset_that_is_asked_for_too_often_becomes_an_error_and_costs_no_memory() {
        use milena_messages::offset_fetch::request::OffsetFetchRequestTopic;
        let state = state();
        create(&state, "t", 1);
        commit(&state, vec![topic("t", &[0], &"m".repeat(4096))]);
        let partition_indexes = (0..300_000).map(|_| 0).collect();
        let topics = Some(vec![OffsetFetchRequestTopic { name: "t".into(), partition_indexes, ..Default::default() }]);
        let request = OffsetFetchRequest { group_id: "g".into(), topics, ..Default::default() };
        let mut cost = Cost::quick();
        offset_fetch::handle(&state.at(1), request.clone(), &mut cost);
        assert!(cost.needs_full());
        let found = offset_fetch::handle(&state.at(1), request, &mut Cost::full(1 << 20));
        let partitions = &found.topics[0].partitions;
        let served = partitions.iter().filter(|one| one.error_code.is_none()).count();
        assert_eq!((partitions.len(), served), (300_000, (128 << 20) / (4096 + 64)));
        assert_eq!(partitions[299_999].error_code, ErrorCode::UNKNOWN_SERVER_ERROR);
    }
}
