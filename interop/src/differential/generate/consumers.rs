//! Groups of the consumer protocol (KIP-848).

use super::*;

impl Generator {
    /// A request of consumer groups.
    pub(super) fn consumers(&mut self, api: &str, version: i16, connection: usize) -> Option<Value> {
        Some(match api {
            "ConsumerGroupHeartbeat" => self.consumer_heartbeat(version, connection),
            "ConsumerGroupDescribe" => json!({
                "groupIds": [self.any_group(), self.any_group()], "includeAuthorizedOperations": self.random.chance(20),
            }),
            _ => return None,
        })
    }

    fn consumer_heartbeat(&mut self, version: i16, connection: usize) -> Value {
        let group = self.any_group();
        // Two members: which of three gets a partition that is free, depends on Kafka's hash tables.
        let connection = connection % 2;
        let known = self.members.get(&(group.clone(), connection)).cloned();
        let member = match (&known, self.random.below(16)) {
            (Some(member), 1..) => member.clone(),
            (_, 0) => "~nobody".into(),
            // An id that the broker chooses comes before the others, as its order among them counts.
            _ if version == 0 && self.random.chance(25) && self.members.keys().all(|(of, _)| *of != group) => "".into(),
            _ => format!("~{}-c{connection}", self.prefix).into(),
        };
        let epoch = self.epochs.get(&(group.clone(), connection)).copied().unwrap_or(0);
        let epoch = match self.random.below(24) {
            0 => 0,
            1 => -1,
            2 => -2,
            3 => epoch - 1,
            4 => epoch + 1,
            5 => -3,
            _ => epoch,
        };
        let epoch = if member == json!("~nobody") && epoch == 0 { 1 } else { epoch };
        let joins = epoch == 0 || self.random.chance(15);
        // One topic: the ids of several are in another order on each broker, and so is what members get of them.
        let subscribed = json!([self.topic(1)]);
        let owned = self.owned.get(&(group.clone(), connection)).cloned().unwrap_or_else(|| json!([]));
        let owned = match self.random.below(4) {
            0 if epoch != 0 => Value::Null,
            _ if epoch == 0 && self.random.chance(95) => json!([]),
            _ => owned,
        };
        let complete = self.random.chance(95);
        // One assignor for each group: which of two with as many votes it is, depends on Kafka's hash tables.
        let assignor = if group.ends_with('1') { "range" } else { "uniform" };
        json!({
            "groupId": group, "memberId": member, "memberEpoch": epoch, "instanceId": self.instance(), "rackId": null,
            "rebalanceTimeoutMs": if joins && complete { 30_000 } else { -1 },
            "subscribedTopicNames": if joins && self.random.chance(97) { subscribed } else { Value::Null },
            "subscribedTopicRegex": null,
            "serverAssignor": *self.random.pick(&[json!(null), json!(null), json!(assignor), json!(assignor), json!("nope")]),
            "topicPartitions": if complete { owned } else { Value::Null },
        })
    }

    /// Learns the epoch of a member, and what it has to own.
    pub(super) fn observe_consumer(&mut self, step: &Step, response: &Value) {
        let place = (text(&step.body["groupId"]), step.connection % 2);
        let epoch = response["memberEpoch"].as_i64().unwrap_or(-1);
        if response["errorCode"] != 0 {
            return;
        }
        if epoch < 0 {
            self.members.remove(&place);
            self.epochs.remove(&place);
            self.owned.remove(&place);
            return;
        }
        self.members.insert(place.clone(), response["memberId"].clone());
        self.epochs.insert(place.clone(), epoch);
        if let Value::Array(owned) = &response["assignment"]["topicPartitions"] {
            self.owned.insert(place, json!(owned));
        }
    }
}
