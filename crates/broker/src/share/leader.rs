//! The leaders of partitions, as share groups see them: each runs a [`SharePartition`] for each group that reads one of its
//! partitions, and keeps what comes of it at the share coordinator.
//!
//! A share partition lives as long as its leader leads at the same epoch and some member of the group has a session with
//! the node. Then it is loaded again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use milena_messages::{ErrorCode, Uuid};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use crate::cluster::{State, TopicRef};
use crate::cost::Cost;
use crate::share::delivery::{Acknowledgement, Change, SharePartition};
use crate::share::session::{Place, SessionKey};
use crate::share::settings::{OffsetReset, ShareSettings};
use crate::share::state::ShareWrite;
use crate::share::{ShareKey, ShareRefusal};
use crate::storage::partition::Partition;
use crate::timers::Timers;

/// The share partitions of all nodes.
#[derive(Debug, Default)]
pub(crate) struct ShareLeaders {
    places: Mutex<BTreeMap<ShareKey, Arc<LedPartition>>>,
    timers: Mutex<Locks>,
    /// The next deadline changed.
    rearm: Arc<Notify>,
}

/// When locks end.
#[derive(Debug, Default)]
struct Locks {
    due: Timers<ShareKey>,
    /// The task that keeps time runs.
    runs: bool,
}

/// A partition that a node leads, for one share group.
#[derive(Debug)]
pub(crate) struct LedPartition {
    pub(crate) key: ShareKey,
    pub(crate) partition: Arc<Partition>,
    node: i32,
    leader_epoch: i32,
    share: Mutex<SharePartition>,
}

/// Nothing here is left half done by a panic, so a poisoned lock is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LedPartition {
    /// Looks at what is in flight, or changes it. Locks of records are armed by [`ShareLeaders::arm`].
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut SharePartition) -> T) -> T {
        act(&mut lock(&self.share))
    }

    fn is_current(&self, node: i32) -> bool {
        let leadership = self.partition.leadership();
        self.node == node && (leadership.leader, leadership.epoch) == (node, self.leader_epoch)
    }
}

/// What the share coordinator refuses, as clients of the leader see it.
fn for_client(refusal: ShareRefusal) -> ShareRefusal {
    let code = match refusal.code {
        ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS => {
            ErrorCode::COORDINATOR_NOT_AVAILABLE
        }
        ErrorCode::FENCED_LEADER_EPOCH | ErrorCode::FENCED_STATE_EPOCH => ErrorCode::NOT_LEADER_OR_FOLLOWER,
        code @ (ErrorCode::GROUP_ID_NOT_FOUND | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) => code,
        _ => ErrorCode::UNKNOWN_SERVER_ERROR,
    };
    ShareRefusal { code, ..refusal }
}

/// Whether a refusal says that this share partition is of the past.
fn is_fenced(code: ErrorCode) -> bool {
    [ErrorCode::NOT_LEADER_OR_FOLLOWER, ErrorCode::GROUP_ID_NOT_FOUND, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION]
        .contains(&code)
}

impl State {
    /// Runs a command at the share coordinator of a share partition, wherever that is.
    ///
    /// # Errors
    /// There is no coordinator; what the command refuses.
    pub(crate) fn with_share_state<T>(
        self: &Arc<Self>,
        key: &ShareKey,
        command: impl FnOnce(
            &mut crate::share::state::ShareMachine,
            i64,
            &mut crate::coordinator::Effects<crate::share::state::ShareMachine>,
        ) -> Result<T, ShareRefusal>,
    ) -> Result<T, ShareRefusal> {
        let name = key.to_string();
        let node = self.shares.find(self, &name).map_err(ShareRefusal::of)?;
        self.shares.with(self, node.id, &name, command).map_err(ShareRefusal::of)?
    }

    /// The share partition of a group, loaded if it is not yet.
    ///
    /// # Errors
    /// The node does not lead the partition; its state cannot be read.
    pub(crate) fn share_partition(
        self: &Arc<Self>,
        node: i32,
        group: &str,
        place: Place,
        settings: &ShareSettings,
    ) -> Result<Arc<LedPartition>, ShareRefusal> {
        let key = ShareKey { group: group.to_owned(), topic: place.0, partition: place.1 };
        if let Some(led) = self.share_leaders.find(node, &key) {
            return Ok(led);
        }
        let found = self.topic(TopicRef::Id(key.topic)).and_then(|topic| topic.partition(key.partition));
        let partition = found.ok_or_else(|| ShareRefusal::of(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION))?;
        let leadership = partition.leadership();
        leadership.check_leader(node).map_err(ShareRefusal::of)?;
        let leader_epoch = leadership.epoch;
        let read = self.with_share_state(&key, |machine, now_ms, effects| {
            machine.read(&key, leader_epoch, (&**self, now_ms), effects)
        });
        let state = read.map_err(for_client)?;
        let start = match state.start_offset {
            -1 => start_offset(&partition, settings, self.now_ms())?,
            start => start,
        };
        let share = Mutex::new(SharePartition::load(&state, leader_epoch, start)?);
        let led = Arc::new(LedPartition { key: key.clone(), partition, node, leader_epoch, share });
        // Another request may have been faster.
        Ok(lock(&self.share_leaders.places).entry(key).or_insert(led).clone())
    }

