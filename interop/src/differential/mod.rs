//! The same seeded random requests to Apache Kafka and to the embedded broker, responses compared field by field.

mod compare;
mod deviation;
mod generate;
mod normal;
pub(crate) mod random;
mod records;
mod side;

use std::io::Write;
use std::time::{Duration, Instant};

use milena_broker::{Broker, BrokerConfig};
use milena_schema::Spec;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::kafka::{KafkaRelease, KafkaServer};
use crate::suite::{Report, line};
use compare::{Difference, compare};
use deviation::Deviations;
use generate::Generator;
use side::{Answer, Side};

/// How many requests a sequence has.
const STEPS: usize = 30;
/// How long a side may take for a response that the other side has sent.
const PATIENCE: Duration = Duration::from_secs(4);
/// How long to wait before a response counts as held back, such as that to a JoinGroup which waits for other members.
const QUIET: Duration = Duration::from_millis(120);

/// Settings of Kafka that let sequences be short and keep records with old timestamps; the embedded broker has the same defaults.
const SETTINGS: [&str; 3] =
    ["group.min.session.timeout.ms=1", "log.initial.task.delay.ms=86400000", "group.consumer.min.session.timeout.ms=1"];

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

/// One request, with symbols in place of ids that the brokers choose.
#[derive(Clone, Debug)]
struct Step {
    connection: usize,
    api: &'static str,
    version: i16,
    body: Value,
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
    for unmet in deviations.unmet() {
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
        side.settle(&steps[number]).await?;
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
        // What other sequences left, whose brokers may be in different states.
        for (list, id) in [("groups", "groupId"), ("transactionStates", "transactionalId")] {
            if let (true, Value::Array(list)) =
                (steps[number].api.starts_with("List"), value.get_mut(list).unwrap_or(&mut Value::Null))
            {
                list.retain(|one| one[id].as_str().is_some_and(|id| id.starts_with(prefix)));
            }
        }
        side.symbols.learn_top(&value);
        records::expand(&mut value).map_err(Error::Other)?;
        taken.push((number, value));
    }
    for (number, value) in &mut taken {
        side.symbols.normalise(steps[*number].api, value);
    }
    Ok(taken)
}
