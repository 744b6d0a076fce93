use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use milena_connection::read_request_header;
use milena_messages::{ApiKey, ErrorCode, Message as _, Request, RequestHeader, RequestVisitor, visit_request};
use milena_schema::Spec;
use milena_wire::Reader;

use super::exchange::{Exchange, Remark};
use super::frame::{Direction, Frame, Head};

/// What a [`Conversation`] keeps while answers are awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Most requests without an answer; 1000 by default.
    pub requests: usize,
    /// Most bytes of such requests; 256 MiB by default. One request is kept whatever its size.
    pub bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { requests: 1000, bytes: 256 << 20 }
    }
}

/// Pairs the requests of one connection with their answers.
///
/// It knows that a Produce with acks = 0 is not answered, that ApiVersions may be answered at version 0, and that bare
/// tokens follow SaslHandshake version 0. APIs and versions that no release has pass as they are.
#[derive(Debug, Default)]
pub struct Conversation {
    bounds: Bounds,
    /// Requests that wait for an answer, oldest first.
    waiting: VecDeque<Frame>,
    /// Bytes of all frames in `waiting`.
    held: usize,
    /// No request was seen yet.
    started: bool,
    /// Tokens may come in place of requests.
    tokens: bool,
}

impl Conversation {
    /// A connection on which nothing was said yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with bounds of one's own.
    pub fn with_bounds(bounds: Bounds) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// Requests that wait for an answer, oldest first.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = &Frame> {
        self.waiting.iter()
    }

    /// Whether what the client says next may be a bare token of SASL.
    pub fn expects_token(&self) -> bool {
        self.tokens
    }

    /// Bytes of requests that wait for an answer.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Takes the next frame, without the size in front of it. Gives the exchange that is complete with it, if one is: a
    /// request that wants no answer, one that has to be given up to make room, or an answer with its request.
    pub fn feed(&mut self, direction: Direction, time: Duration, bytes: Bytes) -> Option<Exchange> {
        self.feed_cut(direction, time, bytes, 0)
    }

    /// The same with a frame of which the last `missing` bytes passed unseen. What is left of its header is enough to find
    /// the other half of the exchange.
    pub fn feed_cut(&mut self, direction: Direction, time: Duration, bytes: Bytes, missing: usize) -> Option<Exchange> {
        let frame = Frame { direction, time, body: bytes.len(), bytes, missing, head: None, token: false };
        match direction {
            Direction::Request => self.request(frame),
            Direction::Response => Some(self.response(frame)),
        }
    }

    /// The connection is at its end: requests that are still without an answer, oldest first.
    pub fn finish(&mut self) -> Vec<Exchange> {
        self.held = 0;
        self.waiting.drain(..).map(|request| without_answer(request, Remark::NoAnswer)).collect()
    }

    fn request(&mut self, frame: Frame) -> Option<Exchange> {
        let first = !std::mem::replace(&mut self.started, true);
        let frame = self.read_request(frame, first);
        if !is_answered(&frame) {
            return Some(without_answer(frame, Remark::NoAnswerWanted));
        }
        self.held += frame.bytes.len();
        self.waiting.push_back(frame);
        let full = self.waiting.len() > self.bounds.requests || self.held > self.bounds.bytes;
        let given_up = full.then(|| self.waiting.pop_front()).flatten()?;
        self.held -= given_up.bytes.len();
        Some(without_answer(given_up, Remark::GivenUp))
    }

    fn read_request(&mut self, mut frame: Frame, first: bool) -> Frame {
        let bytes = frame.bytes.clone();
        let named = bytes
            .first_chunk()
            .map(|[a, b, c, d]| (ApiKey(i16::from_be_bytes([*a, *b])), i16::from_be_bytes([*c, *d])));
        let known = named.is_some_and(|(api, version)| api.versions().contains(version));
        // Kafka 0.9 takes GSSAPI without a handshake; its first token begins with this byte.
        let token = !known && (self.tokens || (first && bytes.first() == Some(&0x60)));
        self.tokens = token;
        frame.token = token;
        if token {
            return frame;
        }
        match (read_request_header(bytes.clone()), named) {
            (Ok((header, body)), _) => {
                frame.body -= body.len();
                frame.head = Some(Head {
                    api_key: header.request_api_key,
                    api_version: header.request_api_version,
                    correlation_id: header.correlation_id,
                    client_id: header.client_id,
                });
            }
            // Of a header that is broken further behind, this much is there.
            (Err(_), Some((api_key, api_version))) => {
                let id = bytes.get(4..8).and_then(|id| id.first_chunk()).map(|id| i32::from_be_bytes(*id));
                // What is unknown was taken in the newest form; the client id stands at the same place in all of them.
                let header = RequestHeader::from_bytes(bytes, 1);
                let client_id = header.ok().and_then(|header| header.client_id);
                frame.head = id.map(|correlation_id| Head { api_key, api_version, correlation_id, client_id });
            }
            (Err(_), None) => {}
        }
        self.tokens = named == Some((ApiKey::SASL_HANDSHAKE, 0));
        frame
    }

    fn response(&mut self, mut response: Frame) -> Exchange {
        let id = response.bytes.first_chunk().map(|id| i32::from_be_bytes(*id));
        let answered = match self.waiting.front() {
            Some(oldest) if oldest.token => Some(0),
            _ => self.waiting.iter().position(|frame| id.is_some() && id == frame.correlation_id()),
        };
        let Some((index, request)) = answered.and_then(|index| Some((index, self.waiting.remove(index)?))) else {
            let remark = match id {
                Some(correlation_id) => Remark::NotAsked { correlation_id },
                None => Remark::BadHeader(format!("{} bytes are too few for an answer", response.bytes.len())),
            };
            return Exchange { request: None, response: Some(response), remarks: vec![remark] };
        };
        self.held -= request.bytes.len();
        let mut remarks = remarks_of(&request);
        if index > 0 {
            remarks.push(Remark::OutOfOrder);
        }
        response.token = request.token;
        if let Some(asked) = &request.head {
            response.answers(asked, &mut remarks);
        }
        Exchange { request: Some(request), response: Some(response), remarks }
    }
}

