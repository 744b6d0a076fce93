//! Coordinators of groups, transactions and share groups: state machines whose state is the replay of an internal topic.
//!
//! Each partition of the topic is a shard with a [`Machine`] of its own. The node that leads the partition runs it. A
//! command changes nothing that has to last by itself: it returns records, which go into the partition, and only then are
//! they replayed into the machine. A new leader replays the partition from its begin. So a restart, a move and an
//! inspection from outside all see the same.

pub(crate) mod record;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use milena_messages::ErrorCode;
use milena_records::{Batch, Control, ReadOptions};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

use crate::cluster::node::Node;
use crate::cluster::{State, Topic, TopicRef};
use crate::coordinator::record::CoordinatorRecord;
use crate::storage::leadership::NO_LEADER;
use crate::storage::log::{BatchKind, LogBatch};
use crate::storage::own;
use crate::storage::partition::Partition;

/// Most bytes that one command may write: `max.message.bytes` of the internal topics, as Kafka sets it.
pub(crate) const MAX_BATCH_BYTES: usize = 1_048_588;

/// Names a request that waits for its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ticket(pub(crate) u64);

/// The state of one shard. It knows no clock, no randomness of its own, no sockets and no tasks, so that tests drive it
/// by hand.
pub(crate) trait Machine: Sized + Send + 'static {
    /// What a request that waits gets.
    type Reply: Send + 'static;
    /// What has to be done outside of the shard after its records are in the log.
    type Work: Send + 'static;

    /// The machine of a shard of which nothing was replayed yet.
    fn new(state: &State) -> Self;

    /// Applies a record of the topic. Records of an open transaction come with the id of their producer, and count when it
    /// [commits](Self::ended). A record that cannot be read is left out, as Kafka does.
    fn replay(&mut self, record: &CoordinatorRecord, producer_id: Option<i64>);

    /// A transaction ended: what its producer wrote counts, or never will.
    fn ended(&mut self, producer_id: i64, committed: bool) {
        let _ = (producer_id, committed);
    }

    /// All records were replayed; sessions begin again from this time on, in milliseconds since 1970.
    fn loaded(&mut self, now_ms: i64) {
        let _ = now_ms;
    }

    /// When the machine has something to do by itself.
    fn deadline(&self) -> Option<i64> {
        None
    }

    /// Does what is due at this time.
    fn tick(&mut self, now_ms: i64, effects: &mut Effects<Self>) {
        let _ = (now_ms, effects);
    }

    /// Does work outside of the shard, on the node that runs it. The shard is free meanwhile.
    fn work(state: &Arc<State>, node: i32, work: Self::Work) {
        let _ = (state, node, work);
    }
}

/// What comes of a command.
pub(crate) struct Effects<M: Machine> {
    records: Vec<CoordinatorRecord>,
    bytes: usize,
    /// Whose transaction the records belong to: id and epoch.
    producer: Option<(i64, i16)>,
    replies: Vec<(Ticket, M::Reply)>,
    work: Vec<M::Work>,
}

impl<M: Machine> Effects<M> {
    pub(crate) fn new() -> Self {
        Self { records: Vec::new(), bytes: 0, producer: None, replies: Vec::new(), work: Vec::new() }
    }

    /// A record to append. All records of one command go into one batch.
    pub(crate) fn record(&mut self, record: CoordinatorRecord) {
        self.bytes += record.size();
        self.records.push(record);
    }

    /// Checks that the records are a batch that Kafka would take. If not, they are dropped.
    ///
    /// # Errors
    /// They take more than [`MAX_BATCH_BYTES`].
    pub(crate) fn check_size(&mut self) -> Result<(), ErrorCode> {
        if self.has_room() {
            return Ok(());
        }
        self.records.clear();
        self.bytes = 0;
        Err(ErrorCode::UNKNOWN_SERVER_ERROR)
    }

