//! Members of both protocols in one group. What is expected is what Kafka 4.4 responds to the same requests.

use milena_messages::join_group::request::JoinGroupRequestProtocol;
use milena_messages::leave_group::request::MemberIdentity;
use milena_messages::sync_group::request::SyncGroupRequestAssignment;
use milena_messages::{
    Bytes, ConsumerGroupHeartbeatRequest, ConsumerProtocolAssignment, ConsumerProtocolSubscription, ErrorCode,
    HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, Message, SyncGroupRequest, SyncGroupResponse,
};

use super::migrate::{MigrationPolicy, assignment_blob};
use super::tests::{BAR, Bench, FOO, assigned};
use super::*;
use crate::coordinator::{Effects, Machine, Ticket};
use crate::group::GroupReply;
use crate::group::classic::Phase;
use crate::group::join::Join;
use crate::group::offset::Committer;
use crate::group::tests::SETTINGS;

fn said(topics: &[&str], owned: &[(Uuid, &[i32])]) -> Bytes {
    use milena_messages::consumer_protocol::consumer_protocol_subscription::TopicPartition;
    let name = |id: Uuid| if id == FOO { "foo" } else { "bar" };
    let owned = owned.iter().map(|(topic, partitions)| TopicPartition {
        topic: name(*topic).into(),
        partitions: partitions.iter().copied().collect(),
    });
    let subscription = ConsumerProtocolSubscription {
        topics: topics.iter().map(|name| (*name).to_owned().into()).collect(),
        owned_partitions: owned.collect(),
        ..Default::default()
    };
    [&1i16.to_be_bytes()[..], &subscription.to_bytes(1).unwrap()].concat().into()
}

fn request(member: &str, owned: &[(Uuid, &[i32])]) -> JoinGroupRequest {
    let protocol =
        JoinGroupRequestProtocol { name: "range".into(), metadata: said(&["foo", "bar"], owned), ..Default::default() };
    JoinGroupRequest {
        group_id: "g".into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 30_000,
        member_id: member.to_owned().into(),
        protocol_type: "consumer".into(),
        protocols: vec![protocol],
        ..Default::default()
    }
}

impl Bench {
    fn run(
        &mut self,
        act: impl FnOnce(&mut GroupMachine, i64, Ticket, &Cluster, &mut Effects<GroupMachine>),
    ) -> GroupReply {
        let mut effects = Effects::new();
        act(&mut self.machine, self.now_ms, Ticket(1), &self.cluster, &mut effects);
        self.take(&effects);
        let reply = effects.replies().iter().rev().find(|(ticket, _)| *ticket == Ticket(1)).cloned();
        reply.expect("no response yet").1
    }

    fn classic_join(&mut self, request: &JoinGroupRequest, version: i16) -> JoinGroupResponse {
        let reply = self.run(|machine, now_ms, ticket, topics, effects| {
            let unique = "new".to_owned();
            let settings = &machine.settings.consumer.clone();
            let join =
                Join { request, version, client_id: "c", client_host: "/127.0.0.1", unique, ticket, topics, settings };
            machine.join(&join, now_ms, effects);
        });
        let GroupReply::Join(response) = reply else { panic!("{reply:?}") };
        response
    }

    fn classic_sync(&mut self, member: &str, generation_id: i32, assignments: &[(&str, Bytes)]) -> SyncGroupResponse {
        let assignment = |(id, blob): &(&str, Bytes)| SyncGroupRequestAssignment {
            member_id: (*id).to_owned().into(),
            assignment: blob.clone(),
            ..Default::default()
        };
        let request = SyncGroupRequest {
            group_id: "g".into(),
            generation_id,
            member_id: member.to_owned().into(),
            protocol_type: Some("consumer".into()),
            protocol_name: Some("range".into()),
            assignments: assignments.iter().map(assignment).collect(),
            ..Default::default()
        };
        let reply = self.run(|machine, now_ms, ticket, topics, effects| {
            machine.sync(&request, ticket, topics, now_ms, effects);
        });
        let GroupReply::Sync(response) = reply else { panic!("{reply:?}") };
        response
    }

    fn classic_beat(&mut self, member: &str, generation_id: i32) -> ErrorCode {
        let member_id = member.to_owned().into();
        let request = HeartbeatRequest { group_id: "g".into(), generation_id, member_id, ..Default::default() };
        self.machine.heartbeat(&request, self.now_ms)
    }

    fn classic_leave(&mut self, member: &str) -> ErrorCode {
        let mut effects = Effects::new();
        let member = MemberIdentity { member_id: member.to_owned().into(), ..Default::default() };
        let response = self.machine.leave("g", &[member], self.now_ms, &mut effects);
        self.take(&effects);
        response.members[0].error_code
    }

    /// A stable classic group of one member, which has everything; gives its id.
    fn classic() -> (Self, String) {
        Self::classic_with(SETTINGS)
    }

