use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::exchange::{Endpoints, Exchange, Remark};
use super::frame::{Direction, Frame};
use super::request::RequestReader;

/// What a [`Conversation`] keeps while responses are awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Most requests without a response; 1000 by default.
    pub requests: usize,
    /// Most bytes of such requests; 256 MiB by default. One request is kept whatever its size.
    pub bytes: usize,
    /// How many frames later the request to a response may still come, as it does where a capture mixed up the order of
    /// packets; 0 by default.
    pub late_requests: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { requests: 1000, bytes: 256 << 20, late_requests: 0 }
    }
}

/// Pairs the requests of one connection with their responses.
///
/// It knows that no response comes to a Produce with acks = 0, that the response to ApiVersions may be of version 0, that
/// raw tokens follow SaslHandshake version 0, and that a broker does not respond to the last of them when they are of
/// GSSAPI. APIs and versions that no release has pass as they are.
#[derive(Debug, Default)]
pub struct Conversation {
    bounds: Bounds,
    endpoints: Option<Arc<Endpoints>>,
    reader: RequestReader,
    /// Exchanges that wait for their response, oldest first.
    waiting: VecDeque<Exchange>,
    /// Bytes of all frames in `waiting`.
    held: usize,
    /// Responses whose requests may still come, each with the number of frames before it.
    early: VecDeque<(u64, Frame)>,
    /// Frames so far.
    frames: u64,
    /// Complete, and not given yet.
    done: VecDeque<Exchange>,
}

impl Conversation {
    /// A connection on which nothing was sent yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with bounds of one's own.
    pub fn with_bounds(bounds: Bounds) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// Says whose connection it is, for all exchanges from now on.
    pub fn set_endpoints(&mut self, endpoints: Arc<Endpoints>) {
        self.endpoints = Some(endpoints);
    }

    /// Requests that wait for a response, oldest first.
    pub fn waiting(&self) -> impl Iterator<Item = &Frame> {
        self.waiting.iter().filter_map(|exchange| exchange.request.as_ref())
    }

    /// Whether the client may send a raw SASL token next.
    pub fn expects_token(&self) -> bool {
        self.reader.expects_token()
    }

    /// Bytes of requests that wait for a response.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Takes the next frame, without the size in front of it. Gives an exchange that is complete, if one is: a request that
    /// wants no response, one that has to be given up to make room, or a response with its request. In the rare case that
    /// a frame completes two, the second comes with the next frame.
    pub fn feed(&mut self, direction: Direction, time: Duration, bytes: Bytes) -> Option<Exchange> {
        self.feed_cut(direction, time, bytes, 0)
    }

    /// The same with a frame whose last `missing` bytes were not seen. What is left of its header is enough to find the
    /// other half of the exchange.
    pub fn feed_cut(&mut self, direction: Direction, time: Duration, bytes: Bytes, missing: usize) -> Option<Exchange> {
        self.frames += 1;
        match direction {
            Direction::Request => self.request(time, bytes, missing),
            Direction::Response => self.response(Frame { missing, ..Frame::of_response(time, bytes) }),
        }
        while self.early.front().is_some_and(|(at, _)| self.frames - at > self.bounds.late_requests) {
            if let Some((_, frame)) = self.early.pop_front() {
                self.unexpected(frame);
            }
        }
        self.next_done()
    }

    /// The connection is at its end: what is complete and was not given yet, and requests that are still without a
    /// response, oldest first.
    pub fn finish(&mut self) -> Vec<Exchange> {
        self.held = 0;
        while let Some((_, frame)) = self.early.pop_front() {
            self.unexpected(frame);
        }
        let waiting = self.waiting.drain(..).map(|mut exchange| {
            exchange.remarks.push(Remark::NoResponse);
            exchange
        });
        self.done.extend(waiting);
        std::iter::from_fn(|| self.next_done()).collect()
    }

    fn next_done(&mut self) -> Option<Exchange> {
        let exchange = self.done.pop_front()?;
        Some(Exchange { endpoints: self.endpoints.clone(), ..exchange })
    }

    fn request(&mut self, time: Duration, bytes: Bytes, missing: usize) {
        let mut exchange = self.reader.read_cut(time, bytes, missing);
        let Some(frame) = &exchange.request else { return };
        if !frame.wants_response() {
            exchange.remarks.push(Remark::NoResponseWanted);
            return self.done.push_back(exchange);
        }
        let id = frame.correlation_id().filter(|_| !self.early.is_empty());
        if let Some(at) = self.early.iter().position(|(_, response)| id.is_some() && response.id() == id) {
            if let Some((_, response)) = self.early.remove(at) {
                exchange.respond_with(response);
                exchange.remarks.push(Remark::BeforeRequest);
                return self.done.push_back(exchange);
            }
        }
        self.held += frame.bytes.len();
        self.waiting.push_back(exchange);
        if self.waiting.len() > self.bounds.requests || self.held > self.bounds.bytes {
            self.give_up(Remark::GivenUp);
        }
    }

    /// Ends the oldest exchange without a response.
    fn give_up(&mut self, why: Remark) {
        if let Some(mut exchange) = self.take(0) {
            exchange.remarks.push(why);
            self.done.push_back(exchange);
        }
    }

    fn take(&mut self, index: usize) -> Option<Exchange> {
        let exchange = self.waiting.remove(index)?;
        self.held -= exchange.request.as_ref().map_or(0, |frame| frame.bytes.len());
        Some(exchange)
    }

    fn response(&mut self, response: Frame) {
        let id = response.id();
        let has_id = |frame: &Frame| id.is_some() && id == frame.correlation_id();
        // The response to a later request: there is none to the token before it.
        while self.waiting.front().is_some_and(is_token) && self.waiting().any(has_id) {
            self.give_up(Remark::NoResponseToToken);
        }
        let index = match self.waiting.front() {
            Some(oldest) if is_token(oldest) => Some(0),
            _ => self.waiting().position(has_id),
        };
        let Some((index, mut exchange)) = index.and_then(|index| Some((index, self.take(index)?))) else {
            match id {
                Some(_) if self.bounds.late_requests > 0 => self.early.push_back((self.frames, response)),
                _ => self.unexpected(response),
            }
            return;
        };
        if index > 0 {
            exchange.remarks.push(Remark::OutOfOrder);
        }
        exchange.respond_with(response);
        self.done.push_back(exchange);
    }

    /// A response to no request.
    fn unexpected(&mut self, response: Frame) {
        let remark = match response.id() {
            Some(correlation_id) => Remark::RequestNotSeen { correlation_id },
            None => Remark::BadHeader(format!("{} bytes are too few for a response", response.bytes.len())),
        };
        self.done.push_back(Exchange {
            endpoints: None,
            request: None,
            response: Some(response),
            remarks: vec![remark],
            fault: None,
        });
    }
}

fn is_token(exchange: &Exchange) -> bool {
    exchange.request.as_ref().is_some_and(Frame::is_sasl_token)
}
