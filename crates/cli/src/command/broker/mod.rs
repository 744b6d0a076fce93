//! `milena broker`: the embedded broker as a process, with topics, records and faults to begin with.

mod control;
mod security;
mod seed;
mod topic;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use milena_broker::{Acl, AclConfig, BrokerCluster, BrokerConfig, BrokerError, ClusterConfig, FaultRule, Principal};
use milena_client::Report;
use serde_json::json;

use self::control::Control;
use self::security::Security;
use self::seed::Seed;
use self::topic::NewTopic;
use crate::failure::{Failure, Result};
use crate::network::{block_on, stopped};
use crate::output;

const EXAMPLES: &str = "Examples:
  milena broker                                    on localhost:9092, until Ctrl-C
  milena broker --port 0 --json                    on a free port, which it prints
  milena broker --host 0.0.0.0 --advertise kafka.test:9092 --partitions 3
  milena broker --nodes 3 --topic orders:6:cleanup.policy=compact --topic audit
  milena broker --seed orders.jsonl                with records from `milena consume --json`
  milena broker --data-dir kafka-data              with what it had when it was stopped or killed
  milena broker --nodes 3 --control 127.0.0.1:8080   http://127.0.0.1:8080/ shows what it can do
  milena broker --kafka-version 2.8                with the APIs and versions of that release
  milena broker --user alice:secret --tls --certificates certs   clients trust certs/ca.pem
  milena broker --fault 'produce@3: error NOT_LEADER_OR_FOLLOWER' --fault 'fetch@5%: cut'

When everything is in place, one line with host:port of each node goes to stdout, and after a space
the URL of the control port.
Without --data-dir all data is in memory only, and lost when the broker stops.
`milena apis --bootstrap localhost:9092` lists the APIs and versions that it serves.
The file docs/broker.md says more, and docs/faults.md has the grammar of --fault.";

/// Start a Kafka broker in memory, for tests
///
/// Accepts connections within milliseconds, prints its address on stdout, and runs until Ctrl-C. Any client can produce,
/// fetch, manage topics, form consumer groups and run transactions. Nothing is kept on disk without --data-dir.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Broker {
    /// Address to listen on
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    host: String,

    /// Port of the first node, the others have the next ones; 0 takes free ones
    #[arg(long, value_name = "PORT", default_value_t = 9092, allow_negative_numbers = true)]
    port: u16,

    /// Address that clients connect to, if it is another one; further nodes have the next ports
    #[arg(long, value_name = "HOST:PORT", value_parser = advertised)]
    advertise: Option<(String, u16)>,

    /// Default number of partitions for new topics
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(i32).range(1..))]
    partitions: i32,

    /// Do not create a topic when a client asks for its metadata
    #[arg(long)]
    no_auto_create: bool,

    /// Number of nodes
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    nodes: u16,

    /// Id of the first node; the others have the next ones
    #[arg(long, value_name = "ID", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(i32).range(0..))]
    node_id: i32,

    /// Default number of replicas for new topics [default: one per node, at most 3]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    replicas: Option<i16>,

    /// Create a topic, as name:partitions:key=value; the last two can be left out
    #[arg(long, value_name = "TOPIC")]
    topic: Vec<NewTopic>,

    /// Begin with the records of this file, in the form of `milena consume --json`, or with a log folder of Kafka
    #[arg(long, value_name = "PATH")]
    seed: Vec<PathBuf>,

    /// Keep all data in this folder, in Kafka's own file formats, and go on with what is in it
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,

    /// Most bytes of memory for records; at the limit Produce gets KAFKA_STORAGE_ERROR
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30, allow_negative_numbers = true)]
    memory: u64,

    #[command(flatten)]
    security: Security,

    /// Allow or deny clients something, such as 'allow User:alice read topic:orders-*'; turns on the authorizer
    #[arg(long, value_name = "ACL")]
    acl: Vec<Acl>,

    /// A principal that may do everything, such as User:admin; turns on the authorizer
    #[arg(long, value_name = "PRINCIPAL")]
    super_user: Vec<Principal>,

    /// Let everyone use what no ACL is about; turns on the authorizer
    #[arg(long)]
    allow_everyone_if_no_acl_found: bool,

    /// Make requests go wrong, such as 'fetch@3: error NOT_LEADER_OR_FOLLOWER'
    #[arg(long, value_name = "RULE")]
    fault: Vec<FaultRule>,

    /// Start of the random numbers for faults with a probability, to repeat a run
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    fault_seed: Option<u64>,

    /// Act as a release of Apache Kafka, 0.10.0 to 4.4, or as event-hubs or msk-serverless
    #[arg(long = "kafka-version", alias = "as", value_name = "RELEASE")]
    release: Option<String>,

    /// Open a port for HTTP and JSON that changes and shows what the broker does; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT")]
    control: Option<String>,

    /// Begin at this time, in milliseconds since 1970, with a clock that only the control port moves
    #[arg(long, value_name = "MS", requires = "control", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(i64).range(0..))]
    virtual_clock: Option<i64>,

    /// Print the addresses as JSON
    #[arg(long)]
    json: bool,

    /// Log to stderr
    #[arg(long, short)]
    verbose: bool,
}

fn advertised(text: &str) -> Result<(String, u16), String> {
    let (host, port) = text.rsplit_once(':').ok_or("an address is HOST:PORT")?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Ok((host.to_owned(), port.parse().map_err(|_| format!("`{port}` is not a port"))?))
}

