//! Groups of Kafka Streams applications (KIP-1071), heartbeat by heartbeat.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use milena_client::{Client, CoordinatorKind, NewTopic, Target as To};
use milena_messages::incremental_alter_configs::request::{AlterConfigsResource, AlterableConfig};
use milena_messages::streams_group_heartbeat::request::{Subtopology, TaskIds, TopicInfo, Topology};
use milena_messages::{
    ConsumerGroupHeartbeatRequest, DeleteGroupsRequest, ErrorCode, IncrementalAlterConfigsRequest, ListGroupsRequest,
    MetadataRequest, StreamsGroupDescribeRequest, StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse,
};

use super::common::{holds, same};
use super::{Failure, Outcome, Target};

/// How often something is looked at that comes by itself.
const AGAIN_AFTER: Duration = Duration::from_millis(50);
/// The type of resource of groups.
const GROUP: i8 = 32;

/// A task: subtopology and partition.
type Task = (String, i32);

/// An application that counts words: it reads a topic, regroups, and keeps counts.
struct Application {
    client: Client,
    id: String,
}

/// A member, and what it has.
struct Member {
    id: String,
    epoch: i32,
    active: BTreeSet<Task>,
    standby: BTreeSet<Task>,
}

fn tasks(ids: &[milena_messages::streams_group_heartbeat::response::TaskIds]) -> BTreeSet<Task> {
    let each = |ids: &milena_messages::streams_group_heartbeat::response::TaskIds| {
        let id = ids.subtopology_id.to_string();
        ids.partitions.iter().map(|partition| (id.clone(), *partition)).collect::<Vec<_>>()
    };
    ids.iter().flat_map(each).collect()
}

impl Application {
    async fn new(target: &Target) -> Result<Self, Failure> {
        Ok(Self { client: target.client().await?, id: target.prefix.clone() })
    }

    fn to(&self) -> To {
        To::Coordinator { kind: CoordinatorKind::Group, key: self.id.clone() }
    }

    /// Sets a setting of the group.
    async fn set(&self, name: &'static str, value: &'static str) -> Outcome {
        let config = AlterableConfig { name: name.into(), value: Some(value.into()), ..Default::default() };
        let resource = AlterConfigsResource {
            resource_type: GROUP,
            resource_name: self.id.clone().into(),
            configs: vec![config],
            ..Default::default()
        };
        let request = IncrementalAlterConfigsRequest { resources: vec![resource], ..Default::default() };
        let response = self.client.send_at(To::Any, &request, 1).await?;
        Ok(response.responses[0].error_code.ok()?)
    }

    fn topic(&self, name: &str) -> String {
        format!("{}-{name}", self.id)
    }

    fn topology(&self) -> Topology {
        let info = |name: &str| TopicInfo { name: self.topic(name).into(), ..Default::default() };
        let first = Subtopology {
            subtopology_id: "0".into(),
            source_topics: vec![self.topic("in").into()],
            repartition_sink_topics: vec![self.topic("re").into()],
            ..Default::default()
        };
        let second = Subtopology {
            subtopology_id: "1".into(),
            repartition_source_topics: vec![info("re")],
            state_changelog_topics: vec![info("log")],
            ..Default::default()
        };
        Topology { epoch: 0, subtopologies: vec![first, second], ..Default::default() }
    }

    fn joining(&self, member: &str) -> StreamsGroupHeartbeatRequest {
        StreamsGroupHeartbeatRequest {
            group_id: self.id.clone().into(),
            member_id: member.to_owned().into(),
            rebalance_timeout_ms: 30_000,
            topology: Some(self.topology()),
            process_id: Some(format!("process of {member}").into()),
            active_tasks: Some(Vec::new()),
            standby_tasks: Some(Vec::new()),
            warmup_tasks: Some(Vec::new()),
            ..Default::default()
        }
    }

    /// Sends a request, whose response may be an error.
    async fn send(&self, request: &StreamsGroupHeartbeatRequest) -> Result<StreamsGroupHeartbeatResponse, Failure> {
        Ok(self.client.send_at(self.to(), request, 1).await?)
    }

    async fn join(&self, member: &str) -> Result<(Member, StreamsGroupHeartbeatResponse), Failure> {
        let response = self.send(&self.joining(member)).await?;
        response.error_code.ok()?;
        let id = member.to_owned();
        let mut joined = Member { id, epoch: 0, active: BTreeSet::new(), standby: BTreeSet::new() };
        joined.heard(&response);
        Ok((joined, response))
    }

