use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use milena_schema::Spec;
use milena_wire::VersionRange;

use crate::Error;
use crate::check::{Difference, differences};
use crate::deviation::Deviations;
use crate::records::{RecordsReport, read_record_vectors, record_differences};
use crate::vector::read_vectors;

/// Pairs of message and version that no released class of Kafka can write, and the evidence for them instead.
const STAND_INS: &[(&str, i16, &str)] = &[];

/// What a folder of vectors says about the codecs.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// By message.
    pub messages: BTreeMap<String, MessageReport>,
    /// Versions of requests whose headers were compared.
    pub headers: usize,
    /// Error codes that were compared.
    pub errors: usize,
    /// Pairs without a vector.
    pub missing: Vec<Missing>,
    /// How often each row of `deviations.md` was met.
    pub deviations: Vec<(String, usize)>,
    /// Differences that no row covers.
    pub unexplained: Vec<Difference>,
    /// Vectors by release.
    pub releases: BTreeMap<String, usize>,
    /// What the vectors of records say.
    pub records: RecordsReport,
}

/// What the vectors say about one message.
#[derive(Clone, Debug)]
pub struct MessageReport {
    /// Every version there is.
    pub versions: VersionRange,
    /// Versions with vectors.
    pub covered: BTreeSet<i16>,
    /// Vectors of all versions.
    pub vectors: usize,
    /// Vectors on which Kafka and both codecs agree.
    pub passes: usize,
    /// Vectors with differences that are listed.
    pub deviations: usize,
    /// Vectors with differences that are not.
    pub failures: usize,
}

/// A pair without vectors.
#[derive(Clone, Debug)]
pub struct Missing {
    /// Schema name.
    pub message: String,
    /// Version.
    pub version: i16,
    /// The evidence for it.
    pub stand_in: Option<&'static str>,
}

impl MessageReport {
    fn new(versions: VersionRange) -> Self {
        Self { versions, covered: BTreeSet::new(), vectors: 0, passes: 0, deviations: 0, failures: 0 }
    }
}

impl Report {
    /// Whether nothing is unexplained: no difference, no row of `deviations.md` that no longer occurs, and no pair
    /// without vectors or stand-in.
    pub fn is_clean(&self) -> bool {
        self.unexplained.is_empty()
            && self.stale().next().is_none()
            && self.missing.iter().all(|m| m.stand_in.is_some())
    }

    /// Rows of `deviations.md` that were not met.
    pub fn stale(&self) -> impl Iterator<Item = &str> {
        self.deviations.iter().filter(|(_, count)| *count == 0).map(|(id, _)| id.as_str())
    }

    /// Pairs of message and version with vectors.
    pub fn pairs(&self) -> usize {
        self.messages.values().map(|message| message.covered.len()).sum()
    }

    /// All vectors, those of tables included.
    pub fn vectors(&self) -> usize {
        self.releases.values().sum()
    }
}

/// Where the summary stands in `conformance/README.md`.
const SUMMARY: [&str; 2] = ["<!-- summary: written by `cargo xtask conformance` -->\n", "<!-- end of summary -->\n"];
/// Where the short form of it stands in the `README.md` of the repository.
const BRIEF: [&str; 2] = ["<!-- figures: written by `cargo xtask conformance` -->\n", "<!-- end of figures -->\n"];

/// A text of Markdown with a table in the place that is marked for it; `None` when no place is.
fn insert(text: &str, marks: [&str; 2], table: &str) -> Option<String> {
    let (before, rest) = text.split_once(marks[0])?;
    let (_, after) = rest.split_once(marks[1])?;
    Some([before, marks[0], table, marks[1], after].concat())
}

fn table<'a>(head: [&str; 2], rows: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let rows = rows.into_iter().map(|(what, number)| format!("| {what} | {number} |\n"));
    format!("| {} | {} |\n|---|---|\n", head[0], head[1]) + &rows.collect::<String>()
}

impl Report {
    /// The figures as a table of Markdown.
    pub fn summary(&self) -> String {
        let passes: usize = self.messages.values().map(|message| message.passes).sum();
        let deviations: usize = self.messages.values().map(|message| message.deviations).sum();
        let stand_ins = self.missing.iter().filter(|missing| missing.stand_in.is_some()).count();
        let releases: Vec<_> =
            self.releases.iter().rev().map(|(name, vectors)| format!("{name} ({vectors})")).collect();
        let rows = [
            ("messages", self.messages.len().to_string()),
            ("pairs of message and version with vectors", self.pairs().to_string()),
            ("pairs without vectors, with a named stand-in", stand_ins.to_string()),
            ("pairs without vectors or stand-in", (self.missing.len() - stand_ins).to_string()),
            ("vectors of messages", (passes + deviations + self.failures()).to_string()),
            ("both codecs do what Kafka does", passes.to_string()),
            ("listed deviation", deviations.to_string()),
            ("unexplained difference", self.failures().to_string()),
            ("header versions compared", self.headers.to_string()),
            ("error codes compared", self.errors.to_string()),
            ("vectors by release of Kafka", releases.join(", ")),
        ];
        table(["what", "number"], rows.into_iter().chain(self.records.summary()))
    }

