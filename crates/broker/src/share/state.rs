//! The share coordinator: how far share groups are with each partition, as a machine on `__share_group_state`.
//!
//! Most changes are updates of the last snapshot of a partition; after so many of them there is a new snapshot. The state is
//! what snapshots and updates say when they are replayed, also while the machine runs.

use std::collections::BTreeMap;

use milena_messages::{
    ErrorCode, ShareSnapshotKey, ShareSnapshotValue, ShareUpdateKey, ShareUpdateValue, TypedRecord, Uuid,
};

use crate::cluster::{State, TopicRef};
use crate::coordinator::record::CoordinatorRecord;
use crate::coordinator::{Effects, Machine};
use crate::share::combine::{StateBatch, combine};
use crate::share::{ShareKey, ShareRefusal, record};

/// Kafka's `share.coordinator.snapshot.update.records.per.snapshot`.
const UPDATES_PER_SNAPSHOT: u32 = 500;

/// How far a share group is with a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShareState {
    pub(crate) snapshot_epoch: i32,
    pub(crate) state_epoch: i32,
    pub(crate) leader_epoch: i32,
    /// -1 when the leader has not decided yet where to begin.
    pub(crate) start_offset: i64,
    /// Records at or after the start offset that need no more delivery; -1 when unknown.
    pub(crate) complete_count: i32,
    pub(crate) batches: Vec<StateBatch>,
    pub(crate) created_at: i64,
    pub(crate) written_at: i64,
}

/// A change on top of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Update {
    pub(crate) snapshot_epoch: i32,
    /// -1: as before.
    pub(crate) leader_epoch: i32,
    /// -1: as before.
    pub(crate) start_offset: i64,
    pub(crate) complete_count: i32,
    pub(crate) batches: Vec<StateBatch>,
}

/// What a leader wants to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShareWrite {
    pub(crate) state_epoch: i32,
    pub(crate) leader_epoch: i32,
    pub(crate) start_offset: i64,
    pub(crate) complete_count: i32,
    pub(crate) batches: Vec<StateBatch>,
}

/// A share partition, and what fences writers that are late.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    state: ShareState,
    /// The greatest epochs that were ever seen.
    max_state_epoch: Option<i32>,
    max_leader_epoch: i32,
    /// Updates since the last snapshot that came for their number.
    updates: u32,
}

/// The share partitions of one partition of `__share_group_state`.
#[derive(Debug, Default)]
pub(crate) struct ShareMachine {
    entries: BTreeMap<ShareKey, Entry>,
}

impl Machine for ShareMachine {
    type Reply = ();
    type Work = ();

    fn new(_: &State) -> Self {
        Self::default()
    }

    fn replay(&mut self, record: &CoordinatorRecord, _: Option<i64>) {
        // Kafka leaves out what it cannot read.
        if let Err(error) = self.try_replay(record) {
            tracing::debug!(%error, "a record of a share group is left out");
        }
    }
}

/// The topics of the cluster.
pub(crate) trait Partitions {
    /// Whether there is such a partition.
    fn has(&self, topic: Uuid, partition: i32) -> bool;
}

impl Partitions for State {
    fn has(&self, topic: Uuid, partition: i32) -> bool {
        self.topic(TopicRef::Id(topic)).is_some_and(|topic| topic.partition(partition).is_some())
    }
}

type Result<T> = std::result::Result<T, ShareRefusal>;

fn invalid<T>(message: &str) -> Result<T> {
    Err(ShareRefusal::new(ErrorCode::INVALID_REQUEST, message))
}

impl ShareMachine {
    fn try_replay(&mut self, record: &CoordinatorRecord) -> std::result::Result<(), milena_wire::Error> {
        match record.key_type() {
            Some((ShareSnapshotKey::TYPE, _)) => {
                let key: ShareSnapshotKey = record.read_key()?;
                let key = ShareKey { group: key.group_id.to_string(), topic: key.topic_id, partition: key.partition };
                if record.value.is_none() {
                    self.entries.remove(&key);
                    return Ok(());
                }
                let state: ShareState = record.read_value::<ShareSnapshotValue>()?.into();
                let entry = self.entries.entry(key).or_default();
                entry.max_leader_epoch = entry.max_leader_epoch.max(state.leader_epoch);
                entry.max_state_epoch = entry.max_state_epoch.max(Some(state.state_epoch));
                if entry.updates >= UPDATES_PER_SNAPSHOT {
                    entry.updates = 0;
                }
                entry.state = state;
            }
            Some((ShareUpdateKey::TYPE, _)) => {
                let key: ShareUpdateKey = record.read_key()?;
                let key = ShareKey { group: key.group_id.to_string(), topic: key.topic_id, partition: key.partition };
                let update: Update = record.read_value::<ShareUpdateValue>()?.into();
                let entry = self.entries.entry(key).or_insert_with(|| Entry {
                    state: ShareState { snapshot_epoch: update.snapshot_epoch, ..ShareState::default() },
                    ..Entry::default()
                });
                entry.max_leader_epoch = entry.max_leader_epoch.max(update.leader_epoch);
                entry.updates += 1;
                entry.state.apply(update);
            }
            _ => {}
        }
        Ok(())
    }

