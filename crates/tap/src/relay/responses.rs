//! Responses on their way to the client.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use milena_connection::{FrameBuffer, read_response_header, response_body_start};
use milena_fault::Patched;
use milena_inspect::conversation::Remark;
use milena_messages::{ApiKey, Message as _, MetadataResponse};
use milena_transport::Segments;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::waiting::{Head, Seen, Then, Waiting};
use super::{End, Relay, frame_into};
use crate::endpoint::{self, Rewritten};
use crate::header::{i16_at, i32_at};

/// Segments from which on responses are written before more are prepared.
const FULL: usize = 64;

/// Bytes of delayed responses from which on the broker is not read.
const MOST_HELD: usize = 16 << 20;

/// How long a response waits for the next one, to leave after it.
const LATEST: Duration = Duration::from_secs(1);

/// A response that leaves when it is due and all before it have left.
struct Held {
    pieces: Vec<Bytes>,
    due: Option<Instant>,
    /// The connection ends after so many bytes of it.
    cut: Option<usize>,
    /// It leaves after the next one, or when it is due.
    swaps: bool,
    arrived: Instant,
    seen: Seen,
}

/// Responses in their order.
#[derive(Default)]
struct Line {
    held: VecDeque<Held>,
    bytes: usize,
}

impl Line {
    fn push(&mut self, held: Held) {
        self.bytes += size(&held.pieces);
        self.held.push_back(held);
    }

    /// The next response, when it is due.
    fn pop(&mut self) -> Option<Held> {
        if self.held.front()?.swaps && self.held.len() > 1 {
            self.held.swap(0, 1);
            self.held.get_mut(1)?.swaps = false;
            self.held.get_mut(1)?.due = None;
        }
        if self.held.front()?.due.is_some_and(|due| due > Instant::now()) {
            return None;
        }
        let held = self.held.pop_front()?;
        self.bytes -= size(&held.pieces);
        Some(held)
    }

    fn due(&self) -> Option<Instant> {
        self.held.front().and_then(|held| held.due)
    }
}

fn size(pieces: &[Bytes]) -> usize {
    pieces.iter().map(Bytes::len).sum()
}

impl Relay {
    pub(super) async fn responses(
        &self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
    ) -> Result<(), End> {
        let mut frames = FrameBuffer::new(self.hub.config.max_frame);
        let mut line = Line::default();
        let result = self.forward(&mut frames, &mut line, &mut from, &mut to).await;
        for held in line.held {
            self.end(held.seen, Remark::NoResponse);
        }
        result
    }

