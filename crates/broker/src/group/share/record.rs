//! The records of share groups in `__consumer_offsets`, as Kafka writes them, and their replay.

use std::collections::BTreeSet;

use milena_messages::group_coordinator::share_group_current_member_assignment_value::TopicPartitions;
use milena_messages::group_coordinator::share_group_state_partition_metadata_value::{TopicInfo, TopicPartitionsInfo};
use milena_messages::group_coordinator::share_group_target_assignment_member_value::TopicPartition;
use milena_messages::{
    ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue, ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue, ShareGroupMetadataKey, ShareGroupMetadataValue, ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue, ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue, TypedRecord, Uuid,
};

use crate::coordinator::record::{CoordinatorRecord, remove, set};
use crate::group::GroupMachine;
use crate::group::consumer::Partitions;
use crate::group::share::{ShareGroup, ShareMember, StateTopic, StateTopics};

/// All of these records have one version.
const VERSION: i16 = 0;
/// The only state of a member.
const STABLE: i8 = 1;

fn group_key(group: &str) -> ShareGroupMetadataKey {
    ShareGroupMetadataKey { group_id: group.to_owned().into() }
}

pub(super) fn group(group: &ShareGroup) -> CoordinatorRecord {
    let value =
        ShareGroupMetadataValue { epoch: group.epoch, metadata_hash: group.metadata_hash, ..Default::default() };
    set(&group_key(&group.id), &value, VERSION)
}

pub(super) fn group_tombstone(group: &str) -> CoordinatorRecord {
    remove(&group_key(group))
}

fn member_key(group: &str, member: &str) -> ShareGroupMemberMetadataKey {
    ShareGroupMemberMetadataKey { group_id: group.to_owned().into(), member_id: member.to_owned().into() }
}

pub(super) fn member(group: &str, member: &ShareMember) -> CoordinatorRecord {
    let value = ShareGroupMemberMetadataValue {
        rack_id: member.rack_id.clone().map(Into::into),
        client_id: member.client_id.clone().into(),
        client_host: member.client_host.clone().into(),
        subscribed_topic_names: member.subscribed.iter().map(|name| name.clone().into()).collect(),
        ..Default::default()
    };
    set(&member_key(group, &member.id), &value, VERSION)
}

pub(super) fn member_tombstone(group: &str, member: &str) -> CoordinatorRecord {
    remove(&member_key(group, member))
}

fn target_metadata_key(group: &str) -> ShareGroupTargetAssignmentMetadataKey {
    ShareGroupTargetAssignmentMetadataKey { group_id: group.to_owned().into() }
}

pub(super) fn target_metadata(group: &ShareGroup) -> CoordinatorRecord {
    let value = ShareGroupTargetAssignmentMetadataValue {
        assignment_epoch: group.assignment_epoch,
        assignment_timestamp: group.assignment_timestamp,
        ..Default::default()
    };
    set(&target_metadata_key(&group.id), &value, VERSION)
}

pub(super) fn target_metadata_tombstone(group: &str) -> CoordinatorRecord {
    remove(&target_metadata_key(group))
}

fn target_key(group: &str, member: &str) -> ShareGroupTargetAssignmentMemberKey {
    ShareGroupTargetAssignmentMemberKey { group_id: group.to_owned().into(), member_id: member.to_owned().into() }
}

pub(super) fn target(group: &str, member: &str, target: &Partitions) -> CoordinatorRecord {
    let topic = |(topic_id, partitions): (&Uuid, &BTreeSet<i32>)| TopicPartition {
        topic_id: *topic_id,
        partitions: partitions.iter().copied().collect(),
        ..Default::default()
    };
    let topic_partitions = target.iter().map(topic).collect();
    let value = ShareGroupTargetAssignmentMemberValue { topic_partitions, ..Default::default() };
    set(&target_key(group, member), &value, VERSION)
}

pub(super) fn target_tombstone(group: &str, member: &str) -> CoordinatorRecord {
    remove(&target_key(group, member))
}