    /// Whether the records are within [`MAX_BATCH_BYTES`]. If not, more of them are of no use before the check.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes <= MAX_BATCH_BYTES
    }

    /// Whether what another command did fits into the same batch.
    pub(crate) fn has_room_for(&self, other: &Self) -> bool {
        self.bytes.saturating_add(other.bytes) <= MAX_BATCH_BYTES
    }

    /// Takes over what another command did, which goes into the same batch.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.records.extend(other.records);
        self.replies.extend(other.replies);
        self.work.extend(other.work);
    }

    /// The records belong to a transaction.
    pub(crate) fn transactional(&mut self, producer_id: i64, epoch: i16) {
        self.producer = Some((producer_id, epoch));
    }

    /// Replies to a request, this one or one that waited. It is sent after the records are in the log.
    pub(crate) fn reply(&mut self, ticket: Ticket, reply: M::Reply) {
        self.replies.push((ticket, reply));
    }

    /// Work to do after the records are in the log.
    pub(crate) fn work(&mut self, work: M::Work) {
        self.work.push(work);
    }

    /// What there is to do, for tests of machines.
    #[cfg(test)]
    pub(crate) fn take_work(&mut self) -> Vec<M::Work> {
        std::mem::take(&mut self.work)
    }

    /// What there is to append, for tests of machines.
    #[cfg(test)]
    pub(crate) fn records(&self) -> &[CoordinatorRecord] {
        &self.records
    }

    /// What there is to reply, for tests of machines.
    #[cfg(test)]
    pub(crate) fn replies(&self) -> &[(Ticket, M::Reply)] {
        &self.replies
    }
}

/// The reply to a command.
#[derive(Debug)]
pub(crate) enum Reply<R> {
    Now(R),
    /// The channel closes when the shard moves to another node: the client has to look for its coordinator again.
    Later(oneshot::Receiver<R>),
}

/// All shards of one kind of coordinator.
pub(crate) struct Coordinator<M: Machine> {
    /// The internal topic.
    topic: &'static str,
    shards: Mutex<BTreeMap<i32, Arc<Shard<M>>>>,
}

struct Shard<M: Machine> {
    loaded: Mutex<Option<Loaded<M>>>,
    /// The deadline changed.
    rearm: Notify,
}

struct Loaded<M: Machine> {
    node: i32,
    epoch: i32,
    machine: M,
    next_ticket: u64,
    waiting: HashMap<Ticket, oneshot::Sender<M::Reply>>,
}

impl<M: Machine> fmt::Debug for Coordinator<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator").field("topic", &self.topic).finish_non_exhaustive()
    }
}

impl<M: Machine> Coordinator<M> {
    /// The coordinator whose state is in this topic.
    pub(crate) fn new(topic: &'static str) -> Self {
        Self { topic, shards: Mutex::default() }
    }

    /// The node that coordinates a key.
    ///
    /// # Errors
    /// No node leads the partition.
    pub(crate) fn find(&self, state: &State, key: &str) -> Result<Arc<Node>, ErrorCode> {
        let (_, partition) = self.partition(state, key)?;
        let leader = partition.leadership().leader;
        state.node(leader).filter(|node| node.is_alive()).ok_or(ErrorCode::COORDINATOR_NOT_AVAILABLE)
    }

    /// The index of the partition of the internal topic that holds a key.
    pub(crate) fn index(&self, state: &State, key: &str) -> Result<i32, ErrorCode> {
        Ok(self.partition(state, key)?.0)
    }

