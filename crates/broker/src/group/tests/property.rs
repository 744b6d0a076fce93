//! Random clients of one classic group, under a clock that the test moves.

use proptest::prelude::*;

use super::*;

/// Clients at the same time; one more than fits into the group.
const CLIENTS: usize = 4;
const PARTITIONS: u8 = 6;
/// Longer than all timeouts together.
const LONG: i64 = 20 * 60_000;

#[derive(Clone, Copy, Debug)]
enum Action {
    Join(usize),
    Sync(usize),
    Beat(usize),
    Leave(usize),
    /// The client forgets its id, as after a crash.
    Forget(usize),
    Advance(i64),
    /// The coordinator moves: another one reads the log, and requests that wait get no response.
    Move,
}

fn action() -> impl Strategy<Value = Action> {
    let client = 0..CLIENTS;
    prop_oneof![
        6 => client.clone().prop_map(Action::Join),
        6 => client.clone().prop_map(Action::Sync),
        3 => client.clone().prop_map(Action::Beat),
        1 => client.clone().prop_map(Action::Leave),
        1 => client.prop_map(Action::Forget),
        2 => prop_oneof![1..2_000i64, 5_000..12_000i64, 29_000..31_000i64].prop_map(Action::Advance),
        1 => Just(Action::Move),
    ]
}

/// What a client knows.
#[derive(Clone, Debug, Default)]
struct Client {
    id: String,
    generation: i32,
    /// The other members, when it leads.
    members: Option<Vec<String>>,
    /// Tickets of its requests that wait; a SyncGroup with its generation.
    joins: Vec<u64>,
    syncs: Vec<(u64, i32)>,
}

struct Group {
    bench: Bench,
    clients: Vec<Client>,
    /// Who has which partition in a generation, by client.
    owners: BTreeMap<(i32, u8), usize>,
    last_generation: i32,
}

/// The last two clients have an instance id.
fn instance_id(client: usize) -> Option<ByteString> {
    (client + 2 >= CLIENTS).then(|| format!("static-{client}").into())
}