    /// Keeps a change at the share coordinator, or takes it back.
    fn keep(
        self: &Arc<Self>,
        led: &LedPartition,
        share: &mut SharePartition,
        change: Change,
    ) -> Result<(), ShareRefusal> {
        if change.batches.is_empty() {
            return Ok(());
        }
        let write = ShareWrite {
            state_epoch: share.state_epoch(),
            leader_epoch: share.leader_epoch(),
            start_offset: share.start_offset(),
            complete_count: share.complete_count(),
            batches: change.batches.clone(),
        };
        let written = self.with_share_state(&led.key, |machine, now_ms, effects| {
            machine.write(&led.key, write, (&**self, now_ms), effects)
        });
        match written {
            Ok(()) => {
                share.keep(&change);
                Ok(())
            }
            Err(refusal) => {
                share.undo(change);
                Err(for_client(refusal))
            }
        }
    }

    /// Carries out the verdicts of a member on records of a partition.
    ///
    /// # Errors
    /// Nothing of the partition is out on this node; the records are not out with this member; the change cannot be kept.
    pub(crate) fn share_acknowledge(
        self: &Arc<Self>,
        session: &SessionKey,
        place: Place,
        verdicts: &[Acknowledgement],
        settings: &ShareSettings,
    ) -> Result<(), ShareRefusal> {
        let key = ShareKey { group: session.group.clone(), topic: place.0, partition: place.1 };
        let found = self.share_leaders.find(session.node, &key);
        let led = found.ok_or_else(|| ShareRefusal::of(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION))?;
        let now_ms = self.now_ms();
        let acknowledged = led.with(|share| {
            let change = share.acknowledge(&session.member, verdicts, settings, now_ms)?;
            self.keep(&led, share, change)
        });
        self.settle(&led, acknowledged)
    }

    /// Gives back what a member holds of these partitions.
    pub(crate) fn share_release(self: &Arc<Self>, session: &SessionKey, places: &[Place]) {
        let settings = self.share_settings(&session.group);
        for place in places {
            let key = ShareKey { group: session.group.clone(), topic: place.0, partition: place.1 };
            let Some(led) = self.share_leaders.find(session.node, &key) else { continue };
            let released = led.with(|share| {
                let change = share.release(&session.member, &settings);
                self.keep(&led, share, change)
            });
            if let Err(refusal) = self.settle(&led, released) {
                tracing::debug!(key = %led.key, message = refusal.message, "records were not released");
            }
        }
    }

    /// A connection has ended: its sessions end, and what they held is available to others.
    pub(crate) fn share_disconnected(self: &Arc<Self>, connection: u64) {
        let left = self.share_sessions.disconnected(connection);
        left.sessions.iter().for_each(|(session, places)| self.share_release(session, places));
        for (node, group) in left.empty {
            lock(&self.share_leaders.places).retain(|key, led| key.group != group || led.node != node);
        }
    }

    /// Afterwards: timers are set, those who wait look again, and a share partition of the past is gone.
    fn settle<T>(
        self: &Arc<Self>,
        led: &Arc<LedPartition>,
        result: Result<T, ShareRefusal>,
    ) -> Result<T, ShareRefusal> {
        if result.as_ref().is_err_and(|refusal| is_fenced(refusal.code)) {
            self.share_leaders.forget(led);
        }
        self.share_arm(led);
        led.partition.wake();
        result
    }

    /// Notes when the next lock of a share partition ends.
    pub(crate) fn share_arm(self: &Arc<Self>, led: &LedPartition) {
        let deadline = led.with(|share| share.next_deadline());
        let mut locks = lock(&self.share_leaders.timers);
        let before = locks.due.first();
        match deadline {
            Some(deadline) => locks.due.set(&led.key, deadline),
            None => _ = locks.due.remove(&led.key),
        }
        let changed = locks.due.first() != before;
        // Tests of handlers run without a runtime, and without timers.
        let runtime = Handle::try_current().ok().filter(|_| !locks.runs && deadline.is_some());
        locks.runs |= runtime.is_some();
        drop(locks);
        if let Some(runtime) = runtime {
            runtime.spawn(keep_time(Arc::downgrade(self)));
        } else if changed {
            self.share_leaders.rearm.notify_one();
        }
    }

