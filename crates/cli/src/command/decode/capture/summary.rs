//! Who the clients were, and what they did.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use milena_connection::Foreign;
use milena_inspect::capture::{Calls, CaptureStatistics, Connection, Protocol};
use milena_inspect::time;
use milena_messages::{ApiKey, ErrorCode};
use milena_schema::Spec;
use serde_json::{Value, json};

use crate::output::fit;
use crate::table::wrap;

/// Most clients that are listed apart.
const MAX_CLIENTS: usize = 1000;

/// Most names that are kept of one.
const MAX_NAMES: usize = 1000;

/// Names that are shown.
const SHOWN: usize = 20;

/// Characters of a line.
const WIDTH: usize = 80;

/// A space that does not break.
const GLUE: &str = "\u{e000}";

/// A connection as JSON.
pub(super) fn json(connection: &Connection) -> Value {
    let calls = connection.calls.iter().map(|((api, version), calls)| {
        json!({
            "api": api.to_string(),
            "version": version,
            "count": calls.count,
            "failed": calls.failed,
            "throttled": calls.throttled,
            "droppedIn": dropped(*api, *version),
        })
    });
    let errors = connection.errors.iter().map(|(error, count)| (error.to_string(), json!(count)));
    let software = connection.software.as_ref();
    json!({
        "type": "connection",
        "connection": connection.number,
        "client": connection.client.to_string(),
        "broker": connection.broker.to_string(),
        "first": time::format(connection.first),
        "last": time::format(connection.last),
        "fromStart": connection.from_start,
        "protocol": connection.protocol.to_string(),
        "clientIds": connection.client_ids,
        "softwareName": software.map(|(name, _)| name),
        "softwareVersion": software.map(|(_, version)| version),
        "saslMechanism": connection.sasl,
        "calls": calls.collect::<Value>(),
        "topicsRead": connection.read,
        "topicsWritten": connection.written,
        "errors": errors.collect::<Value>(),
        "throttled": connection.throttled,
        "throttleTimeMs": connection.throttle_time.as_millis() as u64,
        "frames": connection.frames,
        "unreadFrames": connection.unread,
        "sentBytes": connection.sent,
        "receivedBytes": connection.received,
        "missingBytes": connection.missing,
        "passedBytes": connection.passed,
    })
}

/// The release that no longer has a version.
fn dropped(api: ApiKey, version: i16) -> Option<&'static str> {
    let dropped = &Spec::kafka().api(api.0)?.dropped;
    dropped.iter().find(|since| since.versions.contains(version)).map(|since| since.release.as_str())
}

/// Connections of one client.
#[derive(Default)]
struct Client {
    connections: u64,
    software: BTreeSet<String>,
    sasl: BTreeSet<String>,
    brokers: BTreeSet<SocketAddr>,
    calls: BTreeMap<(ApiKey, i16), Calls>,
    read: BTreeSet<String>,
    written: BTreeSet<String>,
    errors: BTreeMap<ErrorCode, u64>,
    throttled: u64,
    throttle_time: Duration,
    sent: u64,
    received: u64,
    missing: u64,
    passed: u64,
}

/// What there was in a capture.
#[derive(Default)]
pub(super) struct Summary {
    /// By address and name.
    clients: BTreeMap<(Option<IpAddr>, String), Client>,
    kafka: u64,
    /// Connections of other protocols: how many, and an example.
    others: BTreeMap<String, (u64, String)>,
}

impl Summary {
    pub(super) fn add(&mut self, connection: Connection) {
        if connection.frames == 0 {
            let what = match connection.protocol {
                Protocol::Foreign(Foreign::TlsHandshake | Foreign::TlsAlert) => {
                    "TLS, inside of which nothing can be read".to_owned()
                }
                Protocol::Foreign(_) | Protocol::ZooKeeper => connection.protocol.to_string(),
                Protocol::Kafka => "Kafka, without a frame".to_owned(),
                _ if connection.passed + connection.missing == 0 => "no data at all".to_owned(),
                Protocol::Other => "not Kafka: no request could be read from its start on".to_owned(),
                _ => "found no Kafka frame; the start of the connection is missing".to_owned(),
            };
            let other = self.others.entry(what).or_insert_with(|| (0, ends(&connection)));
            other.0 += 1;
            return;
        }
        self.kafka += 1;
        let name = connection.client_id().unwrap_or("(no client id)").to_owned();
        let mut key = (Some(connection.client.ip()), name);
        if self.clients.len() >= MAX_CLIENTS && !self.clients.contains_key(&key) {
            key = (None, "(all others)".to_owned());
        }
        self.clients.entry(key).or_default().add(connection);
    }

