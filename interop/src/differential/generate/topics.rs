//! Topics.

use super::*;

impl Generator {
    /// A request about topics.
    pub(super) fn topics(&mut self, api: &str, version: i16) -> Option<Value> {
        Some(match api {
            "Metadata" => {
                let topic = self.any_topic();
                let id = self.id_of(&topic);
                let topics = match self.random.below(8) {
                    0 if version >= 10 && id != json!(NO_ID) => json!([{"topicId": id, "name": null}]),
                    1 => json!([{"name": "a b"}]),
                    2 => json!([{"name": ""}]),
                    3 if version >= 12 => json!([{"topicId": NO_ID, "name": null}]),
                    4 if self.random.chance(20) => {
                        if version == 0 {
                            json!([])
                        } else {
                            Value::Null
                        }
                    }
                    _ => json!([{"name": topic}, {"name": self.any_topic()}]),
                };
                json!({
                    "topics": topics, "allowAutoTopicCreation": self.random.chance(10),
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
            _ => return None,
        })
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
