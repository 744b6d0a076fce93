//! Groups under a clock that the tests move. What is expected is what Kafka's coordinator does.

mod property;

use milena_messages::join_group::request::JoinGroupRequestProtocol;
use milena_messages::leave_group::request::MemberIdentity;
use milena_messages::sync_group::request::SyncGroupRequestAssignment;
use milena_messages::{
    Bytes, ErrorCode, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, SyncGroupRequest, SyncGroupResponse,
};

use super::classic::Phase;
use super::join::Join;
use super::offset::{Committer, Offset};
use super::*;
use crate::coordinator::Ticket;
use crate::share::settings::OffsetReset;

pub(crate) const SETTINGS: GroupSettings = GroupSettings {
    min_session_timeout_ms: 6000,
    max_session_timeout_ms: 1_800_000,
    initial_rebalance_delay_ms: 0,
    max_size: 3,
    max_metadata_bytes: 4096,
    offsets_retention_ms: 1000,
    consumer: ConsumerSettings {
        session_timeout_ms: 45_000,
        heartbeat_interval_ms: 5000,
        max_size: 3,
        migration: consumer::MigrationPolicy::Bidirectional,
        assignment_interval_ms: 0,
    },
    share: SHARE_SETTINGS,
    streams_session_timeout_ms: 45_000,
};

pub(crate) const SHARE_SETTINGS: ShareSettings = ShareSettings {
    session_timeout_ms: 45_000,
    heartbeat_interval_ms: 5000,
    assignment_interval_ms: 0,
    max_size: 3,
    lock_ms: 30_000,
    max_deliveries: 5,
    max_locks: 2000,
    reset: OffsetReset::Latest,
    committed: false,
    may_renew: true,
};

/// A cluster without topics.
pub(crate) struct NoTopics;

impl consumer::TopicLookup for NoTopics {
    fn find(&self, _name: &str) -> Option<(milena_messages::Uuid, i32)> {
        None
    }

    fn name(&self, _id: milena_messages::Uuid) -> Option<String> {
        None
    }

    fn names(&self) -> Vec<ByteString> {
        Vec::new()
    }

    fn count(&self) -> usize {
        0
    }

    fn version(&self) -> i64 {
        0
    }
}

/// A machine, its time, and what it has said.
struct Bench {
    machine: GroupMachine,
    now_ms: i64,
    tickets: u64,
    replies: BTreeMap<u64, GroupReply>,
    log: Vec<CoordinatorRecord>,
}

impl Bench {
    fn new(settings: GroupSettings) -> Self {
        let mut machine = GroupMachine::with_settings(settings);
        machine.loaded(0);
        Self { machine, now_ms: 1_000_000, tickets: 0, replies: BTreeMap::new(), log: Vec::new() }
    }

    fn act<T>(
        &mut self,
        act: impl FnOnce(&mut GroupMachine, i64, Ticket, &mut Effects<GroupMachine>) -> T,
    ) -> (u64, T) {
        self.tickets += 1;
        let mut effects = Effects::new();
        let result = act(&mut self.machine, self.now_ms, Ticket(self.tickets), &mut effects);
        self.take(effects);
        (self.tickets, result)
    }

    fn take(&mut self, effects: Effects<GroupMachine>) {
        for record in effects.records() {
            self.machine.replay(record, None);
            self.log.push(record.clone());
        }
        for (ticket, reply) in effects.replies() {
            assert!(self.replies.insert(ticket.0, reply.clone()).is_none(), "a request has one response");
        }
    }

    fn advance(&mut self, ms: i64) {
        let until = self.now_ms + ms;
        while let Some(time) = self.machine.deadline().filter(|time| *time <= until) {
            self.now_ms = self.now_ms.max(time);
            let mut effects = Effects::new();
            self.machine.tick(self.now_ms, &mut effects);
            self.take(effects);
        }
        self.now_ms = until;
    }

    fn join_as(&mut self, request: &JoinGroupRequest, version: i16) -> u64 {
        let unique = format!("u{}", self.tickets + 1);
        let (ticket, ()) = self.act(|machine, now_ms, ticket, effects| {
            let join = Join {
                request,
                version,
                client_id: "c",
                client_host: "/127.0.0.1",
                unique,
                ticket,
                topics: &NoTopics,
                settings: &SETTINGS.consumer,
            };
            machine.join(&join, now_ms, effects);
        });
        ticket
    }

