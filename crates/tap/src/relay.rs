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
use milena_connection::fault::{Action, Decision, RequestInfo};
use milena_connection::{ConnectionError, FrameBuffer};
use milena_fault::{Distortion, FaultedRequest, Injection, Sessions, respond_within, subject};
use milena_inspect::conversation::{Endpoints, Exchange, Remark, RequestReader};
use milena_messages::ApiKey;
use milena_transport::{Address, Segments, Stream};
use milena_wire::Report;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use self::waiting::{Head, Seen, Then, Waiting};
use crate::event::Event;
use crate::hub::Hub;

/// Requests that may wait for their responses. A broker works on one at a time, so that hundreds are many.
const MOST_WAITING: usize = 10_000;

/// Frames from this size on are shared with the watcher, which keeps their buffers alive.
const KEEP_FROM: usize = 64 * 1024;

pub(crate) struct Relay {
    hub: Arc<Hub>,
    /// For the exchanges.
    endpoints: Arc<Endpoints>,
    /// The address at which the client reached the tap.
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
    /// What there is to show.
    exchange: Exchange,
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
enum End {
    #[error("cut by a fault")]
    Cut,
    #[error("{api} version {version} is above the cap")]
    Capped { api: ApiKey, version: i16 },
    #[error("the client does not follow the Kafka protocol")]
    Client(#[source] ConnectionError),
    #[error("the broker does not follow the Kafka protocol")]
    Broker(#[source] ConnectionError),
    /// The broker takes no more, but may have said why.
    #[error("cannot write to the broker")]
    Unheard(#[source] io::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Relay {
    pub(crate) fn new(hub: Arc<Hub>, connection: u64, client: SocketAddr, reached: IpAddr, broker: Address) -> Self {
        let endpoints = Endpoints { connection, client: client.to_string(), broker: broker.to_string() };
        Self { hub, endpoints: Arc::new(endpoints), reached, broker, waiting: Mutex::default(), own: Notify::new() }
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
            self.end(waiting.seen, Remark::NoResponse);
        }
        match end {
            Ok(()) => None,
            Err(End::Io(error)) if is_an_end(&error) => None,
            Err(end) => Some(Report(&end).to_string()),
        }
    }

    async fn requests(&self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> Result<(), End> {
        let mut frames = FrameBuffer::new(self.hub.config.max_frame);
        let mut reader = RequestReader::new();
        let mut out = Segments::default();
        loop {
            while let Some(frame) = frames.next_frame().map_err(End::Client)? {
                if let Some(pieces) = self.request(&frame, &mut reader)? {
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
    fn request(&self, frame: &Bytes, reader: &mut RequestReader) -> Result<Option<Vec<Bytes>>, End> {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let exchange = reader.read(time, frame.clone());
        let request = exchange.request.as_ref();
        let known = request.and_then(|request| Some((request.head.clone()?, request.body, request.wants_response())));
        let Some((header, body, wants_response)) = known else {
            // A broker closes a connection for what it cannot read, so that no response can be taken for another.
            self.wait(Incoming { frame, body: 0, head: None, exchange }, Then::Pass);
            return Ok(Some(vec![frame.clone()]));
        };
        let (api, version) = (header.api_key, header.api_version);
        let head = Head { api, version, correlation_id: header.correlation_id };
        let mut incoming = Incoming { frame, body, head: Some(head), exchange };
        if self.hub.caps.refuse(api, version) {
            return match self.hub.caps.refusal(header.correlation_id).filter(|_| api == ApiKey::API_VERSIONS) {
                Some(own) => {
                    self.wait(incoming, Then::Own(own));
                    Ok(None)
                }
                None => Err(End::Capped { api, version }),
            };
        }
        let names = |id: &str| self.hub.topic_name(id);
        let subject = || {
            let request = incoming.request(head);
            subject(&request, self.members(&request).as_ref(), &names)
        };
        let info = RequestInfo { subject: &subject, ..RequestInfo::new(api, version, header.client_id.as_deref()) };
        let Some(Decision { action, scope, random, .. }) = self.hub.fault(&info) else {
            self.pass(incoming, wants_response, Then::Pass);
            return Ok(Some(vec![frame.clone()]));
        };
        incoming.exchange.fault = Some(action);
        match action {
            Action::Cut { after: None } => {
                self.swallow(incoming);
                Err(End::Cut)
            }
            Action::Drop => {
                self.swallow(incoming);
                Ok(None)
            }
            Action::Error(code) => {
                let (request, members) = (incoming.request(head), self.members(&incoming.request(head)));
                match respond_within(&request, code, members.as_ref(), &scope, &names) {
                    // A client that wants no response learns of an error by the end of the connection, as with Kafka.
                    Injection::Response(_) | Injection::Patch(_) if !wants_response => {
                        self.swallow(incoming);
                        Err(End::Cut)
                    }
                    Injection::Response(own) => {
                        self.wait(incoming, Then::Own(vec![own]));
                        Ok(None)
                    }
                    Injection::Patch(patch) => {
                        let body = patch.request_body().cloned();
                        let pieces = match body {
                            Some(other) => vec![frame.slice(..body_start(frame, &request)), other],
                            None => vec![frame.clone()],
                        };
                        self.pass(incoming, wants_response, Then::Patch(patch));
                        Ok(Some(pieces))
                    }
                    Injection::NoPlace => {
                        self.hub.no_place(api, version, &format!("its response has no field for {code}"));
                        incoming.exchange.fault = None;
                        self.pass(incoming, wants_response, Then::Pass);
                        Ok(Some(vec![frame.clone()]))
                    }
                }
            }
            other => {
                let then = match other {
                    Action::Delay(time) => Then::Delay(time),
                    Action::Cut { after: Some(bytes) } => Then::CutAfter(usize::try_from(bytes).unwrap_or(usize::MAX)),
                    Action::Throttle(time) => {
                        let ms = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
                        Then::Distort(Distortion::Throttle { ms })
                    }
                    Action::Garble { bytes } => Then::Distort(Distortion::Garble { bytes, seed: random }),
                    Action::Short { by } => Then::Distort(Distortion::Short { by }),
                    Action::Reorder => Then::Reorder,
                    _ => Then::Pass,
                };
                self.pass(incoming, wants_response, then);
                Ok(Some(vec![frame.clone()]))
            }
        }
    }

    /// The partitions of the session that a request belongs to.
    fn members(&self, request: &FaultedRequest) -> Option<milena_fault::Members> {
        self.hub.with_sessions(&self.broker, |sessions| sessions.members(request)).flatten()
    }

    /// Notes a request that goes on to the broker.
    fn pass(&self, incoming: Incoming<'_>, wants_response: bool, then: Then) {
        match wants_response {
            true => self.wait(incoming, then),
            false => self.swallow(incoming),
        }
    }

    /// Shows a request to which no response will come.
    fn swallow(&self, incoming: Incoming<'_>) {
        let is_wanted = incoming.exchange.request.as_ref().is_none_or(|request| request.wants_response());
        let why = if is_wanted { Remark::NoResponse } else { Remark::NoResponseWanted };
        self.end(self.seen(incoming.exchange), why);
    }

    /// Notes that a response will come.
    fn wait(&self, incoming: Incoming<'_>, then: Then) {
        let own = matches!(then, Then::Own(_));
        let opening = match incoming.head {
            Some(head) if !own && Sessions::is_about(head.api) => {
                let request = incoming.request(head);
                self.hub.with_sessions(&self.broker, |sessions| sessions.request(&request)).flatten()
            }
            _ => None,
        };
        let head = incoming.head;
        let seen = self.seen(incoming.exchange);
        let mut waiting = self.waiting();
        waiting.push_back(Waiting { head, arrived: Instant::now(), then, seen, opening });
        let given_up = if waiting.len() > MOST_WAITING { waiting.pop_front() } else { None };
        drop(waiting);
        if let Some(given_up) = given_up {
            self.end(given_up.seen, Remark::GivenUp);
        }
        if own {
            self.own.notify_one();
        }
    }

    fn seen(&self, mut exchange: Exchange) -> Seen {
        let queue = self.hub.queue.as_ref()?;
        let request = exchange.request.as_mut()?;
        let Some(room) = queue.room(request.bytes.len()) else {
            queue.skip();
            return None;
        };
        request.bytes = kept(&request.bytes);
        exchange.endpoints = Some(Arc::clone(&self.endpoints));
        Some((Box::new(exchange), room))
    }

    /// Shows an exchange to which no response will come any more.
    fn end(&self, seen: Seen, why: Remark) {
        if let (Some((mut exchange, room)), Some(queue)) = (seen, &self.hub.queue) {
            exchange.remarks.push(why);
            queue.put(Event::Exchange(exchange), Some(room));
        }
    }

    /// Shows an exchange with its response, and how long that took.
    fn show(&self, seen: Seen, pieces: &[Bytes], latency: Duration) {
        let (Some((mut exchange, mut room)), Some(queue)) = (seen, &self.hub.queue) else { return };
        if !room.grow(pieces.iter().map(Bytes::len).sum()) {
            return queue.skip();
        }
        let response = match pieces {
            [whole] => kept(whole),
            pieces => pieces.concat().into(),
        };
        exchange.respond(exchange.time() + latency, response);
        queue.put(Event::Exchange(exchange), Some(room));
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Incoming<'_> {
    fn request(&self, head: Head) -> FaultedRequest {
        let Head { api, version, correlation_id } = head;
        FaultedRequest { api, version, correlation_id, body: self.frame.slice(self.body..) }
    }
}

fn body_start(frame: &Bytes, request: &FaultedRequest) -> usize {
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
