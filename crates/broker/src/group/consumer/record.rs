//! The records of consumer groups, as Kafka writes them, and their replay.

use std::collections::{BTreeMap, BTreeSet};

use milena_messages::group_coordinator::consumer_group_current_member_assignment_value::TopicPartitions;
use milena_messages::group_coordinator::consumer_group_member_metadata_value::{
    ClassicMemberMetadata, ClassicProtocol,
};
use milena_messages::group_coordinator::consumer_group_target_assignment_member_value::TopicPartition;
use milena_messages::{
    Bytes, ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue, ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue, Uuid,
};
use milena_messages::{ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue};
use milena_messages::{ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue};

use crate::coordinator::record::{CoordinatorRecord, remove, set};
use crate::group::consumer::subscription::Resolved;
use crate::group::consumer::{ClassicSide, ConsumerGroup, ConsumerMember, MemberState, Owned, Partitions};

/// All of these records have one version.
const VERSION: i16 = 0;

fn group_key(group: &str) -> ConsumerGroupMetadataKey {
    ConsumerGroupMetadataKey { group_id: group.to_owned().into() }
}

pub(super) fn group(group: &ConsumerGroup) -> CoordinatorRecord {
    let value =
        ConsumerGroupMetadataValue { epoch: group.epoch, metadata_hash: group.metadata_hash, ..Default::default() };
    set(&group_key(&group.id), &value, VERSION)
}

pub(super) fn group_tombstone(group: &str) -> CoordinatorRecord {
    remove(&group_key(group))
}

fn member_key(group: &str, member: &str) -> ConsumerGroupMemberMetadataKey {
    ConsumerGroupMemberMetadataKey { group_id: group.to_owned().into(), member_id: member.to_owned().into() }
}

pub(super) fn member(group: &str, member: &ConsumerMember) -> CoordinatorRecord {
    let optional = |text: &Option<String>| text.clone().map(Into::into);
    let value = ConsumerGroupMemberMetadataValue {
        instance_id: optional(&member.instance_id),
        rack_id: optional(&member.rack_id),
        client_id: member.client_id.clone().into(),
        client_host: member.client_host.clone().into(),
        subscribed_topic_names: member.subscribed.iter().map(|name| name.clone().into()).collect(),
        subscribed_topic_regex: Some(member.regex.clone().into()),
        rebalance_timeout_ms: member.rebalance_timeout_ms,
        server_assignor: optional(&member.server_assignor),
        classic_member_metadata: member.classic.as_ref().map(classic),
        ..Default::default()
    };
    set(&member_key(group, &member.id), &value, VERSION)
}

fn classic(side: &ClassicSide) -> ClassicMemberMetadata {
    let protocol = |(name, metadata): &(String, Bytes)| ClassicProtocol {
        name: name.clone().into(),
        metadata: metadata.clone(),
        ..Default::default()
    };
    ClassicMemberMetadata {
        session_timeout_ms: side.session_timeout_ms,
        supported_protocols: side.protocols.iter().map(protocol).collect(),
        ..Default::default()
    }
}

pub(super) fn member_tombstone(group: &str, member: &str) -> CoordinatorRecord {
    remove(&member_key(group, member))
}

fn target_metadata_key(group: &str) -> ConsumerGroupTargetAssignmentMetadataKey {
    ConsumerGroupTargetAssignmentMetadataKey { group_id: group.to_owned().into() }
}

pub(super) fn target_metadata(group: &ConsumerGroup) -> CoordinatorRecord {
    let value = ConsumerGroupTargetAssignmentMetadataValue {
        assignment_epoch: group.assignment_epoch,
        assignment_timestamp: group.assignment_timestamp,
        ..Default::default()
    };
    set(&target_metadata_key(&group.id), &value, VERSION)
}

pub(super) fn target_metadata_tombstone(group: &str) -> CoordinatorRecord {
    remove(&target_metadata_key(group))
}

fn target_key(group: &str, member: &str) -> ConsumerGroupTargetAssignmentMemberKey {
    ConsumerGroupTargetAssignmentMemberKey { group_id: group.to_owned().into(), member_id: member.to_owned().into() }
}

pub(super) fn target(group: &str, member: &str, target: &Partitions) -> CoordinatorRecord {
    let topic = |(topic_id, partitions): (&Uuid, &BTreeSet<i32>)| TopicPartition {
        topic_id: *topic_id,
        partitions: partitions.iter().copied().collect(),
        ..Default::default()
    };
    let value = ConsumerGroupTargetAssignmentMemberValue {
        topic_partitions: target.iter().map(topic).collect(),
        ..Default::default()
    };
    set(&target_key(group, member), &value, VERSION)
}

pub(super) fn target_tombstone(group: &str, member: &str) -> CoordinatorRecord {
    remove(&target_key(group, member))
}

fn current_key(group: &str, member: &str) -> ConsumerGroupCurrentMemberAssignmentKey {
    ConsumerGroupCurrentMemberAssignmentKey { group_id: group.to_owned().into(), member_id: member.to_owned().into() }
}

pub(super) fn current(group: &str, member: &ConsumerMember) -> CoordinatorRecord {
    let value = ConsumerGroupCurrentMemberAssignmentValue {
        member_epoch: member.epoch,
        previous_member_epoch: member.previous_epoch,
        state: member.state as i8,
        assigned_partitions: with_epochs(&member.assigned),
        partitions_pending_revocation: with_epochs(&member.pending_revocation),
        ..Default::default()
    };
    set(&current_key(group, &member.id), &value, VERSION)
}