    fn join(&mut self, member: &str) -> u64 {
        self.join_as(&request(member), 3)
    }

    fn joined(&self, ticket: u64) -> JoinGroupResponse {
        match self.replies.get(&ticket) {
            Some(GroupReply::Join(response)) => response.clone(),
            other => panic!("a JoinGroup response was expected: {other:?}"),
        }
    }

    fn sync(&mut self, member: &str, generation_id: i32, assignments: &[(&str, &'static [u8])]) -> u64 {
        let assignment = |(id, bytes): &(&str, &'static [u8])| SyncGroupRequestAssignment {
            member_id: (*id).to_owned().into(),
            assignment: Bytes::from_static(bytes),
            ..Default::default()
        };
        let request = SyncGroupRequest {
            group_id: "g".into(),
            generation_id,
            member_id: member.to_owned().into(),
            assignments: assignments.iter().map(assignment).collect(),
            ..Default::default()
        };
        self.act(|machine, now_ms, ticket, effects| machine.sync(&request, ticket, &NoTopics, now_ms, effects)).0
    }

    fn synced(&self, ticket: u64) -> SyncGroupResponse {
        match self.replies.get(&ticket) {
            Some(GroupReply::Sync(response)) => response.clone(),
            other => panic!("a SyncGroup response was expected: {other:?}"),
        }
    }

    fn beat(&mut self, member: &str, generation_id: i32) -> ErrorCode {
        let member_id = member.to_owned().into();
        let request = HeartbeatRequest { group_id: "g".into(), generation_id, member_id, ..Default::default() };
        self.act(|machine, now_ms, _, _| machine.heartbeat(&request, now_ms)).1
    }

    fn leave(&mut self, member: &str, instance: Option<&str>) -> ErrorCode {
        let member = MemberIdentity {
            member_id: member.to_owned().into(),
            group_instance_id: instance.map(|id| id.to_owned().into()),
            ..Default::default()
        };
        let response = self.act(|machine, now_ms, _, effects| machine.leave("g", &[member], now_ms, effects)).1;
        if response.error_code.is_none() { response.members[0].error_code } else { response.error_code }
    }

    fn phase(&self) -> Phase {
        self.machine.groups["g"].phase()
    }

    /// Two members in generation 2, stable; gives their ids, the leader first.
    fn pair() -> (Self, String, String) {
        let mut bench = Self::new(SETTINGS);
        let first = bench.join("");
        let leader = bench.joined(first).member_id.to_string();
        bench.sync(&leader, 1, &[(&leader, b"all")]);
        let second = bench.join("");
        assert_eq!(bench.beat(&leader, 1), ErrorCode::REBALANCE_IN_PROGRESS);
        let again = bench.join(&leader);
        let other = bench.joined(second).member_id.to_string();
        assert_eq!(bench.joined(again).members.len(), 2);
        let waiting = bench.sync(&other, 2, &[]);
        bench.sync(&leader, 2, &[(&leader, b"left"), (&other, b"right")]);
        assert_eq!(bench.synced(waiting).assignment, "right");
        assert_eq!(bench.phase(), Phase::Stable);
        (bench, leader, other)
    }
}

fn request(member: &str) -> JoinGroupRequest {
    let protocol = |name: &'static str| JoinGroupRequestProtocol {
        name: name.into(),
        metadata: Bytes::from_static(b"topics"),
        ..Default::default()
    };
    JoinGroupRequest {
        group_id: "g".into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 30_000,
        member_id: member.to_owned().into(),
        protocol_type: "consumer".into(),
        protocols: vec![protocol("range"), protocol("roundrobin")],
        ..Default::default()
    }
}

#[test]
fn the_first_member_leads_generation_1_and_gets_what_it_assigns() {
    let mut bench = Bench::new(SETTINGS);
    let ticket = bench.join("");
    let joined = bench.joined(ticket);
    assert_eq!(
        (joined.error_code, joined.generation_id, joined.protocol_name.as_deref()),
        (ErrorCode::NONE, 1, Some("range"))
    );
    assert_eq!(joined.leader, joined.member_id);
    assert!(joined.member_id.starts_with("c-"), "{}", joined.member_id);
    assert_eq!(bench.phase(), Phase::CompletingRebalance);
    let ticket = bench.sync(&joined.member_id, 1, &[(&joined.member_id, b"all")]);
    assert_eq!(bench.synced(ticket).assignment, "all");
    assert_eq!(bench.beat(&joined.member_id, 1), ErrorCode::NONE);
}

#[test]
fn from_version_4_on_a_member_comes_back_with_its_id() {
    let mut bench = Bench::new(SETTINGS);
    let ticket = bench.join_as(&request(""), 4);
    let asked = bench.joined(ticket);
    assert_eq!((asked.error_code, asked.generation_id), (ErrorCode::MEMBER_ID_REQUIRED, -1));
    // As Kafka 4.4, when it comes back as a static member: those never get an id before they join.
    let as_static = JoinGroupRequest { group_instance_id: Some("i".into()), ..request(&asked.member_id) };
    let ticket = bench.join_as(&as_static, 5);
    assert_eq!(
        (bench.joined(ticket).error_code, &*bench.joined(ticket).member_id),
        (ErrorCode::UNKNOWN_SERVER_ERROR, "")
    );
    let ticket = bench.join_as(&request(&asked.member_id), 4);
    assert_eq!((bench.joined(ticket).error_code, bench.joined(ticket).member_id), (ErrorCode::NONE, asked.member_id));
    // One that stays away for its session timeout is forgotten.
    let ticket = bench.join_as(&request(""), 4);
    let late = bench.joined(ticket).member_id;
    bench.advance(10_000);
    let ticket = bench.join_as(&request(&late), 4);
    assert_eq!(bench.joined(ticket).error_code, ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn a_second_member_begins_a_rebalance_that_ends_when_the_first_is_back() {
    let (mut bench, leader, other) = Bench::pair();
    assert_eq!((bench.beat(&leader, 2), bench.beat(&other, 2)), (ErrorCode::NONE, ErrorCode::NONE));
    assert_eq!(bench.beat(&other, 1), ErrorCode::ILLEGAL_GENERATION);
    assert_eq!(bench.beat("nobody", 2), ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn a_member_that_does_not_rejoin_in_time_is_removed() {
    let (mut bench, leader, other) = Bench::pair();
    let third = bench.join("");
    bench.join(&leader);
    bench.advance(9_999);
    bench.beat(&other, 2);
    bench.advance(9_999);
    bench.beat(&other, 2);
    bench.advance(9_999);
    bench.beat(&other, 2);
    assert!(!bench.replies.contains_key(&third));
    bench.advance(3);
    let joined = bench.joined(third);
    assert_eq!((joined.error_code, joined.generation_id), (ErrorCode::NONE, 3));
    assert_eq!(bench.beat(&other, 3), ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn a_silent_member_loses_its_session_and_the_others_rebalance() {
    let (mut bench, leader, other) = Bench::pair();
    bench.advance(6_000);
    bench.beat(&leader, 2);
    bench.advance(4_000);
    assert_eq!(bench.beat(&leader, 2), ErrorCode::REBALANCE_IN_PROGRESS);
    assert_eq!(bench.beat(&other, 2), ErrorCode::UNKNOWN_MEMBER_ID);
    let ticket = bench.join(&leader);
    assert_eq!((bench.joined(ticket).generation_id, bench.joined(ticket).members.len()), (3, 1));
}

#[test]
fn the_last_member_to_leave_empties_the_group() {
    let (mut bench, leader, other) = Bench::pair();
    assert_eq!(bench.leave(&other, None), ErrorCode::NONE);
    assert_eq!(bench.leave(&other, None), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(bench.phase(), Phase::PreparingRebalance);
    assert_eq!(bench.leave(&leader, None), ErrorCode::NONE);
    assert_eq!(bench.phase(), Phase::Empty);
    assert_eq!(bench.machine.groups["g"].generation(), 3);
    assert_eq!(bench.machine.deadline().filter(|time| *time > bench.now_ms + 60_000), None);
}

#[test]
fn members_that_never_sync_are_gone_after_the_rebalance_timeout() {
    let mut bench = Bench::new(SETTINGS);
    let (first, second) = (bench.join(""), bench.join(""));
    let leader = bench.joined(first).member_id;
    // The first one got generation 1 alone; now both join generation 2.
    let again = bench.join(&leader);
    let other = bench.joined(second).member_id;
    assert_eq!(bench.joined(again).generation_id, 2);
    bench.sync(&leader, 2, &[]);
    for _ in 0..5 {
        bench.advance(6_000);
        bench.beat(&leader, 2);
        bench.beat(&other, 2);
    }
    assert_eq!(bench.beat(&other, 2), ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(bench.beat(&leader, 2), ErrorCode::REBALANCE_IN_PROGRESS);
}

#[test]
fn a_follower_that_joins_again_with_nothing_new_changes_nothing() {
    let (mut bench, leader, other) = Bench::pair();
    let ticket = bench.join(&other);
    let joined = bench.joined(ticket);
    assert_eq!((joined.generation_id, joined.members.len(), &*joined.leader), (2, 0, &*leader));
    assert_eq!(bench.phase(), Phase::Stable);
    bench.join(&leader);
    assert_eq!(bench.phase(), Phase::PreparingRebalance);
}

#[test]
fn protocols_have_to_have_one_in_common() {
    let (mut bench, _, _) = Bench::pair();
    let mut odd = request("");
    odd.protocols.truncate(1);
    odd.protocols[0].name = "sticky".into();
    let ticket = bench.join_as(&odd, 3);
    assert_eq!(bench.joined(ticket).error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    let ticket = bench.join_as(&JoinGroupRequest { protocol_type: "connect".into(), ..request("") }, 3);
    assert_eq!(bench.joined(ticket).error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    let ticket = bench.join_as(&JoinGroupRequest { group_id: "new".into(), protocols: Vec::new(), ..request("") }, 3);
    assert_eq!(bench.joined(ticket).error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    // As Kafka 4.4 does: DeleteGroups finds it.
    assert!(bench.machine.groups.contains_key("new"));
}

#[test]
fn a_full_group_takes_nobody_else() {
    let (mut bench, leader, other) = Bench::pair();
    let third = bench.join("");
    bench.join(&leader);
    bench.join(&other);
    assert_eq!(bench.joined(third).generation_id, 3);
    let fourth = bench.join("");
    assert_eq!(bench.joined(fourth).error_code, ErrorCode::GROUP_MAX_SIZE_REACHED);
}

#[test]
fn timeouts_out_of_range_are_refused() {
    let mut bench = Bench::new(SETTINGS);
    for session_timeout_ms in [5_999, 1_800_001, -1] {
        let ticket = bench.join_as(&JoinGroupRequest { session_timeout_ms, ..request("") }, 3);
        assert_eq!(bench.joined(ticket).error_code, ErrorCode::INVALID_SESSION_TIMEOUT);
    }
    assert!(bench.machine.groups.is_empty());
}

#[test]
fn a_static_member_that_restarts_keeps_its_assignment() {
    let mut bench = Bench::new(SETTINGS);
    let named = |member: &str| JoinGroupRequest { group_instance_id: Some("i".into()), ..request(member) };
    let ticket = bench.join_as(&named(""), 5);
    let old = bench.joined(ticket).member_id;
    assert!(old.starts_with("i-"), "{old}");
    bench.sync(&old, 1, &[(&old, b"mine")]);
    let ticket = bench.join_as(&named(""), 9);
    let new = bench.joined(ticket);
    assert_eq!((new.generation_id, new.skip_assignment, new.error_code), (1, true, ErrorCode::NONE));
    assert_ne!(new.member_id, old);
    assert_eq!(bench.phase(), Phase::Stable);
    let request = SyncGroupRequest {
        group_id: "g".into(),
        generation_id: 1,
        member_id: new.member_id.clone(),
        group_instance_id: Some("i".into()),
        ..Default::default()
    };
    let (ticket, ()) =
        bench.act(|machine, now_ms, ticket, effects| machine.sync(&request, ticket, &NoTopics, now_ms, effects));
    assert_eq!(bench.synced(ticket).assignment, "mine");
    assert_eq!(bench.leave(&old, Some("i")), ErrorCode::FENCED_INSTANCE_ID);
    assert_eq!(bench.leave("", Some("i")), ErrorCode::NONE);
    assert_eq!(bench.phase(), Phase::Empty);
}

#[test]
fn the_first_rebalance_waits_for_others_when_a_delay_is_configured() {
    let mut bench = Bench::new(GroupSettings { initial_rebalance_delay_ms: 3000, ..SETTINGS });
    let first = bench.join("");
    bench.advance(2000);
    let second = bench.join("");
    bench.advance(1500);
    assert!(!bench.replies.contains_key(&first), "somebody came, so it waits once more");
    bench.advance(2499);
    assert!(!bench.replies.contains_key(&first));
    bench.advance(1);
    assert_eq!((bench.joined(first).generation_id, bench.joined(second).generation_id), (1, 1));
}

#[test]
fn a_new_coordinator_knows_the_stable_group_from_its_records() {
    let (bench, leader, other) = Bench::pair();
    let mut moved = Bench::new(SETTINGS);
    moved.machine = GroupMachine::with_settings(SETTINGS);
    bench.log.iter().for_each(|record| moved.machine.replay(record, None));
    moved.machine.loaded(moved.now_ms);
    assert_eq!((moved.beat(&leader, 2), moved.beat(&other, 2)), (ErrorCode::NONE, ErrorCode::NONE));
    let ticket = moved.sync(&other, 2, &[]);
    assert_eq!(moved.synced(ticket).assignment, "right");
    moved.advance(10_000);
    assert_eq!(moved.beat(&leader, 2), ErrorCode::UNKNOWN_MEMBER_ID);
}

#[test]
fn who_may_commit_follows_the_phase_of_the_group() {
    let who = |member_id, generation| Committer {
        member_id,
        instance_id: None,
        generation,
        is_transactional: false,
        knows_epochs: true,
    };
    let mut bench = Bench::new(SETTINGS);
    let check = |bench: &mut Bench, who| bench.act(|machine, now_ms, _, _| machine.check_commit("g", who, now_ms)).1;
    assert_eq!(check(&mut bench, who("", -1)), Ok(()));
    // As Kafka 4.4: requests that know of epochs of members also know that a group can be missing.
    assert_eq!(check(&mut bench, who("m", 3)), Err(ErrorCode::GROUP_ID_NOT_FOUND));
    assert_eq!(check(&mut bench, Committer { knows_epochs: false, ..who("m", 3) }), Err(ErrorCode::ILLEGAL_GENERATION));
    let ticket = bench.join("");
    let member = bench.joined(ticket).member_id;
    assert_eq!(check(&mut bench, who(&member, 1)), Err(ErrorCode::REBALANCE_IN_PROGRESS));
    bench.sync(&member, 1, &[]);
    assert_eq!(check(&mut bench, who(&member, 1)), Ok(()));
    assert_eq!(check(&mut bench, who(&member, 0)), Err(ErrorCode::ILLEGAL_GENERATION));
    assert_eq!(check(&mut bench, who("", -1)), Err(ErrorCode::UNKNOWN_MEMBER_ID));
    assert_eq!(check(&mut bench, who("nobody", 1)), Err(ErrorCode::UNKNOWN_MEMBER_ID));
}

#[test]
fn offsets_are_what_the_log_says() {
    let mut bench = Bench::new(SETTINGS);
    let offset =
        |offset| Offset { offset, leader_epoch: 4, metadata: "m".into(), commit_timestamp: 5, expire_timestamp: None };
    let commit = |bench: &mut Bench, what: &Offset| {
        bench.act(|machine, _, _, effects| machine.commit("g", "t", 0, what, effects)).1
    };
    assert_eq!(commit(&mut bench, &offset(7)), ErrorCode::NONE);
    assert_eq!(commit(&mut bench, &offset(9)), ErrorCode::NONE);
    let large = Offset { metadata: "m".repeat(4097).into(), ..offset(11) };
    assert_eq!(commit(&mut bench, &large), ErrorCode::OFFSET_METADATA_TOO_LARGE);
    assert_eq!(bench.machine.offsets["g"].get("t", 0), Some(&offset(9)));
    let expiring = Offset { expire_timestamp: Some(77), leader_epoch: -1, ..offset(12) };
    commit(&mut bench, &expiring);
    assert_eq!(bench.machine.offsets["g"].get("t", 0), Some(&expiring));
    let deleted = bench.act(|machine, _, _, effects| machine.delete("g", effects)).1;
    assert_eq!(deleted.error_code, ErrorCode::NONE);
    assert!(bench.machine.offsets.is_empty() && bench.machine.list().is_empty());
    let deleted = bench.act(|machine, _, _, effects| machine.delete("g", effects)).1;
    assert_eq!(deleted.error_code, ErrorCode::GROUP_ID_NOT_FOUND);
}

/// As in Kafka 4.4: the first commit makes an empty group, which outlasts its offsets.
#[test]
fn a_group_that_only_commits_stays_when_its_last_offset_is_deleted() {
    let mut bench = Bench::new(SETTINGS);
    let offset =
        Offset { offset: 1, leader_epoch: -1, metadata: "".into(), commit_timestamp: 5, expire_timestamp: None };
    for topic in ["t", "u"] {
        bench.act(|machine, _, _, effects| machine.commit("g", topic, 0, &offset, effects));
    }
    bench.act(|machine, _, _, effects| machine.delete_offset("g", "t", 0, effects));
    // The other topic is deleted.
    bench.act(|machine, _, _, effects| machine.forget_topic("u", effects));
    assert!(bench.machine.offsets.is_empty());
    let listed: Vec<_> = bench.machine.list().iter().map(|group| group.group_state.to_string()).collect();
    assert_eq!(listed, ["Empty"]);
    assert_eq!(bench.machine.describe("g").map(|group| group.group_state), Some("Empty".into()));
    assert_eq!(bench.machine.check_delete_offsets("g"), Ok(()));
    assert_eq!(bench.machine.check_delete_offsets(""), Err(ErrorCode::INVALID_GROUP_ID));
    assert_eq!(bench.machine.check_delete_offsets("h"), Err(ErrorCode::GROUP_ID_NOT_FOUND));
}

/// A static member gets an id that begins with its instance id. As Kafka 4.4 responds.
#[test]
fn a_member_whose_id_no_response_can_carry_is_refused_and_leaves_nothing() {
    let mut bench = Bench::new(SETTINGS);
    let instance_id = "i".repeat(32_767);
    let long = JoinGroupRequest { group_instance_id: Some(instance_id.into()), ..request("") };
    let ticket = bench.join_as(&long, 5);
    let refused = bench.joined(ticket);
    assert_eq!((refused.error_code, refused.generation_id), (ErrorCode::UNKNOWN_SERVER_ERROR, -1));
    assert_eq!((&*refused.member_id, &*refused.leader), ("", ""));
    let ticket = bench.join("");
    assert_eq!(bench.joined(ticket).members.len(), 1);
}

/// As Kafka 4.4 does with an assignment of 5 MB.
#[test]
fn assignments_that_are_too_large_for_the_log_are_refused_and_all_join_again() {
    static LARGE: [u8; 1 << 20] = [0; 1 << 20];
    let mut bench = Bench::new(SETTINGS);
    let ticket = bench.join("");
    let first = bench.joined(ticket);
    let id = &*first.member_id;
    let ticket = bench.sync(id, first.generation_id, &[(id, &LARGE)]);
    let refused = bench.synced(ticket);
    assert_eq!((refused.error_code, refused.assignment.len()), (ErrorCode::UNKNOWN_SERVER_ERROR, 0));
    assert_eq!(bench.machine.groups["g"].phase(), Phase::PreparingRebalance);
    let ticket = bench.join(id);
    let again = bench.joined(ticket);
    assert_eq!((again.error_code, again.generation_id), (ErrorCode::NONE, first.generation_id + 1));
    let ticket = bench.sync(id, again.generation_id, &[(id, b"small")]);
    assert_eq!(bench.synced(ticket).assignment, "small");
}

#[test]
fn a_protocol_that_one_member_gave_up_is_no_choice_for_another() {
    let mut bench = Bench::new(SETTINGS);
    let with = |member: &str, names: &[&'static str]| {
        let protocol = |name: &&'static str| JoinGroupRequestProtocol { name: (*name).into(), ..Default::default() };
        JoinGroupRequest { protocols: names.iter().map(protocol).collect(), ..request(member) }
    };
    let ticket = bench.join_as(&with("", &["a", "b", "b"]), 3);
    let first = bench.joined(ticket).member_id;
    bench.join_as(&with(&first, &["b", "c"]), 3);
    let ticket = bench.join_as(&with("", &["a"]), 3);
    assert_eq!(bench.joined(ticket).error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    bench.join_as(&with("", &["c", "d"]), 3);
    let ticket = bench.join_as(&with(&first, &["b", "c"]), 3);
    assert_eq!(bench.joined(ticket).protocol_name.as_deref(), Some("c"));
}
