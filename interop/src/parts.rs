//! What `cargo xtask interop` runs, a part each.

use std::future::Future;
use std::io::stdout;
use std::pin::Pin;
use std::time::Instant;

use milena_broker::{Broker, BrokerConfig};
use milena_interop::{
    DifferentialConfig, Error, KafkaRelease, KafkaServer, Report, Result, acls, chaos, cleaner, control, differential,
    failures, foreign_writers, line, logins, python_clients, releases, replay, suite, suites,
};

use crate::options::Options;

/// One part.
pub(crate) struct Part {
    /// As `--only` selects it.
    pub(crate) name: &'static str,
    /// What it compares.
    pub(crate) title: &'static str,
    /// Whether its one scenario has the part's name, so that a filter for others leaves it out.
    single: bool,
    /// Whether it runs only when `--only` names it.
    on_request: bool,
    run: for<'a> fn(&'a Options) -> Running<'a>,
}

type Running<'a> = Pin<Box<dyn Future<Output = Result<Report>> + 'a>>;

/// In the order in which they run.
pub(crate) const PARTS: &[Part] = &[
    Part {
        name: "kafka",
        title: "the behaviour suite against Apache Kafka 4.4",
        single: false,
        on_request: false,
        run: |options| Box::pin(kafka(options)),
    },
    Part {
        name: "failures",
        title: "`milena` with brokers that throttle, refuse, stop and come back: two nodes of 4.4, and one of 0.10.0",
        single: false,
        on_request: false,
        run: |options| Box::pin(async { failures(&options.filter, options.skip_missing, &mut stdout()).await }),
    },
    Part {
        name: "foreign",
        title: "foreign clients write to Apache Kafka 4.4, 0.10.2 and 0.10.0, and `milena` reads",
        single: false,
        on_request: false,
        run: |options| {
            Box::pin(async {
                foreign_writers(&KafkaRelease::ALL, &options.filter, options.skip_missing, &mut stdout()).await
            })
        },
    },
    Part {
        name: "embedded",
        title: "the behaviour suite against the embedded broker",
        single: false,
        on_request: false,
        run: |options| Box::pin(embedded(options)),
    },
    Part {
        name: "differential",
        title: "the same random requests to Apache Kafka 4.4 and to the embedded broker",
        single: true,
        on_request: false,
        run: |options| Box::pin(async { differential(options.differential, &mut stdout()).await }),
    },
    Part {
        name: "acls",
        title: "the same requests as users with different ACLs to Apache Kafka 4.4 and to the embedded broker",
        single: false,
        on_request: false,
        run: |options| {
            // All requests are sent as each user: a few random ones are enough in a run of everything.
            let sequences = options.users.unwrap_or(2);
            let config = DifferentialConfig { sequences, ..options.differential };
            Box::pin(async move { acls(config, &options.filter, &mut stdout()).await })
        },
    },
    Part {
        name: "control",
        title: "programs in Python, Go and Java against `milena broker`",
        single: false,
        on_request: false,
        run: |options| {
            let filter = options.filter.clone();
            Box::pin(blocking(move || control(&filter, &mut stdout())))
        },
    },
    Part {
        name: "login",
        title: "the same logins to Apache Kafka 4.4 and to the embedded broker, and those of foreign clients",
        single: false,
        on_request: true,
        run: |options| Box::pin(async { logins(&options.filter, &mut stdout()).await }),
    },
    Part {
        name: "cleaner",
        title: "the same random logs in Apache Kafka 4.4 and the embedded broker, compacted and cut by both",
        single: true,
        on_request: true,
        run: |options| {
            let DifferentialConfig { sequences, seed } = options.differential;
            Box::pin(async move { cleaner(seed, sequences, &mut stdout()).await })
        },
    },
    Part {
        name: "releases",
        title: "the suite against Kafka 2.8, 0.11, 0.10.2 and 0.10.0, and the embedded broker that acts as each",
        single: false,
        on_request: false,
        run: |options| Box::pin(async { releases(&options.filter, options.skip_missing, &mut stdout()).await }),
    },
    Part {
        name: "chaos",
        title: "50 clients of three kinds write to an embedded cluster that fails at random",
        single: true,
        on_request: false,
        run: |options| Box::pin(async { chaos(options.chaos, &mut stdout()).await }),
    },
    Part {
        name: "suites",
        title: "test suites of other clients, and Kafka's tools, against `milena broker`",
        single: false,
        on_request: false,
        run: |options| {
            let config = options.suites.clone();
            Box::pin(blocking(move || suites(&config, &mut stdout())))
        },
    },
];

