//! Share groups under a clock that the tests move. What is expected is what Kafka 4.4 responds to the same requests.

use std::cell::RefCell;

use milena_messages::{ByteString, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};

use super::*;
use crate::coordinator::Machine;
use crate::coordinator::record::CoordinatorRecord;
use crate::group::GroupWork;
use crate::group::consumer::TopicLookup;
use crate::group::tests::{SETTINGS, SHARE_SETTINGS};

const FOO: Uuid = Uuid::from_bytes([1; 16]);

/// A topic that may grow.
struct Cluster(RefCell<i32>);

impl TopicLookup for Cluster {
    fn find(&self, name: &str) -> Option<(Uuid, i32)> {
        (name == "foo").then(|| (FOO, *self.0.borrow()))
    }

    fn name(&self, id: Uuid) -> Option<String> {
        (id == FOO).then(|| "foo".to_owned())
    }

    fn names(&self) -> Vec<ByteString> {
        vec![ByteString::from("foo")]
    }

    fn count(&self) -> usize {
        1
    }

    fn version(&self) -> i64 {
        i64::from(*self.0.borrow())
    }
}

struct Bench {
    machine: GroupMachine,
    cluster: Cluster,
    now_ms: i64,
    log: Vec<CoordinatorRecord>,
    work: Vec<GroupWork>,
}

type Response = Result<ShareGroupHeartbeatResponse, Refused>;

impl Bench {
    fn new() -> Self {
        let mut machine = GroupMachine::with_settings(SETTINGS);
        machine.loaded(0);
        let cluster = Cluster(RefCell::new(2));
        Self { machine, cluster, now_ms: 1_000_000, log: Vec::new(), work: Vec::new() }
    }

    fn take(&mut self, effects: &mut Effects<GroupMachine>) {
        for record in effects.records() {
            self.machine.replay(record, None);
            self.log.push(record.clone());
        }
        self.work.extend(effects.take_work());
        // A coordinator that reads the log knows what this one knows.
        let replayed = self.replay();
        assert_eq!(replayed.shares.len(), self.machine.shares.len());
        for (id, live) in &self.machine.shares {
            let other = &replayed.shares[id];
            assert_eq!(other.members, live.members);
            assert_eq!(other.targets, live.targets);
            assert_eq!((other.epoch, other.assignment_epoch), (live.epoch, live.assignment_epoch));
            let topics = |group: &ShareGroup| group.state_topics.as_ref().map(|topics| topics.initialized.len());
            assert_eq!(topics(other), topics(live));
        }
    }

    fn replay(&self) -> GroupMachine {
        let mut machine = GroupMachine::with_settings(SETTINGS);
        self.log.iter().for_each(|record| machine.replay(record, None));
        machine
    }

    fn beat(&mut self, member: &str, member_epoch: i32) -> Response {
        let subscribed = (member_epoch == JOIN).then(|| vec!["foo".into()]);
        let request = ShareGroupHeartbeatRequest {
            group_id: "g".into(),
            member_id: member.to_owned().into(),
            member_epoch,
            subscribed_topic_names: subscribed,
            ..Default::default()
        };
        check(&request)?;
        let mut effects = Effects::new();
        let heartbeat = ShareHeartbeat {
            request: &request,
            client_id: "c",
            client_host: "/127.0.0.1",
            topics: &self.cluster,
            settings: &SHARE_SETTINGS,
        };
        let response = self.machine.share_heartbeat(&heartbeat, self.now_ms, &mut effects);
        self.take(&mut effects);
        response
    }

    /// The share coordinator has set up what was asked for, or could not.
    fn set_up(&mut self, succeeded: bool) -> Vec<(i32, i64)> {
        let mut all = Vec::new();
        for work in std::mem::take(&mut self.work) {
            let GroupWork::InitializeShareState { group, offsets } = work;
            all.extend(offsets.topics[&FOO].iter().map(|(partition, start)| (*partition, *start)));
            let mut effects = Effects::new();
            self.machine.share_initialized(&group, &offsets, succeeded, self.now_ms, &mut effects);
            self.take(&mut effects);
        }
        all
    }

    fn advance(&mut self, ms: i64) {
        self.now_ms += ms;
        let mut effects = Effects::new();
        self.machine.tick(self.now_ms, &mut effects);
        self.take(&mut effects);
    }

    fn members(&self) -> Vec<&str> {
        self.machine.shares["g"].members().map(|member| &*member.id).collect()
    }
}

/// Partitions of a response that has an assignment.
fn assigned(response: &ShareGroupHeartbeatResponse) -> Option<Vec<i32>> {
    let topics = response.assignment.as_ref()?.topic_partitions.iter();
    Some(topics.flat_map(|topic| topic.partitions.to_vec()).collect())
}

