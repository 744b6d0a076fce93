//! The proxy between a client and the embedded broker, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod faults;
mod passing;
mod probe;
mod seen;
mod setup;
mod sides;
