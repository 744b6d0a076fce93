use std::time::Duration;

use milena_connection::DEFAULT_MAX_FRAME;

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
    /// Whether a Metadata request for an unknown topic creates it, as in Kafka. Default: true.
    pub auto_create_topics: bool,
    /// Largest record batch in bytes, for topics without a setting of their own. Default: Kafka's 1,048,588.
    pub max_message_bytes: i32,
    /// Largest request in bytes; a larger one ends its connection. Default: 100 MiB.
    pub max_frame: usize,
    /// Most bytes of records in one Fetch response, whatever the request asks for; only a first batch that is larger
    /// comes all the same. Kafka's `fetch.max.bytes`. Default: 55 MiB.
    pub fetch_max_bytes: i32,
    /// Most partitions of all topics together. Default: 100,000.
    pub max_partitions: usize,
    /// Most connections at the same time. One more takes the place of a connection that never sent a request, or is
    /// refused when there is none. Default: 1024.
    pub max_connections: usize,
    /// A connection on which nothing happens for this long is closed. Default: 10 minutes.
    pub idle_timeout: Duration,
    /// How many of the last requests [`Broker::requests`](crate::Broker::requests) returns. Default: 10,000.
    pub requests_kept: usize,
    /// Most bytes of memory for those requests; the oldest are dropped first. Default: 16 MiB.
    pub request_bytes_kept: usize,
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
            auto_create_topics: true,
            max_message_bytes: 1_048_588,
            max_frame: DEFAULT_MAX_FRAME,
            fetch_max_bytes: 55 << 20,
            max_partitions: 100_000,
            max_connections: 1024,
            idle_timeout: Duration::from_secs(600),
            requests_kept: 10_000,
            request_bytes_kept: 16 << 20,
        }
    }
}
