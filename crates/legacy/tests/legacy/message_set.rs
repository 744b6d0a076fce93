use bytes::Bytes;
use milena_legacy::{ErrorKind, MessageSet, decode_message_set};
use serde_json::json;

use crate::vector::{assert_items, brief, bytes, cases, int, raises};

#[test]
fn sets_encode_and_decode_as_in_kafka_python() {
    for case in cases("sets") {
        let entries = case["entries"].as_array().unwrap();
        let entries: Vec<(i64, Bytes)> = entries.iter().map(|entry| (int(&entry[0]), bytes(&entry[1]))).collect();
        let bare = MessageSet::encode(entries.clone(), false).unwrap();
        assert_eq!(bare, bytes(&case["bare"]));
        let prefixed = MessageSet::encode(entries, true).unwrap();
        assert_eq!(prefixed, bytes(&case["prefixed"]));

        assert_items(&MessageSet::decode(bare.clone(), Some(bare.len())).unwrap(), &case["items"]);
        assert_items(&MessageSet::decode(prefixed, None).unwrap(), &case["items"]);
    }
}

#[test]
fn sets_cut_at_any_byte_decode_as_in_kafka_python() {
    for case in cases("sets") {
        let bare = bytes(&case["bare"]);
        let cuts = case["cuts"].as_array().unwrap();
        assert_eq!(cuts.len(), bare.len() + 1);
        for (size, expected) in cuts.iter().enumerate() {
            let found = MessageSet::decode(bare.slice(..size), Some(size)).unwrap();
            assert_eq!(&brief(&found), expected, "{} cut to {size}", case["name"]);
            let flat = decode_message_set(bare.slice(..size)).unwrap();
            assert_eq!(flat.len(), found.len());
            assert!(flat.iter().zip(&found).all(|(a, b)| (a.offset, &a.message) == (b.offset, &b.message)));
        }
    }
}

#[test]
fn sets_after_a_size_cut_at_any_byte_decode_as_in_kafka_python() {
    for case in cases("sets") {
        let prefixed = bytes(&case["prefixed"]);
        for (size, expected) in case["prefixed_cuts"].as_array().unwrap().iter().enumerate() {
            match MessageSet::decode(prefixed.slice(..size), None) {
                Ok(found) => assert_eq!(&brief(&found), expected, "{} cut to {size}", case["name"]),
                Err(error) => assert!(raises(expected) && size < 4, "{} cut to {size}: {error}", case["name"]),
            }
        }
    }
}

#[test]
fn as_many_bytes_are_read_as_were_asked_for() {
    for case in cases("sets") {
        let mut data = bytes(&case["bare"]).to_vec();
        data.extend_from_slice(&[0; 9]);
        let data = Bytes::from(data);
        for read in case["reads"].as_array().unwrap() {
            let found = MessageSet::decode(data.clone(), Some(int(&read[0]))).unwrap();
            assert_eq!(brief(&found), read[1], "{} of {}", read[0], case["name"]);
        }
    }
}

/// Differs on purpose: kafka-python falls over some, and takes the others for partial messages, which hides what is
/// after them.
#[test]
fn whole_entries_that_cannot_be_read_are_errors() {
    for case in cases("odd") {
        let data = bytes(&case["hex"]);
        let size = data.len();
        let error = MessageSet::decode(data, Some(size)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert!(error.path().starts_with("messages[1]"), "{}: {error}", case["name"]);
        assert!(error.offset().is_some_and(|at| (30..=size - 30).contains(&at)), "{}: {error}", case["name"]);
        let decoded = &case["decoded"];
        assert!(raises(decoded) || decoded[1] == json!("partial") || case["name"] == "magic -2", "{case}");
    }
}

#[test]
fn a_negative_size_in_front_of_a_set_is_an_error() {
    let error = MessageSet::decode(Bytes::from_static(&[0xff; 40]), None).unwrap_err();
    assert_eq!(error.to_string(), "a message set of -1 bytes (at byte 0)");
}

#[test]
fn no_flipped_bits_make_it_panic() {
    let wrapped = cases("wrappers").iter().map(|case| bytes(&case["hex"])).filter(|message| message.len() < 1000);
    let wrapped = wrapped.map(|message| MessageSet::encode([(17, message)], false).unwrap());
    let plain = cases("sets").iter().map(|case| bytes(&case["bare"]));
    for set in plain.chain(wrapped) {
        for at in 0..set.len() {
            for mask in [0x01, 0x80, 0xff] {
                let mut damaged = set.to_vec();
                damaged[at] ^= mask;
                let _ = decode_message_set(damaged.clone().into());
                let _ = MessageSet::decode(damaged.into(), None);
            }
        }
    }
}