    /// Gives up the locks that have ended by now.
    pub(crate) fn share_tick_due(self: &Arc<Self>) {
        let now_ms = self.now_ms();
        let due = lock(&self.share_leaders.timers).due.due(now_ms);
        for key in due {
            lock(&self.share_leaders.timers).due.remove(&key);
            let led = lock(&self.share_leaders.places).get(&key).cloned();
            let Some(led) = led.filter(|led| led.is_current(led.node)) else { continue };
            let settings = self.share_settings(&key.group);
            let expired = led.with(|share| {
                let change = share.expire(now_ms, &settings);
                self.keep(&led, share, change)
            });
            if let Err(refusal) = self.settle(&led, expired) {
                tracing::debug!(key = %led.key, message = refusal.message, "locks that ended were not kept");
            }
        }
    }

    /// Deletes the state of partitions of a topic.
    ///
    /// # Errors
    /// The code of a partition whose state could not be deleted.
    pub(crate) fn delete_share_state(
        self: &Arc<Self>,
        group: &str,
        topic: Uuid,
        partitions: &BTreeSet<i32>,
    ) -> Result<(), ErrorCode> {
        let mut result = Ok(());
        for partition in partitions {
            let key = ShareKey { group: group.to_owned(), topic, partition: *partition };
            let deleted = self.with_share_state(&key, |machine, _, effects| machine.delete(&key, &**self, effects));
            if let Err(refusal) = deleted {
                result = Err(refusal.code);
            }
        }
        result
    }

    /// A topic is gone, and what share groups know of it.
    pub(crate) fn share_topic_deleted(self: &Arc<Self>, topic: Uuid) {
        lock(&self.share_leaders.places).retain(|key, _| key.topic != topic);
        self.shares.on_all(self, |machine, _, effects| machine.forget_topic(topic, effects));
        self.groups.on_all(self, |machine, _, effects| machine.share_topic_deleted(topic, effects));
    }
}

/// Where a group begins to read a partition when it never did.
///
/// # Errors
/// There is no record that is young enough.
fn start_offset(partition: &Partition, settings: &ShareSettings, now_ms: i64) -> Result<i64, ShareRefusal> {
    let OffsetReset::ByDuration(ms) = settings.reset else {
        return Ok(partition.with_log(|log| match settings.reset {
            OffsetReset::Earliest => log.start_offset(),
            _ => log.high_watermark(),
        }));
    };
    let time = now_ms.saturating_sub(ms);
    let start = partition.with_log(|log| log.start_offset());
    let mut from = start;
    while let Some(stored) = partition.with_log(|log| log.at_time(time, from)) {
        let batch = Cost::full(0).open(&stored.bytes, false);
        let batch = batch.map_err(|_| ShareRefusal::of(ErrorCode::UNKNOWN_SERVER_ERROR))?;
        let mut records = batch.records().flatten();
        if let Some(record) = records.find(|record| record.timestamp >= time && record.offset >= start) {
            return Ok(record.offset);
        }
        from = stored.last_offset + 1;
    }
    let message = format!("Offset for timestamp {time} not found");
    Err(ShareRefusal::new(ErrorCode::OFFSET_NOT_AVAILABLE, message))
}

impl ShareLeaders {
    /// The share partition of a node that leads still.
    fn find(&self, node: i32, key: &ShareKey) -> Option<Arc<LedPartition>> {
        let mut places = lock(&self.places);
        let led = places.get(key)?.clone();
        if led.is_current(node) {
            return Some(led);
        }
        // It may be that of another node, which leads.
        if !led.is_current(led.node) {
            places.remove(key);
        }
        None
    }

    fn forget(&self, led: &Arc<LedPartition>) {
        let mut places = lock(&self.places);
        if places.get(&led.key).is_some_and(|known| Arc::ptr_eq(known, led)) {
            places.remove(&led.key);
        }
    }

    /// When the next lock ends.
    pub(crate) fn next_deadline(&self) -> Option<i64> {
        lock(&self.timers).due.first()
    }

    /// All share partitions.
    pub(crate) fn all(&self) -> Vec<Arc<LedPartition>> {
        lock(&self.places).values().cloned().collect()
    }
}

impl Drop for ShareLeaders {
    /// Lets the task that keeps time look whether the cluster is still there.
    fn drop(&mut self) {
        self.rearm.notify_one();
    }
}

/// Gives up locks when they end, until the cluster is gone.
async fn keep_time(state: Weak<State>) {
    while let Some(strong) = state.upgrade() {
        let (clock, deadline) = (strong.clock.clone(), strong.share_leaders.next_deadline());
        let rearm = strong.share_leaders.rearm.clone();
        drop(strong);
        let due = async {
            match deadline {
                Some(deadline) => clock.sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = due => {}
            () = rearm.notified() => continue,
        }
        let Some(state) = state.upgrade() else { return };
        state.share_tick_due();
    }
}
