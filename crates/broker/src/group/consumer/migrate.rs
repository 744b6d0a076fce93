//! Groups change their protocol while members live (KIP-848): a classic group becomes a consumer group when the first
//! member of the consumer protocol joins, and a classic one again when the last of them leaves.

use std::collections::BTreeMap;

use milena_messages::{
    Bytes, ConsumerProtocolAssignment, ConsumerProtocolSubscription, ErrorCode, JoinGroupResponse, Message,
    SyncGroupResponse,
};

use crate::coordinator::Effects;
use crate::group::classic::{ClassicGroup, Member, Phase, no_generation};
use crate::group::consumer::heartbeat::hash_of;
use crate::group::consumer::{
    ClassicSide, ConsumerGroup, ConsumerMember, JOIN, Owned, Partitions, Refused, TopicLookup, record, refused,
};
use crate::group::offset::CONSUMER;
use crate::group::{GroupMachine, record as group_record};

/// `group.consumer.migration.policy`: which changes of protocol are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MigrationPolicy {
    Disabled,
    Upgrade,
    Downgrade,
    Bidirectional,
}

impl MigrationPolicy {
    /// The policy of this name, in letters of any case; [`Disabled`](Self::Disabled) for any other.
    pub(crate) fn named(name: &str) -> Self {
        let all = [(Self::Upgrade, "upgrade"), (Self::Downgrade, "downgrade"), (Self::Bidirectional, "bidirectional")];
        all.into_iter().find(|(_, known)| name.eq_ignore_ascii_case(known)).map_or(Self::Disabled, |(policy, _)| policy)
    }

    fn upgrades(self) -> bool {
        matches!(self, Self::Upgrade | Self::Bidirectional)
    }

    fn downgrades(self) -> bool {
        matches!(self, Self::Downgrade | Self::Bidirectional)
    }
}

/// The version in front of a blob of the consumer protocol. Later versions only add fields at the end, so that the highest
/// known one reads what it knows.
fn read<M: Message>(blob: &Bytes) -> Option<M> {
    let version = i16::from_be_bytes(*blob.first_chunk::<2>()?);
    if version < 0 {
        return None;
    }
    M::from_bytes(blob.slice(2..), version.min(M::VERSIONS.max())).ok()
}

/// What a consumer says in JoinGroup; `None` when the bytes are no subscription.
pub(crate) fn subscription(metadata: &Bytes) -> Option<ConsumerProtocolSubscription> {
    read(metadata)
}

/// An assignment as consumers of the classic protocol read it, at the version of their subscription.
pub(super) fn assignment_blob(
    partitions: &Partitions,
    name_of: impl Fn(milena_messages::Uuid) -> Option<String>,
    subscription: &Bytes,
) -> Bytes {
    use milena_messages::consumer_protocol::consumer_protocol_assignment::TopicPartition;
    let topic = |(id, partitions): (&milena_messages::Uuid, &std::collections::BTreeSet<i32>)| {
        let topic = name_of(*id)?.into();
        Some(TopicPartition { topic, partitions: partitions.iter().copied().collect() })
    };
    let assigned_partitions = partitions.iter().filter_map(topic).collect();
    let assignment = ConsumerProtocolAssignment { assigned_partitions, ..Default::default() };
    let version = subscription.first_chunk::<2>().map_or(0, |bytes| i16::from_be_bytes(*bytes));
    let version = version.clamp(0, ConsumerProtocolAssignment::VERSIONS.max());
    let body = assignment.to_bytes(version).unwrap_or_default();
    [&version.to_be_bytes()[..], &body].concat().into()
}

