//! Records and offsets.

use super::*;

impl Generator {
    /// A request about records.
    pub(super) fn logs(&mut self, api: &str, version: i16) -> Option<Value> {
        Some(match api {
            "Produce" => self.produce(),
            "Fetch" => self.fetch(version),
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
            _ => return None,
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
        let acks = *self.random.pick(&[-1, -1, -1, -1, 1, 1, 2, -2]);
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
}