    fn classic_with(settings: crate::group::GroupSettings) -> (Self, String) {
        let mut bench = Self::with(settings);
        let joined = bench.classic_join(&request("", &[]), 3);
        let id = joined.member_id.to_string();
        assert_eq!((joined.error_code, joined.generation_id), (ErrorCode::NONE, 1));
        let all = Partitions::from([(FOO, (0..4).collect()), (BAR, (0..2).collect())]);
        let blob = assignment_blob(&all, |id| bench.cluster.name(id), &said(&[], &[]));
        bench.classic_sync(&id, 1, &[(&id, blob)]);
        (bench, id)
    }

    fn count(&self) -> (usize, usize) {
        (self.machine.groups.len(), self.machine.consumers.len())
    }
}

use super::tests::Cluster;

/// Topics and partitions of an assignment.
fn partitions(response: &SyncGroupResponse) -> Vec<(String, Vec<i32>)> {
    assert_eq!(response.error_code, ErrorCode::NONE);
    let assignment = ConsumerProtocolAssignment::from_bytes(response.assignment.slice(2..), 1).unwrap();
    assignment.assigned_partitions.iter().map(|one| (one.topic.to_string(), one.partitions.to_vec())).collect()
}

#[test]
fn the_first_consumer_member_makes_a_live_classic_group_its_own() {
    let (mut bench, classic) = Bench::classic();
    let joined = bench.join("A");
    assert_eq!((joined.member_epoch, assigned(&joined)), (2, Some(vec![])));
    assert_eq!(bench.count(), (0, 1));
    // The classic member learns that it has to join again, and gives up what is not its own any more.
    assert_eq!(bench.classic_beat(&classic, 1), ErrorCode::REBALANCE_IN_PROGRESS);
    let all: &[(Uuid, &[i32])] = &[(FOO, &[0, 1, 2, 3]), (BAR, &[0, 1])];
    let again = bench.classic_join(&request(&classic, all), 3);
    assert_eq!((again.error_code, again.generation_id), (ErrorCode::NONE, 1));
    assert_eq!((again.leader.as_ref(), again.members.len()), ("", 0));
    let kept = bench.classic_sync(&classic, 1, &[]);
    assert_eq!(partitions(&kept), [("foo".to_owned(), vec![0, 1, 2])]);
    // It says in the next JoinGroup what it has left.
    assert_eq!(bench.classic_beat(&classic, 1), ErrorCode::REBALANCE_IN_PROGRESS);
    let again = bench.classic_join(&request(&classic, &[(FOO, &[0, 1, 2])]), 3);
    assert_eq!(again.generation_id, 2);
    assert_eq!(partitions(&bench.classic_sync(&classic, 2, &[])), [("foo".to_owned(), vec![0, 1, 2])]);
    assert_eq!(bench.classic_beat(&classic, 2), ErrorCode::NONE);
    let got = bench.beat("A", 2).unwrap();
    assert_eq!(assigned(&got), Some(vec![(FOO, vec![3]), (BAR, vec![0, 1])]));
    bench.replayed_is_live();
}

#[test]
fn the_last_consumer_member_that_leaves_makes_the_group_classic_again() {
    let (mut bench, classic) = Bench::classic();
    bench.join("A");
    bench.leave("A", None, LEAVE).unwrap();
    assert_eq!(bench.count(), (1, 0));
    let group = &bench.machine.groups["g"];
    assert_eq!((group.phase(), group.generation()), (Phase::PreparingRebalance, 2));
    assert_eq!(bench.classic_beat(&classic, 2), ErrorCode::REBALANCE_IN_PROGRESS);
    let joined = bench.classic_join(&request(&classic, &[]), 3);
    assert_eq!((joined.generation_id, joined.leader.to_string()), (3, classic.clone()));
    // A coordinator that reads the log finds the classic group.
    let mut other = GroupMachine::with_settings(SETTINGS);
    bench.log.iter().for_each(|record| other.replay(record, None));
    assert_eq!((other.groups.len(), other.consumers.len()), (1, 0));
}

