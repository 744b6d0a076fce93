use milena_legacy::{ErrorKind, Message, MessageSet, decode_message_set};
use serde_json::json;

use crate::vector::{assert_flat, assert_items, assert_message, bytes, cases, int, nullable_bytes, raises};

#[test]
fn messages_encode_and_decode_as_in_kafka_python() {
    for case in cases("messages") {
        let mut message = Message::new(nullable_bytes(&case["value"]), nullable_bytes(&case["key"]))
            .with_attributes(int(&case["attributes"]));
        if let Some(timestamp) = case["timestamp"].as_i64() {
            message = message.with_timestamp(timestamp);
        }
        assert_message(&message, case);
        let encoded = message.encode().unwrap();
        if let Some(expected) = nullable_bytes(&case["hex"]) {
            assert_eq!(encoded, expected, "{case}");
        }
        assert_eq!(message.encode_with_crc().unwrap(), encoded);
        let kept = message.clone().with_crc(0).encode_with_crc().unwrap();
        assert_eq!((&kept[..4], &kept[4..]), (&bytes(&case["crc_kept"])[..], &encoded[4..]));

        let decoded = Message::decode(encoded).unwrap();
        assert_message(&decoded, case);
        assert_eq!(decoded, message);
    }
}

#[test]
fn damaged_messages_decode_as_in_kafka_python() {
    for case in cases("decodings") {
        match Message::decode(bytes(&case["hex"])) {
            Ok(message) => {
                assert_message(&message, &case["decoded"]);
                // Again, with the right checksum and without what came after the value.
                assert_eq!(message.encode().unwrap(), bytes(&case["encoded"]), "{case}");
            }
            Err(error) => {
                assert!(raises(&case["decoded"]), "{case}: {error}");
                assert_eq!(error.kind(), ErrorKind::Malformed);
            }
        }
    }
}

#[test]
fn compressed_messages_open_as_in_kafka_python() {
    for case in cases("wrappers") {
        let encoded = bytes(&case["hex"]);
        let message = Message::decode(encoded.clone()).unwrap();
        let set = MessageSet::encode([(17, encoded)], false).unwrap();
        let (items, flat) = (message.decompress().unwrap(), decode_message_set(set).unwrap());
        if raises(&case["items"]) {
            // The empty stream of xerial that kafka-python writes itself.
            assert_eq!((&case["name"], items.len(), flat.len()), (&json!("snappy"), 0, 0));
        } else {
            assert_items(&items, &case["items"]);
            assert_flat(&flat, &case["flat"]);
        }
    }
}

#[test]
fn what_kafka_python_cannot_open_is_an_error() {
    for case in cases("undecompressable") {
        let found = Message::decode(bytes(&case["hex"])).unwrap().decompress();
        match case["name"].as_str().unwrap() {
            // Differs on purpose: kafka-python falls over the stream that it writes for no data.
            "empty xerial" => assert_eq!(found, Ok(Vec::new())),
            // Differs on purpose: kafka-python reads nothing out of it.
            "null value" => assert_eq!((found.is_err(), &case["decompressed"]), (true, &json!([]))),
            name => assert!(found.is_err() && raises(&case["decompressed"]), "{name}: {found:?}"),
        }
    }
}

#[test]
fn a_changed_message_has_a_fresh_checksum() {
    let message = Message::decode(Message::new(Some("a".into()), None).encode().unwrap()).unwrap();
    let wrong = message.clone().with_crc(message.crc() ^ 1);
    assert!(!wrong.validate_crc());
    assert_ne!(wrong, message);
    let changed = wrong.with_timestamp(5).with_attributes(8);
    assert!(changed.validate_crc());
    assert_eq!(Message::decode(changed.encode().unwrap()).unwrap(), changed);
}
