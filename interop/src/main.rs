//! Runs the behaviour suite: `cargo xtask interop`.

use std::process::ExitCode;
use std::time::Instant;

use milena_broker::{Broker, BrokerConfig};
use milena_interop::{
    DifferentialConfig, Error, KafkaRelease, KafkaServer, Report, cleaner, control, differential, failures,
    foreign_writers, line, python_clients, releases, suite,
};

const USAGE: &str = "\
usage: cargo xtask interop [--only NAME] [--bootstrap HOST:PORT] [--skip-missing]
                           [--sequences N] [--seed S] [FILTER]

Runs the behaviour suite against Apache Kafka, which Maven fetches, and against the embedded broker; runs the binary
`milena` against brokers that throttle, refuse, stop and come back; and lets foreign clients write to Apache Kafka 4.4, 0.10.2
and 0.10.0, and reads with `milena` what they wrote.

  --only NAME            one part: the suite against Apache Kafka, `milena` with brokers that throttle, refuse and stop,
                         foreign clients, the embedded broker, random requests to Kafka and the embedded broker,
                         the example programs in Python, Go and Java, random logs that both compact and cut, the suite
                         with releases from 0.10.0 to 2.8: kafka, failures, foreign, embedded, differential, control,
                         cleaner, releases
  --bootstrap HOST:PORT  against a broker that runs already, and nothing else
  --skip-missing         skip, with a note, what needs Java or Maven if they are not installed; Python is always optional
  --sequences N          how many sequences of random requests; 25 unless given
  --seed S               the seed of the first sequence, each further one has the next; 1 unless given
  FILTER                 only scenarios whose name contains this";

