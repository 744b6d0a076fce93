//! One connection: requests go one way and responses the other, a frame at a time.

mod responses;
mod waiting;

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use milena_connection::fault::{Action, RequestInfo};
use milena_connection::{ConnectionError, FrameBuffer, read_request_header};
use milena_fault::{Injection, Request, Sessions, respond};
use milena_messages::{ApiKey, ByteString, RequestHeader};
use milena_transport::{Address, Segments, Stream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use self::waiting::{Head, Seen, Then, Waiting};
use crate::acks;
use crate::event::{Event, Exchange};
use crate::hub::Hub;

/// Requests that may wait for their responses. A broker works on one at a time, so that hundreds are many.
const MOST_WAITING: usize = 10_000;

/// Frames from this size on are shared with the watcher, which keeps their buffers alive.
const KEEP_FROM: usize = 64 * 1024;

pub(crate) struct Relay {
    hub: Arc<Hub>,
    connection: u64,
    client: SocketAddr,
    /// The address at which the client reached this side.
    reached: IpAddr,
    broker: Address,
    waiting: Mutex<VecDeque<Waiting>>,
    /// A response of our own may be next.
    own: Notify,
}

/// A request on its way to the broker.
struct Incoming<'a> {
    frame: &'a Bytes,
    /// Where the body begins.
    body: usize,
    head: Option<Head>,
    header: Option<&'a RequestHeader>,
    fault: Option<Action>,
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
enum End {
    #[error("cut by a fault")]
    Cut,
    #[error("{api} version {version} is above the cap")]
    Capped { api: ApiKey, version: i16 },
    #[error("the client: {0}")]
    Client(#[source] ConnectionError),
    #[error("the broker: {0}")]
    Broker(#[source] ConnectionError),
    /// The broker takes no more, but may have said why.
    #[error("the broker: {0}")]
    Unheard(#[source] io::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Relay {
    pub(crate) fn new(hub: Arc<Hub>, connection: u64, client: SocketAddr, reached: IpAddr, broker: Address) -> Self {
        Self { hub, connection, client, reached, broker, waiting: Mutex::default(), own: Notify::new() }
    }

    /// Runs until both sides are done. Says why when it is worth saying.
    pub(crate) async fn run(self, client: TcpStream, broker: Stream) -> Option<String> {
        let (from_client, to_client) = client.into_split();
        let (from_broker, to_broker) = tokio::io::split(broker);
        let end = {
            let mut requests = pin!(self.requests(from_client, to_broker));
            let mut responses = pin!(self.responses(from_broker, to_client));
            tokio::select! {
                // The client has nothing more to ask, but responses may be on their way; so may they when the broker takes
                // no more.
                done = &mut requests => match done {
                    Ok(()) | Err(End::Unheard(_)) => responses.await,
                    Err(end) => Err(end),
                },
                done = &mut responses => done,
            }
        };
        for waiting in std::mem::take(&mut *self.waiting()) {
            self.show(waiting.seen, None);
        }
        match end {
            Ok(()) => None,
            Err(End::Io(error)) if is_an_end(&error) => None,
            Err(end) => Some(end.to_string()),
        }
    }

    async fn requests(&self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> Result<(), End> {
        let mut frames = FrameBuffer::new(self.hub.config.max_frame);
        // Bare SASL tokens may come in place of requests.
        let mut tokens = false;
        let mut out = Segments::default();
        loop {
            while let Some(frame) = frames.next_frame().map_err(End::Client)? {
                if let Some(pieces) = self.request(&frame, &mut tokens)? {
                    frame_into(&mut out, pieces);
                }
            }
            out.write_all(&mut to).await.map_err(End::Unheard)?;
            if from.read_buf(frames.input()).await? == 0 {
                to.shutdown().await.map_err(End::Unheard)?;
                return Ok(());
            }
        }
    }

    /// What goes on to the broker for a request; `None` when nothing does.
    fn request(&self, frame: &Bytes, tokens: &mut bool) -> Result<Option<Vec<Bytes>>, End> {
        let header = read_request_header(frame.clone()).ok().map(|(header, body)| (header, frame.len() - body.len()));
        let known = |header: &RequestHeader| header.request_api_key.versions().contains(header.request_api_version);
        let Some((header, body)) = header.filter(|(header, _)| !*tokens || known(header)) else {
            // A broker closes a connection for what it cannot read, so that no response can be taken for another.
            let token = Incoming { frame, body: 0, head: None, header: None, fault: None };
            self.wait(&token, Then::Pass);
            return Ok(Some(vec![frame.clone()]));
        };
        let (api, version) = (header.request_api_key, header.request_api_version);
        *tokens = api == ApiKey::SASL_HANDSHAKE && version == 0;
        let head = Head { api, version, correlation_id: header.correlation_id };
        let mut incoming = Incoming { frame, body, head: Some(head), header: Some(&header), fault: None };
        if self.hub.caps.refuse(api, version) {
            return match self.hub.caps.refusal(header.correlation_id).filter(|_| api == ApiKey::API_VERSIONS) {
                Some(own) => {
                    self.wait(&incoming, Then::Own(own));
                    Ok(None)
                }
                None => Err(End::Capped { api, version }),
            };
        }
        let is_answered = acks::is_answered(api, version, frame, body);
        incoming.fault = self.hub.fault(&RequestInfo { api, version, client_id: header.client_id.as_deref() });
        match incoming.fault {
            Some(Action::Cut { after: None }) => {
                self.swallow(&incoming);
                Err(End::Cut)
            }
            Some(Action::Drop) => {
                self.swallow(&incoming);
                Ok(None)
            }
            Some(Action::Error(code)) => {
                let (request, members) = (incoming.request(head), self.members(&incoming.request(head)));
                match respond(&request, code, members.as_ref()) {
                    Injection::Response(own) if is_answered => {
                        self.wait(&incoming, Then::Own(vec![own]));
                        Ok(None)
                    }
                    // A client that wants no response learns of an error by the end of the connection, as with Kafka.
                    Injection::Response(_) => {
                        self.swallow(&incoming);
                        Err(End::Cut)
                    }
                    Injection::Patch(patch) => {
                        let body = patch.request_body().cloned();
                        let pieces = match body {
                            Some(other) => vec![frame.slice(..body_start(frame, &request)), other],
                            None => vec![frame.clone()],
                        };
                        self.pass(&incoming, is_answered, Then::Patch(Box::new(patch)));
                        Ok(Some(pieces))
                    }
                    Injection::NoPlace => {
                        self.hub.no_place(api, version, &format!("its response has no field for {code}"));
                        incoming.fault = None;
                        self.pass(&incoming, is_answered, Then::Pass);
                        Ok(Some(vec![frame.clone()]))
                    }
                }
            }
            other => {
                let then = match other {
                    Some(Action::Delay(time)) => Then::Delay(time),
                    Some(Action::Cut { after: Some(bytes) }) => {
                        Then::CutAfter(usize::try_from(bytes).unwrap_or(usize::MAX))
                    }
                    _ => Then::Pass,
                };
                self.pass(&incoming, is_answered, then);
                Ok(Some(vec![frame.clone()]))
            }
        }
    }

    /// The partitions of the session that a request belongs to.
    fn members(&self, request: &Request) -> Option<milena_fault::Members> {
        self.hub.with_sessions(&self.broker, |sessions| sessions.members(request)).flatten()
    }

    /// Notes a request that goes on to the broker.
    fn pass(&self, incoming: &Incoming<'_>, is_answered: bool, then: Then) {
        match is_answered {
            true => self.wait(incoming, then),
            false => self.swallow(incoming),
        }
    }

    /// Shows a request to which no response will come.
    fn swallow(&self, incoming: &Incoming<'_>) {
        self.show(self.seen(incoming), None);
    }

    /// Notes that a response will come.
    fn wait(&self, incoming: &Incoming<'_>, then: Then) {
        let own = matches!(then, Then::Own(_));
        let opening = match incoming.head {
            Some(head) if !own && Sessions::is_about(head.api) => {
                let request = incoming.request(head);
                self.hub.with_sessions(&self.broker, |sessions| sessions.request(&request)).flatten()
            }
            _ => None,
        };
        let seen = self.seen(incoming);
        let mut waiting = self.waiting();
        waiting.push_back(Waiting { head: incoming.head, arrived: Instant::now(), then, seen, opening });
        let given_up = if waiting.len() > MOST_WAITING { waiting.pop_front() } else { None };
        drop(waiting);
        if let Some(given_up) = given_up {
            self.show(given_up.seen, None);
        }
        if own {
            self.own.notify_one();
        }
    }

    fn seen(&self, incoming: &Incoming<'_>) -> Seen {
        let Incoming { frame, head, header, fault, .. } = incoming;
        let queue = self.hub.queue.as_ref()?;
        let Some(room) = queue.room(frame.len()) else {
            queue.skip();
            return None;
        };
        let exchange = Exchange {
            connection: self.connection,
            client: self.client,
            broker: self.broker.clone(),
            api: head.map(|head| head.api),
            version: head.map_or(0, |head| head.version),
            correlation_id: head.map_or(0, |head| head.correlation_id),
            client_id: header.and_then(|header| header.client_id.as_deref()).map(ByteString::from),
            time: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            latency: None,
            request: kept(frame),
            response: None,
            fault: *fault,
        };
        Some((Box::new(exchange), room))
    }

    fn show(&self, seen: Seen, response: Option<(&[Bytes], Duration)>) {
        let (Some((mut exchange, mut room)), Some(queue)) = (seen, &self.hub.queue) else { return };
        if let Some((pieces, latency)) = response {
            if !room.grow(pieces.iter().map(Bytes::len).sum()) {
                return queue.skip();
            }
            exchange.latency = Some(latency);
            exchange.response = Some(match pieces {
                [whole] => kept(whole),
                pieces => pieces.concat().into(),
            });
        }
        queue.put(Event::Exchange(exchange), Some(room));
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Incoming<'_> {
    fn request(&self, head: Head) -> Request {
        let Head { api, version, correlation_id } = head;
        Request { api, version, correlation_id, body: self.frame.slice(self.body..) }
    }
}

fn body_start(frame: &Bytes, request: &Request) -> usize {
    frame.len() - request.body.len()
}

/// A frame for the watcher. A small one is copied: as a part of the buffer that it was read into it would keep all of that
/// alive, which may be a thousand times as much.
fn kept(frame: &Bytes) -> Bytes {
    if frame.len() < KEEP_FROM { Bytes::copy_from_slice(frame) } else { frame.clone() }
}

/// Appends a frame with its size in front.
fn frame_into(out: &mut Segments, pieces: Vec<Bytes>) {
    let size: usize = pieces.iter().map(Bytes::len).sum();
    out.push(Bytes::copy_from_slice(&(size as u32).to_be_bytes()));
    out.extend(pieces);
}

/// Whether a connection just ended, as many do.
fn is_an_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}
