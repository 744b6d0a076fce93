//! The larger bodies of requests.

use super::*;

impl Generator {
    pub(super) fn id_of(&mut self, topic: &str) -> Value {
        let known = self.topic_ids.get(topic).cloned();
        if self.random.chance(8) {
            "_____________________w".into()
        } else {
            known.unwrap_or_else(|| "AAAAAAAAAAAAAAAAAAAAAQ".into())
        }
    }

    pub(super) fn offsets(&mut self) -> Value {
        let topic = self.any_topic();
        let id = self.id_of(&topic);
        let partition = json!({
            "partitionIndex": self.any_partition(), "committedOffset": *self.random.pick(&[0, 1, 5, 5, 5, -1, -5]), "committedLeaderEpoch": *self.random.pick(&[-1, 0, 3]),
            "committedMetadata": *self.random.pick(&[json!(null), json!(""), json!("note")]),
        });
        json!({"name": topic, "topicId": id, "partitions": [partition]})
    }

    pub(super) fn join(&mut self, connection: usize) -> Value {
        let group = self.any_group();
        let member = self.any_member(&group, connection);
        // A subscription of version 0, or one that is cut off.
        let subscribed = self.topic(1);
        let head = [0, 0, 0, 0, 0, 1, 0, subscribed.len() as u8];
        let mut metadata = [&head[..], subscribed.as_bytes(), &[0; 4]].concat();
        if self.random.chance(8) {
            metadata.truncate(9);
        }
        let metadata = STANDARD.encode(metadata);
        let protocol = |name: &str| json!({"name": name, "metadata": metadata});
        let protocols = match self.random.below(12) {
            0 => json!([]),
            1 => json!([protocol("sticky")]),
            2 | 3 => json!([protocol("roundrobin"), protocol("range")]),
            4 => json!([protocol("")]),
            _ => json!([protocol("range"), protocol("roundrobin")]),
        };
        json!({
            "groupId": group, "memberId": member, "groupInstanceId": self.instance(),
            "sessionTimeoutMs": *self.random.pick(&[30_000, 30_000, 30_000, 30_000, 30_000, 30_000, 30_000, 0, -1, 2_000_000]),
            "rebalanceTimeoutMs": 30_000,
            "protocolType": *self.random.pick(&["consumer", "consumer", "consumer", "consumer", "consumer", "consumer", "other", ""]),
            "protocols": protocols, "reason": "because",
        })
    }

    pub(super) fn produce(&mut self) -> Value {
        let (topic, partition) = (self.any_topic(), self.any_partition());
        let transactional = self.theme == TRANSACTIONS && self.random.chance(80);
        let (id, mut epoch, transactional_id) = self.producer();
        let idempotent = transactional || self.random.chance(40);
        let mut sequence = -1;
        let count = 1 + self.random.below(3) as i64;
        if idempotent {
            let change = *self.random.pick(&[0, 0, 0, 0, 0, 0, 0, 0, 1, -1, -2]);
            if let Some(producer) = self.producers.iter_mut().find(|one| one.id == id) {
                let next = producer.sequences.entry((topic.clone(), partition)).or_default();
                sequence = (*next + change).max(0);
                if change == 0 {
                    *next += count;
                }
            } else {
                sequence = 0;
            }
            if id == json!(-1) {
                (sequence, epoch) = (-1, -1);
            }
        }
        let values: Vec<String> = (0..count).map(|n| format!("v{}", self.time + n)).collect();
        self.time += count;
        let time = self.time - count;
        let batch = json!({"batch": {
            "producerId": if idempotent { id } else { json!(-1) }, "producerEpoch": if idempotent { epoch } else { -1 },
            "baseSequence": sequence, "transactional": transactional, "values": values, "time": time,
            "codec": *self.random.pick(&[0, 0, 0, 1, 2, 3, 4]), "corrupt": self.random.chance(4),
        }});
        // Kafka looks at the transaction before it looks at acks, the embedded broker after it.
        let acks = *self.random.pick(&[-1, -1, -1, -1, 1, 1, 2, -2]);
        let acks = if transactional { -1 } else { acks };
        let topic_id = self.id_of(&topic);
        json!({
            "transactionalId": if transactional { transactional_id } else { Value::Null },
            "acks": acks, "timeoutMs": 5000,
            "topicData": [{"name": topic, "topicId": topic_id, "partitionData": [{"index": partition, "records": batch}]}],
        })
    }

    pub(super) fn fetch(&mut self, version: i16) -> Value {
        let topic = self.any_topic();
        let topic_id = self.id_of(&topic);
        let mut body = json!({
            "replicaId": *self.random.pick(&[-1, -1, -1, -1, -1, -2, 7]), "maxWaitMs": 0, "minBytes": *self.random.pick(&[0, 1, 1]), "maxBytes": *self.random.pick(&[1_000_000, 1_000_000, 100, 0]),
            "isolationLevel": *self.random.pick(&[0, 0, 1, 1, 2]),
            "sessionId": 0, "sessionEpoch": -1,
            "topics": [{"topic": topic, "topicId": topic_id, "partitions": [{
                "partition": self.any_partition(), "currentLeaderEpoch": self.leader_epoch(),
                "fetchOffset": *self.random.pick(&[0, 0, 0, 1, 2, 3, 4, 100, -1]),
                "lastFetchedEpoch": *self.random.pick(&[-1, -1, -1, -1, 0, 0, 1, -3]), "logStartOffset": -1,
                "partitionMaxBytes": *self.random.pick(&[1_000_000, 1_000_000, 100, 0]),
            }]}],
        });
        if version >= 15 {
            let replica = body["replicaId"].take();
            if let Some(fields) = body.as_object_mut() {
                fields.remove("replicaId");
                if replica != json!(-1) {
                    fields.insert("replicaState".into(), json!({"replicaId": replica, "replicaEpoch": -1}));
                }
            }
        }
        body
    }

    pub(super) fn create(&mut self) -> Value {
        let number = self.random.below(4);
        let name = match self.random.below(12) {
            0 => String::new(),
            1 => "a b".to_owned(),
            2 => "..".to_owned(),
            3 => "x".repeat(250),
            _ => self.topic(number),
        };
        let configs = match self.random.below(8) {
            0 => json!([{"name": "cleanup.policy", "value": "compact"}]),
            1 => json!([{"name": "max.message.bytes", "value": "-3"}]),
            2 => json!([{"name": "no.such", "value": "1"}]),
            3 => json!([{"name": "cleanup.policy", "value": null}]),
            _ => json!([]),
        };
        let assignments = match self.random.below(10) {
            0 => json!([{"partitionIndex": 0, "brokerIds": [1]}]),
            1 => json!([{"partitionIndex": 1, "brokerIds": [1]}]),
            2 => json!([{"partitionIndex": 0, "brokerIds": [9]}]),
            3 => json!([{"partitionIndex": 0, "brokerIds": []}]),
            _ => json!([]),
        };
        let manual = assignments.as_array().is_some_and(|list| !list.is_empty()) && self.random.chance(80);
        json!({
            "topics": [{
                "name": name, "numPartitions": if manual { -1 } else { *self.random.pick(&[1, 1, 2, 3, 0, -1, -2]) },
                "replicationFactor": if manual { -1 } else { *self.random.pick(&[1, 1, 1, 1, -1, 0, 2, -2]) },
                "assignments": assignments, "configs": configs,
            }],
            "timeoutMs": 10_000, "validateOnly": self.random.chance(30),
        })
    }
}
