use clap::Args;
use milena_client::{Cluster, Partition, Topic};
use milena_transport::Address;
use serde_json::{Value, json};

use super::topic::topic_failure;
use crate::failure::Result;
use crate::network::{Network, block_on};
use crate::output;
use crate::table::Table;

const EXAMPLES: &str = "Examples:
  milena metadata                                  the cluster at localhost:9092
  milena metadata letters --bootstrap kafka-1:9092,kafka-2:9092
  milena metadata --json | jq -r '.brokers[].host'";

/// Show the brokers, topics and partitions of a cluster
///
/// Asks one broker what it knows of the cluster: the brokers that are alive and the addresses they advertise, and for each
/// partition the leader, the replicas, and which of them are in sync. Asking for a topic does not create it.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Metadata {
    /// Only these topics
    #[arg(value_name = "TOPIC")]
    topics: Vec<String>,

    /// Only this topic; may be given several times
    #[arg(long, short, value_name = "TOPIC")]
    topic: Vec<String>,

    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    network: Network,
}

impl Metadata {
    pub(crate) fn run(self) -> Result {
        let names: Vec<&str> = self.topics.iter().chain(&self.topic).map(String::as_str).collect();
        let topics = (!names.is_empty()).then_some(names.as_slice());
        let cluster = block_on(async { Ok(self.network.connect().await?.metadata(topics).await?) })?;
        match self.json {
            true => output::print_json(&to_json(&cluster))?,
            false => output::print(&text(&cluster))?,
        }
        match cluster.topics.iter().find(|topic| !topic.error.is_none()) {
            Some(topic) => Err(topic_failure(&topic.name, topic.error)),
            None => Ok(()),
        }
    }
}

fn text(cluster: &Cluster) -> String {
    let or_none = |number: Option<i32>| number.map_or("none".to_owned(), |number| number.to_string());
    let id = cluster.cluster_id.as_deref().unwrap_or("unknown");
    let mut text = format!("cluster {id}, controller {}\n\n", or_none(cluster.controller));
    let mut table = Table::new(&[">BROKER", "ADDRESS", "RACK"]);
    for broker in &cluster.brokers {
        let rack = broker.rack.clone().unwrap_or_default();
        // An impossible port is shown as the broker sent it.
        let address = Address::new(&broker.host, broker.port)
            .map_or_else(|_| format!("{}:{}", broker.host, broker.port), |address| address.to_string());
        table.row(vec![broker.id.to_string(), address, rack]);
    }
    text.push_str(&table.render());
    let topics: Vec<&Topic> = cluster.topics.iter().filter(|topic| topic.error.is_none()).collect();
    if topics.is_empty() {
        return text;
    }
    let mut table = Table::new(&["TOPIC", ">PARTITION", ">LEADER", "REPLICAS", "IN SYNC", ""]);
    for topic in topics {
        for partition in &topic.partitions {
            table.row(vec![
                topic.name.clone(),
                partition.index.to_string(),
                or_none(partition.leader),
                list(&partition.replicas),
                list(&partition.in_sync),
                if partition.error.is_none() { String::new() } else { partition.error.to_string() },
            ]);
        }
    }
    text.push('\n');
    text.push_str(&table.render());
    text
}

fn list(ids: &[i32]) -> String {
    let ids: Vec<String> = ids.iter().map(i32::to_string).collect();
    ids.join(",")
}

fn to_json(cluster: &Cluster) -> Value {
    let brokers = cluster
        .brokers
        .iter()
        .map(|broker| json!({ "id": broker.id, "host": broker.host, "port": broker.port, "rack": broker.rack }));
    json!({
        "clusterId": cluster.cluster_id,
        "controller": cluster.controller,
        "brokers": brokers.collect::<Value>(),
        "topics": cluster.topics.iter().map(topic_json).collect::<Value>(),
    })
}

pub(super) fn topic_json(topic: &Topic) -> Value {
    json!({
        "name": topic.name,
        "id": topic.id.map(|id| id.to_string()),
        "internal": topic.internal,
        "error": (!topic.error.is_none()).then(|| topic.error.to_string()),
        "partitions": topic.partitions.iter().map(partition_json).collect::<Value>(),
    })
}

fn partition_json(partition: &Partition) -> Value {
    json!({
        "partition": partition.index,
        "leader": partition.leader,
        "leaderEpoch": partition.leader_epoch,
        "replicas": partition.replicas,
        "inSync": partition.in_sync,
        "offline": partition.offline,
        "error": (!partition.error.is_none()).then(|| partition.error.to_string()),
    })
}
