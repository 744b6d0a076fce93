use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::time::Duration;

use milena_connection::Foreign;
use milena_messages::{ApiKey, ErrorCode, Uuid};
use milena_schema::{Entity, Field, Scalar};

use crate::conversation::{Direction, Exchange, Remark};
use crate::part::Unreadable;

/// Most names of topics and clients that are kept for a connection.
const MAX_NAMES: usize = 1000;

/// Most topics whose names are known by their ids.
const MAX_TOPICS: usize = 100_000;

/// APIs whose answers have the id of a topic beside its name.
const NAMING: [ApiKey; 2] = [ApiKey::METADATA, ApiKey::CREATE_TOPICS];

/// Longest text of a peer that is kept.
const MAX_TEXT: usize = 256;

/// What a connection carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// Nothing passed, or nothing that says what it is.
    #[default]
    Unknown,
    /// Kafka's.
    Kafka,
    /// TLS, HTTP or the like; what is inside of TLS cannot be read.
    Foreign(Foreign),
}

/// Uses of one version of an API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Requests.
    pub count: u64,
    /// Answers that name an error.
    pub failed: u64,
}

/// What is known of a connection at its end, or at that of the capture.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Its number in the capture, from 1.
    pub number: u64,
    /// The end that asks; the one whose packet came first where that is not known.
    pub client: SocketAddr,
    /// The other.
    pub broker: SocketAddr,
    /// Whether the capture has its beginning.
    pub from_start: bool,
    /// Its first packet.
    pub first: Duration,
    /// Its last packet.
    pub last: Duration,
    /// What it carries.
    pub protocol: Protocol,
    /// How the client calls itself, in order of appearance; the first thousand.
    pub client_ids: Vec<String>,
    /// What the client is made with: name and version, as ApiVersions tells from version 3 on (KIP-511).
    pub software: Option<(String, String)>,
    /// The mechanism of SASL.
    pub sasl: Option<String>,
    /// Uses of each API and version.
    pub calls: BTreeMap<(ApiKey, i16), Calls>,
    /// Topics that were read: named in a Fetch. The first thousand.
    pub read: BTreeSet<String>,
    /// Topics that were written: named in a Produce. The first thousand.
    pub written: BTreeSet<String>,
    /// Errors that answers name; each once an answer.
    pub errors: BTreeMap<ErrorCode, u64>,
    /// Frames of either direction.
    pub frames: u64,
    /// Frames whose bytes could not be read, or are not all there.
    pub unread: u64,
    /// Bytes of frames from the client.
    pub sent: u64,
    /// Bytes of frames to the client.
    pub received: u64,
    /// Bytes that passed and are not in the capture.
    pub missing: u64,
    /// Bytes in the capture that belong to no frame that could be told.
    pub passed: u64,
}

/// What was found in an exchange.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Digest {
    pub(super) errors: Vec<ErrorCode>,
    pub(super) topics: Vec<String>,
    /// What cannot be read.
    pub(super) unread: Vec<(Direction, Unreadable)>,
}

/// Names of topics by their ids, of all connections.
#[derive(Debug, Default)]
pub(super) struct Topics(HashMap<Uuid, String>);

impl Topics {
    fn learn(&mut self, id: Uuid, name: String) {
        if self.0.len() < MAX_TOPICS || self.0.contains_key(&id) {
            self.0.insert(id, name);
        }
    }

    fn name(&self, id: Uuid) -> String {
        self.0.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }
}

impl Connection {
    pub(super) fn new(number: u64, client: SocketAddr, broker: SocketAddr, time: Duration) -> Self {
        Self {
            number,
            client,
            broker,
            from_start: false,
            first: time,
            last: time,
            protocol: Protocol::Unknown,
            client_ids: Vec::new(),
            software: None,
            sasl: None,
            calls: BTreeMap::new(),
            read: BTreeSet::new(),
            written: BTreeSet::new(),
            errors: BTreeMap::new(),
            frames: 0,
            unread: 0,
            sent: 0,
            received: 0,
            missing: 0,
            passed: 0,
        }
    }

