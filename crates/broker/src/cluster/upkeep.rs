//! What a cluster does by the clock: retention, compaction, and forgetting producers.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use crate::clock::Clock;
use crate::cluster::State;
use crate::storage::log::Log;

/// Kafka's default of `producer.id.expiration.ms`: a day.
const PRODUCER_EXPIRATION_MS: i64 = 86_400_000;

/// When memory is short, segments of coordinators that are larger than this are compacted at once.
const LARGE: u64 = 1 << 20;

/// When what is due next.
#[derive(Debug)]
pub(crate) struct Upkeep {
    retention: Mutex<Rounds>,
    compaction: Mutex<Rounds>,
    /// Held while logs are compacted: one after the other.
    compacting: Mutex<()>,
}

/// Something that happens at equal intervals.
#[derive(Clone, Copy, Debug)]
struct Rounds {
    next_ms: i64,
    every_ms: i64,
}

impl Rounds {
    fn new(now_ms: i64, every: Duration) -> Self {
        let every_ms = i64::try_from(every.as_millis()).unwrap_or(i64::MAX).max(1);
        Self { next_ms: now_ms.saturating_add(every_ms), every_ms }
    }

    /// The first round at or after the time.
    fn at_or_after(self, time_ms: i64) -> i64 {
        let late = time_ms.saturating_sub(self.next_ms).max(0);
        // Rounded up to whole intervals.
        let rounds = late / self.every_ms + i64::from(late % self.every_ms > 0);
        self.next_ms.saturating_add(rounds.saturating_mul(self.every_ms))
    }

    /// Whether a round is due; then the next one is after this time.
    fn take(&mut self, now_ms: i64) -> bool {
        let due = self.next_ms <= now_ms;
        if due {
            self.next_ms = self.at_or_after(now_ms.saturating_add(1));
        }
        due
    }
}

impl Upkeep {
    /// From this time on, retention is applied that often, and logs that need compaction are looked for that often.
    pub(crate) fn new(now_ms: i64, retention: Duration, compaction: Duration) -> Self {
        let rounds = |every| Mutex::new(Rounds::new(now_ms, every));
        Self { retention: rounds(retention), compaction: rounds(compaction), compacting: Mutex::default() }
    }

    /// When the next round is.
    fn next_ms(&self) -> i64 {
        lock(&self.retention).next_ms.min(lock(&self.compaction).next_ms)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Removes the segments that the settings of their topics do not keep. Gives how many went.
    pub(crate) fn apply_retention(&self) -> usize {
        let now_ms = self.now_ms();
        let mut removed = 0;
        for topic in self.topics() {
            for partition in topic.partitions() {
                partition.expire_producers(now_ms, PRODUCER_EXPIRATION_MS);
                removed += partition.apply_retention(now_ms);
            }
        }
        removed
    }

    /// Compacts the logs for which it is time, or with `always` all that can be. Gives how many were.
    pub(crate) fn compact(&self, always: bool) -> usize {
        let _compacting = lock(&self.upkeep.compacting);
        let mut compacted = 0;
        for topic in self.topics().iter().filter(|topic| topic.config().compacted) {
            for partition in topic.partitions() {
                compacted += usize::from(partition.compact(self.now_ms(), always));
            }
        }
        compacted
    }

    /// Frees memory for so many bytes, when there is too little, by what retention and compaction may remove now.
    pub(crate) fn make_room(&self, bytes: u64) {
        if self.memory.has_room(bytes) {
            return;
        }
        self.apply_retention();
        for topic in self.topics().iter().filter(|topic| topic.is_internal()) {
            let partitions = topic.partitions().into_iter();
            partitions
                .filter(|partition| partition.with_log(Log::active_size) > LARGE)
                .for_each(|partition| _ = partition.roll());
        }
        self.compact(false);
        tracing::warn!(used = self.memory.used(), bytes, "the limit of memory for records is reached");
    }

    /// The next time at which the clock brings something about; later than that, nothing is certain.
    pub(crate) fn upkeep_deadline(&self) -> Option<i64> {
        let now_ms = self.now_ms();
        let partitions: Vec<_> = self.topics().into_iter().flat_map(|topic| topic.partitions()).collect();
        let expires = partitions.iter().filter_map(|partition| partition.expires_at()).min();
        let compacted = partitions.iter().filter_map(|partition| partition.compaction_at(now_ms)).min();
        let expires = expires.map(|time| lock(&self.upkeep.retention).at_or_after(time));
        let compacted = compacted.map(|time| lock(&self.upkeep.compaction).at_or_after(time));
        expires.into_iter().chain(compacted).min()
    }

    /// Does what is due by now.
    pub(crate) fn upkeep_due(&self) {
        let now_ms = self.now_ms();
        if lock(&self.upkeep.retention).take(now_ms) {
            self.apply_retention();
        }
        if lock(&self.upkeep.compaction).take(now_ms) {
            self.compact(false);
        }
    }
}

/// Does what is due by the clock of the system, until the cluster is gone.
pub(crate) async fn keep_up(state: Weak<State>) {
    loop {
        let Some(next) = state.upgrade().map(|state| state.upkeep.next_ms()) else { return };
        Clock::System.sleep_until(next).await;
        let Some(state) = state.upgrade() else { return };
        let due: Arc<State> = state;
        // It may take long in a large cluster, and must not hold up connections.
        if tokio::task::spawn_blocking(move || due.upkeep_due()).await.is_err() {
            tracing::error!("upkeep of the cluster failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_stay_at_their_times() {
        let mut rounds = Rounds::new(100, Duration::from_millis(10));
        assert_eq!([0, 110, 111, 120, 121].map(|time| rounds.at_or_after(time)), [110, 110, 120, 120, 130]);
        assert!(!rounds.take(109));
        assert!(rounds.take(135));
        assert_eq!(rounds.next_ms, 140);
        assert!(rounds.take(140));
        assert_eq!(rounds.next_ms, 150);
    }
}
