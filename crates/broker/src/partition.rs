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
    waiting: Mutex<Vec<Weak<Notify>>>,
}

#[derive(Debug, Default)]
struct Inner {
    log: Log,
    producers: Producers,
}

/// Nothing here is left half done by a panic, so that a poisoned lock is as good as any.
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

    /// From now on until it is dropped, `notify` is told when the partition changes.
    pub(crate) fn watch(&self, notify: &Arc<Notify>) {
        let mut waiting = lock(&self.waiting);
        waiting.retain(|notify| notify.strong_count() > 0);
        waiting.push(Arc::downgrade(notify));
    }

    /// Tells all who wait to look again.
    pub(crate) fn wake(&self) {
        // A permit is kept for those who are not waiting at this very moment.
        lock(&self.waiting).retain(|notify| {
            notify.upgrade().is_some_and(|notify| {
                notify.notify_one();
                true
            })
        });
    }
}