    async fn forward(
        &self,
        frames: &mut FrameBuffer,
        line: &mut Line,
        from: &mut (impl AsyncRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Result<(), End> {
        let mut ended = false;
        loop {
            self.collect_own(line);
            self.write(line, to).await?;
            if ended && line.held.is_empty() {
                to.shutdown().await?;
                return Ok(());
            }
            let due = line.due();
            let read = tokio::select! {
                read = from.read_buf(frames.input()), if !ended && line.bytes < MOST_HELD => read?,
                () = self.own.notified() => continue,
                () = until(due) => continue,
            };
            ended |= read == 0;
            while let Some(frame) = frames.next_frame().map_err(End::Broker)? {
                // What comes before it has to leave before it.
                self.collect_own(line);
                self.response(frame, line);
                if line.held.len() >= FULL {
                    self.write(line, to).await?;
                }
            }
        }
    }

    /// Puts a response of the broker into the line.
    fn response(&self, frame: Bytes, line: &mut Line) {
        let waiting = self.request_of(&frame);
        let mut held =
            Held { pieces: Vec::new(), due: None, cut: None, swaps: false, arrived: Instant::now(), seen: None };
        let Some(Waiting { head, arrived, then, mut seen, opening }) = waiting else {
            held.pieces = vec![frame];
            return line.push(held);
        };
        if let (Some(head), Some(opening)) = (head, opening) {
            if let Some(id) = session_id(head, &frame) {
                self.hub.with_sessions(&self.broker, |sessions| sessions.response(opening, id));
            }
        }
        let mut frame = frame;
        self.learn(head, &frame);
        let mut distortion = None;
        match then {
            Then::Distort(change) => distortion = Some(change),
            Then::Reorder => (held.swaps, held.due) = (true, Some(Instant::now() + LATEST)),
            Then::Delay(time) => held.due = arrived.checked_add(time),
            Then::CutAfter(size) => held.cut = Some(size),
            Then::Patch(patch) => match patch.apply(&frame) {
                Patched::Changed(patched) => frame = patched,
                Patched::Unchanged => {
                    if let Some(head) = head {
                        self.hub.no_place(
                            head.api,
                            head.version,
                            "the broker's response names nothing that could fail",
                        );
                    }
                    if let Some((exchange, _)) = &mut seen {
                        exchange.fault = None;
                    }
                }
            },
            Then::Pass | Then::Own(_) => {}
        }
        held.pieces = match head {
            Some(head) => self.rewrite(head, frame),
            None => vec![frame],
        };
        // Last, so that nothing has to read what is wrong on purpose.
        if let (Some(change), Some(head)) = (distortion, head) {
            if let Some(changed) = change.apply(head.api, head.version, &held.pieces.concat().into()) {
                held.pieces = vec![changed];
            }
        }
        (held.arrived, held.seen) = (arrived, seen);
        line.push(held);
    }

    /// Notes the names and ids of topics in a Metadata response, when a rule names topics.
    fn learn(&self, head: Option<Head>, frame: &Bytes) {
        let Some(head) = head.filter(|head| head.api == ApiKey::METADATA && self.hub.watches_topics()) else { return };
        let Ok((_, body)) = read_response_header(frame.clone(), head.api, head.version) else { return };
        if let Ok(metadata) = MetadataResponse::from_bytes(body, head.version) {
            let topics = metadata.topics.into_iter();
            let known = topics.filter_map(|topic| Some((topic.topic_id.to_string(), topic.name?.to_string())));
            self.hub.learn_topics(known);
        }
    }

    /// The request that a frame responds to. Requests before it will get no response any more.
    fn request_of(&self, frame: &Bytes) -> Option<Waiting> {
        let id = i32_at(frame, 0);
        let mut waiting = self.waiting();
        let has_id = |waiting: &Waiting| {
            !matches!(waiting.then, Then::Own(_)) && waiting.head.is_some_and(|head| Some(head.correlation_id) == id)
        };
        // The last SASL token of some mechanisms gets no response; the request after it does.
        let at = waiting.iter().position(has_id).or_else(|| waiting.iter().position(|one| one.head.is_none()))?;
        let passed: Vec<Waiting> = waiting.drain(..at).collect();
        let found = waiting.pop_front();
        drop(waiting);
        for passed in passed {
            let is_token = passed.head.is_none();
            self.end(passed.seen, if is_token { Remark::NoResponseToToken } else { Remark::NoResponse });
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
                self.hub.warn(format!("cannot read a response to {what}; it passes with the addresses that it has"));
                vec![frame]
            }
        }
    }

    /// Takes responses of our own that are next.
    fn collect_own(&self, line: &mut Line) {
        let mut waiting = self.waiting();
        while let Some(Waiting { then: Then::Own(_), .. }) = waiting.front() {
            let Some(Waiting { arrived, then: Then::Own(pieces), seen, .. }) = waiting.pop_front() else { return };
            line.push(Held { pieces, due: None, cut: None, swaps: false, arrived, seen });
        }
    }

    /// Writes all responses that are due.
    async fn write(&self, line: &mut Line, to: &mut (impl AsyncWrite + Unpin)) -> Result<(), End> {
        let mut out = Segments::default();
        let mut written: Vec<(Seen, Vec<Bytes>, Duration)> = Vec::new();
        let mut cut = false;
        while let Some(Held { pieces, cut: after, arrived, seen, .. }) = line.pop() {
            if let Some(after) = after {
                out.write_all(to).await?;
                frame_into(&mut out, pieces);
                out.truncate(after);
                self.end(seen, Remark::NoResponse);
                cut = true;
                break;
            }
            if seen.is_some() {
                written.push((seen, pieces.clone(), arrived.elapsed()));
            }
            frame_into(&mut out, pieces);
            if out.count() >= FULL {
                out.write_all(to).await?;
            }
        }
        out.write_all(to).await?;
        for (seen, pieces, latency) in written {
            self.show(seen, &pieces, latency);
        }
        if cut { Err(End::Cut) } else { Ok(()) }
    }
}

/// The id of the session that the broker opened, in a response to Fetch 7 or later.
fn session_id(head: Head, frame: &Bytes) -> Option<i32> {
    // The throttle time and the code come first.
    let body = response_body_start(frame, head.api, head.version)?;
    (i16_at(frame, body + 4)? == 0).then(|| i32_at(frame, body + 6)).flatten()
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}
