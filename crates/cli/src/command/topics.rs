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
  milena topics delete letters --json              what became of it, for a program";

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
/// Asks the controller to create each topic, and waits until every partition has a leader. What is not said is left to the
/// broker's own defaults. One topic that fails does not keep the others from being created; the exit code is 1 then.
#[derive(Args, Debug)]
#[command(after_help = CREATE)]
struct Create {
    /// The topics
    #[arg(value_name = "TOPIC", required = true)]
    topics: Vec<String>,

    /// How many partitions each has
    #[arg(long, value_name = "N")]
    partitions: Option<i32>,

    /// How many replicas each partition has
    #[arg(long, value_name = "N")]
    replication_factor: Option<i16>,

    /// A setting that differs from the broker's; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    config: Vec<(String, String)>,

    /// Print JSON: what became of each topic
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    network: Network,
}

/// Delete topics with all that is in them
///
/// Asks the controller to delete each topic. Brokers clear away the data a little later, and the names may show up until
/// then. One topic that fails does not keep the others from being deleted; the exit code is 1 then.
#[derive(Args, Debug)]
#[command(after_help = DELETE)]
struct Delete {
    /// The topics
    #[arg(value_name = "TOPIC", required = true)]
    topics: Vec<String>,

    /// Print JSON: what became of each topic
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    network: Network,
}

/// List the topics of a cluster
///
/// Shows each topic with how many partitions and replicas it has. Topics of the brokers' own, such as __consumer_offsets,
/// are left out unless asked for. `milena metadata` shows the partitions one by one.
#[derive(Args, Debug)]
#[command(after_help = LIST)]
struct List {
    /// Also topics that belong to the brokers
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

/// Says what became of each topic; fails with the last of those that failed.
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
    let mut result = Ok(());
    for outcome in outcomes {
        match outcome.result {
            Ok(()) if json => {}
            Ok(()) => eprintln!("{done} {}", outcome.name),
            Err(error) => {
                if let Err(failure) = std::mem::replace(&mut result, Err(Failure::from(error))) {
                    failure.report();
                }
            }
        }
    }
    result
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
