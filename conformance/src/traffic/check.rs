use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milena_messages::ErrorCode;
use milena_schema::{Api, Spec};
use milena_wire::Bytes;
use serde_json::Value;

use super::recording::{Direction, Frame, Recording};
use super::records::{Counts, read_sets};
use crate::typed::{Outcome, reencode};
use crate::vector::to_hex;

const API_VERSIONS: i16 = 18;
/// A request, or a response, that a broker passes on inside of its own (KIP-590).
const ENVELOPE: i16 = 58;

/// A message that was understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Key of the API.
    pub api: i16,
    /// Version of the message.
    pub version: i16,
    /// Who spoke.
    pub direction: Direction,
    /// Batches in it.
    pub batches: usize,
    /// Records in these.
    pub records: usize,
    /// Record sets that end in the middle of a batch.
    pub cut: usize,
}

/// Something about a frame that needs a reason.
#[derive(Clone, Debug)]
pub struct Strange {
    /// Who was recorded.
    pub client: String,
    /// The release of the broker.
    pub broker: String,
    /// Schema name of the message.
    pub message: String,
    /// Its version.
    pub version: i16,
    /// What is strange, the same for all frames that are so.
    pub what: String,
    /// More, of this frame alone.
    pub detail: String,
}

impl fmt::Display for Strange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, broker, message, version, what, detail } = self;
        write!(f, "{client} and {broker}: {message} v{version}: {what}\n    {detail:.1000}")
    }
}

/// A recording, read.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// Each message that both codecs read, and wrote again: one for a frame, and one more for an envelope.
    pub exchanges: Vec<Exchange>,
    /// What needs a reason.
    pub strange: Vec<Strange>,
    /// Requests that were to have no response, or whose connection ended before it.
    pub unanswered: usize,
}

/// A request that waits for its response.
struct Waiting {
    api: &'static Api,
    version: i16,
    number: usize,
    quiet: bool,
    /// The request that came in the envelope.
    inside: Option<Box<Waiting>>,
}

/// Requests of one connection by correlation id, and the number of the last one with a response.
#[derive(Default)]
struct Line {
    waiting: BTreeMap<i32, Waiting>,
    asked: usize,
    answered: usize,
}

/// Something strange, before it is said in which recording.
struct Fault {
    message: String,
    version: i16,
    what: String,
    detail: String,
}

impl Fault {
    fn of(self, recording: &Recording) -> Strange {
        let Self { message, version, what, detail } = self;
        Strange { client: recording.client.clone(), broker: recording.broker.clone(), message, version, what, detail }
    }
}

type Checked<T> = Result<T, Box<Fault>>;

/// What both codecs made of a message.
struct Understood {
    leftover: usize,
    json: Value,
}

impl Conversation {
    /// Reads every frame by both codecs, pairs requests and responses, and reads the record sets in them.
    pub fn of(recording: &Recording) -> Self {
        let mut conversation = Self::default();
        let mut lines = BTreeMap::<u64, Line>::new();
        for frame in &recording.frames {
            let line = lines.entry(frame.connection).or_default();
            let outcome = match frame.direction {
                Direction::Request => conversation.request(line, frame),
                Direction::Response => conversation.response(line, frame),
            };
            if let Err(fault) = outcome {
                conversation.strange.push(fault.of(recording));
            }
        }
        for line in lines.values() {
            for waiting in line.waiting.values() {
                conversation.unanswered += 1;
                // A response to a later one means that this one was passed over.
                if !waiting.quiet && waiting.number < line.answered {
                    let fault =
                        fault(&name(waiting.api, Direction::Request), waiting.version, "no response", String::new());
                    conversation.strange.push(fault.of(recording));
                }
            }
        }
        conversation
    }

    fn request(&mut self, line: &mut Line, frame: &Frame) -> Checked<()> {
        line.asked += 1;
        let (correlation, mut waiting, outcome) = self.asked(&frame.bytes)?;
        waiting.number = line.asked;
        let message = name(waiting.api, Direction::Request);
        let version = waiting.version;
        if line.waiting.insert(correlation, waiting).is_some() {
            return Err(fault(&message, version, "correlation id used twice", correlation.to_string()));
        }
        outcome
    }

    /// A request: its correlation id, what waits for the response, and what is strange about it.
    fn asked(&mut self, bytes: &Bytes) -> Checked<(i32, Waiting, Checked<()>)> {
        let nothing = |what: &str| fault("RequestHeader", -1, what, to_hex(bytes));
        let [k1, k2, v1, v2, c1, c2, c3, c4] = *bytes.first_chunk::<8>().ok_or_else(|| nothing("no header"))?;
        let version = i16::from_be_bytes([v1, v2]);
        let api = Spec::kafka().api(i16::from_be_bytes([k1, k2])).ok_or_else(|| nothing("no such API"))?;
        let mut waiting = Waiting { api, version, number: 0, quiet: false, inside: None };
        let header = understand("RequestHeader", api.request_header_version(version), bytes);
        let outcome = header.and_then(|header| {
            let body = bytes.slice(bytes.len() - header.leftover..);
            let body = understand(&name(api, Direction::Request), version, &body)?;
            let is_quiet = |(field, value): &(String, i64)| body.json.get(field).is_some_and(|found| found == value);
            waiting.quiet = api.unanswered.as_ref().is_some_and(is_quiet);
            if let Some(inside) = letter(api, &body.json, "requestData") {
                let (_, inside, outcome) = self.asked(&inside)?;
                waiting.inside = Some(Box::new(inside));
                outcome?;
            }
            self.count(api, version, Direction::Request, &body)
        });
        Ok((i32::from_be_bytes([c1, c2, c3, c4]), waiting, outcome))
    }

