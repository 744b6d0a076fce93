//! The socket that a node listens on: one task for it, one for each connection.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use milena_transport::{MemoryListener, Stream};
use milena_wire::Report;
use tokio::io::DuplexStream;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout, timeout_at};

use crate::cluster::State;
use crate::cluster::node::Node;
use crate::handler::Client;
use crate::net::connection::{serve, stopped};
#[cfg(feature = "tls")]
use crate::security::principal::Principal;

/// How long connections may finish their current request when the node stops.
const FAREWELL: Duration = Duration::from_secs(1);

/// The peer of a connection in memory.
const IN_MEMORY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Accepts connections until the node stops or was dropped.
pub(crate) async fn listen(
    listener: TcpListener,
    mut memory: Option<MemoryListener>,
    index: usize,
    (state, node): (Arc<State>, Arc<Node>),
    mut stop: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let mut silent = Silent::default();
    loop {
        tokio::select! {
            () = stopped(&mut stop) => break,
            Some(_) = connections.join_next() => {}
            Some(stream) = next_in(&mut memory) => {
                if connections.len() >= state.config.max_connections && !silent.end_one() {
                    continue;
                }
                let spoke = Arc::new(AtomicBool::new(false));
                let here = (state.clone(), node.clone());
                let login_until = Instant::now() + state.config.security.login_timeout;
                let client = Client::anonymous(IN_MEMORY, index);
                let task = connections.spawn(serve(stream, client, here, login_until, stop.clone(), spoke.clone()));
                silent.add(task, spoke);
            }
            accepted = listener.accept() => match accepted {
                Ok((socket, peer)) => {
                    if connections.len() >= state.config.max_connections && !silent.end_one() {
                        tracing::warn!(%peer, "connection refused: there are too many");
                        continue;
                    }
                    let spoke = Arc::new(AtomicBool::new(false));
                    // Responses are whole when they are written: holding back their last bytes would only delay them.
                    if let Err(error) = socket.set_nodelay(true) {
                        tracing::debug!(%peer, %error, "connection lost");
                        continue;
                    }
                    let here = (state.clone(), node.clone());
                    let client = Client::anonymous(peer, index);
                    let task = connections.spawn(connect(socket, client, here, stop.clone(), spoke.clone()));
                    silent.add(task, spoke);
                }
                Err(error) => {
                    // Such as no more file descriptors: it passes, but not within microseconds.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
        }
    }
    drop((listener, memory));
    let all_gone = async { while connections.join_next().await.is_some() {} };
    // Those that are still there are aborted with the set.
    let _ = timeout(FAREWELL, all_gone).await;
}

/// The next connection in memory; waits for ever where there is no such network.
async fn next_in(memory: &mut Option<MemoryListener>) -> Option<DuplexStream> {
    match memory {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

/// Serves a connection, after the handshake of TLS where the listener has one.
async fn connect(
    socket: TcpStream,
    client: Client,
    (state, node): (Arc<State>, Arc<Node>),
    stop: watch::Receiver<bool>,
    spoke: Arc<AtomicBool>,
) {
    let login_until = Instant::now() + state.config.security.login_timeout;
    let is_tls = state.listeners.get(client.listener).is_some_and(|listener| listener.protocol.is_tls());
    if !is_tls {
        return serve(socket, client, (state, node), login_until, stop, spoke).await;
    }
    let Some(tls) = state.tls.get() else { return };
    let peer = client.peer;
    match timeout_at(login_until, tls.accept(socket)).await {
        Err(_) => tracing::warn!(%peer, "connection closed: no TLS handshake in time"),
        Ok(Err(error)) => tracing::warn!(%peer, error = %Report(&error), "connection closed: no TLS"),
        Ok(Ok(stream)) => {
            let Some(client) = by_certificate(client, &stream) else {
                tracing::warn!(%peer, "connection closed: the certificate has no subject");
                return;
            };
            serve(stream, client, (state, node), login_until, stop, spoke).await;
        }
    }
}

/// The client with the principal of its certificate, if it has one; `None` when that cannot be read.
#[cfg(feature = "tls")]
fn by_certificate(client: Client, stream: &Stream) -> Option<Client> {
    match stream.peer_certificate() {
        None => Some(client),
        Some(certificate) => {
            let subject = crate::security::dn::subject(certificate)?;
            Some(Client { principal: Principal::user(&subject), ..client })
        }
    }
}

#[cfg(not(feature = "tls"))]
fn by_certificate(client: Client, _: &Stream) -> Option<Client> {
    Some(client)
}

/// Connections that have not sent a request, oldest first. They give way when there are too many.
#[derive(Default)]
struct Silent {
    list: VecDeque<(AbortHandle, Arc<AtomicBool>)>,
    prune_at: usize,
}

impl Silent {
    fn add(&mut self, task: AbortHandle, spoke: Arc<AtomicBool>) {
        if self.list.len() >= self.prune_at {
            self.list.retain(|(task, spoke)| !task.is_finished() && !spoke.load(Ordering::Relaxed));
            self.prune_at = 2 * self.list.len() + 8;
        }
        self.list.push_back((task, spoke));
    }

    /// Ends the oldest one; false when there is none.
    fn end_one(&mut self) -> bool {
        while let Some((task, spoke)) = self.list.pop_front() {
            if !task.is_finished() && !spoke.load(Ordering::Relaxed) {
                tracing::warn!("connection without a request closed: there are too many");
                task.abort();
                return true;
            }
        }
        false
    }
}
