//! The sockets: one task that listens, one per connection.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use milena_connection::{ConnectionError, IncomingRequest, ServerConnection, ServerConnectionConfig};
use milena_transport::Segments;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use crate::handler::{Outcome, SERVED};
use crate::state::State;
use crate::work::{self, Failed};

/// How long connections may finish their current request when the broker stops.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long a client may read nothing while there are too many unsent responses.
const PATIENCE: Duration = Duration::from_secs(1);
/// While a request is handled, this much is read of what comes after it, so that a client that left is noticed.
const READ_AHEAD: usize = 64 * 1024;

/// Returns when the broker stops or was dropped.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Accepts connections until the broker stops or was dropped.
pub(crate) async fn listen(listener: TcpListener, state: Arc<State>, mut stop: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let mut silent = Silent::default();
    loop {
        tokio::select! {
            () = stopped(&mut stop) => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((socket, peer)) => {
                    if connections.len() >= state.config.max_connections && !silent.end_one() {
                        tracing::warn!(%peer, "connection refused: there are too many");
                        continue;
                    }
                    let spoke = Arc::new(AtomicBool::new(false));
                    let task = connections.spawn(serve(socket, peer, state.clone(), stop.clone(), spoke.clone()));
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
    drop(listener);
    let all_gone = async { while connections.join_next().await.is_some() {} };
    // Those that are still there are aborted with the set.
    let _ = timeout(FAREWELL, all_gone).await;
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

/// Why a connection ended, when it was not the client that closed it.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error(transparent)]
    Handler(#[from] Failed),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{0}")]
    Closed(String),
    #[error("no request for {0:?}")]
    Idle(Duration),
    #[error("the client read nothing for {0:?}")]
    NotReading(Duration),
}

async fn serve(
    socket: TcpStream,
    peer: SocketAddr,
    state: Arc<State>,
    stop: watch::Receiver<bool>,
    spoke: Arc<AtomicBool>,
) {
    tracing::debug!(%peer, "connected");
    match Connection::new(socket, peer, state, stop, spoke).run().await {
        Ok(()) => tracing::debug!(%peer, "disconnected"),
        Err(Ended::Io(error)) => tracing::debug!(%peer, %error, "connection lost"),
        Err(error) => tracing::warn!(%peer, %error, "connection closed"),
    }
}

struct Connection {
    socket: TcpStream,
    peer: SocketAddr,
    machine: ServerConnection,
    state: Arc<State>,
    stop: watch::Receiver<bool>,
    /// Whether there was a request.
    spoke: Arc<AtomicBool>,
}

impl Connection {
    fn new(
        socket: TcpStream,
        peer: SocketAddr,
        state: Arc<State>,
        stop: watch::Receiver<bool>,
        spoke: Arc<AtomicBool>,
    ) -> Self {
        let mut config = ServerConnectionConfig::serving(SERVED.iter().copied());
        config.max_frame = state.config.max_frame;
        Self { socket, peer, machine: ServerConnection::new(config), state, stop, spoke }
    }

    async fn run(mut self) -> Result<(), Ended> {
        // Responses are whole when they are written: holding back their last bytes would only delay them.
        self.socket.set_nodelay(true)?;
        loop {
            while let Some(request) = self.next_request().await? {
                self.spoke.store(true, Ordering::Relaxed);
                self.state.received.push(self.peer, &request);
                if !self.respond(&request).await? {
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

    /// Handles a request and sends the response. False when the client has gone or the broker stops.
    async fn respond(&mut self, request: &IncomingRequest) -> Result<bool, Ended> {
        tracing::trace!(api = %request.api_key, version = request.api_version, size = request.frame_size(), "request");
        let state = self.state.clone();
        let mut work = std::pin::pin!(work::process(&state, request));
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
            Outcome::Response(frame) => self.machine.respond_raw(request, frame)?,
            // A request that waited has a response.
            Outcome::Nothing | Outcome::Wait(_) => self.machine.respond_nothing(request)?,
            Outcome::Close(why) => return Err(Ended::Closed(why)),
        }
        self.flush().await?;
        Ok(true)
    }

    async fn flush(&mut self) -> Result<(), Ended> {
        let segments: Segments = self.machine.take_output().into_iter().collect();
        if segments.is_empty() {
            return Ok(());
        }
        let _held = self.state.unsent.hold(segments.bytes());
        write_all(&mut self.socket, segments, &self.state).await
    }
}

/// Writes all segments. A client that reads nothing for the idle time loses its connection, and much earlier when unsent
/// responses take too much memory.
async fn write_all(socket: &mut TcpStream, mut segments: Segments, state: &State) -> Result<(), Ended> {
    let idle = state.config.idle_timeout;
    let turn = PATIENCE.min(idle);
    let mut waited = Duration::ZERO;
    while !segments.is_empty() {
        match timeout(turn, segments.write_some(socket)).await {
            Ok(written) => {
                written?;
                waited = Duration::ZERO;
            }
            Err(_) => {
                waited += turn;
                if waited >= idle || state.unsent.room() == 0 {
                    return Err(Ended::NotReading(waited));
                }
            }
        }
    }
    Ok(())
}
