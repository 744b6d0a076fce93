//! Log folders of real brokers, as Kafka's own tool prints them.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod dump;
#[path = "../../../storage/tests/storage/folder.rs"]
mod folder;
mod line;
