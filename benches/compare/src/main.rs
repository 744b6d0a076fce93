//! Measures milena against other Rust crates that speak Kafka's wire protocol: see ../README.md.

mod batches;
mod measure;
mod messages;
mod peers;
mod report;

use std::process::ExitCode;
use std::time::Duration;

use measure::{Effort, Subject};
use report::Report;

#[global_allocator]
static ALLOCATOR: measure::Counting = measure::Counting;

const HELP: &str = "\
Measures milena against other Rust crates that speak Kafka's wire protocol.

usage: compare [--only SUBSTRING] [--json] [--rounds N] [--round-ms N] [--list]

  --only SUBSTRING  only works whose name contains it
  --json            one JSON object per line in place of the table
  --rounds N        rounds of each side, 15 unless said otherwise
  --round-ms N      CPU time of one round, 5 ms unless said otherwise
  --list            names of the works, measuring nothing
";

/// What was asked for, and where results go.
pub struct Bench {
    only: Option<String>,
    list: bool,
    effort: Effort,
    report: Report,
}

impl Bench {
    /// Whether the work is to be set up at all.
    pub fn wants(&self, work: &str) -> bool {
        if self.list {
            println!("{work}");
        }
        !self.list && self.only.as_ref().is_none_or(|only| work.contains(only))
    }

    /// Measures milena and its peers at one work.
    pub fn work(&mut self, work: &str, mut milena: Subject<'_>, mut peers: Vec<Subject<'_>>) {
        for pairing in measure::compare(&mut milena, &mut peers, self.effort) {
            self.report.add(work, &pairing);
        }
    }
}

fn arguments() -> Result<Option<Bench>, String> {
    let mut bench = Bench {
        only: None,
        list: false,
        effort: Effort { round: Duration::from_millis(5), rounds: 15 },
        report: Report::default(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("{text} is not a number"));
        match argument.as_str() {
            "--only" => bench.only = Some(value()?),
            "--json" => bench.report.json = true,
            "--rounds" => bench.effort.rounds = number(value()?)?.max(1) as usize,
            "--round-ms" => bench.effort.round = Duration::from_millis(number(value()?)?.max(1)),
            "--list" => bench.list = true,
            "--help" | "-h" => return Ok(None),
            other => return Err(format!("unknown argument {other}")),
        }
    }
    Ok(Some(bench))
}

fn main() -> ExitCode {
    let mut bench = match arguments() {
        Ok(Some(bench)) => bench,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("{error}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    for (rival, present) in [
        ("kafka-wire", cfg!(feature = "kafka-wire")),
        ("odradek", cfg!(feature = "odradek")),
        ("rskafka", cfg!(feature = "rskafka")),
        ("krabka", cfg!(feature = "krabka")),
    ] {
        if !present {
            eprintln!("skipped: {rival}, the feature of that name is off");
        }
    }
    messages::run(&mut bench);
    batches::run(&mut bench);
    bench.report.finish();
    ExitCode::SUCCESS
}
