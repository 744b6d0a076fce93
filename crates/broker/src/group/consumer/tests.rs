//! Consumer groups under a clock that the tests move. What is expected is what Kafka 4.4 responds to the same requests.

use std::cell::RefCell;

use milena_messages::consumer_group_heartbeat::request::TopicPartitions;
use milena_messages::leave_group::request::MemberIdentity;
use milena_messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};

use super::*;
use crate::coordinator::{Effects, Machine};
use crate::group::offset::Committer;
use crate::group::tests::SETTINGS;
use crate::group::{GroupMachine, GroupSettings};

pub(super) const FOO: Uuid = Uuid::from_bytes([1; 16]);
pub(super) const BAR: Uuid = Uuid::from_bytes([2; 16]);

/// Two topics, of which one may grow or go.
pub(super) struct Cluster(RefCell<BTreeMap<&'static str, (Uuid, i32)>>);

impl TopicLookup for Cluster {
    fn find(&self, name: &str) -> Option<(Uuid, i32)> {
        self.0.borrow().get(name).copied()
    }

    fn name(&self, id: Uuid) -> Option<String> {
        self.0.borrow().iter().find(|(_, topic)| topic.0 == id).map(|(name, _)| (*name).to_owned())
    }

    fn names(&self) -> Vec<ByteString> {
        self.0.borrow().keys().map(|name| (*name).into()).collect()
    }

    fn count(&self) -> usize {
        self.0.borrow().len()
    }

    /// Another number for other topics.
    fn version(&self) -> i64 {
        let topics = self.0.borrow();
        topics.values().map(|(id, count)| i64::from(id.as_bytes()[0]) * 1000 + i64::from(*count)).sum()
    }
}

pub(super) struct Bench {
    pub(super) machine: GroupMachine,
    pub(super) cluster: Cluster,
    pub(super) now_ms: i64,
    pub(super) log: Vec<CoordinatorRecord>,
}

pub(super) type Response = Result<ConsumerGroupHeartbeatResponse, Refused>;

impl Bench {
    pub(super) fn new() -> Self {
        Self::with(SETTINGS)
    }

    pub(super) fn with(settings: GroupSettings) -> Self {
        let mut machine = GroupMachine::with_settings(settings);
        machine.loaded(0);
        let cluster = Cluster(RefCell::new(BTreeMap::from([("foo", (FOO, 4)), ("bar", (BAR, 2))])));
        Self { machine, cluster, now_ms: 1_000_000, log: Vec::new() }
    }

    pub(super) fn take(&mut self, effects: &Effects<GroupMachine>) {
        for record in effects.records() {
            self.machine.replay(record, None);
            self.log.push(record.clone());
        }
    }

    pub(super) fn send(&mut self, request: &ConsumerGroupHeartbeatRequest) -> Response {
        check(request, 1)?;
        let mut effects = Effects::new();
        let heartbeat = ConsumerHeartbeat {
            request,
            member_id: &request.member_id,
            client_id: "c",
            client_host: "/127.0.0.1",
            topics: &self.cluster,
            settings: &self.machine.settings.consumer.clone(),
        };
        let response = self.machine.consumer_heartbeat(&heartbeat, self.now_ms, &mut effects);
        self.take(&effects);
        self.replayed_is_live();
        response
    }

    /// A coordinator that reads the log knows what this one knows.
    pub(super) fn replayed_is_live(&self) {
        let other = self.replay();
        assert_eq!(other.consumers.len(), self.machine.consumers.len());
        for (id, live) in &self.machine.consumers {
            let replayed = &other.consumers[id];
            assert_eq!(replayed.members, live.members);
            assert_eq!(replayed.targets, live.targets);
            assert_eq!(replayed.regexes, live.regexes);
            let epochs = |group: &ConsumerGroup| {
                (group.epoch, group.metadata_hash, group.assignment_epoch, group.assignment_timestamp)
            };
            assert_eq!(epochs(replayed), epochs(live));
        }
    }

    fn replay(&self) -> GroupMachine {
        let mut machine = GroupMachine::with_settings(self.machine.settings.clone());
        self.log.iter().for_each(|record| machine.replay(record, None));
        machine
    }

    /// The coordinator moves.
    fn move_away(&mut self) {
        self.machine = self.replay();
        self.machine.loaded(self.now_ms);
    }

    pub(super) fn beat(&mut self, member: &str, epoch: i32) -> Response {
        self.send(&request(member, epoch))
    }

    pub(super) fn owning(&mut self, member: &str, epoch: i32, owned: &[(Uuid, &[i32])]) -> Response {
        self.send(&ConsumerGroupHeartbeatRequest { topic_partitions: Some(topics(owned)), ..request(member, epoch) })
    }

    pub(super) fn join(&mut self, member: &str) -> ConsumerGroupHeartbeatResponse {
        self.send(&joining(member)).unwrap()
    }

    pub(super) fn leave(&mut self, member: &str, instance_id: Option<&str>, epoch: i32) -> Response {
        let instance_id = instance_id.map(|id| id.to_owned().into());
        self.send(&ConsumerGroupHeartbeatRequest { instance_id, ..request(member, epoch) })
    }

    pub(super) fn advance(&mut self, ms: i64) {
        let until = self.now_ms + ms;
        while let Some(time) = self.machine.deadline().filter(|time| *time <= until) {
            self.now_ms = self.now_ms.max(time);
            let mut effects = Effects::new();
            self.machine.tick(self.now_ms, &mut effects);
            self.take(&effects);
        }
        self.now_ms = until;
        self.replayed_is_live();
    }

    fn state(&self) -> &'static str {
        self.machine.consumers["g"].state_name()
    }

    fn members(&self) -> Vec<&str> {
        self.machine.consumers["g"].members.keys().map(|id| &**id).collect()
    }
}

