//! One connection of a client: reads requests, has them handled one after the other, and writes the responses.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use milena_connection::fault::{Action, Decision};
use milena_connection::{ConnectionError, IncomingRequest, ServerConnection, ServerConnectionConfig};
use milena_fault::Distortion;
use milena_messages::ApiKey;
use milena_transport::Segments;
use milena_wire::Report;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use crate::cluster::State;
use crate::cluster::node::Node;
use crate::handler::{Client, Context, Frame, Outcome};
use crate::net::arrivals::Arrivals;
use crate::net::fault::{self, Fault, Hold, Refused};
use crate::net::work::{self, Failed};
use crate::security::login::{Login, Step};
use crate::security::principal::Principal;
use crate::security::sasl::Identity;

/// How long a client may read nothing while there are too many unsent responses.
const PATIENCE: Duration = Duration::from_secs(1);
/// While a request is handled, this much is read of what comes after it, so that a client that left is noticed.
const READ_AHEAD: usize = 64 * 1024;
/// How long a response waits for the next one, to leave after it.
const LATEST: Duration = Duration::from_secs(1);

/// Returns when the node stops or was dropped.
pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
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
    #[error("no response: {0}")]
    Disk(String),
    #[error("no login: {0}")]
    Login(String),
    #[error("no login within {0:?}")]
    LoginTimeout(Duration),
    #[error("cut by a fault rule")]
    Cut,
    #[error("no request for {0:?}")]
    Idle(Duration),
    #[error("the client read nothing for {0:?}")]
    NotReading(Duration),
}

/// Serves a client until it leaves, misbehaves, or the node stops.
pub(super) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    socket: S,
    client: Client,
    (state, node): (Arc<State>, Arc<Node>),
    login_until: Instant,
    stop: watch::Receiver<bool>,
    spoke: Arc<AtomicBool>,
) {
    let peer = client.peer;
    tracing::debug!(%peer, "connected");
    let mut config = ServerConnectionConfig::serving(state.release.served().iter().copied());
    config.refusal_lists_versions = state.release.has("2.4");
    config.max_frame = state.config.max_frame;
    let machine = ServerConnection::new(config);
    // Also when the task is ended with its node.
    let _leaving = Leaving { state: state.clone(), connection: client.connection };
    let needs_login = state.listeners.get(client.listener).is_some_and(|listener| listener.protocol.is_sasl());
    let mut connection = Connection {
        socket,
        client: Arc::new(client),
        machine,
        login: needs_login.then(Login::new),
        login_until,
        arrivals: Arrivals::default(),
        state,
        node,
        stop,
        spoke,
        late: None,
    };
    connection.limit_frames();
    match connection.run().await {
        Ok(()) => tracing::debug!(%peer, "disconnected"),
        Err(Ended::Cut) => tracing::debug!(%peer, "connection cut by a fault rule"),
        Err(Ended::Io(error)) => tracing::debug!(%peer, error = %Report(&error), "connection lost"),
        Err(error) => tracing::warn!(%peer, error = %Report(&error), "connection closed"),
    }
}

/// What ends with a connection.
struct Leaving {
    state: Arc<State>,
    connection: u64,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.state.share_disconnected(self.connection);
    }
}

struct Connection<S> {
    socket: S,
    client: Arc<Client>,
    machine: ServerConnection,
    /// `None` on a listener without logins.
    login: Option<Login>,
    /// Until when the client has to have logged in for the first time.
    login_until: Instant,
    arrivals: Arrivals,
    state: Arc<State>,
    node: Arc<Node>,
    stop: watch::Receiver<bool>,
    /// Whether there was a request of a client that needs no login, or has logged in.
    spoke: Arc<AtomicBool>,
    /// A response that leaves after the next one, and when it leaves without one.
    late: Option<(Frame, Instant)>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    async fn run(mut self) -> Result<(), Ended> {
        loop {
            while let Some(request) = self.next_request().await? {
                if self.login.is_none() {
                    self.spoke.store(true, Ordering::Relaxed);
                }
                self.state.received.push(&self.client, self.node.id, &request);
                let arrived = self.arrivals.of_last_request(self.machine.buffered());
                let subject = || fault::subject_of(&request, (&self.state, &self.node));
                let goes_on = match self.state.faults.decide(&request, &subject) {
                    None => self.respond(&request, Fault::None).await?,
                    Some(decision) => self.fail(&request, arrived, decision).await?,
                };
                if !goes_on || !self.unmuted().await {
                    return Ok(());
                }
            }
            let idle = self.state.config.idle_timeout;
            let is_known = self.spoke.load(Ordering::Relaxed) || self.login.is_none();
            let read = tokio::select! {
                () = stopped(&mut self.stop) => return Ok(()),
                () = sleep_until(self.login_until), if !is_known => {
                    return Err(Ended::LoginTimeout(self.state.config.security.login_timeout));
                }
                () = due(&self.late) => {
                    self.send_late().await?;
                    continue;
                }
                read = timeout(idle, self.socket.read_buf(self.machine.input())) => read,
            };
            let count = read.map_err(|_| Ended::Idle(idle))??;
            if count == 0 {
                return Ok(());
            }
            self.arrivals.add(count);
        }
    }

