//! The binary `milena` and its client against a real Apache Kafka that throttles, refuses, stops and comes back.

mod old;
mod outage;
mod quota;
mod range;
mod size;
mod stage;
mod transaction;

use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::kafka::{KafkaRelease, KafkaServer};
use crate::milena;
use crate::suite::{Outcome, Report, line};
use stage::Stage;

/// How long one scenario may take. Each needs a few seconds; the rest is for machines with much else to do.
const PATIENCE: Duration = Duration::from_secs(90);

/// Lines for `server.properties`: quotas count over one second instead of eleven, and a broker that is gone is noticed
/// after 4 seconds instead of 9.
const SETTINGS: [&str; 4] = [
    "quota.window.num=2",
    "quota.window.size.seconds=1",
    "broker.session.timeout.ms=4000",
    "broker.heartbeat.interval.ms=500",
];

type Running<'a> = Pin<Box<dyn Future<Output = Outcome> + 'a>>;

struct Scenario {
    /// A claim.
    name: &'static str,
    run: for<'a> fn(&'a mut Stage) -> Running<'a>,
}

macro_rules! scenarios {
    ($($module:ident :: $name:ident),+ $(,)?) => {
        &[$(Scenario { name: stringify!($name), run: |stage| Box::pin($module::$name(stage)) }),+]
    };
}

/// With two nodes of the newest release. Those that stop a node come last.
const SCENARIOS: &[Scenario] = scenarios![
    quota::a_throttled_consumer_reads_to_the_end,
    quota::a_throttled_producer_writes_everything,
    range::an_offset_outside_the_partition_is_named_with_its_range,
    size::a_batch_above_the_limit_is_split_and_a_record_above_it_is_named,
    transaction::the_last_records_are_counted_across_markers_and_aborted_ones,
    outage::calls_to_a_suspended_leader_end_by_their_deadline,
    outage::an_outage_leaves_other_partitions_usable_and_loses_nothing,
];

/// With one node of 0.10.0.
const OLD: &[Scenario] = scenarios![old::times_are_found_where_the_broker_cannot_look_them_up];

/// Runs the scenarios whose name contains `filter`, and writes a line for each. With `skip_missing`, a program that is not
/// installed is named and nothing is counted.
///
/// # Errors
/// A broker does not start, or the binary `milena` cannot be built.
pub async fn failures(filter: &str, skip_missing: bool, output: &mut (dyn Write + Send)) -> Result<Report> {
    // First, or the first scenario would seem slow.
    milena::binary()?;
    let mut report = Report::default();
    for (release, scenarios) in [(KafkaRelease::Newest, SCENARIOS), (KafkaRelease::V0_10_0, OLD)] {
        let name = format!("kafka-{}", release.version());
        let chosen: Vec<&Scenario> = scenarios.iter().filter(|scenario| scenario.name.contains(filter)).collect();
        if chosen.is_empty() {
            continue;
        }
        let started = match release {
            KafkaRelease::Newest => KafkaServer::start_nodes(2, &SETTINGS),
            old => KafkaServer::start_release(old, &[]),
        };
        let mut stage = match started {
            Err(error @ Error::Missing { .. }) if skip_missing => {
                let _ = writeln!(output, "{name} ... skipped: {error}");
                continue;
            }
            started => Stage::new(started?),
        };
        for scenario in chosen {
            let begun = Instant::now();
            let outcome = match tokio::time::timeout(PATIENCE, (scenario.run)(&mut stage)).await {
                Ok(outcome) => outcome.map_err(|failure| milena_client::Report(&*failure).to_string()),
                Err(_) => Err(format!("did not end within {} s", PATIENCE.as_secs())),
            };
            report.count(outcome.is_ok());
            let failed = outcome.is_err();
            line(output, &format!("{name}::{}", scenario.name), outcome, begun.elapsed());
            if failed {
                let _ = writeln!(output, "    the end of the brokers' logs:\n{}", stage.kafka.log());
            }
        }
    }
    Ok(report)
}
