//! Groups whose members change from the classic protocol to the consumer protocol and back, while they live (KIP-848).

use std::time::Duration;

use milena_client::{Client, CoordinatorKind, NewTopic, Target as To};
use milena_messages::consumer_protocol::{consumer_protocol_assignment, consumer_protocol_subscription};
use milena_messages::join_group::request::JoinGroupRequestProtocol;
use milena_messages::leave_group::request::MemberIdentity;
use milena_messages::sync_group::request::SyncGroupRequestAssignment;
use milena_messages::{
    Bytes, ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse,
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, DescribeGroupsRequest, ErrorCode, HeartbeatRequest,
    JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, ListGroupsRequest, Message as _, SyncGroupRequest,
    SyncGroupResponse, Uuid,
};

use super::common::same;
use super::{Failure, Outcome, Target};

/// How often something is looked at that comes by itself.
const AGAIN_AFTER: Duration = Duration::from_millis(50);
const BLOB_VERSION: i16 = 1;

/// A group that reads one topic of four partitions.
struct Group {
    client: Client,
    id: String,
}

impl Group {
    async fn new(target: &Target) -> Result<Self, Failure> {
        let client = target.client().await?;
        client.create_topic(NewTopic::new(target.prefix.clone(), 4, 1)).await?;
        Ok(Self { client, id: target.prefix.clone() })
    }

    fn to(&self) -> To {
        To::Coordinator { kind: CoordinatorKind::Group, key: self.id.clone() }
    }

    fn blob(&self, message: &impl milena_messages::Message) -> Result<Bytes, Failure> {
        Ok([&BLOB_VERSION.to_be_bytes()[..], &message.to_bytes(BLOB_VERSION)?].concat().into())
    }

    fn subscription(&self, owned: &[i32]) -> Result<Bytes, Failure> {
        let topic = self.id.clone().into();
        let owned =
            consumer_protocol_subscription::TopicPartition { topic, partitions: owned.iter().copied().collect() };
        let said = ConsumerProtocolSubscription {
            topics: vec![self.id.clone().into()],
            owned_partitions: vec![owned],
            ..Default::default()
        };
        self.blob(&said)
    }

    fn assignment(&self, partitions: &[i32]) -> Result<Bytes, Failure> {
        let topic = self.id.clone().into();
        let topic =
            consumer_protocol_assignment::TopicPartition { topic, partitions: partitions.iter().copied().collect() };
        let assignment = ConsumerProtocolAssignment { assigned_partitions: vec![topic], ..Default::default() };
        self.blob(&assignment)
    }

    async fn join(&self, member: &str, owned: &[i32]) -> Result<JoinGroupResponse, Failure> {
        let metadata = self.subscription(owned)?;
        let request = JoinGroupRequest {
            group_id: self.id.clone().into(),
            session_timeout_ms: 10_000,
            rebalance_timeout_ms: 30_000,
            member_id: member.to_owned().into(),
            protocol_type: "consumer".into(),
            protocols: vec![JoinGroupRequestProtocol { name: "range".into(), metadata, ..Default::default() }],
            ..Default::default()
        };
        Ok(self.client.send_at(self.to(), &request, 9).await?)
    }

    async fn sync(&self, member: &str, generation_id: i32, all: Option<&[i32]>) -> Result<SyncGroupResponse, Failure> {
        let mut request = SyncGroupRequest {
            group_id: self.id.clone().into(),
            generation_id,
            member_id: member.to_owned().into(),
            protocol_type: Some("consumer".into()),
            protocol_name: Some("range".into()),
            ..Default::default()
        };
        if let Some(all) = all {
            let (member_id, assignment) = (member.to_owned().into(), self.assignment(all)?);
            request.assignments = vec![SyncGroupRequestAssignment { member_id, assignment, ..Default::default() }];
        }
        Ok(self.client.send_at(self.to(), &request, 5).await?)
    }

    async fn beat(&self, member: &str, generation_id: i32) -> Result<ErrorCode, Failure> {
        let request = HeartbeatRequest {
            group_id: self.id.clone().into(),
            generation_id,
            member_id: member.to_owned().into(),
            ..Default::default()
        };
        Ok(self.client.send_at(self.to(), &request, 4).await?.error_code)
    }

    /// Sends heartbeats until one has this code.
    async fn beat_until(&self, member: &str, generation_id: i32, code: ErrorCode) -> Outcome {
        while self.beat(member, generation_id).await? != code {
            tokio::time::sleep(AGAIN_AFTER).await;
        }
        Ok(())
    }

