//! The values of fields, as people read them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milena_messages::{ApiKey, ErrorCode};
use milena_schema::{Entity, Note, NoteContent};
use serde_json::Value;

use crate::output::{fit, hex, line_width, size};

/// What a field holds, by name where its number has one.
pub(crate) fn value(note: &Note) -> String {
    let value = match &note.content {
        NoteContent::Array(1) => return "1 element".to_owned(),
        NoteContent::Array(count) => return format!("{count} elements"),
        NoteContent::Struct | NoteContent::Failed => return String::new(),
        NoteContent::Value(value) => value,
    };
    let named = value.as_i64().and_then(|number| i16::try_from(number).ok()).and_then(|number| match note.entity? {
        Entity::ErrorCode => ErrorCode(number).name(),
        Entity::ApiKey => ApiKey(number).name(),
        _ => None,
    });
    match (value, named) {
        (value, Some(name)) => format!("{value} {name}"),
        (Value::String(base64), _) if is_bytes(&note.ty) => bytes_value(base64),
        (Value::String(text), _) if note.ty.starts_with("uuid") => text.clone(),
        (Value::String(text), _) => format!("{:?}", fit(text, 60)),
        (value, _) => value.to_string(),
    }
}

fn is_bytes(ty: &str) -> bool {
    ["bytes", "records", "unknown"].contains(&ty.trim_end_matches('?'))
}

fn bytes_value(base64: &str) -> String {
    bytes_text(&STANDARD.decode(base64).unwrap_or_default())
}

/// How many bytes there are, and their text if they are text. Other bytes stand in the column of hex already, as many as
/// fit a terminal; without one all of them are here.
pub(crate) fn bytes_text(bytes: &[u8]) -> String {
    let length = size(bytes.len());
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && !text.contains(char::is_control) => format!("{length}, {:?}", fit(text, 40)),
        _ if bytes.is_empty() || line_width().is_some() => length,
        _ => format!("{length}, 0x{}", hex(bytes)),
    }
}
