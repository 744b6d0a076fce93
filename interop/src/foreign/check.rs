//! Field by field: what was given to the client, and what came back.

use std::fmt::Debug;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milena_messages::Bytes;
use milena_records::{Batches, Codec};
use serde_json::Value;

use super::sample::Sample;
use super::writer::{Case, Time};
use crate::milena;

type Outcome = Result<(), String>;

/// When the records were written, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) from: i64,
    pub(super) to: i64,
}

/// One record as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    offset: i64,
    timestamp: i64,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// `milena consume --json` prints the records.
pub(super) fn same_as_consumed(
    case: &Case,
    bootstrap: &str,
    topic: &str,
    samples: &[Sample],
    window: Window,
) -> Outcome {
    let output = milena::run(&["consume", "--topic", topic, "--bootstrap", bootstrap, "--json"])
        .map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let record: Value = serde_json::from_str(line).map_err(|error| format!("milena consume: {error}: {line}"))?;
        equal("topic", &record["topic"], &Value::from(topic))?;
        equal("partition", &record["partition"], &Value::from(0))?;
        found.push(from_json(&record).ok_or_else(|| format!("milena consume: not a record: {}", shown(&line)))?);
    }
    same("milena consume", case, &found, samples, window)
}

/// The broker's disk has the records in the format and with the codec that the case names.
pub(super) fn same_as_stored(
    case: &Case,
    codec: Codec,
    segments: Vec<u8>,
    samples: &[Sample],
    window: Window,
) -> Outcome {
    let mut found = Vec::new();
    let mut largest = 0;
    let mut batches = Batches::new(Bytes::from(segments));
    for batch in &mut batches {
        let batch = batch.map_err(|error| format!("segment: {error}"))?;
        batch.check_crc().map_err(|error| format!("segment: {error}"))?;
        equal("segment: magic", &batch.magic(), &case.magic)?;
        equal("segment: codec", &batch.codec().map_err(|error| error.to_string())?, &codec)?;
        equal("segment: timestamp type", &batch.timestamp_type(), &case.timestamp_type())?;
        let first = found.len();
        for record in batch.records() {
            let record = record.map_err(|error| format!("segment: {error}"))?;
            found.push(Found {
                offset: record.offset,
                timestamp: record.timestamp,
                key: record.key.map(<[u8]>::to_vec),
                value: record.value.map(<[u8]>::to_vec),
                headers: record.headers().map(|h| (h.key.to_vec(), h.value.map(<[u8]>::to_vec))).collect(),
            });
        }
        largest = largest.max(found.len() - first);
    }
    if let Some(partial) = batches.partial() {
        return Err(format!("segment: {} bytes at the end are no batch", partial.size));
    }
    // Without this, relative offsets and whole compressed sets would not have been tried.
    if largest < 2 && (case.magic == 2 || codec != Codec::None) {
        return Err("segment: no batch holds two records".to_owned());
    }
    same("segment", case, &found, samples, window)
}

fn same(what: &str, case: &Case, found: &[Found], samples: &[Sample], window: Window) -> Outcome {
    equal(&format!("{what}: records"), &found.len(), &samples.len())?;
    for (index, (found, sample)) in found.iter().zip(samples).enumerate() {
        let at = |field: &str| format!("{what}: record {index}: {field}");
        equal(&at("offset"), &found.offset, &i64::try_from(index).unwrap_or(i64::MAX))?;
        match case.time {
            Time::Kept => equal(&at("timestamp"), &found.timestamp, &sample.timestamp)?,
            Time::None => equal(&at("timestamp"), &found.timestamp, &NO_TIMESTAMP)?,
            Time::Append if (window.from..=window.to).contains(&found.timestamp) => {}
            Time::Append => return Err(format!("{} {} is not within {window:?}", at("timestamp"), found.timestamp)),
        }
        equal(&at("key"), &found.key, &sample.key)?;
        equal(&at("value"), &found.value, &sample.value)?;
        let wanted: Vec<(Vec<u8>, Option<Vec<u8>>)> =
            sample.headers.iter().map(|(name, value)| (name.clone().into_bytes(), value.clone())).collect();
        equal(&at("headers"), &found.headers, &wanted)?;
    }
    Ok(())
}