    async fn heartbeat(
        &self,
        member: &str,
        member_epoch: i32,
        owned: Option<(Uuid, &[i32])>,
    ) -> Result<ConsumerGroupHeartbeatResponse, Failure> {
        let is_first = member_epoch == 0;
        let owned = owned.map(|(topic_id, partitions)| {
            use milena_messages::consumer_group_heartbeat::request::TopicPartitions;
            let partitions = partitions.iter().copied().collect();
            vec![TopicPartitions { topic_id, partitions, ..Default::default() }]
        });
        let request = ConsumerGroupHeartbeatRequest {
            group_id: self.id.clone().into(),
            member_id: member.to_owned().into(),
            member_epoch,
            rebalance_timeout_ms: if is_first { 30_000 } else { -1 },
            subscribed_topic_names: is_first.then(|| vec![self.id.clone().into()]),
            topic_partitions: if is_first { Some(Vec::new()) } else { owned },
            ..Default::default()
        };
        Ok(self.client.send_at(self.to(), &request, 1).await?)
    }

    async fn group_type(&self) -> Result<String, Failure> {
        let listed = self.client.send_at(self.to(), &ListGroupsRequest::default(), 5).await?;
        let own = listed.groups.into_iter().find(|group| *group.group_id == *self.id);
        Ok(own.ok_or("the group is not listed")?.group_type.to_string())
    }
}

fn partitions(response: &SyncGroupResponse) -> Result<Vec<i32>, Failure> {
    response.error_code.ok()?;
    let assignment = ConsumerProtocolAssignment::from_bytes(response.assignment.slice(2..), BLOB_VERSION)?;
    let mut all: Vec<i32> = assignment.assigned_partitions.iter().flat_map(|one| one.partitions.to_vec()).collect();
    all.sort_unstable();
    Ok(all)
}

pub(super) async fn a_live_classic_group_becomes_a_consumer_group_and_back(target: Target) -> Outcome {
    let group = Group::new(&target).await?;
    // A classic group of one member.
    let member = group.join("", &[]).await?.member_id.to_string();
    let joined = group.join(&member, &[]).await?;
    same("the first generation", (joined.error_code, joined.generation_id), (ErrorCode::NONE, 1))?;
    group.sync(&member, 1, Some(&[0, 1, 2, 3])).await?;
    same("the type before", &*group.group_type().await?, "classic")?;

    // A member of the consumer protocol joins: nothing is free yet.
    let first = group.heartbeat("C", 0, None).await?;
    same("the first heartbeat", (first.error_code, first.member_epoch), (ErrorCode::NONE, 2))?;
    same("the type then", &*group.group_type().await?, "consumer")?;
    let request = DescribeGroupsRequest { groups: vec![group.id.clone().into()], ..Default::default() };
    let described = group.client.send_at(group.to(), &request, 6).await?;
    same("DescribeGroups", described.groups[0].error_code, ErrorCode::GROUP_ID_NOT_FOUND)?;
    let request = ConsumerGroupDescribeRequest { group_ids: vec![group.id.clone().into()], ..Default::default() };
    let described = group.client.send_at(group.to(), &request, 1).await?;
    let mut types: Vec<i8> = described.groups[0].members.iter().map(|member| member.member_type).collect();
    types.sort_unstable();
    same("types of members", types, vec![0, 1])?;
    same("state", &*described.groups[0].group_state, "Reconciling")?;

    // The classic member gives up its half, in two rounds.
    same("its heartbeat", group.beat(&member, 1).await?, ErrorCode::REBALANCE_IN_PROGRESS)?;
    let joined = group.join(&member, &[0, 1, 2, 3]).await?;
    let found = (joined.error_code, joined.generation_id, &*joined.leader, joined.protocol_name.as_deref());
    same("its first JoinGroup", found, (ErrorCode::NONE, 1, "", Some("range")))?;
    let kept = partitions(&group.sync(&member, 1, None).await?)?;
    same("what it keeps", kept.len(), 2)?;
    same("its heartbeat", group.beat(&member, 1).await?, ErrorCode::REBALANCE_IN_PROGRESS)?;
    let joined = group.join(&member, &kept).await?;
    same("its second JoinGroup", (joined.error_code, joined.generation_id), (ErrorCode::NONE, 2))?;
    same("what it has", partitions(&group.sync(&member, 2, None).await?)?, kept.clone())?;
    same("an old generation", group.beat(&member, 1).await?, ErrorCode::ILLEGAL_GENERATION)?;
    same("its heartbeat", group.beat(&member, 2).await?, ErrorCode::NONE)?;
    same("that of a consumer", group.beat("C", 2).await?, ErrorCode::UNKNOWN_MEMBER_ID)?;
    let got = group.heartbeat("C", 2, None).await?.assignment.ok_or("the consumer gets nothing")?;
    same("what the consumer has", got.topic_partitions[0].partitions.len(), 2)?;

    // The member of the consumer protocol leaves: the group is classic again, and rebalances.
    group.heartbeat("C", -1, None).await?;
    same("the type after", &*group.group_type().await?, "classic")?;
    // The group's epoch at that time is its generation.
    same("its heartbeat", group.beat(&member, 2).await?, ErrorCode::REBALANCE_IN_PROGRESS)?;
    let joined = group.join(&member, &kept).await?;
    same("the generation after", (joined.error_code, joined.generation_id), (ErrorCode::NONE, 3))?;
    same("the leader after", &*joined.leader, &*member)?;
    same("its members", joined.members.len(), 1)
}

