//! The task of one connection.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use milena_connection::{ClientConnection, ClientEvent, ConnectionError};
use milena_messages::{ApiKey, ApiVersionsRequest};
use milena_transport::Segments;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::link::{Command, Exchange, Failure};
use crate::error::{CloseCause, ConnectCause, Error, Origin, Result};
use crate::observer::Watch;
use crate::timing::rounded;

/// Bytes that may wait for the socket before no more requests are written.
const HIGH_WATER: usize = 4 << 20;

pub(super) struct Driver<S> {
    address: Arc<str>,
    machine: ClientConnection,
    watch: Watch,
    reader: ReadHalf<S>,
    writer: WriteHalf<S>,
    output: Segments,
    /// Bytes that went into `output`, and bytes that left it, since the connection was opened.
    produced: u64,
    written: u64,
    /// Whether the stream may hold back bytes that it took, as TLS does.
    unflushed: bool,
    /// Requests that are not written yet.
    queue: VecDeque<Command>,
    /// Requests whose response is due, by correlation id. The fence is among them.
    waiting: HashMap<i32, Waiting>,
    /// Requests that expect no response, until their last byte is with the socket.
    flushing: VecDeque<Waiting>,
    /// A request without response was written, and nothing that came later was responded to.
    unconfirmed: bool,
    fence: Option<i32>,
    /// Nothing is written before this moment, as the broker asked.
    muted_until: Option<Instant>,
    max_throttle: Duration,
    /// Whether anything but ApiVersions was responded to.
    responded: bool,
    /// A response did not come in time: no more requests.
    condemned: bool,
    /// What the handles see of it.
    open: Arc<AtomicBool>,
}

/// A request that was handed to the machine. Without an exchange it is a fence.
struct Waiting {
    exchange: Option<Box<dyn Exchange>>,
    api: ApiKey,
    begun: Instant,
    deadline: Instant,
    muted: Duration,
    /// Where it begins and ends, counted as `produced` is.
    first_byte: u64,
    end: u64,
}

enum Happening {
    Command(Option<Command>),
    Read(io::Result<usize>),
    Written(io::Result<usize>),
    Flushed(io::Result<()>),
    Time,
}

/// Why a connection ended.
enum End {
    /// Nobody wants it any more.
    Dropped,
    /// It was given up after a timeout.
    Condemned,
    /// The peer closed it.
    Eof,
    Io(Arc<io::Error>),
    Machine(ConnectionError),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}