fn request(member: &str, member_epoch: i32) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: member.to_owned().into(),
        member_epoch,
        ..Default::default()
    }
}

pub(super) fn joining(member: &str) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest {
        rebalance_timeout_ms: 5000,
        subscribed_topic_names: Some(vec!["foo".into(), "bar".into()]),
        topic_partitions: Some(Vec::new()),
        ..request(member, JOIN)
    }
}

fn topics(owned: &[(Uuid, &[i32])]) -> Vec<TopicPartitions> {
    let topic = |(topic_id, partitions): &(Uuid, &[i32])| TopicPartitions {
        topic_id: *topic_id,
        partitions: partitions.iter().copied().collect(),
        ..Default::default()
    };
    owned.iter().map(topic).collect()
}

/// Topics and partitions of a response that has an assignment.
pub(super) fn assigned(response: &ConsumerGroupHeartbeatResponse) -> Option<Vec<(Uuid, Vec<i32>)>> {
    let all = response.assignment.as_ref()?.topic_partitions.iter();
    Some(all.map(|topic| (topic.topic_id, topic.partitions.to_vec())).collect())
}

fn code(response: Response) -> ErrorCode {
    response.map_or_else(|refused| refused.code, |response| response.error_code)
}

#[test]
fn a_first_member_gets_everything_at_once() {
    let mut bench = Bench::new();
    let response = bench.join("A");
    assert_eq!((response.member_epoch, response.heartbeat_interval_ms), (2, 5000));
    assert_eq!(assigned(&response), Some(vec![(FOO, vec![0, 1, 2, 3]), (BAR, vec![0, 1])]));
    assert_eq!(bench.state(), "Stable");
    // Nothing new: nothing to say, and nothing to write.
    let written = bench.log.len();
    assert_eq!(assigned(&bench.beat("A", 2).unwrap()), None);
    assert_eq!(bench.log.len(), written);
}

#[test]
fn partitions_are_revoked_before_another_member_gets_them() {
    let mut bench = Bench::new();
    bench.join("A");
    let second = bench.join("B");
    assert_eq!((second.member_epoch, assigned(&second)), (3, Some(vec![])));
    assert_eq!(bench.state(), "Reconciling");

    // A learns what it keeps; its epoch stays until it has given up the rest.
    let first = bench.beat("A", 2).unwrap();
    assert_eq!((first.member_epoch, assigned(&first)), (2, Some(vec![(FOO, vec![0, 1, 2])])));
    assert_eq!(assigned(&bench.beat("B", 3).unwrap()), None);
    let all: &[(Uuid, &[i32])] = &[(FOO, &[0, 1, 2, 3]), (BAR, &[0, 1])];
    assert_eq!(bench.owning("A", 2, all).unwrap().member_epoch, 2);
    assert_eq!(bench.owning("A", 2, &[(FOO, &[0, 1, 2])]).unwrap().member_epoch, 3);

    let second = bench.beat("B", 3).unwrap();
    assert_eq!(assigned(&second), Some(vec![(FOO, vec![3]), (BAR, vec![0, 1])]));
    assert_eq!(bench.state(), "Stable");
}