pub(super) async fn a_classic_member_joins_and_leaves_a_consumer_group(target: Target) -> Outcome {
    let group = Group::new(&target).await?;
    // Kafka's coordinator hears of the topic a little later.
    let mut response = group.heartbeat("C", 0, None).await?;
    let mut topic_id = None;
    while topic_id.is_none() {
        response.error_code.ok()?;
        topic_id = response.assignment.and_then(|all| Some(all.topic_partitions.first()?.topic_id));
        tokio::time::sleep(AGAIN_AFTER).await;
        response = group.heartbeat("C", response.member_epoch, None).await?;
    }
    let topic_id = topic_id.unwrap_or_default();
    let asked = group.join("", &[]).await?;
    same("without an id", asked.error_code, ErrorCode::MEMBER_ID_REQUIRED)?;
    let member = asked.member_id.to_string();
    let joined = group.join(&member, &[]).await?;
    joined.error_code.ok()?;
    same("its assignment at first", partitions(&group.sync(&member, joined.generation_id, None).await?)?, vec![])?;
    // Kafka computes an assignment at most once a second.
    let mut epoch = response.member_epoch;
    let mut kept: Option<Vec<i32>> = None;
    while kept.is_none() {
        let response = group.heartbeat("C", epoch, None).await?;
        response.error_code.ok()?;
        epoch = response.member_epoch;
        kept = response.assignment.and_then(|all| Some(all.topic_partitions.first()?.partitions.to_vec()));
        tokio::time::sleep(AGAIN_AFTER).await;
    }
    let kept = kept.unwrap_or_default();
    same("what the consumer keeps", kept.len(), 2)?;
    group.heartbeat("C", epoch, Some((topic_id, &kept))).await?.error_code.ok()?;
    group.beat_until(&member, joined.generation_id, ErrorCode::REBALANCE_IN_PROGRESS).await?;
    let again = group.join(&member, &[]).await?;
    again.error_code.ok()?;
    let has = partitions(&group.sync(&member, again.generation_id, None).await?)?;
    same("what the classic member has", has.len(), 2)?;
    let leaving = MemberIdentity { member_id: member.clone().into(), ..Default::default() };
    let request = LeaveGroupRequest {
        group_id: group.id.clone().into(),
        members: vec![leaving.clone(), leaving],
        ..Default::default()
    };
    let left = group.client.send_at(group.to(), &request, 5).await?;
    let codes: Vec<ErrorCode> = left.members.iter().map(|member| member.error_code).collect();
    same("LeaveGroup", codes, vec![ErrorCode::NONE, ErrorCode::NONE])?;
    same("a member that left", group.beat(&member, again.generation_id).await?, ErrorCode::UNKNOWN_MEMBER_ID)?;
    same("the type", &*group.group_type().await?, "consumer")
}

pub(super) async fn a_group_of_another_protocol_type_does_not_become_a_consumer_group(target: Target) -> Outcome {
    let group = Group::new(&target).await?;
    let join = |member: String| {
        let metadata = Bytes::from_static(b"\0\0");
        let request = JoinGroupRequest {
            group_id: group.id.clone().into(),
            session_timeout_ms: 10_000,
            rebalance_timeout_ms: 30_000,
            member_id: member.into(),
            protocol_type: "connect".into(),
            protocols: vec![JoinGroupRequestProtocol { name: "x".into(), metadata, ..Default::default() }],
            ..Default::default()
        };
        async { Ok::<_, Failure>(group.client.send_at(group.to(), &{ request }, 9).await?) }
    };
    let member = join(String::new()).await?.member_id.to_string();
    join(member).await?.error_code.ok()?;
    let refused = group.heartbeat("C", 0, None).await?;
    same("the code", refused.error_code, ErrorCode::GROUP_ID_NOT_FOUND)?;
    let message = format!(
        "Cannot upgrade classic group {} to consumer group because the group does not use the consumer embedded protocol.",
        group.id
    );
    same("the message", refused.error_message.as_deref(), Some(&*message))
}
