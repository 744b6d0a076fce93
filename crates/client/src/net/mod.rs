//! Connections: one task for each, which owns the socket and the protocol machine, and the pool that opens them.

mod driver;
mod endpoint;
mod handshake;
mod link;
mod pool;
#[cfg(test)]
mod tests;
mod throttle;

pub(crate) use endpoint::Endpoint;
pub(crate) use link::{Failure, Link, RECONNECTS};
pub(crate) use pool::Pool;