/// Runs what the options ask for.
pub(crate) async fn run(options: &Options) -> Result<Report> {
    if let Some(steps) = &options.steps {
        return replay(steps, options.bootstrap.as_deref(), &mut stdout()).await;
    }
    if let Some(bootstrap) = &options.bootstrap {
        return Ok(suite("running", bootstrap, &options.filter, &mut stdout()).await);
    }
    let mut report = Report::default();
    let wanted = |part: &&Part| options.only.map_or(!part.on_request, |only| only == part.name);
    for part in PARTS.iter().filter(wanted).filter(|part| !part.single || part.name.contains(&options.filter)) {
        eprintln!("{}", part.title);
        match (part.run)(options).await {
            Err(error @ Error::Missing { .. }) if options.skip_missing => {
                println!("{} ... skipped: {error}", part.name);
            }
            outcome => report = report.and(outcome?),
        }
    }
    Ok(report)
}

/// Outside the runtime.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|panic| Error::Other(panic.to_string()))?
}

async fn embedded(options: &Options) -> Result<Report> {
    let broker = Broker::start(BrokerConfig::default()).await.map_err(|error| Error::Other(error.to_string()))?;
    let bootstrap = broker.bootstrap();
    eprintln!("the embedded broker listens at {bootstrap}");
    let report = suite("embedded", &bootstrap, &options.filter, &mut stdout()).await;
    let report = report.and(clients("embedded", &bootstrap, options).await?);
    broker.shutdown().await;
    Ok(report)
}

async fn kafka(options: &Options) -> Result<Report> {
    let begun = Instant::now();
    eprintln!("starting Apache Kafka; the first time Maven fetches it, which takes a minute");
    let kafka = KafkaServer::start()?;
    let (bootstrap, apis, ms) = (kafka.bootstrap(), kafka.apis(), begun.elapsed().as_millis());
    eprintln!("Apache Kafka serves {apis} APIs at {bootstrap} after {ms} ms");
    let report = suite("kafka", &bootstrap, &options.filter, &mut stdout()).await;
    let report = report.and(clients("kafka", &bootstrap, options).await?);
    if report.failed > 0 {
        eprintln!("the end of Kafka's log:\n{}", kafka.log());
    }
    Ok(report)
}

/// Foreign clients, one line for all of them, with their output only if something is wrong.
async fn clients(broker: &str, bootstrap: &str, options: &Options) -> Result<Report> {
    const NAME: &str = "python_clients_read_what_each_other_wrote";
    let mut report = Report::default();
    if !NAME.contains(&options.filter) {
        return Ok(report);
    }
    let begun = Instant::now();
    let bootstrap = bootstrap.to_owned();
    let failure = match blocking(move || python_clients(&bootstrap)).await {
        Ok(_) => None,
        // It cannot be tried here, so that nothing is known of the broker.
        Err(error @ Error::Missing { .. }) => {
            println!("{broker}::{NAME} ... skipped: {error}");
            return Ok(report);
        }
        Err(error) => Some(error.to_string()),
    };
    report.count(failure.is_none());
    line(&mut stdout(), &format!("{broker}::{NAME}"), failure.map_or(Ok(()), Err), begun.elapsed());
    Ok(report)
}
