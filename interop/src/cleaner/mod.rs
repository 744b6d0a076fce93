//! The same seeded random logs in Apache Kafka and in the embedded broker: what is left after compaction and retention.

mod log;
mod side;

use std::io::Write;
use std::time::{Duration, Instant};

use milena_broker::{Broker, BrokerConfig};

use self::log::{Step, steps};
use self::side::Side;
use crate::error::{Error, Result};
use crate::kafka::{KafkaRelease, KafkaServer};
use crate::suite::{Report, line};

/// Kafka looks for logs to compact and to cut all the time; what is due is up to the settings of topics.
const SETTINGS: [&str; 3] =
    ["log.cleaner.backoff.ms=100", "log.initial.task.delay.ms=100", "log.retention.check.interval.ms=200"];

/// How long Kafka may take to compact a log.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts both brokers, and compares `count` logs, of which the first has this seed and each further one the next.
///
/// # Errors
/// A broker does not start.
pub async fn cleaner(seed: u64, count: u64, out: &mut (dyn Write + Send)) -> Result<Report> {
    let kafka = KafkaServer::start_release(KafkaRelease::Newest, &SETTINGS)?;
    let broker = Broker::start(BrokerConfig::default()).await.map_err(|error| Error::Other(error.to_string()))?;
    let mut report = Report::default();
    for seed in seed..seed.saturating_add(count) {
        let begun = Instant::now();
        let outcome = compare(seed, &kafka, &broker).await.map_err(|failure| failure.to_string());
        report.count(outcome.is_ok());
        line(out, &format!("cleaner::seed_{seed}"), outcome, begun.elapsed());
    }
    broker.shutdown().await;
    Ok(report)
}

async fn compare(seed: u64, kafka: &KafkaServer, broker: &Broker) -> crate::suite::Outcome {
    let topic = format!("log-{seed}");
    let mut sides = [Side::new(&kafka.bootstrap(), &topic).await?, Side::new(&broker.bootstrap(), &topic).await?];
    let (settings, rounds) = steps(seed);
    for side in &mut sides {
        side.create(&settings).await?;
    }
    let mut compacted_to = 0;
    for (number, round) in rounds.iter().enumerate() {
        for step in round {
            for side in &mut sides {
                side.step(step).await.map_err(|failure| format!("round {number}, {step:?}: {failure}"))?;
            }
        }
        let end = cleanable_end(kafka, &topic, sides[0].stable_offset().await?)?;
        // Without a segment that was not compacted yet, Kafka does nothing.
        if end > compacted_to {
            sides[0].step(&Step::configure("min.cleanable.dirty.ratio", "0")).await?;
            wait_for_kafka(kafka, &topic, end).await?;
            sides[0].step(&Step::configure("min.cleanable.dirty.ratio", "1")).await?;
            broker.cluster().compact();
            compacted_to = end;
        }
        let [theirs, ours] = &mut sides;
        let (theirs, ours) = (theirs.left().await?, ours.left().await?);
        if theirs != ours {
            let at = theirs.iter().zip(&ours).take_while(|(one, other)| one == other).count();
            let show = |all: &[String]| {
                all.iter().skip(at.saturating_sub(1)).take(4).cloned().collect::<Vec<_>>().join("\n  ")
            };
            return Err(format!(
                "round {number}, line {at}:\nKafka, {} lines:\n  {}\nmilena, {} lines:\n  {}\n{:?}",
                theirs.len(),
                show(&theirs),
                ours.len(),
                show(&ours),
                round
            )
            .into());
        }
    }
    Ok(())
}

/// Where the segment begins up to which Kafka can compact: the one with the first open transaction, or the active one.
fn cleanable_end(kafka: &KafkaServer, topic: &str, stable: i64) -> std::result::Result<i64, crate::suite::Failure> {
    let mut end = 0;
    for entry in std::fs::read_dir(kafka.log_folder().join(format!("{topic}-0")))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let base = name.strip_suffix(".log").and_then(|base| base.parse().ok()).unwrap_or(0);
        end = if base <= stable { end.max(base) } else { end };
    }
    Ok(end)
}

/// Waits until Kafka's cleaner has come to this offset.
async fn wait_for_kafka(kafka: &KafkaServer, topic: &str, offset: i64) -> crate::suite::Outcome {
    let checkpoint = kafka.log_folder().join("cleaner-offset-checkpoint");
    let wanted = format!("{topic} 0 {offset}");
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let text = std::fs::read_to_string(&checkpoint).unwrap_or_default();
        if text.lines().any(|line| line == wanted) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let text = std::fs::read_to_string(&checkpoint).unwrap_or_default();
    Err(format!("Kafka did not compact up to {offset} within {PATIENCE:?}: {text}").into())
}