impl Group {
    fn new() -> Self {
        let clients = vec![Client::default(); CLIENTS];
        Self { bench: Bench::new(SETTINGS), clients, owners: BTreeMap::new(), last_generation: 0 }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Join(client) => self.join(client),
            Action::Sync(client) => self.sync(client),
            Action::Beat(client) => {
                let Client { id, generation, .. } = self.clients[client].clone();
                self.bench.beat(&id, generation);
            }
            Action::Leave(client) => {
                let id = std::mem::take(&mut self.clients[client].id);
                self.bench.leave(&id, instance_id(client).as_deref());
            }
            Action::Forget(client) => self.clients[client].id.clear(),
            Action::Advance(ms) => self.bench.advance(ms),
            Action::Move => self.move_away(),
        }
        self.hear();
        self.check();
    }

    fn join(&mut self, client: usize) {
        let request = JoinGroupRequest { group_instance_id: instance_id(client), ..request(&self.clients[client].id) };
        let ticket = self.bench.join_as(&request, 5);
        self.clients[client].joins.push(ticket);
    }

    /// The leader gives each partition to one member, in turn.
    fn sync(&mut self, client: usize) {
        let Client { id, generation, members, .. } = self.clients[client].clone();
        let assignments = members.filter(|members| !members.is_empty()).map(|members| {
            let assignment = |(at, member): (usize, &String)| SyncGroupRequestAssignment {
                member_id: member.clone().into(),
                assignment: (0..PARTITIONS)
                    .filter(|one| usize::from(*one) % members.len() == at)
                    .collect::<Vec<_>>()
                    .into(),
                ..Default::default()
            };
            members.iter().enumerate().map(assignment).collect()
        });
        let request = SyncGroupRequest {
            group_id: "g".into(),
            generation_id: generation,
            member_id: id.into(),
            group_instance_id: instance_id(client),
            assignments: assignments.unwrap_or_default(),
            ..Default::default()
        };
        let (ticket, ()) = self
            .bench
            .act(|machine, now_ms, ticket, effects| machine.sync(&request, ticket, &NoTopics, now_ms, effects));
        self.clients[client].syncs.push((ticket, generation));
    }

    fn move_away(&mut self) {
        let mut machine = GroupMachine::with_settings(SETTINGS);
        self.bench.log.iter().for_each(|record| machine.replay(record, None));
        machine.loaded(self.bench.now_ms);
        self.bench.machine = machine;
        // Their connections get an error, and nothing else.
        for client in &mut self.clients {
            (client.joins, client.syncs) = (Vec::new(), Vec::new());
        }
        // What was not in the log did not happen: its generation may come again.
        let known = self.bench.machine.groups.get("g").map_or(0, ClassicGroup::generation);
        self.owners.retain(|(generation, _), _| *generation <= known);
        self.last_generation = known;
    }

    /// Clients take the responses that are there.
    fn hear(&mut self) {
        for at in 0..CLIENTS {
            let replies = &self.bench.replies;
            let client = &mut self.clients[at];
            let (here, waiting): (Vec<_>, Vec<_>) =
                client.joins.drain(..).partition(|ticket| replies.contains_key(ticket));
            client.joins = waiting;
            for ticket in here {
                let Some(GroupReply::Join(response)) = replies.get(&ticket) else {
                    panic!("JoinGroup got another reply")
                };
                match response.error_code {
                    ErrorCode::NONE => {
                        assert!(response.generation_id >= 1);
                        client.id = response.member_id.to_string();
                        client.generation = response.generation_id;
                        let ids = response.members.iter().map(|member| member.member_id.to_string()).collect();
                        client.members = (response.leader == response.member_id).then_some(ids);
                    }
                    ErrorCode::MEMBER_ID_REQUIRED => client.id = response.member_id.to_string(),
                    ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::FENCED_INSTANCE_ID => client.id.clear(),
                    ErrorCode::REBALANCE_IN_PROGRESS | ErrorCode::GROUP_MAX_SIZE_REACHED => {}
                    other => panic!("no JoinGroup here gets {other}"),
                }
            }
            let (here, waiting): (Vec<_>, Vec<_>) =
                client.syncs.drain(..).partition(|(ticket, _)| replies.contains_key(ticket));
            client.syncs = waiting;
            for (ticket, generation) in here {
                let Some(GroupReply::Sync(response)) = replies.get(&ticket) else {
                    panic!("SyncGroup got another reply")
                };
                if !response.error_code.is_none() {
                    assert!(response.assignment.is_empty());
                    continue;
                }
                for partition in &response.assignment {
                    let owner = *self.owners.entry((generation, *partition)).or_insert(at);
                    assert_eq!(owner, at, "partition {partition} has two owners in generation {generation}");
                }
            }
        }
    }

    fn check(&mut self) {
        let Some(group) = self.bench.machine.groups.get("g") else {
            // An empty group is deleted after a while; the next one is another group.
            (self.last_generation, self.owners) = (0, BTreeMap::new());
            return;
        };
        assert!(group.generation() >= self.last_generation, "a generation came back");
        self.last_generation = group.generation();
        // While members join, only those count who did; static members stay while they are away.
        if matches!(group.phase(), Phase::CompletingRebalance | Phase::Stable) {
            let dynamic = group.members().filter(|member| member.instance_id.is_none()).count();
            assert!(dynamic <= SETTINGS.max_size, "the group is too large");
        }
        if let Some(leader) = group.leader() {
            assert!(group.members().any(|member| member.id == leader), "the leader is no member");
        }
        if group.phase() != Phase::Stable {
            return;
        }
        // A coordinator that reads the log knows the same stable group.
        let mut other = GroupMachine::with_settings(SETTINGS);
        self.bench.log.iter().for_each(|record| other.replay(record, None));
        let facts = |group: &ClassicGroup| {
            let member = |member: &super::super::classic::Member| {
                let protocol = group.protocol().unwrap_or_default();
                (member.id.clone(), member.instance_id.clone(), member.metadata(protocol), member.assignment.clone())
            };
            let members: Vec<_> = group.members().map(member).collect();
            (group.generation(), group.protocol().map(str::to_owned), group.leader().map(str::to_owned), members)
        };
        assert_eq!(facts(&other.groups["g"]), facts(group));
    }
}

proptest! {
    /// No partition has two owners in a generation, the log says what is, and every request gets a response in time.
    #[test]
    fn a_classic_group_keeps_its_promises(actions in prop::collection::vec(action(), 1..80)) {
        let mut group = Group::new();
        actions.into_iter().for_each(|action| group.act(action));
        group.bench.advance(LONG);
        group.hear();
        group.check();
        for client in &group.clients {
            prop_assert!(client.joins.is_empty(), "a JoinGroup never got a response");
            prop_assert!(client.syncs.is_empty(), "a SyncGroup never got a response");
        }
    }
}

#[test]
fn a_member_that_comes_back_into_a_rebalance_of_nobody_is_taken_in() {
    let mut group = Group::new();
    // Client 0 has an id and did not come back yet; client 1 joins and leaves.
    [Action::Join(0), Action::Join(1), Action::Join(1), Action::Leave(1), Action::Join(0)]
        .into_iter()
        .for_each(|action| group.act(action));
    group.bench.advance(1);
    group.hear();
    assert!(group.clients[0].generation > 0, "as in Kafka, whose members support each protocol when there are none");
}