impl<S: AsyncRead + AsyncWrite> Driver<S> {
    pub(super) fn new(
        stream: S,
        machine: ClientConnection,
        address: Arc<str>,
        watch: Watch,
        max_throttle: Duration,
    ) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self {
            address,
            machine,
            watch,
            reader,
            writer,
            output: Segments::default(),
            produced: 0,
            written: 0,
            unflushed: false,
            queue: VecDeque::new(),
            waiting: HashMap::new(),
            flushing: VecDeque::new(),
            unconfirmed: false,
            fence: None,
            muted_until: None,
            max_throttle,
            responded: false,
            condemned: false,
            open: Arc::new(AtomicBool::new(true)),
        }
    }

    pub(super) fn open(&self) -> &Arc<AtomicBool> {
        &self.open
    }

    pub(super) fn machine(&self) -> &ClientConnection {
        &self.machine
    }

    /// Asks the broker which versions it speaks. The caller limits the time.
    pub(super) async fn negotiate(&mut self, origin: Origin) -> Result<()> {
        let address = Arc::clone(&self.address);
        let machine = |error| Error::machine(&address, ApiKey::API_VERSIONS, error);
        self.machine.negotiate(None).map_err(machine)?;
        while self.machine.versions().is_none() {
            self.collect();
            let step = match self.happening(None).await {
                Happening::Read(result) => self.read(result),
                Happening::Written(result) => self.wrote(result),
                Happening::Flushed(result) => self.flushed(result),
                Happening::Command(_) | Happening::Time => Ok(()),
            };
            let cause = match step {
                Ok(()) => continue,
                Err(End::Machine(error)) => return Err(machine(error)),
                Err(End::Io(error)) if error.kind() != io::ErrorKind::ConnectionReset => ConnectCause::Io(error),
                Err(_) => ConnectCause::ClosedOnApiVersions,
            };
            return Err(Error::Connect { address, origin, cause });
        }
        Ok(())
    }

    /// Serves requests until every handle is dropped or the connection ends. Nothing is left then: no request without its
    /// result, no socket, no task.
    pub(super) async fn run(mut self, mut commands: mpsc::UnboundedReceiver<Command>) {
        let end = self.serve(&mut commands).await;
        commands.close();
        let address = &*self.address;
        match &end {
            End::Dropped => tracing::debug!(address, "connection closed"),
            End::Condemned => tracing::debug!(address, "connection given up after a timeout"),
            End::Eof => tracing::debug!(address, "the broker closed the connection"),
            End::Io(error) => tracing::debug!(address, %error, "connection lost"),
            End::Machine(error) => tracing::warn!(address, %error, "the broker broke the protocol, connection closed"),
        }
        let flushing = std::mem::take(&mut self.flushing);
        for waiting in std::mem::take(&mut self.waiting).into_values().chain(flushing) {
            let failure = match waiting.first_byte < self.written {
                true => Failure::Error(end.error(&self.address, waiting.api, self.responded)),
                false => Failure::NotSent,
            };
            waiting.end(Err(failure));
        }
        self.refuse_queue();
        while let Some(command) = commands.recv().await {
            command.exchange.end(Err(Failure::NotSent), command.muted);
        }
        if matches!(end, End::Dropped) {
            // Tells a peer that reads; one that does not read is not waited for.
            let _ = timeout(Duration::ZERO, self.writer.shutdown()).await;
        }
    }

    async fn serve(&mut self, commands: &mut mpsc::UnboundedReceiver<Command>) -> End {
        loop {
            self.begin_queued();
            self.collect();
            if self.condemned && self.waiting.is_empty() && self.flushing.is_empty() {
                return End::Condemned;
            }
            let step = match self.happening(Some(&mut *commands)).await {
                Happening::Command(Some(mut command)) => {
                    if let Some(until) = self.muted_until {
                        command.hold(until.saturating_duration_since(Instant::now()), self.max_throttle);
                    }
                    self.queue.push_back(command);
                    Ok(())
                }
                // A caller that waits has a handle, so nobody waits.
                Happening::Command(None) => return End::Dropped,
                Happening::Read(result) => self.read(result),
                Happening::Written(result) => self.wrote(result),
                Happening::Flushed(result) => self.flushed(result),
                Happening::Time => {
                    self.expire();
                    Ok(())
                }
            };
            if let Err(end) = step {
                return end;
            }
        }
    }

    async fn happening(&mut self, commands: Option<&mut mpsc::UnboundedReceiver<Command>>) -> Happening {
        let alarm = self.next_alarm();
        let pushing = !self.output.is_empty() || self.unflushed;
        tokio::select! {
            done = push(&mut self.writer, &mut self.output), if pushing => done,
            read = self.reader.read_buf(self.machine.input()) => Happening::Read(read),
            command = next_command(commands) => Happening::Command(command),
            () = sleep_until_some(alarm) => Happening::Time,
        }
    }

    /// When something has to be done although nothing arrives.
    fn next_alarm(&self) -> Option<Instant> {
        let responses = self.waiting.values().chain(&self.flushing).map(|waiting| waiting.deadline);
        let queued = self.queue.iter().map(|command| command.limit.deadline);
        responses.chain(queued).chain(self.muted_until).min()
    }

    /// Writes the requests that may be written now.
    fn begin_queued(&mut self) {
        if self.condemned {
            return self.refuse_queue();
        }
        let now = Instant::now();
        if self.muted_until.is_some_and(|until| until <= now) {
            self.muted_until = None;
        }
        self.queue.retain(|command| !command.exchange.is_abandoned());
        while self.muted_until.is_none() && self.fence.is_none() && self.output.bytes() < HIGH_WATER {
            let Some(next) = self.queue.front() else { return };
            // A broker that refuses a request without response closes the connection. What is sent next must not get lost
            // with it, so that the broker first has to show that it goes on.
            if self.unconfirmed && next.exchange.expects_response() {
                return self.begin_fence(now, next.limit.deadline.min(now + next.limit.timeout));
            }
            let Some(command) = self.queue.pop_front() else { return };
            self.begin(command, now);
        }
    }

    fn begin_fence(&mut self, begun: Instant, deadline: Instant) {
        let api = ApiKey::API_VERSIONS;
        let version = self.machine.version_of(api).unwrap_or(0).min(2);
        let first_byte = self.produced;
        // This request can be written at every version up to 2.
        let Ok(id) = self.machine.send_at(&ApiVersionsRequest::default(), version, None) else { return };
        self.collect();
        let (exchange, muted, end) = (None, Duration::ZERO, self.produced);
        self.waiting.insert(id, Waiting { exchange, api, begun, deadline, muted, first_byte, end });
        self.fence = Some(id);
    }

    fn begin(&mut self, command: Command, begun: Instant) {
        let Command { mut exchange, limit, muted, .. } = command;
        self.collect();
        let first_byte = self.produced;
        let id = match exchange.write(&mut self.machine) {
            Ok(id) => id,
            Err(error) => {
                let error = Error::machine(&self.address, exchange.api(), error);
                return exchange.end(Err(Failure::Error(error)), muted);
            }
        };
        self.collect();
        let (api, expects_response) = (exchange.api(), exchange.expects_response());
        let deadline = limit.deadline.min(begun + limit.timeout);
        let end = self.produced;
        let waiting = Waiting { exchange: Some(exchange), api, begun, deadline, muted, first_byte, end };
        match expects_response {
            true => {
                self.waiting.insert(id, waiting);
            }
            false => {
                self.unconfirmed = true;
                self.flushing.push_back(waiting);
            }
        }
    }

    /// Takes over what the machine wants to be written.
    fn collect(&mut self) {
        let segments = self.machine.take_output();
        self.watch.sent(&segments);
        self.produced += segments.iter().map(|segment| segment.len() as u64).sum::<u64>();
        self.output.extend(segments);
    }

    fn wrote(&mut self, result: io::Result<usize>) -> Result<(), End> {
        self.written += result? as u64;
        self.unflushed = true;
        Ok(())
    }

    fn flushed(&mut self, result: io::Result<()>) -> Result<(), End> {
        result?;
        self.unflushed = false;
        while self.flushing.front().is_some_and(|waiting| waiting.end <= self.written) {
            let Some(waiting) = self.flushing.pop_front() else { break };
            waiting.end(Ok(()));
        }
        Ok(())
    }

    fn read(&mut self, result: io::Result<usize>) -> Result<(), End> {
        let count = match result? {
            0 => return Err(End::Eof),
            count => count,
        };
        let input = self.machine.input();
        let start = input.len() - count;
        self.watch.received(&input[start..]);
        while let Some(event) = self.machine.poll().map_err(End::Machine)? {
            let ClientEvent::Response(response) = event else { continue };
            let Some(waiting) = self.waiting.remove(&response.correlation_id) else { continue };
            let Some(exchange) = waiting.exchange else {
                (self.fence, self.unconfirmed) = (None, false);
                continue;
            };
            self.responded = true;
            let throttle = exchange.respond(&response, &self.address, waiting.muted);
            if !throttle.is_zero() {
                self.mute(throttle, waiting.api);
            }
        }
        Ok(())
    }

    /// Stays silent as long as the broker asks. The broker does not read meanwhile, so that no request's time runs.
    fn mute(&mut self, throttle: Duration, api: ApiKey) {
        tracing::info!(address = &*self.address, %api, ?throttle, "the broker throttles this client");
        self.watch.throttled(api, throttle);
        let now = Instant::now();
        let before = self.muted_until.unwrap_or(now).max(now);
        let until = before.max(now + throttle.min(self.max_throttle));
        self.muted_until = Some(until);
        let more = until - before;
        for waiting in self.waiting.values_mut().chain(&mut self.flushing) {
            let more = more.min(self.max_throttle.saturating_sub(waiting.muted));
            waiting.muted += more;
            waiting.deadline += more;
            waiting.begun += more;
        }
        for command in &mut self.queue {
            command.hold(more, self.max_throttle);
        }
    }

    fn expire(&mut self) {
        let now = Instant::now();
        let late = |waiting: &Waiting| waiting.deadline <= now;
        let ids: Vec<i32> = self.waiting.iter().filter(|(_, waiting)| late(waiting)).map(|(id, _)| *id).collect();
        let mut expired = Vec::new();
        for id in ids {
            self.machine.cancel(id);
            expired.extend(self.waiting.remove(&id));
        }
        while let Some(position) = self.flushing.iter().position(late) {
            expired.extend(self.flushing.remove(position));
        }
        let (late, left): (VecDeque<_>, _) =
            std::mem::take(&mut self.queue).into_iter().partition(|command| command.limit.deadline <= now);
        self.queue = left;
        // A broker that does not respond may be gone for good: what comes next goes over a new connection.
        self.condemned |= !expired.is_empty() || (!late.is_empty() && self.muted_until.is_none());
        self.open.store(!self.condemned, Ordering::Relaxed);
        for waiting in expired {
            let error = Error::Timeout {
                address: Arc::clone(&self.address),
                api: waiting.api,
                after: rounded(waiting.deadline - waiting.begun),
                sent: waiting.first_byte < self.written,
            };
            waiting.end(Err(Failure::Error(error)));
        }
        for Command { exchange, limit, queued, muted } in late {
            let error = Error::Timeout {
                address: Arc::clone(&self.address),
                api: exchange.api(),
                after: rounded((limit.deadline - queued).saturating_sub(muted)),
                sent: false,
            };
            exchange.end(Err(Failure::Error(error)), muted);
        }
    }

    fn refuse_queue(&mut self) {
        for command in std::mem::take(&mut self.queue) {
            command.exchange.end(Err(Failure::NotSent), command.muted);
        }
    }
}

