//! Sockets and what happens at them: listeners, connections, where requests are worked on, what is kept of them.

mod connection;
pub(crate) mod listener;
pub(crate) mod received;
pub(crate) mod unsent;
pub(crate) mod work;
