//! wip

mod address;
mod attempts;
mod cache;
mod client;
mod cluster;
mod config;
mod error;
mod fetch;
mod link;
mod metadata;
mod observer;
mod offsets;
mod produce;
mod range;
mod topics;

pub use client::{Client, Target};
pub use cluster::{Broker, Cluster, Partition, Topic};
pub use config::ClientConfig;
pub use error::{ConnectCause, Error, Result};
pub use fetch::{FetchOptions, Fetched};
pub use milena_records::{Codec, Header, Record};
pub use observer::{Direction, Frame, Observer};
pub use offsets::{FoundOffset, Isolation, OffsetSpec};
pub use produce::{Acks, ProduceOutcome};
pub use range::{RangeOptions, RangeReader, Start, Stop};
pub use topics::{NewTopic, TopicOutcome};
