use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::config::BrokerConfig;
use crate::error::BrokerError;
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
    /// `None` once it was waited for.
    task: Option<JoinHandle<()>>,
}

impl Broker {
    /// Starts a broker on the current tokio runtime; it takes connections when this returns.
    ///
    /// # Errors
    /// The address cannot be listened at; a setting that makes no sense.
    pub async fn start(config: BrokerConfig) -> Result<Self, BrokerError> {
        check(&config)?;
        let failed = |source| BrokerError::Listen { host: config.host.clone(), port: config.port, source };
        let listener = TcpListener::bind((&*config.host, config.port)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let host = match &config.advertised_host {
            Some(host) => host.clone(),
            // Nobody can connect to any address.
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

    /// `host:port` as clients are told: what goes into `bootstrap.servers`. An IPv6 address stands in brackets.
    pub fn bootstrap(&self) -> String {
        let (host, port) = (&self.state.host, self.state.port);
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// The address that is listened at.
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

    /// Stops: no new connections, requests at work are dropped when they wait for records and answered otherwise, and
    /// after a second all is closed in any case. The port is free when this returns.
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
    if config.max_connections == 0 {
        return wrong("max_connections", "0".to_owned(), "at least 1 is expected");
    }
    Ok(())
}
