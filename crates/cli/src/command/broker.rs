use std::io::IsTerminal as _;

use clap::Args;
use milena_broker::{Broker as Embedded, BrokerConfig, BrokerError};
use milena_client::Report;
use serde_json::json;

use crate::failure::{Failure, Result};
use crate::network::{block_on, stopped};
use crate::output;

const EXAMPLES: &str = "Examples:
  milena broker                                    on localhost:9092, until Ctrl-C
  milena broker --port 0 --json                    on a free port, which it prints
  milena broker --host 0.0.0.0 --advertise kafka.test:9092 --partitions 3

All data is in memory and lost when the broker stops. Clients see a cluster of one node.
`milena apis --bootstrap localhost:9092` lists the APIs and versions that it serves.";

/// Start a Kafka broker in memory, for tests
///
/// Accepts connections within milliseconds, prints its address on stdout, and runs until Ctrl-C. Any client can produce,
/// fetch, manage topics, form consumer groups and run transactions. Nothing is kept on disk.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Broker {
    /// Address to listen on
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    host: String,

    /// Port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 9092, allow_negative_numbers = true)]
    port: u16,

    /// Address that clients connect to, if it is another one
    #[arg(long, value_name = "HOST:PORT", value_parser = advertised)]
    advertise: Option<(String, u16)>,

    /// Default number of partitions for new topics
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(i32).range(1..))]
    partitions: i32,

    /// Do not create a topic when a client asks for its metadata
    #[arg(long)]
    no_auto_create: bool,

    /// Id of the node
    #[arg(long, value_name = "ID", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(i32).range(0..))]
    node_id: i32,

    /// Print the address as JSON
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
        let (advertised_host, advertised_port) = self.advertise.clone().unzip();
        let config = BrokerConfig {
            host: self.host.clone(),
            port: self.port,
            advertised_host,
            advertised_port,
            node_id: self.node_id,
            default_partitions: self.partitions,
            auto_create_topics: !self.no_auto_create,
            ..BrokerConfig::default()
        };
        block_on(async {
            let broker = Embedded::start(config).await.map_err(not_started)?;
            match self.json {
                true => output::print(&format!("{}\n", json!({ "bootstrap": broker.bootstrap() })))?,
                false => output::print(&format!("{}\n", broker.bootstrap()))?,
            }
            stopped().await.map_err(|error| Failure::failed(format!("cannot wait for signals: {error}")))?;
            broker.shutdown().await;
            Ok(())
        })
    }
}

/// Why the broker did not start, and what helps against it.
fn not_started(error: BrokerError) -> Failure {
    let failure = Failure::failed(Report(&error));
    match &error {
        BrokerError::Listen { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse => {
            failure.hint("--port names another port; 0 takes a free one")
        }
        BrokerError::Listen { .. } => failure.hint("check --host and --port"),
        _ => failure,
    }
}