#[test]
fn a_member_that_does_not_give_up_in_time_is_removed() {
    let mut bench = Bench::new();
    bench.join("A");
    bench.join("B");
    bench.beat("A", 2).unwrap();
    bench.advance(4999);
    assert_eq!(bench.members(), ["A", "B"]);
    bench.advance(1);
    assert_eq!(bench.members(), ["B"]);
    assert_eq!(code(bench.beat("A", 2)), ErrorCode::UNKNOWN_MEMBER_ID);
    let rest = bench.beat("B", 3).unwrap();
    assert_eq!(assigned(&rest), Some(vec![(FOO, vec![0, 1, 2, 3]), (BAR, vec![0, 1])]));
}

#[test]
fn a_silent_member_is_removed_and_its_successor_gets_its_partitions() {
    let mut bench = Bench::new();
    bench.join("A");
    bench.advance(44_999);
    bench.beat("A", 2).unwrap();
    bench.advance(44_999);
    assert_eq!(bench.members(), ["A"]);
    bench.advance(1);
    assert_eq!((bench.members().len(), bench.state()), (0, "Empty"));
    let next = bench.join("B");
    assert_eq!(next.member_epoch, 4);
    assert_eq!(assigned(&next).map(|topics| topics.len()), Some(2));
}

#[test]
fn epochs_are_fenced_and_a_lost_response_is_forgiven() {
    let mut bench = Bench::new();
    assert_eq!(code(bench.beat("A", 5)), ErrorCode::GROUP_ID_NOT_FOUND);
    assert_eq!(code(bench.beat("A", LEAVE)), ErrorCode::GROUP_ID_NOT_FOUND);
    bench.join("A");
    assert_eq!(code(bench.beat("x", 2)), ErrorCode::UNKNOWN_MEMBER_ID);
    for epoch in [1, 3] {
        assert_eq!(code(bench.beat("A", epoch)), ErrorCode::FENCED_MEMBER_EPOCH, "{epoch}");
    }
    let refused = bench.beat("A", 3).unwrap_err();
    assert_eq!(
        refused.message,
        "The consumer group member has a greater member epoch (3) than the one known by the group coordinator (2). The \
         member must abandon all its partitions and rejoin."
    );
    // The topic grows: a new epoch. The response with it is lost.
    bench.cluster.0.borrow_mut().insert("foo", (FOO, 5));
    assert_eq!(bench.beat("A", 2).unwrap().member_epoch, 3);
    assert_eq!(code(bench.beat("A", 2)), ErrorCode::FENCED_MEMBER_EPOCH);
    assert_eq!(bench.owning("A", 2, &[(FOO, &[0, 1, 2, 3])]).unwrap().member_epoch, 3);
    // Joining again is always right.
    let again = bench.join("A");
    assert_eq!((again.member_epoch, assigned(&again).unwrap()[0].1.len()), (3, 5));
}

#[test]
fn a_deleted_topic_is_taken_away() {
    let mut bench = Bench::new();
    bench.join("A");
    bench.cluster.0.borrow_mut().remove("bar");
    let response = bench.beat("A", 2).unwrap();
    assert_eq!((response.member_epoch, assigned(&response)), (2, Some(vec![(FOO, vec![0, 1, 2, 3])])));
    assert_eq!(bench.owning("A", 2, &[(FOO, &[0, 1, 2, 3])]).unwrap().member_epoch, 3);
}

#[test]
fn a_member_without_topics_keeps_its_epoch_until_it_has_let_go() {
    let mut bench = Bench::new();
    bench.join("A");
    let nothing = ConsumerGroupHeartbeatRequest { subscribed_topic_names: Some(Vec::new()), ..request("A", 2) };
    let response = bench.send(&nothing).unwrap();
    assert_eq!((response.member_epoch, assigned(&response)), (2, Some(vec![])));
    assert_eq!(bench.state(), "Reconciling");
    assert_eq!(bench.owning("A", 2, &[]).unwrap().member_epoch, 3);
}

