use std::net::SocketAddr;
use std::sync::Arc;

use milena_connection::fault::{Action, Rule, Statistic};
use milena_fault::without_place;
use tokio::sync::{mpsc, watch};

use crate::config::TapConfig;
use crate::endpoint;
use crate::event::{Queue, Watch, queue};
use crate::hub::Hub;
use crate::probe::{Node, ProbeError};

/// A proxy that runs. It stops when it is dropped.
#[derive(Debug)]
pub struct Tap {
    address: SocketAddr,
    /// Gone once the tap stops, so that the end of all tasks can be noticed.
    hub: Option<Arc<Hub>>,
    stop: watch::Sender<bool>,
    /// Carries nothing; it ends with the last task.
    alive: mpsc::Receiver<()>,
}

/// Why no proxy runs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TapError {
    /// The address cannot be listened at.
    #[error("cannot listen at {host}:{port}")]
    Listen {
        /// Of the configuration.
        host: String,
        /// Of the configuration.
        port: u16,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A rule injects an error for which no response has a field.
    #[error("fault `{rule}`: {why}")]
    Fault {
        /// The rule as it was written.
        rule: String,
        /// What is in the way.
        why: String,
    },
    /// No broker to ask first.
    #[error("no broker is named to connect to")]
    NoBootstrap,
}

impl Tap {
    /// Starts a proxy on the current tokio runtime that nobody watches; it takes connections when this returns.
    ///
    /// # Errors
    /// The address cannot be listened at; no broker is named; a fault rule can never do what it says.
    pub fn start(config: TapConfig) -> Result<Self, TapError> {
        Self::run(config, None)
    }

    /// Starts a proxy on the current tokio runtime, and gives its events: at most `bytes` of frames wait for the watcher, 64 MiB
    /// being a good number. What does not fit is left out and counted.
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
        for rule in &config.faults {
            check(rule)?;
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

    /// Looks at the cluster: connects to the brokers to ask first, asks for all brokers, and opens a listener for each in
    /// the order of their ids. Without this, listeners open when responses first name their brokers. None are given when the
    /// cluster says nothing to clients that have not authenticated.
    ///
    /// # Errors
    /// No broker takes a connection, which may change; or the tap would connect to itself.
    pub async fn probe(&self) -> Result<Vec<Node>, ProbeError> {
        match &self.hub {
            Some(hub) => hub.probe().await,
            None => Ok(Vec::new()),
        }
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

/// Refuses a rule for an error that has no place in any response that the rule is about.
fn check(rule: &Rule) -> Result<(), TapError> {
    let Action::Error(code) = rule.action() else { return Ok(()) };
    match without_place(rule.apis(), rule.versions(), code) {
        None => Ok(()),
        Some(api) => Err(TapError::Fault {
            rule: rule.to_string(),
            why: format!("responses to {api} have no field for {code} in these versions"),
        }),
    }
}
