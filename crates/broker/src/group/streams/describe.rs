//! What others see of streams groups.

use std::collections::BTreeMap;

use milena_messages::StreamsGroupTopologyValue;
use milena_messages::group_coordinator::streams_group_topology_value::{
    Subtopology as StoredPart, TopicInfo as StoredInfo,
};
use milena_messages::list_groups::response::ListedGroup;
use milena_messages::streams_group_describe::response::{
    Assignment, DescribedGroup, Endpoint, KeyValue, Member, Subtopology, TaskIds, TaskOffset, TopicInfo, Topology,
};

use crate::group::streams::topology::Configured;
use crate::group::streams::{ASSIGNOR, Offsets, StreamsGroup, StreamsMember, Task};

impl StreamsGroup {
    /// The group for ListGroups.
    pub(crate) fn listed(&self) -> ListedGroup {
        ListedGroup {
            group_id: self.id.clone().into(),
            protocol_type: "streams".into(),
            group_state: self.state_name().into(),
            group_type: "streams".into(),
            ..Default::default()
        }
    }

    /// The group for StreamsGroupDescribe.
    pub(crate) fn described(&self) -> DescribedGroup {
        let configured = self.configured.as_deref().filter(|configured| configured.is_ready());
        DescribedGroup {
            group_id: self.id.clone().into(),
            group_state: self.state_name().into(),
            group_epoch: self.epoch,
            assignment_epoch: self.assignment_epoch,
            topology: self.topology.as_deref().map(|topology| described(topology, configured)),
            members: self.members.values().map(|member| self.described_member(member)).collect(),
            assignor_name: Some(ASSIGNOR.into()),
            ..Default::default()
        }
    }

    fn described_member(&self, member: &StreamsMember) -> Member {
        let optional = |text: &Option<String>| text.clone().map(Into::into);
        let endpoint =
            |(host, port): &(String, u16)| Endpoint { host: host.clone().into(), port: *port, ..Default::default() };
        let target = self.target(&member.id);
        let offsets = self.offsets.get(&member.id).cloned().unwrap_or_default();
        let Offsets { reached, end } = &offsets;
        let tag = |(key, value): (&String, &String)| pair(key, value);
        Member {
            member_id: member.id.clone().into(),
            member_epoch: member.epoch,
            instance_id: optional(&member.instance_id),
            rack_id: optional(&member.rack_id),
            client_id: member.client_id.clone().into(),
            client_host: member.client_host.clone().into(),
            topology_epoch: member.topology_epoch,
            process_id: member.process_id.clone().into(),
            user_endpoint: member.endpoint.as_ref().map(endpoint),
            client_tags: member.tags.iter().map(tag).collect(),
            task_offsets: task_offsets(reached),
            task_end_offsets: task_offsets(end),
            assignment: Assignment {
                active_tasks: task_ids(member.assigned.active.keys()),
                standby_tasks: task_ids(&member.assigned.standby),
                ..Default::default()
            },
            target_assignment: Assignment {
                active_tasks: task_ids(&target.active),
                standby_tasks: task_ids(&target.standby),
                ..Default::default()
            },
            ..Default::default()
        }
    }
}

/// A topology, with the numbers of partitions that were decided when all topics are there.
fn described(topology: &StreamsGroupTopologyValue, configured: Option<&Configured>) -> Topology {
    let sorted = |names: &[milena_messages::ByteString]| {
        let mut names = names.to_vec();
        names.sort();
        names
    };
    let part = |part: &StoredPart| {
        let decided = configured.and_then(|all| all.subtopologies.as_ref()?.get(&*part.subtopology_id));
        let info = |info: &StoredInfo| TopicInfo {
            name: info.name.clone(),
            partitions: decided.and_then(|part| part.decided.get(&*info.name)).copied().unwrap_or(info.partitions),
            replication_factor: info.replication_factor,
            topic_configs: info.topic_configs.iter().map(|one| pair(&one.key, &one.value)).collect(),
            ..Default::default()
        };
        let infos = |all: &[StoredInfo]| {
            let mut all: Vec<TopicInfo> = all.iter().map(info).collect();
            all.sort_by(|a, b| a.name.cmp(&b.name));
            all
        };
        Subtopology {
            subtopology_id: part.subtopology_id.clone(),
            source_topics: sorted(&part.source_topics),
            repartition_sink_topics: sorted(&part.repartition_sink_topics),
            state_changelog_topics: infos(&part.state_changelog_topics),
            repartition_source_topics: infos(&part.repartition_source_topics),
            ..Default::default()
        }
    };
    Topology {
        epoch: topology.epoch,
        subtopologies: Some(topology.subtopologies.iter().map(part).collect()),
        ..Default::default()
    }
}

fn pair(key: &str, value: &str) -> KeyValue {
    KeyValue { key: key.to_owned().into(), value: value.to_owned().into(), ..Default::default() }
}

fn task_offsets(offsets: &BTreeMap<Task, i64>) -> Vec<TaskOffset> {
    let one = |((id, partition), offset): (&Task, &i64)| TaskOffset {
        subtopology_id: id.clone().into(),
        partition: *partition,
        offset: *offset,
        ..Default::default()
    };
    offsets.iter().map(one).collect()
}

fn task_ids<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Vec<TaskIds> {
    let mut found: BTreeMap<&str, TaskIds> = BTreeMap::new();
    for (id, partition) in tasks {
        let ids = || TaskIds { subtopology_id: id.clone().into(), ..Default::default() };
        found.entry(id).or_insert_with(ids).partitions.push(*partition);
    }
    found.into_values().collect()
}
