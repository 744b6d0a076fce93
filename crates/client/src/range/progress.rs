use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::timing::{Backoff, rounded};

/// First pause after a response that brought nothing.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// For how long a reader with an end waits without progress, unless the caller says otherwise.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a reader has made no progress, and how long it may.
#[derive(Debug)]
pub(super) struct Progress {
    /// `None` for no limit.
    patience: Option<Duration>,
    /// Limit for a time without any broker; `None` for no limit, zero for none on top of the deadline of each call.
    outage_patience: Option<Duration>,
    since: Option<Instant>,
    backoff: Backoff,
}

impl Progress {
    pub(super) fn new(patience: Option<Duration>, has_end: bool) -> Self {
        Self {
            patience: patience.or(has_end.then_some(PATIENCE)),
            outage_patience: patience.or(has_end.then_some(Duration::ZERO)),
            since: None,
            backoff: Backoff::new(FIRST_PAUSE),
        }
    }

    /// There was progress.
    pub(super) fn made(&mut self) {
        self.since = None;
        self.backoff.reset();
    }

    /// A response brought nothing: waits, or gives the time without progress when that is too long.
    pub(super) async fn wait(&mut self) -> Result<(), Duration> {
        self.wait_up_to(self.patience).await
    }

    /// No broker could be asked: waits, or gives the time without progress when that is too long.
    pub(super) async fn wait_for_brokers(&mut self) -> Result<(), Duration> {
        self.wait_up_to(self.outage_patience).await
    }

    async fn wait_up_to(&mut self, patience: Option<Duration>) -> Result<(), Duration> {
        let stalled = self.since.get_or_insert_with(Instant::now).elapsed();
        if patience.is_some_and(|patience| stalled >= patience) {
            return Err(rounded(stalled));
        }
        self.backoff.wait().await;
        Ok(())
    }

    /// The caller gets an error and may try again at once: the second time there is a pause first.
    pub(super) async fn pause_after_error(&mut self) {
        if self.since.replace(Instant::now()).is_some() {
            self.backoff.wait().await;
        }
    }

    /// The end of the partition is reached and more is waited for. A broker waits as long as the request says; one that
    /// responds earlier must not be asked without a pause.
    pub(super) async fn idle(&mut self, took: Duration, max_wait: Duration) {
        self.since = None;
        if took < max_wait || max_wait < FIRST_PAUSE {
            let pause = self.backoff.next_pause();
            sleep(pause.min(max_wait.saturating_sub(took).max(FIRST_PAUSE))).await;
        } else {
            self.backoff.reset();
        }
    }
}