impl Command {
    /// Moves the deadline, by as much as is left of the longest throttling.
    fn hold(&mut self, more: Duration, most: Duration) {
        let more = more.min(most.saturating_sub(self.muted));
        self.muted += more;
        self.limit.deadline += more;
    }
}

impl Waiting {
    fn end(self, result: Result<(), Failure>) {
        if let Some(exchange) = self.exchange {
            exchange.end(result, self.muted);
        }
    }
}

impl End {
    fn error(&self, address: &Arc<str>, api: ApiKey, responded: bool) -> Error {
        let cause = match self {
            Self::Machine(error) => return Error::machine(address, api, error.clone()),
            Self::Io(error) => CloseCause::Io(Arc::clone(error)),
            Self::Condemned | Self::Dropped => CloseCause::GivenUp,
            Self::Eof if responded => CloseCause::Eof,
            Self::Eof => CloseCause::EofAtFirstRequest,
        };
        Error::Closed { address: Arc::clone(address), api, sent: true, cause }
    }
}

/// Writes what there is; when there is nothing, what the stream itself holds back.
async fn push<S: AsyncWrite>(writer: &mut WriteHalf<S>, output: &mut Segments) -> Happening {
    match output.is_empty() {
        true => Happening::Flushed(writer.flush().await),
        false => Happening::Written(output.write_some(writer).await),
    }
}

async fn next_command(commands: Option<&mut mpsc::UnboundedReceiver<Command>>) -> Option<Command> {
    match commands {
        Some(commands) => commands.recv().await,
        None => std::future::pending().await,
    }
}

async fn sleep_until_some(alarm: Option<Instant>) {
    match alarm {
        Some(alarm) => sleep_until(alarm).await,
        None => std::future::pending().await,
    }
}
