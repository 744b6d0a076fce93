//! The broker and its cluster over sockets.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod client;
mod cluster;
mod faults;
mod fetch;
mod folder;
mod quotas;
mod retention;
mod security;
mod sockets;
mod state;
