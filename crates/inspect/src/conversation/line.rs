use std::fmt;
use std::time::Duration;

use milena_messages::{ApiKey, ErrorCode};

use super::exchange::{Exchange, Remark};
use super::fact::Facts;
use crate::part::Unreadable;
use crate::short;

/// Characters of a name that are shown.
const MAX_NAME: usize = 24;

/// Topics that are shown.
const MAX_TOPICS: usize = 3;

/// Characters of a time of day, to the millisecond.
const TIME: usize = 12;

/// Characters of a client id.
const CLIENT: usize = 12;

/// Characters of a client id and a request. A client id that is too long for its column takes from that of the request, so
/// that the numbers after it stay in theirs.
const WHO_AND_WHAT: usize = CLIENT + 21;

/// Where what comes after the columns begins in a second line: where the client stands.
const INDENT: usize = TIME + 6;

/// An exchange in a line for people: when, on which connection, who, what, how much, how long, and what came of it.
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
/// let text = "23:59:59.250   #3 writer       Produce v9             412 B     66 B  1.94 ms  letters  \
///             NOT_LEADER_OR_FOLLOWER";
/// assert_eq!(line.to_string(), text);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// When the request passed, since 1970. The time of the day is shown.
    pub time: Duration,
    /// Number of the connection.
    pub connection: u64,
    /// How the client calls itself.
    pub client_id: Option<String>,
    /// The API and the version of the request; `None` when that is not known.
    pub api: Option<(ApiKey, i16)>,
    /// Bytes of the request with the size in front; `None` when there is none.
    pub sent: Option<usize>,
    /// Bytes of the response with the size in front; `None` when there is none.
    pub received: Option<usize>,
    /// From the request to the response.
    pub latency: Option<Duration>,
    /// Topics that are named.
    pub topics: Vec<String>,
    /// What failed.
    pub errors: Vec<ErrorCode>,
    /// What else there is to say, each in a few words.
    pub notes: Vec<String>,
}

impl Line {
    /// The line of an exchange with these facts.
    pub fn new(exchange: &Exchange, facts: &Facts) -> Self {
        let head = exchange.head();
        let frames = || exchange.request.iter().chain(&exchange.response);
        let cut = frames().any(|frame| frame.missing > 0);
        // That a header is cut off goes without saying where the rest of the frame is missing.
        let remarks = exchange.remarks.iter().filter(|remark| !(cut && matches!(remark, Remark::BadHeader(_))));
        let mut notes: Vec<String> = remarks.filter_map(note).collect();
        for frame in frames().filter(|frame| frame.missing > 0) {
            notes.push(format!("{} B of the {} not seen", frame.missing, frame.direction.name()));
        }
        notes.extend(facts.unread.iter().filter_map(|(direction, why)| match why {
            Unreadable::Malformed(_) => Some(format!("the {} cannot be read to its end", direction.name())),
            // The remarks say it.
            _ => None,
        }));
        notes.extend(facts.throttle.map(|time| format!("throttled for {}", latency(time))));
        notes.extend(exchange.fault.map(|fault| format!("fault: {fault}")));
        Self {
            time: exchange.time(),
            connection: exchange.connection(),
            client_id: head.and_then(|head| head.client_id.as_ref()).map(|id| id.to_string()),
            api: head.map(|head| (head.api_key, head.api_version)),
            sent: exchange.request.as_ref().map(|frame| 4 + frame.size()),
            received: exchange.response.as_ref().map(|frame| 4 + frame.size()),
            latency: exchange.latency(),
            topics: facts.topics.clone(),
            errors: facts.errors.clone(),
            notes,
        }
    }