fn current_key(group: &str, member: &str) -> ShareGroupCurrentMemberAssignmentKey {
    ShareGroupCurrentMemberAssignmentKey { group_id: group.to_owned().into(), member_id: member.to_owned().into() }
}

pub(super) fn current(group: &str, member: &ShareMember) -> CoordinatorRecord {
    let topic = |(topic_id, partitions): (&Uuid, &BTreeSet<i32>)| TopicPartitions {
        topic_id: *topic_id,
        partitions: partitions.iter().copied().collect(),
        ..Default::default()
    };
    let value = ShareGroupCurrentMemberAssignmentValue {
        member_epoch: member.epoch,
        previous_member_epoch: member.previous_epoch,
        state: STABLE,
        assigned_partitions: member.assigned.iter().map(topic).collect(),
        ..Default::default()
    };
    set(&current_key(group, &member.id), &value, VERSION)
}

pub(super) fn current_tombstone(group: &str, member: &str) -> CoordinatorRecord {
    remove(&current_key(group, member))
}

fn state_key(group: &str) -> ShareGroupStatePartitionMetadataKey {
    ShareGroupStatePartitionMetadataKey { group_id: group.to_owned().into() }
}

pub(super) fn state(group: &str, topics: &StateTopics) -> CoordinatorRecord {
    let with_partitions = |(topic_id, topic): (&Uuid, &StateTopic)| TopicPartitionsInfo {
        topic_id: *topic_id,
        topic_name: topic.name.clone().into(),
        partitions: topic.partitions.iter().copied().collect(),
        ..Default::default()
    };
    let whole = |(topic_id, name): (&Uuid, &String)| TopicInfo {
        topic_id: *topic_id,
        topic_name: name.clone().into(),
        ..Default::default()
    };
    let value = ShareGroupStatePartitionMetadataValue {
        initializing_topics: topics.initializing.iter().map(with_partitions).collect(),
        initialized_topics: topics.initialized.iter().map(with_partitions).collect(),
        deleting_topics: topics.deleting.iter().map(whole).collect(),
        ..Default::default()
    };
    set(&state_key(group), &value, VERSION)
}

pub(super) fn state_tombstone(group: &str) -> CoordinatorRecord {
    remove(&state_key(group))
}

impl From<ShareGroupStatePartitionMetadataValue> for StateTopics {
    fn from(value: ShareGroupStatePartitionMetadataValue) -> Self {
        let with_partitions = |topic: TopicPartitionsInfo| {
            let (name, partitions) = (topic.topic_name.to_string(), topic.partitions.into_iter().collect());
            // Nobody knows when they began: they are tried again at once.
            (topic.topic_id, StateTopic { name, partitions, since: 0 })
        };
        let whole = |topic: TopicInfo| (topic.topic_id, topic.topic_name.to_string());
        Self {
            initializing: value.initializing_topics.into_iter().map(with_partitions).collect(),
            initialized: value.initialized_topics.into_iter().map(with_partitions).collect(),
            deleting: value.deleting_topics.into_iter().map(whole).collect(),
        }
    }
}

