//! Log folders as text and JSON, with the meaning of the records of Kafka's own topics.
//!
//! The files themselves are read by [`milena_storage`]. [`read`], [`read_log`] and [`verify`] are its functions of the same
//! names, with what a record of an internal topic says beside it; [`JsonLines`] writes that down.

mod json;
mod quorum;
mod read;

pub use json::JsonLines;
pub use quorum::quorum_state_json;
pub use read::{read, read_log, verify};
