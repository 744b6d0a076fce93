//! Requests that go well, go wrong or fit the state of the moment, chosen by a seed.

mod body;

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
const THEMES: [&[&str]; 4] = [GROUPS, TRANSACTIONS, LOGS, TOPICS];

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
        let api = *self.random.pick(self.theme);
        let mut connection = self.random.below(CONNECTIONS);
        while busy[connection] && !busy.iter().all(|busy| *busy) {
            connection = (connection + 1) % CONNECTIONS;
        }
        let (low, high) = versions(api);
        let version = low + self.random.below((high - low + 1) as usize) as i16;
        let body = self.body(api, version, connection);
        step(connection, api, version, body)
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
                    self.generations.insert(group, response["generationId"].as_i64().unwrap_or(-1));
                }
            }
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

    fn topic(&self, number: usize) -> String {
        format!("{}-t{number}", self.prefix)
    }

    fn group(&self, number: usize) -> String {
        format!("{}-g{number}", self.prefix)
    }

    fn transactional(&self, number: usize) -> String {
        format!("{}-x{number}", self.prefix)
    }

    /// Mostly the first one, seldom one that is not there.
    fn any_topic(&mut self) -> String {
        let number = *self.random.pick(&[0, 0, 0, 0, 1, 1, 1, 2]);
        self.topic(number)
    }

    fn any_partition(&mut self) -> i64 {
        *self.random.pick(&[0, 0, 0, 0, 0, 0, 1, 1, 2, -1])
    }

    fn any_group(&mut self) -> String {
        match self.random.below(24) {
            0 => String::new(),
            1..=4 => self.group(1),
            _ => self.group(0),
        }
    }

    fn any_transactional(&mut self) -> Value {
        match self.random.below(16) {
            0 => "".into(),
            1..=4 => self.transactional(1).into(),
            _ => self.transactional(0).into(),
        }
    }

    fn any_member(&mut self, group: &str, connection: usize) -> Value {
        match self.random.below(20) {
            0 => "nobody".into(),
            1 => "".into(),
            2 | 3 => {
                let all: Vec<&Value> = self.members.values().collect();
                if all.is_empty() { "".into() } else { (*self.random.pick(&all)).clone() }
            }
            _ => self.members.get(&(group.to_owned(), connection)).cloned().unwrap_or_else(|| "".into()),
        }
    }

    fn generation(&mut self, group: &str) -> i64 {
        let known = self.generations.get(group).copied().unwrap_or(-1);
        match self.random.below(16) {
            0 => known + 1,
            1 => known - 1,
            2 => -1,
            _ => known,
        }
    }

    fn instance(&mut self) -> Value {
        match self.random.below(12) {
            0 => "i0".into(),
            1 => "i1".into(),
            _ => Value::Null,
        }
    }

    fn leader_epoch(&mut self) -> i64 {
        *self.random.pick(&[-1, -1, -1, -1, -1, 0, 0, 0, 1, -2, -5])
    }

    /// A producer with its epoch, which seldom is another one.
    fn producer(&mut self) -> (Value, i64, Value) {
        let last = self.producers.len().saturating_sub(1);
        let index = if self.random.chance(75) { last } else { self.random.below(last + 1) };
        let Some(producer) = self.producers.get(index).cloned() else {
            return (json!(*self.random.pick(&[-1, 987_654])), 0, self.any_transactional());
        };
        let epoch = match self.random.below(16) {
            0 => producer.epoch + 1,
            1 => (producer.epoch - 1).max(0),
            _ => producer.epoch,
        };
        let transactional_id = match self.random.below(12) {
            0 => self.any_transactional(),
            _ if producer.transactional_id.is_null() => self.any_transactional(),
            _ => producer.transactional_id.clone(),
        };
        (producer.id, epoch, transactional_id)
    }

    fn body(&mut self, api: &str, version: i16, connection: usize) -> Value {
        match api {
            "Produce" => self.produce(),
            "Fetch" => self.fetch(version),
            "JoinGroup" => self.join(connection),
            "SyncGroup" => {
                let group = self.any_group();
                let members: Vec<Value> =
                    self.members.iter().filter(|((of, _), _)| *of == group).map(|(_, member)| member.clone()).collect();
                let leads = self.random.chance(70);
                let assign = |member: &Value| json!({"memberId": member, "assignment": "AAEAAAAAAAAAAAAA"});
                let assignments: Vec<Value> = members.iter().filter(|_| leads).map(assign).collect();
                let protocol = *self.random.pick(&["range", "range", "roundrobin", "other"]);
                let kind = *self.random.pick(&["consumer", "consumer", "consumer", "consumer", "other"]);
                json!({
                    "groupId": group, "generationId": self.generation(&group), "memberId": self.any_member(&group, connection),
                    "groupInstanceId": self.instance(), "assignments": assignments,
                    "protocolType": if self.random.chance(50) { Value::Null } else { kind.into() },
                    "protocolName": if self.random.chance(50) { Value::Null } else { protocol.into() },
                })
            }
            "Heartbeat" => {
                let group = self.any_group();
                json!({
                    "groupId": group, "generationId": self.generation(&group),
                    "memberId": self.any_member(&group, connection), "groupInstanceId": self.instance(),
                })
            }
            "LeaveGroup" => {
                let group = self.any_group();
                let member = self.any_member(&group, connection);
                let mut members = vec![json!({"memberId": member, "groupInstanceId": self.instance()})];
                if self.random.chance(20) {
                    members.push(
                        json!({"memberId": self.any_member(&group, connection), "groupInstanceId": self.instance()}),
                    );
                }
                json!({"groupId": group, "memberId": member, "members": members})
            }
            "OffsetCommit" => {
                let group = self.any_group();
                let simple = self.random.chance(30);
                let generation = if simple { -1 } else { self.generation(&group) };
                let member = if simple { "".into() } else { self.any_member(&group, connection) };
                json!({
                    "groupId": group, "generationIdOrMemberEpoch": generation, "memberId": member,
                    "groupInstanceId": self.instance(), "topics": [self.offsets()],
                })
            }
            "TxnOffsetCommit" => {
                let group = self.any_group();
                let (id, epoch, transactional_id) = self.producer();
                let mut offsets = self.offsets();
                offsets.as_object_mut().map(|topic| topic.remove("topicId"));
                let simple = self.random.chance(60);
                let generation = if simple { -1 } else { self.generation(&group) };
                let member = if simple { "".into() } else { self.any_member(&group, connection) };
                json!({
                    "transactionalId": transactional_id, "groupId": group, "producerId": id, "producerEpoch": epoch,
                    "generationIdOrMemberEpoch": generation, "memberId": member, "groupInstanceId": self.instance(),
                    "topics": [offsets],
                })
            }
            "OffsetFetch" => {
                let group = self.any_group();
                let topic = self.any_topic();
                let (id, partitions) = (self.id_of(&topic), json!([self.any_partition(), 0]));
                let mut topics = json!([{"name": topic, "partitionIndexes": partitions}]);
                let mut of_group = json!([{"name": topic, "topicId": id, "partitionIndexes": partitions}]);
                if version >= 2 && self.random.chance(30) {
                    (topics, of_group) = (Value::Null, Value::Null);
                }
                let stable = self.random.chance(20);
                json!({
                    "groupId": group, "topics": topics, "requireStable": stable,
                    "groups": [{"groupId": group, "memberId": null, "memberEpoch": -1, "topics": of_group}],
                })
            }
            "OffsetDelete" => json!({
                "groupId": self.any_group(),
                "topics": [{"name": self.any_topic(), "partitions": [{"partitionIndex": self.any_partition()}]}],
            }),
            "DescribeGroups" => {
                json!({"groups": [self.any_group(), self.any_group()], "includeAuthorizedOperations": self.random.chance(20)})
            }
            "ListGroups" => {
                let state = *self.random.pick(&["Stable", "Empty", "empty", "PreparingRebalance", "Nothing"]);
                let states = if self.random.chance(50) { json!([]) } else { json!([state]) };
                let types = if self.random.chance(60) {
                    json!([])
                } else {
                    json!([*self.random.pick(&["classic", "Classic", "consumer", "none"])])
                };
                json!({"statesFilter": states, "typesFilter": types})
            }
            "DeleteGroups" => json!({"groupsNames": [self.any_group()]}),
            "FindCoordinator" => {
                let key = if self.random.chance(80) { json!(self.any_group()) } else { self.any_transactional() };
                json!({"key": key, "keyType": *self.random.pick(&[0, 0, 1, 3]), "coordinatorKeys": [key, "more"]})
            }
            "InitProducerId" => {
                let (id, epoch, transactional_id) = self.producer();
                let plain = self.random.chance(15);
                let again = self.random.chance(30) && version >= 3;
                json!({
                    "transactionalId": if plain { Value::Null } else { transactional_id },
                    "transactionTimeoutMs": *self.random.pick(&[60_000, 60_000, 60_000, 60_000, 60_000, 0, -1, 900_001]),
                    "producerId": if again { id } else { json!(-1) }, "producerEpoch": if again { epoch } else { -1 },
                })
            }
            "AddPartitionsToTxn" => {
                let (id, epoch, transactional_id) = self.producer();
                let topics = json!([{"name": self.any_topic(), "partitions": [self.any_partition()]}]);
                json!({
                    "v3AndBelowTransactionalId": transactional_id, "v3AndBelowProducerId": id, "v3AndBelowProducerEpoch": epoch,
                    "v3AndBelowTopics": topics,
                    "transactions": [{
                        "transactionalId": transactional_id, "producerId": id, "producerEpoch": epoch,
                        "verifyOnly": self.random.chance(30), "topics": topics,
                    }],
                })
            }
            "AddOffsetsToTxn" => {
                let (id, epoch, transactional_id) = self.producer();
                let group = self.any_group();
                json!({"transactionalId": transactional_id, "producerId": id, "producerEpoch": epoch, "groupId": group})
            }
            "EndTxn" => {
                let (id, epoch, transactional_id) = self.producer();
                let committed = self.random.chance(60);
                json!({"transactionalId": transactional_id, "producerId": id, "producerEpoch": epoch, "committed": committed})
            }
            "DescribeTransactions" => json!({"transactionalIds": [self.any_transactional()]}),
            "DescribeProducers" => json!({
                "topics": [{"name": self.any_topic(), "partitionIndexes": [self.any_partition()]}],
            }),
            "ListTransactions" => {
                let state = *self.random.pick(&["Ongoing", "Empty", "CompleteCommit", "CompleteAbort", "Nothing"]);
                let pattern = format!("{}-x.*", self.prefix);
                json!({
                    "stateFilters": if self.random.chance(50) { json!([]) } else { json!([state]) }, "producerIdFilters": [],
                    "durationFilter": -1, "transactionalIdPattern": pattern,
                })
            }
            "ListOffsets" => {
                let time = EPOCH_MS + self.random.below(40) as i64;
                let timestamp = *self.random.pick(&[-1, -1, -2, -2, -3, -4, -5, -6, -7, 0, time, time, time]);
                json!({
                    "replicaId": *self.random.pick(&[-1, -1, -1, -1, -1, -2, 7]), "isolationLevel": *self.random.pick(&[0, 0, 1, 1, 2]),
                    "topics": [{"name": self.any_topic(), "partitions": [{
                        "partitionIndex": self.any_partition(), "currentLeaderEpoch": self.leader_epoch(), "timestamp": timestamp,
                    }]}],
                })
            }
            "OffsetForLeaderEpoch" => json!({
                "replicaId": *self.random.pick(&[-1, -1, -1, -2, 7]),
                "topics": [{"topic": self.any_topic(), "partitions": [{
                    "partition": self.any_partition(), "currentLeaderEpoch": self.leader_epoch(), "leaderEpoch": self.leader_epoch(),
                }]}],
            }),
            "DeleteRecords" => json!({
                "topics": [{"name": self.any_topic(), "partitions": [{
                    "partitionIndex": self.any_partition(), "offset": *self.random.pick(&[-1, 0, 1, 1, 2, 3, 1000, -2]),
                }]}],
                "timeoutMs": 5000,
            }),
            "Metadata" => {
                let topic = self.any_topic();
                let id = self.id_of(&topic);
                let topics = match self.random.below(8) {
                    0 if version >= 10 && id != json!(NO_ID) => json!([{"topicId": id, "name": null}]),
                    1 => json!([{"name": "a b"}]),
                    2 => json!([{"name": ""}]),
                    _ => json!([{"name": topic}, {"name": self.any_topic()}]),
                };
                json!({
                    "topics": topics, "allowAutoTopicCreation": false,
                    "includeTopicAuthorizedOperations": self.random.chance(20), "includeClusterAuthorizedOperations": self.random.chance(20),
                })
            }
            "CreateTopics" => self.create(),
            "DeleteTopics" => {
                let topic = self.any_topic();
                let id = self.id_of(&topic);
                let by_id = self.random.chance(40);
                json!({
                    "topicNames": [topic],
                    "topics": [if by_id { json!({"name": null, "topicId": id}) } else { json!({"name": topic}) }],
                    "timeoutMs": 5000,
                })
            }
            "DescribeCluster" => {
                json!({"includeClusterAuthorizedOperations": self.random.chance(50), "endpointType": *self.random.pick(&[1, 1, 1, 2, 3])})
            }
            _ => json!({}),
        }
    }
}

/// The versions that both brokers serve.
fn versions(api: &str) -> (i16, i16) {
    let Ok(api) = Spec::kafka().api_named(api) else { return (0, 0) };
    let (served, unstable) = (ApiKey(api.key).newest_kafka_versions(), ApiKey(api.key).unstable_versions());
    let max = (served.min()..=served.max()).rev().find(|version| !unstable.contains(*version));
    let max = max.unwrap_or(served.min());
    match &*api.name {
        // Earlier versions always create topics, which Kafka does after the response.
        "Metadata" => (4, max),
        // The embedded broker does not serve version 6.
        "TxnOffsetCommit" => (served.min(), 5),
        _ => (served.min(), max),
    }
}

fn step(connection: usize, api: &'static str, version: i16, body: Value) -> Step {
    Step { connection, api, version, body }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
