//! Streams groups under a clock that the tests move. What is expected is what Kafka 4.4 responds to the same requests.

use std::cell::RefCell;

use milena_messages::streams_group_heartbeat::request::{Endpoint, Subtopology, TaskIds, TopicInfo, Topology};
use milena_messages::{ByteString, StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse};

use super::*;
use crate::coordinator::record::CoordinatorRecord;
use crate::coordinator::{Effects, Machine};
use crate::group::consumer::{JOIN, LEAVE, LEAVE_STATIC, TopicLookup};
use crate::group::tests::SETTINGS;

const STREAMS: StreamsSettings = StreamsSettings {
    session_timeout_ms: 45_000,
    heartbeat_interval_ms: 5000,
    max_size: 3,
    standby_replicas: 0,
    initial_delay_ms: 0,
    assignment_interval_ms: 0,
    task_offset_interval_ms: 60_000,
    acceptable_recovery_lag: 10_000,
    rack_tags: String::new(),
};

/// Topics with their partitions.
struct Cluster(RefCell<BTreeMap<String, i32>>);

impl TopicLookup for Cluster {
    fn find(&self, name: &str) -> Option<(Uuid, i32)> {
        let id = |name: &str| Uuid::from_bytes(std::array::from_fn(|at| name.as_bytes().get(at).copied().unwrap_or(0)));
        Some((id(name), *self.0.borrow().get(name)?))
    }

    fn name(&self, _id: Uuid) -> Option<String> {
        None
    }

    fn names(&self) -> Vec<ByteString> {
        self.0.borrow().keys().map(|name| name.clone().into()).collect()
    }

    fn count(&self) -> usize {
        self.0.borrow().len()
    }

    fn version(&self) -> i64 {
        self.0.borrow().iter().map(|(name, count)| 1000 * i64::from(*count) + name.len() as i64).sum()
    }
}

struct Bench {
    machine: GroupMachine,
    cluster: Cluster,
    settings: StreamsSettings,
    now_ms: i64,
    log: Vec<CoordinatorRecord>,
}

type Response = Result<(StreamsGroupHeartbeatResponse, Vec<InternalTopic>), Refused>;

impl Bench {
    /// A cluster where all topics of the application are there.
    fn ready() -> Self {
        Self::new(&[("in", 2), ("log", 2)])
    }

    fn new(topics: &[(&str, i32)]) -> Self {
        let mut machine = GroupMachine::with_settings(SETTINGS);
        machine.loaded(0);
        let topics = topics.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        let cluster = Cluster(RefCell::new(topics));
        Self { machine, cluster, settings: STREAMS, now_ms: 1_000_000, log: Vec::new() }
    }

    fn take(&mut self, effects: &Effects<GroupMachine>) {
        for record in effects.records() {
            self.machine.replay(record, None);
            self.log.push(record.clone());
        }
        self.replayed_is_live();
    }

    fn send(&mut self, request: &StreamsGroupHeartbeatRequest) -> Response {
        check(request)?;
        let mut effects = Effects::new();
        let heartbeat = StreamsHeartbeat {
            request,
            version: 1,
            client_id: "c",
            client_host: "/127.0.0.1",
            topics: &self.cluster,
            settings: &self.settings.clone(),
        };
        let response = self.machine.streams_heartbeat(&heartbeat, self.now_ms, &mut effects);
        self.take(&effects);
        response
    }

    fn sent(&mut self, request: &StreamsGroupHeartbeatRequest) -> StreamsGroupHeartbeatResponse {
        self.send(request).unwrap().0
    }

    /// A coordinator that reads the log knows what this one knows.
    fn replayed_is_live(&self) {
        let other = self.replay();
        assert_eq!(other.streams.len(), self.machine.streams.len());
        for (id, live) in &self.machine.streams {
            let replayed = &other.streams[id];
            assert_eq!(replayed.members, live.members);
            assert_eq!(replayed.targets, live.targets);
            assert_eq!(replayed.topology, live.topology);
            let rest = |group: &StreamsGroup| {
                let epochs = (group.epoch, group.assignment_epoch, group.assignment_timestamp, group.validated_epoch);
                (epochs, group.metadata_hash, group.configs.clone())
            };
            assert_eq!(rest(replayed), rest(live));
        }
    }

    fn replay(&self) -> GroupMachine {
        let mut machine = GroupMachine::with_settings(SETTINGS);
        self.log.iter().for_each(|record| machine.replay(record, None));
        machine
    }

