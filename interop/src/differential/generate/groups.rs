//! Groups of the classic protocol.

use super::*;

impl Generator {
    /// A request about groups.
    pub(super) fn groups(&mut self, api: &str, version: i16, connection: usize) -> Option<Value> {
        Some(match api {
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
                    "groupId": group, "generationId": self.generation(&group, connection), "memberId": self.any_member(&group, connection),
                    "groupInstanceId": self.instance(), "assignments": assignments,
                    "protocolType": if self.random.chance(50) { Value::Null } else { kind.into() },
                    "protocolName": if self.random.chance(50) { Value::Null } else { protocol.into() },
                })
            }
            "Heartbeat" => {
                let group = self.any_group();
                json!({
                    "groupId": group, "generationId": self.generation(&group, connection),
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
                let generation = if simple { -1 } else { self.generation(&group, connection) };
                let member = if simple { "".into() } else { self.any_member(&group, connection) };
                json!({
                    "groupId": group, "generationIdOrMemberEpoch": generation, "memberId": member,
                    "groupInstanceId": self.instance(), "topics": [self.offsets()],
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
            _ => return None,
        })
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

    pub(super) fn offsets(&mut self) -> Value {
        let topic = self.any_topic();
        let id = self.id_of(&topic);
        let partition = json!({
            "partitionIndex": self.any_partition(), "committedOffset": *self.random.pick(&[0, 1, 5, 5, 5, -1, -5]), "committedLeaderEpoch": *self.random.pick(&[-1, 0, 3]),
            "committedMetadata": *self.random.pick(&[json!(null), json!(""), json!("note")]),
        });
        json!({"name": topic, "topicId": id, "partitions": [partition]})
    }
}