    /// Sets a partition up, for the first time or again. Writers of an older state epoch are fenced from then on.
    ///
    /// # Errors
    /// The epoch is older than the one that is known; there is no such partition.
    pub(crate) fn initialize(
        &self,
        key: &ShareKey,
        state_epoch: i32,
        start_offset: i64,
        (topics, now_ms): (&dyn Partitions, i64),
        effects: &mut Effects<ShareMachine>,
    ) -> Result<()> {
        check_partition(key)?;
        if state_epoch < 0 {
            return invalid("The state epoch cannot be a negative number.");
        }
        let known = self.entries.get(key);
        if known.is_some_and(|entry| entry.max_state_epoch > Some(state_epoch)) {
            return Err(ShareRefusal::of(ErrorCode::FENCED_STATE_EPOCH));
        }
        check_exists(key, topics)?;
        let state = ShareState {
            snapshot_epoch: known.map_or(0, |entry| entry.state.snapshot_epoch + 1),
            state_epoch,
            leader_epoch: 0,
            start_offset,
            complete_count: if start_offset == -1 { -1 } else { 0 },
            batches: Vec::new(),
            created_at: now_ms,
            written_at: now_ms,
        };
        effects.record(record::snapshot(key, &state));
        Ok(())
    }

    /// The state of a partition for its leader, whose epoch is kept.
    ///
    /// # Errors
    /// Nothing was set up; another leader of a later epoch was here; there is no such partition.
    pub(crate) fn read(
        &self,
        key: &ShareKey,
        leader_epoch: i32,
        (topics, now_ms): (&dyn Partitions, i64),
        effects: &mut Effects<ShareMachine>,
    ) -> Result<ShareState> {
        check_partition(key)?;
        check_leader_epoch(leader_epoch)?;
        let Some(entry) = self.entries.get(key) else {
            return invalid("Read operation on uninitialized share partition not allowed.");
        };
        if entry.max_leader_epoch > leader_epoch {
            return Err(ShareRefusal::of(ErrorCode::FENCED_LEADER_EPOCH));
        }
        check_exists(key, topics)?;
        let state = entry.state.clone();
        if entry.max_leader_epoch != leader_epoch {
            let write = ShareWrite {
                state_epoch: state.state_epoch,
                leader_epoch,
                start_offset: state.start_offset,
                complete_count: state.complete_count,
                batches: Vec::new(),
            };
            effects.record(entry.next(key, write, Some(leader_epoch), now_ms));
        }
        Ok(state)
    }

    /// Keeps what a leader says.
    ///
    /// # Errors
    /// Nothing was set up; the leader or its state is of an older epoch; there is no such partition.
    pub(crate) fn write(
        &self,
        key: &ShareKey,
        write: ShareWrite,
        (topics, now_ms): (&dyn Partitions, i64),
        effects: &mut Effects<ShareMachine>,
    ) -> Result<()> {
        check_partition(key)?;
        check_leader_epoch(write.leader_epoch)?;
        if write.state_epoch < 0 {
            return invalid("The state epoch cannot be a negative number.");
        }
        let Some(entry) = self.entries.get(key) else {
            return invalid("Write operation on uninitialized share partition not allowed.");
        };
        if entry.max_leader_epoch > write.leader_epoch {
            return Err(ShareRefusal::of(ErrorCode::FENCED_LEADER_EPOCH));
        }
        if entry.max_state_epoch > Some(write.state_epoch) {
            return Err(ShareRefusal::of(ErrorCode::FENCED_STATE_EPOCH));
        }
        check_exists(key, topics)?;
        effects.record(entry.next(key, write, None, now_ms));
        if effects.check_size().is_err() {
            return Err(ShareRefusal::of(ErrorCode::UNKNOWN_SERVER_ERROR));
        }
        Ok(())
    }

    /// The state of a partition; `None` when nothing was set up.
    ///
    /// # Errors
    /// There is no such partition.
    pub(crate) fn summary(&self, key: &ShareKey, topics: &dyn Partitions) -> Result<Option<&ShareState>> {
        check_partition(key)?;
        check_exists(key, topics)?;
        Ok(self.entries.get(key).map(|entry| &entry.state))
    }