    /// Waits while the client is held back by a quota. False when the broker stops meanwhile.
    async fn unmuted(&mut self) -> bool {
        let until = self.client.muted_until_ms.load(Ordering::Acquire);
        if until <= self.state.now_ms() {
            return true;
        }
        tokio::select! {
            () = stopped(&mut self.stop) => false,
            () = self.state.clock.sleep_until(until) => true,
        }
    }

    /// The next request that is here as a whole. What the machine responded by itself is sent, even when the connection
    /// ends then.
    async fn next_request(&mut self) -> Result<Option<IncomingRequest>, Ended> {
        while self.login.as_ref().is_some_and(Login::expects_raw) {
            let Some(token) = self.machine.poll_raw()? else { return Ok(None) };
            self.raw_token(&token).await?;
        }
        let next = self.machine.poll();
        self.flush().await?;
        let next = next?;
        if next.is_some() {
            self.node.connected().await;
        }
        Ok(next)
    }

    /// Takes a token of a login without its header, as it follows SaslHandshake version 0.
    async fn raw_token(&mut self, token: &[u8]) -> Result<(), Ended> {
        let Some(login) = &mut self.login else { return Ok(()) };
        match login.raw(token, self.state.scene()) {
            Step::Pass => return Ok(()),
            Step::Respond(token) => self.machine.send_raw(&token),
            Step::LoggedIn(token, identity) => {
                self.machine.send_raw(&token);
                self.logged_in(&identity);
            }
            Step::Fail(_, why) | Step::Refuse(_, why) => {
                let delay = tokio::time::sleep(self.state.config.security.failed_login_delay);
                tokio::select! {
                    () = stopped(&mut self.stop) => {}
                    () = delay => {}
                }
                return Err(Ended::Login(why));
            }
            Step::Close(why) => return Err(Ended::Login(why)),
        }
        self.flush().await
    }

    /// The client is known from now on.
    fn logged_in(&mut self, identity: &Identity) {
        let principal = Principal::user(&identity.name);
        tracing::debug!(peer = %self.client.peer, %principal, "logged in");
        let Client { peer, connection, listener, .. } = *self.client;
        let (software, by_token) = (self.client.software.clone(), identity.by_token);
        let muted_until_ms = self.client.muted_until_ms.load(Ordering::Acquire).into();
        self.client = Arc::new(Client { peer, connection, principal, listener, by_token, software, muted_until_ms });
        self.spoke.store(true, Ordering::Relaxed);
        self.limit_frames();
    }

    /// Limits frames as it is due before, during and after a login.
    fn limit_frames(&mut self) {
        let config = &self.state.config;
        let is_open = self.login.as_ref().is_none_or(Login::is_done);
        let limit = if is_open { config.max_frame } else { config.max_frame.min(config.security.max_login_frame) };
        self.machine.set_max_frame(limit);
    }

    /// Does what a fault rule says. False when the client has gone or the broker stops.
    async fn fail(&mut self, request: &IncomingRequest, arrived: Instant, decision: Decision) -> Result<bool, Ended> {
        let Decision { action, scope, random, .. } = decision;
        tracing::debug!(peer = %self.client.peer, api = %request.api_key, %action, "fault");
        match action {
            Action::Drop => {
                self.machine.respond_nothing(request)?;
                self.flush().await?;
                Ok(true)
            }
            Action::Cut { after: None } => Err(Ended::Cut),
            Action::Cut { after: Some(bytes) } => {
                self.respond(request, Fault::CutAfter(usize::try_from(bytes).unwrap_or(usize::MAX))).await
            }
            Action::Delay(time) => self.respond(request, Fault::Until(arrived.checked_add(time))).await,
            Action::Error(code) => match fault::refuse(request, code, &scope, (&self.state, &self.node))? {
                Refused::Response(frame) => {
                    self.machine.respond_raw(request, frame)?;
                    self.flush().await?;
                    Ok(true)
                }
                Refused::Close => Err(Ended::Cut),
                Refused::Patch(request, patch) => self.respond(&request, Fault::Patch(patch)).await,
                Refused::NoPlace => {
                    let (api, version) = (request.api_key, request.api_version);
                    tracing::warn!(%api, version, %code, "the response has no field for the code of a fault");
                    self.respond(request, Fault::None).await
                }
            },
            Action::Throttle(time) => {
                let ms = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
                self.respond(request, Fault::Distort(Distortion::Throttle { ms })).await
            }
            Action::Garble { bytes } => {
                self.respond(request, Fault::Distort(Distortion::Garble { bytes, seed: random })).await
            }
            Action::Short { by } => self.respond(request, Fault::Distort(Distortion::Short { by })).await,
            Action::Reorder => self.respond(request, Fault::Late).await,
            action => {
                tracing::warn!(%action, "a fault that this broker does not know");
                self.respond(request, Fault::None).await
            }
        }
    }

