//! The runtime, with a machine that counts.

use milena_messages::{OffsetCommitKey, OffsetCommitValue};

use super::*;
use crate::config::BrokerConfig;
use crate::handler::tests::Fixture;

/// Remembers the last offset of each group, and those of open transactions.
#[derive(Debug, Default)]
struct Counter {
    offsets: BTreeMap<String, i64>,
    pending: Vec<(i64, String, i64)>,
    waiting: Vec<Ticket>,
    due: Option<i64>,
}

impl Machine for Counter {
    type Reply = &'static str;
    type Work = ();

    fn new(_: &State) -> Self {
        Self::default()
    }

    fn replay(&mut self, record: &CoordinatorRecord, producer_id: Option<i64>) {
        let key: OffsetCommitKey = record.read_key().unwrap();
        let value: OffsetCommitValue = record.read_value().unwrap();
        let (group, offset) = (key.group.to_string(), value.offset);
        match producer_id {
            Some(id) => self.pending.push((id, group, offset)),
            None => _ = self.offsets.insert(group, offset),
        }
    }

    fn ended(&mut self, producer_id: i64, committed: bool) {
        for (id, group, offset) in std::mem::take(&mut self.pending) {
            match id == producer_id {
                true if committed => _ = self.offsets.insert(group, offset),
                true => {}
                false => self.pending.push((id, group, offset)),
            }
        }
    }

    fn deadline(&self) -> Option<i64> {
        self.due
    }

    fn tick(&mut self, _: i64, effects: &mut Effects<Counter>) {
        self.due = None;
        self.waiting.drain(..).for_each(|ticket| effects.reply(ticket, "late"));
    }
}

const TOPIC: &str = "__consumer_offsets";

fn set(group: &str, offset: i64) -> CoordinatorRecord {
    let key = OffsetCommitKey { group: group.to_owned().into(), topic: "a".into(), partition: 0 };
    record::set(&key, &OffsetCommitValue { offset, ..Default::default() }, 3)
}

fn three_nodes() -> (Fixture, Arc<Coordinator<Counter>>) {
    (Fixture::new(BrokerConfig::default(), 3), Arc::new(Coordinator::new(TOPIC)))
}

/// The offset of a group as a node knows it.
fn offset(coordinator: &Arc<Coordinator<Counter>>, state: &Fixture, node: i32, group: &str) -> Result<i64, ErrorCode> {
    let mut found = -1;
    let look =
        |machine: &mut Counter, _, _, _: &mut Effects<Counter>| found = *machine.offsets.get(group).unwrap_or(&-1);
    coordinator.run(state, node, group, look)?;
    Ok(found)
}

#[test]
fn partitions_are_chosen_by_the_hash_of_java() {
    // As jshell says: Utils.abs("my-group".hashCode()) % 50, and so on.
    assert_eq!(["my-group", "g", "", "skupina-č"].map(|key| partition_of(key, 50)), [12, 3, 0, 35]);
    // Their hashes are below 0; DescribeTransactions of Kafka 4.4 names these partitions.
    assert_eq!(["d16-g0", "d16-g1"].map(|key| partition_of(key, 50)), [17, 16]);
}

#[test]
fn a_moved_coordinator_replays_what_was_acknowledged() {
    let (state, coordinator) = three_nodes();
    let first = coordinator.find(&state, "g").unwrap().id;
    let write = |offset| {
        let command = |_: &mut Counter, _, ticket, effects: &mut Effects<Counter>| {
            effects.record(set("g", offset));
            effects.reply(ticket, "done");
        };
        coordinator.run(&state, first, "g", command).unwrap()
    };
    assert!(matches!(write(5), Reply::Now("done")));
    assert!(matches!(write(7), Reply::Now("done")));
    assert_eq!(offset(&coordinator, &state, first, "g"), Ok(7));
    let wrong = if first == 1 { 2 } else { 1 };
    assert_eq!(offset(&coordinator, &state, wrong, "g"), Err(ErrorCode::NOT_COORDINATOR));

    state.node_down(first);
    let second = coordinator.find(&state, "g").unwrap().id;
    assert_ne!(second, first);
    assert_eq!(offset(&coordinator, &state, second, "g"), Ok(7));
    assert_eq!(offset(&coordinator, &state, first, "g"), Err(ErrorCode::NOT_COORDINATOR));
}

#[tokio::test]
async fn who_waits_at_a_coordinator_that_moves_learns_it() {
    let (state, coordinator) = three_nodes();
    let first = coordinator.find(&state, "g").unwrap().id;
    let wait = |machine: &mut Counter, _, ticket, _: &mut Effects<Counter>| machine.waiting.push(ticket);
    let Ok(Reply::Later(reply)) = coordinator.run(&state, first, "g", wait) else { panic!("nobody replied yet") };
    state.node_down(first);
    let second = coordinator.find(&state, "g").unwrap().id;
    assert_eq!(offset(&coordinator, &state, second, "g"), Ok(-1));
    assert!(reply.await.is_err());
}

#[tokio::test(start_paused = true)]
async fn machines_are_woken_when_they_are_due() {
    let (state, coordinator) = three_nodes();
    let first = coordinator.find(&state, "g").unwrap().id;
    let wait = |machine: &mut Counter, now_ms: i64, ticket, _: &mut Effects<Counter>| {
        machine.waiting.push(ticket);
        machine.due = Some(now_ms + 20);
    };
    let Ok(Reply::Later(reply)) = coordinator.run(&state, first, "g", wait) else { panic!("nobody replied yet") };
    assert_eq!(reply.await, Ok("late"));
}

#[test]
fn offsets_of_a_transaction_count_when_it_commits() {
    let (state, coordinator) = three_nodes();
    let node = coordinator.find(&state, "g").unwrap().id;
    let (index, partition) = coordinator.partition(&state, "g").unwrap();
    let write = |id, offset| {
        let command = |_: &mut Counter, _, _, effects: &mut Effects<Counter>| {
            effects.transactional(id, 0);
            effects.record(set("g", offset));
        };
        coordinator.run(&state, node, "g", command).unwrap();
    };
    write(1, 11);
    write(2, 22);
    assert_eq!(offset(&coordinator, &state, node, "g"), Ok(-1));
    for (id, committed) in [(2, true), (1, false)] {
        partition.end_transaction(node, (id, 0), 0, committed, 0).unwrap();
        coordinator.ended(index, id, committed);
        assert_eq!(offset(&coordinator, &state, node, "g"), Ok(22));
    }
    // The same again from the log alone.
    let fresh = Arc::new(Coordinator::new(TOPIC));
    assert_eq!(offset(&fresh, &state, node, "g"), Ok(22));
}