#[test]
fn a_static_member_keeps_its_partitions_under_a_new_id() {
    let mut bench = Bench::new();
    let joining = |member| ConsumerGroupHeartbeatRequest { instance_id: Some("i".into()), ..joining(member) };
    let first = bench.send(&joining("S1")).unwrap();
    let refused = bench.send(&joining("S2")).unwrap_err();
    assert_eq!(refused.code, ErrorCode::UNRELEASED_INSTANCE_ID);
    assert_eq!(
        refused.message,
        "Static member S2 with instance id i cannot join the group because the instance id is owned by S1 member."
    );
    assert_eq!(code(bench.leave("S2", Some("i"), LEAVE_STATIC)), ErrorCode::FENCED_INSTANCE_ID);
    assert_eq!(code(bench.leave("S1", Some("x"), LEAVE)), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(code(bench.leave("S1", None, LEAVE_STATIC)), ErrorCode::INVALID_REQUEST);

    assert_eq!(bench.leave("S1", Some("i"), LEAVE_STATIC).unwrap().member_epoch, LEAVE_STATIC);
    assert_eq!(bench.state(), "Reconciling");
    assert_eq!(code(bench.leave("S1", Some("i"), 2)), ErrorCode::FENCED_MEMBER_EPOCH);
    let second = bench.send(&joining("S2")).unwrap();
    assert_eq!((second.member_epoch, assigned(&second)), (2, assigned(&first)));
    assert_eq!((bench.members(), bench.state()), (vec!["S2"], "Stable"));

    // Nobody comes back: the session ends.
    bench.leave("S2", Some("i"), LEAVE_STATIC).unwrap();
    bench.advance(45_000);
    assert_eq!(bench.state(), "Empty");
}

#[test]
fn a_moved_coordinator_goes_on_where_the_last_one_was() {
    let mut bench = Bench::new();
    bench.join("A");
    bench.join("B");
    bench.beat("A", 2).unwrap();
    bench.move_away();
    assert_eq!(bench.owning("A", 2, &[(FOO, &[0, 1, 2])]).unwrap().member_epoch, 3);
    assert_eq!(assigned(&bench.beat("B", 3).unwrap()), Some(vec![(FOO, vec![3]), (BAR, vec![0, 1])]));
    bench.move_away();
    assert_eq!(bench.beat("A", 3).unwrap().member_epoch, 3);
    bench.advance(45_000);
    assert_eq!(bench.state(), "Empty");
}

#[test]
fn assignments_wait_for_the_interval() {
    let mut settings = SETTINGS;
    settings.consumer.assignment_interval_ms = 1000;
    let mut bench = Bench::with(settings);
    bench.join("A");
    let second = bench.join("B");
    assert_eq!((second.member_epoch, bench.state()), (2, "Assigning"));
    bench.advance(1000);
    assert_eq!(bench.beat("A", 2).unwrap().member_epoch, 2);
    assert_eq!(bench.state(), "Reconciling");
}

#[test]
fn commits_are_checked_by_epoch_and_partition() {
    let mut bench = Bench::new();
    bench.join("A");
    bench.cluster.0.borrow_mut().insert("foo", (FOO, 5));
    assert_eq!(bench.beat("A", 2).unwrap().member_epoch, 3);
    let group = &bench.machine.consumers["g"];
    let who = |member_id, generation, knows_epochs| Committer {
        member_id,
        instance_id: None,
        generation,
        is_transactional: false,
        knows_epochs,
    };
    assert_eq!(group.check_commit(who("A", 3, true)), Ok(()));
    assert_eq!(group.check_commit(who("A", 3, false)), Err(ErrorCode::UNSUPPORTED_VERSION));
    assert_eq!(group.check_commit(who("x", 3, true)), Err(ErrorCode::UNKNOWN_MEMBER_ID));
    assert_eq!(group.check_commit(who("", -1, true)), Err(ErrorCode::UNKNOWN_MEMBER_ID));
    assert_eq!(group.check_commit(who("A", 4, true)), Err(ErrorCode::STALE_MEMBER_EPOCH));
    // It has had partition 0 since epoch 2, and partition 4 since epoch 3 (KIP-1251).
    assert_eq!(group.check_partition(who("A", 2, true), FOO, 0), Ok(()));
    assert_eq!(group.check_partition(who("A", 2, true), FOO, 4), Err(ErrorCode::STALE_MEMBER_EPOCH));
    assert_eq!(group.check_partition(who("A", 1, true), FOO, 0), Err(ErrorCode::STALE_MEMBER_EPOCH));
    assert_eq!(group.check_partition(who("A", 3, true), FOO, 9), Ok(()));

    assert_eq!(group.check_fetch(Some("A"), 3), Ok(()));
    assert_eq!(group.check_fetch(Some("A"), 2), Err(ErrorCode::STALE_MEMBER_EPOCH));
    assert_eq!(group.check_fetch(Some("x"), 3), Err(ErrorCode::UNKNOWN_MEMBER_ID));
    assert_eq!(group.check_fetch(None, -1), Ok(()));
}

#[test]
fn an_operator_removes_members_and_deletes_the_empty_group() {
    let mut bench = Bench::new();
    bench.join("A");
    let mut effects = Effects::new();
    let deleted = bench.machine.delete("g", &mut effects);
    assert_eq!(deleted.error_code, ErrorCode::NON_EMPTY_GROUP);
    let leaving = ["A", "x"].map(|id| MemberIdentity { member_id: id.into(), ..Default::default() });
    let left = bench.machine.leave("g", &leaving, bench.now_ms, &mut effects);
    let codes: Vec<_> = left.members.iter().map(|member| member.error_code).collect();
    assert_eq!(codes, [ErrorCode::NONE, ErrorCode::UNKNOWN_MEMBER_ID]);
    assert_eq!(bench.state(), "Empty");
    assert_eq!(bench.machine.delete("g", &mut effects).error_code, ErrorCode::NONE);
    bench.take(&effects);
    bench.replayed_is_live();
    assert_eq!(code(bench.beat("A", 2)), ErrorCode::GROUP_ID_NOT_FOUND);
}

#[test]
fn a_full_group_takes_no_more_members() {
    let mut bench = Bench::new();
    for member in ["A", "B", "C"] {
        bench.join(member);
    }
    assert_eq!(code(bench.send(&joining("D"))), ErrorCode::GROUP_MAX_SIZE_REACHED);
    assert_eq!(code(bench.send(&joining("A"))), ErrorCode::NONE);
}

#[test]
fn requests_are_checked_as_in_kafka() {
    let message = |request: &ConsumerGroupHeartbeatRequest, version| check(request, version).unwrap_err();
    let says = |request: ConsumerGroupHeartbeatRequest, text: &str| {
        assert_eq!(message(&request, 1), refused(ErrorCode::INVALID_REQUEST, text));
    };
    says(ConsumerGroupHeartbeatRequest { group_id: "".into(), ..joining("m") }, "GroupId can't be empty.");
    says(joining(""), "MemberId can't be empty.");
    assert_eq!(check(&joining(""), 0), Ok(()));
    assert_eq!(message(&request("", 1), 0).message, "MemberId can't be empty.");
    says(request("m", -3), "MemberEpoch is invalid.");
    says(request("m", -2), "InstanceId can't be null.");
    says(request("m", 0), "RebalanceTimeoutMs must be provided in first request.");
    says(
        ConsumerGroupHeartbeatRequest { topic_partitions: None, ..joining("m") },
        "TopicPartitions must be empty when (re-)joining.",
    );
    says(ConsumerGroupHeartbeatRequest { instance_id: Some("".into()), ..joining("m") }, "InstanceId can't be empty.");
    says(ConsumerGroupHeartbeatRequest { rack_id: Some("".into()), ..joining("m") }, "RackId can't be empty.");
    let assignor = ConsumerGroupHeartbeatRequest { server_assignor: Some("nope".into()), ..joining("m") };
    assert_eq!(
        message(&assignor, 1),
        refused(
            ErrorCode::UNSUPPORTED_ASSIGNOR,
            "ServerAssignor nope is not supported. Supported assignors: uniform, range."
        )
    );
}

#[test]
fn a_member_that_is_too_large_for_the_log_changes_nothing() {
    let mut bench = Bench::new();
    let names = (0..100_000).map(|number| format!("a topic with a long name {number}").into()).collect();
    let huge = ConsumerGroupHeartbeatRequest { subscribed_topic_names: Some(names), ..joining("A") };
    assert_eq!(code(bench.send(&huge)), ErrorCode::UNKNOWN_SERVER_ERROR);
    assert!(bench.machine.consumers.is_empty() && bench.log.is_empty());
    bench.join("A");
    let huge = ConsumerGroupHeartbeatRequest { member_epoch: 2, ..huge };
    assert_eq!(code(bench.send(&huge)), ErrorCode::UNKNOWN_SERVER_ERROR);
    assert_eq!(bench.beat("A", 2).unwrap().member_epoch, 2);
}

fn joining_regex(member: &str, regex: &'static str) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest {
        subscribed_topic_names: None,
        subscribed_topic_regex: Some(regex.into()),
        ..joining(member)
    }
}

