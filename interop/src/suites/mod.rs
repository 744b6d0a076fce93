//! Test suites that others wrote for their own clients, pointed at `milena broker`.

mod aiokafka;
mod franz_go;
mod kafka_python;
mod table;
mod tools;

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use crate::error::{Error, Result};
use crate::suite::{Report, line};

/// Which suites run, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SuitesConfig {
    /// Only suites whose name contains this.
    pub filter: String,
    /// Whether a suite is skipped, with a note, when a program that it needs is not installed.
    pub skip_missing: bool,
    /// A checkout of aiokafka with its tests, which no package of it contains. Without one that suite is skipped.
    pub aiokafka: Option<PathBuf>,
    /// Records that franz-go's tests send through their chains of groups. Default: franz-go's own number.
    pub franz_go_records: Option<u32>,
    /// Whether the table in `interop/README.md` is replaced.
    pub write_table: bool,
}

/// What came of one suite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) skipped: usize,
    /// Tests that should pass and did not.
    pub(crate) failed: Vec<String>,
    /// Tests that cannot pass, for a reason that [`Suite::expected`] gives, and did not.
    pub(crate) expected: usize,
}

/// A suite.
struct Suite {
    /// As `--only suites` selects it.
    name: &'static str,
    /// Of what.
    title: &'static str,
    /// Tests that fail, and why that is not the broker's fault.
    expected: &'static [(&'static str, &'static str)],
    run: fn(&SuitesConfig) -> Result<Results>,
}

/// Each test with what came of it.
pub(crate) type Results = Vec<(String, Verdict)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    Skipped,
    Failed,
}

const SUITES: &[Suite] = &[
    Suite { name: "franz-go", title: "franz-go 1.22.3, its own tests", expected: &[], run: franz_go::run },
    Suite {
        name: "kafka-python",
        title: "kafka-python 3.0.12, its integration tests",
        expected: kafka_python::EXPECTED,
        run: kafka_python::run,
    },
    Suite {
        name: "aiokafka",
        title: "aiokafka 0.14.0, all its tests",
        expected: aiokafka::EXPECTED,
        run: aiokafka::run,
    },
    Suite {
        name: "kafka-tools",
        title: "Kafka 4.4's command line tools: same output as with Kafka",
        expected: tools::EXPECTED,
        run: tools::run,
    },
];

/// Runs the suites and writes a line for each to `out`.
///
/// # Errors
/// A suite cannot be fetched or started, or a program is missing and must not be.
pub fn suites(config: &SuitesConfig, out: &mut (dyn Write + Send)) -> Result<Report> {
    let mut report = Report::default();
    let mut rows = Vec::new();
    for suite in SUITES.iter().filter(|suite| suite.name.contains(&config.filter)) {
        let begun = Instant::now();
        let name = format!("suites::{}", suite.name);
        let tally = match (suite.run)(config) {
            Ok(results) => tally(&results, suite.expected),
            Err(error @ Error::Missing { program, .. }) if config.skip_missing || program == aiokafka::PROGRAM => {
                let _ = writeln!(out, "{name} ... skipped: {error}");
                continue;
            }
            Err(error) => return Err(error),
        };
        report.count(tally.failed.is_empty());
        let failure = match tally.failed.as_slice() {
            [] => Ok(()),
            failed => Err(format!("{} passed, {} failed: {}", tally.passed, failed.len(), failed.join(", "))),
        };
        line(out, &format!("{name} ({} tests)", tally.passed), failure, begun.elapsed());
        rows.push((suite, tally));
    }
    if config.write_table {
        table::write(&rows)?;
    }
    Ok(report)
}

fn tally(results: &Results, expected: &[(&str, &str)]) -> Tally {
    let mut tally = Tally::default();
    for (name, verdict) in results {
        let known = expected.iter().any(|(part, _)| name.contains(part));
        match verdict {
            Verdict::Passed => tally.passed += 1,
            Verdict::Skipped => tally.skipped += 1,
            Verdict::Failed if known => tally.expected += 1,
            Verdict::Failed => tally.failed.push(name.clone()),
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_counts_unless_a_reason_is_known() {
        let results =
            [("a", Verdict::Passed), ("b[1]", Verdict::Failed), ("c", Verdict::Failed), ("d", Verdict::Skipped)];
        let results = results.map(|(name, verdict)| (name.to_owned(), verdict)).to_vec();
        let wanted = Tally { passed: 1, skipped: 1, failed: vec!["c".to_owned()], expected: 1 };
        assert_eq!(tally(&results, &[("b[", "a reason")]), wanted);
    }
}
