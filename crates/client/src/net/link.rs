//! The handle to a connection, and what passes between it and the task.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use milena_connection::{ApiVersions, ClientConnection, ConnectionError, IncomingResponse};
use milena_messages::{ApiKey, Request};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::throttle::wait_after;
use crate::error::{CloseCause, Error, Result};
use crate::timing::Limit;

/// How often a request is tried on a new connection when the old one ends before a byte of it was written.
pub(crate) const RECONNECTS: u32 = 3;

/// Why a request got no response.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The connection ended before a byte of it was written: it can be sent on another one.
    NotSent,
    /// It may have been sent.
    Error(Error),
}

/// What became of a request.
#[derive(Debug)]
pub(crate) struct Sent<T> {
    /// The response; `None` for a request that expects none.
    pub(crate) result: Result<Option<T>, Failure>,
    /// For how long the request was held back because the broker throttles this connection.
    pub(crate) muted: Duration,
    /// The throttle time in the response.
    pub(crate) throttle: Duration,
}

/// One request on its way to the task.
pub(super) struct Command {
    pub(super) exchange: Box<dyn Exchange>,
    pub(super) limit: Limit,
    pub(super) queued: Instant,
    pub(super) muted: Duration,
}

/// A request and the place for its response, whatever their type.
pub(super) trait Exchange: Send {
    fn api(&self) -> ApiKey;
    fn expects_response(&self) -> bool;
    /// Whether nobody waits any more.
    fn is_abandoned(&self) -> bool;
    /// Writes the request into the machine and gives its correlation id.
    fn write(&mut self, machine: &mut ClientConnection) -> Result<i32, ConnectionError>;
    /// Reads the response and hands it over. Gives the time for which the connection has to stay silent.
    fn respond(self: Box<Self>, response: &IncomingResponse, from: &Arc<str>, muted: Duration) -> Duration;
    /// Ends without a response.
    fn end(self: Box<Self>, result: Result<(), Failure>, muted: Duration);
}

struct Typed<R: Request> {
    request: R,
    version: i16,
    reply: oneshot::Sender<Sent<R::Response>>,
}

impl<R> Exchange for Typed<R>
where
    R: Request + Send,
    R::Response: Send,
{
    fn api(&self) -> ApiKey {
        R::API_KEY
    }

    fn expects_response(&self) -> bool {
        self.request.expects_response()
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn write(&mut self, machine: &mut ClientConnection) -> Result<i32, ConnectionError> {
        // The task keeps the deadlines, since they move while the connection is throttled.
        machine.send_at(&self.request, self.version, None)
    }

    fn respond(self: Box<Self>, response: &IncomingResponse, from: &Arc<str>, muted: Duration) -> Duration {
        let (result, throttle) = match response.decode::<R::Response>() {
            Ok(response) => {
                let throttle = wait_after(&response, self.version);
                (Ok(Some(response)), throttle)
            }
            Err(error) => (Err(Failure::Error(Error::machine(from, R::API_KEY, error))), Duration::ZERO),
        };
        // A caller that is gone does not want it.
        let _ = self.reply.send(Sent { result, muted, throttle });
        throttle
    }

    fn end(self: Box<Self>, result: Result<(), Failure>, muted: Duration) {
        let _ = self.reply.send(Sent { result: result.map(|()| None), muted, throttle: Duration::ZERO });
    }
}

/// The handle to a connection. When the last one is dropped, the connection is closed.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(super) address: Arc<str>,
    pub(super) versions: Arc<ApiVersions>,
    pub(super) commands: mpsc::UnboundedSender<Command>,
    /// Whether the task still takes requests.
    pub(super) open: Arc<AtomicBool>,
}

impl Link {
    /// The broker, as `host:port`.
    pub(crate) fn address(&self) -> &Arc<str> {
        &self.address
    }

    /// What the broker speaks.
    pub(crate) fn versions(&self) -> &ApiVersions {
        &self.versions
    }

    /// The version to speak an API at.
    pub(crate) fn version_of(&self, api: ApiKey) -> Result<i16> {
        self.versions.pick(api).map_err(|error| Error::machine(&self.address, api, error))
    }

    /// The version to speak, not above one.
    pub(crate) fn version_up_to<R: Request>(&self, most: i16) -> Result<i16> {
        let picked = self.version_of(R::API_KEY)?;
        if picked <= most {
            return Ok(picked);
        }
        let theirs = self.versions.of(R::API_KEY);
        let ours = R::VERSIONS.intersect(milena_messages::VersionRange::new(0, most));
        ours.highest_common(theirs).ok_or_else(|| Error::Unsupported {
            address: Arc::clone(&self.address),
            api: R::API_KEY,
            reason: format!("a version up to {most} is needed, the broker speaks {theirs}"),
        })
    }

    /// The error of a request that no connection took.
    pub(crate) fn not_sent(&self, api: ApiKey) -> Error {
        Error::Closed { address: Arc::clone(&self.address), api, sent: false, cause: CloseCause::Eof }
    }

    /// Whether the task still takes requests.
    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed) && !self.commands.is_closed()
    }

    /// Sends a request and waits for its response, or until its last byte is with the socket when it expects none. The
    /// task ends every request it took, at its limit at the latest.
    pub(crate) async fn call<R>(&self, request: R, version: i16, limit: Limit) -> Sent<R::Response>
    where
        R: Request + Send + 'static,
        R::Response: Send,
    {
        let not_sent = || Sent { result: Err(Failure::NotSent), muted: Duration::ZERO, throttle: Duration::ZERO };
        let (reply, response) = oneshot::channel();
        let exchange = Box::new(Typed { request, version, reply });
        let command = Command { exchange, limit, queued: Instant::now(), muted: Duration::ZERO };
        if self.commands.send(command).is_err() {
            return not_sent();
        }
        response.await.unwrap_or_else(|_| not_sent())
    }
}
