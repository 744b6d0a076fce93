use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::config::ClientConfig;
use crate::error::{ConnectCause, Error, Result};

/// Longest pause between two attempts, unless the configured one is longer.
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// How long a request may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// From the moment it is written.
    pub(crate) timeout: Duration,
    /// In all. Moves back by the time for which the broker asked to wait.
    pub(crate) deadline: Instant,
}

/// The attempts of one operation, bounded by its deadline.
#[derive(Debug)]
pub(crate) struct Attempts {
    started: Instant,
    deadline: Instant,
    /// Until when a topic that no broker knows, or with `leader_grace` a partition without leader, is waited for.
    grace: Instant,
    leader_grace: bool,
    backoff: Backoff,
    count: u32,
    /// Time for which brokers asked to wait.
    muted: Duration,
    request_timeout: Duration,
    connect_timeout: Duration,
    max_throttle: Duration,
    /// The failure of the last attempt that had its full time.
    telling: Option<Error>,
}

impl Attempts {
    pub(crate) fn new(config: &ClientConfig) -> Self {
        let started = Instant::now();
        Self {
            started,
            deadline: started + config.deadline,
            grace: started + config.deadline.min(config.unknown_topic_grace),
            leader_grace: false,
            backoff: Backoff::new(config.retry_backoff),
            count: 0,
            muted: Duration::ZERO,
            request_timeout: config.request_timeout,
            connect_timeout: config.connect_timeout,
            max_throttle: config.max_throttle,
            telling: None,
        }
    }

    /// Waits for a missing leader no longer than for an unknown topic.
    pub(crate) fn with_leader_grace(mut self) -> Self {
        self.leader_grace = true;
        self
    }

    /// Ends at this moment at the latest.
    pub(crate) fn end_at(&mut self, deadline: Instant) {
        self.deadline = self.deadline.min(deadline);
    }

    /// How long a request sent now may take.
    pub(crate) fn limit(&self) -> Limit {
        Limit { timeout: self.request_timeout, deadline: self.deadline }
    }

    /// A broker asked to wait: that time does not count, up to a limit for the whole operation.
    pub(crate) fn extend(&mut self, muted: Duration) {
        let more = muted.min(self.max_throttle.saturating_sub(self.muted));
        self.muted += more;
        self.deadline += more;
        self.grace += more;
    }

    /// Milliseconds that a broker may take for a request sent now: a little less than the request has in all, so that the
    /// response still arrives.
    pub(crate) fn broker_timeout_ms(&self) -> i32 {
        let left = self.request_timeout.min(self.deadline.saturating_duration_since(Instant::now()));
        i32::try_from((left - left / 10).as_millis()).unwrap_or(i32::MAX)
    }

    /// The pause before the next attempt.
    ///
    /// # Errors
    /// The error, if it does not pass; with what was tried, if there is no time for another attempt.
    pub(crate) fn next_pause(&mut self, error: Error) -> Result<Duration> {
        self.count += 1;
        if !error.is_retriable() {
            return Err(error);
        }
        let pause = self.backoff.next_pause();
        let next = Instant::now() + pause;
        if self.has_grace(&error) && next >= self.grace {
            return Err(error);
        }
        // What was cut short by the deadline says less than an attempt that had its full time.
        let telling = match self.telling.take() {
            Some(before) if self.is_cut_short(&error) => before,
            _ => error,
        };
        if next >= self.deadline {
            let after = rounded(self.started.elapsed());
            return Err(Error::Deadline { after, attempts: self.count, last: Box::new(telling) });
        }
        tracing::debug!(error = %milena_wire::Report(&telling), attempt = self.count, "trying again");
        self.telling = Some(telling);
        Ok(pause)
    }

    /// Whether this error would end the operation now.
    pub(crate) fn is_over(&self, error: &Error) -> bool {
        let next = Instant::now() + self.backoff.next;
        !error.is_retriable() || next >= self.deadline || self.has_grace(error) && next >= self.grace
    }

    /// The error that ends the operation.
    pub(crate) fn over(&self, error: Error) -> Error {
        if !error.is_retriable() || self.has_grace(&error) {
            return error;
        }
        Error::Deadline { after: rounded(self.started.elapsed()), attempts: self.count + 1, last: Box::new(error) }
    }

