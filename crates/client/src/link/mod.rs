//! One connection to one broker: a task that owns the socket and the protocol machine, and the handle to it.

mod dial;
mod driver;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use milena_connection::{ApiVersions, ClientConnection, ConnectionError, IncomingResponse};
use milena_messages::{ApiKey, Request};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

pub(crate) use dial::dial;

use crate::attempts::rounded;
use crate::error::{Error, Result};

/// Requests that may wait for the task before senders wait too.
const QUEUE: usize = 64;

/// Writes a request into the machine; gives its correlation id and whether it is answered.
type Write = Box<dyn FnOnce(&mut ClientConnection, std::time::Duration) -> Result<(i32, bool), ConnectionError> + Send>;

/// One request on its way to the task.
pub(crate) struct Command {
    api: ApiKey,
    write: Write,
    asked: Instant,
    deadline: Instant,
    reply: oneshot::Sender<Result<Option<IncomingResponse>, Failure>>,
}

/// Why a request got no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The connection was gone before a byte of it was written: it can be sent again on another one.
    NotSent,
    /// It may have been sent.
    Error(Error),
}

/// The handle to a connection. When the last one is dropped, the connection ends after the answers that are still due.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    address: Arc<str>,
    versions: Arc<ApiVersions>,
    commands: mpsc::Sender<Command>,
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
        self.versions.pick(api).map_err(|error| Error::machine(&self.address, error))
    }

    /// Whether the task still takes requests.
    pub(crate) fn is_open(&self) -> bool {
        !self.commands.is_closed()
    }

    /// Sends a request and waits for its answer, or for its last byte to be with the socket when it gets none.
    pub(crate) async fn call<R>(
        &self,
        request: R,
        version: i16,
        deadline: Instant,
    ) -> Result<Option<R::Response>, Failure>
    where
        R: Request + Send + 'static,
    {
        let asked = Instant::now();
        let (reply, answer) = oneshot::channel();
        let write: Write = Box::new(move |machine, deadline| {
            Ok((machine.send_at(&request, version, Some(deadline))?, request.expects_response()))
        });
        let command = Command { api: R::API_KEY, write, asked, deadline, reply };
        let late = || Error::Timeout {
            address: Arc::clone(&self.address),
            api: R::API_KEY,
            after: rounded(deadline.duration_since(asked)),
        };
        match timeout_at(deadline, self.commands.send(command)).await {
            Err(_) => return Err(Failure::Error(late())),
            Ok(Err(_)) => return Err(Failure::NotSent),
            Ok(Ok(())) => {}
        }
        // The task answers every command it took, at its deadline at the latest.
        match answer.await {
            Ok(Ok(Some(answer))) => {
                let response = answer.decode::<R::Response>();
                response.map(Some).map_err(|error| Failure::Error(Error::machine(&self.address, error)))
            }
            Ok(Ok(None)) => Ok(None),
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(Failure::NotSent),
        }
    }
}