impl Frame {
    /// A response whose request was not seen but is known, without a time.
    pub(crate) fn answer_to(api_key: ApiKey, api_version: i16, bytes: Bytes) -> (Self, Vec<Remark>) {
        let correlation_id = bytes.first_chunk().map_or(0, |id| i32::from_be_bytes(*id));
        let asked = Head { api_key, api_version, correlation_id, client_id: None };
        let mut frame = Self {
            missing: 0,
            direction: Direction::Response,
            time: Duration::ZERO,
            body: bytes.len(),
            bytes,
            head: None,
            token: false,
        };
        let mut remarks = Vec::new();
        frame.answers(&asked, &mut remarks);
        (frame, remarks)
    }

    /// Reads the header of a response, now that it is known what it answers.
    fn answers(&mut self, asked: &Head, remarks: &mut Vec<Remark>) {
        let (head, body) = answer_head(asked, &self.bytes);
        if head.api_version != asked.api_version {
            remarks.push(Remark::Fallback { asked: asked.api_version });
            remarks.retain(|remark| !matches!(remark, Remark::UnknownVersion(..)));
        }
        match body {
            Ok(body) => self.body = body,
            Err(error) => remarks.push(Remark::BadHeader(error.to_string())),
        }
        self.head = Some(head);
    }

    fn correlation_id(&self) -> Option<i32> {
        self.head.as_ref().map(|head| head.correlation_id)
    }
}

/// What an answer is, and where its body begins.
fn answer_head(asked: &Head, bytes: &Bytes) -> (Head, Result<usize, milena_wire::Error>) {
    let mut reader = Reader::new(bytes.clone());
    // Of an API that is not known, nobody knows whether there are tags.
    let known = !asked.api_key.versions().is_empty();
    let tags = known && asked.api_key.response_header_version(asked.api_version) >= 1;
    let end = reader.i32().and_then(|_| reader.unknown_tags(tags)).map(|_| reader.position());
    let mut head = asked.clone();
    if head.api_key == ApiKey::API_VERSIONS && head.api_version > 0 {
        // In both forms the error code comes first.
        let code = bytes.get(4..6).and_then(|code| code.first_chunk()).map(|code| i16::from_be_bytes(*code));
        if code.map(ErrorCode) == Some(ErrorCode::UNSUPPORTED_VERSION) {
            head.api_version = 0;
        }
    }
    (head, end)
}

fn without_answer(request: Frame, why: Remark) -> Exchange {
    let mut remarks = remarks_of(&request);
    remarks.push(why);
    Exchange { request: Some(request), response: None, remarks }
}

/// What is odd about a request alone.
fn remarks_of(request: &Frame) -> Vec<Remark> {
    let Some(head) = &request.head else {
        let short = format!("{} bytes are too few for a request", request.bytes.len());
        return vec![if request.token { Remark::SaslToken } else { Remark::BadHeader(short) }];
    };
    let released = head.api_key.versions();
    if released.is_empty() {
        return vec![Remark::UnknownApi(head.api_key)];
    }
    if !released.contains(head.api_version) {
        return vec![Remark::UnknownVersion(head.api_key, head.api_version)];
    }
    match read_request_header(request.bytes.clone()) {
        Ok(_) => Vec::new(),
        Err(error) => vec![Remark::BadHeader(error.to_string())],
    }
}

/// Whether an answer will come. Only what the spec says may go without one is looked into.
fn is_answered(frame: &Frame) -> bool {
    struct Answered<'a>(&'a Frame, i16);

    impl RequestVisitor for Answered<'_> {
        type Output = bool;

        fn visit<R: Request>(self) -> bool {
            let body = self.0.bytes.slice(self.0.body..);
            R::from_bytes(body, self.1).map_or(true, |request| request.expects_response())
        }
    }

    let Some(head) = &frame.head else { return true };
    match Spec::kafka().api(head.api_key.0) {
        Some(api) if api.unanswered.is_some() => {
            visit_request(head.api_key, Answered(frame, head.api_version)).unwrap_or(true)
        }
        _ => true,
    }
}
