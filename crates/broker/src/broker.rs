use std::net::SocketAddr;
use std::time::Duration;

use crate::cluster::running::BrokerCluster;
use crate::config::{BrokerConfig, ClusterConfig};
use crate::error::BrokerError;
use crate::fault::BrokerFaults;
use crate::net::received::ReceivedRequest;
use crate::state::ClusterState;

/// A running broker, a cluster of one node. It stops when it is dropped.
///
/// ```
/// use milena_broker::{Broker, BrokerConfig};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let broker = Broker::start(BrokerConfig::default()).await?;
/// assert_eq!(broker.bootstrap(), broker.address().to_string());
/// broker.shutdown().await;
/// # Ok::<(), milena_broker::BrokerError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Broker {
    cluster: BrokerCluster,
    address: SocketAddr,
    node_id: i32,
}

impl Broker {
    /// Starts a broker on the current tokio runtime; it accepts connections when this returns.
    ///
    /// # Errors
    /// The broker cannot listen on the address; a setting is invalid.
    pub async fn start(config: BrokerConfig) -> Result<Self, BrokerError> {
        let node_id = config.node_id;
        let (host, port) = (config.host.clone(), config.port);
        let cluster = BrokerCluster::start(ClusterConfig { nodes: 1, racks: Vec::new(), broker: config }).await?;
        // The one node of a cluster that has just started is up.
        let gone = || BrokerError::Listen { host, port, source: std::io::ErrorKind::NotConnected.into() };
        let address = cluster.address(node_id).ok_or_else(gone)?;
        Ok(Self { cluster, address, node_id })
    }

    /// `host:port` for `bootstrap.servers` of clients. An IPv6 address is in brackets.
    pub fn bootstrap(&self) -> String {
        self.cluster.bootstrap()
    }

    /// The certificates of the listeners with TLS; `None` when there is no such listener.
    #[cfg(feature = "tls")]
    pub fn tls(&self) -> Option<&crate::BrokerTls> {
        self.cluster.tls()
    }

    /// The address that the broker listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Id of the node.
    pub fn node_id(&self) -> i32 {
        self.node_id
    }

    /// Id of the cluster.
    pub fn cluster_id(&self) -> &str {
        self.cluster.cluster_id()
    }

    /// The last requests that the broker received, oldest first, for tests that check what a client sent. How many are kept
    /// is set by [`requests_kept`](BrokerConfig::requests_kept) and
    /// [`request_bytes_kept`](BrokerConfig::request_bytes_kept). A request is here before its response is sent.
    ///
    /// ```
    /// # use milena_broker::{Broker, BrokerConfig};
    /// use milena_messages::{ApiKey, ProduceRequest};
    ///
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let broker = Broker::start(BrokerConfig::default()).await?;
    /// // ... a client with client.id=orders runs ...
    /// let requests = broker.requests();
    /// let produced = requests.iter().filter(|request| {
    ///     request.api_key() == ApiKey::PRODUCE && request.client_id() == Some("orders")
    /// });
    /// for request in produced {
    ///     assert_eq!(request.decode::<ProduceRequest>()?.acks, -1);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.cluster.requests()
    }

    /// Waits until this is true of a request that the broker received, and gives that request. Each request is passed once,
    /// in the order of arrival: first those that [`requests`](Self::requests) has, then each new one. A function with state
    /// can count. Requests that are not kept, because of the two limits, are not passed.
    ///
    /// ```
    /// # use milena_broker::{Broker, BrokerConfig, BrokerError};
    /// use std::time::Duration;
    ///
    /// use milena_messages::ApiKey;
    ///
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let broker = Broker::start(BrokerConfig::default()).await?;
    /// let commit = broker.wait_until(|request| request.api_key() == ApiKey::OFFSET_COMMIT, Duration::from_millis(1));
    /// assert!(matches!(commit.await, Err(BrokerError::Timeout { seen: 0, .. })));
    /// # Ok::<(), BrokerError>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`BrokerError::Timeout`] when there was no such request within the time.
    pub async fn wait_until(
        &self,
        wanted: impl FnMut(&ReceivedRequest) -> bool,
        within: Duration,
    ) -> Result<ReceivedRequest, BrokerError> {
        self.cluster.wait_until(wanted, within).await
    }

    /// What the broker holds now: topics with their partitions, groups with their members, transactions.
    pub fn state(&self) -> ClusterState {
        self.cluster.state()
    }

    /// The fault rules, to add and remove while clients work.
    pub fn faults(&self) -> &BrokerFaults {
        self.cluster.faults()
    }

    /// The cluster of this one node: topics and their records, leader epochs, the clock.
    pub fn cluster(&self) -> &BrokerCluster {
        &self.cluster
    }

    /// Stops the broker. It accepts no more connections; a request that waits for records is dropped, others get their
    /// response; after a second all connections are closed. The port is free when this returns.
    pub async fn shutdown(self) {
        self.cluster.shutdown().await;
    }
}