    /// A heartbeat of a member that does at once what it learns.
    async fn beat(&self, member: &mut Member) -> Result<StreamsGroupHeartbeatResponse, Failure> {
        let ids = |tasks: &BTreeSet<Task>| -> Vec<TaskIds> {
            let mut found: BTreeMap<&str, TaskIds> = BTreeMap::new();
            for (id, partition) in tasks {
                let ids = || TaskIds { subtopology_id: id.clone().into(), ..Default::default() };
                found.entry(id).or_insert_with(ids).partitions.push(*partition);
            }
            found.into_values().collect()
        };
        let request = StreamsGroupHeartbeatRequest {
            group_id: self.id.clone().into(),
            member_id: member.id.clone().into(),
            member_epoch: member.epoch,
            rebalance_timeout_ms: -1,
            active_tasks: Some(ids(&member.active)),
            standby_tasks: Some(ids(&member.standby)),
            warmup_tasks: Some(Vec::new()),
            ..Default::default()
        };
        let response = self.send(&request).await?;
        response.error_code.ok()?;
        member.heard(&response);
        Ok(response)
    }

    /// Sends heartbeats of all members until they have that many tasks, active ones and copies.
    async fn beat_until(&self, members: &mut [&mut Member], wanted: &[(usize, usize)]) -> Outcome {
        loop {
            for member in members.iter_mut() {
                self.beat(member).await?;
            }
            let has: Vec<_> = members.iter().map(|member| (member.active.len(), member.standby.len())).collect();
            if has == wanted {
                return Ok(());
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }
}

impl Member {
    fn heard(&mut self, response: &StreamsGroupHeartbeatResponse) {
        self.epoch = response.member_epoch;
        if let Some(ids) = &response.active_tasks {
            self.active = tasks(ids);
        }
        if let Some(ids) = &response.standby_tasks {
            self.standby = tasks(ids);
        }
    }
}

fn status(response: &StreamsGroupHeartbeatResponse) -> Vec<(i8, &str)> {
    response.status.iter().flatten().map(|status| (status.status_code, &*status.status_detail)).collect()
}

pub(super) async fn members_of_a_streams_group_share_tasks_and_get_their_internal_topics(target: Target) -> Outcome {
    let app = Application::new(&target).await?;
    app.set("streams.initial.rebalance.delay.ms", "0").await?;
    let (mut first, response) = app.join("A").await?;
    let missing = format!("Source topics {} are missing.", app.topic("in"));
    same("status without the source topic", status(&response), vec![(1, &*missing)])?;
    same("tasks without the source topic", first.active.len(), 0)?;
    let request = StreamsGroupDescribeRequest { group_ids: vec![app.id.clone().into()], ..Default::default() };
    let described = app.client.send_at(app.to(), &request, 1).await?;
    same("the state then", &*described.groups[0].group_state, "NotReady")?;

    app.client.create_topic(NewTopic::new(app.topic("in"), 2, 1)).await?;
    app.beat_until(&mut [&mut first], &[(4, 0)]).await?;
    let request = MetadataRequest { topics: None, ..Default::default() };
    let found = app.client.send_at(To::Any, &request, 12).await?;
    for name in ["re", "log"] {
        let topic = found.topics.iter().find(|topic| topic.name.as_deref() == Some(&*app.topic(name)));
        same(name, topic.map(|topic| topic.partitions.len()), Some(2))?;
    }

    let (mut second, _) = app.join("B").await?;
    same("the second member begins without tasks", second.active.len(), 0)?;
    app.beat_until(&mut [&mut first, &mut second], &[(2, 0), (2, 0)]).await?;
    holds("no task is at both", first.active.is_disjoint(&second.active))?;
    let described = app.client.send_at(app.to(), &request_describe(&app), 1).await?.groups.remove(0);
    same("state", (&*described.group_state, described.assignor_name.as_deref()), ("Stable", Some("sticky")))?;
    same("epochs", described.group_epoch, described.assignment_epoch)?;
    let parts = described.topology.and_then(|topology| topology.subtopologies).ok_or("no topology")?;
    same("the size of the repartition topic", parts[1].repartition_source_topics[0].partitions, 2)?;
    let listed = app.client.send_at(app.to(), &ListGroupsRequest::default(), 5).await?;
    let own = listed.groups.iter().find(|group| *group.group_id == *app.id).ok_or("not listed")?;
    same("type", (&*own.group_type, &*own.protocol_type), ("streams", "streams"))?;

    // Copies of the tasks with state.
    app.set("streams.num.standby.replicas", "1").await?;
    app.beat_until(&mut [&mut first, &mut second], &[(2, 1), (2, 1)]).await?;
    let leave = StreamsGroupHeartbeatRequest {
        group_id: app.id.clone().into(),
        member_id: "A".into(),
        member_epoch: -1,
        rebalance_timeout_ms: -1,
        ..Default::default()
    };
    app.send(&leave).await?.error_code.ok()?;
    app.beat_until(&mut [&mut second], &[(4, 0)]).await?;
    let delete = DeleteGroupsRequest { groups_names: vec![app.id.clone().into()], ..Default::default() };
    let deleted = app.client.send_at(app.to(), &delete, 2).await?;
    same("deletion with members", deleted.results[0].error_code, ErrorCode::NON_EMPTY_GROUP)?;
    let leave = StreamsGroupHeartbeatRequest { member_id: "B".into(), ..leave };
    app.send(&leave).await?.error_code.ok()?;
    let deleted = app.client.send_at(app.to(), &delete, 2).await?;
    same("deletion", deleted.results[0].error_code, ErrorCode::NONE)
}

fn request_describe(app: &Application) -> StreamsGroupDescribeRequest {
    StreamsGroupDescribeRequest { group_ids: vec![app.id.clone().into()], ..Default::default() }
}

pub(super) async fn a_streams_heartbeat_that_is_wrong_is_refused_with_the_reason(target: Target) -> Outcome {
    let app = Application::new(&target).await?;
    let invalid = ErrorCode::INVALID_REQUEST;
    let joining = || app.joining("A");
    let going = |epoch| StreamsGroupHeartbeatRequest {
        topology: None,
        active_tasks: None,
        standby_tasks: None,
        warmup_tasks: None,
        member_epoch: epoch,
        ..joining()
    };
    let bad_topology = |name: &str| {
        let mut topology = app.topology();
        topology.subtopologies[0].source_topics = vec![name.to_owned().into()];
        StreamsGroupHeartbeatRequest { topology: Some(topology), ..joining() }
    };
    let mut sized = app.topology();
    sized.subtopologies[1].state_changelog_topics[0].partitions = 3;
    let sized_log = app.topic("log");
    let cases = [
        (StreamsGroupHeartbeatRequest { member_id: "".into(), ..joining() }, invalid, "MemberId can't be empty."),
        (
            StreamsGroupHeartbeatRequest { rebalance_timeout_ms: -1, ..joining() },
            invalid,
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        (
            StreamsGroupHeartbeatRequest { topology: None, ..joining() },
            invalid,
            "Topology must be non-null when (re-)joining.",
        ),
        (
            StreamsGroupHeartbeatRequest { standby_tasks: None, ..joining() },
            invalid,
            "StandbyTasks must be empty when (re-)joining.",
        ),
        (going(-3), invalid, "MemberEpoch is -3, but must be greater than or equal to -2."),
        (going(-2), invalid, "InstanceId can't be null."),
        (
            StreamsGroupHeartbeatRequest { topology: Some(app.topology()), ..going(1) },
            invalid,
            "Topology can only be provided when (re-)joining.",
        ),
        (
            StreamsGroupHeartbeatRequest { active_tasks: Some(Vec::new()), ..going(1) },
            invalid,
            "If one task-type is non-null, all must be non-null.",
        ),
        (
            bad_topology("__consumer_offsets"),
            ErrorCode::STREAMS_INVALID_TOPOLOGY,
            "Use of Kafka internal topics __consumer_offsets in a Kafka Streams topology is prohibited.",
        ),
        (bad_topology("a b"), ErrorCode::STREAMS_INVALID_TOPOLOGY, "Topic names a b are not valid topic names."),
        (
            StreamsGroupHeartbeatRequest { topology: Some(sized), ..joining() },
            ErrorCode::STREAMS_INVALID_TOPOLOGY,
            &format!("Changelog topic {sized_log} must have an undefined partition count, but it is set to 3."),
        ),
        (going(1), ErrorCode::GROUP_ID_NOT_FOUND, &format!("Streams group {} not found.", app.id)),
    ];
    for (request, code, message) in &cases {
        let response = app.send(request).await?;
        same(message, (response.error_code, response.error_message.as_deref()), (*code, Some(*message)))?;
    }
    // A group is of one protocol.
    app.join("A").await?;
    let consumer = ConsumerGroupHeartbeatRequest {
        group_id: app.id.clone().into(),
        member_id: "B".into(),
        rebalance_timeout_ms: 1000,
        subscribed_topic_names: Some(vec!["t".into()]),
        topic_partitions: Some(Vec::new()),
        ..Default::default()
    };
    let refused = app.client.send_at(app.to(), &consumer, 1).await?;
    same("a consumer", refused.error_code, ErrorCode::GROUP_ID_NOT_FOUND)?;
    let mut other = joining();
    other.member_id = "C".into();
    other.topology = Some(Topology { epoch: 1, ..app.topology() });
    let refused = app.send(&other).await?;
    let found = (refused.error_code, refused.error_message.as_deref());
    same("another topology", found, (invalid, Some("Topology updates are not supported yet.")))
}
