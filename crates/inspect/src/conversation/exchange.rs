use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use milena_connection::fault::Action;
use milena_messages::ApiKey;
use serde_json::Value;

use super::frame::{Frame, Head};
use crate::part::Unreadable;

/// A request and its response, as far as both were seen, whether they were captured or passed a tap.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// The connection, where more than one is looked at.
    pub endpoints: Option<Arc<Endpoints>>,
    /// `None` when a response came to a request that was not seen.
    pub request: Option<Frame>,
    /// `None` when no response came.
    pub response: Option<Frame>,
    /// What is odd about it.
    pub remarks: Vec<Remark>,
    /// What a tap did to it on purpose. Nothing else knows that.
    pub fault: Option<Action>,
}

/// A connection between a client and a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// Its number, from 1 in the order in which connections began.
    pub connection: u64,
    /// The client, as `host:port`.
    pub client: String,
    /// The broker, as `host:port`.
    pub broker: String,
}

/// Something about an exchange that does not go without saying.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Remark {
    /// The request asked for no response: a Produce with acks = 0.
    NoResponseWanted,
    /// The connection, or what is known of it, ended before the response came.
    NoResponse,
    /// The client went on without a response to its SASL token, as it does after the last token of GSSAPI.
    NoResponseToToken,
    /// Too much waited for responses; this request was given up to make room.
    GivenUp,
    /// The response is to no request that was seen.
    RequestNotSeen {
        /// The correlation id of the response.
        correlation_id: i32,
    },
    /// The response came before that to an earlier request, which no broker does: frames are missing, or were mixed up.
    OutOfOrder,
    /// The response was captured before its request: the capture mixed up the order of packets.
    BeforeRequest,
    /// The broker does not have the version of the request and responded to ApiVersions at version 0 (KIP-511).
    Fallback {
        /// The version of the request.
        asked: i16,
    },
    /// No release has this API.
    UnknownApi(ApiKey),
    /// No release has this version of the API.
    UnknownVersion(ApiKey, i16),
    /// Raw SASL tokens in place of messages.
    SaslToken,
    /// The connection, or what is known of it, ended inside of a frame: the rest of it was never sent, or not yet.
    Unfinished,
    /// The header is not what the protocol says.
    BadHeader(String),
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoResponseWanted => f.write_str("no response wanted (acks = 0)"),
            Self::NoResponse => f.write_str("no response came"),
            Self::NoResponseToToken => f.write_str("the client went on without a response"),
            Self::GivenUp => f.write_str("given up: too many requests wait for responses"),
            Self::RequestNotSeen { correlation_id } => {
                write!(f, "a response to correlation id {correlation_id}, whose request was not seen")
            }
            Self::OutOfOrder => f.write_str("the response came before that to an earlier request"),
            Self::BeforeRequest => f.write_str("the response was captured before its request"),
            Self::Fallback { asked } => {
                write!(f, "the broker does not have version {asked} and responded at version 0 (KIP-511)")
            }
            Self::UnknownApi(key) => write!(f, "no release has API key {}", key.0),
            Self::UnknownVersion(api, version) => {
                write!(f, "{api} has no version {version}; versions {} were released", api.versions())
            }
            Self::SaslToken => f.write_str("a raw SASL token, as after SaslHandshake version 0"),
            Self::Unfinished => f.write_str("the connection ended inside of a frame"),
            Self::BadHeader(what) => write!(f, "the header cannot be read: {what}"),
        }
    }
}

impl Exchange {
    /// An exchange without a response yet.
    pub(super) fn of_request(request: Frame, remarks: Vec<Remark>) -> Self {
        Self { endpoints: None, request: Some(request), response: None, remarks, fault: None }
    }

    /// What the request's header says.
    pub fn head(&self) -> Option<&Head> {
        self.request.as_ref().and_then(|request| request.head.as_ref())
    }

    /// Number of the connection; 0 where it has none.
    pub fn connection(&self) -> u64 {
        self.endpoints.as_ref().map_or(0, |endpoints| endpoints.connection)
    }

    /// When the first of its frames passed.
    pub fn time(&self) -> Duration {
        self.request.as_ref().or(self.response.as_ref()).map_or(Duration::ZERO, |frame| frame.time)
    }

    /// From the request to its response. `None` without both, or when the clock went backwards between them.
    pub fn latency(&self) -> Option<Duration> {
        self.response.as_ref()?.time.checked_sub(self.request.as_ref()?.time)
    }

    /// Adds the response that came at `time`: a frame without its size. How it is read follows from the request.
    pub fn respond(&mut self, time: Duration, bytes: Bytes) {
        self.respond_with(Frame::of_response(time, bytes));
    }

    /// Adds a response whose header was not looked at yet.
    pub(super) fn respond_with(&mut self, mut response: Frame) {
        if let Some(request) = &self.request {
            response.token = request.token;
            if let Some(asked) = &request.head {
                response.read_response_header(asked, &mut self.remarks);
            }
        }
        self.response = Some(response);
    }

    /// The body of the request as JSON.
    ///
    /// # Errors
    /// There is no request, or it cannot be read.
    pub fn request_json(&self) -> Result<Value, Unreadable> {
        self.request.as_ref().ok_or(Unreadable::Missing)?.json()
    }

    /// The body of the response as JSON.
    ///
    /// # Errors
    /// There is no response, or it cannot be read.
    pub fn response_json(&self) -> Result<Value, Unreadable> {
        self.response.as_ref().ok_or(Unreadable::Missing)?.json()
    }
}
