//! The record sets inside of messages.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milena_wire::Bytes;
use serde_json::Value;

use crate::records::read_set;

/// What was in the record sets of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) batches: usize,
    pub(super) records: usize,
    /// Sets that end in the middle of a batch, as responses to Fetch may.
    pub(super) cut: usize,
}

/// Reads every set that stands as `records` somewhere in a message, to its end.
///
/// # Errors
/// What is wrong with a set.
pub(super) fn read_sets(json: &Value) -> Result<Counts, String> {
    let mut counts = Counts::default();
    walk(json, &mut counts)?;
    Ok(counts)
}

fn walk(json: &Value, counts: &mut Counts) -> Result<(), String> {
    match json {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if name == "records" => read(text, counts)?,
                    value => walk(value, counts)?,
                }
            }
        }
        Value::Array(elements) => {
            for element in elements {
                walk(element, counts)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn read(base64: &str, counts: &mut Counts) -> Result<(), String> {
    let bytes = STANDARD.decode(base64).map_err(|error| format!("records: {error}"))?;
    let read = read_set(&Bytes::from(bytes));
    if read["ok"] != true {
        return Err(format!("records: {read:.500}"));
    }
    let batches = read["batches"].as_array().map_or(&[][..], Vec::as_slice);
    counts.batches += batches.len();
    counts.records += batches.iter().filter_map(|batch| Some(batch["records"].as_array()?.len())).sum::<usize>();
    counts.cut += usize::from(read["partialTail"] != 0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sets_are_found_wherever_they_stand_and_read_to_their_end() {
        // One message of magic 0 without key and value: offset, size, CRC-32, magic, attributes, two lengths of -1.
        let set = "AAAAAAAAAAcAAAAOp+xoAwAA//////////8=";
        let counts = read_sets(&json!({"a": [{"records": set}, {"records": null}], "records": set})).unwrap();
        assert_eq!(counts, Counts { batches: 2, records: 2, cut: 0 });
        let cut = read_sets(&json!({"records": &set[..24]})).unwrap();
        assert_eq!(cut, Counts { batches: 0, records: 0, cut: 1 });
        assert!(read_sets(&json!({"records": set.replace("p+xo", "AAAA")})).is_err());
    }
}
