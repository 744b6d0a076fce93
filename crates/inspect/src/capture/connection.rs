use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use milena_connection::Foreign;
use milena_messages::{ApiKey, ErrorCode};

use crate::conversation::{Exchange, Facts};

/// Most names of topics and clients that are kept for a connection.
const MAX_NAMES: usize = 1000;

/// Longest text of a peer that is kept.
const MAX_TEXT: usize = 256;

/// What a connection carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// Nothing passed, or nothing that says what it is: parts of the connection are missing.
    #[default]
    Unknown,
    /// Kafka's.
    Kafka,
    /// TLS, HTTP or the like; what is inside of TLS cannot be read.
    Foreign(Foreign),
    /// Apache ZooKeeper's, whose frames look like Kafka's at first sight.
    ZooKeeper,
    /// Something else: the connection is there from its start, and no request of Kafka is in it.
    Other,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("unknown"),
            Self::Kafka => f.write_str("Kafka"),
            Self::Foreign(Foreign::TlsHandshake | Foreign::TlsAlert) => f.write_str("TLS"),
            Self::Foreign(foreign) => foreign.fmt(f),
            Self::ZooKeeper => f.write_str("ZooKeeper"),
            Self::Other => f.write_str("not Kafka"),
        }
    }
}

/// Uses of one version of an API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Requests.
    pub count: u64,
    /// Responses that name an error.
    pub failed: u64,
    /// Responses with a throttle time (KIP-219).
    pub throttled: u64,
}

/// What is known of a connection at its end, or at that of the capture.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Its number in the capture, from 1.
    pub number: u64,
    /// The end that sends requests; the one whose packet came first where that is not known.
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
    /// What the client is made with: name and version, as ApiVersions has them from version 3 on (KIP-511).
    pub software: Option<(String, String)>,
    /// The mechanism of SASL.
    pub sasl: Option<String>,
    /// Uses of each API and version.
    pub calls: BTreeMap<(ApiKey, i16), Calls>,
    /// Topics that were read: named in a Fetch. The first thousand.
    pub read: BTreeSet<String>,
    /// Topics that were written: named in a Produce. The first thousand.
    pub written: BTreeSet<String>,
    /// Errors that responses name; each once a response.
    pub errors: BTreeMap<ErrorCode, u64>,
    /// Responses with a throttle time (KIP-219).
    pub throttled: u64,
    /// The sum of these times.
    pub throttle_time: Duration,
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
    /// Bytes in the capture that belong to no frame of Kafka.
    pub passed: u64,
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
            throttled: 0,
            throttle_time: Duration::ZERO,
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
    pub(super) fn count(&mut self, exchange: &Exchange, facts: &Facts) {
        self.unread += facts.unread.len() as u64;
        self.frames += exchange.request.iter().chain(&exchange.response).count() as u64;
        self.sent += exchange.request.as_ref().map_or(0, |frame| 4 + frame.size() as u64);
        self.received += exchange.response.as_ref().map_or(0, |frame| 4 + frame.size() as u64);
        for error in &facts.errors {
            *self.errors.entry(*error).or_default() += 1;
        }
        if let Some(throttle) = facts.throttle {
            self.throttled += 1;
            self.throttle_time += throttle;
        }
        if let Some(software) = &facts.software {
            self.software = Some(software.clone());
        }
        if let Some(mechanism) = &facts.sasl {
            self.sasl.get_or_insert_with(|| mechanism.clone());
        }
        let Some(head) = exchange.head() else { return };
        let calls = self.calls.entry((head.api_key, head.api_version)).or_default();
        calls.count += 1;
        calls.failed += u64::from(!facts.errors.is_empty());
        calls.throttled += u64::from(facts.throttle.is_some());
        if let Some(id) = &head.client_id {
            if self.client_ids.len() < MAX_NAMES && !self.client_ids.iter().any(|known| **known == **id) {
                self.client_ids.push(id.chars().take(MAX_TEXT).collect());
            }
        }
        let kept = match head.api_key {
            ApiKey::FETCH | ApiKey::SHARE_FETCH => Some(&mut self.read),
            ApiKey::PRODUCE => Some(&mut self.written),
            _ => None,
        };
        if let Some(kept) = kept.filter(|kept| kept.len() < MAX_NAMES) {
            kept.extend(facts.topics.iter().cloned());
        }
    }
}
