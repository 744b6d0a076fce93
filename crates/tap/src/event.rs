use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use milena_inspect::conversation::Exchange;
use milena_transport::Address;

/// Something that happened at a [`Tap`](crate::Tap).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A listener stands in for a broker from now on.
    Listening {
        /// The broker.
        broker: Address,
        /// The listener.
        at: SocketAddr,
    },
    /// A client came, and the broker took its connection.
    Opened {
        /// Number of the connection, from 1.
        connection: u64,
        /// The client.
        client: SocketAddr,
        /// The broker, or the first of those to ask first.
        broker: Address,
    },
    /// A request and its response as the client sent and got them, with addresses of this side and faults done: when the
    /// response is there or none is awaited. Its response is `None` when none was wanted, a fault took it, or the
    /// connection ended before it came.
    Exchange(Box<Exchange>),
    /// A connection is at its end.
    Closed {
        /// Number of the connection.
        connection: u64,
        /// Why, when not because one of both sides was done with it.
        why: Option<String>,
    },
    /// Something to know that is about no exchange.
    Warning(String),
}

/// The way of events to their reader, from any thread. It never makes the traffic wait: what does not fit is left
/// out, and counted.
#[derive(Debug)]
pub(crate) struct Queue {
    inner: Arc<Inner>,
}

/// Gives the [`Event`]s of a tap, in their order.
#[derive(Debug)]
pub struct Watch {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Most bytes of frames that are kept for the watcher.
    limit: usize,
    held: AtomicUsize,
    skipped: AtomicU64,
    events: Mutex<State>,
    more: Condvar,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<(Event, Option<Room>)>,
    ended: bool,
}

/// Exchanges that wait at the same time, whatever their size.
const MOST_EVENTS: usize = 100_000;

/// Room in the queue for the bytes of an exchange, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    inner: Arc<Inner>,
    bytes: usize,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.inner.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Room {
    /// Asks for more; `false` when there is none.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let fits = self.inner.take(bytes);
        if fits {
            self.bytes += bytes;
        }
        fits
    }
}

impl Inner {
    fn take(&self, bytes: usize) -> bool {
        let held = self.held.fetch_add(bytes, Ordering::Relaxed);
        let fits = held.saturating_add(bytes) <= self.limit;
        if !fits {
            self.held.fetch_sub(bytes, Ordering::Relaxed);
        }
        fits
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A queue for so many bytes of frames, and its other end.
pub(crate) fn queue(limit: usize) -> (Queue, Watch) {
    let inner = Arc::new(Inner {
        limit,
        held: AtomicUsize::new(0),
        skipped: AtomicU64::new(0),
        events: Mutex::default(),
        more: Condvar::new(),
    });
    (Queue { inner: Arc::clone(&inner) }, Watch { inner })
}

impl Queue {
    /// Room for the bytes of a request, if there is.
    pub(crate) fn room(&self, bytes: usize) -> Option<Room> {
        self.inner.take(bytes).then(|| Room { inner: Arc::clone(&self.inner), bytes })
    }

    /// Counts an exchange that is left out.
    pub(crate) fn skip(&self) {
        self.inner.skipped.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn put(&self, event: Event, room: Option<Room>) {
        let mut state = self.inner.lock();
        let is_exchange = matches!(event, Event::Exchange(_));
        // The others are few, and say what exchanges mean.
        if state.events.len() >= if is_exchange { MOST_EVENTS } else { 2 * MOST_EVENTS } {
            drop(state);
            if is_exchange {
                self.skip();
            }
            return;
        }
        state.events.push_back((event, room));
        if state.events.len() == 1 {
            self.inner.more.notify_one();
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.inner.lock().ended = true;
        self.inner.more.notify_all();
    }
}

impl Watch {
    /// The next event. Waits for it no longer than `patience`; blocks the thread.
    ///
    /// # Errors
    /// There is none: not yet, or never again.
    pub fn next(&self, patience: Duration) -> Result<Event, NoEvent> {
        let until = Instant::now().checked_add(patience);
        let mut state = self.inner.lock();
        loop {
            if let Some((event, _room)) = state.events.pop_front() {
                return Ok(event);
            }
            if state.ended {
                return Err(NoEvent::Ended);
            }
            let left = until.map_or(Duration::from_secs(3600), |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Err(NoEvent::Yet);
            }
            state = self.inner.more.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Exchanges that were left out up to now because the watcher was too slow.
    pub fn skipped(&self) -> u64 {
        self.inner.skipped.load(Ordering::Relaxed)
    }
}

/// Why there is no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEvent {
    /// None came in time.
    #[error("no event yet")]
    Yet,
    /// The tap is at its end.
    #[error("no more events")]
    Ended,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted_and_what_is_about_no_exchange_is_kept() {
        let (queue, watch) = queue(100);
        let mut room = queue.room(60).unwrap();
        assert!(queue.room(41).is_none() && !room.grow(41) && room.grow(40));
        drop(room);
        let room = queue.room(100).unwrap();
        queue.put(Event::Warning("kept".to_owned()), Some(room));
        assert!(queue.room(1).is_none());
        assert!(matches!(watch.next(Duration::ZERO), Ok(Event::Warning(_))));
        assert!(queue.room(100).is_some(), "what was looked at takes no room");

        for _ in 0..MOST_EVENTS {
            queue.put(Event::Warning(String::new()), None);
        }
        queue.put(Event::Closed { connection: 1, why: None }, None);
        assert_eq!(watch.skipped(), 0);
        queue.skip();
        drop(queue);
        assert_eq!((0..).map_while(|_| watch.next(Duration::ZERO).ok()).count(), MOST_EVENTS + 1);
        assert_eq!((watch.skipped(), watch.next(Duration::MAX).unwrap_err()), (1, NoEvent::Ended));
    }
}
