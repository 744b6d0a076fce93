//! The vectors, and what has been read in the form that they have.

use std::sync::LazyLock;

use bytes::Bytes;
use milena_legacy::{Message, MessageOrPartial, MessageSetItem, OffsetAndMessage};
use milena_records::TimestampType;
use serde_json::{Value, json};

static VECTORS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../kafka_python/vectors.json")).unwrap());

/// The cases of that name.
pub(crate) fn cases(name: &str) -> &'static [Value] {
    VECTORS[name].as_array().unwrap()
}

/// All that is not a list of cases.
pub(crate) fn vectors() -> &'static Value {
    &VECTORS
}

/// `None` is null; `xx*n` and `count:n` as `generate.py` says.
pub(crate) fn nullable_bytes(value: &Value) -> Option<Bytes> {
    let text = value.as_str()?;
    if let Some(count) = text.strip_prefix("count:") {
        return Some((0..count.parse().unwrap()).map(|n: u32| n.to_string()).collect::<String>().into());
    }
    let (text, times) = text.split_once('*').map_or((text, 1), |(text, times)| (text, times.parse().unwrap()));
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    Some((0..text.len()).step_by(2).map(byte).collect::<Vec<u8>>().repeat(times).into())
}

pub(crate) fn bytes(value: &Value) -> Bytes {
    nullable_bytes(value).unwrap()
}

/// Bytes, or size and CRC-32 of longer ones.
pub(crate) fn assert_bytes(found: &[u8], expected: &Value, what: &Value) {
    if expected.is_string() {
        assert_eq!(found, bytes(expected), "{what}");
    } else {
        let found = json!({"size": found.len(), "crc32": crc32fast::hash(found)});
        assert_eq!(&found, expected, "{what}");
    }
}

pub(crate) fn int<T: TryFrom<i64>>(value: &Value) -> T {
    T::try_from(value.as_i64().unwrap()).ok().unwrap()
}

/// Whether kafka-python raised an exception.
pub(crate) fn raises(value: &Value) -> bool {
    value.get("raises").is_some()
}

pub(crate) fn assert_message(found: &Message, expected: &Value) {
    let timestamp_type = match found.timestamp_type() {
        TimestampType::None => None,
        TimestampType::CreateTime => Some(0),
        TimestampType::LogAppendTime => Some(1),
    };
    let fields = json!({
        "crc": found.crc(),
        "magic": found.magic(),
        "attributes": found.attributes(),
        "timestamp": found.timestamp(),
        "timestamp_type": timestamp_type,
        "valid": found.validate_crc(),
        "compressed": found.is_compressed(),
    });
    for (name, value) in fields.as_object().unwrap() {
        assert_eq!(value, &expected[name], "{name} of {expected}");
    }
    assert_eq!(found.key().cloned(), nullable_bytes(&expected["key"]), "{expected}");
    assert_eq!(found.value().cloned(), nullable_bytes(&expected["value"]), "{expected}");
}

/// Compares with triples of offset, size and all fields of the message.
pub(crate) fn assert_items(found: &[MessageSetItem], expected: &Value) {
    let expected = expected.as_array().unwrap();
    assert_eq!(found.len(), expected.len(), "{expected:?}");
    for (found, expected) in found.iter().zip(expected) {
        let MessageSetItem { offset, size, message } = found;
        match message {
            MessageOrPartial::Partial(_) => {
                assert_eq!((expected, offset, size), (&json!("partial"), &None, &None));
            }
            MessageOrPartial::Message(message) => {
                assert_eq!(json!([offset, size]), json!([expected[0], expected[1]]));
                assert_message(message, &expected[2]);
            }
        }
    }
}

/// Compares with pairs of offset and all fields of the message.
pub(crate) fn assert_flat(found: &[OffsetAndMessage], expected: &Value) {
    let expected = expected.as_array().unwrap();
    assert_eq!(found.len(), expected.len(), "{expected:?}");
    for (found, expected) in found.iter().zip(expected) {
        match &found.message {
            MessageOrPartial::Partial(_) => assert_eq!((expected, found.offset), (&json!("partial"), None)),
            MessageOrPartial::Message(message) => {
                assert_eq!(json!(found.offset), expected[0]);
                assert_message(message, &expected[1]);
            }
        }
    }
}

/// Offsets, sizes and checksums alone.
pub(crate) fn brief(items: &[MessageSetItem]) -> Value {
    let item = |item: &MessageSetItem| match item.message.message() {
        Some(message) => json!([item.offset, item.size, message.crc()]),
        None => json!("partial"),
    };
    items.iter().map(item).collect()
}
