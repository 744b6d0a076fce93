use std::time::Duration;

use super::connection::Connection;
use crate::conversation::{Direction, Exchange, Facts};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CaptureEvent {
    /// A request and its response, as far as both were captured.
    Exchange(Box<Captured>),
    /// Between two frames bytes are missing, or could not be recognised as frames.
    Gap {
        /// Number of the connection.
        connection: u64,
        /// Which way the bytes went.
        direction: Direction,
        /// When reading went on.
        time: Duration,
        /// Bytes that passed and were not captured.
        missing: u64,
        /// Bytes that were captured and skipped, up to where a frame was recognised.
        passed: u64,
        /// How many bytes are missing is not known: the connection began before the capture, or began again.
        unknown: bool,
    },
    /// A connection is at its end, or the capture is.
    Closed(Box<Connection>),
}

/// An exchange with what was found in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Captured {
    /// The frames. Their time is that of the packet with their last byte.
    pub exchange: Exchange,
    /// What they are about.
    pub facts: Facts,
}
