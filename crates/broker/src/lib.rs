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
//! [`Broker`] is a cluster of one node; [`BrokerCluster`] has as many as you like, which come and go while clients work.
//!
//! # A cluster with a dead leader
//!
//! ```
//! use milena_broker::{BrokerCluster, ClusterConfig};
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let cluster = BrokerCluster::start(ClusterConfig { nodes: 3, ..ClusterConfig::default() }).await?;
//! cluster.create_topic("letters", 1, 3)?;
//! // ... a client starts with cluster.bootstrap() ...
//! let leader = cluster.leader("letters", 0).unwrap();
//! cluster.kill_node(leader).await?;
//! let state = cluster.state();
//! let partition = &state.topic("letters").unwrap().partitions[0];
//! assert!(partition.leader != Some(leader) && partition.leader_epoch == 1);
//! cluster.start_node(leader).await?;
//! # Ok::<(), milena_broker::BrokerError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Faults
//!
//! Rules say which requests go wrong, and how; [`BrokerFaults`] has the actions, and [`milena_connection::fault`] the grammar.
//!
//! ```
//! use std::time::Duration;
//!
//! use milena_broker::{Broker, BrokerConfig, BrokerError};
//! use milena_messages::ApiKey;
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let broker = Broker::start(BrokerConfig::default()).await?;
//! let fault = broker.faults().add("produce client=orders@1-3: error NOT_LEADER_OR_FOLLOWER")?;
//! // ... a producer with client.id=orders starts with broker.bootstrap(); its fourth request is the first that succeeds ...
//! let mut produced = 0;
//! let fourth = broker.wait_until(
//!     |request| {
//!         produced += u32::from(request.api_key() == ApiKey::PRODUCE);
//!         produced == 4
//!     },
//!     Duration::from_millis(1),
//! );
//! // There is no producer in this example.
//! assert!(matches!(fourth.await, Err(BrokerError::Timeout { .. })));
//! assert_eq!(fault.fired(), 0);
//! # Ok::<(), BrokerError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A virtual clock
//!
//! Sessions, rebalances, transaction timeouts and timestamps follow a clock that stands still until the test moves it.
//!
//! ```
//! use std::time::Duration;
//!
//! use milena_broker::{BrokerCluster, BrokerConfig, ClusterConfig};
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let broker = BrokerConfig { virtual_clock: Some(1_700_000_000_000), ..BrokerConfig::default() };
//! let cluster = BrokerCluster::start(ClusterConfig { nodes: 1, broker, ..ClusterConfig::default() }).await?;
//! // ... a consumer joins the group `readers` and is stopped without a goodbye ...
//! cluster.advance(Duration::from_secs(45))?;
//! // Its session of 45 seconds has ended: the group has no member left.
//! assert!(cluster.state().group("readers").is_none_or(|group| group.members.is_empty()));
//! # Ok::<(), milena_broker::BrokerError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # TLS and logins
//!
//! With `SecurityProtocol::SaslSsl` connections are encrypted too, and `Broker::tls` has the certificate that clients trust.
//!
//! ```
//! use milena_broker::{Broker, BrokerConfig, SecurityConfig, SecurityProtocol, User};
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let security = SecurityConfig {
//!     protocol: SecurityProtocol::SaslPlaintext,
//!     users: vec![User::new("alice", "alice-secret")],
//!     ..SecurityConfig::default()
//! };
//! let broker = Broker::start(BrokerConfig { security, ..BrokerConfig::default() }).await?;
//! println!("bootstrap.servers={}", broker.bootstrap());
//! # Ok::<(), milena_broker::BrokerError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # From another language
//!
//! `milena broker --nodes 3 --topic letters:6 --control 127.0.0.1:8080` runs the same cluster as a process. When it is ready, it
//! prints `host:port` of each node and the URL of its control port in one line. A test in Python, with any client of Kafka:
//!
//! ```python
//! import json, subprocess, urllib.request
//!
//! broker = subprocess.Popen(["milena", "broker", "--port", "0", "--nodes", "3", "--topic", "letters",
//!                            "--control", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
//! bootstrap, control = broker.stdout.readline().split()
//!
//! def call(method, path, body=None):
//!     data = json.dumps(body).encode() if body else None
//!     return json.load(urllib.request.urlopen(urllib.request.Request(control + path, data, method=method)))
//!
//! call("POST", "/faults", {"rule": "produce@1: error NOT_LEADER_OR_FOLLOWER"})
//! leader = call("GET", "/topics/letters")["partitions"][0]["leader"]
//! call("POST", f"/nodes/{leader}/kill")
//! # ... a producer starts with bootstrap.servers=bootstrap ...
//! assert call("GET", "/requests?api=Produce")["requests"] == []
//! broker.terminate()
//! ```
//!
//! Whole test programs for pytest, Go and JUnit are in `examples/` of the repository.
//!
//! # With milena's client, in one simulation
//!
//! With a [`network`](BrokerConfig::network) in memory, a client of `milena-client` with the same one connects without sockets.
//! Together with tokio's paused clock and a virtual clock a test is the same each time.
//!
//! # APIs
//!
//! These are served, at all versions that ApiVersions lists:
//!
#![doc = include_str!("apis.md")]
//!
//! Retention and compaction leave in a log what Kafka leaves: by the clock, and by
//! [`apply_retention`](BrokerCluster::apply_retention) and [`compact`](BrokerCluster::compact).
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
//! - Records take at most [`max_log_bytes`](BrokerConfig::max_log_bytes) of memory, those of coordinators a quarter more.

mod broker;
mod clock;
mod cluster;
mod config;
mod coordinator;
mod cost;
mod disk;
mod error;
mod fault;
mod fetch_session;
mod group;
mod handler;
mod net;
mod refusal;
mod release;
mod security;
mod share;
mod state;
mod storage;
#[cfg(test)]
mod tables;
mod telemetry;
mod timers;
mod transaction;

pub use broker::Broker;
pub use cluster::running::{BrokerCluster, Coordinated};
pub use config::{BrokerConfig, ClusterConfig};
pub use error::BrokerError;
pub use fault::{BrokerFault, BrokerFaults};
pub use milena_connection::fault::{Rule as FaultRule, Statistic as FaultStatistic};
pub use net::received::ReceivedRequest;
pub use security::acl::Acl;
pub use security::authorizer::AclConfig;
#[cfg(feature = "tls")]
pub use security::certificates::{BrokerTls, ClientCertificate};
pub use security::config::{Certificates, ClientAuth, ListenerConfig, SecurityConfig, User};
pub use security::delegation::DelegationTokenConfig;
pub use security::principal::{Principal, PrincipalError};
pub use security::protocol::{SaslMechanism, SecurityNameError, SecurityProtocol};
pub use security::sasl::{JwtKey, JwtKeyError, OAuthConfig};
pub use security::text::AclError;
pub use state::{
    AcquiredState, ClusterState, CommittedOffset, GroupState, MemberState, NodeState, PartitionState,
    SharePartitionState, TopicState, TransactionState,
};
