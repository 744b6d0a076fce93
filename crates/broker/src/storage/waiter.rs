//! Who waits for changes of partitions.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

/// Those who wait, each with its own number for this partition.
#[derive(Debug, Default)]
pub(super) struct Watches {
    pub(super) list: Vec<(Weak<Waiter>, usize)>,
    /// When there are that many, those who are gone are taken out.
    pub(super) prune_at: usize,
}

/// Waits for changes of several partitions.
#[derive(Debug, Default)]
pub(crate) struct Waiter {
    /// The numbers of the partitions that changed.
    changed: Mutex<BTreeSet<usize>>,
    news: Notify,
}

impl Waiter {
    pub(super) fn changed(&self, number: usize) {
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
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
