//! The records of streams groups, as Kafka writes them, and their replay.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use milena_messages::group_coordinator::streams_group_current_member_assignment_value::TaskIds as CurrentTaskIds;
use milena_messages::group_coordinator::streams_group_member_metadata_value::{Endpoint, KeyValue};
use milena_messages::group_coordinator::streams_group_metadata_value::LastAssignmentConfig;
use milena_messages::group_coordinator::streams_group_target_assignment_member_value::TaskIds;
use milena_messages::{
    StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue, StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue, StreamsGroupMetadataKey, StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue, StreamsGroupTopologyKey,
    StreamsGroupTopologyValue, TypedRecord,
};

use crate::coordinator::record::{CoordinatorRecord, remove, set};
use crate::group::GroupMachine;
use crate::group::consumer::MemberState;
use crate::group::streams::{Owned, StreamsGroup, StreamsMember, Target, Task};

/// All of these records have one version.
const VERSION: i16 = 0;

fn group_key(group: &str) -> StreamsGroupMetadataKey {
    StreamsGroupMetadataKey { group_id: group.to_owned().into() }
}

pub(super) fn group(group: &StreamsGroup) -> CoordinatorRecord {
    let config = |(key, value): (&String, &String)| LastAssignmentConfig {
        key: key.clone().into(),
        value: value.clone().into(),
        ..Default::default()
    };
    let value = StreamsGroupMetadataValue {
        epoch: group.epoch,
        metadata_hash: group.metadata_hash,
        validated_topology_epoch: group.validated_epoch,
        last_assignment_configs: Some(group.configs.iter().map(config).collect()),
        stored_description_topology_epoch: group.descriptions.0,
        failed_description_topology_epoch: group.descriptions.1,
        ..Default::default()
    };
    set(&group_key(&group.id), &value, VERSION)
}

pub(super) fn group_tombstone(group: &str) -> CoordinatorRecord {
    remove(&group_key(group))
}

fn topology_key(group: &str) -> StreamsGroupTopologyKey {
    StreamsGroupTopologyKey { group_id: group.to_owned().into() }
}

pub(super) fn topology(group: &str, topology: &StreamsGroupTopologyValue) -> CoordinatorRecord {
    set(&topology_key(group), topology, VERSION)
}

pub(super) fn topology_tombstone(group: &str) -> CoordinatorRecord {
    remove(&topology_key(group))
}

fn member_key(group: &str, member: &str) -> StreamsGroupMemberMetadataKey {
    StreamsGroupMemberMetadataKey { group_id: group.to_owned().into(), member_id: member.to_owned().into() }
}

pub(super) fn member(group: &str, member: &StreamsMember) -> CoordinatorRecord {
    let optional = |text: &Option<String>| text.clone().map(Into::into);
    let tag = |(key, value): (&String, &String)| KeyValue {
        key: key.clone().into(),
        value: value.clone().into(),
        ..Default::default()
    };
    let endpoint =
        |(host, port): &(String, u16)| Endpoint { host: host.clone().into(), port: *port, ..Default::default() };
    let value = StreamsGroupMemberMetadataValue {
        instance_id: optional(&member.instance_id),
        rack_id: optional(&member.rack_id),
        client_id: member.client_id.clone().into(),
        client_host: member.client_host.clone().into(),
        rebalance_timeout_ms: member.rebalance_timeout_ms,
        topology_epoch: member.topology_epoch,
        process_id: member.process_id.clone().into(),
        user_endpoint: member.endpoint.as_ref().map(endpoint),
        client_tags: member.tags.iter().map(tag).collect(),
        ..Default::default()
    };
    set(&member_key(group, &member.id), &value, VERSION)
}

pub(super) fn member_tombstone(group: &str, member: &str) -> CoordinatorRecord {
    remove(&member_key(group, member))
}

fn target_metadata_key(group: &str) -> StreamsGroupTargetAssignmentMetadataKey {
    StreamsGroupTargetAssignmentMetadataKey { group_id: group.to_owned().into() }
}

pub(super) fn target_metadata(group: &StreamsGroup) -> CoordinatorRecord {
    let value = StreamsGroupTargetAssignmentMetadataValue {
        assignment_epoch: group.assignment_epoch,
        assignment_timestamp: group.assignment_timestamp,
        ..Default::default()
    };
    set(&target_metadata_key(&group.id), &value, VERSION)
}

pub(super) fn target_metadata_tombstone(group: &str) -> CoordinatorRecord {
    remove(&target_metadata_key(group))
}

fn target_key(group: &str, member: &str) -> StreamsGroupTargetAssignmentMemberKey {
    StreamsGroupTargetAssignmentMemberKey { group_id: group.to_owned().into(), member_id: member.to_owned().into() }
}

