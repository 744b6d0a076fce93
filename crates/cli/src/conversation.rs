//! The frames between a client and its brokers, one per line.

use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};

use milena_client::{FrameDirection, ObservedFrame, Observer};
use milena_schema::Spec;
use serde_json::{Value, json};

use crate::brief::brief;
use crate::output::{self, Paint};
use crate::table::wrap;

/// Characters of a line.
const WIDTH: usize = 100;

/// Where the content of a frame begins.
const CONTENT: usize = 42;

/// Lines that the content of one frame may take.
const LINES: usize = 4;

/// Two characters that no message has in this order, and that no line break separates.
const GLUE: &str = ":\u{e000}";

/// Prints frames as they pass, and counts them.
pub(crate) struct Conversation {
    how: How,
    traffic: Mutex<Traffic>,
}

#[derive(Clone, Copy, PartialEq)]
enum How {
    /// On stderr, without content.
    Aside,
    /// On stdout, for people.
    Text,
    /// On stdout, as JSON lines.
    Json,
}

/// What has passed so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) frames: usize,
    pub(crate) bytes_sent: usize,
    pub(crate) bytes_received: usize,
    /// Why stdout cannot be written.
    failed: Option<io::ErrorKind>,
}

impl Conversation {
    /// For `--verbose`.
    pub(crate) fn to_stderr() -> Self {
        Self { how: How::Aside, traffic: Mutex::default() }
    }

    /// With what is in the frames.
    pub(crate) fn to_stdout(json: bool) -> Self {
        Self { how: if json { How::Json } else { How::Text }, traffic: Mutex::default() }
    }

    /// What has passed so far.
    ///
    /// # Errors
    /// Stdout cannot be written.
    pub(crate) fn traffic(&self) -> io::Result<Traffic> {
        let traffic = *self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        match traffic.failed {
            Some(kind) => Err(kind.into()),
            None => Ok(traffic),
        }
    }
}

impl Observer for Conversation {
    fn frame(&self, frame: &ObservedFrame) {
        let mut traffic = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        traffic.frames += 1;
        match frame.direction {
            FrameDirection::Sent => traffic.bytes_sent += frame.size,
            FrameDirection::Received => traffic.bytes_received += frame.size,
        }
        let result = match self.how {
            How::Aside => writeln!(io::stderr(), "{}  {}", line(frame, Paint::none()), frame.address),
            How::Text => io::stdout().write_all(text(frame).as_bytes()),
            How::Json => writeln!(io::stdout(), "{}", to_json(frame)),
        };
        if let Err(error) = result {
            traffic.failed.get_or_insert(error.kind());
        }
    }
}

/// The content of a frame as JSON.
fn content(frame: &ObservedFrame) -> Result<Value, String> {
    let api = frame.api_key.name().ok_or("an unknown API")?;
    let suffix = if frame.direction == FrameDirection::Sent { "Request" } else { "Response" };
    let message = Spec::kafka().message(&format!("{api}{suffix}")).map_err(|error| error.to_string())?;
    let decoded = message.decode(frame.body.clone(), frame.api_version).map_err(|error| error.to_string())?;
    Ok(decoded.json)
}

fn line(frame: &ObservedFrame, paint: Paint) -> String {
    let (arrow, color) = match frame.direction {
        FrameDirection::Sent => ("→", Paint::CYAN),
        FrameDirection::Received => ("←", Paint::GREEN),
    };
    let name = format!("{} v{}", frame.api_key, frame.api_version);
    let id = format!("#{}", frame.correlation_id);
    format!("  {} {name:<20} {id:>4} {:>8} B", paint.color(color, arrow), frame.size)
}

fn text(frame: &ObservedFrame) -> String {
    let content = match content(frame) {
        Ok(json) => brief(&json),
        Err(what) => format!("({what})"),
    };
    let paint = Paint::stdout();
    // A name and its value stay on one line.
    let together = content.replace(": ", GLUE);
    let mut lines: Vec<String> =
        wrap(&together, WIDTH - CONTENT).into_iter().map(|line| line.replace(GLUE, ": ")).collect();
    if lines.len() > LINES {
        lines.truncate(LINES);
        if let Some(last) = lines.last_mut() {
            *last = format!("{} …", output::short(last, WIDTH - CONTENT - 2));
        }
    }
    let mut text = line(frame, paint);
    for (index, line) in lines.iter().enumerate() {
        let indent = if index == 0 { "   ".to_owned() } else { " ".repeat(CONTENT) };
        text.push_str(&format!("{indent}{}\n", paint.dim(line)));
    }
    text
}

fn to_json(frame: &ObservedFrame) -> Value {
    let (body, error) = match content(frame) {
        Ok(json) => (json, Value::Null),
        Err(what) => (Value::Null, json!(what)),
    };
    json!({
        "direction": if frame.direction == FrameDirection::Sent { "sent" } else { "received" },
        "address": &*frame.address,
        "api": frame.api_key.to_string(),
        "version": frame.api_version,
        "correlationId": frame.correlation_id,
        "size": frame.size,
        "body": body,
        "error": error,
    })
}
