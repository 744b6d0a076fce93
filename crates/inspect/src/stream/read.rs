use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use milena_connection::{DEFAULT_MAX_FRAME, Foreign};
use milena_messages::ApiKey;

use super::guess::{Guess, guess};
use super::split::{Piece, is_request, split};
use crate::conversation::{Conversation, Direction, Frame, Remark, RequestReader};

/// Bytes of a stream that are guessed at; a long stream of responses alone is better named by its owner.
const MAX_GUESSED: usize = 1 << 20;

/// What the caller knows of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assume {
    /// Nothing: requests name themselves, responses are matched by correlation id, and the rest is guessed.
    Nothing,
    /// They are requests.
    Requests,
    /// They are responses to requests of this API and version.
    Responses(ApiKey, i16),
}

/// A frame that was found.
#[derive(Clone, Debug)]
pub struct FoundFrame {
    /// Where it is in the input, with its size if that is there.
    pub range: Range<usize>,
    /// The size that stands in front.
    pub size: Option<i32>,
    /// The frame, to be read.
    pub frame: Frame,
    /// What it was taken for, and why.
    pub reading: Reading,
    /// What is odd about it, one sentence each.
    pub notes: Vec<String>,
}

/// What a frame was taken for.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// A request; it names itself.
    Request,
    /// A response, to a request that is in the input or that the caller named.
    Response,
    /// A response, and what it may be; the first of these is what the frame was taken for.
    Guess(Vec<Guess>),
    /// Another protocol.
    Foreign(Foreign),
    /// Neither the one nor the other.
    Unknown,
}

impl FoundFrame {
    /// Where header and body begin in the input.
    pub fn base(&self) -> usize {
        self.range.end - self.frame.bytes.len()
    }

    /// Says that there are fewer bytes than the size in front names.
    pub fn is_cut_off(&self) -> bool {
        self.size.is_some_and(|size| usize::try_from(size) != Ok(self.frame.bytes.len()))
    }
}

/// Finds the frames of an input, and says of each what it is.
pub fn read(bytes: &Bytes, assume: Assume) -> Vec<FoundFrame> {
    if let Some(foreign) = Foreign::detect(bytes) {
        return vec![foreign_bytes(bytes, foreign)];
    }
    let pieces = match assume {
        Assume::Responses(..) => split(bytes, |_| true),
        Assume::Nothing => split(bytes, |_| match may_be_cut(bytes) {
            // A response alone, without size, begins with an id that can be any number.
            false => is_request(bytes) || !guess(bytes).is_empty(),
            // That could also be the size of a frame whose end is missing.
            true if is_whole_request(bytes) => true,
            true if bytes.get(4..).is_some_and(is_request) => false,
            true => guess(bytes).first().is_some_and(Guess::is_strong),
        }),
        Assume::Requests => split(bytes, is_request),
    };
    match assume {
        Assume::Nothing => mixed(&pieces),
        Assume::Requests => pieces.iter().map(|piece| found(piece, request(piece), Reading::Request)).collect(),
        Assume::Responses(api, version) => pieces.iter().map(|piece| response(piece, api, version)).collect(),
    }
}

/// Whether the first four bytes could be the size of a frame of which the end is missing.
fn may_be_cut(bytes: &[u8]) -> bool {
    let size = bytes.first_chunk().and_then(|size| usize::try_from(i32::from_be_bytes(*size)).ok());
    size.is_some_and(|size| size > bytes.len() - 4 && size <= DEFAULT_MAX_FRAME)
}

/// Whether the bytes are a request without its size, to the last byte.
fn is_whole_request(bytes: &Bytes) -> bool {
    let frame = RequestReader::new().read(Duration::ZERO, bytes.clone()).request;
    frame.is_some_and(|frame| frame.decode().is_ok_and(|decoded| decoded.leftover == 0))
}

/// Requests and responses in any order, as long as a response comes after its request.
fn mixed(pieces: &[Piece]) -> Vec<FoundFrame> {
    let mut mixed = Mixed::default();
    pieces.iter().map(|piece| mixed.next(piece)).collect()
}

#[derive(Default)]
struct Mixed {
    conversation: Conversation,
    /// Bytes guessed at so far.
    guessed: usize,
}

