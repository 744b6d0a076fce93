//! Requests that go well, go wrong or fit the state of the moment, chosen by a seed.

mod admin;
mod consumers;
mod groups;
mod logs;
mod pick;
mod topics;
mod transactions;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milena_messages::ApiKey;
use milena_schema::Spec;
use serde_json::{Value, json};

use super::Step;
use super::random::Random;
use super::records::EPOCH_MS;
use super::side::CONNECTIONS;

/// APIs of each theme, those that shall come often more than once.
const GROUPS: &[&str] = &[
    "JoinGroup",
    "JoinGroup",
    "JoinGroup",
    "JoinGroup",
    "SyncGroup",
    "SyncGroup",
    "SyncGroup",
    "Heartbeat",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
    "OffsetCommit",
    "OffsetFetch",
    "OffsetDelete",
    "DescribeGroups",
    "ListGroups",
    "DeleteGroups",
    "FindCoordinator",
];
const TRANSACTIONS: &[&str] = &[
    "InitProducerId",
    "InitProducerId",
    "AddPartitionsToTxn",
    "AddPartitionsToTxn",
    "Produce",
    "Produce",
    "Produce",
    "AddOffsetsToTxn",
    "TxnOffsetCommit",
    "TxnOffsetCommit",
    "EndTxn",
    "EndTxn",
    "EndTxn",
    "Fetch",
    "ListOffsets",
    "OffsetFetch",
    "DescribeTransactions",
    "DescribeProducers",
    "ListTransactions",
    "DeleteGroups",
    "FindCoordinator",
];
const LOGS: &[&str] = &[
    "Produce",
    "Produce",
    "Produce",
    "Produce",
    "Fetch",
    "Fetch",
    "Fetch",
    "ListOffsets",
    "ListOffsets",
    "OffsetForLeaderEpoch",
    "DeleteRecords",
    "Metadata",
    "InitProducerId",
    "DescribeProducers",
];
const TOPICS: &[&str] = &[
    "CreateTopics",
    "CreateTopics",
    "CreateTopics",
    "DeleteTopics",
    "Metadata",
    "Metadata",
    "Produce",
    "Fetch",
    "ListOffsets",
    "OffsetForLeaderEpoch",
    "OffsetCommit",
    "OffsetFetch",
    "DescribeCluster",
];
const CONSUMERS: &[&str] = &[
    "ConsumerGroupHeartbeat",
    "ConsumerGroupHeartbeat",
    "ConsumerGroupHeartbeat",
    "ConsumerGroupHeartbeat",
    "ConsumerGroupHeartbeat",
    "ConsumerGroupHeartbeat",
    "ConsumerGroupDescribe",
    "OffsetCommit",
    "OffsetCommit",
    "OffsetFetch",
    "OffsetDelete",
    "DescribeGroups",
    "ListGroups",
    "DeleteGroups",
    "LeaveGroup",
    "Heartbeat",
];
const CONFIGS: &[&str] = &[
    "DescribeConfigs",
    "DescribeConfigs",
    "DescribeConfigs",
    "AlterConfigs",
    "IncrementalAlterConfigs",
    "IncrementalAlterConfigs",
    "IncrementalAlterConfigs",
    "CreateTopics",
    "ListConfigResources",
    "DescribeClientQuotas",
    "AlterClientQuotas",
    "AlterClientQuotas",
];
const PARTITIONS: &[&str] = &[
    "CreatePartitions",
    "CreatePartitions",
    "CreateTopics",
    "DeleteTopics",
    "ElectLeaders",
    "AlterPartitionReassignments",
    "ListPartitionReassignments",
    "DescribeLogDirs",
    "AlterReplicaLogDirs",
    "DescribeTopicPartitions",
    "DescribeTopicPartitions",
    "DeleteRecords",
    "Metadata",
    "Produce",
    "ListOffsets",
    "Fetch",
];
const THEMES: [&[&str]; 7] = [GROUPS, TRANSACTIONS, LOGS, TOPICS, CONSUMERS, CONFIGS, PARTITIONS];