pub(super) fn target(group: &str, member: &str, target: &Target) -> CoordinatorRecord {
    let value = StreamsGroupTargetAssignmentMemberValue {
        active_tasks: target_ids(&target.active),
        standby_tasks: target_ids(&target.standby),
        ..Default::default()
    };
    set(&target_key(group, member), &value, VERSION)
}

fn target_ids(tasks: &BTreeSet<Task>) -> Vec<TaskIds> {
    let mut found: BTreeMap<&str, TaskIds> = BTreeMap::new();
    for (id, partition) in tasks {
        let ids = || TaskIds { subtopology_id: id.clone().into(), ..Default::default() };
        found.entry(id).or_insert_with(ids).partitions.push(*partition);
    }
    found.into_values().collect()
}

pub(super) fn target_tombstone(group: &str, member: &str) -> CoordinatorRecord {
    remove(&target_key(group, member))
}

fn current_key(group: &str, member: &str) -> StreamsGroupCurrentMemberAssignmentKey {
    StreamsGroupCurrentMemberAssignmentKey { group_id: group.to_owned().into(), member_id: member.to_owned().into() }
}

pub(super) fn current(group: &str, member: &StreamsMember) -> CoordinatorRecord {
    let value = StreamsGroupCurrentMemberAssignmentValue {
        member_epoch: member.epoch,
        previous_member_epoch: member.previous_epoch,
        state: member.state as i8,
        active_tasks: active_ids(&member.assigned.active),
        standby_tasks: standby_ids(&member.assigned.standby),
        active_tasks_pending_revocation: active_ids(&member.pending.active),
        standby_tasks_pending_revocation: standby_ids(&member.pending.standby),
        ..Default::default()
    };
    set(&current_key(group, &member.id), &value, VERSION)
}

fn active_ids(tasks: &BTreeMap<Task, i32>) -> Vec<CurrentTaskIds> {
    let mut found: BTreeMap<&str, CurrentTaskIds> = BTreeMap::new();
    for ((id, partition), epoch) in tasks {
        let ids = || CurrentTaskIds { subtopology_id: id.clone().into(), ..Default::default() };
        let ids = found.entry(id).or_insert_with(ids);
        ids.partitions.push(*partition);
        ids.assignment_epochs.get_or_insert_default().push(*epoch);
    }
    found.into_values().collect()
}

fn standby_ids(tasks: &BTreeSet<Task>) -> Vec<CurrentTaskIds> {
    let mut found: BTreeMap<&str, CurrentTaskIds> = BTreeMap::new();
    for (id, partition) in tasks {
        let ids = || CurrentTaskIds { subtopology_id: id.clone().into(), ..Default::default() };
        found.entry(id).or_insert_with(ids).partitions.push(*partition);
    }
    found.into_values().collect()
}

pub(super) fn current_tombstone(group: &str, member: &str) -> CoordinatorRecord {
    remove(&current_key(group, member))
}

