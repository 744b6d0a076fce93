use std::collections::{HashMap, VecDeque};
use std::io::{self, IoSlice};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use milena_connection::{ClientConnection, ClientEvent, ConnectionError, IncomingResponse};
use milena_messages::ApiKey;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::{Command, Failure};
use crate::attempts::rounded;
use crate::error::{ConnectCause, Error, Result};
use crate::observer::Tap;

/// Bytes that may wait for the socket before no more requests are taken.
const HIGH_WATER: usize = 4 << 20;

/// Segments that are handed to the socket at once.
const SEGMENTS: usize = 32;

type Reply = oneshot::Sender<Result<Option<IncomingResponse>, Failure>>;

/// The task's side of a connection.
pub(super) struct Driver<S> {
    address: Arc<str>,
    machine: ClientConnection,
    tap: Option<Tap>,
    reader: ReadHalf<S>,
    writer: WriteHalf<S>,
    /// The zero of the machine's clock.
    zero: Instant,
    output: VecDeque<Bytes>,
    /// Bytes in `output`.
    unwritten: usize,
    /// Requests that get an answer, by correlation id.
    waiting: HashMap<i32, Waiting>,
    /// Requests that get none, with their last byte's distance from the front of `output`.
    flushing: VecDeque<(usize, Waiting)>,
    /// Whether the stream may hold back bytes that it took, as TLS does.
    unflushed: bool,
    /// Whether anything but ApiVersions was answered.
    answered: bool,
}

struct Waiting {
    api: ApiKey,
    asked: Instant,
    deadline: Instant,
    reply: Reply,
}

enum Happening {
    Command(Option<Command>),
    Read(io::Result<usize>),
    Written(io::Result<usize>),
    Flushed(io::Result<()>),
    Deadline,
}

/// Why a connection ended.
enum End {
    /// Nobody wants it any more.
    Done,
    /// The peer closed it.
    Eof,
    Io(io::Error),
    Machine(ConnectionError),
}

