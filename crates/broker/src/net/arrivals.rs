//! When the bytes of requests arrived, for delays that count from then.

use std::collections::VecDeque;

use tokio::time::Instant;

/// Reads that are remembered while a request is handled; more of them are taken together.
const MAX_READS: usize = 1024;

/// The reads of a connection of which bytes may still be unhandled.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// All bytes read until now.
    total: u64,
    /// The total after each read, and its time.
    reads: VecDeque<(u64, Instant)>,
}

impl Arrivals {
    /// So many bytes were read just now.
    pub(super) fn add(&mut self, count: usize) {
        self.total += count as u64;
        let read = (self.total, Instant::now());
        if self.reads.len() >= MAX_READS {
            // A delay may become longer by this, never shorter.
            self.reads.pop_back();
        }
        self.reads.push_back(read);
    }

    /// When the last byte of a request arrived after which `left` bytes are unhandled.
    pub(super) fn of_last_request(&mut self, left: usize) -> Instant {
        let end = self.total.saturating_sub(left as u64);
        while self.reads.len() > 1 && self.reads.front().is_some_and(|(total, _)| *total < end) {
            self.reads.pop_front();
        }
        self.reads.front().map_or_else(Instant::now, |(_, time)| *time)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_arrives_with_its_last_byte() {
        let start = Instant::now();
        let mut arrivals = Arrivals::default();
        for count in [10, 5, 20] {
            arrivals.add(count);
            advance(Duration::from_secs(1)).await;
        }
        let mut at = |left| arrivals.of_last_request(left).duration_since(start).as_secs();
        // Requests of 10, 3 and 22 bytes.
        assert_eq!([at(25), at(22), at(0)], [0, 1, 2]);
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded_and_delays_never_become_shorter() {
        let mut arrivals = Arrivals::default();
        for _ in 0..10_000 {
            arrivals.add(1);
            advance(Duration::from_millis(1)).await;
        }
        assert_eq!(arrivals.reads.len(), MAX_READS);
        let last = Instant::now() - Duration::from_millis(1);
        assert_eq!(arrivals.of_last_request(0), last);
    }
}