    fn response(&mut self, line: &mut Line, frame: &Frame) -> Checked<()> {
        let bytes = &frame.bytes;
        let nothing = |what: &str| fault("ResponseHeader", -1, what, to_hex(bytes));
        let correlation = i32::from_be_bytes(*bytes.first_chunk().ok_or_else(|| nothing("no header"))?);
        let waiting = line.waiting.remove(&correlation).ok_or_else(|| nothing("no request"))?;
        line.answered = line.answered.max(waiting.number);
        self.answered(&waiting, bytes)
    }

    fn answered(&mut self, waiting: &Waiting, bytes: &Bytes) -> Checked<()> {
        let (api, mut version) = (waiting.api, waiting.version);
        if waiting.quiet {
            let message = name(api, Direction::Response);
            return Err(fault(&message, version, "a response where none was requested", to_hex(bytes)));
        }
        let header = understand("ResponseHeader", api.response_header_version(version), bytes)?;
        let body = bytes.slice(bytes.len() - header.leftover..);
        // A version that the broker lacks gets a response in version 0, as KIP-511 has it.
        if api.key == API_VERSIONS && body.starts_with(&ErrorCode::UNSUPPORTED_VERSION.0.to_be_bytes()) {
            version = 0;
        }
        let body = understand(&name(api, Direction::Response), version, &body)?;
        if let (Some(inside), Some(waiting)) = (letter(api, &body.json, "responseData"), &waiting.inside) {
            self.answered(waiting, &inside)?;
        }
        self.count(api, version, Direction::Response, &body)
    }

    fn count(&mut self, api: &Api, version: i16, direction: Direction, body: &Understood) -> Checked<()> {
        let message = &name(api, direction);
        let sets = read_sets(&body.json).map_err(|error| fault(message, version, "records", error))?;
        let Counts { batches, records, cut } = sets;
        self.exchanges.push(Exchange { api: api.key, version, direction, batches, records, cut });
        if cut > 0 && direction == Direction::Request {
            return Err(fault(message, version, "records cut off", String::new()));
        }
        match body.leftover {
            0 => Ok(()),
            1 => Err(fault(message, version, "1 byte left over", String::new())),
            count => Err(fault(message, version, &format!("{count} bytes left over"), String::new())),
        }
    }
}

/// The frame that an envelope holds, if it is one and holds any.
fn letter(api: &Api, json: &Value, field: &str) -> Option<Bytes> {
    let text = json.get(field).filter(|_| api.key == ENVELOPE)?.as_str()?;
    STANDARD.decode(text).ok().map(Bytes::from)
}

/// The schema name of a message.
fn name(api: &Api, direction: Direction) -> String {
    let role = match direction {
        Direction::Request => "Request",
        Direction::Response => "Response",
    };
    format!("{}{role}", api.name)
}

fn fault(message: &str, version: i16, what: &str, detail: String) -> Box<Fault> {
    Box::new(Fault { message: message.to_owned(), version, what: what.to_owned(), detail })
}

/// Reads a message by both codecs, which have to agree, and writes it again, which has to give the same bytes.
fn understand(message: &str, version: i16, bytes: &Bytes) -> Checked<Understood> {
    let fail = |what: &str, detail: String| fault(message, version, what, format!("{detail}; {}", to_hex(bytes)));
    let refused = |error: milena_wire::Error| fail("cannot be read", error.to_string());
    let layout = Spec::kafka().message(message).map_err(|error| fail("no such message", error.to_string()))?;
    let decoded = layout.decode(bytes.clone(), version).map_err(refused)?;
    let own = &bytes[..bytes.len() - decoded.leftover];
    let (leftover, typed) = match reencode(message, version, bytes.clone()) {
        None => return Err(fail("no such message", "typed".to_owned())),
        Some(Outcome::Refused(error)) => return Err(refused(error)),
        Some(Outcome::Read { leftover, written }) => (leftover, written),
    };
    if leftover != decoded.leftover {
        return Err(fail("codecs disagree", format!("left over: {leftover} and {}", decoded.leftover)));
    }
    for written in [typed, layout.encode(&decoded.json, version)] {
        let written = written.map_err(|error| fail("cannot be written", error.to_string()))?;
        if written != own {
            return Err(fail("other bytes", to_hex(&written)));
        }
    }
    Ok(Understood { leftover, json: decoded.json })
}
