//! The client against a scripted broker on a real socket.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod broker;
mod connect;
mod coordinator;
mod end;
mod leader;
mod produce;
mod range;
mod split;
mod stuck;
mod throttle;
mod time;
#[cfg(feature = "tls")]
mod tls;
