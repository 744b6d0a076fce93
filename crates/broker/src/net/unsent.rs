//! How many bytes of responses wait for clients to read them.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Above this, clients that do not read are disconnected and Fetch responses become small.
const LIMIT: usize = 256 << 20;

/// Counts the bytes of all responses that are not sent yet.
#[derive(Debug, Default)]
pub(crate) struct Unsent(AtomicUsize);

impl Unsent {
    /// Counts a response until the guard is dropped.
    pub(crate) fn hold(&self, bytes: usize) -> Held<'_> {
        self.0.fetch_add(bytes, Ordering::Relaxed);
        Held { all: &self.0, bytes }
    }

    /// Bytes until the limit.
    pub(crate) fn room(&self) -> usize {
        LIMIT.saturating_sub(self.0.load(Ordering::Relaxed))
    }
}

/// A response that is being sent.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    all: &'a AtomicUsize,
    bytes: usize,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_comes_back_when_a_response_is_sent() {
        let unsent = Unsent::default();
        let held = unsent.hold(100 << 20);
        assert_eq!(unsent.room(), 156 << 20);
        let more = unsent.hold(200 << 20);
        assert_eq!(unsent.room(), 0);
        drop(held);
        assert_eq!(unsent.room(), 56 << 20);
        drop(more);
        assert_eq!(unsent.room(), LIMIT);
    }
}