    /// Handles a request and sends the response, as a fault changes it. False when the client has gone or the broker
    /// stops.
    async fn respond(&mut self, request: &IncomingRequest, fault: Fault) -> Result<bool, Ended> {
        tracing::trace!(api = %request.api_key, version = request.api_version, size = request.frame_size(), "request");
        let step = match &mut self.login {
            None => Step::Pass,
            Some(login) => login.request(request, self.state.scene())?,
        };
        let mut ends = None;
        let done = match step {
            Step::Pass => None,
            Step::Respond(frame) => {
                self.limit_frames();
                Some(Outcome::Response(frame))
            }
            Step::LoggedIn(frame, identity) => {
                self.logged_in(&identity);
                Some(Outcome::Response(frame))
            }
            Step::Fail(response, why) => {
                ends = Some(why);
                Some(response.map_or(Outcome::Nothing, Outcome::Response))
            }
            Step::Refuse(code, why) => {
                ends = Some(why);
                let refused = fault::refused_frame(request, code, (&self.state, &self.node));
                Some(refused.map_or(Outcome::Nothing, Outcome::Response))
            }
            Step::Close(why) => return Err(Ended::Login(why)),
        };
        let delay = if ends.is_some() { self.state.config.security.failed_login_delay } else { Duration::ZERO };
        let context = Context::new(&self.state, &self.node, &self.client, request);
        let hold = fault.hold();
        let mut work = std::pin::pin!(async {
            let outcome = match done {
                Some(outcome) => {
                    tokio::time::sleep(delay).await;
                    Ok(outcome)
                }
                None => work::process(&context, request).await,
            };
            match hold {
                Hold::Until(until) if matches!(outcome, Ok(Outcome::Response(_))) => sleep_until(until).await,
                Hold::Forever if matches!(outcome, Ok(Outcome::Response(_))) => std::future::pending().await,
                _ => {}
            }
            outcome
        });
        let mut ahead = 0;
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut work => break outcome?,
                () = stopped(&mut self.stop) => return Ok(false),
                read = self.socket.read_buf(self.machine.input()), if ahead < READ_AHEAD => match read? {
                    0 => return Ok(false),
                    count => {
                        ahead += count;
                        self.arrivals.add(count);
                    }
                },
            }
        };
        // What the response says survives the end of the process.
        if let Some(disk) = self.state.disk.get() {
            disk.settled().await.map_err(Ended::Disk)?;
        }
        let (cut, late) = (matches!(fault, Fault::CutAfter(_)), matches!(fault, Fault::Late));
        match outcome {
            Outcome::Response(frame) if late => {
                self.machine.respond_nothing(request)?;
                // Only one waits.
                self.send_late().await?;
                self.late = Some((frame, Instant::now() + LATEST));
            }
            Outcome::Response(frame) => {
                let hides = matches!(fault, Fault::Patch(_)) && request.api_key == ApiKey::FETCH;
                let frame = fault.change(frame, request);
                let session = if hides { fault::session_in(&frame, request.api_version) } else { None };
                if let Some(session) = session {
                    // The client did not get what the session was about to note.
                    self.node.fetch_sessions.unsent(session);
                }
                self.machine.respond_raw(request, frame)?;
            }
            // A request that waited has its outcome.
            Outcome::Nothing | Outcome::Later(_) => self.machine.respond_nothing(request)?,
            Outcome::Close(why) => return Err(Ended::Closed(why)),
        }
        self.flush().await?;
        if cut {
            self.socket.shutdown().await?;
            return Err(Ended::Cut);
        }
        if let Some(why) = ends {
            return Err(Ended::Login(why));
        }
        Ok(true)
    }

    async fn flush(&mut self) -> Result<(), Ended> {
        let output = self.machine.take_output();
        if output.is_empty() {
            return Ok(());
        }
        let late = self.late.take().map(|(frame, _)| frame).unwrap_or_default();
        self.write(output.into_iter().chain(late).collect()).await
    }

    /// Sends the response that waits for the next one.
    async fn send_late(&mut self) -> Result<(), Ended> {
        match self.late.take() {
            Some((frame, _)) => self.write(frame.into_iter().collect()).await,
            None => Ok(()),
        }
    }

    async fn write(&mut self, segments: Segments) -> Result<(), Ended> {
        let _held = self.state.unsent.hold(segments.bytes());
        self.node.connected().await;
        write_all(&mut self.socket, segments, &self.state).await
    }
}

/// Returns when a late response waited for long enough.
async fn due(late: &Option<(Frame, Instant)>) {
    match late {
        Some((_, due)) => sleep_until(*due).await,
        None => std::future::pending().await,
    }
}

/// Writes all segments. A client that reads nothing for the idle time loses its connection, and much earlier when unsent
/// responses take too much memory.
async fn write_all<S: AsyncWrite + Unpin>(socket: &mut S, mut segments: Segments, state: &State) -> Result<(), Ended> {
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
