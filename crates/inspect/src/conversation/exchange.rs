use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use milena_messages::{ApiKey, ErrorCode};
use milena_schema::{Entity, Scalar};
use serde_json::Value;

use super::frame::{Frame, Head};
use crate::part::Unreadable;

/// A request and its answer, as far as both were seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// `None` when an answer came to something that was not seen.
    pub request: Option<Frame>,
    /// `None` when no answer came.
    pub response: Option<Frame>,
    /// What is odd about it.
    pub remarks: Vec<Remark>,
}

/// Something about an exchange that does not go without saying.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Remark {
    /// The request asked for no answer: a Produce with acks = 0.
    NoAnswerWanted,
    /// The connection, or what is known of it, ended before the answer came.
    NoAnswer,
    /// Too much waited for answers; this request was given up to make room.
    GivenUp,
    /// The answer is to no request that was seen.
    NotAsked {
        /// The id that it answers.
        correlation_id: i32,
    },
    /// The answer came before that to an earlier request, which no broker does: frames are missing, or were mixed up.
    OutOfOrder,
    /// The broker does not have the version that was asked for and answered ApiVersions at version 0 (KIP-511).
    Fallback {
        /// The version of the request.
        asked: i16,
    },
    /// No release has this API.
    UnknownApi(ApiKey),
    /// No release has this version of the API.
    UnknownVersion(ApiKey, i16),
    /// Bare tokens of SASL in place of messages.
    SaslToken,
    /// The connection, or what is known of it, ended inside of a frame: the rest of it was never said, or not yet.
    Unfinished,
    /// The header is not what the protocol says.
    BadHeader(String),
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswerWanted => f.write_str("no answer wanted (acks = 0)"),
            Self::NoAnswer => f.write_str("no answer came"),
            Self::GivenUp => f.write_str("given up: too many requests wait for answers"),
            Self::NotAsked { correlation_id } => {
                write!(f, "answers correlation id {correlation_id}, which was not seen")
            }
            Self::OutOfOrder => f.write_str("answered before an earlier request"),
            Self::Fallback { asked } => {
                write!(f, "the broker does not have version {asked} and answered at version 0 (KIP-511)")
            }
            Self::UnknownApi(key) => write!(f, "no release has API key {}", key.0),
            Self::UnknownVersion(api, version) => {
                write!(f, "{api} has no version {version}, released are {}", api.versions())
            }
            Self::SaslToken => f.write_str("a bare token of SASL, as after SaslHandshake version 0"),
            Self::Unfinished => f.write_str("the connection ended inside of a frame"),
            Self::BadHeader(what) => write!(f, "the header cannot be read: {what}"),
        }
    }
}

impl Exchange {
    /// What was asked.
    pub fn head(&self) -> Option<&Head> {
        self.request.as_ref().and_then(|request| request.head.as_ref())
    }

    /// From the request to its answer. `None` without both, or when the clock went backwards between them.
    pub fn latency(&self) -> Option<Duration> {
        self.response.as_ref()?.time.checked_sub(self.request.as_ref()?.time)
    }

    /// The body of the request as JSON.
    ///
    /// # Errors
    /// There is no request, or it cannot be read.
    pub fn request_json(&self) -> Result<Value, Unreadable> {
        self.request.as_ref().ok_or(Unreadable::Missing)?.json()
    }

    /// The body of the answer as JSON.
    ///
    /// # Errors
    /// There is no answer, or it cannot be read.
    pub fn response_json(&self) -> Result<Value, Unreadable> {
        self.response.as_ref().ok_or(Unreadable::Missing)?.json()
    }

    /// The error codes of the answer that say that something failed, each once, in the order of the wire. Empty when the
    /// answer cannot be read. Reads the whole answer.
    pub fn error_codes(&self) -> Vec<ErrorCode> {
        let mut codes = Vec::new();
        let read = self.response.as_ref().map(|response| {
            response.scan(|field, value| {
                let (Some(Entity::ErrorCode), Scalar::Integer(code)) = (field.entity, value) else { return };
                let code = ErrorCode(i16::try_from(code).unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR.0));
                if !code.is_none() && !codes.contains(&code) {
                    codes.push(code);
                }
            })
        });
        if matches!(read, Some(Ok(()))) { codes } else { Vec::new() }
    }

    /// The topics that request or answer name, each once, in the order of the wire. Versions that name topics by id alone
    /// have none. Reads both.
    pub fn topic_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut seen = HashSet::new();
        for frame in self.request.iter().chain(&self.response) {
            let mut here = Vec::new();
            let read = frame.scan(|field, value| {
                if let (Some(Entity::TopicName), Scalar::Text(name)) = (field.entity, value) {
                    here.push(name);
                }
            });
            if read.is_ok() {
                names.extend(here.into_iter().filter(|name| seen.insert(name.clone())).map(|name| name.to_string()));
            }
        }
        names
    }
}
