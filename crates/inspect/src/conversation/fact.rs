//! What an exchange is about, found without building the messages.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use milena_messages::{ApiKey, ErrorCode, Uuid};
use milena_schema::{Entity, Field, Finder, Scalar, StructSpec, Type};

use super::exchange::{Exchange, Remark};
use super::frame::{Direction, Frame};
use crate::part::{Part, Unreadable};

/// Topics of one exchange that are kept; a list for people needs no more.
const MAX_TOPICS: usize = 1000;
/// Ids of topics that are remembered.
const MAX_IDS: usize = 100_000;
/// Characters of a name that are kept.
const MAX_NAME: usize = 256;

/// What an exchange is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The topics that request and response name, each once, in the order of the wire; the first thousand. A topic named by
    /// an id has its name when a response to Metadata or CreateTopics named it before, and the id as text otherwise.
    pub topics: Vec<String>,
    /// The codes of the response that say that something failed, each once, in the order of the wire.
    pub errors: Vec<ErrorCode>,
    /// How long the broker asked the client to wait, or held it back, for exceeding a quota (KIP-219); `None` for not at all.
    pub throttle: Option<Duration>,
    /// Name and version of the client's software, as ApiVersions has them from version 3 on (KIP-511).
    pub software: Option<(String, String)>,
    /// The mechanism that SaslHandshake names.
    pub sasl: Option<String>,
    /// The frames that cannot be read, and why. Raw SASL tokens and frames in which the connection ended do not count.
    pub unread: Vec<(Direction, Unreadable)>,
}

/// Record batches that a Produce brings, or the response to a Fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordSet {
    /// The topic, or its id when no response has named it yet.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The batches, as they are.
    pub bytes: Bytes,
}

/// API, version and direction of a message.
type Key = (ApiKey, i16, Direction);

/// Reads [`Facts`], and remembers from responses which topic has which id.
#[derive(Debug, Default)]
pub struct FactReader {
    facts: HashMap<Key, Option<Finder<'static>>>,
    records: HashMap<Key, Option<Finder<'static>>>,
    names: HashMap<Uuid, String>,
}

impl FactReader {
    /// What an exchange is about. Of a frame that cannot be read to its end, what stands before the fault counts.
    pub fn read(&mut self, exchange: &Exchange) -> Facts {
        let mut facts = Facts::default();
        for frame in exchange.request.iter().chain(&exchange.response) {
            let Err(why) = self.frame(frame, &mut facts) else { continue };
            let unfinished = frame.missing > 0 && exchange.remarks.contains(&Remark::Unfinished);
            if !frame.is_sasl_token() && !unfinished {
                facts.unread.push((frame.direction, why));
            }
        }
        if exchange.remarks.contains(&Remark::SaslToken) {
            // Without a handshake it can be nothing else.
            facts.sasl = Some("GSSAPI".to_owned());
        }
        facts
    }

    fn frame(&mut self, frame: &Frame, facts: &mut Facts) -> Result<(), Unreadable> {
        let [header, body] = frame.parts()?;
        header.message.scan(header.bytes.clone(), header.version, |_, _| {})?;
        let Self { facts: finders, names, .. } = self;
        if let Some(finder) = finder(finders, frame, &body, fact_finder) {
            let mut visit = FactVisitor { facts, names, name: None, id: None, direction: frame.direction };
            let walked =
                finder.walk(&frame.bytes, body.base, |found| visit.see(found.field, found.value, &found.range));
            visit.finish();
            if frame.missing == 0 && walked.is_err() {
                // This error names the field.
                frame.scan(|_, _| {})?;
            }
        }
        match frame.missing {
            0 => Ok(()),
            missing => Err(Unreadable::Cut { missing }),
        }
    }

    /// The records that an exchange carries, in their order. Shares their bytes. Of a frame that cannot be read to its end
    /// those before the fault.
    pub fn records(&mut self, exchange: &Exchange) -> Vec<RecordSet> {
        let mut all = Vec::new();
        for frame in exchange.request.iter().chain(&exchange.response) {
            let Ok([_, body]) = frame.parts() else { continue };
            let Self { records: finders, names, .. } = self;
            let Some(finder) = finder(finders, frame, &body, record_finder) else { continue };
            let (mut topic, mut partition) = (String::new(), -1);
            let walked = finder.walk(&frame.bytes, body.base, |found| match found.value {
                Scalar::Text(name) => topic = name.to_string(),
                Scalar::Uuid(id) => topic = names.get(&id).cloned().unwrap_or_else(|| id.to_string()),
                Scalar::Integer(number) => partition = i32::try_from(number).unwrap_or(-1),
                Scalar::Bytes(bytes) if !bytes.is_empty() => {
                    all.push(RecordSet { topic: topic.clone(), partition, bytes });
                }
                _ => {}
            });
            // The facts say what cannot be read.
            drop(walked);
        }
        all
    }
}