    /// The name of the internal topic.
    pub(crate) fn topic_name(&self) -> &'static str {
        self.topic
    }

    /// The partition of the internal topic that holds a key, and its index. Creates the topic when it is missing.
    pub(crate) fn partition(&self, state: &State, key: &str) -> Result<(i32, Arc<Partition>), ErrorCode> {
        let topic = self.topic(state)?;
        let index = partition_of(key, topic.partition_count());
        Ok((index, topic.partition(index).ok_or(ErrorCode::COORDINATOR_NOT_AVAILABLE)?))
    }

    fn topic(&self, state: &State) -> Result<Arc<Topic>, ErrorCode> {
        match state.topic(TopicRef::Name(self.topic)) {
            Some(topic) => Ok(topic),
            None => state.create_internal(self.topic).map_err(|_| ErrorCode::COORDINATOR_NOT_AVAILABLE),
        }
    }

    /// Runs a command that replies later, maybe, on the shard of a key. The command gets the machine, the time and a
    /// ticket for its reply.
    ///
    /// # Errors
    /// The node does not coordinate the key.
    pub(crate) fn run(
        self: &Arc<Self>,
        state: &Arc<State>,
        node: i32,
        key: &str,
        command: impl FnOnce(&mut M, i64, Ticket, &mut Effects<M>),
    ) -> Result<Reply<M::Reply>, ErrorCode> {
        let (sender, mut receiver) = oneshot::channel();
        self.on_shard(state, node, key, |loaded, now_ms, effects| {
            let ticket = Ticket(loaded.next_ticket);
            loaded.next_ticket += 1;
            loaded.waiting.insert(ticket, sender);
            command(&mut loaded.machine, now_ms, ticket, effects);
        })?;
        Ok(match receiver.try_recv() {
            Ok(reply) => Reply::Now(reply),
            Err(_) => Reply::Later(receiver),
        })
    }

    /// Runs a command that has its result at once, on the shard of a key. Its records are in the log when this returns.
    ///
    /// # Errors
    /// The node does not coordinate the key.
    pub(crate) fn with<T>(
        self: &Arc<Self>,
        state: &Arc<State>,
        node: i32,
        key: &str,
        command: impl FnOnce(&mut M, i64, &mut Effects<M>) -> T,
    ) -> Result<T, ErrorCode> {
        self.on_shard(state, node, key, |loaded, now_ms, effects| command(&mut loaded.machine, now_ms, effects))
    }

    fn on_shard<T>(
        self: &Arc<Self>,
        state: &Arc<State>,
        node: i32,
        key: &str,
        command: impl FnOnce(&mut Loaded<M>, i64, &mut Effects<M>) -> T,
    ) -> Result<T, ErrorCode> {
        let (index, partition) = self.partition(state, key)?;
        self.on_partition(state, node, (index, &partition), command)
    }

    /// Runs a command on all shards that have something in their logs, whatever node runs them. A shard without a leader
    /// is left out.
    pub(crate) fn on_all(self: &Arc<Self>, state: &Arc<State>, mut command: impl FnMut(&mut M, i64, &mut Effects<M>)) {
        let Some(topic) = state.topic(TopicRef::Name(self.topic)) else { return };
        for (index, partition) in (0..).zip(topic.partitions()) {
            if partition.with_log(|log| log.end_offset() == log.start_offset()) {
                continue;
            }
            let node = partition.leadership().leader;
            let done = self.on_partition(state, node, (index, &partition), |loaded, now_ms, effects| {
                command(&mut loaded.machine, now_ms, effects);
            });
            if let Err(code) = done {
                tracing::debug!(topic = self.topic, index, %code, "a shard was left out");
            }
        }
    }

    fn on_partition<T>(
        self: &Arc<Self>,
        state: &Arc<State>,
        node: i32,
        (index, partition): (i32, &Partition),
        command: impl FnOnce(&mut Loaded<M>, i64, &mut Effects<M>) -> T,
    ) -> Result<T, ErrorCode> {
        let shard = self.shard(state, index);
        let mut guard = shard.lock();
        let loaded = load(&mut guard, state, node, partition)?;
        let now_ms = state.now_ms();
        let before = loaded.machine.deadline();
        let mut effects = Effects::new();
        let result = command(loaded, now_ms, &mut effects);
        let work = carry_out(&mut guard, effects, partition, now_ms)?;
        let after = guard.as_ref().and_then(|loaded| loaded.machine.deadline());
        drop(guard);
        if after != before {
            shard.rearm.notify_one();
        }
        work.into_iter().for_each(|work| M::work(state, node, work));
        Ok(result)
    }

    /// Looks at all machines that this node runs, in the order of their partitions.
    pub(crate) fn each<T>(&self, state: &State, node: i32, mut look: impl FnMut(&M) -> T) -> Vec<T> {
        let Some(topic) = state.topic(TopicRef::Name(self.topic)) else { return Vec::new() };
        let mut all = Vec::new();
        for (index, partition) in (0..).zip(topic.partitions()) {
            // A partition without records has nothing to show, and needs no machine for it.
            let known = self.shards().get(&index).cloned();
            if known.is_none() && partition.with_log(|log| log.end_offset() == log.start_offset()) {
                continue;
            }
            let shard = known.unwrap_or_else(|| self.shards().entry(index).or_default().clone());
            let mut guard = shard.lock();
            if let Ok(loaded) = load(&mut guard, state, node, &partition) {
                all.push(look(&loaded.machine));
            }
        }
        all
    }

    /// A marker was appended to a partition of the internal topic by other hands than this coordinator's.
    pub(crate) fn ended(&self, index: i32, producer_id: i64, committed: bool) {
        let shard = self.shards().get(&index).cloned();
        if let Some(shard) = shard {
            if let Some(loaded) = &mut *shard.lock() {
                loaded.machine.ended(producer_id, committed);
            }
        }
    }

    fn shard(self: &Arc<Self>, state: &Arc<State>, index: i32) -> Arc<Shard<M>> {
        let mut shards = self.shards();
        if let Some(shard) = shards.get(&index) {
            return shard.clone();
        }
        let shard = Arc::<Shard<M>>::default();
        shards.insert(index, shard.clone());
        // Tests of handlers run without a runtime, and without timers.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(keep_time(Arc::downgrade(self), Arc::downgrade(state), shard.clone(), index));
        }
        shard
    }

    /// When a machine has something to do next.
    pub(crate) fn next_deadline(&self) -> Option<i64> {
        let shards: Vec<_> = self.shards().values().cloned().collect();
        let deadline = |shard: &Arc<Shard<M>>| shard.lock().as_ref().and_then(|loaded| loaded.machine.deadline());
        shards.iter().filter_map(deadline).min()
    }

    /// Does all that is due by now, without waiting for the tasks that keep time.
    pub(crate) fn tick_due(&self, state: &Arc<State>) {
        let shards: Vec<_> = self.shards().iter().map(|(index, shard)| (*index, shard.clone())).collect();
        let now_ms = state.now_ms();
        for (index, shard) in shards {
            let deadline = shard.lock().as_ref().and_then(|loaded| loaded.machine.deadline());
            if deadline.is_some_and(|deadline| deadline <= now_ms) {
                self.tick(state, &shard, index);
            }
        }
    }

    fn tick(&self, state: &Arc<State>, shard: &Shard<M>, index: i32) {
        let partition = self.topic(state).ok().and_then(|topic| topic.partition(index));
        let mut guard = shard.lock();
        let (Some(partition), Some(node)) = (partition, guard.as_ref().map(|loaded| loaded.node)) else {
            *guard = None;
            return;
        };
        // Another node may lead by now: its first command replays, and nothing is due here.
        let Ok(loaded) = load(&mut guard, state, node, &partition) else {
            *guard = None;
            return;
        };
        let now_ms = state.now_ms();
        let mut effects = Effects::new();
        loaded.machine.tick(now_ms, &mut effects);
        let carried_out = carry_out(&mut guard, effects, &partition, now_ms);
        drop(guard);
        match carried_out {
            Ok(work) => work.into_iter().for_each(|work| M::work(state, node, work)),
            Err(code) => tracing::debug!(topic = self.topic, index, %code, "a timer of a coordinator came too late"),
        }
    }

    fn shards(&self) -> MutexGuard<'_, BTreeMap<i32, Arc<Shard<M>>>> {
        self.shards.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Machine> Drop for Coordinator<M> {
    /// Lets the tasks that keep time look whether the cluster is still there.
    fn drop(&mut self) {
        self.shards().values().for_each(|shard| shard.rearm.notify_one());
    }
}