fn equal<T: PartialEq + Debug>(what: &str, found: &T, wanted: &T) -> Outcome {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{what}: found {}, wanted {}", shown(found), shown(wanted)))
}

/// The beginning, which says enough.
fn shown(value: &impl Debug) -> String {
    format!("{value:?}").chars().take(200).collect()
}

/// The timestamp of a record that has none; null in JSON.
const NO_TIMESTAMP: i64 = -1;

/// A record out of a line, if it has every member that a record has.
fn from_json(record: &Value) -> Option<Found> {
    let mut headers = Vec::new();
    for header in record.get("headers")?.as_array()? {
        headers.push((part(header, "key")??, part(header, "value")?));
    }
    Some(Found {
        offset: record.get("offset")?.as_i64()?,
        timestamp: match record.get("timestamp")? {
            Value::Null => NO_TIMESTAMP,
            timestamp => timestamp.as_i64()?,
        },
        key: part(record, "key")?,
        value: part(record, "value")?,
        headers,
    })
}

/// A member that is text, or null, or has its bytes beside it as base64.
fn part(object: &Value, name: &str) -> Option<Option<Vec<u8>>> {
    match (object.get(name), object.get(format!("{name}Base64"))) {
        (Some(Value::Null), None) => Some(None),
        (Some(Value::String(text)), None) => Some(Some(text.clone().into_bytes())),
        (None, Some(Value::String(text))) => STANDARD.decode(text).ok().map(Some),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::writer::CASES;
    use super::*;

    const WINDOW: Window = Window { from: 10, to: 20 };

    fn sample() -> Sample {
        Sample { timestamp: 7, key: Some(vec![0xff]), value: None, headers: vec![("h".into(), Some(vec![]))] }
    }

    fn found() -> Found {
        let line = json!({"offset": 0, "timestamp": 7, "keyBase64": "/w==", "value": null,
                          "headers": [{"key": "h", "value": ""}]});
        from_json(&line).unwrap()
    }

    fn case(time: Time) -> &'static Case {
        CASES.iter().find(|case| case.time == time).unwrap()
    }

    #[test]
    fn a_difference_in_any_field_is_found() {
        let kept = case(Time::Kept);
        assert_eq!(same("x", kept, &[found()], &[sample()], WINDOW), Ok(()));
        assert!(same("x", kept, &[], &[sample()], WINDOW).is_err());
        let changes: [fn(&mut Found); 6] = [
            |found| found.offset = 1,
            |found| found.timestamp = 8,
            |found| found.key = None,
            |found| found.value = Some(vec![]),
            |found| found.headers[0].1 = None,
            |found| found.headers[0].0 = b"i".to_vec(),
        ];
        for change in changes {
            let mut found = found();
            change(&mut found);
            assert!(same("x", kept, &[found.clone()], &[sample()], WINDOW).is_err(), "{found:?}");
        }
    }

    #[test]
    fn a_timestamp_has_to_be_of_its_kind() {
        let at = |time, timestamp| {
            let found = Found { timestamp, ..found() };
            same("x", case(time), &[found], &[sample()], WINDOW).is_ok()
        };
        assert!(at(Time::None, -1) && !at(Time::None, 7));
        assert!(at(Time::Append, 10) && at(Time::Append, 20) && !at(Time::Append, 21) && !at(Time::Append, 7));
    }

    #[test]
    fn a_line_that_lacks_a_member_is_no_record() {
        for lost in ["offset", "timestamp", "key", "value", "headers"] {
            let mut line = json!({"offset": 0, "timestamp": 7, "key": "", "value": null, "headers": []});
            assert!(from_json(&line).is_some());
            line.as_object_mut().unwrap().remove(lost);
            assert!(from_json(&line).is_none(), "{lost}");
        }
    }
}
