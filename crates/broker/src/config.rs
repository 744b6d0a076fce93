use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use milena_connection::DEFAULT_MAX_FRAME;
use milena_connection::fault::Rule;
use milena_transport::MemoryNetwork;

use crate::cluster::group_config;
use crate::error::BrokerError;
use crate::security::authorizer::AclConfig;
use crate::security::config::{ListenerConfig, SecurityConfig};

/// The settings of a [`Broker`](crate::Broker).
///
/// ```
/// use milena_broker::BrokerConfig;
///
/// let config = BrokerConfig { default_partitions: 3, auto_create_topics: false, ..BrokerConfig::default() };
/// assert_eq!(config.port, 0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerConfig {
    /// Address or name to listen on. Default: `127.0.0.1`.
    pub host: String,
    /// Port to listen on. Default: 0, which takes a free port.
    pub port: u16,
    /// Host that clients connect to. Default: the host that the broker listens on, or the loopback address when that is
    /// every address of the machine.
    pub advertised_host: Option<String>,
    /// Port that clients connect to, such as the port of a proxy. Default: the port that the broker listens on.
    pub advertised_port: Option<u16>,
    /// Id of the one node of this cluster, at least 0. Default: 1.
    pub node_id: i32,
    /// Rack of the node.
    pub rack: Option<String>,
    /// Id of the cluster. Default: a random one.
    pub cluster_id: Option<String>,
    /// Default number of partitions for new topics, at least 1. Default: 1.
    pub default_partitions: i32,
    /// Default number of replicas for new topics, at least 1. Default: 1.
    pub default_replication_factor: i16,
    /// Whether a Metadata request for an unknown topic creates it, as in Kafka. Default: true.
    pub auto_create_topics: bool,
    /// Largest record batch in bytes, for topics without a setting of their own. Default: Kafka's 1,048,588.
    pub max_message_bytes: i32,
    /// Largest request in bytes; a larger one ends its connection. Default: 100 MiB.
    pub max_frame: usize,
    /// Most bytes of records in one Fetch response, whatever the request asks for; only a first batch that is larger
    /// comes all the same. Kafka's `fetch.max.bytes`. Default: 55 MiB.
    pub fetch_max_bytes: i32,
    /// Most fetch sessions of a node (KIP-227). Kafka divides them between eight shards, so that fewer than eight are none.
    /// Kafka's `max.incremental.fetch.session.cache.slots`. Default: 1000.
    pub max_fetch_sessions: usize,
    /// Whether leaders send consumers to a replica in their rack (KIP-392), as Kafka does with `replica.selector.class` set
    /// to `RackAwareReplicaSelector`. Default: false.
    pub rack_aware_fetch: bool,
    /// Whether ApiVersions lists the APIs for metrics of clients (KIP-714), as Kafka does when it has a receiver for them.
    /// Clients push metrics then, which [`Broker::requests`](crate::Broker::requests) shows. Default: false.
    pub client_telemetry: bool,
    /// Most partitions of all topics together. Default: 100,000.
    pub max_partitions: usize,
    /// Most connections of a listener at the same time. One more takes the place of a connection that never sent a request or
    /// did not log in, or is refused when there is none. Default: 1024.
    pub max_connections: usize,
    /// A connection on which nothing happens for this long is closed. Default: 10 minutes.
    pub idle_timeout: Duration,
    /// Listeners, TLS and logins. Default: one listener without either.
    pub security: SecurityConfig,
    /// Shortest session timeout that a member of a group may ask for. Kafka's `group.min.session.timeout.ms`, whose default
    /// is 6000. Default: 1, for tests.
    pub group_min_session_timeout_ms: i32,
    /// Longest session timeout that a member of a group may ask for. Kafka's `group.max.session.timeout.ms`. Default:
    /// 1,800,000.
    pub group_max_session_timeout_ms: i32,
    /// How long the first rebalance of a group waits for more members, in milliseconds. Kafka's
    /// `group.initial.rebalance.delay.ms`, whose default is 3000. Default: 0, for tests.
    pub group_initial_rebalance_delay_ms: i32,
    /// Most members of a group. Kafka's `group.max.size`. Default: 2,147,483,647, as in Kafka.
    pub group_max_size: usize,
    /// Further settings of groups under Kafka's names, such as `group.consumer.session.timeout.ms`,
    /// `group.consumer.max.size`, `group.consumer.migration.policy` and `group.coordinator.rebalance.protocols`. Default:
    /// none. Kafka's defaults hold, except that `group.consumer.assignment.interval.ms` is 0, for tests.
    pub group_settings: BTreeMap<String, String>,
    /// Most bytes of memory for the records of all topics, with what belongs to them. At the limit the records go first that
    /// retention and compaction may remove; then Produce gets KAFKA_STORAGE_ERROR. Default: 1 GiB.
    pub max_log_bytes: u64,
    /// A folder for the data, in Kafka's own file formats. A broker that starts with it goes on with its topics, settings of
    /// topics, records, groups and transactions, whatever ended the one before. All records are in memory as well. Only one
    /// broker may have it. Default: `None`, nothing is kept.
    pub data_dir: Option<PathBuf>,
    /// A log folder, of Kafka or of this broker, whose topics the broker begins with. Nothing in it is changed. Default:
    /// `None`.
    pub seed_dir: Option<PathBuf>,
    /// How long the offsets of a group without members stay. Kafka's `offsets.retention.minutes`. Default: 7 days, as in Kafka.
    pub offsets_retention: Duration,
    /// How often old segments are looked for, by the clock of the cluster. Kafka's `log.retention.check.interval.ms`. Default:
    /// 5 minutes, as in Kafka.
    pub retention_check_interval: Duration,
    /// How often logs that need compaction are looked for, by the clock of the cluster. Kafka's `log.cleaner.backoff.ms`.
    /// Default: 15 seconds, as in Kafka.
    pub cleaner_backoff: Duration,
    /// Turns on the authorizer: clients may do only what ACLs allow. Default: `None`, everybody may do everything.
    pub acls: Option<AclConfig>,
    /// The time at which a virtual clock starts, in milliseconds since 1970; it stands still until
    /// [`BrokerCluster::advance`](crate::BrokerCluster::advance) moves it. Timers of groups and transactions, and timestamps, follow
    /// it; waits of Fetch do not. Default: `None`, the clock of the system.
    pub virtual_clock: Option<i64>,
    /// Where the nodes listen besides their sockets, at the addresses that clients get: a network in memory, for clients of
    /// this process that have the same one, such as milena's own. Listeners with TLS are not in it. Default: none.
    pub network: Option<MemoryNetwork>,
    /// The release of Apache Kafka that the broker acts as: `0.10.0` to `4.4`, also with a patch level such as `2.8.2`; or
    /// `event-hubs` or `msk-serverless`, as far as these services are publicly known. It serves the APIs and versions that
    /// such a broker lists, those of them that it has. Default: `None`, all that this broker has.
    pub kafka_version: Option<String>,
    /// Fault rules in force from the start; [`Broker::faults`](crate::Broker::faults) adds more. Default: none.
    pub faults: Vec<Rule>,
    /// Start of the random numbers for faults with a probability, to repeat a run. Default: a new one for each run.
    pub fault_seed: Option<u64>,
    /// How many of the last requests [`Broker::requests`](crate::Broker::requests) returns. Default: 10,000.
    pub requests_kept: usize,
    /// Most bytes of memory for those requests; the oldest are dropped first. Default: 16 MiB.
    pub request_bytes_kept: usize,
}