#[test]
fn a_regular_expression_is_resolved_after_the_heartbeat_that_brings_it() {
    let mut bench = Bench::new();
    // As Kafka 4.4: the first response has epoch 1 and no partitions, the second one all.
    let first = bench.send(&joining_regex("A", "fo+")).unwrap();
    assert_eq!((first.member_epoch, assigned(&first)), (1, Some(vec![])));
    let second = bench.beat("A", 1).unwrap();
    assert_eq!((second.member_epoch, assigned(&second)), (2, Some(vec![(FOO, vec![0, 1, 2, 3])])));
    assert!(bench.machine.consumers["g"].is_subscribed("foo"));
    assert!(!bench.machine.consumers["g"].is_subscribed("bar"));
}

#[test]
fn a_topic_that_comes_and_matches_begins_an_epoch() {
    let mut bench = Bench::new();
    bench.send(&joining_regex("A", "foo|new.*")).unwrap();
    let before = bench.beat("A", 1).unwrap().member_epoch;
    let new = Uuid::from_bytes([9; 16]);
    bench.cluster.0.borrow_mut().insert("new-topic", (new, 1));
    bench.beat("A", before).unwrap();
    let after = bench.beat("A", before).unwrap();
    assert_eq!(after.member_epoch, before + 1);
    assert_eq!(assigned(&after), Some(vec![(FOO, vec![0, 1, 2, 3]), (new, vec![0])]));
    // Topics that do not match are nobody's business.
    let written = bench.log.len();
    bench.cluster.0.borrow_mut().insert("other", (Uuid::from_bytes([8; 16]), 1));
    bench.beat("A", before + 1).unwrap();
    assert_eq!(bench.log.len(), written);
}

