use std::time::Duration;

use bytes::Bytes;
use milena_messages::{ApiKey, ByteString, ErrorCode};
use milena_schema::{Decoded, Field, Scalar};
use milena_wire::Reader;
use serde_json::Value;

use super::exchange::Remark;
use crate::part::{Part, Unreadable, layouts};

/// Which way a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the client to the broker.
    Request,
    /// From the broker to the client.
    Response,
}

impl Direction {
    /// `request` or `response`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }
}

/// What the header of a request says; that of a response with what is known of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The API; it may be one that no release has.
    pub api_key: ApiKey,
    /// The version of the body. The response to ApiVersions may be of another than the request.
    pub api_version: i16,
    /// The client's number for the request.
    pub correlation_id: i32,
    /// How the client calls itself.
    pub client_id: Option<ByteString>,
}

/// One frame that passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Which way it went.
    pub direction: Direction,
    /// When, since 1970 or any other moment that is the same for all frames.
    pub time: Duration,
    /// Header and body, without the size in front.
    pub bytes: Bytes,
    /// How many bytes of the body came after `bytes` and were not seen: only a capture has such frames.
    pub missing: usize,
    /// What it is. `None` for raw SASL tokens, responses to requests that were not seen, and frames too short for a header.
    pub head: Option<Head>,
    /// Where the body begins in `bytes`; at the end where that is not known.
    pub body: usize,
    pub(crate) token: bool,
}

impl Frame {
    /// A response of which is not known what it responds to.
    pub(super) fn of_response(time: Duration, bytes: Bytes) -> Self {
        let body = bytes.len();
        Self { direction: Direction::Response, time, bytes, missing: 0, head: None, body, token: false }
    }

    /// A response whose request was not seen but is known, without a time.
    pub(crate) fn response_to(api_key: ApiKey, api_version: i16, bytes: Bytes) -> (Self, Vec<Remark>) {
        let mut frame = Self::of_response(Duration::ZERO, bytes);
        let correlation_id = frame.id().unwrap_or(0);
        let mut remarks = Vec::new();
        frame.read_response_header(&Head { api_key, api_version, correlation_id, client_id: None }, &mut remarks);
        (frame, remarks)
    }

    /// Reads the header of a response, now that its request is known.
    pub(super) fn read_response_header(&mut self, asked: &Head, remarks: &mut Vec<Remark>) {
        let mut head = asked.clone();
        if head.api_key == ApiKey::API_VERSIONS && head.api_version > 0 {
            // In both forms the error code comes first.
            let code = self.bytes.get(4..6).and_then(|code| code.first_chunk()).map(|code| i16::from_be_bytes(*code));
            if code.map(ErrorCode) == Some(ErrorCode::UNSUPPORTED_VERSION) {
                head.api_version = 0;
                remarks.push(Remark::Fallback { asked: asked.api_version });
                remarks.retain(|remark| !matches!(remark, Remark::UnknownVersion(..)));
            }
        }
        // Whether there are tags is not known of an API that is not.
        let known = !asked.api_key.versions().is_empty();
        let tags = known && asked.api_key.response_header_version(asked.api_version) >= 1;
        let mut reader = Reader::new(self.bytes.clone());
        match reader.i32().and_then(|_| reader.unknown_tags(tags)) {
            Ok(_) => self.body = reader.position(),
            Err(error) => remarks.push(Remark::BadHeader(milena_wire::Report(&error).to_string())),
        }
        self.head = Some(head);
    }

    /// The number in front of a response.
    pub(super) fn id(&self) -> Option<i32> {
        self.bytes.first_chunk().map(|id| i32::from_be_bytes(*id))
    }

    pub(super) fn correlation_id(&self) -> Option<i32> {
        self.head.as_ref().map(|head| head.correlation_id)
    }

    /// Whether it is a raw SASL token, as it follows SaslHandshake version 0. It may hold a password.
    pub fn is_sasl_token(&self) -> bool {
        self.token
    }

    /// Bytes of header and body as they passed, seen or not.
    pub fn size(&self) -> usize {
        self.bytes.len() + self.missing
    }

    /// Header and body, to be read each by its layout.
    ///
    /// # Errors
    /// Cannot tell what the frame is.
    pub fn parts(&self) -> Result<[Part; 2], Unreadable> {
        let head = match &self.head {
            Some(head) => head,
            None if self.token => return Err(Unreadable::SaslToken),
            None if self.direction == Direction::Response => return Err(Unreadable::RequestNotSeen),
            None => {
                let what = format!("{} bytes are too few for the header of a request", self.bytes.len());
                return Err(milena_wire::Error::malformed(self.bytes.len(), what).into());
            }
        };
        let request = self.direction == Direction::Request;
        let (header, header_version, body) = layouts(head.api_key, head.api_version, request)?;
        let bytes = self.bytes.clone();
        let at = self.body.min(bytes.len());
        Ok([
            Part { message: header, version: header_version, base: 0, bytes: bytes.slice(..at) },
            Part { message: body, version: head.api_version, base: at, bytes: bytes.slice(at..) },
        ])
    }

    /// The same where no bytes are missing.
    pub(super) fn whole(&self) -> Result<[Part; 2], Unreadable> {
        let parts = self.parts()?;
        match self.missing {
            0 => Ok(parts),
            missing => Err(Unreadable::Cut { missing }),
        }
    }

    /// Reads the body as JSON, in the form that [`Decoded`] describes.
    ///
    /// # Errors
    /// As [`Frame::parts`]; bytes are missing, or are not what the protocol says. Offsets count from the start of the frame.
    pub fn decode(&self) -> Result<Decoded, Unreadable> {
        let [header, body] = self.whole()?;
        // Where the body begins is only known when the header can be read.
        header.decode()?;
        Ok(body.decode()?)
    }

    /// Shows the values of the body, as [`MessageSpec::scan`](milena_schema::MessageSpec::scan) does, in a small part of the time
    /// that [`Frame::decode`] takes.
    ///
    /// # Errors
    /// As [`Frame::decode`]; what was shown before the error was there.
    pub fn scan(&self, see: impl FnMut(&Field, Scalar)) -> Result<(), Unreadable> {
        let [header, body] = self.whole()?;
        header.message.scan(header.bytes, header.version, |_, _| {})?;
        body.message.scan(body.bytes, body.version, see).map_err(|error| error.shift(body.base))?;
        Ok(())
    }

    /// The JSON of [`Frame::decode`] alone.
    ///
    /// # Errors
    /// As [`Frame::decode`].
    pub fn json(&self) -> Result<Value, Unreadable> {
        Ok(self.decode()?.json)
    }
}