const NO_ID: &str = "AAAAAAAAAAAAAAAAAAAAAA";

/// A producer as far as the responses tell.
#[derive(Clone, Debug)]
struct Producer {
    id: Value,
    epoch: i64,
    /// Of the request; null without a transaction.
    transactional_id: Value,
    sequences: BTreeMap<(String, i64), i64>,
}

/// What the requests of one sequence are made of.
#[derive(Debug)]
pub(super) struct Generator {
    random: Random,
    theme: &'static [&'static str],
    prefix: String,
    time: i64,
    /// Member of a group by group and connection.
    members: BTreeMap<(String, usize), Value>,
    generations: BTreeMap<String, i64>,
    /// Epochs of members of consumer groups, and the partitions they own, in the same way.
    epochs: BTreeMap<(String, usize), i64>,
    owned: BTreeMap<(String, usize), Value>,
    /// What the client of a connection would do next, and in which group.
    hints: [Option<(&'static str, String)>; CONNECTIONS],
    /// The member of the last JoinGroup or SyncGroup of each connection.
    waiting: [Value; CONNECTIONS],
    /// The group of the request that is made.
    focus: Option<String>,
    producers: Vec<Producer>,
    topic_ids: BTreeMap<String, Value>,
}

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let theme = THEMES[random.below(THEMES.len())];
        Self {
            random,
            theme,
            prefix: format!("d{seed}"),
            time: 0,
            members: BTreeMap::new(),
            generations: BTreeMap::new(),
            epochs: BTreeMap::new(),
            owned: BTreeMap::new(),
            hints: [const { None }; CONNECTIONS],
            waiting: [const { Value::Null }; CONNECTIONS],
            focus: None,
            producers: Vec::new(),
            topic_ids: BTreeMap::new(),
        }
    }

    /// The first requests of every sequence: two topics, with their ids.
    pub(super) fn setup(&mut self, number: usize) -> Option<Step> {
        let [a, b] = [0, 1].map(|number| self.topic(number));
        match number {
            0 => {
                let topic = |name: &str, partitions: i64| json!({"name": name, "numPartitions": partitions, "replicationFactor": 1});
                Some(step(0, "CreateTopics", 7, json!({"topics": [topic(&a, 1), topic(&b, 2)], "timeoutMs": 10000})))
            }
            1 => Some(step(0, "Metadata", 12, json!({"topics": [{"name": a}, {"name": b}]}))),
            2 => Some(step(0, "FindCoordinator", 4, json!({"keyType": 0, "coordinatorKeys": [self.group(0)]}))),
            3 => Some(step(0, "FindCoordinator", 4, json!({"keyType": 1, "coordinatorKeys": [self.transactional(0)]}))),
            _ => None,
        }
    }

    pub(super) fn step(&mut self, busy: &[bool; CONNECTIONS]) -> Step {
        let mut api = *self.random.pick(self.theme);
        let mut connection = self.random.below(CONNECTIONS);
        while busy[connection] && !busy.iter().all(|busy| *busy) {
            connection = (connection + 1) % CONNECTIONS;
        }
        self.focus = None;
        if let Some((next, group)) = self.hints[connection].take().filter(|_| self.random.chance(75)) {
            (api, self.focus) = (next, Some(group));
        }
        let (low, high) = versions(api);
        let version = low + self.random.below((high - low + 1) as usize) as i16;
        let mut body = self.body(api, version, connection);
        // Kafka never responds to a resource or protocol that is listed twice there, or to no transactions.
        if self.random.chance(5) && !matches!(api, "AlterConfigs" | "JoinGroup" | "AddPartitionsToTxn") {
            self.repeat(&mut body);
        }
        if matches!(api, "JoinGroup" | "SyncGroup") {
            // Kafka never responds to the first of two requests of one member that wait.
            let member = body["memberId"].clone();
            let waits = |other: usize| busy[other] && self.waiting[other] == member;
            if member != json!("") && (0..CONNECTIONS).any(waits) {
                body["memberId"] = "nobody".into();
            }
            self.waiting[connection] = body["memberId"].clone();
        }
        step(connection, api, version, body)
    }

    /// Repeats or removes the elements of one of the lists.
    fn repeat(&mut self, body: &mut Value) {
        let lists: Vec<&mut Vec<Value>> =
            body.as_object_mut().into_iter().flatten().filter_map(|(_, value)| value.as_array_mut()).collect();
        let count = lists.len();
        let Some(list) = lists.into_iter().nth(self.random.below(count)) else { return };
        let inner = list.first_mut().and_then(Value::as_object_mut);
        let inner = inner.and_then(|fields| fields.values_mut().find_map(Value::as_array_mut));
        match (self.random.below(4), inner) {
            (0, _) => list.clear(),
            (1, Some(inner)) => inner.extend_from_within(..),
            _ => list.extend_from_within(..),
        }
    }

    /// Learns from a response with symbols.
    pub(super) fn observe(&mut self, step: &Step, response: &Value) {
        match step.api {
            "JoinGroup" => {
                let group = text(&step.body["groupId"]);
                if !text(&response["memberId"]).is_empty() {
                    self.members.insert((group.clone(), step.connection), response["memberId"].clone());
                }
                if response["errorCode"] == 0 {
                    self.generations.insert(group.clone(), response["generationId"].as_i64().unwrap_or(-1));
                    self.hints[step.connection] = Some(("SyncGroup", group));
                } else if response["errorCode"] == 79 {
                    self.hints[step.connection] = Some(("JoinGroup", group));
                }
            }
            "SyncGroup" | "Heartbeat" if response["errorCode"] == 27 => {
                self.hints[step.connection] = Some(("JoinGroup", text(&step.body["groupId"])));
            }
            "ConsumerGroupHeartbeat" => self.observe_consumer(step, response),
            "InitProducerId" if response["errorCode"] == 0 => {
                let (id, epoch) = (response["producerId"].clone(), response["producerEpoch"].as_i64().unwrap_or(0));
                let transactional_id = step.body["transactionalId"].clone();
                let sequences = BTreeMap::new();
                self.producers.push(Producer { id, epoch, transactional_id, sequences });
            }
            "EndTxn" if step.version >= 5 && response["errorCode"] == 0 => {
                let new = (response["producerId"].clone(), response["producerEpoch"].as_i64().unwrap_or(-1));
                for producer in &mut self.producers {
                    if producer.id == step.body["producerId"] && new.1 >= 0 {
                        (producer.id, producer.epoch) = new.clone();
                        producer.sequences.clear();
                    }
                }
            }
            "Metadata" => {
                for topic in response["topics"].as_array().into_iter().flatten() {
                    if topic["topicId"].is_string() {
                        self.topic_ids.insert(text(&topic["name"]), topic["topicId"].clone());
                    }
                }
            }
            _ => {}
        }
    }

    fn body(&mut self, api: &str, version: i16, connection: usize) -> Value {
        let body = self.groups(api, version, connection);
        let body = body.or_else(|| self.consumers(api, version, connection));
        let body = body.or_else(|| self.transactions(api, version, connection));
        let body = body.or_else(|| self.logs(api, version));
        let body = body.or_else(|| self.topics(api, version));
        let body = body.or_else(|| self.admin(api, version));
        body.unwrap_or_else(|| json!({}))
    }
}

/// The versions that both brokers serve.
fn versions(api: &str) -> (i16, i16) {
    let Ok(api) = Spec::kafka().api_named(api) else { return (0, 0) };
    let (served, unstable) = (ApiKey(api.key).newest_kafka_versions(), ApiKey(api.key).unstable_versions());
    let max = (served.min()..=served.max()).rev().find(|version| !unstable.contains(*version));
    let max = max.unwrap_or(served.min());
    (served.min(), max)
}

fn step(connection: usize, api: &'static str, version: i16, body: Value) -> Step {
    Step { connection, api, version, body }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
