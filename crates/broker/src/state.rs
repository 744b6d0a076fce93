//! The state of a cluster as plain values, for tests that look at it from outside.

use std::collections::BTreeSet;
use std::sync::Arc;

use milena_messages::consumer_protocol::consumer_protocol_assignment::TopicPartition;
use milena_messages::list_groups::response::ListedGroup;
use milena_messages::{Bytes, ConsumerProtocolAssignment, Message as _, Uuid};

use crate::cluster::{State, Topic, TopicRef};
use crate::group::GroupMachine;
use crate::group::consumer::TopicLookup as _;
use crate::group::share::ShareMember;
use crate::share::ShareKey;
use crate::share::delivery::SharePartition;
use crate::share::state::{ShareMachine, ShareState};
use crate::storage::leadership::NO_LEADER;
use crate::storage::partition::Partition;
use crate::transaction::{Transaction, TransactionMachine};

/// What a cluster holds at one time: a copy, which does not change with the cluster. Parts of it may be some microseconds
/// apart while clients work.
///
/// ```
/// use milena_broker::{Broker, BrokerConfig};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let broker = Broker::start(BrokerConfig::default()).await?;
/// broker.cluster().create_topic("letters", 2, 1)?;
/// let state = broker.state();
/// assert_eq!(state.topic("letters").unwrap().partitions[1].end_offset, 0);
/// assert!(state.groups.is_empty());
/// # Ok::<(), milena_broker::BrokerError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClusterState {
    /// The node that is the controller; `None` while no node is up.
    pub controller: Option<i32>,
    /// All nodes by id, up or not.
    pub nodes: Vec<NodeState>,
    /// All topics by name, those of coordinators included.
    pub topics: Vec<TopicState>,
    /// All groups by id.
    pub groups: Vec<GroupState>,
    /// All transactional ids, in order.
    pub transactions: Vec<TransactionState>,
    /// What share groups have read of partitions, by group, topic and partition.
    pub share_partitions: Vec<SharePartitionState>,
}

impl ClusterState {
    /// The topic with this name.
    pub fn topic(&self, name: &str) -> Option<&TopicState> {
        self.topics.iter().find(|topic| topic.name == name)
    }

    /// The group with this id.
    pub fn group(&self, id: &str) -> Option<&GroupState> {
        self.groups.iter().find(|group| group.id == id)
    }

    /// What a share group has read of a partition.
    pub fn share_partition(&self, group: &str, topic: &str, partition: i32) -> Option<&SharePartitionState> {
        let mut all = self.share_partitions.iter();
        all.find(|one| one.group == group && one.topic == topic && one.partition == partition)
    }