    /// Forgets a partition.
    ///
    /// # Errors
    /// There is no such partition in the cluster.
    pub(crate) fn delete(
        &self,
        key: &ShareKey,
        topics: &dyn Partitions,
        effects: &mut Effects<ShareMachine>,
    ) -> Result<()> {
        check_partition(key)?;
        check_exists(key, topics)?;
        if self.entries.contains_key(key) {
            effects.record(record::tombstone(key));
        }
        Ok(())
    }

    /// A topic is gone, and so is what share groups did with it.
    pub(crate) fn forget_topic(&self, topic: Uuid, effects: &mut Effects<ShareMachine>) {
        let keys = self.entries.keys().filter(|key| key.topic == topic);
        keys.for_each(|key| effects.record(record::tombstone(key)));
    }

    /// All share partitions with their state.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&ShareKey, &ShareState)> {
        self.entries.iter().map(|(key, entry)| (key, &entry.state))
    }
}

fn check_partition(key: &ShareKey) -> Result<()> {
    if key.partition < 0 {
        return invalid("The partition id cannot be a negative number.");
    }
    Ok(())
}

fn check_leader_epoch(leader_epoch: i32) -> Result<()> {
    if leader_epoch < 0 {
        return invalid("The leader epoch cannot be a negative number.");
    }
    Ok(())
}

fn check_exists(key: &ShareKey, topics: &dyn Partitions) -> Result<()> {
    if topics.has(key.topic, key.partition) {
        return Ok(());
    }
    Err(ShareRefusal::of(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION))
}

impl Entry {
    /// The record that keeps a change: an update, or a snapshot after many updates.
    fn next(&self, key: &ShareKey, write: ShareWrite, leader_epoch: Option<i32>, now_ms: i64) -> CoordinatorRecord {
        let state = &self.state;
        let leader_epoch = leader_epoch.unwrap_or(state.leader_epoch);
        let start_offset = write.start_offset.max(state.start_offset);
        let complete_count = match write.start_offset.cmp(&state.start_offset) {
            std::cmp::Ordering::Less => state.complete_count,
            std::cmp::Ordering::Equal => write.complete_count.max(state.complete_count),
            std::cmp::Ordering::Greater => write.complete_count,
        };
        if self.updates < UPDATES_PER_SNAPSHOT {
            let batches = combine(&[], &write.batches, start_offset);
            let snapshot_epoch = state.snapshot_epoch;
            let update = Update { snapshot_epoch, leader_epoch, start_offset, complete_count, batches };
            return record::update(key, &update);
        }
        let state = ShareState {
            snapshot_epoch: state.snapshot_epoch + 1,
            state_epoch: state.state_epoch,
            leader_epoch,
            start_offset,
            complete_count,
            batches: combine(&state.batches, &write.batches, start_offset),
            created_at: now_ms,
            written_at: now_ms,
        };
        record::snapshot(key, &state)
    }
}