/// The settings of a [`BrokerCluster`](crate::BrokerCluster).
///
/// ```
/// use milena_broker::{BrokerConfig, ClusterConfig};
///
/// let broker = BrokerConfig { default_partitions: 6, ..BrokerConfig::default() };
/// let config = ClusterConfig { nodes: 3, broker, ..ClusterConfig::default() };
/// assert!(config.racks.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterConfig {
    /// How many nodes start, at least 1. Default: 3.
    pub nodes: usize,
    /// The rack of each node, in their order. Nodes without one have that of `broker`.
    pub racks: Vec<String>,
    /// What all nodes have in common. The first node has the ports and the id that stand there, each further one the next
    /// ones; port 0 takes any free port for each.
    pub broker: BrokerConfig,
}

impl Default for ClusterConfig {
    fn default() -> Self {
        Self { nodes: 3, racks: Vec::new(), broker: BrokerConfig::default() }
    }
}

impl ClusterConfig {
    pub(crate) fn check(&self) -> Result<(), BrokerError> {
        let wrong = |setting, value: String, reason| Err(BrokerError::Config { setting, value, reason });
        if self.nodes == 0 {
            return wrong("nodes", self.nodes.to_string(), "at least 1 is expected");
        }
        let more = self.nodes - 1;
        let last = |first: u16| usize::from(first).saturating_add(more);
        let listeners = self.broker.listeners();
        let ports = listeners.iter().flat_map(|listener| [Some(listener.port), listener.advertised_port]);
        if ports.flatten().any(|first| first != 0 && last(first) > usize::from(u16::MAX)) {
            return wrong("nodes", self.nodes.to_string(), "there are not enough ports after the first one");
        }
        self.broker.check()
    }
}