impl GroupMachine {
    /// The consumer group that a first member begins, in place of a classic one if there is one. It takes that place when
    /// the member is in.
    ///
    /// # Errors
    /// The group cannot be one of the consumer protocol.
    pub(super) fn begin_consumer_group(
        &self,
        id: &str,
        member_epoch: i32,
        topics: &dyn TopicLookup,
        effects: &mut Effects<GroupMachine>,
    ) -> Result<ConsumerGroup, Refused> {
        let classic = self.groups.get(id);
        if member_epoch != JOIN {
            let message = match classic {
                Some(_) => format!("Group {id} is not a consumer group."),
                None if self.streams.contains_key(id) || self.is_share_group(id) => {
                    format!("Group {id} is not a consumer group.")
                }
                None => format!("Consumer group {id} not found."),
            };
            return Err(refused(ErrorCode::GROUP_ID_NOT_FOUND, message));
        }
        if self.streams.contains_key(id) || self.is_share_group(id) {
            let message = format!("Group {id} is not a consumer group.");
            return Err(refused(ErrorCode::GROUP_ID_NOT_FOUND, message));
        }
        let Some(classic) = classic else { return Ok(ConsumerGroup::new(id)) };
        effects.record(group_record::group_tombstone(id));
        if classic.is_empty() {
            return Ok(ConsumerGroup::new(id));
        }
        let settings = &self.settings.consumer;
        let why = if !settings.migration.upgrades() {
            "online upgrade is disabled"
        } else if classic.protocol_type() != Some(CONSUMER) {
            "the group does not use the consumer embedded protocol"
        } else if classic.members().count() > settings.max_size {
            "the group size exceeds the consumer group maximum size"
        } else {
            let group = ConsumerGroup::from_classic(classic, topics)?;
            group.write(effects);
            return Ok(group);
        };
        Err(cannot_upgrade(id, why))
    }

    /// The members of a classic group that wait learn that they have to join again, and the group is gone.
    pub(super) fn end_classic_group(&mut self, id: &str, effects: &mut Effects<GroupMachine>) {
        let Some(mut group) = self.groups.remove(id) else { return };
        self.due.remove(id);
        let error_code = ErrorCode::REBALANCE_IN_PROGRESS;
        let ids: Vec<String> = group.members.keys().cloned().collect();
        for id in ids {
            group.complete_join(&id, JoinGroupResponse { error_code, ..no_generation() }, effects);
            group.complete_sync(&id, SyncGroupResponse { error_code, ..Default::default() }, effects);
        }
    }

    /// Whether a consumer group becomes a classic one when these members go.
    pub(super) fn downgrades_without(&self, group: &ConsumerGroup, gone: &[String]) -> bool {
        let rest = || group.members.values().filter(|member| !gone.contains(&member.id));
        let count = rest().count();
        self.settings.consumer.migration.downgrades()
            && count > 0
            && count <= self.settings.max_size
            && rest().all(|member| member.classic.is_some())
    }

    /// Makes a consumer group whose members are all of the classic protocol a classic group.
    pub(super) fn downgrade(&mut self, id: &str, rebalance: bool, now_ms: i64, effects: &mut Effects<GroupMachine>) {
        let Some(group) = self.consumers.remove(id) else { return };
        group.all_tombstones(effects);
        let settings = self.settings.clone();
        let mut classic = group.into_classic(now_ms);
        effects.record(group_record::group(&classic));
        classic.begin_sessions(now_ms);
        if rebalance {
            classic.rebalance(now_ms, &settings, effects);
        }
        self.groups.insert(id.to_owned(), classic);
        self.due.remove(id);
        self.arm(id);
    }
}

fn cannot_upgrade(id: &str, why: &str) -> Refused {
    let message = format!("Cannot upgrade classic group {id} to consumer group because {why}.");
    refused(ErrorCode::GROUP_ID_NOT_FOUND, message)
}

