//! Producers and transactions.

use super::*;

impl Generator {
    /// A request about transactions.
    pub(super) fn transactions(&mut self, api: &str, version: i16, connection: usize) -> Option<Value> {
        Some(match api {
            "TxnOffsetCommit" => {
                let group = self.any_group();
                let (id, epoch, transactional_id) = self.producer();
                let offsets = self.offsets();
                let simple = self.random.chance(60);
                let generation = if simple { -1 } else { self.generation(&group, connection) };
                let member = if simple { "".into() } else { self.any_member(&group, connection) };
                json!({
                    "transactionalId": transactional_id, "groupId": group, "producerId": id, "producerEpoch": epoch,
                    "generationIdOrMemberEpoch": generation, "memberId": member, "groupInstanceId": self.instance(),
                    "topics": [offsets],
                })
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
                let pattern = match self.random.below(8) {
                    0 => json!("["),
                    1 => json!(""),
                    2 => Value::Null,
                    3 => format!("{}-x", self.prefix).into(),
                    4 => format!("{}-x[1-9]", self.prefix).into(),
                    _ => format!("{}-x.*", self.prefix).into(),
                };
                json!({
                    "stateFilters": if self.random.chance(50) { json!([]) } else { json!([state]) }, "producerIdFilters": [],
                    "durationFilter": -1, "transactionalIdPattern": pattern,
                })
            }
            _ => return None,
        })
    }
}