#[test]
fn a_regular_expression_is_dropped_with_its_last_member() {
    let mut bench = Bench::new();
    bench.send(&joining_regex("A", "foo")).unwrap();
    bench.send(&joining_regex("B", "foo")).unwrap();
    bench.leave("A", None, LEAVE).unwrap();
    assert_eq!(bench.machine.consumers["g"].regexes.len(), 1);
    bench.leave("B", None, LEAVE).unwrap();
    assert_eq!(bench.machine.consumers["g"].regexes.len(), 0);
}

#[test]
fn an_invalid_regular_expression_changes_nothing() {
    let mut bench = Bench::new();
    let refused = bench.send(&joining_regex("A", "[")).unwrap_err();
    assert_eq!(refused.code, ErrorCode::INVALID_REGULAR_EXPRESSION);
    // The words of Kafka 4.4.
    assert_eq!(refused.message, "SubscribedTopicRegex `[` is not a valid regular expression: missing closing ].");
    assert!(bench.machine.consumers.is_empty());
    assert!(bench.log.is_empty());
}

#[test]
fn another_regular_expression_takes_the_topics_of_the_one_before() {
    let mut bench = Bench::new();
    bench.send(&joining_regex("A", "foo")).unwrap();
    let epoch = bench.beat("A", 1).unwrap().member_epoch;
    let other = ConsumerGroupHeartbeatRequest { subscribed_topic_regex: Some("bar".into()), ..request("A", epoch) };
    let response = bench.send(&other).unwrap();
    assert_eq!((response.member_epoch, assigned(&response)), (epoch, Some(vec![])));
    let done = bench.owning("A", epoch, &[]).unwrap();
    assert_eq!((done.member_epoch, assigned(&done)), (epoch + 1, Some(vec![(BAR, vec![0, 1])])));
    assert_eq!(bench.machine.consumers["g"].regexes.keys().collect::<Vec<_>>(), ["bar"]);
}