impl<M: Machine> Default for Shard<M> {
    fn default() -> Self {
        Self { loaded: Mutex::default(), rearm: Notify::new() }
    }
}

impl<M: Machine> Shard<M> {
    fn lock(&self) -> MutexGuard<'_, Option<Loaded<M>>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Kafka's choice: the absolute value of the hash of Java's strings, and 0 for the one that has none.
fn partition_of(key: &str, count: usize) -> i32 {
    let hash = key.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    hash.checked_abs().unwrap_or(0) % (count.max(1) as i32)
}

/// The machine of a shard, replayed again when the partition has another leader than before.
fn load<'a, M: Machine>(
    guard: &'a mut Option<Loaded<M>>,
    state: &State,
    node: i32,
    partition: &Partition,
) -> Result<&'a mut Loaded<M>, ErrorCode> {
    let leadership = partition.leadership();
    if leadership.leader == NO_LEADER {
        *guard = None;
        return Err(ErrorCode::COORDINATOR_NOT_AVAILABLE);
    }
    if leadership.leader != node {
        return Err(ErrorCode::NOT_COORDINATOR);
    }
    if guard.as_ref().is_none_or(|loaded| (loaded.node, loaded.epoch) != (node, leadership.epoch)) {
        let mut machine = M::new(state);
        let batches: Vec<LogBatch> = partition.with_log(|log| {
            let start = log.start_offset();
            log.batches().filter(|batch| batch.last_offset >= start).collect()
        });
        batches.iter().for_each(|batch| replay(&mut machine, batch));
        machine.loaded(state.now_ms());
        *guard = Some(Loaded { node, epoch: leadership.epoch, machine, next_ticket: 0, waiting: HashMap::new() });
    }
    guard.as_mut().ok_or(ErrorCode::COORDINATOR_NOT_AVAILABLE)
}

