//! An embedded Kafka broker for tests: one node or a cluster, in memory, in your process, started within milliseconds.
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
//! [`Broker`] is a cluster of one node; [`BrokerCluster`] has as many as you like, which come and go while clients work. They
//! serve these APIs, at all versions that
//! ApiVersions lists:
//!
//! | API | versions | notes |
//! |---|---|---|
//! | ApiVersions | 0-5 | a higher version gets error 35 in the format of version 0 (KIP-511) |
//! | Metadata | 0-13 | creates unknown topics when client and broker allow it |
//! | CreateTopics, DeleteTopics | 0-7, 0-6 | settings are checked; those for size, keys and timestamps of records are applied |
//! | Produce | 0-13 | checksums and records are checked; idempotent producers; message sets of old producers become batches |
//! | Fetch | 0-18 | waits for records (KIP-74 for sizes); no sessions; old consumers get message sets |
//! | ListOffsets | 0-11 | both ends, by time, and the greatest time |
//! | DeleteRecords | 0-2 | |
//! | OffsetForLeaderEpoch | 0-4 | |
//! | InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit, EndTxn | 0-5, 0-5, 0-4, 0-5, 0-5 | transactions, stored in `__transaction_state`, as by Kafka |
//! | DescribeProducers, DescribeTransactions, ListTransactions | 0, 0, 0-2 | |
//! | FindCoordinator | 0-6 | groups and transactions |
//! | JoinGroup, SyncGroup, Heartbeat, LeaveGroup | 0-9, 0-5, 0-4, 0-5 | classic groups, with static members |
//! | OffsetCommit, OffsetFetch, OffsetDelete | 0-10, 0-10, 0 | stored in `__consumer_offsets`, as by Kafka |
//! | DescribeGroups, ListGroups, DeleteGroups | 0-6, 0-5, 0-3 | |
//! | DescribeConfigs, ListConfigResources | 0-4, 0-1 | topics, brokers, the root logger, client metrics, groups |
//! | AlterConfigs, IncrementalAlterConfigs | 0-2, 0-1 | topics as CreateTopics; what is set for all brokers holds for topics, the rest is stored |
//! | DescribeCluster, DescribeTopicPartitions | 0-2, 0 | |
//! | CreatePartitions | 0-3 | not of the topics of coordinators |
//! | ElectLeaders | 0-2 | |
//! | AlterPartitionReassignments, ListPartitionReassignments | 0-1, 0 | complete at once |
//! | DescribeQuorum | 0-2 | all nodes are voters; there is no metadata log, so offsets are 0 |
//! | DescribeClientQuotas, AlterClientQuotas | 0-1, 0-1 | stored; nothing is throttled |
//! | DescribeLogDirs, AlterReplicaLogDirs | 0-5, 0-2 | one folder per node, in name only |
//!
//! Nothing is ever dropped from a log: retention and compaction are not carried out.
//!
//! # What clients can do to it
//!
//! Nothing that a client sends brings the broker down or delays other clients for long. A frame that cannot be read, a
//! version that is not served, an error with acks 0: each ends its own connection, with a line of `tracing` that says why.
//! The cost of a request is limited by its size:
//!
//! - Large requests, and those that have much to decompress, are handled on tokio's blocking threads, two at a time.
//! - A request decompresses at most 128 MiB of records, or eight times its own size if that is more. Partitions above the
//!   limit get MESSAGE_TOO_LARGE.
//! - A Fetch response has at most [`fetch_max_bytes`](BrokerConfig::fetch_max_bytes) of records, at all versions. A
//!   partition that is listed twice is read once, as in Kafka; the same holds for Produce, ListOffsets, Metadata and
//!   DeleteTopics.
//! - While more than 256 MiB of responses wait for clients to read them, Fetch responses are as small as the protocol
//!   allows, and clients that read nothing for a second are disconnected.
//! - DescribeConfigs returns at most 200,000 settings, CreateTopics creates at most 10,000 partitions per request, and
//!   there are at most [`max_partitions`](BrokerConfig::max_partitions).
//!
//! Records that clients produce stay in memory until their topic is deleted.

mod broker;
mod clock;
mod cluster;
mod config;
mod coordinator;
mod cost;
mod error;
mod fault;
mod group;
mod handler;
mod net;
mod refusal;
mod state;
mod storage;
mod transaction;

pub use broker::Broker;
pub use cluster::running::BrokerCluster;
pub use config::{BrokerConfig, ClusterConfig};
pub use error::BrokerError;
pub use fault::{Fault, Faults};
pub use milena_connection::fault::{Rule as FaultRule, Statistic as FaultStatistic};
pub use net::received::ReceivedRequest;
pub use state::{
    ClusterState, CommittedOffset, GroupState, MemberState, NodeState, PartitionState, TopicState, TransactionState,
};