    /// What is known of a transactional id.
    pub fn transaction(&self, id: &str) -> Option<&TransactionState> {
        self.transactions.iter().find(|transaction| transaction.id == id)
    }
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeState {
    /// Its id.
    pub id: i32,
    /// The `host:port` that clients get.
    pub endpoint: String,
    /// Its rack.
    pub rack: Option<String>,
    /// Whether it is up.
    pub is_up: bool,
    /// Whether it is isolated. Such a node is not up for the others.
    pub is_isolated: bool,
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopicState {
    /// Its name.
    pub name: String,
    /// Its id, as Kafka writes ids.
    pub id: String,
    /// Its partitions in their order, from 0.
    pub partitions: Vec<PartitionState>,
}

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionState {
    /// The node that leads; `None` when none does.
    pub leader: Option<i32>,
    /// The leader epoch.
    pub leader_epoch: i32,
    /// The nodes with a replica, the preferred leader first.
    pub replicas: Vec<i32>,
    /// The replicas in sync.
    pub in_sync: Vec<i32>,
    /// The first offset.
    pub start_offset: i64,
    /// The offset that the next record gets.
    pub end_offset: i64,
    /// Bytes of the batches that are there.
    pub size_in_bytes: u64,
    /// Where consumers stop that read committed records only.
    pub last_stable_offset: i64,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupState {
    /// Its id.
    pub id: String,
    /// Its type as ListGroups has it, such as `classic`.
    pub group_type: String,
    /// Its state as ListGroups has it, such as `Stable` or `Empty`.
    pub state: String,
    /// The protocol type, such as `consumer`; empty when no member ever joined.
    pub protocol_type: String,
    /// The protocol that the members agreed on, such as `range`; empty unless the group is stable.
    pub protocol: String,
    /// Its members by id, as DescribeGroups has them.
    pub members: Vec<MemberState>,
    /// Committed offsets, by topic and partition.
    pub offsets: Vec<CommittedOffset>,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberState {
    /// Its id.
    pub id: String,
    /// The id of a static member.
    pub instance_id: Option<String>,
    /// How its client calls itself.
    pub client_id: String,
    /// Its address, with a slash in front, as Kafka writes it.
    pub client_host: String,
    /// What the leader assigned, as bytes; empty unless the group is stable.
    pub assignment: Bytes,
}

impl MemberState {
    /// The topics and partitions in the assignment of a consumer; `None` when the assignment is not one of a consumer.
    pub fn partitions(&self) -> Option<Vec<(String, Vec<i32>)>> {
        // Later versions only add fields at the end, so that the highest known one reads what it knows.
        let version = i16::from_be_bytes(*self.assignment.first_chunk()?);
        let version = version.clamp(0, ConsumerProtocolAssignment::VERSIONS.max());
        let read = ConsumerProtocolAssignment::from_bytes(self.assignment.slice(2..), version).ok()?;
        let topics = read.assigned_partitions.into_iter();
        Some(topics.map(|topic| (topic.topic.to_string(), topic.partitions.iter().copied().collect())).collect())
    }
}

/// An offset that a group committed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommittedOffset {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The offset of the next record to read.
    pub offset: i64,
    /// The leader epoch of the last record read; `None` when the client did not say.
    pub leader_epoch: Option<i32>,
    /// What the client noted.
    pub metadata: String,
}

/// What is known of a transactional id.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransactionState {
    /// The transactional id.
    pub id: String,
    /// Its state as DescribeTransactions has it, such as `Ongoing` or `CompleteCommit`.
    pub state: String,
    /// The id of its producer.
    pub producer_id: i64,
    /// The epoch of its producer.
    pub producer_epoch: i16,
    /// After how many milliseconds an open transaction is aborted.
    pub timeout_ms: i32,
    /// When the transaction began, in milliseconds since 1970; `None` when there is none.
    pub started_at_ms: Option<i64>,
    /// The topics and partitions in the transaction.
    pub partitions: Vec<(String, i32)>,
}

/// What a share group (KIP-932) has read of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharePartitionState {
    /// The group.
    pub group: String,
    /// The name of the topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// All records before this offset are done; `None` before the group has read anything.
    pub start_offset: Option<i64>,
    /// Records that are out with members, in order; none when no node has the partition in memory.
    pub acquired: Vec<AcquiredState>,
}

/// Records of a share group that are out with a member.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AcquiredState {
    /// The first offset.
    pub first_offset: i64,
    /// The last offset, included.
    pub last_offset: i64,
    /// The member that has the records.
    pub member: String,
    /// How often the records were delivered, this time included.
    pub deliveries: i32,
}

impl State {
    /// A copy of everything that tests look at.
    pub(crate) fn snapshot(&self) -> ClusterState {
        let nodes = self.nodes();
        let mut groups = Vec::new();
        let mut transactions = Vec::new();
        let mut share_partitions = Vec::new();
        // Each node shows the coordinators that it runs.
        for node in nodes.iter().filter(|node| node.is_alive()) {
            groups.extend(
                self.groups
                    .each(self, node.id, |machine| groups_of(machine, |topic| self.name(topic)))
                    .into_iter()
                    .flatten(),
            );
            transactions.extend(self.transactions.each(self, node.id, transactions_of).into_iter().flatten());
            share_partitions
                .extend(self.shares.each(self, node.id, |machine| self.shares_of(machine)).into_iter().flatten());
        }
        groups.sort_by(|a, b| a.id.cmp(&b.id));
        transactions.sort_by(|a, b| a.id.cmp(&b.id));
        for led in self.share_leaders.all() {
            let mut all = share_partitions.iter_mut();
            if let Some((_, state)) = all.find(|(key, _)| *key == led.key) {
                led.with(|share| {
                    state.start_offset = Some(share.start_offset());
                    state.acquired = acquired_of(share);
                });
            }
        }
        let mut share_partitions: Vec<SharePartitionState> =
            share_partitions.into_iter().map(|(_, state)| state).collect();
        share_partitions.sort_by(|a, b| (&a.group, &a.topic, a.partition).cmp(&(&b.group, &b.topic, b.partition)));
        ClusterState {
            controller: Some(self.controller()).filter(|node| *node != NO_LEADER),
            nodes: nodes
                .iter()
                .map(|node| NodeState {
                    id: node.id,
                    endpoint: node.endpoint_of(0).to_string(),
                    rack: node.rack.as_ref().map(ToString::to_string),
                    is_up: node.is_alive(),
                    is_isolated: node.is_isolated(),
                })
                .collect(),
            topics: self.topics().iter().map(topic).collect(),
            groups,
            transactions,
            share_partitions,
        }
    }

