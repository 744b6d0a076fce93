use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use milena_messages::ErrorCode;
use milena_records::BatchMut;
use tokio::sync::Notify;

use crate::incoming::IncomingBatch;
use crate::log::{Log, LogBatch};
use crate::producer_state::{Appended, Producers};
use crate::refusal::Refusal;

/// One partition: its log, its producers, and who waits for news.
#[derive(Debug, Default)]
pub(crate) struct Partition {
    inner: Mutex<Inner>,
    watches: Mutex<Watches>,
}

#[derive(Debug, Default)]
struct Inner {
    log: Log,
    producers: Producers,
}

/// Those who wait, each with its own number for this partition.
#[derive(Debug, Default)]
struct Watches {
    list: Vec<(Weak<Waiter>, usize)>,
    /// When there are that many, those who are gone are taken out.
    prune_at: usize,
}

/// Waits for changes of several partitions.
#[derive(Debug, Default)]
pub(crate) struct Waiter {
    /// The numbers of the partitions that changed.
    changed: Mutex<BTreeSet<usize>>,
    news: Notify,
}

impl Waiter {
    fn changed(&self, number: usize) {
        lock(&self.changed).insert(number);
        // A permit is kept for a waiter that is not waiting at this very moment.
        self.news.notify_one();
    }

    /// The numbers of the partitions that changed since the last call; waits until there is one.
    pub(crate) async fn news(&self) -> BTreeSet<usize> {
        loop {
            self.news.notified().await;
            let changed = std::mem::take(&mut *lock(&self.changed));
            if !changed.is_empty() {
                return changed;
            }
        }
    }
}

/// Nothing here is left half done by a panic, so a poisoned lock is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Partition {
    /// Appends a batch, or finds where it went when it came before.
    ///
    /// # Errors
    /// The sequence number or epoch of an idempotent producer does not fit.
    pub(crate) fn append(&self, mut batch: IncomingBatch, now_ms: i64) -> Result<Appended, Refusal> {
        let appended = {
            let Inner { log, producers } = &mut *lock(&self.inner);
            let before = batch.sequence.map(|sequence| producers.check(sequence)).transpose()?;
            if let Some(before) = before.flatten() {
                return Ok(before);
            }
            let base_offset = log.end_offset();
            BatchMut::new(&mut batch.bytes)
                .map_err(|error| Refusal::new(ErrorCode::CORRUPT_MESSAGE, error.to_string()))?
                .set_base_offset(base_offset);
            let appended = Appended { base_offset, log_append_time_ms: batch.log_append_time_ms };
            let last_offset = base_offset + i64::from(batch.last_offset_delta);
            let bytes = batch.bytes.freeze();
            log.append(LogBatch { base_offset, last_offset, max_timestamp: batch.max_timestamp, bytes }, now_ms);
            if let Some(sequence) = batch.sequence {
                producers.appended(sequence, appended);
            }
            appended
        };
        self.wake();
        Ok(appended)
    }

    /// Looks at the log.
    pub(crate) fn with_log<T>(&self, look: impl FnOnce(&Log) -> T) -> T {
        look(&lock(&self.inner).log)
    }

    /// From now on until it is dropped, `waiter` gets `number` when the partition changes.
    pub(crate) fn watch(&self, waiter: &Arc<Waiter>, number: usize) {
        let mut watches = lock(&self.watches);
        if watches.list.len() >= watches.prune_at {
            watches.list.retain(|(waiter, _)| waiter.strong_count() > 0);
            watches.prune_at = 2 * watches.list.len() + 8;
        }
        watches.list.push((Arc::downgrade(waiter), number));
    }

    /// Makes everybody who waits look again.
    pub(crate) fn wake(&self) {
        lock(&self.watches).list.retain(|(waiter, number)| {
            waiter.upgrade().is_some_and(|waiter| {
                waiter.changed(*number);
                true
            })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_waiter_learns_which_partitions_changed() {
        let partitions = [Partition::default(), Partition::default(), Partition::default()];
        let waiter = Arc::new(Waiter::default());
        partitions.iter().enumerate().for_each(|(number, partition)| partition.watch(&waiter, number));
        partitions[2].wake();
        partitions[0].wake();
        partitions[2].wake();
        assert_eq!(waiter.news().await, BTreeSet::from([0, 2]));
        partitions[1].wake();
        assert_eq!(waiter.news().await, BTreeSet::from([1]));
    }

    #[test]
    fn those_who_are_gone_are_forgotten() {
        let partition = Partition::default();
        for _ in 0..10_000 {
            partition.watch(&Arc::new(Waiter::default()), 0);
            assert!(lock(&partition.watches).list.len() < 32);
        }
        partition.wake();
        assert!(lock(&partition.watches).list.is_empty());
    }
}
