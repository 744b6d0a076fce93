use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::path::Path;

use milena_schema::Spec;

use super::check::{Conversation, Strange};
use super::oddity::Oddities;
use super::recording::{Direction, read_traffic};
use crate::Error;

/// Marks in `README.md` between which the table stands.
const BEGIN: &str = "<!-- traffic: written by `cargo xtask conformance` -->\n";
const END: &str = "<!-- end of traffic -->\n";

/// What came of all recordings.
#[derive(Clone, Debug, Default)]
pub struct TrafficReport {
    rows: Vec<Row>,
    /// Requests and responses by API and version, and which clients spoke it.
    pairs: BTreeMap<(i16, i16), Pair>,
    /// Rows of `oddities.md`, and how often each was met.
    pub oddities: Vec<(String, usize)>,
    /// What no row covers.
    pub unexplained: Vec<Strange>,
}

#[derive(Clone, Debug)]
struct Row {
    client: String,
    broker: String,
    connections: usize,
    frames: usize,
    understood: usize,
    unanswered: usize,
    pairs: BTreeSet<(i16, i16)>,
    batches: usize,
    records: usize,
    cut: usize,
    odd: usize,
}

#[derive(Clone, Debug, Default)]
struct Pair {
    requests: usize,
    responses: usize,
    clients: BTreeSet<String>,
}

/// Reads every recording of a folder by both codecs, and looks up in its `oddities.md` what is strange.
///
/// # Errors
/// A file cannot be read; what is strange is no error but part of the report.
pub fn run_traffic(dir: &Path) -> Result<TrafficReport, Error> {
    let oddities = Oddities::read(&dir.join("oddities.md"))?;
    let mut report = TrafficReport::default();
    let mut met = vec![0; oddities.0.len()];
    for recording in read_traffic(dir)? {
        let conversation = Conversation::of(&recording);
        let connections: BTreeSet<u64> = recording.frames.iter().map(|frame| frame.connection).collect();
        let sum = |what: fn(&crate::Exchange) -> usize| conversation.exchanges.iter().map(what).sum();
        let mut row = Row {
            client: recording.client,
            broker: recording.broker,
            connections: connections.len(),
            frames: recording.frames.len(),
            understood: conversation.exchanges.len(),
            unanswered: conversation.unanswered,
            pairs: BTreeSet::new(),
            batches: sum(|exchange| exchange.batches),
            records: sum(|exchange| exchange.records),
            cut: sum(|exchange| exchange.cut),
            odd: conversation.strange.len(),
        };
        for exchange in &conversation.exchanges {
            row.pairs.insert((exchange.api, exchange.version));
            let pair = report.pairs.entry((exchange.api, exchange.version)).or_default();
            match exchange.direction {
                Direction::Request => pair.requests += 1,
                Direction::Response => pair.responses += 1,
            }
            // A release that it spoke as of is the same client.
            pair.clients.insert(row.client.split("-as-").next().unwrap_or_default().to_owned());
        }
        report.rows.push(row);
        for strange in conversation.strange {
            match oddities.position(&strange) {
                Some(row) => met[row] += 1,
                None => report.unexplained.push(strange),
            }
        }
    }
    report.oddities = oddities.0.into_iter().map(|row| row.id).zip(met).collect();
    Ok(report)
}

impl TrafficReport {
    /// Messages that both codecs read and wrote again: one for a frame, and one more for an envelope.
    pub fn understood(&self) -> usize {
        self.sum(|row| row.understood)
    }

    /// All frames.
    pub fn frames(&self) -> usize {
        self.sum(|row| row.frames)
    }

    /// Pairs of API and version in both directions.
    pub fn pairs(&self) -> usize {
        self.pairs.values().filter(|pair| pair.requests > 0 && pair.responses > 0).count()
    }

    /// Records in all record sets.
    pub fn records(&self) -> usize {
        self.sum(|row| row.records)
    }

    /// Rows of `oddities.md` that nothing is like.
    pub fn stale(&self) -> Vec<&str> {
        self.oddities.iter().filter(|(_, met)| *met == 0).map(|(id, _)| id.as_str()).collect()
    }

    /// Whether all that is strange is listed, and all that is listed occurs.
    pub fn is_clean(&self) -> bool {
        self.unexplained.is_empty() && self.stale().is_empty()
    }

    fn sum(&self, what: fn(&Row) -> usize) -> usize {
        self.rows.iter().map(what).sum()
    }

    /// The text of `traffic/index.tsv`: a line for each pair of API and version.
    pub fn index(&self) -> String {
        let mut text =
            String::from("# Written by `cargo xtask conformance`: key, API, version, requests, responses, clients.\n");
        for ((key, version), Pair { requests, responses, clients }) in &self.pairs {
            let api = Spec::kafka().api(*key).map_or("", |api| &api.name);
            let clients = clients.iter().cloned().collect::<Vec<_>>().join(",");
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{key}\t{api}\t{version}\t{requests}\t{responses}\t{clients}");
        }
        text
    }

    /// The text of `README.md` with today's table between its marks; `None` without marks.
    pub fn insert_table(&self, readme: &str) -> Option<String> {
        let (before, rest) = readme.split_once(BEGIN)?;
        let (_, after) = rest.split_once(END)?;
        Some([before, BEGIN, &self.table(), END, after].concat())
    }

    fn table(&self) -> String {
        let mut text = String::from(
            "| client | broker | connections | frames | pairs | batches | records |\n|---|---|---|---|---|---|---|\n",
        );
        for row in &self.rows {
            let Row { client, broker, connections, frames, batches, records, .. } = row;
            let pairs = row.pairs.len();
            let client = client.replace("-as-v", " as of ");
            let _ =
                writeln!(text, "| {client} | {broker} | {connections} | {frames} | {pairs} | {batches} | {records} |");
        }
        let [connections, frames, batches, records] =
            [self.sum(|row| row.connections), self.sum(|row| row.frames), self.sum(|row| row.batches), self.records()];
        let apis = self.pairs.keys().map(|(key, _)| key).collect::<BTreeSet<_>>().len();
        let pairs = self.pairs.len();
        let _ = writeln!(
            text,
            "| all: {apis} APIs | | {connections} | {frames} | {pairs} | {batches} | {records} |

Messages that both codecs read and wrote again, one for a frame and one more for an envelope: {}. Requests without an
response, because they asked for none or the client left: {}. Record sets in responses that end in the middle of a batch, as
they may: {}. Frames that are odd in a way that is listed: {}.",
            self.sum(|row| row.understood),
            self.sum(|row| row.unanswered),
            self.sum(|row| row.cut),
            self.sum(|row| row.odd),
        );
        text
    }
}

impl fmt::Display for TrafficReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (id, met) in &self.oddities {
            writeln!(f, "{id}: {met}")?;
        }
        for strange in &self.unexplained {
            writeln!(f, "unexplained: {strange}")?;
        }
        for id in self.stale() {
            writeln!(f, "no longer occurs: {id}")?;
        }
        let (understood, frames) = (self.understood(), self.frames());
        let (recordings, pairs, records) = (self.rows.len(), self.pairs(), self.records());
        let strange = self.unexplained.len();
        write!(
            f,
            "{recordings} recordings, {frames} frames, {understood} messages understood, {pairs} pairs, {records} records, {strange} unexplained"
        )
    }
}
