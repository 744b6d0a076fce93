//! Sockets and what happens at them: listeners, connections, where requests are worked on, what is kept of them.

mod arrivals;
mod connection;
mod fault;
pub(crate) mod listener;
pub(crate) mod received;
pub(crate) mod sockets;
pub(crate) mod unsent;
pub(crate) mod work;
