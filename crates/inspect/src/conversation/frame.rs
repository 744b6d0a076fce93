use std::time::Duration;

use bytes::Bytes;
use milena_messages::{ApiKey, ByteString};
use milena_schema::{Decoded, Field, Scalar};
use serde_json::Value;

use crate::part::{Part, Unreadable, layouts};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The client, to the broker.
    Request,
    /// The broker, to the client.
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
    /// The version of the body. The answer to an ApiVersions request may be of another than the request.
    pub api_version: i16,
    /// The client's number for the request.
    pub correlation_id: i32,
    /// How the client calls itself.
    pub client_id: Option<ByteString>,
}

/// One frame that passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Who said it.
    pub direction: Direction,
    /// When, since 1970 or any other moment that is the same for all frames.
    pub time: Duration,
    /// Header and body, without the size in front.
    pub bytes: Bytes,
    /// How many bytes of the body passed behind `bytes` and were not seen: only a capture has such frames.
    pub missing: usize,
    /// What it is. `None` for tokens of SASL, answers to what was not seen, and frames too short for a header.
    pub head: Option<Head>,
    /// Where the body begins in `bytes`; at the end where that cannot be said.
    pub body: usize,
    pub(crate) token: bool,
}

impl Frame {
    /// Whether it is a bare token of SASL, as it follows SaslHandshake version 0. It may hold a password.
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
    /// It cannot be said what the frame is.
    pub fn parts(&self) -> Result<[Part; 2], Unreadable> {
        let head = match &self.head {
            Some(head) => head,
            None if self.token => return Err(Unreadable::SaslToken),
            None if self.direction == Direction::Response => return Err(Unreadable::NotAsked),
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
        // A header that cannot be read leaves nobody knowing where the body begins.
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
