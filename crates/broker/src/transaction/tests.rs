//! Transactions under a clock that the tests move, and what they do to partitions. What is expected is what Kafka's
//! coordinator does.

use std::sync::Arc;

use milena_messages::ErrorCode;

use super::*;
use crate::cluster::{State, TopicRef};
use crate::config::BrokerConfig;
use crate::coordinator::{Effects, Machine};
use crate::handler::tests::{Fixture, create};
use crate::storage::partition::Partition;

const TIMEOUT_MS: i32 = 60_000;

/// A machine and its time. Markers are not written before the test says so.
#[derive(Default)]
struct Bench {
    machine: TransactionMachine,
    now_ms: i64,
    log: Vec<CoordinatorRecord>,
    fresh: i64,
    /// What waits to be written.
    marker: Option<Marker>,
}

impl Bench {
    fn act<T>(&mut self, act: impl FnOnce(&mut TransactionMachine, i64, &mut Effects<TransactionMachine>) -> T) -> T {
        let mut effects = Effects::new();
        let result = act(&mut self.machine, self.now_ms, &mut effects);
        for record in effects.records() {
            self.machine.replay(record, None);
            self.log.push(record.clone());
        }
        if let Some(marker) = effects.take_work().pop() {
            self.marker = Some(marker);
        }
        result
    }

    fn init(&mut self, expected: Option<Producer>) -> Result<Producer, ErrorCode> {
        self.fresh += 1;
        let fresh = self.fresh;
        self.act(|machine, now_ms, effects| machine.init("t", TIMEOUT_MS, expected, fresh, now_ms, effects))
    }

    fn add(&mut self, producer: Producer, partition: i32) -> Result<(), ErrorCode> {
        let partitions = [("a".to_owned(), partition)];
        self.act(|machine, now_ms, effects| machine.add("t", producer, partitions, false, now_ms, effects))
    }

    fn end(&mut self, producer: Producer, commit: bool, bumps_epoch: bool) -> Result<Producer, ErrorCode> {
        self.fresh += 1;
        let end = End { commit, bumps_epoch, fresh: self.fresh };
        self.act(|machine, now_ms, effects| machine.end("t", producer, end, now_ms, effects))
    }

    fn write_markers(&mut self) {
        let marker = self.marker.take().unwrap();
        self.act(|machine, now_ms, effects| machine.complete(&marker, now_ms, effects));
    }

    fn status(&self) -> Status {
        self.machine.get("t").unwrap().status
    }

    fn advance(&mut self, ms: i64) {
        self.now_ms += ms;
        self.act(|machine, now_ms, effects| machine.tick(now_ms, effects));
    }
}