impl ShareState {
    fn apply(&mut self, update: Update) {
        if update.start_offset != -1 {
            self.start_offset = update.start_offset;
        }
        if update.leader_epoch != -1 {
            self.leader_epoch = update.leader_epoch;
        }
        self.complete_count = update.complete_count;
        self.batches = combine(&self.batches, &update.batches, self.start_offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct OnePartition;

    const TOPIC: Uuid = Uuid::from_bytes([1; 16]);

    impl Partitions for OnePartition {
        fn has(&self, topic: Uuid, partition: i32) -> bool {
            topic == TOPIC && partition == 0
        }
    }

    fn key() -> ShareKey {
        ShareKey { group: "g".into(), topic: TOPIC, partition: 0 }
    }

    #[derive(Default)]
    struct Bench {
        machine: ShareMachine,
        log: Vec<CoordinatorRecord>,
    }

    impl Bench {
        fn take<T>(&mut self, command: impl FnOnce(&ShareMachine, &mut Effects<ShareMachine>) -> T) -> T {
            let mut effects = Effects::new();
            let result = command(&self.machine, &mut effects);
            for record in effects.records() {
                self.machine.replay(record, None);
                self.log.push(record.clone());
            }
            let mut other = ShareMachine::default();
            self.log.iter().for_each(|record| other.replay(record, None));
            assert_eq!(other.entries, self.machine.entries, "the replay knows what the machine knows");
            result
        }

        fn initialize(&mut self, state_epoch: i32, start_offset: i64) -> Result<()> {
            self.take(|machine, effects| {
                machine.initialize(&key(), state_epoch, start_offset, (&OnePartition, 7), effects)
            })
        }

        fn write(&mut self, state_epoch: i32, leader_epoch: i32, start_offset: i64, complete_count: i32) -> Result<()> {
            let batches = vec![StateBatch { first: start_offset, last: start_offset + 1, state: 2, deliveries: 1 }];
            let write = ShareWrite { state_epoch, leader_epoch, start_offset, complete_count, batches };
            self.take(|machine, effects| machine.write(&key(), write, (&OnePartition, 8), effects))
        }

        fn read(&mut self, leader_epoch: i32) -> Result<ShareState> {
            self.take(|machine, effects| machine.read(&key(), leader_epoch, (&OnePartition, 9), effects))
        }
    }

    fn code<T>(result: Result<T>) -> ErrorCode {
        result.err().map_or(ErrorCode::NONE, |refusal| refusal.code)
    }

    #[test]
    fn writers_of_older_epochs_are_fenced() {
        let mut bench = Bench::default();
        assert_eq!(code(bench.read(0)), ErrorCode::INVALID_REQUEST);
        assert_eq!(code(bench.write(0, 0, 0, 0)), ErrorCode::INVALID_REQUEST);
        bench.initialize(3, -1).unwrap();
        assert_eq!(bench.read(2).unwrap().start_offset, -1);
        assert_eq!(code(bench.read(1)), ErrorCode::FENCED_LEADER_EPOCH);
        assert_eq!(code(bench.write(3, 1, 10, 0)), ErrorCode::FENCED_LEADER_EPOCH);
        assert_eq!(code(bench.write(2, 2, 10, 0)), ErrorCode::FENCED_STATE_EPOCH);
        assert_eq!(code(bench.initialize(2, 0)), ErrorCode::FENCED_STATE_EPOCH);
        bench.write(3, 2, 10, 2).unwrap();
        let state = bench.read(2).unwrap();
        assert_eq!((state.start_offset, state.complete_count, state.batches.len()), (10, 2, 1));
        // Set up again, from an offset that an operator wants.
        bench.initialize(4, 5).unwrap();
        let state = bench.read(2).unwrap();
        assert_eq!((state.start_offset, state.complete_count, state.batches.len()), (5, 0, 0));
        assert_eq!((state.state_epoch, state.snapshot_epoch), (4, 1));
    }

    #[test]
    fn a_read_of_the_same_leader_writes_nothing() {
        let mut bench = Bench::default();
        bench.initialize(0, 0).unwrap();
        bench.read(1).unwrap();
        let written = bench.log.len();
        bench.read(1).unwrap();
        assert_eq!((written, bench.log.len()), (2, 2));
    }

    #[test]
    fn the_start_offset_never_goes_back_by_a_write() {
        let mut bench = Bench::default();
        bench.initialize(0, 0).unwrap();
        bench.write(0, 0, 10, 1).unwrap();
        bench.write(0, 0, 4, 9).unwrap();
        let state = bench.read(0).unwrap();
        assert_eq!((state.start_offset, state.complete_count), (10, 1));
    }

    #[test]
    fn a_snapshot_comes_after_500_updates() {
        let mut bench = Bench::default();
        bench.initialize(0, 0).unwrap();
        for offset in 0..501 {
            bench.write(0, 0, 2 * offset, 0).unwrap();
        }
        let kinds: Vec<i16> = bench.log.iter().map(|record| record.key_type().unwrap().0).collect();
        let snapshots: Vec<usize> = (0..kinds.len()).filter(|at| kinds[*at] == ShareSnapshotKey::TYPE).collect();
        assert_eq!(snapshots, [0, 501]);
    }

    #[test]
    fn only_partitions_that_exist_have_a_state() {
        let bench = Bench::default();
        let mut effects = Effects::new();
        for (partition, expected) in
            [(1, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION), (-1, ErrorCode::INVALID_REQUEST), (0, ErrorCode::NONE)]
        {
            let key = ShareKey { partition, ..key() };
            assert_eq!(code(bench.machine.initialize(&key, 0, 0, (&OnePartition, 7), &mut effects)), expected);
            assert_eq!(code(bench.machine.summary(&key, &OnePartition)), expected);
            assert_eq!(code(bench.machine.delete(&key, &OnePartition, &mut effects)), expected);
        }
    }

    #[test]
    fn a_deleted_topic_leaves_no_state() {
        let mut bench = Bench::default();
        bench.initialize(0, 0).unwrap();
        bench.take(|machine, effects| machine.forget_topic(TOPIC, effects));
        assert_eq!(bench.machine.all().count(), 0);
    }
}
