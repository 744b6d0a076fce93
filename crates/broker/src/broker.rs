use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::config::BrokerConfig;
use crate::error::BrokerError;
use crate::received::ReceivedRequest;
use crate::server;
use crate::state::State;

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
    state: Arc<State>,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    /// `None` after it was waited for.
    task: Option<JoinHandle<()>>,
}

impl Broker {
    /// Starts a broker on the current tokio runtime; it accepts connections when this returns.
    ///
    /// # Errors
    /// The broker cannot listen on the address; a setting is invalid.
    pub async fn start(config: BrokerConfig) -> Result<Self, BrokerError> {
        check(&config)?;
        let failed = |source| BrokerError::Listen { host: config.host.clone(), port: config.port, source };
        let listener = TcpListener::bind((&*config.host, config.port)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let host = match &config.advertised_host {
            Some(host) => host.clone(),
            // "Every address" is none that a client can connect to.
            None if address.ip().is_unspecified() => (if address.is_ipv4() { "127.0.0.1" } else { "::1" }).to_owned(),
            None => config.host.clone(),
        };
        let port = config.advertised_port.unwrap_or(address.port());
        let state = Arc::new(State::new(config, &host, port));
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(server::listen(listener, state.clone(), stopped));
        tracing::info!(%address, advertised = %format_args!("{host}:{port}"), "broker started");
        Ok(Self { state, address, stop, task: Some(task) })
    }

    /// `host:port` for `bootstrap.servers` of clients. An IPv6 address is in brackets.
    pub fn bootstrap(&self) -> String {
        let (host, port) = (&self.state.host, self.state.port);
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// The address that the broker listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Id of the node.
    pub fn node_id(&self) -> i32 {
        self.state.node_id()
    }

    /// Id of the cluster.
    pub fn cluster_id(&self) -> &str {
        &self.state.cluster_id
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
        self.state.received.all()
    }

    /// Stops the broker. It accepts no more connections; a request that waits for records is dropped, others get their
    /// response; after a second all connections are closed. The port is free when this returns.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        if let Some(task) = self.task.take() {
            // It ends by itself, or was ended with its runtime.
            let _ = task.await;
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

fn check(config: &BrokerConfig) -> Result<(), BrokerError> {
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
    if config.max_connections == 0 {
        return wrong("max_connections", "0".to_owned(), "at least 1 is expected");
    }
    Ok(())
}
