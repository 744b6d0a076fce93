//! The sockets: one task that listens, one per connection.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use milena_connection::{ConnectionError, IncomingRequest, ServerConnection, ServerConnectionConfig};
use milena_transport::Segments;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::handler::{self, Outcome, SERVED};
use crate::state::State;

/// How long connections get to finish what they are at when the broker stops.
const FAREWELL: Duration = Duration::from_secs(1);
/// While a request is worked on, this much is read of what comes behind it, so that a client who left is noticed.
const READ_AHEAD: usize = 64 * 1024;

/// Comes back when the broker stops, or is gone.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Takes connections until `stop` says so, or all who could say so are gone.
pub(crate) async fn listen(listener: TcpListener, state: Arc<State>, mut stop: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stopped(&mut stop) => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((socket, peer)) if connections.len() < state.config.max_connections => {
                    connections.spawn(serve(socket, peer, state.clone(), stop.clone()));
                }
                Ok((_, peer)) => tracing::warn!(%peer, "connection refused: there are too many"),
                Err(error) => {
                    // Such as no more file descriptors: it passes, but not within microseconds.
                    tracing::warn!(%error, "cannot take a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
        }
    }
    drop(listener);
    let all_gone = async { while connections.join_next().await.is_some() {} };
    // Those that are still there are aborted with the set.
    let _ = timeout(FAREWELL, all_gone).await;
}

/// Why a connection ended, when not because the client was done with it.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{0}")]
    Closed(String),
    #[error("no request for {0:?}")]
    Idle(Duration),
}

async fn serve(socket: TcpStream, peer: SocketAddr, state: Arc<State>, stop: watch::Receiver<bool>) {
    tracing::debug!(%peer, "connected");
    match Connection::new(socket, state, stop).run().await {
        Ok(()) => tracing::debug!(%peer, "disconnected"),
        Err(Ended::Io(error)) => tracing::debug!(%peer, %error, "connection lost"),
        Err(error) => tracing::warn!(%peer, %error, "connection closed"),
    }
}

struct Connection {
    socket: TcpStream,
    machine: ServerConnection,
    state: Arc<State>,
    stop: watch::Receiver<bool>,
}

impl Connection {
    fn new(socket: TcpStream, state: Arc<State>, stop: watch::Receiver<bool>) -> Self {
        let mut config = ServerConnectionConfig::serving(SERVED.iter().copied());
        config.max_frame = state.config.max_frame;
        Self { socket, machine: ServerConnection::new(config), state, stop }
    }

    async fn run(mut self) -> Result<(), Ended> {
        // Answers are whole when they are written: holding back their last bytes would only delay them.
        self.socket.set_nodelay(true)?;
        loop {
            while let Some(request) = self.next_request().await? {
                if !self.answer(&request).await? {
                    return Ok(());
                }
            }
            let idle = self.state.config.idle_timeout;
            let read = tokio::select! {
                () = stopped(&mut self.stop) => return Ok(()),
                read = timeout(idle, self.socket.read_buf(self.machine.input())) => read,
            };
            if read.map_err(|_| Ended::Idle(idle))?? == 0 {
                return Ok(());
            }
        }
    }

    /// The next request that is here as a whole. What the machine answered by itself is sent, even when the connection
    /// ends then.
    async fn next_request(&mut self) -> Result<Option<IncomingRequest>, Ended> {
        let next = self.machine.poll();
        self.flush().await?;
        Ok(next?)
    }

    /// Works on a request and sends the answer. False when the client has gone or the broker stops.
    async fn answer(&mut self, request: &IncomingRequest) -> Result<bool, Ended> {
        tracing::trace!(api = %request.api_key, version = request.api_version, size = request.frame_size, "request");
        let state = self.state.clone();
        let mut work = std::pin::pin!(handler::handle(&state, request));
        let mut ahead = 0;
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut work => break outcome?,
                () = stopped(&mut self.stop) => return Ok(false),
                read = self.socket.read_buf(self.machine.input()), if ahead < READ_AHEAD => match read? {
                    0 => return Ok(false),
                    count => ahead += count,
                },
            }
        };
        match outcome {
            Outcome::Answer(frame) => self.machine.respond_raw(request, frame)?,
            Outcome::Nothing => self.machine.respond_nothing(request)?,
            Outcome::Close(why) => return Err(Ended::Closed(why)),
        }
        self.flush().await?;
        Ok(true)
    }

    async fn flush(&mut self) -> Result<(), Ended> {
        let mut segments: Segments = self.machine.take_output().into_iter().collect();
        if segments.is_empty() {
            return Ok(());
        }
        // Who does not read its answers holds them in memory here: for so long, and no longer.
        let idle = self.state.config.idle_timeout;
        timeout(idle, segments.write_all(&mut self.socket)).await.map_err(|_| Ended::Idle(idle))??;
        Ok(())
    }
}
