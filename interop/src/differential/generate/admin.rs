//! Settings, quotas, reassignments and log folders.

use super::*;

/// Settings of topics with values that are right or wrong.
const OF_TOPICS: &[(&str, &str)] = &[
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "delete,compact"),
    ("cleanup.policy", "nothing"),
    ("cleanup.policy", ""),
    ("retention.ms", "3600000"),
    ("retention.ms", "-1"),
    ("retention.ms", "-2"),
    ("retention.ms", "x"),
    ("retention.bytes", "1000000"),
    ("max.message.bytes", "2000"),
    ("max.message.bytes", "-3"),
    ("segment.bytes", "2097152"),
    ("segment.bytes", "5"),
    ("compression.type", "producer"),
    ("compression.type", "lzma"),
    ("compression.gzip.level", "11"),
    ("compression.zstd.level", "5"),
    ("min.insync.replicas", "1"),
    ("min.insync.replicas", "0"),
    ("message.timestamp.type", "LogAppendTime"),
    ("message.timestamp.type", "logappendtime"),
    ("min.cleanable.dirty.ratio", "0.3"),
    ("min.cleanable.dirty.ratio", "1.3"),
    ("preallocate", "TRUE"),
    ("preallocate", "yes"),
    ("unclean.leader.election.enable", "true"),
    ("leader.replication.throttled.replicas", "0:1"),
    ("leader.replication.throttled.replicas", "*"),
    ("leader.replication.throttled.replicas", "a"),
    ("remote.storage.enable", "false"),
    ("remote.storage.enable", "true"),
    ("message.timestamp.after.max.ms", "9223372036854775807"),
    ("no.such", "1"),
    ("", "1"),
];
/// Of brokers; few, as they stay for all sequences.
const OF_BROKERS: &[(&str, &str)] = &[
    ("log.retention.ms", "86400000"),
    ("log.retention.ms", "x"),
    ("log.segment.bytes", "1073741824"),
    ("node.id", "2"),
    ("log.dirs", "/tmp"),
    ("no.such", "1"),
];
const OF_GROUPS: &[(&str, &str)] = &[
    ("consumer.session.timeout.ms", "50000"),
    ("consumer.session.timeout.ms", "50000000"),
    ("consumer.heartbeat.interval.ms", "6000"),
    ("consumer.heartbeat.interval.ms", "x"),
    ("share.auto.offset.reset", "earliest"),
    ("share.auto.offset.reset", "now"),
    ("no.such", "1"),
];
const OF_METRICS: &[(&str, &str)] = &[
    ("interval.ms", "5000"),
    ("interval.ms", "50"),
    ("metrics", "org.apache.kafka.producer.,org.apache.kafka.consumer."),
    ("metrics", "*"),
    ("match", "client_software_name=apache.kafka.java,client_id=a.*"),
    ("match", "client_id=[a"),
    ("match", "colour=blue"),
    ("match", "client_id"),
    ("no.such", "1"),
];
const OF_LOGGERS: &[(&str, &str)] = &[("made.up", "INFO"), ("made.up", "LOUD")];

const TOPIC: i64 = 2;
const BROKER: i64 = 4;
const LOGGER: i64 = 8;
const METRICS: i64 = 16;
const GROUP: i64 = 32;

