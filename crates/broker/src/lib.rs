//! An embedded Kafka broker for tests: one node, all in memory, in process within milliseconds.
//!
//! ```
//! use milena_broker::{Broker, BrokerConfig};
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let config = BrokerConfig { default_partitions: 3, ..BrokerConfig::default() };
//! let broker = Broker::start(config).await?;
//! println!("bootstrap.servers={}", broker.bootstrap());
//! broker.shutdown().await;
//! # Ok::<(), milena_broker::BrokerError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Clients see a cluster of one node that leads every partition at epoch 0. It serves what ApiVersions names and no more,
//! at every version it names:
//!
//! | API | versions | what to know |
//! |---|---|---|
//! | ApiVersions | 0-5 | a version above gets error 35 in the form of version 0 (KIP-511) |
//! | Metadata | 0-13 | creates unknown topics when client and broker allow it |
//! | CreateTopics, DeleteTopics | 0-7, 0-6 | settings are checked; those about time, size, keys and timestamps of single records count |
//! | Produce | 0-13 | checksums and records are read; idempotent producers; message sets of old producers become batches |
//! | Fetch | 0-18 | waits for records (KIP-74 for sizes); no sessions; old consumers get message sets |
//! | ListOffsets | 0-11 | both ends, by time, and the greatest time |
//! | OffsetForLeaderEpoch | 0-4 | |
//! | InitProducerId | 0-5 | without transactions |
//! | FindCoordinator | 0-6 | names this node; groups are not served yet |
//! | DescribeConfigs | 0-4 | topics and the broker |
//! | DescribeCluster | 0-2 | |
//!
//! Nothing is ever dropped from a log: retention and compaction are not carried out.
//!
//! What a client sends cannot bring the broker down. A frame that cannot be read, a version that is not served, an error
//! with acks 0: each ends its own connection, with a line of `tracing` that says why.

mod broker;
mod config;
mod error;
mod handler;
mod incoming;
mod legacy;
mod log;
mod partition;
mod producer_state;
mod refusal;
mod server;
mod state;
mod topic_config;
mod topic_name;

pub use broker::Broker;
pub use config::BrokerConfig;
pub use error::BrokerError;
