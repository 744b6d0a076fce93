//! What others see of consumer groups.

use std::collections::BTreeMap;

use milena_messages::Uuid;
use milena_messages::consumer_group_describe::response::{Assignment, DescribedGroup, Member, TopicPartitions};
use milena_messages::list_groups::response::ListedGroup;

use crate::group::consumer::{ConsumerGroup, ConsumerMember, TopicLookup};

/// The type of a member of the classic protocol.
const CLASSIC_MEMBER: i8 = 0;
/// The type of a member of the consumer protocol.
const CONSUMER_MEMBER: i8 = 1;

impl ConsumerGroup {
    /// The group for ListGroups.
    pub(crate) fn listed(&self) -> ListedGroup {
        ListedGroup {
            group_id: self.id.clone().into(),
            protocol_type: "consumer".into(),
            group_state: self.state_name().into(),
            group_type: "consumer".into(),
            ..Default::default()
        }
    }

    /// The group for ConsumerGroupDescribe.
    pub(crate) fn described(&self, topics: &dyn TopicLookup) -> DescribedGroup {
        DescribedGroup {
            group_id: self.id.clone().into(),
            group_state: self.state_name().into(),
            group_epoch: self.epoch,
            assignment_epoch: self.assignment_epoch,
            assignor_name: self.assignor().name().into(),
            members: self.members.values().map(|member| self.described_member(member, topics)).collect(),
            ..Default::default()
        }
    }

    fn described_member(&self, member: &ConsumerMember, topics: &dyn TopicLookup) -> Member {
        let optional = |text: &Option<String>| text.clone().map(Into::into);
        let target = self.target(&member.id);
        let target = target.iter().flat_map(|(topic, all)| all.iter().map(|partition| (*topic, *partition)));
        // What it has to give up is still its own.
        let mut owned: Vec<(Uuid, i32)> =
            member.assigned.keys().chain(member.pending_revocation.keys()).copied().collect();
        owned.sort_unstable();
        Member {
            member_id: member.id.clone().into(),
            instance_id: optional(&member.instance_id),
            rack_id: optional(&member.rack_id),
            member_epoch: member.epoch,
            client_id: member.client_id.clone().into(),
            client_host: member.client_host.clone().into(),
            subscribed_topic_names: member.subscribed.iter().map(|name| name.clone().into()).collect(),
            subscribed_topic_regex: Some(member.regex.clone().into()),
            assignment: assignment(owned, topics),
            target_assignment: assignment(target, topics),
            member_type: if member.classic.is_some() { CLASSIC_MEMBER } else { CONSUMER_MEMBER },
            ..Default::default()
        }
    }
}

/// Topics that are gone have no name, and are left out.
fn assignment(places: impl IntoIterator<Item = (Uuid, i32)>, topics: &dyn TopicLookup) -> Assignment {
    let mut found: BTreeMap<Uuid, TopicPartitions> = BTreeMap::new();
    for (topic_id, partition) in places {
        let Some(name) = topics.name(topic_id) else { continue };
        let topic = found.entry(topic_id).or_insert_with(|| TopicPartitions {
            topic_id,
            topic_name: name.into(),
            ..Default::default()
        });
        topic.partitions.push(partition);
    }
    Assignment { topic_partitions: found.into_values().collect(), ..Default::default() }
}
