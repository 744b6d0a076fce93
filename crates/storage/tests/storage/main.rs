//! Log folders of real brokers, and what becomes of them when they are damaged.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod agree;
mod damage;
mod folder;
mod intact;
mod partition;
