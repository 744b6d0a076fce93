use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::config::ClientConfig;
use crate::error::{Error, Result};

/// Longest pause between two attempts, unless the configured one is longer.
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// The attempts of one operation, bounded by its deadline.
#[derive(Debug)]
pub(crate) struct Attempts {
    started: Instant,
    deadline: Instant,
    grace: Instant,
    backoff: Duration,
    count: u32,
    request_timeout: Duration,
}

impl Attempts {
    pub(crate) fn new(config: &ClientConfig) -> Self {
        let started = Instant::now();
        Self {
            started,
            deadline: started + config.deadline,
            grace: started + config.deadline.min(config.unknown_topic_grace),
            backoff: config.retry_backoff,
            count: 0,
            request_timeout: config.request_timeout,
        }
    }

    /// When the request sent now has to be answered.
    pub(crate) fn request_deadline(&self) -> Instant {
        self.deadline.min(Instant::now() + self.request_timeout)
    }

    /// Milliseconds that a broker may take for a request sent now: a little less than the request has in all, so that
    /// its answer still arrives.
    pub(crate) fn broker_timeout_ms(&self) -> i32 {
        let left = self.request_deadline().duration_since(Instant::now());
        i32::try_from((left - left / 10).as_millis()).unwrap_or(i32::MAX)
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// The error, when it will not pass, or with what was tried, when the time does not reach for another attempt.
    pub(crate) async fn again_after(&mut self, error: Error) -> Result<()> {
        self.count += 1;
        if !error.is_retriable() {
            return Err(error);
        }
        let next = Instant::now() + self.backoff;
        if error.is_unknown_topic() && next >= self.grace {
            return Err(error);
        }
        if next >= self.deadline {
            let after = rounded(self.started.elapsed());
            return Err(Error::Deadline { after, attempts: self.count, last: Box::new(error) });
        }
        tracing::debug!(%error, attempt = self.count, "trying again");
        sleep(self.backoff).await;
        self.backoff = (self.backoff * 2).min(MAX_BACKOFF.max(self.backoff));
        Ok(())
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
            if let Err(error) = attempts.again_after(refusal(code)).await {
                return (error, started.elapsed());
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
}