impl Mixed {
    fn next(&mut self, piece: &Piece) -> FoundFrame {
        let id = piece.bytes.first_chunk().map(|id| i32::from_be_bytes(*id));
        let oldest = self.conversation.waiting().next();
        let responds_to_token = oldest.is_some_and(Frame::is_sasl_token);
        let waits = |frame: &Frame| frame.head.as_ref().map(|head| head.correlation_id) == id;
        let responds = id.is_some() && self.conversation.waiting().any(waits);
        let frame = request(piece);
        if responds {
            return self.response(piece);
        }
        let leftover = frame.decode().map(|decoded| decoded.leftover).ok();
        // Ids of responses are small numbers, and with two zeros in front they name API 0. Then bytes left over speak
        // against a request, although clients do send some.
        let doubtful = leftover > Some(0) && id.is_some_and(|id| (0..1 << 16).contains(&id));
        if leftover.is_some() && !doubtful {
            return self.request(piece, frame);
        }
        if responds_to_token {
            return self.response(piece);
        }
        if self.conversation.expects_token() {
            self.conversation.feed(Direction::Request, Duration::ZERO, piece.bytes.clone());
            let token = self.conversation.waiting().last().cloned().unwrap_or(frame);
            let mut found = found(piece, token, Reading::Request);
            found.notes.push(Remark::SaslToken.to_string());
            return found;
        }
        // A frame whose size says that its end is missing is none of those that end where it does.
        let is_whole = piece.size.is_none_or(|size| usize::try_from(size) == Ok(piece.bytes.len()));
        let guesses = if is_whole && self.guessed <= MAX_GUESSED { guess(&piece.bytes) } else { Vec::new() };
        self.guessed += piece.bytes.len();
        match guesses.first() {
            Some(best) => {
                let version = best.versions.max();
                let FoundFrame { range, size, mut frame, .. } = response(piece, best.api_key, version);
                // An ApiVersions that was refused was guessed at the version that reads it, whatever was asked.
                if let Some(head) = &mut frame.head {
                    head.api_version = version;
                }
                FoundFrame { range, size, frame, reading: Reading::Guess(guesses), notes: Vec::new() }
            }
            None if doubtful => self.request(piece, frame),
            // It names an API, but is broken further on.
            None if is_request(&piece.bytes) => found(piece, frame, Reading::Request),
            None => unknown(piece, frame),
        }
    }

    fn request(&mut self, piece: &Piece, frame: Frame) -> FoundFrame {
        self.conversation.feed(Direction::Request, Duration::ZERO, piece.bytes.clone());
        found(piece, frame, Reading::Request)
    }

    fn response(&mut self, piece: &Piece) -> FoundFrame {
        let exchange = self.conversation.feed(Direction::Response, Duration::ZERO, piece.bytes.clone());
        match exchange.and_then(|exchange| Some((exchange.response?, exchange.remarks))) {
            Some((response, remarks)) => {
                let mut found = found(piece, response, Reading::Response);
                found.notes.extend(remarks.iter().map(ToString::to_string));
                found
            }
            None => unknown(piece, request(piece)),
        }
    }
}

fn found(piece: &Piece, frame: Frame, reading: Reading) -> FoundFrame {
    let range = piece.start..piece.base() + piece.bytes.len();
    FoundFrame { range, size: piece.size, frame, reading, notes: Vec::new() }
}

/// The frame as the first request of a connection.
fn request(piece: &Piece) -> Frame {
    let exchange = RequestReader::new().read(Duration::ZERO, piece.bytes.clone());
    exchange.request.unwrap_or_else(|| Frame {
        missing: 0,
        direction: Direction::Request,
        time: Duration::ZERO,
        bytes: piece.bytes.clone(),
        head: None,
        body: piece.bytes.len(),
        token: false,
    })
}

/// The frame as the response to a request that was not seen.
fn response(piece: &Piece, api: ApiKey, version: i16) -> FoundFrame {
    let (frame, remarks) = Frame::response_to(api, version, piece.bytes.clone());
    let mut found = found(piece, frame, Reading::Response);
    found.notes.extend(remarks.iter().map(ToString::to_string));
    found
}

fn unknown(piece: &Piece, frame: Frame) -> FoundFrame {
    let mut found = found(piece, frame, Reading::Unknown);
    found.notes.push(match piece.bytes.first_chunk() {
        Some([a, b, c, d]) => {
            let (key, version) = (i16::from_be_bytes([*a, *b]), i16::from_be_bytes([*c, *d]));
            let id = i32::from_be_bytes([*a, *b, *c, *d]);
            let named = match ApiKey(key).name() {
                Some(name) if ApiKey(key).versions().contains(version) => format!("{name} version {version}"),
                Some(name) => format!("{name} version {version}, which does not exist"),
                None => format!("API key {key}, which no release has"),
            };
            match piece.size.filter(|size| usize::try_from(*size) != Ok(piece.bytes.len())) {
                Some(size) => format!(
                    "its size field says {size} bytes, but {} follow; as a request it names {named}; as a \
                     response it has correlation id {id}",
                    piece.bytes.len()
                ),
                None => format!(
                    "as a request it names {named}; as a response it has correlation id {id} and fits no layout"
                ),
            }
        }
        None => format!("{} bytes are too few for a header", piece.bytes.len()),
    });
    found
}

fn foreign_bytes(bytes: &Bytes, foreign: Foreign) -> FoundFrame {
    let piece = Piece { start: 0, size: None, bytes: bytes.clone() };
    let mut found = found(&piece, request(&piece), Reading::Foreign(foreign));
    let size = bytes.first_chunk().map_or(0, |size| u32::from_be_bytes(*size));
    found.notes.push(format!("this is {foreign}; a Kafka client would read it as a frame of {size} bytes"));
    found
}