impl ConsumerGroup {
    /// The group with the members, the generation and the assignments of a classic one.
    fn from_classic(classic: &ClassicGroup, topics: &dyn TopicLookup) -> Result<Self, Refused> {
        let generation = classic.generation();
        let mut group = Self::new(classic.id());
        (group.epoch, group.assignment_epoch) = (generation, generation);
        let malformed = || cannot_upgrade(classic.id(), "the embedded consumer protocol is malformed");
        for member in classic.members() {
            let mut target = Partitions::new();
            if !member.assignment.is_empty() {
                let assignment: ConsumerProtocolAssignment = read(&member.assignment).ok_or_else(malformed)?;
                if assignment.user_data.is_some_and(|data| !data.is_empty()) {
                    let why = "an unsupported custom assignor is in use. Please refer to the documentation or switch to \
                               a default assignor before re-attempting the upgrade";
                    return Err(cannot_upgrade(classic.id(), why));
                }
                for topic in &assignment.assigned_partitions {
                    if let Some((id, _)) = topics.find(&topic.topic) {
                        target.insert(id, topic.partitions.iter().copied().collect());
                    }
                }
            }
            // A group that has never agreed on a protocol has no metadata to read.
            let metadata = classic.protocol().and_then(|name| member.metadata(name)).unwrap_or_default();
            let subscription = subscription(&metadata).ok_or_else(malformed)?;
            let owned = target.iter().flat_map(|(id, all)| all.iter().map(|one| ((*id, *one), generation)));
            let member = ConsumerMember {
                instance_id: member.instance_id.clone(),
                rack_id: subscription.rack_id.map(|rack| rack.to_string()).filter(|rack| !rack.is_empty()),
                client_id: member.client_id.clone(),
                client_host: member.client_host.clone(),
                rebalance_timeout_ms: member.rebalance_timeout_ms,
                subscribed: subscription.topics.iter().map(|name| name.to_string()).collect(),
                epoch: generation,
                previous_epoch: generation,
                assigned: owned.collect::<Owned>(),
                classic: Some(ClassicSide {
                    session_timeout_ms: member.session_timeout_ms,
                    protocols: member.protocols.clone(),
                }),
                ..ConsumerMember::new(&member.id)
            };
            group.targets.insert(member.id.clone(), target);
            group.members.insert(member.id.clone(), member);
        }
        group.known = group.look_at(topics);
        group.known_version = Some(topics.version());
        group.metadata_hash = hash_of(&group.known);
        Ok(group)
    }

    /// The records of the whole group.
    fn write(&self, effects: &mut Effects<GroupMachine>) {
        self.members.values().for_each(|member| effects.record(record::member(&self.id, member)));
        effects.record(record::group(self));
        self.targets.iter().for_each(|(id, target)| effects.record(record::target(&self.id, id, target)));
        effects.record(record::target_metadata(self));
        self.members.values().for_each(|member| effects.record(record::current(&self.id, member)));
    }

    /// The sessions of members that came from a classic group.
    pub(super) fn begin_classic_sessions(&mut self, now_ms: i64) {
        let classic = self.members.values().filter_map(|member| Some((&member.id, member.classic.as_ref()?)));
        for (id, side) in classic {
            let timers = self.timers.entry(id.clone()).or_default();
            timers.session = Some(now_ms + i64::from(side.session_timeout_ms));
        }
    }

    /// The stable classic group with the same members.
    fn into_classic(self, now_ms: i64) -> ClassicGroup {
        let names: BTreeMap<_, _> =
            self.known.iter().filter_map(|(name, topic)| Some((topic.as_ref()?.0, name.clone()))).collect();
        let mut classic = ClassicGroup::new(self.id.clone(), now_ms);
        (classic.phase, classic.previous) = (Phase::Stable, Phase::Stable);
        classic.generation = self.epoch;
        classic.protocol_type = Some(CONSUMER.to_owned());
        for member in self.members.into_values() {
            let Some(side) = member.classic else { continue };
            if let Some(instance_id) = &member.instance_id {
                classic.statics.insert(instance_id.clone(), member.id.clone());
            }
            classic.leader.get_or_insert_with(|| member.id.clone());
            classic.insert(Member {
                id: member.id,
                instance_id: member.instance_id,
                client_id: member.client_id,
                client_host: member.client_host,
                session_timeout_ms: side.session_timeout_ms,
                rebalance_timeout_ms: member.rebalance_timeout_ms,
                protocols: side.protocols,
                assignment: Bytes::new(),
                joining: None,
                syncing: None,
                is_new: false,
            });
        }
        classic.protocol = classic.select_protocol();
        let protocol = classic.protocol.clone().unwrap_or_default();
        for member in classic.members.values_mut() {
            let target = self.targets.get(&member.id).cloned().unwrap_or_default();
            let metadata = member.metadata(&protocol).unwrap_or_default();
            member.assignment = assignment_blob(&target, |id| names.get(&id).cloned(), &metadata);
        }
        classic
    }
}