    /// What the share coordinator keeps, with its keys. Topics that are gone are left out.
    fn shares_of(&self, machine: &ShareMachine) -> Vec<(ShareKey, SharePartitionState)> {
        let state = |(key, known): (&ShareKey, &ShareState)| {
            let state = SharePartitionState {
                group: key.group.clone(),
                topic: self.topic(TopicRef::Id(key.topic))?.name.to_string(),
                partition: key.partition,
                start_offset: Some(known.start_offset).filter(|offset| *offset >= 0),
                acquired: Vec::new(),
            };
            Some((key.clone(), state))
        };
        machine.all().filter_map(state).collect()
    }
}

fn acquired_of(share: &SharePartition) -> Vec<AcquiredState> {
    let mut ranges: Vec<AcquiredState> = Vec::new();
    for (first_offset, last_offset, member, deliveries) in share.acquired() {
        match ranges.last_mut() {
            Some(last)
                if last.last_offset + 1 == first_offset && last.member == member && last.deliveries == deliveries =>
            {
                last.last_offset = last_offset;
            }
            _ => ranges.push(AcquiredState { first_offset, last_offset, member: member.to_owned(), deliveries }),
        }
    }
    ranges
}

fn topic(topic: &Arc<Topic>) -> TopicState {
    let partition = |partition: &Arc<Partition>| {
        partition.with(|inner| PartitionState {
            leader: Some(inner.leadership.leader).filter(|node| *node != NO_LEADER),
            leader_epoch: inner.leadership.epoch,
            replicas: inner.leadership.replicas.clone(),
            in_sync: inner.leadership.in_sync.clone(),
            start_offset: inner.log.start_offset(),
            end_offset: inner.log.end_offset(),
            size_in_bytes: inner.log.size_in_bytes(),
            last_stable_offset: inner.last_stable_offset(),
        })
    };
    TopicState {
        name: topic.name.to_string(),
        id: topic.id.to_string(),
        partitions: topic.partitions().iter().map(partition).collect(),
    }
}

fn groups_of(machine: &GroupMachine, name_of: impl Fn(Uuid) -> Option<String>) -> Vec<GroupState> {
    let group = |listed: ListedGroup| {
        let id = listed.group_id.to_string();
        let described = machine.describe(&id).unwrap_or_default();
        let offsets = machine.offsets.get(&id).into_iter().flat_map(|offsets| offsets.committed());
        let offsets = offsets.map(|(topic, partition, offset)| CommittedOffset {
            topic: topic.to_owned(),
            partition,
            offset: offset.offset,
            leader_epoch: Some(offset.leader_epoch).filter(|epoch| *epoch >= 0),
            metadata: offset.metadata.to_string(),
        });
        let share = machine.share_group(&id).ok().into_iter().flat_map(|group| group.members());
        let share: Vec<MemberState> = share.map(|member| share_member(member, &name_of)).collect();
        let members = described.members.into_iter().map(|member| MemberState {
            id: member.member_id.to_string(),
            instance_id: member.group_instance_id.map(|id| id.to_string()),
            client_id: member.client_id.to_string(),
            client_host: member.client_host.to_string(),
            assignment: member.member_assignment,
        });
        GroupState {
            group_type: listed.group_type.to_string(),
            state: listed.group_state.to_string(),
            protocol_type: listed.protocol_type.to_string(),
            protocol: described.protocol_data.to_string(),
            members: members.chain(share).collect(),
            offsets: offsets.collect(),
            id,
        }
    };
    machine.list().into_iter().map(group).collect()
}

/// A member of a share group. Its assignment is written as that of a consumer.
fn share_member(member: &ShareMember, name_of: &impl Fn(Uuid) -> Option<String>) -> MemberState {
    let topic = |(topic, partitions): (&Uuid, &BTreeSet<i32>)| {
        let partitions = partitions.iter().copied().collect();
        Some(TopicPartition { topic: name_of(*topic)?.into(), partitions })
    };
    let assigned_partitions = member.assigned.iter().filter_map(topic).collect();
    let assignment = ConsumerProtocolAssignment { assigned_partitions, ..Default::default() };
    let mut bytes = vec![0, 0];
    // Version 0 has all of these fields.
    bytes.extend_from_slice(&assignment.to_bytes(0).unwrap_or_default());
    MemberState {
        id: member.id.clone(),
        instance_id: None,
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        assignment: bytes.into(),
    }
}

fn transactions_of(machine: &TransactionMachine) -> Vec<TransactionState> {
    let transaction = |(id, known): (&str, &Transaction)| TransactionState {
        id: id.to_owned(),
        state: known.status.name().to_owned(),
        producer_id: known.producer_id,
        producer_epoch: known.epoch,
        timeout_ms: known.timeout_ms,
        started_at_ms: Some(known.started_at).filter(|time| *time >= 0),
        partitions: known.partitions.iter().cloned().collect(),
    };
    machine.all().map(transaction).collect()
}
