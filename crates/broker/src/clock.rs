//! The clock of a cluster: the system's, or one that tests move by hand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::oneshot;

/// Gives the time and waits for times to come. Timers of coordinators, retention and timestamps use it. Waits that a
/// client times by its own clock, such as those of Fetch, do not.
#[derive(Clone, Debug, Default)]
pub(crate) enum Clock {
    #[default]
    System,
    Virtual(Arc<VirtualClock>),
}

impl Clock {
    /// Milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> i64 {
        match self {
            Self::System => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64),
            Self::Virtual(clock) => clock.lock().now_ms,
        }
    }

    /// Waits until the clock shows this time, in milliseconds since 1970.
    pub(crate) async fn sleep_until(&self, time_ms: i64) {
        match self {
            Self::System => loop {
                let left = time_ms.saturating_sub(self.now_ms());
                if left <= 0 {
                    return;
                }
                // The system's clock may be set while we wait, so that a long wait looks again from time to time.
                tokio::time::sleep(Duration::from_millis(left.min(60_000) as u64)).await;
            },
            Self::Virtual(clock) => {
                if let Some(reached) = clock.reach(time_ms) {
                    // The sender is dropped only with the clock, which this call holds.
                    let _ = reached.await;
                }
            }
        }
    }
}

/// A clock that stands still until [`set`](Self::set) moves it.
#[derive(Debug)]
pub(crate) struct VirtualClock(Mutex<Times>);

#[derive(Debug)]
struct Times {
    now_ms: i64,
    next: u64,
    /// Those who wait, by the time they wait for.
    sleepers: BTreeMap<(i64, u64), oneshot::Sender<()>>,
}

impl VirtualClock {
    pub(crate) fn new(now_ms: i64) -> Self {
        Self(Mutex::new(Times { now_ms, next: 0, sleepers: BTreeMap::new() }))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Times> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` when the time has come.
    fn reach(&self, time_ms: i64) -> Option<oneshot::Receiver<()>> {
        let mut times = self.lock();
        if time_ms <= times.now_ms {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        let number = times.next;
        times.next += 1;
        times.sleepers.retain(|_, sleeper| !sleeper.is_closed());
        times.sleepers.insert((time_ms, number), sender);
        Some(receiver)
    }

    /// Moves the clock forward to this time, and wakes those whose time has come. It never goes back.
    pub(crate) fn set(&self, now_ms: i64) {
        let mut times = self.lock();
        times.now_ms = times.now_ms.max(now_ms);
        let first_later = (times.now_ms.saturating_add(1), 0);
        let later = times.sleepers.split_off(&first_later);
        for (_, sleeper) in std::mem::replace(&mut times.sleepers, later) {
            // A sleeper that is gone needs no waking.
            let _ = sleeper.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sleepers_wake_when_their_time_has_come() {
        let virtual_clock = Arc::new(VirtualClock::new(1000));
        let clock = Clock::Virtual(virtual_clock.clone());
        let sleepers = [3000, 2000, 9000].map(|time| {
            let clock = clock.clone();
            tokio::spawn(async move { clock.sleep_until(time).await })
        });
        tokio::task::yield_now().await;
        clock.sleep_until(1000).await;
        virtual_clock.set(3000);
        virtual_clock.set(10);
        let [first, second, third] = sleepers;
        first.await.unwrap();
        second.await.unwrap();
        assert!(!third.is_finished());
        assert_eq!(clock.now_ms(), 3000);
    }
}