#[test]
fn a_transaction_begins_with_its_first_partition_and_ends_with_its_markers() {
    let mut bench = Bench::default();
    let producer = bench.init(None).unwrap();
    assert_eq!((producer.epoch, bench.status()), (0, Status::Empty));
    assert_eq!(bench.end(producer, true, false), Err(ErrorCode::INVALID_TXN_STATE));
    assert_eq!(bench.add(producer, 0), Ok(()));
    assert_eq!((bench.status(), bench.machine.verify("t", producer, "a", 0)), (Status::Ongoing, Ok(())));
    assert_eq!(bench.machine.verify("t", producer, "a", 1), Err(ErrorCode::TRANSACTION_ABORTABLE));
    assert_eq!(bench.end(producer, true, false), Ok(producer));
    assert_eq!(bench.status(), Status::PrepareCommit);
    assert_eq!(bench.add(producer, 1), Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    assert_eq!(bench.end(producer, true, false), Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    assert_eq!(bench.end(producer, false, false), Err(ErrorCode::INVALID_TXN_STATE));
    assert_eq!(bench.init(None), Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    bench.write_markers();
    assert_eq!(bench.status(), Status::CompleteCommit);
    // The response was lost; the client asks again.
    assert_eq!(bench.end(producer, true, false), Ok(producer));
    assert_eq!(bench.end(producer, false, false), Err(ErrorCode::INVALID_TXN_STATE));
    assert_eq!(bench.add(producer, 1), Ok(()));
    assert_eq!(bench.machine.get("t").unwrap().partitions.len(), 1);
}

#[test]
fn a_new_producer_fences_the_one_before_and_aborts_its_transaction() {
    let mut bench = Bench::default();
    let old = bench.init(None).unwrap();
    bench.add(old, 0).unwrap();
    // As Kafka 4.4, which does not look at the epoch while a transaction is open.
    let former = Producer { epoch: 7, ..old };
    assert_eq!(bench.init(Some(former)), Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    assert_eq!(bench.status(), Status::PrepareAbort);
    assert_eq!(bench.end(old, true, false), Err(ErrorCode::PRODUCER_FENCED));
    bench.write_markers();
    let new = bench.init(None).unwrap();
    // One for the fence, one for the new producer.
    assert_eq!(new, Producer { id: old.id, epoch: old.epoch + 2 });
    assert_eq!(bench.add(old, 0), Err(ErrorCode::PRODUCER_FENCED));
    assert_eq!(bench.add(Producer { id: 99, ..new }, 0), Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING));
}

#[test]
fn a_producer_that_knows_its_epoch_gets_the_next_one_once() {
    let mut bench = Bench::default();
    let first = bench.init(None).unwrap();
    let next = Producer { epoch: 1, ..first };
    assert_eq!(bench.init(Some(first)), Ok(next));
    assert_eq!(bench.init(Some(first)), Ok(next), "the response was lost");
    assert_eq!(bench.init(Some(next)), Ok(Producer { epoch: 2, ..first }));
    assert_eq!(bench.init(Some(first)), Err(ErrorCode::PRODUCER_FENCED));
    assert_eq!(bench.init(Some(Producer { id: 99, epoch: 2 })), Err(ErrorCode::PRODUCER_FENCED));
}

#[test]
fn when_epochs_are_used_up_there_is_a_new_producer_id() {
    let mut bench = Bench::default();
    let mut producer = bench.init(None).unwrap();
    let first = producer.id;
    for _ in 0..i16::MAX - 1 {
        producer = bench.init(Some(producer)).unwrap();
    }
    assert_eq!((producer.id, producer.epoch), (first, i16::MAX - 1));
    let last = producer;
    let next = bench.init(Some(last)).unwrap();
    assert_eq!(next.epoch, 0);
    assert_ne!(next.id, first);
}

#[test]
fn each_transaction_has_an_epoch_of_its_own_for_clients_that_know_it() {
    let mut bench = Bench::default();
    let first = bench.init(None).unwrap();
    bench.add(first, 0).unwrap();
    let second = bench.end(first, true, true).unwrap();
    assert_eq!(second, Producer { epoch: 1, ..first });
    assert_eq!(bench.end(first, true, true), Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    bench.write_markers();
    assert_eq!(bench.end(first, true, true), Ok(second), "the response was lost");
    assert_eq!(bench.end(first, false, true), Err(ErrorCode::INVALID_TXN_STATE));
    assert_eq!(bench.end(second, true, true), Err(ErrorCode::INVALID_TXN_STATE), "nothing was written");
    let third = bench.end(second, false, true).unwrap();
    bench.write_markers();
    assert_eq!((third.epoch, bench.status()), (2, Status::CompleteAbort));
}

/// As Kafka 4.4: only a client that raises the epoch with each transaction repeats an EndTxn at the one before.
#[test]
fn a_former_epoch_is_fenced_when_no_transaction_raised_it() {
    let mut bench = Bench::default();
    let first = bench.init(None).unwrap();
    let second = bench.init(None).unwrap();
    assert_eq!(second.epoch, 1);
    assert_eq!(bench.end(first, false, true), Err(ErrorCode::PRODUCER_FENCED));
}

#[test]
fn a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced() {
    let mut bench = Bench::default();
    let producer = bench.init(None).unwrap();
    bench.add(producer, 0).unwrap();
    bench.advance(i64::from(TIMEOUT_MS) - 1);
    assert_eq!(bench.status(), Status::Ongoing);
    bench.advance(1);
    assert_eq!(bench.status(), Status::PrepareAbort);
    bench.write_markers();
    assert_eq!((bench.status(), bench.add(producer, 0)), (Status::CompleteAbort, Err(ErrorCode::PRODUCER_FENCED)));
    assert_eq!(bench.machine.deadline(), None);
}

#[test]
fn markers_that_could_not_be_written_are_tried_again_also_by_another_coordinator() {
    let mut bench = Bench::default();
    let producer = bench.init(None).unwrap();
    bench.add(producer, 0).unwrap();
    bench.end(producer, true, false).unwrap();
    bench.marker = None;
    let mut moved = Bench { now_ms: bench.now_ms, ..Bench::default() };
    bench.log.iter().for_each(|record| moved.machine.replay(record, None));
    for bench in [&mut bench, &mut moved] {
        bench.advance(100);
        assert!(bench.marker.is_some());
        bench.write_markers();
        assert_eq!(bench.status(), Status::CompleteCommit);
    }
}

/// A cluster with topic `a`, and a producer of transactional id `t` on the node that coordinates it.
fn cluster() -> (Fixture, Arc<Partition>, i32, Producer) {
    let state = Fixture::new(BrokerConfig::default(), 2);
    let partition = create(&state, "a", 1).partition(0).unwrap();
    let node = state.transactions.find(&state, "t").unwrap().id;
    let begin = |machine: &mut TransactionMachine, now_ms, effects: &mut Effects<_>| {
        machine.init("t", TIMEOUT_MS, None, 5, now_ms, effects)
    };
    let producer = state.transactions.with(&state, node, "t", begin).unwrap().unwrap();
    (state, partition, node, producer)
}

fn end(state: &Arc<State>, node: i32, producer: Producer, commit: bool) {
    let end = End { commit, bumps_epoch: false, fresh: -1 };
    let done = state
        .transactions
        .with(state, node, "t", |machine, now_ms, effects| machine.end("t", producer, end, now_ms, effects));
    assert_eq!(done, Ok(Ok(producer)));
}

#[test]
fn markers_end_the_transaction_in_each_of_its_partitions() {
    let (state, partition, node, producer) = cluster();
    for commit in [true, false] {
        admit(&state, "t", producer, ("a", 0), true).unwrap();
        let before = partition.with(|partition| {
            let end = partition.log.end_offset();
            partition.transactions.wrote(producer.id, end);
            end
        });
        end(&state, node, producer, commit);
        partition.with(|partition| {
            assert_eq!(partition.last_stable_offset(), before + 1);
            assert_eq!(partition.transactions.aborted_between(before, before + 1).len(), usize::from(!commit));
        });
    }
    let done = state.transactions.with(&state, node, "t", |machine, _, _| machine.get("t").unwrap().status);
    assert_eq!(done, Ok(Status::CompleteAbort));
}

#[test]
fn a_partition_without_a_leader_gets_its_marker_when_it_has_one() {
    let (state, partition, _, producer) = cluster();
    let leader = partition.leadership().leader;
    admit(&state, "t", producer, ("a", 0), true).unwrap();
    state.node_down(leader);
    // The coordinator may have moved with it.
    let node = state.transactions.find(&state, "t").unwrap().id;
    end(&state, node, producer, true);
    let status = || {
        let get = |machine: &mut TransactionMachine, _, _: &mut Effects<_>| machine.get("t").unwrap().status;
        state.transactions.with(&state, node, "t", get).unwrap()
    };
    assert_eq!(status(), Status::PrepareCommit);
    state.node_up(leader);
    let due = |machine: &mut TransactionMachine, now_ms: i64, effects: &mut Effects<_>| {
        machine.tick(now_ms + 200, effects);
    };
    state.transactions.with(&state, node, "t", due).unwrap();
    assert_eq!(status(), Status::CompleteCommit);
    let topic = state.topic(TopicRef::Name("a")).unwrap();
    assert_eq!(topic.partition(0).unwrap().with_log(|log| log.end_offset()), 1);
}

#[test]
fn a_producer_of_an_earlier_epoch_is_fenced_at_the_last_one() {
    let mut bench = Bench::default();
    let mut producer = bench.init(None).unwrap();
    while producer.epoch < i16::MAX - 1 {
        producer = bench.init(None).unwrap();
    }
    bench.add(producer, 0).unwrap();
    // The open transaction is aborted at the epoch after the last one.
    assert_eq!(bench.init(None), Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    bench.write_markers();
    let early = Producer { epoch: 5, ..producer };
    assert_eq!(bench.init(Some(early)), Err(ErrorCode::PRODUCER_FENCED));
    let next = bench.init(None).unwrap();
    assert_eq!((next.id != producer.id, next.epoch), (true, 0));
}
