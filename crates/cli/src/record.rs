//! Records as JSON, the form in which `consume --json` writes and `produce --input json` reads them.
//!
//! A key or value that is text stands in `key` and `value`; other bytes stand in `keyBase64` and `valueBase64`. Null is
//! null, and so differs from empty.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use milena_client::{Header, Record};
use serde_json::{Map, Value, json};

use milena_inspect::text::from_base64;

/// A record and where it is.
pub(crate) fn to_json(topic: &str, partition: i32, record: &Record) -> Value {
    let mut map = Map::new();
    map.insert("topic".to_owned(), json!(topic));
    map.insert("partition".to_owned(), json!(partition));
    map.insert("offset".to_owned(), json!(record.offset));
    map.insert("timestamp".to_owned(), json!(record.timestamp));
    put(&mut map, "key", record.key.as_deref());
    put(&mut map, "value", record.value.as_deref());
    let headers = record.headers.iter().map(|header| {
        let mut map = Map::new();
        put(&mut map, "key", Some(&header.key));
        put(&mut map, "value", header.value.as_deref());
        Value::Object(map)
    });
    map.insert("headers".to_owned(), headers.collect());
    Value::Object(map)
}

fn put(map: &mut Map<String, Value>, name: &str, bytes: Option<&[u8]>) {
    let (name, value) = match bytes.map(|bytes| std::str::from_utf8(bytes).map_err(|_| bytes)) {
        None => (name.to_owned(), Value::Null),
        Some(Ok(text)) => (name.to_owned(), Value::String(text.to_owned())),
        Some(Err(bytes)) => (format!("{name}Base64"), Value::String(STANDARD.encode(bytes))),
    };
    map.insert(name, value);
}

/// A record, and the partition that it names.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn from_json(line: &[u8]) -> Result<(Record, Option<i32>), String> {
    let mut map: Map<String, Value> =
        serde_json::from_slice(line).map_err(|error| format!("no JSON object: {error}"))?;
    let mut record = Record { key: take(&mut map, "key")?, value: take(&mut map, "value")?, ..Record::default() };
    if let Some(timestamp) = map.remove("timestamp").filter(|timestamp| !timestamp.is_null()) {
        record.timestamp = timestamp.as_i64().ok_or("`timestamp` is no number of milliseconds")?;
    }
    match map.remove("headers") {
        None | Some(Value::Null) => {}
        Some(Value::Array(headers)) => record.headers = headers.into_iter().map(header).collect::<Result<_, _>>()?,
        Some(Value::Object(headers)) => {
            let header = |(key, value): (String, Value)| Header { key: key.into(), value: bytes(value) };
            record.headers = headers.into_iter().map(header).collect();
        }
        Some(_) => return Err("`headers` is neither an array nor an object".to_owned()),
    }
    let partition = match map.remove("partition") {
        None | Some(Value::Null) => None,
        Some(partition) => {
            let number = partition.as_i64().and_then(|partition| i32::try_from(partition).ok());
            Some(number.filter(|partition| *partition >= 0).ok_or("`partition` is no number of a partition")?)
        }
    };
    // Where a record was says nothing of where it goes.
    map.remove("topic");
    map.remove("offset");
    match map.keys().next() {
        Some(name) => Err(format!("a record has no `{name}`")),
        None => Ok((record, partition)),
    }
}

fn header(json: Value) -> Result<Header, String> {
    let Value::Object(mut map) = json else {
        return Err("a header is an object with `key` and `value`".to_owned());
    };
    let key = take(&mut map, "key")?.ok_or("a header has no key")?;
    Ok(Header { key, value: take(&mut map, "value")? })
}

fn take(map: &mut Map<String, Value>, name: &str) -> Result<Option<Bytes>, String> {
    let encoded = format!("{name}Base64");
    match (map.remove(name), map.remove(&encoded)) {
        (Some(_), Some(_)) => Err(format!("both `{name}` and `{encoded}`")),
        (None, None) => Ok(None),
        (Some(value), None) => Ok(bytes(value)),
        (None, Some(Value::String(text))) => match from_base64(&text) {
            Some(bytes) => Ok(Some(bytes.into())),
            None => Err(format!("`{encoded}` is not base64")),
        },
        (None, Some(_)) => Err(format!("`{encoded}` is not a string")),
    }
}

/// Text is itself, null is null, and any other JSON is its text.
fn bytes(json: Value) -> Option<Bytes> {
    match json {
        Value::Null => None,
        Value::String(text) => Some(text.into()),
        other => Some(other.to_string().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_as_json() {
        let records = [
            Record::new("key", "value").with_timestamp(7).with_header("h", "1").with_header("h", "2"),
            Record { key: Some(Bytes::new()), value: None, ..Record::default() },
            Record::from_value(&b"\xff\x00"[..]).with_header("\u{17e}", &b"\xfe"[..]),
        ];
        for record in records {
            let json = to_json("letters", 3, &record);
            assert_eq!(from_json(json.to_string().as_bytes()), Ok((record, Some(3))));
        }
    }

    #[test]
    fn what_is_no_record_says_why() {
        let error = |text: &str| from_json(text.as_bytes()).unwrap_err();
        assert!(error("[]").starts_with("no JSON object"));
        assert_eq!(error(r#"{"values":1}"#), "a record has no `values`");
        assert_eq!(error(r#"{"value":"a","valueBase64":"YQ=="}"#), "both `value` and `valueBase64`");
        assert_eq!(error(r#"{"valueBase64":"?"}"#), "`valueBase64` is not base64");
        assert_eq!(error(r#"{"partition":-1}"#), "`partition` is no number of a partition");
    }
}