fn replay<M: Machine>(machine: &mut M, stored: &LogBatch) {
    let producer_id = stored.sequence.map(|sequence| sequence.producer_id);
    // The broker wrote it, or checked it before it was appended.
    let Ok(batch) = Batch::parse(stored.bytes.clone(), ReadOptions::default()) else { return };
    for record in batch.records().flatten() {
        if stored.kind == BatchKind::Control {
            match (producer_id, Control::parse(&record)) {
                (Some(producer_id), Ok(Control::Commit { .. })) => machine.ended(producer_id, true),
                (Some(producer_id), Ok(Control::Abort { .. })) => machine.ended(producer_id, false),
                _ => {}
            }
            continue;
        }
        let Some(key) = record.key else { continue };
        let copy = |bytes: &[u8]| Bytes::copy_from_slice(bytes);
        let record = CoordinatorRecord { key: copy(key), value: record.value.map(copy) };
        machine.replay(&record, producer_id.filter(|_| stored.kind == BatchKind::Transactional));
    }
}

/// Appends the records of a command, replays them, and sends the replies. Gives the work that is left to do.
fn carry_out<M: Machine>(
    guard: &mut Option<Loaded<M>>,
    effects: Effects<M>,
    partition: &Partition,
    now_ms: i64,
) -> Result<Vec<M::Work>, ErrorCode> {
    let Some(loaded) = guard else { return Err(ErrorCode::NOT_COORDINATOR) };
    let Effects { records, producer, replies, work, .. } = effects;
    if !records.is_empty() {
        let all: Vec<_> = records.iter().map(|record| record.to_record(now_ms)).collect();
        let appended = own::batch(&all, producer)
            .map_err(|_| ErrorCode::UNKNOWN_SERVER_ERROR)
            .and_then(|batch| partition.append_own(loaded.node, batch, now_ms).map_err(|_| ErrorCode::NOT_COORDINATOR));
        if let Err(code) = appended {
            // What the command did besides its records is not in the log: the next one begins with a replay.
            *guard = None;
            return Err(code);
        }
        let producer_id = producer.map(|(id, _)| id);
        records.iter().for_each(|record| loaded.machine.replay(record, producer_id));
    }
    for (ticket, reply) in replies {
        if let Some(sender) = loaded.waiting.remove(&ticket) {
            // The client may be gone.
            let _ = sender.send(reply);
        }
    }
    Ok(work)
}

/// Wakes the machine of a shard whenever it is due, until the cluster is gone.
async fn keep_time<M: Machine>(
    coordinator: Weak<Coordinator<M>>,
    state: Weak<State>,
    shard: Arc<Shard<M>>,
    index: i32,
) {
    while let Some(clock) = state.upgrade().map(|state| state.clock.clone()) {
        let deadline = shard.lock().as_ref().and_then(|loaded| loaded.machine.deadline());
        let due = async {
            match deadline {
                Some(deadline) => clock.sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = due => {}
            () = shard.rearm.notified() => continue,
        }
        let (Some(coordinator), Some(state)) = (coordinator.upgrade(), state.upgrade()) else { return };
        coordinator.tick(&state, &shard, index);
    }
}

#[cfg(test)]
mod tests;
