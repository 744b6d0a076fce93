use std::collections::HashMap;

use serde_json::Value;

/// Fields whose values a broker chooses, by their names in JSON.
const IDS: [&str; 5] = ["memberId", "leader", "topicId", "producerId", "clusterId"];
/// Fields that may differ: times of the broker, and texts for people.
const TIMES: [&str; 5] =
    ["logAppendTimeMs", "transactionStartTimeMs", "lastTimestamp", "txnStartTimeMs", "appendTimestamp"];
/// Where the broker listens, where its files are, and how full its disk is.
const DROPPED: [&str; 7] = ["throttleTimeMs", "host", "port", "nodeEndpoints", "logDir", "totalBytes", "usableBytes"];
/// Texts for people: it counts whether there is one.
const TEXTS: [&str; 4] = ["errorMessage", "message", "batchIndexErrorMessage", "documentation"];
/// Lists that Kafka takes out of a map or set, of some or all APIs.
const UNORDERED: [(&str, &str); 25] = [
    ("", "members"),
    ("ListGroups", "groups"),
    ("DescribeGroups", "groups"),
    ("ConsumerGroupDescribe", "groups"),
    ("ListTransactions", "transactionStates"),
    ("Metadata", "topics"),
    ("DescribeTransactions", "topics"),
    ("DescribeTransactions", "partitions"),
    ("ConsumerGroupHeartbeat", "topicPartitions"),
    ("ConsumerGroupHeartbeat", "partitions"),
    ("ConsumerGroupDescribe", "topicPartitions"),
    ("ConsumerGroupDescribe", "partitions"),
    ("ConsumerGroupDescribe", "subscribedTopicNames"),
    ("DescribeLogDirs", "topics"),
    ("ListConfigResources", "configResources"),
    ("DescribeClientQuotas", "entries"),
    ("DescribeClientQuotas", "values"),
    ("DescribeConfigs", "configs"),
    ("AlterClientQuotas", "entries"),
    ("AlterClientQuotas", "entity"),
    ("AddPartitionsToTxn", "resultsByTopicV3AndBelow"),
    ("AddPartitionsToTxn", "topicResults"),
    ("AddPartitionsToTxn", "resultsByPartition"),
    ("DeleteRecords", "topics"),
    ("DeleteRecords", "partitions"),
];
/// What a zero uuid looks like.
const NO_ID: &str = "AAAAAAAAAAAAAAAAAAAAAA";

/// Names for the ids that one broker chose, in the order in which they came, so that they compare with another's.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    /// Texts for people stay as they are.
    pub(super) keeps_texts: bool,
    names: HashMap<String, String>,
    values: HashMap<String, Value>,
    counts: HashMap<String, usize>,
}

impl Symbols {
    /// Takes the ids at the top of a response. Those stand for the request, while the order of nested ones may be chance.
    pub(super) fn learn_top(&mut self, response: &Value) {
        for (key, value) in response.as_object().into_iter().flatten().filter(|(key, _)| IDS.contains(&key.as_str())) {
            self.name(key, value);
        }
    }

    /// Replaces ids by their names, and what may differ by nothing.
    pub(super) fn normalise(&mut self, api: &str, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|key, _| !DROPPED.contains(&key.as_str()));
                // An error has no producer, but Kafka writes the id 0.
                let failed = fields.get("errorCode").is_some_and(|code| *code != 0);
                for (key, field) in fields.iter_mut() {
                    if failed && key == "producerId" {
                        continue;
                    }
                    if IDS.contains(&key.as_str()) {
                        if let Some(name) = self.name(key, field) {
                            *field = name.into();
                        }
                    } else if !self.keeps_texts
                        && TEXTS.contains(&key.as_str())
                        && field.as_str().is_some_and(|text| !text.is_empty())
                    {
                        *field = "text".into();
                    } else if TIMES.contains(&key.as_str()) && field.as_i64().is_some_and(|time| time > 0) {
                        *field = "time".into();
                    } else {
                        self.normalise(api, field);
                        let unordered = UNORDERED.iter().any(|(of, name)| name == key && (of.is_empty() || *of == api));
                        if let (true, Value::Array(list)) = (unordered, field) {
                            list.sort_by_key(ToString::to_string);
                        }
                    }
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|one| self.normalise(api, one)),
            _ => {}
        }
    }

    fn name(&mut self, key: &str, value: &Value) -> Option<String> {
        let text = match value {
            Value::String(text) if !text.is_empty() && text != NO_ID => text.clone(),
            Value::Number(number) if number.as_i64().is_some_and(|id| id >= 0) && key == "producerId" => {
                format!("producer {number}")
            }
            _ => return None,
        };
        if let Some(name) = self.names.get(&text) {
            return Some(name.clone());
        }
        // What a member id begins with is part of the comparison: the client id, or the instance id.
        let kind = match text.len().checked_sub(37).and_then(|at| text.split_at_checked(at)) {
            Some((prefix, _)) => format!("{prefix}-id"),
            // A uuid of the broker, from a consumer group.
            None if key == "memberId" && text.len() == NO_ID.len() => "uuid".to_owned(),
            None if key == "leader" || key == "memberId" => return None,
            None => key.to_owned(),
        };
        let count = self.counts.entry(kind.clone()).or_default();
        *count += 1;
        let name = format!("{kind}#{count}");
        self.names.insert(text, name.clone());
        self.values.insert(name.clone(), value.clone());
        Some(name)
    }

    /// Puts the broker's own values where names stand.
    pub(super) fn resolve(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.values.get(text).unwrap_or(value).clone(),
            Value::Array(list) => list.iter().map(|one| self.resolve(one)).collect(),
            Value::Object(fields) => fields.iter().map(|(key, field)| (key.clone(), self.resolve(field))).collect(),
            _ => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_become_names_and_names_ids_again() {
        let mut symbols = Symbols::default();
        let id = "c0-01234567-0123-0123-0123-0123456789ab";
        let mut response = json!({"memberId": id, "leader": id, "producerId": 7, "logAppendTimeMs": 5, "host": "x"});
        symbols.learn_top(&response);
        symbols.normalise("X", &mut response);
        let expected = json!({"memberId": "c0-id#1", "leader": "c0-id#1", "producerId": "producerId#1", "logAppendTimeMs": "time"});
        assert_eq!(response, expected);
        assert_eq!(
            symbols.resolve(&json!([{"a": "c0-id#1"}, "producerId#1", "other"])),
            json!([{"a": id}, 7, "other"])
        );
    }

    #[test]
    fn what_is_no_id_stays() {
        let mut symbols = Symbols::default();
        let mut response = json!({"memberId": "", "topicId": NO_ID, "producerId": -1, "logAppendTimeMs": -1});
        let before = response.clone();
        symbols.normalise("X", &mut response);
        assert_eq!(response, before);
    }
}