#[test]
fn a_classic_member_joins_a_consumer_group_with_an_id_of_the_coordinator() {
    let mut bench = Bench::new();
    bench.join("A");
    let asked = bench.classic_join(&request("", &[]), 4);
    assert_eq!(asked.error_code, ErrorCode::MEMBER_ID_REQUIRED);
    let id = asked.member_id.to_string();
    let joined = bench.classic_join(&request(&id, &[]), 4);
    assert_eq!((joined.error_code, joined.generation_id), (ErrorCode::NONE, 3));
    assert_eq!(partitions(&bench.classic_sync(&id, 3, &[])), []);
    assert_eq!(bench.classic_sync(&id, 2, &[]).error_code, ErrorCode::ILLEGAL_GENERATION);
    assert_eq!(bench.classic_sync("A", 2, &[]).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(bench.classic_beat("nobody", 3), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(bench.classic_leave(&id), ErrorCode::NONE);
    assert_eq!(bench.machine.consumers["g"].members.len(), 1);
}

#[test]
fn protocols_of_classic_members_have_to_have_one_in_common() {
    let mut bench = Bench::new();
    bench.join("A");
    bench.classic_join(&request("B", &[]), 4);
    let mut other = request("C", &[]);
    other.protocols[0].name = "roundrobin".into();
    assert_eq!(bench.classic_join(&other, 4).error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    let connect = JoinGroupRequest { protocol_type: "connect".into(), ..request("C", &[]) };
    assert_eq!(bench.classic_join(&connect, 4).error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    let mut garbage = request("C", &[]);
    garbage.protocols[0].metadata = "?".into();
    assert_eq!(bench.classic_join(&garbage, 4).error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    assert_eq!(bench.machine.consumers["g"].members.len(), 2);
}

#[test]
fn a_classic_member_that_does_not_sync_or_join_in_time_is_removed() {
    let mut bench = Bench::new();
    bench.join("A");
    bench.classic_join(&request("B", &[]), 4);
    bench.advance(9_000);
    bench.beat("A", 2).unwrap();
    bench.owning("A", 2, &[]).unwrap();
    bench.classic_beat("B", 3);
    bench.advance(9_000);
    bench.classic_beat("B", 3);
    bench.advance(9_000);
    bench.classic_beat("B", 3);
    bench.advance(4_000);
    assert_eq!(bench.classic_beat("B", 3), ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn a_policy_forbids_changes_of_the_protocol() {
    let with = |migration| {
        let consumer = ConsumerSettings { migration, ..SETTINGS.consumer };
        crate::group::GroupSettings { consumer, ..SETTINGS }
    };
    let (mut bench, classic) = Bench::classic_with(with(MigrationPolicy::Downgrade));
    let refused = bench.send(&super::tests::joining("A")).unwrap_err();
    assert_eq!(refused.code, ErrorCode::GROUP_ID_NOT_FOUND);
    assert_eq!(refused.message, "Cannot upgrade classic group g to consumer group because online upgrade is disabled.");
    assert_eq!(bench.classic_beat(&classic, 1), ErrorCode::NONE);

    let (mut bench, classic) = Bench::classic_with(with(MigrationPolicy::Upgrade));
    bench.join("A");
    bench.leave("A", None, LEAVE).unwrap();
    assert_eq!(bench.count(), (0, 1));
    assert_eq!(bench.classic_beat(&classic, 1), ErrorCode::REBALANCE_IN_PROGRESS);

    let mut bench = Bench::with(with(MigrationPolicy::Disabled));
    bench.join("A");
    assert_eq!(bench.classic_join(&request("B", &[]), 4).error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
}

#[test]
fn a_group_whose_blobs_cannot_be_read_stays_classic() {
    let (mut bench, classic) = Bench::classic();
    let mut garbage = request(&classic, &[]);
    garbage.protocols[0].metadata = "?".into();
    let joined = bench.classic_join(&garbage, 3);
    bench.classic_sync(&classic, joined.generation_id, &[(&classic, "???".into())]);
    let refused = bench.send(&super::tests::joining("A")).unwrap_err();
    assert_eq!(
        refused.message,
        "Cannot upgrade classic group g to consumer group because the embedded consumer protocol is malformed."
    );
    assert_eq!(bench.count(), (1, 0));
}

#[test]
fn a_static_classic_member_takes_the_place_of_the_last_consumer_member() {
    let mut bench = Bench::new();
    let instance_id = Some("i".into());
    let joining = ConsumerGroupHeartbeatRequest { instance_id, ..super::tests::joining("A") };
    bench.send(&joining).unwrap();
    let asked = JoinGroupRequest { group_instance_id: Some("i".into()), ..request("", &[]) };
    let joined = bench.classic_join(&asked, 5);
    assert_eq!((joined.error_code, joined.generation_id), (ErrorCode::NONE, 2));
    assert_eq!(bench.count(), (1, 0));
    let id = joined.member_id.to_string();
    let sync = bench.classic_sync(&id, 2, &[]);
    assert_eq!(partitions(&sync), [("foo".to_owned(), vec![0, 1, 2, 3]), ("bar".to_owned(), vec![0, 1])]);
}

#[test]
fn commits_of_classic_members_know_generations() {
    let mut bench = Bench::new();
    bench.join("A");
    bench.classic_join(&request("B", &[]), 4);
    let commit = |generation| Committer {
        member_id: "B",
        instance_id: None,
        generation,
        is_transactional: false,
        knows_epochs: false,
    };
    let now_ms = bench.now_ms;
    assert_eq!(bench.machine.check_commit("g", commit(3), now_ms), Ok(()));
    assert_eq!(bench.machine.check_commit("g", commit(4), now_ms), Err(ErrorCode::ILLEGAL_GENERATION));
    assert_eq!(bench.machine.consumers["g"].check_fetch(Some("B"), 2), Err(ErrorCode::ILLEGAL_GENERATION));
}
