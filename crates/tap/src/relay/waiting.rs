//! Requests that wait for their responses.

use std::time::{Duration, Instant};

use bytes::Bytes;
use milena_fault::{Distortion, Opening, Patch};
use milena_inspect::conversation::Exchange;
use milena_messages::ApiKey;

use crate::event::Room;

/// The exchange to be, with room for it, when somebody watches.
pub(super) type Seen = Option<(Box<Exchange>, Room)>;

/// A request that waits for its response.
pub(super) struct Waiting {
    /// `None` for a SASL token, whose response comes without a header.
    pub(super) head: Option<Head>,
    /// When it arrived.
    pub(super) arrived: Instant,
    pub(super) then: Then,
    pub(super) seen: Seen,
    /// It asked the broker to open a fetch session.
    pub(super) opening: Option<Opening>,
}

#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) api: ApiKey,
    pub(super) version: i16,
    pub(super) correlation_id: i32,
}

/// What to do when the response is there.
pub(super) enum Then {
    Pass,
    /// It leaves no sooner than this time after the request arrived.
    Delay(Duration),
    CutAfter(usize),
    /// An error goes into what the broker said.
    Patch(Box<Patch>),
    /// Its bytes are changed.
    Distort(Distortion),
    /// It leaves after the next one.
    Reorder,
    /// This is the response, and the broker knows nothing of the request.
    Own(Vec<Bytes>),
}
