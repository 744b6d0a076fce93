use clap::{Args, Subcommand};
use milena_client::{NewTopic, TopicOutcome};
use serde_json::{Value, json};

use super::metadata::topic_json;
use crate::failure::{Failure, Result};
use crate::network::{Network, block_on};
use crate::output;
use crate::table::Table;

const CREATE: &str = "Examples:
  milena topics create letters
  milena topics create letters diaries --partitions 6 --replication-factor 3
  milena topics create state --config cleanup.policy=compact --bootstrap kafka-1:9092";

const DELETE: &str = "Examples:
  milena topics delete letters
  milena topics delete letters diaries --bootstrap kafka-1:9092
  milena topics delete letters --json              the outcome, for a program";

const LIST: &str = "Examples:
  milena topics list
  milena topics list --internal --bootstrap kafka-1:9092
  milena topics list --json | jq -r '.[].name'";

/// Create, delete and list topics
#[derive(Args, Debug)]
#[command(arg_required_else_help = true)]
pub(crate) struct Topics {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Create(Create),
    Delete(Delete),
    List(List),
}

/// Create topics and wait until they can be used
///
/// Asks the controller to create each topic, and waits until every partition has a leader. What is not given is left to
/// the defaults of the broker. A topic that fails does not stop the others; the exit code is then 1.
#[derive(Args, Debug)]
#[command(after_help = CREATE)]
struct Create {
    /// Names of the topics
    #[arg(value_name = "TOPIC", required = true)]
    topics: Vec<String>,

    /// Number of partitions of each topic
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    partitions: Option<i32>,

    /// Number of replicas of each partition
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    replication_factor: Option<i16>,

    /// A setting of the topics, such as cleanup.policy=compact; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    config: Vec<(String, String)>,

    /// Print JSON: the outcome for each topic
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    network: Network,
}

/// Delete topics and all their records
///
/// Asks the controller to delete each topic. Brokers remove the data a little later, and may list the names until then. A
/// topic that fails does not stop the others; the exit code is then 1.
#[derive(Args, Debug)]
#[command(after_help = DELETE)]
struct Delete {
    /// Names of the topics
    #[arg(value_name = "TOPIC", required = true)]
    topics: Vec<String>,

    /// Print JSON: the outcome for each topic
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    network: Network,
}

/// List the topics of a cluster
///
/// Shows each topic with its number of partitions and replicas. Internal topics, such as __consumer_offsets, are listed
/// only with --internal. `milena metadata` shows each partition.
#[derive(Args, Debug)]
#[command(after_help = LIST)]
struct List {
    /// Also list internal topics of the brokers
    #[arg(long)]
    internal: bool,

    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    network: Network,
}

impl Topics {
    pub(crate) fn run(self) -> Result {
        match self.action {
            Action::Create(command) => command.run(),
            Action::Delete(command) => command.run(),
            Action::List(command) => command.run(),
        }
    }
}

fn setting(text: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a setting is NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Create {
    fn run(self) -> Result {
        let topic = |name: &String| NewTopic {
            name: name.clone(),
            partitions: self.partitions,
            replication_factor: self.replication_factor,
            configs: self.config.clone(),
            ..NewTopic::default()
        };
        let topics: Vec<NewTopic> = self.topics.iter().map(topic).collect();
        let outcomes = block_on(async { Ok(self.network.connect().await?.create_topics(&topics).await?) })?;
        report(outcomes, "created", self.json)
    }
}

impl Delete {
    fn run(self) -> Result {
        let names: Vec<&str> = self.topics.iter().map(String::as_str).collect();
        let outcomes = block_on(async { Ok(self.network.connect().await?.delete_topics(&names).await?) })?;
        report(outcomes, "deleted", self.json)
    }
}

/// Reports the outcome for each topic; fails if one failed.
fn report(outcomes: Vec<TopicOutcome>, done: &str, json: bool) -> Result {
    if json {
        let outcomes = outcomes.iter().map(|outcome| {
            let error = outcome.result.as_ref().err();
            json!({
                "name": outcome.name,
                "ok": error.is_none(),
                "error": error.map(ToString::to_string),
                "code": error.and_then(|error| error.code()).map(|code| code.0),
            })
        });
        output::print_json(&outcomes.collect())?;
    }
    let mut failures = Vec::new();
    for outcome in outcomes {
        match outcome.result {
            Ok(()) if json => {}
            Ok(()) => eprintln!("{done} {}", outcome.name),
            Err(error) => failures.push(Failure::from(error)),
        }
    }
    Failure::several(failures)
}

impl List {
    fn run(self) -> Result {
        let cluster = block_on(async { Ok(self.network.connect().await?.metadata(None).await?) })?;
        let mut topics = cluster.topics;
        topics.retain(|topic| self.internal || !topic.internal);
        topics.sort_by(|a, b| a.name.cmp(&b.name));
        if self.json {
            return output::print_json(&topics.iter().map(topic_json).collect::<Value>());
        }
        let mut table = Table::new(&["TOPIC", ">PARTITIONS", ">REPLICAS"]);
        for topic in &topics {
            let replicas = topic.partitions.first().map_or(0, |partition| partition.replicas.len());
            table.row(vec![topic.name.clone(), topic.partitions.len().to_string(), replicas.to_string()]);
        }
        output::print(&table.render())
    }
}
