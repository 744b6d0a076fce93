use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use milena_messages::ByteString;
use tokio::sync::watch;

use crate::cluster::throttle::Throttle;
use crate::fetch_session::FetchSessions;
use crate::telemetry::Telemetry;

/// Where clients connect to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) host: ByteString,
    pub(crate) port: u16,
}

impl fmt::Display for Endpoint {
    /// `host:port`; an IPv6 address is in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, port) = (&self.host, self.port);
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// A broker of the cluster.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: i32,
    pub(crate) rack: Option<ByteString>,
    /// What clients get, for each listener.
    endpoints: Vec<Arc<Endpoint>>,
    /// The ports that the node listens on, to listen there again.
    ports: OnceLock<Vec<u16>>,
    alive: AtomicBool,
    /// Whether the cluster knows the node; one that starts makes itself known.
    registered: AtomicBool,
    /// Whether the network carries bytes to and from the node.
    connected: watch::Sender<bool>,
    pub(crate) fetch_sessions: FetchSessions,
    pub(crate) telemetry: Telemetry,
    pub(crate) throttle: Throttle,
}

impl Node {
    /// A node with an endpoint for each listener, at least one, and room for so many fetch sessions.
    pub(crate) fn new(id: i32, rack: Option<ByteString>, endpoints: Vec<Endpoint>, fetch_sessions: usize) -> Self {
        Self {
            id,
            rack,
            endpoints: endpoints.into_iter().map(Arc::new).collect(),
            ports: OnceLock::new(),
            alive: AtomicBool::new(true),
            registered: AtomicBool::new(true),
            connected: watch::Sender::new(true),
            fetch_sessions: FetchSessions::new(fetch_sessions),
            telemetry: Telemetry::default(),
            throttle: Throttle::default(),
        }
    }

    /// What clients of a listener get; handlers use [`Context::endpoint`](crate::handler::Context::endpoint).
    pub(crate) fn endpoint_of(&self, listener: usize) -> Arc<Endpoint> {
        // All nodes have the same listeners.
        self.endpoints.get(listener).unwrap_or(&self.endpoints[0]).clone()
    }

    pub(super) fn ports(&self) -> &[u16] {
        self.ports.get().map_or(&[], Vec::as_slice)
    }

    pub(super) fn set_ports(&self, ports: Vec<u16>) {
        // A node that comes back has the ports that it had.
        let _ = self.ports.set(ports);
    }

    /// Whether the node is up. Metadata names no other.
    pub(crate) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    pub(super) fn set_alive(&self, alive: bool) {
        self.registered.fetch_or(alive, Ordering::AcqRel);
        self.alive.store(alive, Ordering::Release);
    }

    /// Whether the node is cut off from clients and from the other nodes.
    pub(crate) fn is_isolated(&self) -> bool {
        !*self.connected.borrow()
    }

    pub(super) fn set_isolated(&self, isolated: bool) {
        self.connected.send_replace(!isolated);
    }

    /// Returns when the node is not isolated.
    pub(crate) async fn connected(&self) {
        if self.is_isolated() {
            // The node, and so the sender, is there as long as this call.
            let _ = self.connected.subscribe().wait_for(|connected| *connected).await;
        }
    }

    /// The cluster forgets the node. False when it did so before.
    pub(super) fn unregister(&self) -> bool {
        self.registered.swap(false, Ordering::AcqRel)
    }
}