    /// How the client calls itself, if it does.
    pub fn client_id(&self) -> Option<&str> {
        self.client_ids.first().map(String::as_str)
    }

    /// Takes an exchange into account.
    pub(super) fn count(&mut self, exchange: &Exchange, topics: &mut Topics) -> Digest {
        let digest = self.digest(exchange, topics);
        self.unread += digest.unread.len() as u64;
        self.frames += exchange.request.iter().chain(&exchange.response).count() as u64;
        self.sent += exchange.request.as_ref().map_or(0, |frame| 4 + frame.size() as u64);
        self.received += exchange.response.as_ref().map_or(0, |frame| 4 + frame.size() as u64);
        for error in &digest.errors {
            *self.errors.entry(*error).or_default() += 1;
        }
        if let Some(head) = exchange.head() {
            let calls = self.calls.entry((head.api_key, head.api_version)).or_default();
            calls.count += 1;
            calls.failed += u64::from(!digest.errors.is_empty());
            if let Some(id) = &head.client_id {
                if self.client_ids.len() < MAX_NAMES && !self.client_ids.iter().any(|known| **known == **id) {
                    self.client_ids.push(short(id));
                }
            }
            let kept = match head.api_key {
                ApiKey::FETCH | ApiKey::SHARE_FETCH => Some(&mut self.read),
                ApiKey::PRODUCE => Some(&mut self.written),
                _ => None,
            };
            if let Some(kept) = kept.filter(|kept| kept.len() < MAX_NAMES) {
                kept.extend(digest.topics.iter().take(MAX_NAMES).cloned());
            }
        }
        digest
    }

    fn digest(&mut self, exchange: &Exchange, topics: &mut Topics) -> Digest {
        let mut digest = Digest::default();
        let mut unread = Vec::new();
        let api = exchange.head().map(|head| head.api_key);
        // Names that stand beside ids.
        let mut name: Option<String> = None;
        let Self { software, sasl, .. } = self;
        let mut see = |direction: Direction, field: &Field, value: Scalar| match (field.entity, value) {
            (Some(Entity::ErrorCode), Scalar::Integer(code)) if direction == Direction::Response => {
                let code = ErrorCode(i16::try_from(code).unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR.0));
                if !code.is_none() && !digest.errors.contains(&code) {
                    digest.errors.push(code);
                }
            }
            (Some(Entity::TopicName), Scalar::Text(text)) => {
                push(&mut digest.topics, &text);
                name = api.filter(|api| NAMING.contains(api)).map(|_| text.to_string());
            }
            (_, Scalar::Uuid(id)) if field.name == "TopicId" && id != Uuid::ZERO => match name.take() {
                Some(name) => topics.learn(id, name),
                None => push(&mut digest.topics, &topics.name(id)),
            },
            (_, Scalar::Text(text)) if api == Some(ApiKey::API_VERSIONS) => {
                let (name, version) = software.get_or_insert_default();
                match field.name.as_str() {
                    "ClientSoftwareName" => *name = short(&text),
                    "ClientSoftwareVersion" => *version = short(&text),
                    _ => {}
                }
            }
            (_, Scalar::Text(text)) if api == Some(ApiKey::SASL_HANDSHAKE) && field.name == "Mechanism" => {
                *sasl = Some(short(&text));
            }
            _ => {}
        };
        for frame in exchange.request.iter().chain(&exchange.response) {
            let direction = frame.direction;
            if let Err(why) = frame.scan(|field, value| see(direction, field, value)) {
                let unfinished = frame.missing > 0 && exchange.remarks.contains(&Remark::Unfinished);
                if !frame.is_sasl_token() && !unfinished {
                    unread.push((direction, why));
                }
            }
        }
        digest.unread = unread;
        if exchange.remarks.contains(&Remark::SaslToken) && self.sasl.is_none() {
            self.sasl = Some("GSSAPI".to_owned());
        }
        digest
    }
}

fn push(topics: &mut Vec<String>, name: &str) {
    if topics.len() < MAX_NAMES && !topics.iter().any(|known| known == name) {
        topics.push(name.to_owned());
    }
}

fn short(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}