impl Generator {
    /// A request of administrators.
    pub(super) fn admin(&mut self, api: &str, version: i16) -> Option<Value> {
        Some(match api {
            "DescribeConfigs" => {
                let resources: Vec<Value> = (0..1 + self.random.below(2)).map(|_| self.described()).collect();
                json!({
                    "resources": resources, "includeSynonyms": self.random.chance(50),
                    "includeDocumentation": self.random.chance(20),
                })
            }
            "AlterConfigs" | "IncrementalAlterConfigs" => {
                let incremental = api == "IncrementalAlterConfigs";
                let mut resources: Vec<Value> =
                    (0..1 + self.random.below(2)).map(|_| self.altered(incremental)).collect();
                if !incremental {
                    resources.dedup_by(|one, other| {
                        one["resourceType"] == other["resourceType"] && one["resourceName"] == other["resourceName"]
                    });
                }
                json!({"resources": resources, "validateOnly": self.random.chance(20)})
            }
            "ListConfigResources" => json!({
                "resourceTypes": *self.random.pick(&[&[][..], &[2], &[16], &[32], &[16, 32], &[4], &[8], &[1], &[99]]),
            }),
            "CreatePartitions" => {
                let count = *self.random.pick(&[1, 2, 3, 3, 4, 5, 0, -1]);
                let ids = *self.random.pick(&[&[1][..], &[1], &[1], &[9], &[], &[1, 1], &[1, 9]]);
                let assignments: Vec<Value> =
                    (0..1 + self.random.below(2)).map(|_| json!({"brokerIds": ids})).collect();
                json!({
                    "topics": [{
                        "name": self.any_topic(), "count": count,
                        "assignments": if self.random.chance(70) { Value::Null } else { assignments.into() },
                    }],
                    "timeoutMs": 5000, "validateOnly": self.random.chance(20),
                })
            }
            "ElectLeaders" => json!({
                "electionType": *self.random.pick(&[0, 0, 0, 1, 1, 2]),
                "topicPartitions": [{"topic": self.any_topic(), "partitions": [self.any_partition()]}],
                "timeoutMs": 5000,
            }),
            "AlterPartitionReassignments" => {
                let replicas = *self.random.pick(&[&[1][..], &[1], &[1], &[9], &[], &[1, 1], &[1, 9], &[-1]]);
                let replicas = if self.random.chance(30) { Value::Null } else { json!(replicas) };
                json!({
                    "timeoutMs": 5000, "allowReplicationFactorChange": self.random.chance(60),
                    "topics": [{"name": self.any_topic(), "partitions": [{
                        "partitionIndex": self.any_partition(), "replicas": replicas,
                    }]}],
                })
            }
            "ListPartitionReassignments" => {
                let topics = json!([{"name": self.any_topic(), "partitionIndexes": [self.any_partition()]}]);
                json!({"timeoutMs": 5000, "topics": if self.random.chance(30) { Value::Null } else { topics }})
            }
            "DescribeLogDirs" => {
                let topics = json!([{"topic": self.any_topic(), "partitions": [self.any_partition(), 0]}]);
                json!({"topics": if self.random.chance(10) { json!([]) } else { topics }})
            }
            "AlterReplicaLogDirs" => json!({
                "dirs": [{
                    "path": *self.random.pick(&["/no/such", "relative", ""]),
                    "topics": [{"name": self.any_topic(), "partitions": [self.any_partition()]}],
                }],
            }),
            "DescribeTopicPartitions" => {
                let (topic, other) = (self.any_topic(), self.any_topic());
                let bad = *self.random.pick(&["", "a b", ".."]);
                let topics = match self.random.below(6) {
                    0 => json!([{"name": topic}, {"name": bad}]),
                    1 => json!([{"name": topic}]),
                    _ => json!([{"name": topic}, {"name": other}]),
                };
                let cursor = json!({"topicName": self.any_topic(), "partitionIndex": self.any_partition()});
                json!({
                    "topics": topics, "responsePartitionLimit": *self.random.pick(&[2000, 2000, 1, 2, 0, -1]),
                    "cursor": if self.random.chance(70) { Value::Null } else { cursor },
                })
            }
            "DescribeClientQuotas" => {
                let component = |this: &mut Self| {
                    let matching = *this.random.pick(&[0, 0, 0, 1, 2, 3]);
                    let name = if matching == 0 || this.random.chance(10) { this.entity() } else { Value::Null };
                    json!({"entityType": this.entity_type(), "matchType": matching, "match": name})
                };
                let components: Vec<Value> = (0..self.random.below(3)).map(|_| component(self)).collect();
                json!({"components": components, "strict": self.random.chance(30)})
            }
            "AlterClientQuotas" => {
                let entry = |this: &mut Self| {
                    let entity: Vec<Value> = (0..1 + this.random.below(8) / 6)
                        .map(|_| json!({"entityType": this.entity_type(), "entityName": this.entity()}))
                        .collect();
                    let ops: Vec<Value> = (0..1 + this.random.below(2)).map(|_| this.quota()).collect();
                    json!({"entity": entity, "ops": ops})
                };
                let entries: Vec<Value> = (0..1 + self.random.below(2)).map(|_| entry(self)).collect();
                json!({"entries": entries, "validateOnly": self.random.chance(20)})
            }
            "ApiVersions" if version >= 3 => json!({
                "clientSoftwareName": *self.random.pick(&["differential", "", "a b"]), "clientSoftwareVersion": "1.0",
            }),
            _ => return None,
        })
    }