    /// The text of it; `apart` when something stands above.
    pub(super) fn render(&self, statistics: &CaptureStatistics, apart: bool) -> String {
        let mut text = String::new();
        if apart {
            text.push('\n');
        }
        let others: u64 = self.others.values().map(|(count, _)| count).sum();
        let _ = writeln!(
            text,
            "{} in {}: {} Kafka, {others} other",
            counted(statistics.packets, "packet"),
            counted(statistics.connections, "connection"),
            self.kafka,
        );
        for ((address, name), client) in &self.clients {
            client.render(*address, name, &mut text);
        }
        for (what, (count, example)) in &self.others {
            let _ = writeln!(text, "\n{}, such as {example}: {what}", counted(*count, "connection"));
        }
        text
    }
}

impl Client {
    fn add(&mut self, connection: Connection) {
        self.connections += 1;
        if let Some((name, version)) = &connection.software {
            keep(&mut self.software, [format!("{name} {version}")]);
        }
        keep(&mut self.sasl, connection.sasl);
        keep(&mut self.brokers, [connection.broker]);
        for (call, calls) in connection.calls {
            let sum = self.calls.entry(call).or_default();
            sum.count += calls.count;
            sum.failed += calls.failed;
            sum.throttled += calls.throttled;
        }
        keep(&mut self.read, connection.read);
        keep(&mut self.written, connection.written);
        for (error, count) in connection.errors {
            *self.errors.entry(error).or_default() += count;
        }
        self.throttled += connection.throttled;
        self.throttle_time += connection.throttle_time;
        self.sent += connection.sent;
        self.received += connection.received;
        self.missing += connection.missing;
        self.passed += connection.passed;
    }

    fn render(&self, address: Option<IpAddr>, name: &str, text: &mut String) {
        let software = names(self.software.iter());
        let _ = write!(text, "\n{}", fit(name, 60));
        if !software.is_empty() {
            let _ = write!(text, "  ({})", fit(&software, 60));
        }
        if let Some(address) = address {
            let _ = write!(text, "  at {address}");
        }
        text.push('\n');
        let mut row = |name: &str, value: String| {
            for (index, line) in wrap(&value, WIDTH - 14).into_iter().enumerate() {
                let _ = writeln!(text, "  {:<11} {line}", if index == 0 { name } else { "" });
            }
        };
        let brokers = names(self.brokers.iter().map(ToString::to_string));
        row("connections", format!("{} to {brokers}", self.connections));
        if !self.sasl.is_empty() {
            row("SASL", names(self.sasl.iter()));
        }
        let calls = self.calls.iter().map(|((api, version), calls)| {
            let failed = if calls.failed > 0 { format!(" ({} failed)", calls.failed) } else { String::new() };
            // The parts of one stay together.
            format!("{api} v{version} × {}{failed}", calls.count).replace(' ', GLUE)
        });
        row("requests", calls.collect::<Vec<_>>().join(", "));
        row("bytes", format!("{} sent, {} received", self.sent, self.received));
        for (name, topics) in [("wrote", &self.written), ("read", &self.read)] {
            if !topics.is_empty() {
                row(name, names(topics.iter()));
            }
        }
        if !self.errors.is_empty() {
            let errors: Vec<String> = self.errors.iter().map(|(error, count)| format!("{error} × {count}")).collect();
            row("errors", errors.join(", "));
        }
        if self.throttled > 0 {
            let seconds = self.throttle_time.as_secs_f64();
            row("throttled", format!("{} responses, {seconds:.1} s in all", self.throttled));
        }
        let removed = self.calls.keys().filter_map(|(api, version)| {
            dropped(*api, *version).map(|release| format!("{api} v{version} in Kafka {release}").replace(' ', GLUE))
        });
        let removed: Vec<String> = removed.collect();
        if !removed.is_empty() {
            row("removed", removed.join(", "));
        }
        if self.missing + self.passed > 0 {
            row("lost", format!("{} bytes not captured, {} without a frame", self.missing, self.passed));
        }
        *text = text.replace(GLUE, " ");
    }
}

fn keep<T: Ord>(kept: &mut BTreeSet<T>, names: impl IntoIterator<Item = T>) {
    let room = MAX_NAMES.saturating_sub(kept.len());
    kept.extend(names.into_iter().take(room));
}

fn names<T: AsRef<str>>(names: impl ExactSizeIterator<Item = T>) -> String {
    let more = names.len().saturating_sub(SHOWN);
    let mut shown: Vec<String> = names.take(SHOWN).map(|name| fit(name.as_ref(), 60)).collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    shown.join(", ")
}

fn ends(connection: &Connection) -> String {
    format!("{} to {}", connection.client, connection.broker)
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
