//! The behaviour suite with older releases of Apache Kafka, and with the embedded broker that acts as each of them.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use milena_broker::{Broker, BrokerConfig};
use milena_messages::{ApiKey, ApiVersionsResponse};

use crate::error::{Error, Result};
use crate::kafka::{KafkaRelease, KafkaServer};
use crate::probe;
use crate::suite::{Report, SCENARIOS, line, outcome_of};

/// How long a scenario may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a broker may take to list its APIs.
const PROBE: Duration = Duration::from_secs(10);

const RELEASES: [KafkaRelease; 4] =
    [KafkaRelease::V2_8, KafkaRelease::V0_11, KafkaRelease::V0_10_2, KafkaRelease::V0_10_0];

/// Runs the scenarios whose name contains `filter` against older releases, and those that such a release passes against the
/// embedded broker that acts as it. Both have to list the same versions of each API that the embedded broker has.
///
/// # Errors
/// A broker does not start.
pub async fn releases(filter: &str, skip_missing: bool, output: &mut (dyn Write + Send)) -> Result<Report> {
    let mut report = Report::default();
    for release in RELEASES {
        let version = release.version();
        let kafka = match KafkaServer::start_release(release, &[]) {
            Err(error @ Error::Missing { .. }) if skip_missing => {
                let _ = writeln!(output, "as-{version} ... skipped: {error}");
                continue;
            }
            started => started?,
        };
        let config = BrokerConfig { kafka_version: Some(version.to_owned()), ..BrokerConfig::default() };
        let broker = Broker::start(config).await.map_err(|error| Error::Other(error.to_string()))?;
        report = report.and(compared(version, &kafka.bootstrap(), &broker.bootstrap(), filter, output).await?);
        broker.shutdown().await;
    }
    Ok(report)
}

async fn compared(
    version: &str,
    kafka: &str,
    ours: &str,
    filter: &str,
    output: &mut (dyn Write + Send),
) -> Result<Report> {
    const LISTED: &str = "the_versions_of_each_api_are_those_of_the_release";
    let mut report = Report::default();
    if LISTED.contains(filter) {
        let begun = Instant::now();
        let outcome = same_versions(&listed(kafka).await?, &listed(ours).await?);
        report.count(outcome.is_ok());
        line(output, &format!("as-{version}::{LISTED}"), outcome, begun.elapsed());
    }
    let mut not_there = 0;
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.name.contains(filter)) {
        if outcome_of(scenario, kafka, PATIENCE).await.is_err() {
            not_there += 1;
            continue;
        }
        let begun = Instant::now();
        let outcome = outcome_of(scenario, ours, PATIENCE).await;
        report.count(outcome.is_ok());
        line(output, &format!("as-{version}::{}", scenario.name), outcome, begun.elapsed());
    }
    let _ = writeln!(output, "as-{version}: {not_there} scenarios need what Apache Kafka {version} does not have");
    Ok(report)
}

async fn listed(bootstrap: &str) -> Result<ApiVersionsResponse> {
    let wrong = |why: String| Error::Other(format!("{bootstrap}: {why}"));
    let address: SocketAddr = bootstrap.parse().map_err(|error| wrong(format!("{error}")))?;
    let asked = tokio::task::spawn_blocking(move || probe::api_versions(address, 0, PROBE)).await;
    asked.map_err(|panic| wrong(panic.to_string()))?.map_err(|error| wrong(error.to_string()))
}

/// What the embedded broker lists otherwise than the release.
fn same_versions(kafka: &ApiVersionsResponse, ours: &ApiVersionsResponse) -> std::result::Result<(), String> {
    let ranges = |response: &ApiVersionsResponse| -> BTreeMap<ApiKey, (i16, i16)> {
        response.api_keys.iter().map(|api| (api.api_key, (api.min_version, api.max_version))).collect()
    };
    let (kafka, ours) = (ranges(kafka), ranges(ours));
    let other = ours.iter().filter(|(api, range)| kafka.get(api) != Some(*range));
    let other: Vec<String> =
        other.map(|(api, range)| format!("{api} {range:?} instead of {:?}", kafka.get(api))).collect();
    if other.is_empty() { Ok(()) } else { Err(other.join("\n")) }
}