impl BrokerConfig {
    /// All listeners of a node, the first one in front.
    pub(crate) fn listeners(&self) -> Vec<ListenerConfig> {
        let first = ListenerConfig {
            name: self.security.protocol.name().to_owned(),
            protocol: self.security.protocol,
            host: Some(self.host.clone()),
            port: self.port,
            advertised_host: self.advertised_host.clone(),
            advertised_port: self.advertised_port,
        };
        std::iter::once(first).chain(self.security.listeners.iter().cloned()).collect()
    }

    fn check(&self) -> Result<(), BrokerError> {
        let config = self;
        let wrong = |setting, value: String, reason| Err(BrokerError::Config { setting, value, reason });
        if config.node_id < 0 {
            return wrong("node_id", config.node_id.to_string(), "at least 0 is expected");
        }
        if config.default_partitions < 1 {
            return wrong("default_partitions", config.default_partitions.to_string(), "at least 1 is expected");
        }
        if config.max_message_bytes < 0 {
            return wrong("max_message_bytes", config.max_message_bytes.to_string(), "at least 0 is expected");
        }
        if config.fetch_max_bytes < 1024 {
            return wrong("fetch_max_bytes", config.fetch_max_bytes.to_string(), "at least 1024 is expected");
        }
        if config.default_replication_factor < 1 {
            let factor = config.default_replication_factor.to_string();
            return wrong("default_replication_factor", factor, "at least 1 is expected");
        }
        if config.max_connections == 0 {
            return wrong("max_connections", "0".to_owned(), "at least 1 is expected");
        }
        for (name, value) in &config.group_settings {
            if let Err(reason) = group_config::check(name, value) {
                return wrong("group_settings", format!("{name}={value}"), reason);
            }
        }
        config.security.check()
    }
}

impl Default for BrokerConfig {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 0,
            advertised_host: None,
            advertised_port: None,
            node_id: 1,
            rack: None,
            cluster_id: None,
            default_partitions: 1,
            default_replication_factor: 1,
            auto_create_topics: true,
            max_message_bytes: 1_048_588,
            max_frame: DEFAULT_MAX_FRAME,
            fetch_max_bytes: 55 << 20,
            max_fetch_sessions: 1000,
            rack_aware_fetch: false,
            client_telemetry: false,
            max_partitions: 100_000,
            max_connections: 1024,
            idle_timeout: Duration::from_secs(600),
            security: SecurityConfig::default(),
            group_min_session_timeout_ms: 1,
            group_max_session_timeout_ms: 1_800_000,
            group_initial_rebalance_delay_ms: 0,
            group_max_size: i32::MAX as usize,
            group_settings: BTreeMap::new(),
            max_log_bytes: 1 << 30,
            data_dir: None,
            seed_dir: None,
            offsets_retention: Duration::from_secs(7 * 86_400),
            retention_check_interval: Duration::from_secs(300),
            cleaner_backoff: Duration::from_secs(15),
            acls: None,
            virtual_clock: None,
            network: None,
            kafka_version: None,
            faults: Vec::new(),
            fault_seed: None,
            requests_kept: 10_000,
            request_bytes_kept: 16 << 20,
        }
    }
}
