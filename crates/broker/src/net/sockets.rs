//! The sockets of a node, one for each listener.

use std::net::SocketAddr;

use tokio::net::TcpListener;

use crate::cluster::node::Endpoint;
use crate::config::BrokerConfig;
use crate::error::BrokerError;
use crate::security::config::ListenerConfig;

/// A listener that is bound.
pub(crate) struct Socket {
    pub(crate) socket: TcpListener,
    pub(crate) address: SocketAddr,
    pub(crate) endpoint: Endpoint,
}

/// The sockets of one node, in the order of the listeners.
pub(crate) struct Sockets(Vec<Socket>);

impl Sockets {
    /// Binds the listeners of the node at this place of the cluster. A node that comes back gives the ports that it had.
    ///
    /// # Errors
    /// The system refuses an address.
    pub(crate) async fn open(config: &BrokerConfig, place: usize, ports: &[u16]) -> Result<Self, BrokerError> {
        let mut sockets = Vec::new();
        for (index, listener) in config.listeners().into_iter().enumerate() {
            let fixed = if listener.port == 0 { 0 } else { listener.port + place as u16 };
            let port = ports.get(index).copied().unwrap_or(fixed);
            let host = listener.host.as_deref().unwrap_or(&config.host);
            let failed = |source| BrokerError::Listen { host: host.to_owned(), port, source };
            let socket = TcpListener::bind((host, port)).await.map_err(failed)?;
            let address = socket.local_addr().map_err(failed)?;
            let endpoint = Endpoint {
                host: advertised_host(&listener, config, host, address).into(),
                port: listener.advertised_port.map_or(address.port(), |first| first + place as u16),
            };
            sockets.push(Socket { socket, address, endpoint });
        }
        Ok(Self(sockets))
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.0.iter().map(|socket| socket.address).collect()
    }

    pub(crate) fn endpoints(&self) -> Vec<Endpoint> {
        self.0.iter().map(|socket| socket.endpoint.clone()).collect()
    }
}

impl IntoIterator for Sockets {
    type Item = Socket;
    type IntoIter = std::vec::IntoIter<Socket>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

fn advertised_host(listener: &ListenerConfig, config: &BrokerConfig, host: &str, address: SocketAddr) -> String {
    match listener.advertised_host.as_ref().or(config.advertised_host.as_ref()) {
        Some(host) => host.clone(),
        // "Every address" is none that a client can connect to.
        None if address.ip().is_unspecified() => (if address.is_ipv4() { "127.0.0.1" } else { "::1" }).to_owned(),
        None => host.to_owned(),
    }
}
