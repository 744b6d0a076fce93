//! Records that foreign clients wrote to a real broker, read by the binary `milena` and from the broker's disk.

mod check;
mod sample;
mod writer;

use std::io::Write;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use milena_client::{Client, ClientConfig, NewTopic, Target};
use milena_messages::metadata::request::MetadataRequestTopic;
use milena_messages::{ByteString, ErrorCode, MetadataRequest};
use milena_records::Codec;

use crate::command::feed;
use crate::error::{Error, Result};
use crate::kafka::{KafkaRelease, KafkaServer};
use crate::milena;
use crate::suite::{Report, line};
use check::{Window, same_as_consumed, same_as_stored};
use sample::{Sample, lines, samples};
use writer::{CASES, Case};

/// Lets foreign clients write records of each codec to topics of real brokers, and compares what they were given with what
/// `milena consume --json` prints and with the brokers' segment files.
///
/// Starts a broker for each release and its settings, one after the other, for those whose name contains `filter`; a line
/// for each. A client that cannot be tried, because a program is not installed, is named and not counted;
/// with `skip_missing` a broker too.
///
/// # Errors
/// A broker does not start, or the binary `milena` cannot be built.
pub async fn foreign_writers(
    releases: &[KafkaRelease],
    filter: &str,
    skip_missing: bool,
    output: &mut (dyn Write + Send),
) -> Result<Report> {
    // Now, or the first of them would seem slow.
    milena::binary()?;
    let mut report = Report::default();
    let mut server: Option<(&Case, KafkaServer)> = None;
    for case in CASES.iter().filter(|case| releases.contains(&case.release) && case.name.contains(filter)) {
        let running = match server.take() {
            Some((of, running)) if (of.release, of.broker) == (case.release, case.broker) => running,
            // The one before goes first.
            other => {
                drop(other);
                match KafkaServer::start_release(case.release, case.broker) {
                    Err(error @ Error::Missing { .. }) if skip_missing => {
                        let _ = writeln!(output, "{} ... skipped: {error}", title(case));
                        continue;
                    }
                    started => started?,
                }
            }
        };
        let failed = report.failed;
        report = report.and(tried(case, &running, output).await);
        if report.failed > failed {
            let _ = writeln!(output, "    the end of the broker's log:\n{}", running.log());
        }
        server = Some((case, running));
    }
    Ok(report)
}

fn title(case: &Case) -> String {
    let codecs: Vec<String> = case.codecs.iter().map(Codec::to_string).collect();
    format!("kafka-{}::{} ({})", case.release.version(), case.name, codecs.join(", "))
}

async fn tried(case: &Case, server: &KafkaServer, output: &mut (dyn Write + Send)) -> Report {
    let mut report = Report::default();
    let begun = Instant::now();
    let name = title(case);
    match run(case, server).await {
        Err(error @ Error::Missing { .. }) => {
            let _ = writeln!(output, "{name} ... skipped: {error}");
        }
        outcome => {
            report.count(outcome.is_ok());
            line(output, &name, outcome.map_err(|error| error.to_string()), begun.elapsed());
        }
    }
    report
}

async fn run(case: &Case, server: &KafkaServer) -> Result<()> {
    let samples = samples(case.room);
    // First of all what can be missing.
    let mut command = case.program.command()?;
    let topics: Vec<(Codec, String)> =
        case.codecs.iter().map(|codec| (*codec, format!("{}-{codec}", case.name.replace('_', "-")))).collect();
    create_topics(case, server, &topics).await?;
    command.arg(server.bootstrap());
    command.args(topics.iter().map(|(codec, topic)| format!("{codec}:{topic}"))).args(case.options);
    let before = now();
    let input = lines(&samples);
    // Apart from the runtime, which has better things to do than to wait.
    let written = tokio::task::spawn_blocking(move || feed(&mut command, &input, "a foreign client")).await;
    let written = written.map_err(|panic| Error::Other(panic.to_string()))??;
    let window = Window { from: before, to: now() };

    let offsets = String::from_utf8_lossy(&written.stdout).into_owned();
    for (codec, topic) in &topics {
        check_offsets(&offsets, topic, &samples)?;
        let wrong = |why: String| Error::Other(format!("{codec}: {why}"));
        same_as_consumed(case, &server.bootstrap(), topic, &samples, window).map_err(wrong)?;
        let stored = server.segments(topic, 0)?;
        same_as_stored(case, *codec, stored, &samples, window).map_err(wrong)?;
    }
    Ok(())
}

/// Topics in which records do not grow too old.
async fn create_topics(case: &Case, server: &KafkaServer, topics: &[(Codec, String)]) -> Result<()> {
    let other = |error: milena_client::Error| Error::Other(error.to_string());
    let config = ClientConfig { bootstrap: vec![server.bootstrap()], ..ClientConfig::default() };
    let client = Client::connect(config).await.map_err(other)?;
    for (_, name) in topics {
        if case.release == KafkaRelease::V0_10_0 {
            make_by_asking(&client, name).await?;
            continue;
        }
        let mut topic = NewTopic::new(name, 1, 1).with_config("retention.ms", "-1");
        for (setting, value) in case.topic {
            topic = topic.with_config(*setting, *value);
        }
        client.create_topic(topic).await.map_err(other)?;
    }
    Ok(())
}

/// Before CreateTopics, a broker made the topics that it was asked about.
pub(crate) async fn make_by_asking(client: &Client, name: &str) -> Result<()> {
    let topic = MetadataRequestTopic { name: Some(ByteString::from(name)), ..Default::default() };
    let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
    for _ in 0..100 {
        let response = client.send(Target::Any, &request).await.map_err(|error| Error::Other(error.to_string()))?;
        if response.topics.iter().all(|topic| topic.error_code == ErrorCode::NONE) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(Error::Other(format!("the broker does not make the topic {name}")))
}

/// The offsets that the client got for its records.
fn check_offsets(lines: &str, topic: &str, samples: &[Sample]) -> Result<()> {
    let got: Vec<&str> = lines.lines().filter_map(|line| line.strip_prefix(topic)?.strip_prefix(' ')).collect();
    let wanted: Vec<String> = (0..samples.len()).map(|offset| offset.to_string()).collect();
    if got == wanted {
        return Ok(());
    }
    Err(Error::Other(format!("{topic}: the client got the offsets {got:?}, wanted {wanted:?}")))
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