impl GroupMachine {
    /// Replays a record of a streams group; one of another kind changes nothing.
    ///
    /// # Errors
    /// The record cannot be read.
    pub(in crate::group) fn replay_streams(
        &mut self,
        kind: i16,
        record: &CoordinatorRecord,
    ) -> Result<(), milena_wire::Error> {
        if !self.loading {
            return Ok(());
        }
        let live = record.value.is_some();
        match kind {
            StreamsGroupMetadataKey::TYPE => {
                let id = record.read_key::<StreamsGroupMetadataKey>()?.group_id.to_string();
                if live {
                    let value = record.read_value()?;
                    self.loaded_streams(&id).replay_metadata(value);
                } else {
                    self.streams.remove(&id);
                }
            }
            StreamsGroupTopologyKey::TYPE => {
                let id = record.read_key::<StreamsGroupTopologyKey>()?.group_id.to_string();
                if live {
                    let value = record.read_value()?;
                    self.loaded_streams(&id).topology = Some(Arc::new(value));
                } else if let Some(group) = self.streams.get_mut(&id) {
                    group.topology = None;
                }
            }
            StreamsGroupMemberMetadataKey::TYPE => {
                let key: StreamsGroupMemberMetadataKey = record.read_key()?;
                if live {
                    let value = record.read_value()?;
                    self.loaded_streams(&key.group_id).replay_member(&key.member_id, value);
                } else if let Some(group) = self.streams.get_mut(&*key.group_id) {
                    group.members.remove(&*key.member_id);
                }
            }
            StreamsGroupTargetAssignmentMetadataKey::TYPE => {
                let id = record.read_key::<StreamsGroupTargetAssignmentMetadataKey>()?.group_id.to_string();
                if live {
                    let value: StreamsGroupTargetAssignmentMetadataValue = record.read_value()?;
                    let group = self.loaded_streams(&id);
                    (group.assignment_epoch, group.assignment_timestamp) =
                        (value.assignment_epoch, value.assignment_timestamp);
                } else if let Some(group) = self.streams.get_mut(&id) {
                    (group.assignment_epoch, group.assignment_timestamp) = (0, 0);
                }
            }
            StreamsGroupTargetAssignmentMemberKey::TYPE => {
                let key: StreamsGroupTargetAssignmentMemberKey = record.read_key()?;
                if live {
                    let value: StreamsGroupTargetAssignmentMemberValue = record.read_value()?;
                    let target = Target {
                        active: target_tasks(&value.active_tasks),
                        standby: target_tasks(&value.standby_tasks),
                    };
                    self.loaded_streams(&key.group_id).targets.insert(key.member_id.to_string(), target);
                } else if let Some(group) = self.streams.get_mut(&*key.group_id) {
                    group.targets.remove(&*key.member_id);
                }
            }
            StreamsGroupCurrentMemberAssignmentKey::TYPE => {
                let key: StreamsGroupCurrentMemberAssignmentKey = record.read_key()?;
                if live {
                    let value = record.read_value()?;
                    self.loaded_streams(&key.group_id).replay_current(&key.member_id, &value);
                } else if let Some(member) =
                    self.streams.get_mut(&*key.group_id).and_then(|group| group.members.get_mut(&*key.member_id))
                {
                    (member.epoch, member.previous_epoch) = (super::heartbeat::LEFT, super::heartbeat::LEFT);
                    (member.state, member.assigned, member.pending) =
                        (MemberState::Stable, Owned::default(), Owned::default());
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn loaded_streams(&mut self, id: &str) -> &mut StreamsGroup {
        // Its offsets may come first and make an empty classic group.
        self.groups.remove(id);
        self.streams.entry(id.to_owned()).or_insert_with(|| StreamsGroup::new(id))
    }
}

fn target_tasks(ids: &[TaskIds]) -> BTreeSet<Task> {
    let each = |ids: &TaskIds| {
        let id = ids.subtopology_id.to_string();
        ids.partitions.iter().map(|partition| (id.clone(), *partition)).collect::<Vec<_>>()
    };
    ids.iter().flat_map(each).collect()
}

impl StreamsGroup {
    fn replay_metadata(&mut self, value: StreamsGroupMetadataValue) {
        self.epoch = value.epoch;
        self.metadata_hash = value.metadata_hash;
        self.validated_epoch = value.validated_topology_epoch;
        self.descriptions = (value.stored_description_topology_epoch, value.failed_description_topology_epoch);
        let configs = value.last_assignment_configs.into_iter().flatten();
        self.configs = configs.map(|one| (one.key.to_string(), one.value.to_string())).collect();
    }

    fn replay_member(&mut self, id: &str, value: StreamsGroupMemberMetadataValue) {
        let member = self.members.entry(id.to_owned()).or_insert_with(|| StreamsMember::new(id));
        member.instance_id = value.instance_id.map(|text| text.to_string());
        member.rack_id = value.rack_id.map(|text| text.to_string());
        member.client_id = value.client_id.to_string();
        member.client_host = value.client_host.to_string();
        member.rebalance_timeout_ms = value.rebalance_timeout_ms;
        member.topology_epoch = value.topology_epoch;
        member.process_id = value.process_id.to_string();
        member.endpoint = value.user_endpoint.map(|endpoint| (endpoint.host.to_string(), endpoint.port));
        member.tags = value.client_tags.iter().map(|tag| (tag.key.to_string(), tag.value.to_string())).collect();
    }

    fn replay_current(&mut self, id: &str, value: &StreamsGroupCurrentMemberAssignmentValue) {
        let active = |all: &[CurrentTaskIds]| -> BTreeMap<Task, i32> {
            let each = |ids: &CurrentTaskIds| {
                let epochs = ids.assignment_epochs.clone().unwrap_or_default();
                // Tasks without an epoch count as those of the member's.
                let epochs = epochs.into_iter().chain(std::iter::repeat(value.member_epoch));
                let id = ids.subtopology_id.to_string();
                let task = move |(partition, epoch): (&i32, i32)| ((id.clone(), *partition), epoch);
                ids.partitions.iter().zip(epochs).map(task).collect::<Vec<_>>()
            };
            all.iter().flat_map(each).collect()
        };
        let standby = |all: &[CurrentTaskIds]| active(all).into_keys().collect::<BTreeSet<Task>>();
        let member = self.members.entry(id.to_owned()).or_insert_with(|| StreamsMember::new(id));
        member.epoch = value.member_epoch;
        member.previous_epoch = value.previous_member_epoch;
        member.state = MemberState::from_number(value.state);
        member.assigned = Owned { active: active(&value.active_tasks), standby: standby(&value.standby_tasks) };
        member.pending = Owned {
            active: active(&value.active_tasks_pending_revocation),
            standby: standby(&value.standby_tasks_pending_revocation),
        };
    }
}
