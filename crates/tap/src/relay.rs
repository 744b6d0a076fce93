//! One connection: requests go one way and answers the other, a frame at a time.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use milena_connection::fault::{Action, Asked};
use milena_connection::{ConnectionError, FrameBuffer, read_request_header};
use milena_messages::{ApiKey, ByteString, RequestHeader};
use milena_transport::{Address, Segments, Stream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::endpoint::{self, Rewritten};
use crate::event::{Event, Exchange, Room};
use crate::header::i32_at;
use crate::hub::Hub;
use crate::{acks, refusal};

/// Requests that may wait for their answers. A broker works on one at a time, so that hundreds are many.
const MOST_WAITING: usize = 10_000;

/// Frames from this size on are shared with the watcher, which keeps their buffers alive.
const KEEP_FROM: usize = 64 * 1024;

/// Segments from which on responses are written before more are read.
const FULL: usize = 64;

pub(crate) struct Relay {
    hub: Arc<Hub>,
    connection: u64,
    client: SocketAddr,
    /// The address at which the client reached this side.
    reached: IpAddr,
    broker: Address,
    waiting: Mutex<VecDeque<Waiting>>,
    /// An answer of this side's own may be next.
    own: Notify,
}

/// A request that waits for its answer.
struct Waiting {
    /// `None` for a token of SASL, whose answer comes without a header.
    head: Option<Head>,
    asked: Instant,
    then: Then,
    /// The exchange to be, with room for it, when somebody wants to see it.
    seen: Option<(Box<Exchange>, Room)>,
}

#[derive(Clone, Copy)]
struct Head {
    api: ApiKey,
    version: i16,
    correlation_id: i32,
}

/// What to do when the answer is there.
enum Then {
    Pass,
    Delay(Duration),
    CutAfter(usize),
    /// The answer is there already, and the broker knows nothing of it.
    Own(Vec<Bytes>),
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
            let mut answers = pin!(self.answers(from_broker, to_client));
            tokio::select! {
                // The client has nothing more to ask, but answers may be on their way; so may they when the broker takes no
                // more.
                done = &mut requests => match done {
                    Ok(()) | Err(End::Unheard(_)) => answers.await,
                    Err(end) => Err(end),
                },
                done = &mut answers => done,
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
        // Bare tokens of SASL may come in place of requests.
        let mut tokens = false;
        let mut out = Segments::default();
        loop {
            while let Some(frame) = frames.next_frame().map_err(End::Client)? {
                if self.request(&frame, &mut tokens)? {
                    push(&mut out, vec![frame]);
                }
            }
            out.write_all(&mut to).await.map_err(End::Unheard)?;
            if from.read_buf(frames.input()).await? == 0 {
                to.shutdown().await.map_err(End::Unheard)?;
                return Ok(());
            }
        }
    }

    /// Whether a request goes on to the broker.
    fn request(&self, frame: &Bytes, tokens: &mut bool) -> Result<bool, End> {
        let header = read_request_header(frame.clone()).ok().map(|(header, body)| (header, frame.len() - body.len()));
        let known = |header: &RequestHeader| header.request_api_key.versions().contains(header.request_api_version);
        let Some((header, body)) = header.filter(|(header, _)| !*tokens || known(header)) else {
            // A broker closes a connection for what it cannot read, so that no answer can be taken for another.
            self.wait(None, frame, Then::Pass, None, None);
            return Ok(true);
        };
        let (api, version) = (header.request_api_key, header.request_api_version);
        *tokens = api == ApiKey::SASL_HANDSHAKE && version == 0;
        let head = Some(Head { api, version, correlation_id: header.correlation_id });
        if self.hub.caps.refuse(api, version) {
            return match self.hub.caps.refusal(header.correlation_id).filter(|_| api == ApiKey::API_VERSIONS) {
                Some(own) => Ok(self.wait(head, frame, Then::Own(own), Some(&header), None)),
                None => Err(End::Capped { api, version }),
            };
        }
        let asked = Asked { api, version, client_id: header.client_id.as_deref() };
        let fault = self.hub.fault(&asked);
        let is_answered = acks::is_answered(api, version, frame, body);
        match fault {
            Some(Action::Cut { after: None }) => {
                self.swallow(head, frame, &header, fault);
                Err(End::Cut)
            }
            Some(Action::Drop) => {
                self.swallow(head, frame, &header, fault);
                Ok(false)
            }
            Some(Action::Error(code)) => match refusal::frame(api, version, header.correlation_id, frame, body, code) {
                Some(own) if is_answered => Ok(self.wait(head, frame, Then::Own(own), Some(&header), fault)),
                // Who wants no answer is told of an error by the end of the connection, as by Kafka.
                Some(_) => {
                    self.swallow(head, frame, &header, fault);
                    Err(End::Cut)
                }
                None => {
                    let why = format!("{api} version {version} passes: its answer has no place for {code}");
                    self.hub.warn(why);
                    self.pass(head, frame, &header, is_answered, Then::Pass, None)
                }
            },
            Some(Action::Delay(time)) => self.pass(head, frame, &header, is_answered, Then::Delay(time), fault),
            Some(Action::Cut { after: Some(bytes) }) => {
                let after = usize::try_from(bytes).unwrap_or(usize::MAX);
                self.pass(head, frame, &header, is_answered, Then::CutAfter(after), fault)
            }
            Some(_) | None => self.pass(head, frame, &header, is_answered, Then::Pass, None),
        }
    }

    fn pass(
        &self,
        head: Option<Head>,
        frame: &Bytes,
        header: &RequestHeader,
        is_answered: bool,
        then: Then,
        fault: Option<Action>,
    ) -> Result<bool, End> {
        match is_answered {
            true => {
                self.wait(head, frame, then, Some(header), fault);
            }
            false => self.swallow(head, frame, header, fault),
        }
        Ok(true)
    }

    /// Shows a request to which no answer will come.
    fn swallow(&self, head: Option<Head>, frame: &Bytes, header: &RequestHeader, fault: Option<Action>) {
        self.show(self.seen(head, frame, Some(header), fault), None);
    }

    /// Notes that an answer will come. False when it is our own, and the request goes nowhere.
    fn wait(
        &self,
        head: Option<Head>,
        frame: &Bytes,
        then: Then,
        header: Option<&RequestHeader>,
        fault: Option<Action>,
    ) -> bool {
        let own = matches!(then, Then::Own(_));
        let seen = self.seen(head, frame, header, fault);
        let mut waiting = self.waiting();
        waiting.push_back(Waiting { head, asked: Instant::now(), then, seen });
        let given_up = if waiting.len() > MOST_WAITING { waiting.pop_front() } else { None };
        drop(waiting);
        if let Some(given_up) = given_up {
            self.show(given_up.seen, None);
        }
        if own {
            self.own.notify_one();
        }
        !own
    }

    fn seen(
        &self,
        head: Option<Head>,
        frame: &Bytes,
        header: Option<&RequestHeader>,
        fault: Option<Action>,
    ) -> Option<(Box<Exchange>, Room)> {
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
            fault,
        };
        Some((Box::new(exchange), room))
    }

    fn show(&self, seen: Option<(Box<Exchange>, Room)>, answer: Option<(&[Bytes], Duration)>) {
        let (Some((mut exchange, mut room)), Some(queue)) = (seen, &self.hub.queue) else { return };
        if let Some((pieces, latency)) = answer {
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

    async fn answers(&self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> Result<(), End> {
        let mut frames = FrameBuffer::new(self.hub.config.max_frame);
        loop {
            self.own_answers(&mut to).await?;
            let read = tokio::select! {
                read = from.read_buf(frames.input()) => read?,
                () = self.own.notified() => continue,
            };
            if read == 0 {
                self.own_answers(&mut to).await?;
                to.shutdown().await?;
                return Ok(());
            }
            let mut out = Segments::default();
            let mut told = Vec::new();
            while let Some(frame) = frames.next_frame().map_err(End::Broker)? {
                // What comes before it has to go out before it.
                self.collect_own(&mut out, &mut told);
                let waiting = self.asked(&frame);
                let pieces = match waiting.as_ref().and_then(|waiting| waiting.head) {
                    Some(head) => self.rewrite(head, frame),
                    None => vec![frame],
                };
                match waiting.as_ref().map(|waiting| &waiting.then) {
                    Some(Then::Delay(time)) => {
                        out.write_all(&mut to).await?;
                        tokio::time::sleep(*time).await;
                    }
                    Some(Then::CutAfter(size)) => {
                        out.write_all(&mut to).await?;
                        push(&mut out, pieces);
                        out.truncate(*size);
                        out.write_all(&mut to).await?;
                        self.show(waiting.and_then(|waiting| waiting.seen), None);
                        return Err(End::Cut);
                    }
                    _ => {}
                }
                if let Some(Waiting { asked, seen: Some(seen), .. }) = waiting {
                    told.push((seen, pieces.clone(), asked.elapsed()));
                }
                push(&mut out, pieces);
                if out.count() >= FULL {
                    out.write_all(&mut to).await?;
                }
            }
            out.write_all(&mut to).await?;
            for (seen, pieces, latency) in told {
                self.show(Some(seen), Some((&pieces, latency)));
            }
        }
    }

    /// The request that a frame answers. Requests before it will get no answer any more.
    fn asked(&self, frame: &Bytes) -> Option<Waiting> {
        let id = i32_at(frame, 0);
        let mut waiting = self.waiting();
        let is_it = |waiting: &Waiting| match (waiting.head, &waiting.then) {
            (_, Then::Own(_)) => false,
            (Some(head), _) => Some(head.correlation_id) == id,
            (None, _) => true,
        };
        let at = waiting.iter().position(is_it)?;
        let passed: Vec<Waiting> = waiting.drain(..at).collect();
        let found = waiting.pop_front();
        drop(waiting);
        for passed in passed {
            self.show(passed.seen, None);
        }
        found
    }

    fn rewrite(&self, head: Head, frame: Bytes) -> Vec<Bytes> {
        if head.api == ApiKey::API_VERSIONS {
            return self.hub.caps.rewrite(head.version, &frame).unwrap_or_else(|| vec![frame]);
        }
        let mut local = |host: &str, port: i32| self.hub.local(host, port, self.reached);
        match endpoint::rewrite(head.api, head.version, &frame, &mut local) {
            Rewritten::Same => vec![frame],
            Rewritten::Changed(pieces) => pieces,
            Rewritten::Unreadable => {
                let what = format!("{} version {}", head.api, head.version);
                self.hub.warn(format!("an answer to {what} cannot be read, and passes with the addresses that it has"));
                vec![frame]
            }
        }
    }

    /// Takes answers of our own that are next.
    fn collect_own(&self, out: &mut Segments, told: &mut Vec<Told>) {
        let mut waiting = self.waiting();
        while let Some(Waiting { then: Then::Own(_), .. }) = waiting.front() {
            let Some(Waiting { asked, then: Then::Own(pieces), seen, .. }) = waiting.pop_front() else { return };
            if let Some(seen) = seen {
                told.push((seen, pieces.clone(), asked.elapsed()));
            }
            push(out, pieces);
        }
    }

    async fn own_answers(&self, to: &mut (impl AsyncWrite + Unpin)) -> Result<(), End> {
        let (mut out, mut told) = (Segments::default(), Vec::new());
        self.collect_own(&mut out, &mut told);
        out.write_all(to).await?;
        for (seen, pieces, latency) in told {
            self.show(Some(seen), Some((&pieces, latency)));
        }
        Ok(())
    }
}

type Told = ((Box<Exchange>, Room), Vec<Bytes>, Duration);

/// A frame for the watcher. A small one is copied: as a part of the buffer that it was read into it would keep all of that
/// alive, which may be a thousand times as much.
fn kept(frame: &Bytes) -> Bytes {
    if frame.len() < KEEP_FROM { Bytes::copy_from_slice(frame) } else { frame.clone() }
}

/// A frame with its size in front.
fn push(out: &mut Segments, pieces: Vec<Bytes>) {
    let size: usize = pieces.iter().map(Bytes::len).sum();
    out.push(Bytes::copy_from_slice(&(size as u32).to_be_bytes()));
    out.extend(pieces);
}

/// Whether a connection just ended, as many do.
fn is_an_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}
