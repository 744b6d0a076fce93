//! How much memory all logs of a cluster take together, and how much they may.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use milena_messages::ErrorCode;

use crate::refusal::Refusal;

/// The memory of all logs of a cluster.
#[derive(Debug)]
pub(crate) struct Memory {
    used: AtomicU64,
    limit: u64,
}

impl Memory {
    pub(crate) fn new(limit: u64) -> Self {
        Self { used: AtomicU64::new(0), limit }
    }

    /// Bytes that all logs take.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether so many bytes more are within the limit.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.used().saturating_add(bytes) <= self.limit
    }

    /// Checks whether producers may write so many bytes.
    ///
    /// # Errors
    /// The limit is reached.
    pub(crate) fn check(&self, bytes: u64) -> Result<(), Refusal> {
        if self.has_room(bytes) {
            return Ok(());
        }
        let message = format!("The records take {} bytes of memory, the limit is {}", self.used(), self.limit);
        Err(Refusal::new(ErrorCode::KAFKA_STORAGE_ERROR, message))
    }

    /// Checks whether coordinators may write so many bytes. They have a quarter more than producers, so that groups go on
    /// when topics are full.
    ///
    /// # Errors
    /// That is used up too.
    pub(crate) fn check_own(&self, bytes: u64) -> Result<(), Refusal> {
        if self.used().saturating_add(bytes) <= self.limit.saturating_add(self.limit / 4) {
            return Ok(());
        }
        self.check(bytes)
    }

    /// A log takes that many bytes instead of those before.
    pub(crate) fn change(&self, before: u64, after: u64) {
        self.used.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }
}

impl Default for Memory {
    /// Without a limit.
    fn default() -> Self {
        Self::new(u64::MAX)
    }
}

/// What the log of a partition takes of the memory of all.
#[derive(Debug)]
pub(crate) struct Charge {
    pub(crate) all: Arc<Memory>,
    pub(crate) own: u64,
}

impl Charge {
    pub(crate) fn set(&mut self, bytes: u64) {
        self.all.change(self.own, bytes);
        self.own = bytes;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}
