use std::fmt;
use std::time::Duration;

use milena_messages::{ApiKey, ErrorCode};

use super::exchange::{Exchange, Remark};
use super::frame::Frame;
use crate::short;

/// Characters of what peers say that are shown.
const MAX_NAME: usize = 24;

/// Topics that are shown.
const MAX_TOPICS: usize = 3;

/// An exchange in a line, for eyes: when, on which connection, who, what, how much, how long, and what came of it.
///
/// ```
/// use milena_inspect::conversation::Line;
/// use milena_messages::{ApiKey, ErrorCode};
/// use std::time::Duration;
///
/// let line = Line {
///     time: Duration::new(1_709_251_199, 250_001_000),
///     connection: 3,
///     client_id: Some("writer".into()),
///     api: Some((ApiKey::PRODUCE, 9)),
///     sent: Some(412),
///     received: Some(66),
///     latency: Some(Duration::from_micros(1940)),
///     topics: vec!["letters".into()],
///     errors: vec![ErrorCode::NOT_LEADER_OR_FOLLOWER],
///     notes: Vec::new(),
/// };
/// let text = "23:59:59.250001    #3 writer               Produce v9                412 B     66 B   1.94 ms  letters  \
///             NOT_LEADER_OR_FOLLOWER";
/// assert_eq!(line.to_string(), text);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// When it was asked, since 1970. The time of the day is shown.
    pub time: Duration,
    /// Number of the connection.
    pub connection: u64,
    /// How the client calls itself.
    pub client_id: Option<String>,
    /// The API and the version of the request; `None` when that is not known.
    pub api: Option<(ApiKey, i16)>,
    /// Bytes of the request with the size in front; `None` when there is none.
    pub sent: Option<usize>,
    /// Bytes of the answer with the size in front; `None` when there is none.
    pub received: Option<usize>,
    /// From the request to the answer.
    pub latency: Option<Duration>,
    /// Topics that are named.
    pub topics: Vec<String>,
    /// What failed.
    pub errors: Vec<ErrorCode>,
    /// What else there is to say, each in a few words.
    pub notes: Vec<String>,
}

impl Line {
    /// The line of an exchange in which these topics and errors were found.
    pub fn new(connection: u64, exchange: &Exchange, topics: Vec<String>, errors: Vec<ErrorCode>) -> Self {
        let head = exchange.head();
        let token = |frame: &Frame| frame.is_sasl_token();
        let frames = || exchange.request.iter().chain(&exchange.response);
        let cut = frames().any(|frame| frame.missing > 0);
        // That a header is cut off goes without saying where the rest of the frame is missing.
        let remarks = exchange.remarks.iter().filter(|remark| !(cut && matches!(remark, Remark::BadHeader(_))));
        let mut notes: Vec<String> = remarks.filter_map(note).collect();
        for frame in frames().filter(|frame| frame.missing > 0) {
            notes.push(format!("{} B of the {} not seen", frame.missing, frame.direction.name()));
        }
        if exchange.request.as_ref().is_some_and(token) {
            notes.clear();
            notes.push("a token of SASL".to_owned());
        }
        Self {
            time: exchange.request.as_ref().or(exchange.response.as_ref()).map_or(Duration::ZERO, |frame| frame.time),
            connection,
            client_id: head.and_then(|head| head.client_id.as_ref()).map(|id| id.to_string()),
            api: head.map(|head| (head.api_key, head.api_version)),
            sent: exchange.request.as_ref().map(|frame| 4 + frame.size()),
            received: exchange.response.as_ref().map(|frame| 4 + frame.size()),
            latency: exchange.latency(),
            topics,
            errors,
            notes,
        }
    }

    /// The line, with what failed and what else there is to say as the caller dresses it up, in colours for example.
    pub fn render(&self, errors: impl FnOnce(&str) -> String, notes: impl FnOnce(&str) -> String) -> String {
        let time = crate::time::of_day(self.time);
        let size = |size: Option<usize>| size.map_or_else(|| "-".to_owned(), bytes);
        let api = self.api.map_or_else(|| "?".to_owned(), |(api, version)| format!("{api} v{version}"));
        let connection = format!("#{}", self.connection);
        let client = self.client_id.as_deref().map_or_else(|| "-".to_owned(), |id| short(id, 20));
        let latency = self.latency.map_or_else(|| "-".to_owned(), latency);
        let (sent, received) = (size(self.sent), size(self.received));
        let mut line =
            format!("{time:<15} {connection:>5} {client:<20} {api:<22} {sent:>8} {received:>8} {latency:>9}");
        let mut put = |text: &str| {
            line.push_str("  ");
            line.push_str(text);
        };
        if !self.topics.is_empty() {
            let mut topics: Vec<String> =
                self.topics.iter().take(MAX_TOPICS).map(|name| short(name, MAX_NAME)).collect();
            if self.topics.len() > MAX_TOPICS {
                topics.push(format!("{} more", self.topics.len() - MAX_TOPICS));
            }
            put(&topics.join(", "));
        }
        if !self.errors.is_empty() {
            let codes: Vec<String> = self.errors.iter().map(ToString::to_string).collect();
            put(&errors(&codes.join(", ")));
        }
        if !self.notes.is_empty() {
            put(&notes(&format!("({})", self.notes.join("; "))));
        }
        line
    }

    /// What stands above such lines.
    pub fn title() -> String {
        format!(
            "{:<15} {:>5} {:<20} {:<22} {:>8} {:>8} {:>9}  TOPICS, ERRORS, NOTES",
            "TIME", "CONN", "CLIENT", "REQUEST", "SENT", "RECEIVED", "LATENCY"
        )
    }
}

/// Remarks in a few words; some go without saying.
fn note(remark: &Remark) -> Option<String> {
    Some(match remark {
        Remark::NoAnswerWanted => "acks = 0".to_owned(),
        Remark::NoAnswer => "no answer".to_owned(),
        Remark::UnknownApi(key) => format!("no release has API key {}", key.0),
        Remark::UnknownVersion(api, _) => format!("no release has this version, but {}", api.versions()),
        Remark::Fallback { .. } => "answered at version 0".to_owned(),
        other => other.to_string(),
    })
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(str::to_owned, str::to_owned))
    }
}

/// In at most 8 characters.
fn bytes(size: usize) -> String {
    match size {
        0..=99_999 => format!("{size} B"),
        100_000..=9_999_999 => format!("{} kB", size / 1000),
        _ => format!("{} MB", size / 1_000_000),
    }
}

/// In at most 9 characters.
fn latency(latency: Duration) -> String {
    match latency.as_secs_f64() * 1000.0 {
        millis if millis < 10.0 => format!("{millis:.2} ms"),
        millis if millis < 1000.0 => format!("{millis:.1} ms"),
        millis => format!("{:.2} s", millis / 1000.0),
    }
}
