use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use milena_connection::IncomingRequest;
use milena_messages::ByteString;

use crate::cluster::State;
use crate::cluster::node::{Endpoint, Node};
use crate::cluster::throttle::{ClientQuota, QuotaKind};
use crate::security::principal::Principal;
use crate::security::protocol::SecurityProtocol;
use crate::telemetry::Software;

/// The client at the other end of a connection.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) peer: SocketAddr,
    /// Names the connection; no other one has this number. A login does not change it.
    pub(crate) connection: u64,
    /// Who the client is, since its last login.
    pub(crate) principal: Principal,
    /// The listener that it came by, as an index of [`State::listeners`].
    pub(crate) listener: usize,
    /// Whether it logged in with a delegation token.
    pub(crate) by_token: bool,
    /// What the client last said of its software. It lasts as long as the connection.
    pub(crate) software: Arc<Mutex<Software>>,
    /// Until then, by the clock of the cluster, no request of the connection is handled.
    pub(crate) muted_until_ms: AtomicI64,
}

impl Client {
    /// The client of a new connection, before any login.
    pub(crate) fn anonymous(peer: SocketAddr, listener: usize) -> Self {
        static CONNECTIONS: AtomicU64 = AtomicU64::new(0);
        let connection = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        let (principal, software) = (Principal::anonymous(), Arc::default());
        Self { peer, connection, principal, listener, by_token: false, software, muted_until_ms: AtomicI64::new(0) }
    }

    /// How the client calls its software.
    pub(crate) fn software(&self) -> Software {
        self.software.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The host as groups describe it: the address with a slash in front, as Java writes addresses without a name.
    pub(crate) fn host(&self) -> String {
        format!("/{}", self.peer.ip())
    }
}

/// Where a node is for the client, as the `NodeEndpoint` that is in scope: four responses have one of the same fields.
macro_rules! node_endpoint {
    ($context:expr, $node:expr) => {{
        let node: &$crate::cluster::node::Node = &$node;
        let endpoint = $context.endpoint(node);
        NodeEndpoint {
            node_id: node.id,
            host: endpoint.host.clone(),
            port: endpoint.port.into(),
            rack: node.rack.clone(),
            ..Default::default()
        }
    }};
}
pub(super) use node_endpoint;

/// The client, the node and the form of a request. A clone is cheap, for handlers that wait.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) state: Arc<State>,
    /// The node that the client is connected to.
    pub(crate) node: Arc<Node>,
    pub(crate) client: Arc<Client>,
    /// How the client calls itself in this request.
    pub(crate) client_id: Option<ByteString>,
    /// Of the request and its response.
    pub(crate) version: i16,
    /// Bytes of the request, which limit what it may cost.
    pub(crate) frame_size: usize,
}

impl Context {
    /// The quota of the client, if it has one.
    pub(crate) fn quota(&self, kind: QuotaKind) -> Option<ClientQuota> {
        let client = self.client_id.as_deref().unwrap_or_default();
        ClientQuota::find(&self.state.quotas(), kind, self.client.principal.name(), client)
    }

    /// Holds the client back: it gets its response at once, and its next request waits (KIP-219).
    pub(crate) fn mute(&self, throttle_time_ms: i32) {
        if throttle_time_ms > 0 {
            let until = self.state.now_ms().saturating_add(throttle_time_ms.into());
            self.client.muted_until_ms.fetch_max(until, Ordering::AcqRel);
        }
    }

    /// Takes what the client changes from its quota for partitions; false when it has to wait, which it learns of only when
    /// its version is `strict`.
    pub(crate) fn may_mutate(&self, quota: Option<&ClientQuota>, partitions: usize, strict: bool) -> bool {
        quota.is_none_or(|quota| self.node.throttle.mutate(quota, partitions, strict, self.state.now_ms()))
    }

    /// For how long the client is held back for the partitions that it changed.
    pub(crate) fn mutation_throttle_ms(&self, quota: Option<&ClientQuota>) -> i32 {
        let debt = quota.map_or(0, |quota| self.node.throttle.mutation_debt_ms(quota, self.state.now_ms()));
        self.mute(debt);
        debt
    }

    /// Whether the client may ask for delegation tokens: not without a login, and not when it logged in with a token.
    pub(crate) fn may_ask_for_tokens(&self) -> bool {
        let listener = self.state.listeners.get(self.client.listener);
        match listener.map(|listener| listener.protocol) {
            None | Some(SecurityProtocol::Plaintext) => false,
            Some(SecurityProtocol::Ssl) if self.client.principal == Principal::anonymous() => false,
            Some(_) => !self.client.by_token,
        }
    }

    /// Where this client connects to a node: by the listener that it came by.
    pub(crate) fn endpoint(&self, node: &Node) -> Arc<Endpoint> {
        node.endpoint_of(self.client.listener)
    }

    pub(crate) fn new(state: &Arc<State>, node: &Arc<Node>, client: &Arc<Client>, request: &IncomingRequest) -> Self {
        Self {
            state: state.clone(),
            node: node.clone(),
            client: client.clone(),
            client_id: request.client_id.clone(),
            version: request.api_version,
            frame_size: request.frame_size(),
        }
    }
}
