//! What others see of share groups.

use std::collections::BTreeSet;

use milena_messages::Uuid;
use milena_messages::list_groups::response::ListedGroup;
use milena_messages::share_group_describe::response::{Assignment, DescribedGroup, Member, TopicPartitions};

use crate::group::consumer::{Partitions, TopicLookup};
use crate::group::share::{ShareGroup, ShareMember, assignor};

impl ShareGroup {
    /// The group for ListGroups.
    pub(crate) fn listed(&self) -> ListedGroup {
        ListedGroup {
            group_id: self.id.clone().into(),
            protocol_type: "share".into(),
            group_state: self.state_name().into(),
            group_type: "share".into(),
            ..Default::default()
        }
    }

    /// The group for ShareGroupDescribe.
    pub(crate) fn described(&self, topics: &dyn TopicLookup) -> DescribedGroup {
        DescribedGroup {
            group_id: self.id.clone().into(),
            group_state: self.state_name().into(),
            group_epoch: self.epoch,
            assignment_epoch: self.assignment_epoch,
            assignor_name: assignor::NAME.into(),
            members: self.members.values().map(|member| described(member, topics)).collect(),
            ..Default::default()
        }
    }
}

fn described(member: &ShareMember, topics: &dyn TopicLookup) -> Member {
    Member {
        member_id: member.id.clone().into(),
        rack_id: member.rack_id.clone().map(Into::into),
        member_epoch: member.epoch,
        client_id: member.client_id.clone().into(),
        client_host: member.client_host.clone().into(),
        subscribed_topic_names: member.subscribed.iter().map(|name| name.clone().into()).collect(),
        assignment: assignment(&member.assigned, topics),
        ..Default::default()
    }
}

/// Topics that are gone have no name, and are left out.
fn assignment(assigned: &Partitions, topics: &dyn TopicLookup) -> Assignment {
    let topic = |(topic_id, partitions): (&Uuid, &BTreeSet<i32>)| {
        Some(TopicPartitions {
            topic_id: *topic_id,
            topic_name: topics.name(*topic_id)?.into(),
            partitions: partitions.iter().copied().collect(),
            ..Default::default()
        })
    };
    Assignment { topic_partitions: assigned.iter().filter_map(topic).collect(), ..Default::default() }
}
