//! The same seeded random requests to Apache Kafka and to the embedded broker, responses compared field by field.

mod acls;
mod compare;
mod deviation;
mod generate;
mod normal;
pub(crate) mod random;
mod records;
mod side;

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use milena_broker::{Broker, BrokerConfig};
use milena_schema::Spec;
use serde_json::{Value, json};

use crate::error::{Context, Error, Result};
use crate::kafka::{KafkaRelease, KafkaServer};
use crate::suite::{Report, line};
pub use acls::acls;
use compare::{Difference, compare};
use deviation::Deviations;
use generate::Generator;
use side::{Answer, Side};

/// How many requests a sequence has.
const STEPS: usize = 30;
/// So many sequences meet every intended deviation.
const ALL_ROWS: u64 = 300;
/// How long a side may take for a response that the other side has sent.
const PATIENCE: Duration = Duration::from_secs(4);
/// How long to wait before a response counts as held back, such as that to a JoinGroup which waits for other members.
const QUIET: Duration = Duration::from_millis(120);

/// Settings of Kafka that let sequences be short and keep records with old timestamps; the embedded broker has the same defaults.
const SETTINGS: [&str; 9] = [
    "group.consumer.assignment.interval.ms=0",
    "group.share.assignment.interval.ms=0",
    "group.streams.assignment.interval.ms=0",
    "group.streams.initial.rebalance.delay.ms=0",
    "offsets.topic.num.partitions=50",
    "transaction.state.log.num.partitions=50",
    "group.min.session.timeout.ms=1",
    "log.initial.task.delay.ms=86400000",
    "group.consumer.min.session.timeout.ms=1",
];

/// How many sequences to run, and from which seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DifferentialConfig {
    /// How many sequences.
    pub sequences: u64,
    /// The first one has this seed, each further one the next.
    pub seed: u64,
}

impl Default for DifferentialConfig {
    fn default() -> Self {
        Self { sequences: 25, seed: 1 }
    }
}

/// Sends the steps of a file to both brokers, in the form in which a failed sequence lists them, and writes both responses
/// to each. Lines in another form are ignored.
///
/// `kafka` is the address of an Apache Kafka that runs; without it one is started.
///
/// # Errors
/// The file cannot be read, a broker does not start, or a connection fails.
pub async fn replay(file: &Path, kafka: Option<&str>, out: &mut (dyn Write + Send)) -> Result<Report> {
    let text = std::fs::read_to_string(file).on(file)?;
    let started = match kafka {
        Some(_) => None,
        None => Some(KafkaServer::start_release(KafkaRelease::Newest, &SETTINGS)?),
    };
    let address = match (&started, kafka) {
        (Some(started), _) => started.bootstrap(),
        (None, address) => address.unwrap_or_default().to_owned(),
    };
    let broker = Broker::start(BrokerConfig::default()).await.map_err(|error| Error::Other(error.to_string()))?;
    let mut sides = [Side::new("kafka", &address), Side::new("milena", &broker.bootstrap())];
    sides.iter_mut().for_each(|side| side.symbols.keeps_texts = true);
    let (mut steps, mut report) = (Vec::new(), Report::default());
    for step in text.lines().filter_map(Step::parse) {
        let number = steps.len();
        let _ = writeln!(out, "{number}: {step}");
        for side in &mut sides {
            side.send(number, &step).await?;
        }
        steps.push(step);
        let answers = match answers(&mut sides, &steps, number, "").await? {
            Ok(answers) => answers,
            Err(why) => {
                report.count(false);
                let _ = writeln!(out, "{why}");
                continue;
            }
        };
        for (number, kafka, milena) in answers {
            let differences = compare(&kafka, &milena);
            report.count(differences.is_empty());
            let _ = writeln!(out, "{number} -> {kafka}");
            if !differences.is_empty() {
                let _ = writeln!(out, "milena: {milena}");
            }
            for difference in differences {
                let _ = writeln!(out, "    {difference}");
            }
        }
    }
    broker.shutdown().await;
    Ok(report)
}

/// One request, with symbols in place of ids that the brokers choose.
#[derive(Clone, Debug)]
struct Step {
    connection: usize,
    api: &'static str,
    version: i16,
    body: Value,
}

impl Step {
    /// Reads what `Display` writes, perhaps with a number in front.
    fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        let line = line.split_once(": c").map_or(line, |(_, rest)| &line[line.len() - rest.len() - 1..]);
        let mut words = line.splitn(4, ' ');
        let connection = words.next()?.strip_prefix('c')?.parse().ok()?;
        let api = &*Spec::kafka().api_named(words.next()?).ok()?.name;
        let version = words.next()?.strip_prefix('v')?.parse().ok()?;
        let body = serde_json::from_str(words.next()?).ok()?;
        Some(Self { connection, api, version, body })
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "c{} {} v{} {}", self.connection, self.api, self.version, self.body)
    }
}

/// Starts both brokers and compares them.
///
/// A difference that no row of `interop/deviations.md` covers fails its sequence, and so does a row that no
/// difference met.
///
/// # Errors
/// A broker does not start, or a connection to it fails.
pub async fn differential(config: DifferentialConfig, out: &mut (dyn Write + Send)) -> Result<Report> {
    let kafka = KafkaServer::start_release(KafkaRelease::Newest, &SETTINGS)?;
    let broker = Broker::start(BrokerConfig::default()).await.map_err(|error| Error::Other(error.to_string()))?;
    let mut deviations = Deviations::read()?;
    let mut report = Report::default();
    for seed in config.seed..config.seed.saturating_add(config.sequences) {
        let begun = Instant::now();
        let mut sides = [Side::new("kafka", &kafka.bootstrap()), Side::new("milena", &broker.bootstrap())];
        let outcome = match sequence(seed, &mut sides, &mut deviations).await {
            Ok(outcome) => outcome,
            Err(error) => Err(error.to_string()),
        };
        report.count(outcome.is_ok());
        line(out, &format!("differential::seed_{seed}"), outcome, begun.elapsed());
    }
    // A single sequence need not meet every row.
    for unmet in deviations.unmet().into_iter().filter(|_| config.sequences >= ALL_ROWS) {
        report.count(false);
        line(out, "differential::deviations", Err(format!("no difference met the row {unmet}")), Duration::ZERO);
    }
    broker.shutdown().await;
    Ok(report)
}