    /// The figures that matter most, as a table of Markdown.
    pub fn brief(&self) -> String {
        let pairs: usize = self.messages.values().map(|message| message.versions.iter().count()).sum();
        let releases: Vec<_> = self.releases.keys().rev().map(String::as_str).collect();
        table(
            ["compared with what Apache Kafka's own classes do", "figure"],
            [
                ("pairs of message and version that have vectors", format!("{} of {pairs}", self.pairs())),
                ("vectors of messages, headers and error codes", self.vectors().to_string()),
                ("record sets", self.records.sum(|outcomes| outcomes.vectors).to_string()),
                ("releases that wrote them", releases.join(", ")),
                (
                    "deliberate [deviations](conformance/deviations.md), each of them met",
                    self.deviations.len().to_string(),
                ),
                ("unexplained differences", self.unexplained.len().to_string()),
            ],
        )
    }

    fn failures(&self) -> usize {
        self.messages.values().map(|message| message.failures).sum()
    }

    /// The text of `conformance/README.md` with today's summary in its place; `None` when no place is marked.
    pub fn insert_summary(&self, text: &str) -> Option<String> {
        insert(text, SUMMARY, &self.summary())
    }

    /// The text of the repository's `README.md` with today's short form in its place; `None` when no place is marked.
    pub fn insert_brief(&self, text: &str) -> Option<String> {
        insert(text, BRIEF, &self.brief())
    }
}

/// One line per message, then the totals and what is wrong.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<44} {:>8} {:>8} {:>8} {:>10}", "message", "versions", "vectors", "pass", "deviations")?;
        for (name, message) in &self.messages {
            let MessageReport { versions, vectors, passes, deviations, .. } = message;
            writeln!(f, "{name:<44} {:>8} {vectors:>8} {passes:>8} {deviations:>10}", versions.to_string())?;
        }
        writeln!(f)?;
        for (release, vectors) in &self.releases {
            writeln!(f, "Kafka {release}: {vectors} vectors")?;
        }
        for (id, count) in &self.deviations {
            writeln!(f, "{id}: {count}")?;
        }
        for Missing { message, version, stand_in } in &self.missing {
            writeln!(f, "no vectors: {message} v{version}: {}", stand_in.unwrap_or("and no stand-in"))?;
        }
        for difference in &self.unexplained {
            writeln!(f, "unexplained: {difference}")?;
        }
        for id in self.stale() {
            writeln!(f, "no longer occurs: {id}")?;
        }
        write!(
            f,
            "{} pairs of {} messages, {} vectors, {} headers, {} error codes, {} sets of records, {} unexplained",
            self.pairs(),
            self.messages.len(),
            self.vectors(),
            self.headers,
            self.errors,
            self.records.sum(|outcomes| outcomes.vectors),
            self.unexplained.len()
        )
    }
}

/// Sorts differences into those that are listed and those that are not, and tells whether there were any of each.
fn sort(
    differences: Vec<Difference>,
    deviations: &Deviations,
    met: &mut [usize],
    unexplained: &mut Vec<Difference>,
) -> (bool, bool) {
    let (mut listed, mut failed) = (false, false);
    for difference in differences {
        match deviations.position(&difference) {
            Some(row) => {
                met[row] += 1;
                listed = true;
            }
            None => {
                unexplained.push(difference);
                failed = true;
            }
        }
    }
    (listed, failed)
}

/// Runs the vectors of a folder through the typed and the schema codec, and through the reader and builders of records.
///
/// # Errors
/// A file cannot be read; differences are no error but part of the report.
pub fn run(vectors: &Path, deviations: &Path) -> Result<Report, Error> {
    let deviations = Deviations::read(deviations)?;
    let mut met = vec![0; deviations.0.len()];
    let mut report = Report::default();
    for message in &Spec::kafka().messages {
        report.messages.insert(message.name.clone(), MessageReport::new(message.versions));
    }
    read_vectors(vectors, |vector| {
        let (listed, failed) = sort(differences(&vector), &deviations, &mut met, &mut report.unexplained);
        *report.releases.entry(vector.release).or_default() += 1;
        match vector.kind.name() {
            "header" => report.headers += 1,
            "error" => report.errors += 1,
            _ => {
                let row =
                    report.messages.entry(vector.message).or_insert_with(|| MessageReport::new(VersionRange::NONE));
                if row.versions.contains(vector.version) {
                    row.covered.insert(vector.version);
                }
                row.vectors += 1;
                row.failures += usize::from(failed);
                row.deviations += usize::from(listed && !failed);
                row.passes += usize::from(!listed && !failed);
            }
        }
    })?;
    read_record_vectors(vectors, |vector| {
        let (listed, failed) = sort(record_differences(&vector), &deviations, &mut met, &mut report.unexplained);
        report.records.add(&vector, listed, failed);
    })?;
    report.deviations = deviations.0.into_iter().map(|row| row.id).zip(met).collect();
    for (name, message) in &report.messages {
        for version in message.versions.iter().filter(|version| !message.covered.contains(version)) {
            let stand_in = STAND_INS.iter().find(|(message, of, _)| message == name && *of == version);
            report.missing.push(Missing {
                message: name.clone(),
                version,
                stand_in: stand_in.map(|(_, _, what)| *what),
            });
        }
    }
    Ok(report)
}
