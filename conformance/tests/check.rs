//! The check finds what is wrong: it is no proof otherwise.

use milena_conformance::{Codec, Expected, Found, Transcoded, Vector, VectorKind, differences, from_hex};
use serde_json::json;

fn found(message: &str, version: i16, kind: VectorKind) -> Vec<(Codec, Found)> {
    let vector = Vector { release: "4.4.0".to_owned(), message: message.to_owned(), version, kind };
    differences(&vector).into_iter().map(|difference| (difference.codec, difference.found)).collect()
}

fn input(bytes: &'static [u8], expected: Expected) -> VectorKind {
    VectorKind::Input { by_hand: true, bytes: bytes.into(), expected }
}

fn read(leftover: usize, written: &'static [u8]) -> Expected {
    Expected::Read { leftover, written: Transcoded::Bytes(written.into()) }
}

const HEARTBEAT: &[u8] = &[0, 0, 0, 5, 0, 27];

#[test]
fn a_right_vector_passes() {
    let value = VectorKind::Value { bytes: HEARTBEAT.into(), json: json!({ "throttleTimeMs": 5, "errorCode": 27 }) };
    assert_eq!(found("HeartbeatResponse", 1, value), []);
    let default =
        VectorKind::Default { bytes: vec![0; 6].into(), json: json!({ "throttleTimeMs": 0, "errorCode": 0 }) };
    assert_eq!(found("HeartbeatResponse", 1, default), []);
    assert_eq!(found("HeartbeatResponse", 1, input(HEARTBEAT, read(0, HEARTBEAT))), []);
    assert_eq!(found("Heartbeat", 4, VectorKind::Header { api: 12, request: 2, response: 1 }), []);
}

#[test]
fn other_json_is_found() {
    let value = VectorKind::Value { bytes: HEARTBEAT.into(), json: json!({ "throttleTimeMs": 6, "errorCode": 27 }) };
    let expected = [(Codec::Schema, Found::OtherJson), (Codec::Schema, Found::OtherBytes)];
    assert_eq!(found("HeartbeatResponse", 1, value), expected);
}

#[test]
fn other_bytes_and_leftovers_are_found_in_both_codecs() {
    let both = |found| [(Codec::Typed, found), (Codec::Schema, found)];
    let heartbeat = |expected| found("HeartbeatResponse", 1, input(HEARTBEAT, expected));
    assert_eq!(heartbeat(read(0, &[0, 0, 0, 5, 0, 28])), both(Found::OtherBytes));
    assert_eq!(heartbeat(read(1, HEARTBEAT)), both(Found::OtherLeftover));
    assert_eq!(heartbeat(Expected::Exception("RuntimeException".to_owned())), both(Found::Reads));
    let unwritable = Transcoded::Exception("RuntimeException".to_owned());
    assert_eq!(heartbeat(Expected::Read { leftover: 0, written: unwritable }), both(Found::Writes));
    let cut = found("HeartbeatResponse", 1, input(&HEARTBEAT[1..], read(0, HEARTBEAT)));
    assert_eq!(cut, both(Found::RefusesToRead));
}

#[test]
fn refusals_that_are_missing_or_too_many_are_found() {
    let from_1_to_0 = |to| {
        let kind = VectorKind::Transcode { from: 1, field: None, bytes: HEARTBEAT.into(), to };
        found("HeartbeatResponse", 0, kind)
    };
    let exception = |name: &str| Transcoded::Exception(name.to_owned());
    assert_eq!(from_1_to_0(Transcoded::Bytes(from_hex("001b").unwrap())), []);
    let both = [(Codec::Typed, Found::Writes), (Codec::Schema, Found::Writes)];
    assert_eq!(from_1_to_0(exception("UnsupportedVersionException")), both);

    let nulls = |nullable| VectorKind::Nulls([("topics".to_owned(), nullable)].into());
    assert_eq!(found("MetadataRequest", 1, nulls(true)), []);
    assert_eq!(found("MetadataRequest", 1, nulls(false)), [(Codec::Schema, Found::Writes)]);
    assert_eq!(found("MetadataRequest", 0, nulls(true)), [(Codec::Schema, Found::RefusesToWrite)]);
}

#[test]
fn wrong_entries_of_tables_are_found() {
    let both = [(Codec::Typed, Found::OtherEntry), (Codec::Schema, Found::OtherEntry)];
    assert_eq!(found("ApiVersionsRequest", 3, VectorKind::Header { api: 18, request: 2, response: 1 }), both);
    let error = |name: &str, retriable| VectorKind::ErrorCode { code: 3, name: name.to_owned(), retriable };
    assert_eq!(found("", 0, error("UNKNOWN_TOPIC_OR_PARTITION", true)), []);
    assert_eq!(found("", 0, error("UNKNOWN_TOPIC_OR_PARTITION", false)), both);
    assert_eq!(found("", 0, error("UNKNOWN_TOPIC", true)), both);
}
