//! What is known of the cluster, and the one place that asks for it.

mod cache;
mod cluster;
mod refresh;

pub(crate) use cache::{Leader, Lookup};
pub use cluster::{BrokerNode, Cluster, Partition, Topic};
pub(crate) use refresh::{Metadata, Snapshot};
