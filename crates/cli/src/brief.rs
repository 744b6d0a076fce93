//! JSON of messages in short: what is not there or empty is left out, and long lists are cut.

use bytes::Bytes;
use milena_client::Codec;
use milena_messages::{ApiKey, ErrorCode};
use milena_records::Batches;
use serde_json::{Map, Value};

use crate::output::{short, size};
use milena_inspect::text::from_base64;

/// Elements of an array that are shown.
const ELEMENTS: usize = 3;

/// Numbers of an array that are shown.
const NUMBERS: usize = 8;

/// Fields of which 0 says something: which one of many it is, or where.
const PLACES: [&str; 8] =
    ["apiKey", "partition", "partitionIndex", "index", "nodeId", "leaderId", "offset", "baseOffset"];

/// A message in a line.
pub(crate) fn brief(json: &Value) -> String {
    match json {
        Value::Object(map) => {
            let text = members(map);
            if text.is_empty() { "(all at their defaults)".to_owned() } else { text }
        }
        other => value("", other),
    }
}

fn members(map: &Map<String, Value>) -> String {
    let told = map.iter().filter(|(name, value)| PLACES.contains(&name.as_str()) || !is_nothing(value));
    told.map(|(name, json)| format!("{name}: {}", value(name, json))).collect::<Vec<_>>().join(", ")
}

/// What nobody set, as far as one can see without the spec.
fn is_nothing(json: &Value) -> bool {
    match json {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => matches!(number.as_i64(), Some(-1 | 0 | i64::MIN)),
        Value::String(text) => text.is_empty() || text == "AAAAAAAAAAAAAAAAAAAAAA",
        Value::Array(array) => array.is_empty(),
        Value::Object(map) => map.values().all(is_nothing),
    }
}

fn value(name: &str, json: &Value) -> String {
    match json {
        Value::Object(map) => format!("{{{}}}", members(map)),
        Value::Array(array) => {
            let most = if array.first().is_some_and(Value::is_number) { NUMBERS } else { ELEMENTS };
            let mut shown: Vec<String> = array.iter().take(most).map(|element| value("", element)).collect();
            if array.len() > most {
                shown.push(format!("… {} more", array.len() - most));
            }
            format!("[{}]", shown.join(", "))
        }
        Value::String(text) if name == "records" => records(text),
        Value::String(text) => format!("{:?}", short(text, 40)),
        Value::Number(number) => {
            let number = number.as_i64().and_then(|number| i16::try_from(number).ok());
            let known = match (name, number) {
                ("apiKey", Some(key)) => ApiKey(key).name(),
                ("errorCode", Some(code)) => ErrorCode(code).name(),
                _ => None,
            };
            known.map_or_else(|| json.to_string(), str::to_owned)
        }
        other => other.to_string(),
    }
}

/// Batches are shown by their content.
fn records(base64: &str) -> String {
    let bytes = Bytes::from(from_base64(base64).unwrap_or_default());
    let length = bytes.len();
    let (mut records, mut codec) = (0, Codec::None);
    for batch in Batches::new(bytes).flatten() {
        records += batch.records().count();
        codec = batch.codec().unwrap_or_default();
    }
    let count = if records == 1 { "1 record".to_owned() } else { format!("{records} records") };
    match codec {
        Codec::None => format!("<{count} in {}>", size(length)),
        codec => format!("<{count} in {}, {codec}>", size(length)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_nobody_set_is_left_out() {
        assert_eq!(brief(&json!({ "a": 0, "b": null, "c": { "d": "" } })), "(all at their defaults)");
        let json = json!({ "topics": [{ "name": "letters", "id": -1 }], "errorCode": 3 });
        assert_eq!(brief(&json), r#"topics: [{name: "letters"}], errorCode: UNKNOWN_TOPIC_OR_PARTITION"#);
    }

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(brief(&json!({ "a": ["1", "2", "3", "4", "5"] })), r#"a: ["1", "2", "3", … 2 more]"#);
        assert_eq!(brief(&json!({ "a": [1, 2, 3, 4, 5] })), "a: [1, 2, 3, 4, 5]");
    }
}
