//! Members of JSON objects, written straight into a line. A tree in between would take most of the time.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The beginning of an object of this type.
pub(crate) fn begin(line: &mut Vec<u8>, kind: &str) {
    line.push(b'{');
    raw(line, "type", "\"");
    line.extend_from_slice(kind.as_bytes());
    line.push(b'"');
}

/// The name of the next member, and the comma before it if it is not the first.
pub(crate) fn name(line: &mut Vec<u8>, name: &str) {
    if line.last().is_some_and(|byte| *byte != b'{') {
        line.push(b',');
    }
    line.push(b'"');
    line.extend_from_slice(name.as_bytes());
    line.extend_from_slice(b"\":");
}

pub(crate) fn raw(line: &mut Vec<u8>, member: &str, value: &str) {
    name(line, member);
    line.extend_from_slice(value.as_bytes());
}

pub(crate) fn boolean(line: &mut Vec<u8>, member: &str, value: bool) {
    raw(line, member, if value { "true" } else { "false" });
}

pub(crate) fn number(line: &mut Vec<u8>, member: &str, value: i64) {
    name(line, member);
    push_number(line, value);
}

pub(crate) fn optional(line: &mut Vec<u8>, member: &str, value: Option<i64>) {
    match value {
        Some(value) => number(line, member, value),
        None => raw(line, member, "null"),
    }
}

pub(crate) fn span(line: &mut Vec<u8>, range: &Range<u64>) {
    number(line, "start", range.start as i64);
    number(line, "end", range.end as i64);
}

/// Digits from the last to the first: `write!` would take a third of all the time.
pub(crate) fn push_number(line: &mut Vec<u8>, value: i64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        line.push(b'-');
    }
    line.extend_from_slice(&digits[at..]);
}

pub(crate) fn text(line: &mut Vec<u8>, member: &str, value: &str) {
    name(line, member);
    string(line, value);
}

/// Text as a JSON string.
pub(crate) fn string(line: &mut Vec<u8>, value: &str) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(line, value);
}

pub(crate) fn json(line: &mut Vec<u8>, member: &str, value: &Value) {
    name(line, member);
    let _ = serde_json::to_writer(line, value);
}

pub(crate) fn base64(line: &mut Vec<u8>, bytes: Option<&[u8]>) {
    let Some(bytes) = bytes else { return line.extend_from_slice(b"null") };
    line.push(b'"');
    let start = line.len();
    let room = bytes.len().div_ceil(3) * 4;
    line.resize(start + room, b'=');
    // The room is what base64 takes, so this does not fail either.
    let written = STANDARD.encode_slice(bytes, &mut line[start..]).unwrap_or_default();
    line.truncate(start + written);
    line.push(b'"');
}
