use bytes::Bytes;
use milena_legacy::{
    CODEC_GZIP, CODEC_NONE, CODEC_SNAPPY, Message, OffsetResetStrategy, Payload, create_gzip_message, create_message,
    create_message_set, create_snappy_message,
};
use milena_records::Codec;
use serde_json::{Value, json};

use crate::vector::{assert_bytes, int, nullable_bytes, raises, vectors};

/// A message as `create_message` of kafka-python makes it: four fields.
pub(crate) fn created(value: &Value) -> Message {
    assert_eq!(value["magic"], json!(0));
    Message::new(nullable_bytes(&value["value"]), nullable_bytes(&value["key"]))
        .with_attributes(int(&value["attributes"]))
}

fn payloads(value: &Value) -> Vec<Payload> {
    let pair = |pair: &Value| (nullable_bytes(&pair[0]), nullable_bytes(&pair[1]));
    value.as_array().unwrap().iter().map(pair).collect()
}

#[test]
fn plain_messages_are_those_of_kafka_python() {
    for case in vectors()["creations"]["create_message"].as_array().unwrap() {
        assert_eq!(create_message(nullable_bytes(&case[0]), nullable_bytes(&case[1])), created(&case[2]), "{case}");
    }
}

#[test]
fn sets_and_snappy_messages_are_those_of_kafka_python() {
    for case in vectors()["creations"]["sets"].as_array().unwrap() {
        let (payloads, key) = (payloads(&case["payloads"]), nullable_bytes(&case["key"]));
        let plain: Vec<Message> = case["plain"].as_array().unwrap().iter().map(created).collect();
        assert_eq!(create_message_set(&payloads, CODEC_NONE, key.clone(), None).unwrap(), plain);

        let snappy = create_snappy_message(&payloads, key.clone()).unwrap();
        assert_eq!(snappy, created(&case["snappy"]));
        assert_eq!(create_message_set(&payloads, CODEC_SNAPPY, key, None).unwrap(), [snappy]);
    }
}

#[test]
fn gzip_messages_hold_what_those_of_kafka_python_hold() {
    for case in vectors()["creations"]["sets"].as_array().unwrap() {
        let (payloads, key) = (payloads(&case["payloads"]), nullable_bytes(&case["key"]));
        let expected = &case["gzip"];
        for level in [None, Some(0), Some(1), Some(9)] {
            let message = create_gzip_message(&payloads, key.clone(), level).unwrap();
            let fields = json!([message.magic(), message.attributes()]);
            assert_eq!(fields, json!([expected["magic"], expected["attributes"]]));
            assert_eq!(message.key().cloned(), nullable_bytes(&expected["key"]));
            let inside = Codec::Gzip.decompress(message.value().unwrap(), 1 << 20).unwrap();
            assert_bytes(&inside, &case["inside"], case);

            let items = message.decompress().unwrap();
            let messages: Vec<&Message> = items.iter().map(|item| item.message.message().unwrap()).collect();
            assert_eq!(
                messages,
                create_message_set(&payloads, CODEC_NONE, None, None).unwrap().iter().collect::<Vec<_>>()
            );
            assert_eq!(create_message_set(&payloads, CODEC_GZIP, key.clone(), level).unwrap(), [message]);
        }
        let sizes = [Some(0), Some(9), None].map(|level| create_gzip_message(&payloads, None, level).unwrap());
        assert!(sizes.iter().all(|message| message == &sizes[0]), "0 and none at all are level 9");
    }
}

#[test]
fn codecs_that_kafka_python_has_no_sets_of_are_refused() {
    for (id, expected) in vectors()["creations"]["unsupported"].as_object().unwrap() {
        assert!(raises(expected));
        let codec = Codec::from_id(id.parse().unwrap()).unwrap();
        assert!(create_message_set(&[], codec, None, None).is_err());
    }
    assert!(create_gzip_message(&[(Some(Bytes::new()), None)], None, Some(10)).is_err());
}

#[test]
fn reset_strategies_have_the_numbers_of_kafka_python() {
    let numbers = json!({
        "LATEST": OffsetResetStrategy::LATEST,
        "EARLIEST": OffsetResetStrategy::EARLIEST,
        "NONE": OffsetResetStrategy::NONE,
    });
    assert_eq!(numbers, vectors()["offset_reset_strategy"]);
}