    /// A resource by type and name, with the settings that fit it.
    fn resource(&mut self) -> (i64, String, &'static [(&'static str, &'static str)]) {
        match self.random.below(20) {
            0..=9 => (TOPIC, self.any_topic(), OF_TOPICS),
            10 => (TOPIC, (*self.random.pick(&["", "a b"])).to_owned(), OF_TOPICS),
            11 | 12 => (BROKER, (*self.random.pick(&["", "1", "1", "9", "x"])).to_owned(), OF_BROKERS),
            13 | 14 => (GROUP, self.any_group(), OF_GROUPS),
            15 | 16 => (METRICS, format!("{}-m{}", self.prefix, self.random.below(2)), OF_METRICS),
            17 => (METRICS, String::new(), OF_METRICS),
            18 => (LOGGER, (*self.random.pick(&["1", "9", "x", ""])).to_owned(), OF_LOGGERS),
            _ => (*self.random.pick(&[0, 1, 3, 64]), "1".to_owned(), OF_TOPICS),
        }
    }

    fn described(&mut self) -> Value {
        let (kind, name, settings) = self.resource();
        let some = (0..1 + self.random.below(3)).map(|_| self.random.pick(settings).0);
        // Each broker has folders of its own.
        let mut some: Vec<&str> = some.filter(|name| *name != "log.dirs").collect();
        if some.is_empty() {
            some.push("log.retention.ms");
        }
        let keys = match self.random.below(10) {
            0 if kind != BROKER && kind != LOGGER => json!([]),
            1..=5 if kind != BROKER && kind != LOGGER => Value::Null,
            _ => json!(some),
        };
        json!({"resourceType": kind, "resourceName": name, "configurationKeys": keys})
    }

    fn altered(&mut self, incremental: bool) -> Value {
        let (kind, name, settings) = self.resource();
        let mut change = || {
            let (name, value) = *self.random.pick(settings);
            let operation = *self.random.pick(&[0, 0, 0, 0, 1, 1, 2, 3, 7]);
            let nothing = self.random.chance(if operation == 1 && incremental { 80 } else { 5 });
            let value = if nothing { Value::Null } else { value.into() };
            let mut change = json!({"name": name, "value": value});
            if incremental {
                change["configOperation"] = operation.into();
            }
            change
        };
        let count = if kind == BROKER || kind == METRICS { 1 } else { 2 };
        let changes: Vec<Value> = (0..count).map(|_| change()).collect();
        // Which of several changes Kafka looks at first, is chance; one that makes it fail comes alone.
        let mut changes = changes;
        if let Some(failing) = changes.iter().position(|change| change["configOperation"] == 7) {
            changes = vec![changes.swap_remove(failing)];
        }
        let count = changes.len();
        let changes = if self.random.chance(8) { json!([]) } else { json!(changes[..1 + self.random.below(count)]) };
        json!({"resourceType": kind, "resourceName": name, "configs": changes})
    }

    fn entity_type(&mut self) -> &'static str {
        let types = ["user", "user", "client-id", "client-id", "client-id", "ip", "colour", ""];
        types[self.random.below(types.len())]
    }

    /// Never the default entity, whose quota would throttle the connections.
    fn entity(&mut self) -> Value {
        match self.random.below(12) {
            0 => "".into(),
            1 => "127.0.0.9".into(),
            _ => format!("{}-q{}", self.prefix, self.random.below(2)).into(),
        }
    }

    fn quota(&mut self) -> Value {
        let keys = [
            "producer_byte_rate",
            "producer_byte_rate",
            "consumer_byte_rate",
            "request_percentage",
            "controller_mutation_rate",
            "connection_creation_rate",
            "colour",
        ];
        json!({
            "key": *self.random.pick(&keys), "value": *self.random.pick(&[1000.0, 1e9, 1.5, 0.0, -1.0]),
            "remove": self.random.chance(25),
        })
    }
}
