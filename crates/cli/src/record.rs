//! Records as JSON, the form that `consume --json` writes and `produce --input json` reads: the readable one of
//! [`milena_inspect::record`], with `topic` and `partition` before it.

use bytes::Bytes;
use milena_client::{Header, Record};
use milena_inspect::record::push_readable;
use milena_inspect::text::from_base64;
use serde_json::{Map, Value};

use crate::time;

/// The timestamp of a record that has none.
pub(crate) const NO_TIMESTAMP: i64 = -1;

/// The timestamp of a record, if it has one.
pub(crate) fn timestamp(record: &Record) -> Option<i64> {
    (record.timestamp != NO_TIMESTAMP).then_some(record.timestamp)
}

/// Appends a line with a record and where it is.
pub(crate) fn push_json(out: &mut Vec<u8>, topic: &str, partition: i32, record: &Record) {
    out.extend_from_slice(b"{\"topic\":");
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(&mut *out, topic);
    out.extend_from_slice(format!(",\"partition\":{partition}").as_bytes());
    push_readable(out, record);
    out.extend_from_slice(b"}\n");
}

/// The same as a value, to be a part of another one.
pub(crate) fn to_json(topic: &str, partition: i32, record: &Record) -> Value {
    let mut line = Vec::new();
    push_json(&mut line, topic, partition, record);
    // It is JSON that was just written.
    serde_json::from_slice(&line).unwrap_or_default()
}

/// A record, and the partition that it names. A record whose JSON has no `timestamp` gets the time of this machine; null
/// and -1 stand for no timestamp.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn from_json(line: &[u8]) -> Result<(Record, Option<i32>), String> {
    let (_, partition, record) = placed_from_json(line)?;
    Ok((record, partition))
}

/// As [`from_json`], with the topic before, if the record names one.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn placed_from_json(line: &[u8]) -> Result<(Option<String>, Option<i32>, Record), String> {
    let mut map: Map<String, Value> =
        serde_json::from_slice(line).map_err(|error| format!("this is not a JSON object: {error}"))?;
    let mut record = Record { key: take(&mut map, "key")?, value: take(&mut map, "value")?, ..Record::default() };
    record.timestamp = match map.remove("timestamp") {
        None => time::now(),
        Some(Value::Null) => NO_TIMESTAMP,
        Some(timestamp) => {
            let millis = timestamp.as_i64().filter(|millis| *millis >= NO_TIMESTAMP);
            millis.ok_or("`timestamp` is not a number of milliseconds since 1970")?
        }
    };
    match map.remove("headers") {
        None | Some(Value::Null) => {}
        Some(Value::Array(headers)) => record.headers = headers.into_iter().map(header).collect::<Result<_, _>>()?,
        Some(Value::Object(headers)) => {
            let header = |(key, value): (String, Value)| {
                let value = bytes(&format!("the value of the header `{key}`"), value)?;
                Ok::<_, String>(Header { key: key.into(), value })
            };
            record.headers = headers.into_iter().map(header).collect::<Result<_, _>>()?;
        }
        Some(_) => return Err("`headers` is neither an array nor an object".to_owned()),
    }
    let partition = match map.remove("partition") {
        None | Some(Value::Null) => None,
        Some(partition) => {
            let number = partition.as_i64().and_then(|partition| i32::try_from(partition).ok());
            Some(number.filter(|partition| *partition >= 0).ok_or("`partition` is not the number of a partition")?)
        }
    };
    let topic = match map.remove("topic") {
        None | Some(Value::Null) => None,
        Some(Value::String(topic)) => Some(topic),
        Some(_) => return Err("`topic` is not a string".to_owned()),
    };
    // Where a record was read does not decide where it is written.
    map.remove("offset");
    match map.keys().next() {
        Some(name) => Err(format!("a record has no field `{name}`")),
        None => Ok((topic, partition, record)),
    }
}

fn header(json: Value) -> Result<Header, String> {
    let Value::Object(mut map) = json else {
        return Err("a header is not an object with `key` and `value`".to_owned());
    };
    let key = take(&mut map, "key")?.ok_or("a header has no key")?;
    let value = take(&mut map, "value")?;
    match map.keys().next() {
        Some(name) => Err(format!("a header has no field `{name}`")),
        None => Ok(Header { key, value }),
    }
}

