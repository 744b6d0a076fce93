//! Frames in a file: a line of JSON for each.
//!
//! ```text
//! {"time":"2024-05-01T12:30:59.250000Z","connection":1,"client":"10.0.0.7:52144","broker":"10.0.0.1:9092",
//!  "direction":"request","api":"Heartbeat","version":0,"correlationId":7,"clientId":null,"frame":"AAwAAA…"}
//! ```
//!
//! (on one line). `frame` is base64 of header and body, without the size in front. A reader needs `direction` and `frame`;
//! the rest may be missing, and `api`, `version`, `correlationId` and `clientId` are for people: the frame has them itself.

use std::io::{self, BufRead, Read as _, Write};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::conversation::{Direction, Head};
use crate::time;

/// Longest line that is read: a frame of 100 MiB, the largest that Kafka takes by default, with room to spare.
const MAX_LINE: u64 = 160 << 20;

/// One frame, where and when it passed.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedFrame {
    /// When, since 1970.
    pub time: Option<Duration>,
    /// The number of the connection in this file.
    pub connection: u64,
    /// The client's end of it, as `host:port`.
    pub client: Option<String>,
    /// The broker's end of it, as `host:port`.
    pub broker: Option<String>,
    /// Which way it went.
    pub direction: Direction,
    /// Header and body, without the size in front.
    pub frame: Bytes,
}

impl TracedFrame {
    /// Writes the line, with its end. `head` is what is known of the frame.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, head: Option<&Head>, out: &mut impl Write) -> io::Result<()> {
        let mut map = Map::new();
        let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
        put("time", json!(self.time.map(time::format)));
        put("connection", json!(self.connection));
        put("client", json!(self.client));
        put("broker", json!(self.broker));
        put("direction", json!(self.direction.name()));
        if let Some(head) = head {
            put("api", json!(head.api_key.to_string()));
            put("version", json!(head.api_version));
            put("correlationId", json!(head.correlation_id));
            put("clientId", json!(head.client_id.as_ref().map(|id| id.to_string())));
        }
        put("frame", json!(STANDARD.encode(&self.frame)));
        serde_json::to_writer(&mut *out, &Value::Object(map))?;
        out.write_all(b"\n")
    }

    /// Reads a line. Without a number it is of connection 0. Unknown members are ignored.
    ///
    /// # Errors
    /// What is wrong with it, in one sentence.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let mut map: Map<String, Value> =
            serde_json::from_slice(line).map_err(|error| format!("this is no JSON object: {error}"))?;
        let direction = match map.get("direction").and_then(Value::as_str) {
            Some("request") => Direction::Request,
            Some("response") => Direction::Response,
            _ => return Err("`direction` is neither \"request\" nor \"response\"".to_owned()),
        };
        let Some(Value::String(frame)) = map.remove("frame") else { return Err("`frame` is no text".to_owned()) };
        let frame = STANDARD.decode(frame).map_err(|error| format!("`frame` is not base64: {error}"))?;
        let time = match map.remove("time") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => {
                Some(time::parse(&text).ok_or("`time` is not of the form 2024-05-01T12:30:59.250000Z")?)
            }
            Some(_) => return Err("`time` is no text".to_owned()),
        };
        let mut text = |name: &str| match map.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{name}` is no text")),
        };
        let (client, broker) = (text("client")?, text("broker")?);
        let connection = match map.get("connection") {
            None | Some(Value::Null) => 0,
            Some(number) => number.as_u64().ok_or("`connection` is no whole number from 0")?,
        };
        Ok(Self { time, connection, client, broker, direction, frame: frame.into() })
    }
}

/// Why a trace cannot be read on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line is no frame. The next one can still be read, unless this one has no end.
    #[error("line {line}: {what}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
}

/// Reads frames line by line. Empty lines are ignored.
#[derive(Debug)]
pub struct TraceReader<R> {
    input: R,
    line: u64,
    done: bool,
}

impl<R: BufRead> TraceReader<R> {
    /// From the start of a trace.
    pub fn new(input: R) -> Self {
        Self { input, line: 0, done: false }
    }
}

impl<R: BufRead> Iterator for TraceReader<R> {
    type Item = Result<TracedFrame, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.done {
            let mut line = Vec::new();
            self.line += 1;
            match self.input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
                Ok(0) => self.done = true,
                Ok(size) => {
                    self.done = size as u64 == MAX_LINE;
                    if line.iter().all(u8::is_ascii_whitespace) {
                        continue;
                    }
                    let frame = TracedFrame::parse(&line);
                    return Some(frame.map_err(|what| TraceError::Line { line: self.line, what }));
                }
                Err(error) => {
                    self.done = true;
                    return Some(Err(error.into()));
                }
            }
        }
        None
    }
}
