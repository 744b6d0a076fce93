//! Whether what was read can be meant.

use serde_json::Value;

/// Fields with bytes, which are base64 in JSON and no text.
const BYTES: [&str; 6] = ["userData", "allocation", "userEndPoint", "processId", "key", "value"];

/// Whether all text is readable and no number is impossible.
pub(super) fn is_plausible(json: &Value) -> bool {
    texts(json).all(is_readable) && has_plausible_numbers("", json)
}

/// Every text of a message that is no base64: names and addresses.
pub(super) fn texts(json: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match json {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(array) => Box::new(array.iter().flat_map(texts)),
        Value::Object(map) => {
            Box::new(map.iter().filter(|(name, _)| !BYTES.contains(&name.as_str())).flat_map(|(_, json)| texts(json)))
        }
        _ => Box::new(std::iter::empty()),
    }
}

/// Without control characters and without what stands for bytes that are not UTF-8.
pub(super) fn is_readable(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(|c| c.is_control() || c == '\u{fffd}')
}

/// Partitions count from 0, generations from 0 with -1 for none.
fn has_plausible_numbers(name: &str, json: &Value) -> bool {
    match json {
        Value::Array(array) => array.iter().all(|json| has_plausible_numbers(name, json)),
        Value::Object(map) => map.iter().all(|(name, json)| has_plausible_numbers(name, json)),
        Value::Number(number) => {
            let number = number.as_i64().unwrap_or_default();
            match name {
                "partition" | "partitions" => (0..1 << 24).contains(&number),
                "generation" | "generationId" => number >= -1,
                _ => true,
            }
        }
        _ => true,
    }
}
