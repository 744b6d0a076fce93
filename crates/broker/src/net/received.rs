//! The requests received last, for tests that want to see what a client sent.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use milena_connection::{ConnectionError, IncomingRequest};
use milena_messages::{ApiKey, Message as _, Request, SaslAuthenticateRequest};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::error::BrokerError;
use crate::handler::Client;
use crate::security::principal::Principal;

/// What a kept request takes besides its bytes, about.
const OVERHEAD: usize = 200;
/// A smaller body is copied: it may be a slice of a much larger buffer.
const COPY_BELOW: usize = 32 * 1024;

/// A request that a [`Broker`](crate::Broker) received.
#[derive(Clone)]
pub struct ReceivedRequest {
    number: u64,
    node_id: i32,
    peer: SocketAddr,
    principal: Principal,
    request: IncomingRequest,
}

impl fmt::Debug for ReceivedRequest {
    /// Without the body, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedRequest")
            .field("number", &self.number)
            .field("node_id", &self.node_id)
            .field("peer", &self.peer)
            .field("principal", &self.principal)
            .field("api_key", &self.request.api_key)
            .field("api_version", &self.request.api_version)
            .field("client_id", &self.request.client_id)
            .finish_non_exhaustive()
    }
}

impl ReceivedRequest {
    /// The number of the request at this broker: 0 for the first one, in the order in which they arrived. A gap means that
    /// requests in between were dropped to save memory.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The node that received it.
    pub fn node_id(&self) -> i32 {
        self.node_id
    }

    /// The address that the client connected from.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Who sent it, as far as the connection had logged in by then.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The API.
    pub fn api_key(&self) -> ApiKey {
        self.request.api_key
    }

    /// The version of the API.
    pub fn api_version(&self) -> i16 {
        self.request.api_version
    }

    /// The client's number for this request on its connection.
    pub fn correlation_id(&self) -> i32 {
        self.request.correlation_id
    }

    /// The client id; `None` when the client sent null.
    pub fn client_id(&self) -> Option<&str> {
        self.request.client_id.as_deref()
    }

    /// The bytes of the body, after the header. The token of SaslAuthenticate is left out, because it may hold a password.
    pub fn body(&self) -> &Bytes {
        &self.request.body
    }

    /// The body as a request of type `R`.
    ///
    /// # Errors
    /// The request is of another API, or its bytes are malformed.
    pub fn decode<R: Request>(&self) -> Result<R, ConnectionError> {
        self.request.decode()
    }

    fn memory(&self) -> usize {
        self.request.body.len() + OVERHEAD
    }
}

/// The last requests within two limits: their number and their memory.
#[derive(Debug)]
pub(crate) struct Received {
    max_count: usize,
    max_bytes: usize,
    list: Mutex<List>,
    /// A request was added.
    news: Notify,
}

#[derive(Debug, Default)]
struct List {
    next_number: u64,
    bytes: usize,
    requests: VecDeque<ReceivedRequest>,
}

impl Received {
    pub(crate) fn new(max_count: usize, max_bytes: usize) -> Self {
        Self { max_count, max_bytes, list: Mutex::default(), news: Notify::new() }
    }

    /// Keeps a request, and drops the oldest ones for it. One that is too large on its own leaves only a gap.
    pub(crate) fn push(&self, client: &Client, node_id: i32, request: &IncomingRequest) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let number = list.next_number;
        list.next_number += 1;
        if self.max_count == 0 || request.body.len() + OVERHEAD > self.max_bytes {
            return;
        }
        let mut request = request.clone();
        // A slice of the frame that would keep all of it.
        request.frame = Bytes::new();
        if request.api_key == ApiKey::SASL_AUTHENTICATE {
            // Its token may hold a password.
            let without = SaslAuthenticateRequest::default().to_bytes(request.api_version);
            request.body = without.unwrap_or_default();
        }
        if request.body.len() < COPY_BELOW {
            request.body = Bytes::copy_from_slice(&request.body);
        }
        // A slice of the frame as well.
        request.client_id = request.client_id.as_deref().map(|id| id.to_owned().into());
        let received =
            ReceivedRequest { number, node_id, peer: client.peer, principal: client.principal.clone(), request };
        list.bytes += received.memory();
        list.requests.push_back(received);
        while list.requests.len() > self.max_count || list.bytes > self.max_bytes {
            let Some(oldest) = list.requests.pop_front() else { break };
            list.bytes -= oldest.memory();
        }
        drop(list);
        self.news.notify_waiters();
    }

    /// The first request for which this is true, of those that are kept and those that come within the time. Each one is
    /// passed once, in order.
    ///
    /// # Errors
    /// There was none within the time.
    pub(crate) async fn wait_until(
        &self,
        mut wanted: impl FnMut(&ReceivedRequest) -> bool,
        within: Duration,
    ) -> Result<ReceivedRequest, BrokerError> {
        let mut seen = 0;
        let found = async {
            let mut next = 0;
            loop {
                let mut news = std::pin::pin!(self.news.notified());
                // From here on no request is missed.
                news.as_mut().enable();
                for request in self.since(next) {
                    next = request.number + 1;
                    seen += 1;
                    if wanted(&request) {
                        return request;
                    }
                }
                news.await;
            }
        };
        timeout(within, found).await.map_err(|_| BrokerError::Timeout { waited: within, seen })
    }

    /// Those that are kept, from this number on.
    fn since(&self, number: u64) -> Vec<ReceivedRequest> {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let first = list.requests.partition_point(|request| request.number < number);
        list.requests.range(first..).cloned().collect()
    }

    /// All that are kept, oldest first.
    pub(crate) fn all(&self) -> Vec<ReceivedRequest> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).requests.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::tests::incoming_request;

    fn keep(max_count: usize, max_bytes: usize, sizes: &[usize]) -> Vec<u64> {
        let received = Received::new(max_count, max_bytes);
        let peer = SocketAddr::from(([127, 0, 0, 1], 4000));
        let client = Client::anonymous(peer, 0);
        for size in sizes {
            received.push(&client, 1, &incoming_request(ApiKey::METADATA, 1, &vec![0; *size]));
        }
        received.all().iter().map(ReceivedRequest::number).collect()
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many_or_too_large_ones() {
        assert_eq!(keep(3, 1 << 20, &[1; 5]), [2, 3, 4]);
        assert_eq!(keep(100, 1000, &[300, 300, 300]), [1, 2]);
        assert_eq!(keep(100, 1000, &[300, 900, 300]), [0, 2]);
        assert_eq!(keep(0, 1000, &[1]), [0u64; 0]);
    }
}
