use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use milena_messages::ByteString;

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
    endpoint: Arc<Endpoint>,
    /// The port that the node listens on, to listen there again.
    port: AtomicU16,
    alive: AtomicBool,
}

impl Node {
    pub(crate) fn new(id: i32, rack: Option<ByteString>, endpoint: Endpoint) -> Self {
        Self { id, rack, endpoint: Arc::new(endpoint), port: AtomicU16::new(0), alive: AtomicBool::new(true) }
    }

    /// What clients get.
    pub(crate) fn endpoint(&self) -> Arc<Endpoint> {
        self.endpoint.clone()
    }

    pub(super) fn port(&self) -> u16 {
        self.port.load(Ordering::Relaxed)
    }

    pub(super) fn set_port(&self, port: u16) {
        self.port.store(port, Ordering::Relaxed);
    }

    /// Whether the node is up. Metadata names no other.
    pub(crate) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    pub(super) fn set_alive(&self, alive: bool) {
        self.alive.store(alive, Ordering::Release);
    }
}
