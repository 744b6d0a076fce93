//! Many clients write while the cluster fails at random: what was acknowledged has to be there, once and in its order.

mod check;
mod monkey;

use std::io::{BufRead as _, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use milena_broker::{BrokerCluster, BrokerConfig, ClusterConfig};
use milena_client::{Client, ClientConfig, FetchOptions, Isolation, RangeOptions, Start, Stop};

use self::check::{History, Logged};
use self::monkey::Monkey;
use crate::command::{GO, tail};
use crate::error::{Context, Error, Result};
use crate::java::java_client;
use crate::place;
use crate::python::python_client;
use crate::suite::{Report, line};

const NODES: usize = 3;
const PARTITIONS: i32 = 6;
/// The Java client of today.
const JAVA: &str = "4.4.0";
/// How long clients may take to finish what they began, and open transactions to end.
const PATIENCE: Duration = Duration::from_secs(150);

/// How the run is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChaosConfig {
    /// How long things go wrong, in seconds.
    pub seconds: u64,
    /// Clients of all kinds together.
    pub clients: usize,
    /// Decides what goes wrong.
    pub seed: u64,
}

impl Default for ChaosConfig {
    fn default() -> Self {
        Self { seconds: 20, clients: 50, seed: 1 }
    }
}

/// A kind of client: how its values begin, and its program.
type Kind = (&'static str, fn() -> Result<Command>);

const KINDS: [Kind; 3] = [("rd", librdkafka), ("go", go), ("java", || java_client("Chaos", JAVA))];

/// Lets clients on librdkafka, franz-go and Java's own client write to an embedded cluster of three nodes whose leaders and
/// coordinators move, whose nodes come and go, and whose requests fail, and compares their responses with the logs.
///
/// The same is done for a few seconds with a cluster that loses records: that has to be found.
///
/// # Errors
/// The cluster does not start; no kind of client can be run.
pub async fn chaos(config: ChaosConfig, output: &mut (dyn Write + Send)) -> Result<Report> {
    let mut report = Report::default();
    let _ = writeln!(output, "chaos: seed {}, {} clients, {} s", config.seed, config.clients, config.seconds);
    let planted = ChaosConfig { seconds: config.seconds.min(5), ..config };
    for (name, config, loses) in [("lost_records_are_found", planted, true), ("the_history_is_exact", config, false)] {
        let begun = Instant::now();
        let outcome = run(config, loses, output).await?;
        let outcome = match (loses, outcome.is_empty()) {
            (false, true) | (true, false) => Ok(()),
            (true, true) => Err("records were lost, and nothing was found".to_owned()),
            (false, false) => Err(outcome.join("\n")),
        };
        report.count(outcome.is_ok());
        line(output, &format!("chaos::{name}"), outcome, begun.elapsed());
    }
    Ok(report)
}

/// What is wrong after a run.
async fn run(config: ChaosConfig, loses: bool, output: &mut (dyn Write + Send)) -> Result<Vec<String>> {
    let other = |error: milena_broker::BrokerError| Error::Other(error.to_string());
    let broker = BrokerConfig { requests_kept: 0, ..BrokerConfig::default() };
    let started = BrokerCluster::start(ClusterConfig { nodes: NODES, broker, ..ClusterConfig::default() }).await;
    let cluster = started.map_err(other)?;
    for topic in ["plain", "tx"] {
        cluster.create_topic(topic, PARTITIONS, NODES as i16).map_err(other)?;
    }
    let (history, kinds) = write_meanwhile(&cluster, config, loses, output).await?;
    let _ = writeln!(output, "    {}", history.summary());
    let mut wrong: Vec<String> = kinds
        .into_iter()
        .filter(|kind| !loses && (history.count(kind).0 == 0 || history.count(&format!("{kind}tx")).1 == 0))
        .map(|kind| format!("the clients of {kind} got nothing done"))
        .collect();
    wait_for_transactions(&cluster).await?;
    let client = ClientConfig { bootstrap: vec![cluster.bootstrap()], ..ClientConfig::default() };
    let client = Client::connect(client).await.map_err(|error| Error::Other(error.to_string()))?;
    let plain = read(&client, "plain", Isolation::ReadUncommitted).await?;
    let transactional = read(&client, "tx", Isolation::ReadCommitted).await?;
    wrong.append(&mut history.check(&plain, &transactional));
    wrong.truncate(20);
    cluster.shutdown().await;
    Ok(wrong)
}

/// Runs the clients while things go wrong; gives what they said, and which kinds ran.
async fn write_meanwhile(
    cluster: &BrokerCluster,
    config: ChaosConfig,
    loses: bool,
    output: &mut (dyn Write + Send),
) -> Result<(History, Vec<&'static str>)> {
    let mut commands = Vec::new();
    for (kind, program) in KINDS {
        // Programs are built here, before the time begins.
        match tokio::task::spawn_blocking(program).await.map_err(|panic| Error::Other(panic.to_string()))? {
            Err(error @ Error::Missing { .. }) => _ = writeln!(output, "    without {kind}: {error}"),
            command => commands.push((kind, command?)),
        }
    }
    if commands.is_empty() {
        return Err(Error::Other("no kind of client can be run".to_owned()));
    }
    let (lines, said) = channel();
    let mut running = Vec::new();
    let count = commands.len();
    let kinds = commands.iter().map(|(kind, _)| *kind).collect();
    for (place, (_, mut command)) in commands.into_iter().enumerate() {
        let clients = config.clients / count + usize::from(place < config.clients % count);
        command.arg(cluster.bootstrap()).arg(config.seconds.to_string()).arg(clients.to_string());
        command.arg(PARTITIONS.to_string());
        let lines = lines.clone();
        running.push(tokio::task::spawn_blocking(move || listen(command, &lines)));
    }
    drop(lines);
    let mut monkey = Monkey::new(cluster, config.seed, PARTITIONS);
    let end = Instant::now() + Duration::from_secs(config.seconds);
    // Clients have to have begun.
    tokio::time::sleep(Duration::from_secs(2)).await;
    while Instant::now() < end {
        let pause = monkey.act().await;
        tokio::time::sleep(pause).await;
    }
    monkey.heal().await;
    if loses {
        lose(cluster);
    }
    for task in running {
        let ended = tokio::time::timeout(PATIENCE, task).await;
        let ended =
            ended.map_err(|_| Error::Other(format!("a client did not end; before: {}", monkey.log.join("; "))))?;
        ended.map_err(|panic| Error::Other(panic.to_string()))??;
    }
    let mut history = History::default();
    said.into_iter().for_each(|line| history.line(&line));
    let _ = writeln!(output, "    {} things went wrong", monkey.log.len());
    Ok((history, kinds))
}

/// Cuts the last records of a partition off, of which clients know.
fn lose(cluster: &BrokerCluster) {
    for partition in 0..PARTITIONS {
        let state = cluster.state();
        let end = state.topic("plain").map_or(0, |topic| topic.partitions[partition as usize].end_offset);
        // There is such a partition; else nothing is lost, which will be noticed.
        let _ = cluster.truncate("plain", partition, end / 2);
    }
}

/// Runs a program and passes its lines on.
fn listen(mut command: Command, lines: &Sender<String>) -> Result<()> {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().doing("a client")?;
    let stderr = child.stderr.take();
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        if let Some(mut stderr) = stderr {
            let _ = std::io::Read::read_to_string(&mut stderr, &mut text);
        }
        text
    });
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line.doing("a client")?;
            // The receiver lives as long as this.
            let _ = lines.send(line);
        }
    }
    let status = child.wait().doing("a client")?;
    let errors = errors.join().unwrap_or_default();
    if status.success() {
        return Ok(());
    }
    Err(Error::Failed { what: "a client", status: status.to_string(), output: tail(&errors, 20) })
}