pub(super) fn current_tombstone(group: &str, member: &str) -> CoordinatorRecord {
    remove(&current_key(group, member))
}

fn regex_key(group: &str, regex: &str) -> ConsumerGroupRegularExpressionKey {
    ConsumerGroupRegularExpressionKey { group_id: group.to_owned().into(), regular_expression: regex.to_owned().into() }
}

pub(super) fn regex(group: &str, regex: &str, resolved: &Resolved) -> CoordinatorRecord {
    let value = ConsumerGroupRegularExpressionValue {
        topics: resolved.topics.iter().map(|name| name.clone().into()).collect(),
        version: resolved.version,
        timestamp: resolved.timestamp,
        ..Default::default()
    };
    set(&regex_key(group, regex), &value, VERSION)
}

pub(super) fn regex_tombstone(group: &str, regex: &str) -> CoordinatorRecord {
    remove(&regex_key(group, regex))
}

fn with_epochs(owned: &Owned) -> Vec<TopicPartitions> {
    let mut topics: BTreeMap<Uuid, TopicPartitions> = BTreeMap::new();
    for ((topic_id, partition), epoch) in owned {
        let topic = topics.entry(*topic_id).or_insert_with(|| TopicPartitions {
            topic_id: *topic_id,
            assignment_epochs: Some(Default::default()),
            ..Default::default()
        });
        topic.partitions.push(*partition);
        topic.assignment_epochs.get_or_insert_default().push(*epoch);
    }
    topics.into_values().collect()
}

/// Partitions of a record. Before KIP-1251 they had no epochs; then that of the member counts.
fn owned(topics: &[TopicPartitions], member_epoch: i32) -> Owned {
    let topic = |topic: &TopicPartitions| {
        let epochs = topic.assignment_epochs.clone().unwrap_or_default();
        let epochs = epochs.into_iter().map(Some).chain(std::iter::repeat(None));
        let id = topic.topic_id;
        let partition = move |(partition, epoch): (i32, Option<i32>)| ((id, partition), epoch.unwrap_or(member_epoch));
        topic.partitions.clone().into_iter().zip(epochs).map(partition).collect::<Vec<_>>()
    };
    topics.iter().flat_map(topic).collect()
}

impl ConsumerGroup {
    pub(super) fn replay_metadata(&mut self, value: &ConsumerGroupMetadataValue) {
        self.epoch = value.epoch;
        self.metadata_hash = value.metadata_hash;
    }

    pub(super) fn replay_member(&mut self, id: &str, value: ConsumerGroupMemberMetadataValue) {
        let member = self.members.entry(id.to_owned()).or_insert_with(|| ConsumerMember::new(id));
        member.instance_id = value.instance_id.map(|text| text.to_string());
        member.rack_id = value.rack_id.map(|text| text.to_string());
        member.client_id = value.client_id.to_string();
        member.client_host = value.client_host.to_string();
        member.rebalance_timeout_ms = value.rebalance_timeout_ms;
        member.server_assignor = value.server_assignor.map(|text| text.to_string());
        member.subscribed = value.subscribed_topic_names.iter().map(|name| name.to_string()).collect();
        member.classic = value.classic_member_metadata.map(|side| ClassicSide {
            session_timeout_ms: side.session_timeout_ms,
            protocols: side.supported_protocols.into_iter().map(|one| (one.name.to_string(), one.metadata)).collect(),
        });
        member.regex = value.subscribed_topic_regex.map(|regex| regex.to_string()).unwrap_or_default();
    }

    pub(super) fn replay_target_metadata(&mut self, value: &ConsumerGroupTargetAssignmentMetadataValue) {
        self.assignment_epoch = value.assignment_epoch;
        self.assignment_timestamp = value.assignment_timestamp;
    }

    pub(super) fn replay_target(&mut self, member: &str, value: &ConsumerGroupTargetAssignmentMemberValue) {
        let topic = |topic: &TopicPartition| (topic.topic_id, topic.partitions.iter().copied().collect());
        self.targets.insert(member.to_owned(), value.topic_partitions.iter().map(topic).collect());
    }

    pub(super) fn replay_current(&mut self, id: &str, value: &ConsumerGroupCurrentMemberAssignmentValue) {
        let member = self.members.entry(id.to_owned()).or_insert_with(|| ConsumerMember::new(id));
        member.epoch = value.member_epoch;
        member.previous_epoch = value.previous_member_epoch;
        member.state = MemberState::from_number(value.state);
        member.assigned = owned(&value.assigned_partitions, value.member_epoch);
        member.pending_revocation = owned(&value.partitions_pending_revocation, value.member_epoch);
    }

    pub(super) fn replay_regex(&mut self, regex: &str, value: ConsumerGroupRegularExpressionValue) {
        let topics = value.topics.iter().map(|name| name.to_string()).collect();
        let resolved = Resolved { topics, version: value.version, timestamp: value.timestamp };
        self.regexes.insert(regex.to_owned(), resolved);
    }

    /// The assignment of a member is gone, with the member or before it.
    pub(super) fn replay_no_current(&mut self, id: &str) {
        if let Some(member) = self.members.get_mut(id) {
            (member.epoch, member.previous_epoch, member.state) = (LEFT, LEFT, MemberState::Stable);
            member.assigned.clear();
            member.pending_revocation.clear();
        }
    }
}

/// The epoch of a member that is about to go.
const LEFT: i32 = super::LEAVE;
