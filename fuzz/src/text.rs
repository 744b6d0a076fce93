use std::fmt::Display;
use std::str::FromStr;

use milena::messages::{ApiKey, ErrorCode};
use milena::records::Codec;
use milena::schema::{MessageSpec, Parser};
use milena::wire::{Uuid, VersionRange};

/// Text in the language of `spec/`. A spec that is taken can be worked with: each of its messages has a layout, and its
/// samples come back from bytes.
pub fn spec(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut parser = Parser::new();
    let place = |error: milena::schema::SpecError| {
        assert!(error.line >= 1 && error.line <= text.lines().count().max(1), "{error}");
        assert!(error.column >= 1, "{error}");
    };
    if let Err(error) = parser.file("messages/fuzz.kafka", &text) {
        return place(error);
    }
    // Only in whole files are all releases listed; errors of the end need not be of this text.
    let Ok(spec) = parser.finish() else { return };
    for message in &spec.messages {
        let versions = message.versions;
        for version in versions.iter().take(3).chain(versions.iter().next_back()) {
            use_layout(message, version);
        }
    }
}

fn use_layout(message: &MessageSpec, version: i16) {
    message.layout(version).expect("a version of its own").to_json();
    message.layout_diff(message.versions.min(), version).expect("versions of its own").to_json();
    for json in [message.default_json(version), message.sample_json(version, 7)] {
        let json = json.expect("a version of its own");
        let bytes = message.encode(&json, version).expect("values made for this version");
        let decoded = message.decode(bytes, version).expect("what was written can be read");
        assert_eq!((decoded.json, decoded.leftover), (json, 0));
    }
}

/// Names, ids and ranges as people write them: what is taken and shown is taken again as the same.
pub fn text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    again::<Uuid>(text);
    again::<VersionRange>(text);
    again::<ApiKey>(text);
    again::<ErrorCode>(text);
    again::<Codec>(text);
}

fn again<T: FromStr + Display + PartialEq>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        let shown = value.to_string();
        assert!(shown.parse::<T>().is_ok_and(|same| same == value), "{text} is shown as {shown}");
    }
}