    fn advance(&mut self, ms: i64) {
        let until = self.now_ms + ms;
        while let Some(time) = self.machine.deadline().filter(|time| *time <= until) {
            self.now_ms = self.now_ms.max(time);
            let mut effects = Effects::new();
            self.machine.tick(self.now_ms, &mut effects);
            self.take(&effects);
        }
        self.now_ms = until;
    }

    fn state(&self) -> &'static str {
        self.machine.streams["g"].state_name()
    }
}

fn topology() -> Topology {
    let part = Subtopology {
        subtopology_id: "0".into(),
        source_topics: vec!["in".into()],
        state_changelog_topics: vec![TopicInfo { name: "log".into(), ..Default::default() }],
        ..Default::default()
    };
    Topology { epoch: 0, subtopologies: vec![part], ..Default::default() }
}

fn request(member: &str, member_epoch: i32) -> StreamsGroupHeartbeatRequest {
    StreamsGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: member.to_owned().into(),
        member_epoch,
        rebalance_timeout_ms: -1,
        ..Default::default()
    }
}

fn joining(member: &str) -> StreamsGroupHeartbeatRequest {
    let none = || Some(Vec::new());
    StreamsGroupHeartbeatRequest {
        rebalance_timeout_ms: 5000,
        topology: Some(topology()),
        process_id: Some(member.to_owned().into()),
        active_tasks: none(),
        standby_tasks: none(),
        warmup_tasks: none(),
        ..request(member, JOIN)
    }
}

/// A heartbeat that says what the member has.
fn owning(member: &str, epoch: i32, active: &[i32]) -> StreamsGroupHeartbeatRequest {
    let ids =
        TaskIds { subtopology_id: "0".into(), partitions: active.iter().copied().collect(), ..Default::default() };
    StreamsGroupHeartbeatRequest {
        active_tasks: Some(vec![ids]),
        standby_tasks: Some(Vec::new()),
        warmup_tasks: Some(Vec::new()),
        ..request(member, epoch)
    }
}

fn active(response: &StreamsGroupHeartbeatResponse) -> Option<Vec<i32>> {
    let ids = response.active_tasks.as_ref()?;
    Some(ids.iter().flat_map(|ids| ids.partitions.to_vec()).collect())
}

fn status(response: &StreamsGroupHeartbeatResponse) -> Vec<(i8, &str)> {
    response.status.iter().flatten().map(|status| (status.status_code, &*status.status_detail)).collect()
}

#[test]
fn a_first_member_gets_all_tasks_at_once() {
    let mut bench = Bench::ready();
    let response = bench.sent(&joining("A"));
    assert_eq!((response.member_epoch, response.heartbeat_interval_ms), (2, 5000));
    assert_eq!((response.acceptable_recovery_lag, response.task_offset_interval_ms), (10_000, 60_000));
    assert_eq!(active(&response), Some(vec![0, 1]));
    assert_eq!(status(&response), []);
    assert_eq!(bench.state(), "Stable");
    let written = bench.log.len();
    assert_eq!(active(&bench.sent(&request("A", 2))), None);
    assert_eq!(bench.log.len(), written);
}

#[test]
fn tasks_are_given_up_before_another_member_gets_them() {
    let mut bench = Bench::ready();
    bench.sent(&joining("A"));
    let second = bench.sent(&joining("B"));
    assert_eq!((second.member_epoch, active(&second)), (3, Some(vec![])));
    assert_eq!(bench.state(), "Reconciling");
    let first = bench.sent(&request("A", 2));
    assert_eq!((first.member_epoch, active(&first)), (2, Some(vec![0])));
    assert_eq!(active(&bench.sent(&request("B", 3))), None);
    assert_eq!(bench.sent(&owning("A", 2, &[0, 1])).member_epoch, 2);
    assert_eq!(bench.sent(&owning("A", 2, &[0])).member_epoch, 3);
    assert_eq!(active(&bench.sent(&request("B", 3))), Some(vec![1]));
    assert_eq!(bench.state(), "Stable");
}

#[test]
fn missing_topics_are_named_and_internal_ones_are_to_be_created() {
    let mut bench = Bench::new(&[]);
    let response = bench.sent(&joining("A"));
    assert_eq!(status(&response), [(1, "Source topics in are missing.")]);
    assert_eq!((active(&response), bench.state()), (Some(vec![]), "NotReady"));
    bench.cluster.0.borrow_mut().insert("in".into(), 2);
    let (response, missing) = bench.send(&request("A", response.member_epoch)).unwrap();
    assert_eq!(status(&response), [(3, "Internal topics are missing: log")]);
    let log = InternalTopic { name: "log".into(), partitions: 2, replication_factor: 0, configs: vec![] };
    assert_eq!(missing, [log]);
    bench.cluster.0.borrow_mut().insert("log".into(), 2);
    let response = bench.sent(&request("A", response.member_epoch));
    assert_eq!((status(&response), active(&response)), (vec![], Some(vec![0, 1])));
    assert_eq!(bench.state(), "Stable");
}

