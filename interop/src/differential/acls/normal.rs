//! What may differ between two brokers besides permissions.

use serde_json::Value;

/// Fields that say nothing about permissions: texts, addresses, sizes, times.
const DROPPED: [&str; 34] = [
    "errorMessage",
    "throttleTimeMs",
    "host",
    "port",
    "rack",
    "clusterId",
    "controllerId",
    "nodeEndpoints",
    "documentation",
    "synonyms",
    "configs",
    "logDir",
    "partitionSize",
    "totalBytes",
    "usableBytes",
    "lastTimestamp",
    "transactionStartTimeMs",
    "logAppendTimeMs",
    "leaderId",
    "leaderEpoch",
    "highWatermark",
    "currentVoters",
    "observers",
    "nodes",
    "isCordoned",
    "memberId",
    "memberEpoch",
    "groupEpoch",
    "assignmentEpoch",
    "clientHost",
    "coordinatorEpoch",
    "tokenId",
    "hmac",
    "salt",
];

/// What a zero uuid looks like.
const NO_ID: &str = "AAAAAAAAAAAAAAAAAAAAAA";

fn is_internal(value: &Value) -> bool {
    ["name", "topic", "topicName"].iter().any(|key| value[*key].as_str().is_some_and(|name| name.starts_with("__")))
}

/// Drops what may differ, and sorts lists: Kafka has them from sets.
pub(super) fn normalise(api: &str, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| !DROPPED.contains(&key.as_str()));
            for (key, field) in fields.iter_mut() {
                match field.as_i64() {
                    // New ids.
                    Some(id) if key == "producerId" && id >= 0 => *field = "producer".into(),
                    // An id of a topic that was not created.
                    _ if api == "CreateTopics" && key == "topicId" && *field != NO_ID => *field = "id".into(),
                    Some(time) if key.ends_with("TimestampMs") && time > 0 => *field = "time".into(),
                    _ => normalise(api, field),
                }
            }
        }
        Value::Array(list) => {
            // The topics of coordinators have as many partitions as each broker likes.
            list.retain(|one| api == "AddPartitionsToTxn" || !is_internal(one));
            list.iter_mut().for_each(|one| normalise(api, one));
            list.sort_by_key(ToString::to_string);
        }
        _ => {}
    }
}