impl<S: AsyncRead + AsyncWrite> Driver<S> {
    pub(super) fn new(stream: S, machine: ClientConnection, address: Arc<str>, tap: Option<Tap>) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self {
            address,
            machine,
            tap,
            reader,
            writer,
            zero: Instant::now(),
            output: VecDeque::new(),
            unwritten: 0,
            waiting: HashMap::new(),
            flushing: VecDeque::new(),
            unflushed: false,
            answered: false,
        }
    }

    pub(super) fn machine(&self) -> &ClientConnection {
        &self.machine
    }

    /// Asks the broker which versions it speaks. Takes as long as it takes.
    pub(super) async fn negotiate(&mut self) -> Result<()> {
        self.machine.negotiate(None).map_err(|error| Error::machine(&self.address, error))?;
        while self.machine.versions().is_none() {
            self.collect();
            let end = match self.happening(None).await {
                Happening::Read(result) => self.read(result).err(),
                Happening::Written(result) => self.written(result).err(),
                Happening::Flushed(result) => self.flushed(result).err(),
                Happening::Command(_) | Happening::Deadline => None,
            };
            match end {
                None => {}
                Some(End::Machine(error)) => return Err(Error::machine(&self.address, error)),
                Some(End::Io(error)) if error.kind() != io::ErrorKind::ConnectionReset => {
                    return Err(Error::connect_io(&self.address, &error));
                }
                Some(End::Done | End::Eof | End::Io(_)) => {
                    let cause = ConnectCause::ClosedOnApiVersions;
                    return Err(Error::Connect { address: Arc::clone(&self.address), cause });
                }
            }
        }
        Ok(())
    }

    /// Serves requests until the handle is dropped or the connection ends.
    pub(super) async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        let end = self.serve(&mut commands).await;
        commands.close();
        match &end {
            End::Done => tracing::debug!(address = &*self.address, "connection closed"),
            End::Eof => tracing::debug!(address = &*self.address, "the broker closed the connection"),
            End::Io(error) => tracing::debug!(address = &*self.address, %error, "connection lost"),
            End::Machine(error) => tracing::warn!(address = &*self.address, %error, "connection given up"),
        }
        let flushing = std::mem::take(&mut self.flushing).into_iter().map(|(_, waiting)| waiting);
        for waiting in std::mem::take(&mut self.waiting).into_values().chain(flushing) {
            let _ = waiting.reply.send(Err(Failure::Error(end.error(&self.address, waiting.api, self.answered))));
        }
        while let Some(command) = commands.recv().await {
            let _ = command.reply.send(Err(Failure::NotSent));
        }
    }

    async fn serve(&mut self, commands: &mut mpsc::Receiver<Command>) -> End {
        let mut open = true;
        loop {
            self.collect();
            if !open && self.waiting.is_empty() && self.output.is_empty() {
                // Shutting down tells the peer at once; whether it worked is of no interest.
                let _ = self.writer.shutdown().await;
                return End::Done;
            }
            let step = match self.happening(open.then_some(&mut *commands)).await {
                Happening::Command(Some(command)) => {
                    self.begin(command);
                    while self.unwritten < HIGH_WATER {
                        let Ok(command) = commands.try_recv() else { break };
                        self.begin(command);
                    }
                    Ok(())
                }
                Happening::Command(None) => {
                    open = false;
                    Ok(())
                }
                Happening::Read(result) => self.read(result),
                Happening::Written(result) => self.written(result),
                Happening::Flushed(result) => self.flushed(result),
                Happening::Deadline => {
                    // A broker that does not answer may be gone for good: what comes next goes over a new connection.
                    commands.close();
                    self.expire();
                    Ok(())
                }
            };
            if let Err(end) = step {
                return end;
            }
        }
    }

    async fn happening(&mut self, commands: Option<&mut mpsc::Receiver<Command>>) -> Happening {
        let deadline = [self.machine.next_deadline().map(|at| self.zero + at), self.flush_deadline()];
        let deadline = deadline.into_iter().flatten().min();
        let mut slices = [IoSlice::new(&[]); SEGMENTS];
        let count = self.output.len().min(SEGMENTS);
        for (slice, segment) in slices.iter_mut().zip(&self.output) {
            *slice = IoSlice::new(segment);
        }
        let roomy = self.unwritten < HIGH_WATER;
        tokio::select! {
            done = push(&mut self.writer, &slices[..count]), if count > 0 || self.unflushed => done,
            read = self.reader.read_buf(self.machine.input()) => Happening::Read(read),
            command = next_command(commands), if roomy => Happening::Command(command),
            () = sleep_until_some(deadline) => Happening::Deadline,
        }
    }

    fn begin(&mut self, command: Command) {
        let Command { api, write, asked, deadline, reply } = command;
        let waiting = Waiting { api, asked, deadline, reply };
        if deadline <= Instant::now() {
            return self.late(waiting);
        }
        match write(&mut self.machine, deadline.duration_since(self.zero)) {
            Err(error) => {
                let _ = waiting.reply.send(Err(Failure::Error(Error::machine(&self.address, error))));
            }
            Ok((id, true)) => {
                self.waiting.insert(id, waiting);
                self.collect();
            }
            Ok((_, false)) => {
                self.collect();
                self.flushing.push_back((self.unwritten, waiting));
            }
        }
    }

    /// Takes over what the machine wants to be written.
    fn collect(&mut self) {
        let segments = self.machine.take_output();
        if let Some(tap) = &mut self.tap {
            tap.sent(&segments);
        }
        self.unwritten += segments.iter().map(Bytes::len).sum::<usize>();
        self.output.extend(segments.into_iter().filter(|segment| !segment.is_empty()));
    }

    fn written(&mut self, result: io::Result<usize>) -> Result<(), End> {
        let mut left = match result {
            Ok(0) => return Err(End::Io(io::ErrorKind::WriteZero.into())),
            Ok(count) => count,
            Err(error) => return Err(End::Io(error)),
        };
        self.unflushed = true;
        self.unwritten -= left;
        for (distance, _) in &mut self.flushing {
            *distance = distance.saturating_sub(left);
        }
        while let Some((0, _)) = self.flushing.front() {
            let Some((_, waiting)) = self.flushing.pop_front() else { break };
            let _ = waiting.reply.send(Ok(None));
        }
        while left > 0 {
            let Some(segment) = self.output.front_mut() else { break };
            let step = left.min(segment.len());
            segment.advance(step);
            left -= step;
            if segment.is_empty() {
                self.output.pop_front();
            }
        }
        Ok(())
    }

    fn flushed(&mut self, result: io::Result<()>) -> Result<(), End> {
        self.unflushed = false;
        result.map_err(End::Io)
    }

    fn read(&mut self, result: io::Result<usize>) -> Result<(), End> {
        let count = match result {
            Ok(0) => return Err(End::Eof),
            Ok(count) => count,
            Err(error) => return Err(End::Io(error)),
        };
        if let Some(tap) = &mut self.tap {
            let input = self.machine.input();
            tap.received(&input[input.len() - count..]);
        }
        while let Some(event) = self.machine.poll().map_err(End::Machine)? {
            match event {
                ClientEvent::Negotiated(_) => {}
                ClientEvent::Response(answer) => {
                    self.answered = true;
                    if let Some(waiting) = self.waiting.remove(&answer.correlation_id) {
                        let _ = waiting.reply.send(Ok(Some(answer)));
                    }
                }
            }
        }
        Ok(())
    }

    fn flush_deadline(&self) -> Option<Instant> {
        self.flushing.iter().map(|(_, waiting)| waiting.deadline).min()
    }

    fn expire(&mut self) {
        let now = Instant::now();
        for id in self.machine.expire(now.duration_since(self.zero)) {
            if let Some(waiting) = self.waiting.remove(&id) {
                self.late(waiting);
            }
        }
        let (late, left): (VecDeque<_>, _) =
            std::mem::take(&mut self.flushing).into_iter().partition(|(_, waiting)| waiting.deadline <= now);
        self.flushing = left;
        late.into_iter().for_each(|(_, waiting)| self.late(waiting));
    }

    fn late(&self, waiting: Waiting) {
        let after = rounded(waiting.deadline.duration_since(waiting.asked));
        let error = Error::Timeout { address: Arc::clone(&self.address), api: waiting.api, after };
        let _ = waiting.reply.send(Err(Failure::Error(error)));
    }
}

impl End {
    fn error(&self, address: &Arc<str>, api: ApiKey, answered: bool) -> Error {
        let address = Arc::clone(address);
        match self {
            Self::Done | Self::Eof => {
                let hint = "it has answered nothing but ApiVersions, as a port does that wants SASL first";
                Error::Closed { address, api, cause: (!answered).then(|| hint.to_owned()) }
            }
            Self::Io(error) => Error::Closed { address, api, cause: Some(error.to_string()) },
            Self::Machine(error) => Error::machine(&address, error.clone()),
        }
    }
}

/// Writes what there is; when there is nothing, what the stream itself holds back.
async fn push<S: AsyncWrite>(writer: &mut WriteHalf<S>, slices: &[IoSlice<'_>]) -> Happening {
    match slices {
        [] => Happening::Flushed(writer.flush().await),
        slices => Happening::Written(writer.write_vectored(slices).await),
    }
}

async fn next_command(commands: Option<&mut mpsc::Receiver<Command>>) -> Option<Command> {
    match commands {
        Some(commands) => commands.recv().await,
        None => std::future::pending().await,
    }
}

async fn sleep_until_some(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