    /// The line. `style` may add colours, which take no room, to what failed and to what else there is to say. On a
    /// terminal of so many characters (`width`) names are cut, and what does not fit goes to a second line; without a width
    /// nothing is cut.
    pub fn render(&self, width: Option<usize>, style: impl Fn(LinePart, &str) -> String) -> String {
        let time = crate::time::of_day(self.time);
        let time = time.get(..TIME).unwrap_or(&time);
        let size = |size: Option<usize>| size.map_or_else(|| "-".to_owned(), bytes);
        let api = self.api.map_or_else(|| "?".to_owned(), |(api, version)| format!("{api} v{version}"));
        let connection = format!("#{}", self.connection);
        let fit = |text: &str, most: usize| short(text, if width.is_some() { most } else { usize::MAX });
        let client = self.client_id.as_deref().map_or_else(|| "-".to_owned(), |id| fit(id, CLIENT));
        let latency = self.latency.map_or_else(|| "-".to_owned(), latency);
        let who_and_what = format!("{client:<CLIENT$} {api}");
        let (sent, received) = (size(self.sent), size(self.received));
        let mut line =
            format!("{time} {connection:>4} {who_and_what:<WHO_AND_WHAT$} {sent:>7} {received:>8} {latency:>8}");
        let mut parts = Vec::new();
        if !self.topics.is_empty() {
            let most = if width.is_some() { MAX_TOPICS } else { usize::MAX };
            let mut topics: Vec<String> = self.topics.iter().take(most).map(|name| fit(name, MAX_NAME)).collect();
            if self.topics.len() > most {
                topics.push(format!("{} more", self.topics.len() - most));
            }
            parts.push((LinePart::Topics, topics.join(", ")));
        }
        if !self.errors.is_empty() {
            let codes: Vec<String> = self.errors.iter().map(ToString::to_string).collect();
            parts.push((LinePart::Errors, codes.join(", ")));
        }
        if !self.notes.is_empty() {
            parts.push((LinePart::Notes, format!("({})", self.notes.join("; "))));
        }
        let mut used = line.chars().count();
        for (part, text) in parts {
            let size = text.chars().count() + 2;
            if width.is_some_and(|width| used > INDENT && used + size > width) {
                line.push('\n');
                line.push_str(&" ".repeat(INDENT));
                used = INDENT;
            } else {
                line.push_str("  ");
            }
            line.push_str(&style(part, &text));
            used += size;
        }
        line
    }

    /// What stands above such lines.
    pub fn title() -> String {
        format!(
            "{:<TIME$} {:>4} {:<CLIENT$} {:<20} {:>7} {:>8} {:>8}",
            "TIME", "CONN", "CLIENT", "REQUEST", "SENT", "RECEIVED", "LATENCY"
        )
    }
}

/// What comes after the columns of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinePart {
    /// Topics.
    Topics,
    /// Error codes.
    Errors,
    /// Notes, in parentheses.
    Notes,
}

/// Remarks in a few words; some go without saying.
fn note(remark: &Remark) -> Option<String> {
    Some(match remark {
        Remark::NoResponseWanted => "acks = 0".to_owned(),
        Remark::NoResponse => "no response".to_owned(),
        Remark::SaslToken => "SASL token".to_owned(),
        Remark::UnknownApi(key) => format!("no release has API key {}", key.0),
        Remark::UnknownVersion(api, _) => {
            format!("no release has this version; versions {} were released", api.versions())
        }
        Remark::Fallback { .. } => "the response is of version 0".to_owned(),
        other => other.to_string(),
    })
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(None, |_, text| text.to_owned()))
    }
}

/// In at most 7 characters.
fn bytes(size: usize) -> String {
    match size {
        0..=99_999 => format!("{size} B"),
        100_000..=9_999_999 => format!("{} kB", size / 1000),
        _ => format!("{} MB", size / 1_000_000),
    }
}

/// In at most 8 characters.
fn latency(latency: Duration) -> String {
    match latency.as_secs_f64() * 1000.0 {
        millis if millis < 10.0 => format!("{millis:.2} ms"),
        millis if millis < 1000.0 => format!("{millis:.1} ms"),
        millis => format!("{:.2} s", millis / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_client_id_leaves_the_numbers_in_their_columns() {
        let line = |id: &str| Line {
            client_id: Some(id.to_owned()),
            api: Some((ApiKey::FETCH, 12)),
            sent: Some(412),
            ..Line::default()
        };
        let column = |id: &str| line(id).to_string().find("412 B").unwrap();
        assert_eq!(column("a"), column("console-consumer-7"));
        assert_eq!(column("a"), Line::title().find("SENT").unwrap() - 1);
    }
}