#[test]
fn an_internal_topic_of_the_wrong_size_is_reported() {
    let mut bench = Bench::new(&[("in", 2), ("log", 3)]);
    let response = bench.sent(&joining("A"));
    let wanted = "Existing topic log has different number of partitions: expected 2, found 3";
    assert_eq!(status(&response), [(2, wanted)]);
}

#[test]
fn a_repartition_topic_has_the_partitions_of_what_comes_before_it() {
    let mut bench = Bench::new(&[("in", 3)]);
    let first = Subtopology {
        subtopology_id: "0".into(),
        source_topics: vec!["in".into()],
        repartition_sink_topics: vec!["re".into()],
        ..Default::default()
    };
    let second = Subtopology {
        subtopology_id: "1".into(),
        repartition_source_topics: vec![TopicInfo { name: "re".into(), ..Default::default() }],
        state_changelog_topics: vec![TopicInfo { name: "log".into(), ..Default::default() }],
        ..Default::default()
    };
    let topology = Topology { subtopologies: vec![first, second.clone()], ..Default::default() };
    let asked = StreamsGroupHeartbeatRequest { topology: Some(topology), ..joining("A") };
    let (_, missing) = bench.send(&asked).unwrap();
    let sizes: Vec<(&str, i32)> = missing.iter().map(|topic| (&*topic.name, topic.partitions)).collect();
    assert_eq!(sizes, [("log", 3), ("re", 3)]);
    // Without the part that writes it nobody knows its size.
    let topology = Topology { subtopologies: vec![second], ..Default::default() };
    let asked = StreamsGroupHeartbeatRequest { group_id: "h".into(), topology: Some(topology), ..joining("A") };
    let refused = bench.send(&asked).unwrap_err();
    assert_eq!(refused.code, ErrorCode::STREAMS_INVALID_TOPOLOGY);
    assert!(!bench.machine.streams.contains_key("h"));
}

#[test]
fn copies_are_kept_in_another_process_and_take_over() {
    let mut bench = Bench::ready();
    bench.settings.standby_replicas = 1;
    bench.sent(&joining("A"));
    bench.sent(&joining("B"));
    bench.sent(&request("A", 2));
    bench.sent(&owning("A", 2, &[0]));
    let got = bench.sent(&request("B", 3));
    assert_eq!(active(&got), Some(vec![1]));
    assert_eq!(bench.state(), "Stable");
    let copies = |bench: &Bench, member: &str| bench.machine.streams["g"].members[member].assigned.standby.clone();
    assert_eq!(copies(&bench, "A"), BTreeSet::from([("0".to_owned(), 1)]));
    assert_eq!(copies(&bench, "B"), BTreeSet::from([("0".to_owned(), 0)]));
    bench.sent(&request("A", LEAVE));
    let left = bench.sent(&request("B", 3));
    assert_eq!((active(&left), left.standby_tasks), (Some(vec![0, 1]), Some(vec![])));
}

#[test]
fn epochs_are_fenced_and_silent_members_go() {
    let mut bench = Bench::ready();
    bench.sent(&joining("A"));
    assert_eq!(bench.send(&request("A", 3)).unwrap_err().code, ErrorCode::FENCED_MEMBER_EPOCH);
    assert_eq!(bench.send(&request("B", 2)).unwrap_err().code, ErrorCode::UNKNOWN_MEMBER_ID);
    let none = StreamsGroupHeartbeatRequest { group_id: "h".into(), ..request("A", 2) };
    assert_eq!(bench.send(&none).unwrap_err().message, "Streams group h not found.");
    assert_eq!(bench.send(&owning("A", 2, &[7])).unwrap_err().code, ErrorCode::INVALID_REQUEST);
    bench.advance(44_000);
    assert_eq!(bench.state(), "Stable");
    bench.advance(1_000);
    assert_eq!(bench.state(), "Empty");
}