impl Broker {
    pub(crate) fn run(self) -> Result {
        if self.verbose {
            let colour = std::io::stderr().is_terminal();
            let _ = tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(colour).try_init();
        }
        // Read before anything starts: what is wrong with a file is said at once.
        let (folders, files): (Vec<_>, Vec<_>) = self.seed.iter().partition(|path| path.is_dir());
        if folders.len() > 1 {
            return Err(Failure::usage("--seed takes one log folder only"));
        }
        let seeds = files.into_iter().map(|file| Seed::read(file)).collect::<Result<Vec<_>>>()?;
        block_on(async {
            let cluster = BrokerCluster::start(self.config(folders.first().copied())).await.map_err(not_started)?;
            self.security.write_certificates(&cluster)?;
            // A data folder may have topics of a run before.
            let known = cluster.state();
            for topic in self.topic.iter().filter(|topic| known.topic(&topic.name).is_none() || self.data_dir.is_none())
            {
                topic.create(&cluster, self.partitions, self.replicas())?;
            }
            for seed in seeds {
                seed.fill(&cluster, self.partitions, self.replicas())?;
            }
            let cluster = Arc::new(cluster);
            let control = match &self.control {
                None => None,
                Some(address) => Some(Control::open(address, cluster.clone(), self.partitions, self.replicas()).await?),
            };
            self.announce(&cluster, control.as_ref())?;
            stopped().await.map_err(|error| Failure::failed(format!("cannot wait for signals: {error}")))?;
            self.report_faults(&cluster);
            if let Some(control) = control {
                control.close().await;
            }
            // Nobody else has it, since the control port is closed.
            if let Some(cluster) = Arc::into_inner(cluster) {
                cluster.shutdown().await;
            }
            Ok(())
        })
    }

    /// Replicas of a topic for which nothing else was said.
    fn replicas(&self) -> i16 {
        self.replicas.unwrap_or_else(|| self.nodes.min(3) as i16)
    }

    /// What the authorizer starts with; `None` when no option asks for one.
    fn acls(&self) -> Option<AclConfig> {
        let wanted = self.allow_everyone_if_no_acl_found || !self.acl.is_empty() || !self.super_user.is_empty();
        wanted.then(|| AclConfig {
            super_users: self.super_user.clone(),
            allow_everyone_if_no_acl_found: self.allow_everyone_if_no_acl_found,
            acls: self.acl.clone(),
        })
    }

    fn config(&self, seed_dir: Option<&PathBuf>) -> ClusterConfig {
        let (advertised_host, advertised_port) = self.advertise.clone().unzip();
        let broker = BrokerConfig {
            host: self.host.clone(),
            port: self.port,
            advertised_host,
            advertised_port,
            node_id: self.node_id,
            default_partitions: self.partitions,
            default_replication_factor: self.replicas(),
            auto_create_topics: !self.no_auto_create,
            acls: self.acls(),
            security: self.security.config(),
            faults: self.fault.clone(),
            fault_seed: self.fault_seed,
            virtual_clock: self.virtual_clock,
            kafka_version: self.release.clone(),
            data_dir: self.data_dir.clone(),
            seed_dir: seed_dir.cloned(),
            max_log_bytes: self.memory,
            ..BrokerConfig::default()
        };
        ClusterConfig { nodes: self.nodes.into(), broker, ..ClusterConfig::default() }
    }

    /// The line that scripts wait for.
    fn announce(&self, cluster: &BrokerCluster, control: Option<&Control>) -> Result {
        let control = control.map(Control::url);
        if !self.json {
            let control = control.map_or(String::new(), |url| format!(" {url}"));
            return output::print(&format!("{}{control}\n", cluster.bootstrap()));
        }
        let nodes = cluster.state().nodes.into_iter();
        let nodes: Vec<_> = nodes.map(|node| json!({ "id": node.id, "address": node.endpoint })).collect();
        let mut ready = json!({ "bootstrap": cluster.bootstrap(), "nodes": nodes });
        let listeners = self.security.listener_names();
        if listeners.len() > 1 {
            let bootstrap = |name: String| (name.clone(), cluster.bootstrap_of(&name).into());
            ready["listeners"] = serde_json::Map::from_iter(listeners.into_iter().map(bootstrap)).into();
        }
        if let Some(control) = control {
            ready["control"] = control.into();
        }
        output::print(&format!("{ready}\n"))
    }

    /// Names the rules that never fired: a test with such a rule shows nothing.
    fn report_faults(&self, cluster: &BrokerCluster) {
        for rule in cluster.faults().statistics().iter().filter(|rule| rule.fired == 0) {
            eprintln!("fault `{}` never fired; {} requests matched", rule.rule, rule.matched);
        }
    }
}

/// Why the broker did not start, and what helps against it.
fn not_started(error: BrokerError) -> Failure {
    let failure = Failure::failed(Report(&error));
    match &error {
        BrokerError::Listen { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse => {
            failure.hint("--port names another port; 0 takes a free one")
        }
        BrokerError::Config { setting: "kafka_version", value, reason } => {
            Failure::usage(format!("--kafka-version cannot be {value}: {reason}"))
        }
        BrokerError::Listen { .. } => failure.hint("check --host, --port and --listener"),
        _ => failure,
    }
}
