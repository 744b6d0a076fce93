//! The client against a scripted broker on a real socket.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod broker;
mod connect;
mod produce;
mod range;
#[cfg(feature = "tls")]
mod tls;
