//! Log folders of real brokers: read, damaged, checked and written.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod agree;
mod damage;
mod folder;
mod intact;
mod partition;
mod write;