#[derive(Debug, PartialEq, Eq)]
enum Brokers {
    All,
    Kafka,
    Failures,
    Foreign,
    Embedded,
    Differential,
    Control,
    Cleaner,
    Releases,
    Running(String),
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    brokers: Brokers,
    skip_missing: bool,
    filter: String,
    differential: DifferentialConfig,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let options = match parse(&args) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("error: {error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options).await {
        Ok(report) => {
            println!("\n{report}");
            if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(args: &[String]) -> Result<Options, String> {
    let mut options = Options {
        brokers: Brokers::All,
        skip_missing: false,
        filter: String::new(),
        differential: DifferentialConfig::default(),
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--only" => {
                options.brokers = match args.next().map(String::as_str) {
                    Some("kafka") => Brokers::Kafka,
                    Some("failures") => Brokers::Failures,
                    Some("foreign") => Brokers::Foreign,
                    Some("embedded") => Brokers::Embedded,
                    Some("differential") => Brokers::Differential,
                    Some("cleaner") => Brokers::Cleaner,
                    Some("control") => Brokers::Control,
                    Some("releases") => Brokers::Releases,
                    _ => {
                        let known = "`kafka`, `failures`, `foreign`, `embedded`, `differential`, `control`, `cleaner` or `releases`";
                        return Err(format!("--only takes {known}"));
                    }
                }
            }
            "--bootstrap" => {
                options.brokers = Brokers::Running(args.next().ok_or("--bootstrap takes HOST:PORT")?.clone());
            }
            "--sequences" => {
                options.differential.sequences = number(args.next()).ok_or("--sequences takes a number")?
            }
            "--seed" => options.differential.seed = number(args.next()).ok_or("--seed takes a number")?,
            "--skip-missing" => options.skip_missing = true,
            unknown if unknown.starts_with('-') => return Err(format!("there is no option {unknown}")),
            filter => options.filter = filter.to_owned(),
        }
    }
    Ok(options)
}

fn number(text: Option<&String>) -> Option<u64> {
    text?.parse().ok()
}

async fn run(options: &Options) -> milena_interop::Result<Report> {
    let mut report = Report::default();
    if let Brokers::Running(bootstrap) = &options.brokers {
        return Ok(suite("running", bootstrap, &options.filter, &mut std::io::stdout()).await);
    }
    if matches!(options.brokers, Brokers::All | Brokers::Kafka) {
        report = report.and(skippable(options, "kafka", kafka(options).await)?);
    }
    if matches!(options.brokers, Brokers::All | Brokers::Failures) {
        eprintln!("milena with brokers that throttle, refuse, stop and come back: two nodes of 4.4, and one of 0.10.0");
        report = report.and(failures(&options.filter, options.skip_missing, &mut std::io::stdout()).await?);
    }
    if matches!(options.brokers, Brokers::All | Brokers::Foreign) {
        report = report.and(foreign(options).await?);
    }
    if matches!(options.brokers, Brokers::All | Brokers::Embedded) {
        report = report.and(embedded(options).await?);
    }
    if matches!(options.brokers, Brokers::All | Brokers::Differential) && "differential".contains(&options.filter) {
        eprintln!("the same random requests to Apache Kafka 4.4 and to the embedded broker");
        let compared = differential(options.differential, &mut std::io::stdout()).await;
        report = report.and(skippable(options, "differential", compared)?);
    }
    if matches!(options.brokers, Brokers::All | Brokers::Control) {
        report = report.and(examples(options).await?);
    }
    if matches!(options.brokers, Brokers::All | Brokers::Cleaner) && "cleaner".contains(&options.filter) {
        eprintln!("the same random logs in Apache Kafka 4.4 and the embedded broker, compacted and cut by both");
        let DifferentialConfig { sequences, seed } = options.differential;
        let compared = cleaner(seed, sequences, &mut std::io::stdout()).await;
        report = report.and(skippable(options, "cleaner", compared)?);
    }
    if matches!(options.brokers, Brokers::All | Brokers::Releases) {
        eprintln!(
            "the suite against Apache Kafka 2.8, 0.11, 0.10.2 and 0.10.0, and the embedded broker that acts as each"
        );
        report = report.and(releases(&options.filter, options.skip_missing, &mut std::io::stdout()).await?);
    }
    Ok(report)
}

/// The example programs in other languages, outside of the runtime.
async fn examples(options: &Options) -> milena_interop::Result<Report> {
    eprintln!("programs in Python, Go and Java against `milena broker`");
    let filter = options.filter.clone();
    let run = tokio::task::spawn_blocking(move || control(&filter, &mut std::io::stdout())).await;
    run.map_err(|panic| Error::Other(panic.to_string()))?
}

async fn embedded(options: &Options) -> milena_interop::Result<Report> {
    let broker = Broker::start(BrokerConfig::default()).await.map_err(|error| Error::Other(error.to_string()))?;
    let bootstrap = broker.bootstrap();
    eprintln!("the embedded broker listens at {bootstrap}");
    let report = suite("embedded", &bootstrap, &options.filter, &mut std::io::stdout()).await;
    let report = report.and(clients("embedded", &bootstrap, options).await?);
    broker.shutdown().await;
    Ok(report)
}

async fn kafka(options: &Options) -> milena_interop::Result<Report> {
    let begun = Instant::now();
    eprintln!("starting Apache Kafka; the first time Maven fetches it, which takes a minute");
    let kafka = KafkaServer::start()?;
    let (bootstrap, apis, ms) = (kafka.bootstrap(), kafka.apis(), begun.elapsed().as_millis());
    eprintln!("Apache Kafka serves {apis} APIs at {bootstrap} after {ms} ms");
    let report = suite("kafka", &bootstrap, &options.filter, &mut std::io::stdout()).await;
    let report = report.and(clients("kafka", &bootstrap, options).await?);
    if report.failed > 0 {
        eprintln!("the end of Kafka's log:\n{}", kafka.log());
    }
    Ok(report)
}

async fn foreign(options: &Options) -> milena_interop::Result<Report> {
    eprintln!("foreign clients write to Apache Kafka 4.4, 0.10.2 and 0.10.0, each started when it is needed");
    foreign_writers(&KafkaRelease::ALL, &options.filter, options.skip_missing, &mut std::io::stdout()).await
}

/// Foreign clients, one line for all of them, with their output only if something is wrong.
async fn clients(broker: &str, bootstrap: &str, options: &Options) -> milena_interop::Result<Report> {
    const NAME: &str = "python_clients_read_what_each_other_wrote";
    let mut report = Report::default();
    if !NAME.contains(&options.filter) {
        return Ok(report);
    }
    let begun = Instant::now();
    let bootstrap = bootstrap.to_owned();
    // Outside the runtime, which runs the embedded broker.
    let outcome = tokio::task::spawn_blocking(move || python_clients(&bootstrap)).await;
    let failure = match outcome.map_err(|panic| Error::Other(panic.to_string()))? {
        Ok(_) => None,
        // It cannot be tried here, so that nothing is known of the broker.
        Err(error @ Error::Missing { .. }) => {
            println!("{broker}::{NAME} ... skipped: {error}");
            return Ok(report);
        }
        Err(error) => Some(error.to_string()),
    };
    report.count(failure.is_none());
    line(&mut std::io::stdout(), &format!("{broker}::{NAME}"), failure.map_or(Ok(()), Err), begun.elapsed());
    Ok(report)
}

/// Skips a part for which a program is not installed, if that is allowed.
fn skippable(options: &Options, name: &str, outcome: milena_interop::Result<Report>) -> milena_interop::Result<Report> {
    match outcome {
        Err(error @ Error::Missing { .. }) if options.skip_missing => {
            println!("{name} ... skipped: {error}");
            Ok(Report::default())
        }
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Options, String> {
        parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_and_unknown_ones_refused() {
        let differential = DifferentialConfig::default();
        let all = Options { brokers: Brokers::All, skip_missing: false, filter: String::new(), differential };
        assert_eq!(parsed(&[]), Ok(all));
        let one = Options { brokers: Brokers::Embedded, skip_missing: true, filter: "fetch".into(), differential };
        assert_eq!(parsed(&["--only", "embedded", "--skip-missing", "fetch"]), Ok(one));
        assert_eq!(parsed(&["--only", "foreign"]).unwrap().brokers, Brokers::Foreign);
        assert_eq!(parsed(&["--bootstrap", "h:1"]).unwrap().brokers, Brokers::Running("h:1".into()));
        let parts = parsed(&["--only", "differential", "--sequences", "500", "--seed", "7"]).unwrap();
        assert_eq!(parts.brokers, Brokers::Differential);
        assert_eq!(parts.differential, DifferentialConfig { sequences: 500, seed: 7 });
        assert!(parsed(&["--seed", "x"]).is_err());
        assert!(parsed(&["--only"]).is_err());
        assert!(parsed(&["--only", "zookeeper"]).is_err());
        assert!(parsed(&["--bootstrap"]).is_err());
        assert!(parsed(&["--fast"]).is_err());
    }
}
