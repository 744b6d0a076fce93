//! The schema-driven codec against bytes laid out by hand, and against what Kafka's own classes do in odd cases.

mod every_message;
mod layout_by_hand;
mod odd_cases;
mod refusals;
mod versions;

use bytes::Bytes;
use milena_schema::{Field, LayoutField, MessageSpec, NoteContent, Scalar, Spec, TagSize, Type, UNKNOWN_TAGGED_FIELDS};
use milena_wire::{Error, ErrorKind};
use serde_json::{Value, json};

fn message(name: &str) -> &'static MessageSpec {
    Spec::kafka().message(name).expect(name)
}

/// Hex with any spaces between.
fn bytes(hex: &str) -> Bytes {
    let digits: Vec<u8> = hex.bytes().filter(|b| *b != b' ').collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect(hex);
    digits.chunks(2).map(byte).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(hex: &str) -> String {
    hex.replace(' ', "")
}

/// These bytes are that JSON, and the other way round.
#[track_caller]
fn same(name: &str, version: i16, wire: &str, json: Value) {
    let decoded = message(name).decode(bytes(wire), version).expect("decodes");
    assert_eq!(decoded.json, json);
    assert_eq!(decoded.leftover, 0);
    assert_eq!(hex(&message(name).encode(&json, version).expect("encodes")), text(wire));
}

/// What these bytes become when they are read and written again.
#[track_caller]
fn again(name: &str, version: i16, wire: &str) -> Result<String, Error> {
    let decoded = message(name).decode(bytes(wire), version)?;
    message(name).encode(&decoded.json, version).map(|bytes| hex(&bytes))
}

#[track_caller]
fn refused(name: &str, version: i16, wire: &str) -> Error {
    let error = message(name).decode(bytes(wire), version).expect_err("is refused");
    assert!(error.path().starts_with(name), "{error}");
    error
}

#[track_caller]
fn not_written(name: &str, version: i16, json: Value, kind: ErrorKind, path: &str) -> String {
    let error = message(name).encode(&json, version).expect_err("is refused");
    assert_eq!((error.kind(), error.path().as_str()), (kind, path), "{error}");
    error.message().to_owned()
}