impl GroupMachine {
    /// Replays a record of a share group; others are left alone. A live group is ahead of its records, and does not listen
    /// to them.
    ///
    /// # Errors
    /// The record cannot be read.
    pub(in crate::group) fn replay_share(
        &mut self,
        kind: i16,
        record: &CoordinatorRecord,
    ) -> Result<(), milena_wire::Error> {
        if !self.loading {
            return Ok(());
        }
        let live = record.value.is_some();
        match kind {
            ShareGroupMetadataKey::TYPE => {
                let id = record.read_key::<ShareGroupMetadataKey>()?.group_id.to_string();
                if live {
                    let value: ShareGroupMetadataValue = record.read_value()?;
                    let group = self.loaded_share_group(&id);
                    (group.epoch, group.metadata_hash) = (value.epoch, value.metadata_hash);
                } else {
                    self.shares.remove(&id);
                }
            }
            ShareGroupMemberMetadataKey::TYPE => {
                let key: ShareGroupMemberMetadataKey = record.read_key()?;
                if live {
                    let value = record.read_value()?;
                    self.loaded_share_group(&key.group_id).loaded_member(&key.member_id).replay(value);
                } else if let Some(group) = self.shares.get_mut(&*key.group_id) {
                    group.members.remove(&*key.member_id);
                }
            }
            ShareGroupTargetAssignmentMetadataKey::TYPE => {
                let id = record.read_key::<ShareGroupTargetAssignmentMetadataKey>()?.group_id.to_string();
                if live {
                    let value: ShareGroupTargetAssignmentMetadataValue = record.read_value()?;
                    let group = self.loaded_share_group(&id);
                    (group.assignment_epoch, group.assignment_timestamp) =
                        (value.assignment_epoch, value.assignment_timestamp);
                } else if let Some(group) = self.shares.get_mut(&id) {
                    (group.assignment_epoch, group.assignment_timestamp) = (0, 0);
                }
            }
            ShareGroupTargetAssignmentMemberKey::TYPE => {
                let key: ShareGroupTargetAssignmentMemberKey = record.read_key()?;
                if live {
                    let value: ShareGroupTargetAssignmentMemberValue = record.read_value()?;
                    let topic = |topic: TopicPartition| (topic.topic_id, topic.partitions.into_iter().collect());
                    let target = value.topic_partitions.into_iter().map(topic).collect();
                    self.loaded_share_group(&key.group_id).targets.insert(key.member_id.to_string(), target);
                } else if let Some(group) = self.shares.get_mut(&*key.group_id) {
                    group.targets.remove(&*key.member_id);
                }
            }
            ShareGroupCurrentMemberAssignmentKey::TYPE => {
                let key: ShareGroupCurrentMemberAssignmentKey = record.read_key()?;
                if live {
                    let value: ShareGroupCurrentMemberAssignmentValue = record.read_value()?;
                    let topic = |topic: TopicPartitions| (topic.topic_id, topic.partitions.into_iter().collect());
                    let member = self.loaded_share_group(&key.group_id).loaded_member(&key.member_id);
                    (member.epoch, member.previous_epoch) = (value.member_epoch, value.previous_member_epoch);
                    member.assigned = value.assigned_partitions.into_iter().map(topic).collect();
                } else if let Some(group) = self.shares.get_mut(&*key.group_id) {
                    // The member is about to go.
                    if let Some(member) = group.members.get_mut(&*key.member_id) {
                        (member.epoch, member.previous_epoch) = (super::LEAVE, super::LEAVE);
                        member.assigned.clear();
                    }
                }
            }
            ShareGroupStatePartitionMetadataKey::TYPE => {
                let id = record.read_key::<ShareGroupStatePartitionMetadataKey>()?.group_id.to_string();
                if live {
                    let value: ShareGroupStatePartitionMetadataValue = record.read_value()?;
                    self.loaded_share_group(&id).state_topics = Some(value.into());
                } else if let Some(group) = self.shares.get_mut(&id) {
                    group.state_topics = None;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn loaded_share_group(&mut self, id: &str) -> &mut ShareGroup {
        self.shares.entry(id.to_owned()).or_insert_with(|| ShareGroup::new(id))
    }
}

impl ShareGroup {
    fn loaded_member(&mut self, id: &str) -> &mut ShareMember {
        self.members.entry(id.to_owned()).or_insert_with(|| ShareMember::new(id))
    }
}

impl ShareMember {
    fn replay(&mut self, value: ShareGroupMemberMetadataValue) {
        self.rack_id = value.rack_id.map(|text| text.to_string());
        self.client_id = value.client_id.to_string();
        self.client_host = value.client_host.to_string();
        self.subscribed = value.subscribed_topic_names.iter().map(|name| name.to_string()).collect();
    }
}