#[test]
fn a_static_member_keeps_its_tasks_under_a_new_id() {
    let mut bench = Bench::ready();
    let named = |request: StreamsGroupHeartbeatRequest| StreamsGroupHeartbeatRequest {
        instance_id: Some("i".into()),
        ..request
    };
    bench.sent(&named(joining("A")));
    let refused = bench.send(&named(joining("B"))).unwrap_err();
    assert_eq!(refused.code, ErrorCode::UNRELEASED_INSTANCE_ID);
    bench.sent(&named(request("A", LEAVE_STATIC)));
    let mut back = named(joining("B"));
    back.process_id = Some("A".into());
    let response = bench.sent(&back);
    assert_eq!((response.member_epoch, active(&response)), (2, Some(vec![0, 1])));
    assert_eq!(bench.send(&named(request("A", 2))).unwrap_err().code, ErrorCode::FENCED_INSTANCE_ID);
}

#[test]
fn the_first_assignment_waits_for_more_members_when_a_delay_is_set() {
    let mut bench = Bench::ready();
    bench.settings.initial_delay_ms = 3000;
    let response = bench.sent(&joining("A"));
    assert_eq!((response.member_epoch, active(&response)), (0, Some(vec![])));
    let wanted = "Assignment delayed due to the configured initial rebalance delay.";
    assert_eq!(status(&response), [(5, wanted)]);
    bench.advance(3000);
    let response = bench.sent(&joining("A"));
    assert_eq!((response.member_epoch, active(&response)), (2, Some(vec![0, 1])));
}

#[test]
fn members_learn_where_tasks_are_and_that_the_application_stops() {
    let mut bench = Bench::ready();
    let endpoint = Endpoint { host: "h".into(), port: 9, ..Default::default() };
    let response = bench.sent(&StreamsGroupHeartbeatRequest { user_endpoint: Some(endpoint), ..joining("A") });
    let known = response.partitions_by_user_endpoint.unwrap();
    assert_eq!((&*known[0].user_endpoint.host, known[0].user_endpoint.port), ("h", 9));
    assert_eq!(known[0].active_partitions[0].partitions.to_vec(), [0, 1]);
    let stop = StreamsGroupHeartbeatRequest { shutdown_application: true, ..request("A", 2) };
    let response = bench.sent(&stop);
    let wanted =
        "Streams group member A encountered a fatal error and requested a shutdown for the entire application.";
    assert_eq!(status(&response), [(4, wanted)]);
}

#[test]
fn another_topology_is_refused_and_changes_nothing() {
    let mut bench = Bench::ready();
    bench.sent(&joining("A"));
    let mut other = joining("B");
    other.topology = Some(Topology { epoch: 1, ..topology() });
    let refused = bench.send(&other).unwrap_err();
    assert_eq!(
        (refused.code, &*refused.message),
        (ErrorCode::INVALID_REQUEST, "Topology updates are not supported yet.")
    );
    assert_eq!(bench.machine.streams["g"].members.len(), 1);
}

#[test]
fn commits_are_checked_by_epoch_and_task() {
    let mut bench = Bench::ready();
    bench.sent(&joining("A"));
    bench.sent(&joining("B"));
    bench.sent(&request("A", 2));
    bench.sent(&owning("A", 2, &[0]));
    let who = |member_id, generation| Committer {
        member_id,
        instance_id: None,
        generation,
        is_transactional: false,
        knows_epochs: true,
    };
    let group = &bench.machine.streams["g"];
    assert_eq!(group.check_commit(who("A", 4)), Err(ErrorCode::STALE_MEMBER_EPOCH));
    assert_eq!(group.check_partition(who("A", 2), "in", 0), Ok(()));
    assert_eq!(group.check_partition(who("A", 1), "in", 0), Err(ErrorCode::STALE_MEMBER_EPOCH));
    assert_eq!(group.check_partition(who("A", 2), "in", 1), Err(ErrorCode::STALE_MEMBER_EPOCH));
    assert_eq!(group.check_partition(who("A", 2), "other", 0), Err(ErrorCode::STALE_MEMBER_EPOCH));
    assert_eq!(group.check_fetch(Some("A"), 2), Err(ErrorCode::STALE_MEMBER_EPOCH));
}

#[test]
fn an_empty_group_is_deleted_and_leaves_nothing() {
    let mut bench = Bench::ready();
    bench.sent(&joining("A"));
    let mut effects = Effects::new();
    assert_eq!(bench.machine.delete("g", &mut effects).error_code, ErrorCode::NON_EMPTY_GROUP);
    bench.sent(&request("A", LEAVE));
    let mut effects = Effects::new();
    assert_eq!(bench.machine.delete("g", &mut effects).error_code, ErrorCode::NONE);
    bench.take(&effects);
    assert!(bench.machine.streams.is_empty());
}