/// Waits until no transaction is open: those whose producer ended are aborted by their timeout.
async fn wait_for_transactions(cluster: &BrokerCluster) -> Result<()> {
    let begun = Instant::now();
    loop {
        let state = cluster.state();
        let topic = state.topic("tx").ok_or_else(|| Error::Other("there is no topic tx".to_owned()))?;
        if topic.partitions.iter().all(|partition| partition.last_stable_offset == partition.end_offset) {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            return Err(Error::Other(format!("transactions stay open: {:?}", state.transactions)));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn read(client: &Client, topic: &str, isolation: Isolation) -> Result<Vec<Logged>> {
    let other = |error: milena_client::Error| Error::Other(error.to_string());
    let mut all = Vec::new();
    for partition in 0..PARTITIONS {
        let fetch = FetchOptions { isolation, ..FetchOptions::default() };
        let options = RangeOptions { fetch, ..RangeOptions::default() };
        let mut reader =
            client.fetch_range(topic, partition, Start::EARLIEST, Stop::End, options).await.map_err(other)?;
        while let Some(record) = reader.next().await.map_err(other)? {
            let value = String::from_utf8_lossy(record.value.as_deref().unwrap_or_default()).into_owned();
            all.push(Logged { partition, offset: record.offset, value });
        }
    }
    Ok(all)
}

fn librdkafka() -> Result<Command> {
    python_client("chaos.py")
}

fn go() -> Result<Command> {
    let binary = place::cache().join("go-chaos");
    std::fs::create_dir_all(place::cache()).on(&place::cache())?;
    let mut build = GO.command();
    build.args(["build", "-o"]).arg(&binary).arg("./chaos").current_dir(place::root().join("interop/clients/go"));
    GO.run(&mut build, "building the Go client")?;
    Ok(Command::new(binary))
}