fn finder<'f>(
    finders: &'f mut HashMap<Key, Option<Finder<'static>>>,
    frame: &Frame,
    body: &Part,
    make: fn(&Part) -> Option<Finder<'static>>,
) -> Option<&'f Finder<'static>> {
    let api = frame.head.as_ref()?.api_key;
    finders.entry((api, body.version, frame.direction)).or_insert_with(|| make(body)).as_ref()
}

fn fact_finder(body: &Part) -> Option<Finder<'static>> {
    let is_handshake = ["ApiVersionsRequest", "SaslHandshakeRequest"].contains(&body.message.name.as_str());
    let is_wanted = |_: &StructSpec, field: &Field| {
        matches!(field.entity, Some(Entity::ErrorCode | Entity::TopicName))
            || is_topic_id(field)
            || is_throttle_time(field)
            || (is_handshake && field.ty == Type::String)
    };
    body.message.finder(body.version, is_wanted).ok()
}

fn record_finder(body: &Part) -> Option<Finder<'static>> {
    let fields = body.message.structs.iter().flat_map(|inner| &inner.fields);
    let has_records = fields.into_iter().any(|field| field.ty == Type::Records);
    let is_wanted = |_: &StructSpec, field: &Field| match (field.name.as_str(), &field.ty) {
        (_, Type::Records) | ("Index" | "Partition" | "PartitionIndex", Type::Int32) => true,
        _ => field.entity == Some(Entity::TopicName) || is_topic_id(field),
    };
    if has_records { body.message.finder(body.version, is_wanted).ok() } else { None }
}

fn is_topic_id(field: &Field) -> bool {
    field.name == "TopicId" && field.ty == Type::Uuid
}

fn is_throttle_time(field: &Field) -> bool {
    field.name == "ThrottleTimeMs"
}

/// Collects facts from the fields of one message.
struct FactVisitor<'a> {
    facts: &'a mut Facts,
    names: &'a mut HashMap<Uuid, String>,
    direction: Direction,
    /// The name that came last, and where it ended: in a struct with both, name and id stand side by side in either order.
    name: Option<(usize, String)>,
    /// The id that came last and has no name yet, and where it ended.
    id: Option<(usize, Uuid)>,
}

impl FactVisitor<'_> {
    fn see(&mut self, field: &Field, value: Scalar, range: &std::ops::Range<usize>) {
        match value {
            Scalar::Integer(millis) if is_throttle_time(field) => {
                let millis = u64::try_from(millis).ok().filter(|millis| *millis > 0);
                self.facts.throttle = millis.map(Duration::from_millis).or(self.facts.throttle);
            }
            Scalar::Integer(code) if self.direction == Direction::Response => {
                let code = ErrorCode(i16::try_from(code).unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR.0));
                if !code.is_none() && !self.facts.errors.contains(&code) {
                    self.facts.errors.push(code);
                }
            }
            Scalar::Text(name) if field.entity == Some(Entity::TopicName) && !name.is_empty() => {
                let name = name.to_string();
                match self.id.take() {
                    Some((end, id)) if end == range.start => self.learn(id, &name),
                    other => self.id = other,
                }
                self.topic(&name);
                self.name = Some((range.end, name));
            }
            Scalar::Uuid(id) if !id.is_zero() => {
                self.flush_id();
                match self.name.take() {
                    Some((end, name)) if end == range.start => self.learn(id, &name),
                    _ => self.id = Some((range.end, id)),
                }
            }
            Scalar::Text(text) => {
                let text = text.chars().take(MAX_NAME).collect();
                match field.name.as_str() {
                    "ClientSoftwareName" => self.facts.software.get_or_insert_default().0 = text,
                    "ClientSoftwareVersion" => self.facts.software.get_or_insert_default().1 = text,
                    "Mechanism" => self.facts.sasl = Some(text),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn finish(mut self) {
        self.flush_id();
    }

    /// No name came with the last id.
    fn flush_id(&mut self) {
        if let Some((_, id)) = self.id.take() {
            let name = self.names.get(&id).cloned().unwrap_or_else(|| id.to_string());
            self.topic(&name);
        }
    }

    fn learn(&mut self, id: Uuid, name: &str) {
        if self.names.len() < MAX_IDS || self.names.contains_key(&id) {
            self.names.insert(id, name.to_owned());
        }
    }

    fn topic(&mut self, name: &str) {
        let topics = &mut self.facts.topics;
        if topics.len() < MAX_TOPICS && !topics.iter().any(|known| known == name) {
            topics.push(name.to_owned());
        }
    }
}
