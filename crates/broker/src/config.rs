use std::time::Duration;

use milena_connection::DEFAULT_MAX_FRAME;

/// How a [`Broker`](crate::Broker) is set up.
///
/// ```
/// use milena_broker::BrokerConfig;
///
/// let config = BrokerConfig { default_partitions: 3, auto_create_topics: false, ..BrokerConfig::default() };
/// assert_eq!(config.port, 0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerConfig {
    /// Address or name to listen at; `127.0.0.1` unless said otherwise.
    pub host: String,
    /// Port to listen at; 0, the default, takes a free one.
    pub port: u16,
    /// Host that clients are told to connect to. `None` is the host listened at, or the loopback when that is any
    /// address.
    pub advertised_host: Option<String>,
    /// Port that clients are told to connect to, such as that of a proxy. `None` is the port listened at.
    pub advertised_port: Option<u16>,
    /// Id of the one node that this cluster has; 1 unless said otherwise, at least 0.
    pub node_id: i32,
    /// Rack that the node says it stands in.
    pub rack: Option<String>,
    /// Id of the cluster; `None` makes up a new one.
    pub cluster_id: Option<String>,
    /// Partitions of a topic that is created without saying how many, at least 1; 1 unless said otherwise.
    pub default_partitions: i32,
    /// Whether asking for the metadata of an unknown topic creates it, as Kafka does out of the box.
    pub auto_create_topics: bool,
    /// Largest record batch taken, in bytes, where a topic does not say otherwise; Kafka's 1,048,588 by default.
    pub max_message_bytes: i32,
    /// Largest request taken, in bytes; 100 MiB by default. A larger one ends its connection.
    pub max_frame: usize,
    /// Connections at the same time; one more is closed at once. 1024 by default.
    pub max_connections: usize,
    /// A connection without a request for this long is closed; 10 minutes by default.
    pub idle_timeout: Duration,
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
            max_connections: 1024,
            idle_timeout: Duration::from_secs(600),
        }
    }
}