#[test]
fn partitions_are_assigned_after_their_state_was_set_up() {
    let mut bench = Bench::new();
    let first = bench.beat("A", JOIN).unwrap();
    assert_eq!((first.member_epoch, assigned(&first)), (2, Some(vec![])));
    assert_eq!(bench.set_up(true), [(0, -1), (1, -1)]);
    let next = bench.beat("A", 2).unwrap();
    assert_eq!((next.member_epoch, assigned(&next)), (3, Some(vec![0, 1])));
    let written = bench.log.len();
    assert_eq!(assigned(&bench.beat("A", 3).unwrap()), None);
    assert_eq!(bench.log.len(), written, "nothing new, nothing to write");
    // A topic that grows is read from the beginning of its new partition.
    *bench.cluster.0.borrow_mut() = 3;
    assert_eq!(bench.beat("A", 3).unwrap().member_epoch, 4);
    assert_eq!(bench.set_up(true), [(2, 0)]);
    assert_eq!(assigned(&bench.beat("A", 4).unwrap()), Some(vec![0, 1, 2]));
}

#[test]
fn state_that_could_not_be_set_up_is_tried_again() {
    let mut bench = Bench::new();
    bench.beat("A", JOIN).unwrap();
    assert_eq!(bench.set_up(false).len(), 2);
    bench.beat("A", 2).unwrap();
    assert_eq!(bench.set_up(false).len(), 2);
    // While nobody knows what became of it, it waits for half a minute.
    bench.beat("A", 2).unwrap();
    bench.work.clear();
    bench.beat("A", 2).unwrap();
    assert_eq!(bench.work, []);
    bench.advance(30_000);
    bench.beat("A", 2).unwrap();
    assert_eq!(bench.set_up(true).len(), 2);
}

#[test]
fn a_silent_member_is_removed() {
    let mut bench = Bench::new();
    bench.beat("A", JOIN).unwrap();
    bench.beat("B", JOIN).unwrap();
    bench.advance(44_999);
    bench.beat("B", 3).unwrap();
    bench.advance(1);
    assert_eq!(bench.members(), ["B"]);
    assert_eq!(bench.beat("A", 2).unwrap_err().code, ErrorCode::UNKNOWN_MEMBER_ID);
    bench.advance(45_000);
    assert_eq!(bench.machine.shares["g"].state_name(), "Empty");
    // A new coordinator gives everybody time again.
    bench.beat("A", JOIN).unwrap();
    bench.machine = bench.replay();
    bench.machine.loaded(bench.now_ms);
    bench.advance(44_999);
    assert_eq!(bench.members(), ["A"]);
    bench.advance(1);
    assert!(bench.members().is_empty());
}

#[test]
fn a_full_group_takes_no_more_members() {
    let mut bench = Bench::new();
    for member in ["A", "B", "C"] {
        bench.beat(member, JOIN).unwrap();
    }
    assert_eq!(bench.beat("D", JOIN).unwrap_err().code, ErrorCode::GROUP_MAX_SIZE_REACHED);
    assert!(bench.beat("A", JOIN).is_ok());
}

#[test]
fn only_a_group_without_members_is_deleted() {
    let mut bench = Bench::new();
    bench.beat("A", JOIN).unwrap();
    bench.set_up(true);
    let mut effects = Effects::new();
    assert_eq!(bench.machine.delete("g", &mut effects).error_code, ErrorCode::NON_EMPTY_GROUP);
    let refused = bench.machine.share_delete_state("g", &bench.cluster, &mut effects).unwrap_err();
    assert_eq!(refused.code, ErrorCode::NON_EMPTY_GROUP);
    bench.beat("A", LEAVE).unwrap();
    let wanted = bench.machine.share_delete_state("g", &bench.cluster, &mut effects).unwrap();
    assert_eq!(wanted, [(FOO, [0, 1].into())].into());
    assert_eq!(bench.machine.delete("g", &mut effects).error_code, ErrorCode::NONE);
    bench.take(&mut effects);
    assert!(bench.replay().shares.is_empty());
    let unknown = bench.beat("A", 3).unwrap_err();
    assert_eq!(unknown.message, "Share group g not found.");
}

#[test]
fn a_deleted_topic_leaves_no_trace() {
    let mut bench = Bench::new();
    bench.beat("A", JOIN).unwrap();
    bench.set_up(true);
    assert_eq!(bench.machine.share_partitions("g").len(), 1);
    let mut effects = Effects::new();
    bench.machine.share_topic_deleted(FOO, &mut effects);
    bench.take(&mut effects);
    assert_eq!(bench.machine.share_partitions("g").len(), 0);
}