fn take(map: &mut Map<String, Value>, name: &str) -> Result<Option<Bytes>, String> {
    let encoded = format!("{name}Base64");
    match (map.remove(name), map.remove(&encoded)) {
        (Some(_), Some(_)) => Err(format!("both `{name}` and `{encoded}` are given")),
        (None, None) => Ok(None),
        (Some(value), None) => bytes(&format!("`{name}`"), value),
        (None, Some(Value::String(text))) => match from_base64(&text) {
            Some(bytes) => Ok(Some(bytes.into())),
            None => Err(format!("`{encoded}` is not base64")),
        },
        (None, Some(_)) => Err(format!("`{encoded}` is not a string")),
    }
}

/// The bytes of a string; null is null. Another value has more than one text (`1.0` or `1`, the order of fields), so
/// that a guess could change what is written.
fn bytes(what: &str, json: Value) -> Result<Option<Bytes>, String> {
    let kind = match json {
        Value::Null => return Ok(None),
        Value::String(text) => return Ok(Some(text.into())),
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    Err(format!("{what} is {kind}, not a string: put its text in quotes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_as_json() {
        let records = [
            Record::new("key", "value").with_timestamp(7).with_header("h", "1").with_header("h", "2"),
            Record { key: Some(Bytes::new()), value: None, ..Record::default() },
            Record::from_value(&b"\xff\x00"[..]).with_timestamp(0).with_header("\u{17e}", &b"\xfe"[..]),
        ];
        for record in records {
            let mut json = Vec::new();
            push_json(&mut json, "letters", 3, &record);
            assert_eq!(from_json(&json), Ok((record, Some(3))));
        }
    }

    #[test]
    fn no_timestamp_is_null_and_stays_none() {
        let none = Record::from_value("v");
        assert_eq!(to_json("letters", 0, &none)["timestamp"], Value::Null);
        for text in [r#"{"value":"v","timestamp":null}"#, r#"{"value":"v","timestamp":-1}"#] {
            assert_eq!(from_json(text.as_bytes()).unwrap().0, none, "{text}");
        }
        let before = time::now();
        let stamped = from_json(br#"{"value":"v"}"#).unwrap().0.timestamp;
        assert!((before..=time::now()).contains(&stamped), "{stamped}");
    }

    #[test]
    fn what_is_no_record_says_why() {
        let error = |text: &str| from_json(text.as_bytes()).unwrap_err();
        assert!(error("[]").starts_with("this is not a JSON object"));
        assert_eq!(error(r#"{"values":1}"#), "a record has no field `values`");
        assert_eq!(error(r#"{"value":"a","valueBase64":"YQ=="}"#), "both `value` and `valueBase64` are given");
        assert_eq!(error(r#"{"valueBase64":"?"}"#), "`valueBase64` is not base64");
        assert_eq!(error(r#"{"partition":-1}"#), "`partition` is not the number of a partition");
        for timestamp in ["-2", "-5", "1.5", "\"1970-01-01\"", "99999999999999999999"] {
            let expected = "`timestamp` is not a number of milliseconds since 1970";
            assert_eq!(error(&format!(r#"{{"timestamp":{timestamp}}}"#)), expected);
        }
    }

    #[test]
    fn what_is_not_a_string_is_not_made_one() {
        let error = |text: &str| from_json(text.as_bytes()).unwrap_err();
        assert_eq!(error(r#"{"value":5}"#), "`value` is a number, not a string: put its text in quotes");
        assert_eq!(error(r#"{"key":{"b":1,"a":1.0}}"#), "`key` is an object, not a string: put its text in quotes");
        assert!(error(r#"{"headers":{"h":true}}"#).contains("the value of the header `h` is a boolean"));
        assert!(error(r#"{"headers":[{"key":"h","value":[]}]}"#).contains("an array"));
        assert_eq!(error(r#"{"headers":[{"key":"h","val":"1"}]}"#), "a header has no field `val`");
    }
}