    fn has_grace(&self, error: &Error) -> bool {
        error.is_unknown_topic() || self.leader_grace && matches!(error, Error::NoLeader { .. })
    }

    fn is_cut_short(&self, error: &Error) -> bool {
        match error {
            Error::Timeout { after, .. } => *after < self.request_timeout,
            Error::Connect { cause: ConnectCause::Timeout(after), .. } => *after < self.connect_timeout,
            Error::Unreachable(all) => all.iter().any(|error| self.is_cut_short(error)),
            _ => false,
        }
    }
}

/// Pauses that double.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    first: Duration,
    next: Duration,
}

impl Backoff {
    pub(crate) fn new(first: Duration) -> Self {
        Self { first, next: first }
    }

    /// The next pause, up to a second.
    pub(crate) fn next_pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(MAX_BACKOFF.max(self.first));
        pause
    }

    pub(crate) async fn wait(&mut self) {
        sleep(self.next_pause()).await;
    }

    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}

/// To the nearest millisecond: what is finer is noise to a reader.
pub(crate) fn rounded(duration: Duration) -> Duration {
    let millis = (duration + Duration::from_micros(500)).as_millis();
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use milena_messages::{ApiKey, ErrorCode};

    use super::*;

    fn refusal(code: ErrorCode) -> Error {
        let (topic, partition, message) = (None, None, None);
        Error::Broker { address: Arc::from("a:1"), api: ApiKey::PRODUCE, code, topic, partition, message }
    }

    async fn until_it_gives_up(code: ErrorCode) -> (Error, Duration) {
        let config = ClientConfig::default();
        let started = Instant::now();
        let mut attempts = Attempts::new(&config);
        loop {
            match attempts.next_pause(refusal(code)) {
                Ok(pause) => sleep(pause).await,
                Err(error) => return (error, started.elapsed()),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_passes_is_tried_until_the_deadline_with_pauses_that_double_up_to_a_second() {
        let (error, took) = until_it_gives_up(ErrorCode::NOT_LEADER_OR_FOLLOWER).await;
        // 50, 100, 200, 400, 800 ms, then seconds as long as another one fits below 60.
        assert!(matches!(error, Error::Deadline { attempts: 64, .. }), "{error}");
        assert_eq!(rounded(took), Duration::from_millis(59_550));
    }

    #[tokio::test(start_paused = true)]
    async fn an_unknown_topic_is_tried_for_its_grace_and_a_lasting_error_once() {
        let (error, took) = until_it_gives_up(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION).await;
        assert!(matches!(error, Error::Broker { .. }) && took < Duration::from_secs(5), "{error}");
        let (error, took) = until_it_gives_up(ErrorCode::TOPIC_AUTHORIZATION_FAILED).await;
        assert!(matches!(error, Error::Broker { .. }) && took.is_zero(), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn reports_the_attempt_that_had_its_full_time_and_not_the_one_that_the_deadline_cut() {
        let config = ClientConfig { deadline: Duration::from_secs(1), ..ClientConfig::default() };
        let mut attempts = Attempts::new(&config);
        sleep(attempts.next_pause(refusal(ErrorCode::NOT_LEADER_OR_FOLLOWER)).unwrap()).await;
        sleep(Duration::from_millis(940)).await;
        let after = Duration::from_millis(940);
        let cut = Error::Timeout { address: Arc::from("a:1"), api: ApiKey::PRODUCE, after, sent: true };
        let error = attempts.next_pause(cut).unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::NOT_LEADER_OR_FOLLOWER), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn time_that_a_broker_asked_for_does_not_count_up_to_its_limit() {
        let config = ClientConfig {
            deadline: Duration::from_secs(1),
            max_throttle: Duration::from_secs(10),
            ..ClientConfig::default()
        };
        let mut attempts = Attempts::new(&config);
        sleep(Duration::from_secs(9)).await;
        attempts.extend(Duration::from_secs(9));
        assert!(attempts.next_pause(refusal(ErrorCode::NOT_LEADER_OR_FOLLOWER)).is_ok());
        sleep(Duration::from_secs(9)).await;
        attempts.extend(Duration::from_secs(9));
        assert!(attempts.next_pause(refusal(ErrorCode::NOT_LEADER_OR_FOLLOWER)).is_err());
    }
}
