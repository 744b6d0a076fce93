use std::net::SocketAddr;
use std::sync::Arc;

use milena_connection::fault::Statistic;
use tokio::sync::{mpsc, watch};

use crate::config::TapConfig;
use crate::endpoint;
use crate::event::{Queue, Watch, queue};
use crate::hub::Hub;

/// A proxy that runs. It stops when it is dropped.
#[derive(Debug)]
pub struct Tap {
    address: SocketAddr,
    /// Gone once the tap stops, so that the end of all tasks can be noticed.
    hub: Option<Arc<Hub>>,
    stop: watch::Sender<bool>,
    /// Has nothing to say; it ends with the last task.
    alive: mpsc::Receiver<()>,
}

/// Why no proxy runs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TapError {
    /// The address cannot be listened at.
    #[error("cannot listen at {host}:{port}: {source}")]
    Listen {
        /// Of the configuration.
        host: String,
        /// Of the configuration.
        port: u16,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// No broker to ask first.
    #[error("no broker is named to connect to")]
    NoBootstrap,
}

impl Tap {
    /// Starts a proxy on the current tokio runtime that nobody watches; it takes connections when this returns.
    ///
    /// # Errors
    /// The address cannot be listened at; no broker is named.
    pub fn start(config: TapConfig) -> Result<Self, TapError> {
        Self::run(config, None)
    }

    /// Starts a proxy on the current tokio runtime, and gives what there is to see: at most `bytes` of frames wait for the
    /// watcher, 64 MiB being a good number. What does not fit is left out and counted.
    ///
    /// # Errors
    /// As [`Tap::start`].
    pub fn watched(config: TapConfig, bytes: usize) -> Result<(Self, Watch), TapError> {
        let (queue, watch) = queue(bytes);
        Ok((Self::run(config, Some(queue))?, watch))
    }

    fn run(config: TapConfig, queue: Option<Queue>) -> Result<Self, TapError> {
        if config.bootstrap.is_empty() {
            return Err(TapError::NoBootstrap);
        }
        endpoint::prepare();
        let (stop, stopped) = watch::channel(false);
        let (running, alive) = mpsc::channel(1);
        let (host, port) = (config.host.clone(), config.port);
        let (hub, address) =
            Hub::start(config, queue, stopped, running).map_err(|source| TapError::Listen { host, port, source })?;
        Ok(Self { address, hub: Some(hub), stop, alive })
    }

    /// The address that is listened at: what goes into `bootstrap.servers`.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The fault rules, in their order, with the number of requests that each matched and fired for so far.
    pub fn fault_statistics(&self) -> Vec<Statistic> {
        self.hub.as_ref().map_or_else(Vec::new, |hub| hub.fault_statistics())
    }

    /// Stops: closes all listeners and connections. All is closed when this returns.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        self.hub = None;
        while self.alive.recv().await.is_some() {}
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}