/// The requests of one seed. The first difference ends it: from there on the brokers may be in different states.
async fn sequence(seed: u64, sides: &mut [Side; 2], deviations: &mut Deviations) -> Result<Result<(), String>> {
    let prefix = format!("d{seed}-");
    let mut generator = Generator::new(seed);
    let mut said: Vec<String> = Vec::new();
    let mut steps: Vec<Step> = Vec::new();
    for number in 0..STEPS {
        let busy = sides[0].busy();
        let step = match generator.setup(number) {
            Some(step) => step,
            None => generator.step(&busy),
        };
        said.push(format!("{number}: {step}"));
        for side in sides.iter_mut() {
            side.send(number, &step).await?;
        }
        steps.push(step);
        let answers = match answers(sides, &steps, number, &prefix).await? {
            Ok(answers) => answers,
            Err(why) => return Ok(Err(format!("{why}\n{}", said.join("\n")))),
        };
        for (number, kafka, milena) in answers {
            let step = &steps[number];
            said.push(format!("{number} -> {kafka}"));
            let differences: Vec<Difference> =
                compare(&kafka, &milena).into_iter().filter(|one| !deviations.cover(step.api, one)).collect();
            if !differences.is_empty() {
                let list: Vec<String> = differences.iter().map(ToString::to_string).collect();
                let why = format!("{} v{}: {} (step {number}: {step})", step.api, step.version, list.join("; "));
                return Ok(Err(format!("{why}\nmilena: {milena}\n{}", said.join("\n"))));
            }
            generator.observe(step, &kafka);
        }
    }
    Ok(Ok(()))
}

/// Leaves out of lists of everything what other sequences left, whose brokers may be in different states.
fn own(step: &Step, value: &mut Value, prefix: &str) {
    let everything = step.body["topics"].is_null() || (step.version == 0 && step.body["topics"] == json!([]));
    let (list, name) = match step.api {
        "ListGroups" => ("groups", "/groupId"),
        "ListTransactions" => ("transactionStates", "/transactionalId"),
        "ListConfigResources" => ("configResources", "/resourceName"),
        "DescribeClientQuotas" => ("entries", "/entity/0/entityName"),
        "Metadata" if everything => ("topics", "/name"),
        _ => return,
    };
    if let Some(Value::Array(list)) = value.get_mut(list) {
        list.retain(|one| one.pointer(name).and_then(Value::as_str).is_some_and(|name| name.starts_with(prefix)));
    }
}

type Pair = (usize, Value, Value);

/// What came of the steps that wait, when both sides responded to the same ones.
async fn answers(
    sides: &mut [Side; 2],
    steps: &[Step],
    number: usize,
    prefix: &str,
) -> Result<Result<Vec<Pair>, String>> {
    for side in sides.iter_mut() {
        side.receive(QUIET).await?;
        side.settle(number, &steps[number]).await?;
    }
    let until = Instant::now() + PATIENCE;
    loop {
        let [kafka, milena] = &sides;
        if kafka.arrived() == milena.arrived() {
            break;
        }
        if Instant::now() > until {
            let (kafka, milena) = (kafka.arrived(), milena.arrived());
            return Ok(Err(format!("Kafka responded to steps {kafka:?}, the embedded broker to {milena:?}")));
        }
        for side in sides.iter_mut() {
            side.receive(Duration::from_millis(20)).await?;
        }
    }
    let [kafka, milena] = sides;
    let (kafka, milena) = (take(kafka, steps, prefix)?, take(milena, steps, prefix)?);
    Ok(Ok(kafka.into_iter().zip(milena).map(|((number, kafka), (_, milena))| (number, kafka, milena)).collect()))
}

/// The responses of a side, in the order of the requests, with symbols in place of ids.
fn take(side: &mut Side, steps: &[Step], prefix: &str) -> Result<Vec<(usize, Value)>> {
    let mut taken = Vec::new();
    for (number, answer) in side.take() {
        let mut value = match answer {
            Answer::Closed => json!("closed"),
            Answer::Body(bytes) => {
                let step = &steps[number];
                let message = Spec::kafka().message(&format!("{}Response", step.api));
                let message = message.map_err(|error| Error::Other(error.to_string()))?;
                let decoded = message.decode(bytes, step.version);
                decoded.map_err(|error| Error::Other(format!("{} by {}: {error}", step.api, side.name)))?.json
            }
        };
        own(&steps[number], &mut value, prefix);
        side.symbols.learn_top(&value);
        records::expand(&mut value).map_err(Error::Other)?;
        taken.push((number, value));
    }
    for (number, value) in &mut taken {
        side.symbols.normalise(steps[*number].api, value);
    }
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_read_as_it_is_written() {
        let step = Step { connection: 3, api: "DescribeCluster", version: 2, body: json!({"endpointType": 2}) };
        for line in [format!("{step}"), format!("    12: {step}")] {
            let read = Step::parse(&line).unwrap();
            assert_eq!(read.to_string(), step.to_string());
        }
        assert!(Step::parse("12 -> {}").is_none());
        assert!(Step::parse("1: c0 NoSuchApi v2 {}").is_none());
    }
}
