//! What Kafka's own classes do in odd cases, seen by running kafka-clients 4.4.0.

use super::*;

#[test]
fn sizes_of_known_tags_are_not_looked_at() {
    let written = Ok("01000404613438".to_owned());
    for wire in ["01000304613438", "01000504613438", "01000404613438", "0100ffffffff0f04613438"] {
        assert_eq!(again("BeginTransactionRecord", 0, wire), written);
    }
}

#[test]
fn the_last_of_equal_tags_counts_and_all_are_sorted() {
    assert_eq!(again("BeginTransactionRecord", 0, "02 00 02 0261 00 02 0262"), Ok(text("01 00 02 0262")));
    let written = Ok(text("02 00 02 0261 d00f 01 07"));
    assert_eq!(again("BeginTransactionRecord", 0, "02 d00f 01 07 00 02 0261"), written);
    // Back at its default, it is as if it had not come.
    assert_eq!(again("BeginTransactionRecord", 0, "02 00 02 0261 00 01 00"), Ok("00".to_owned()));
}

#[test]
fn unknown_tags_survive_but_are_written_only_in_order() {
    same(
        "EndTransactionRecord",
        0,
        "02 d00f 01 01 d10f 00",
        json!({ "_unknownTaggedFields": [{ "tag": 2000, "data": "AQ==" }, { "tag": 2001, "data": "" }] }),
    );
    for wire in ["02d10f020202d00f0101", "02d00f00d00f00"] {
        assert!(message("EndTransactionRecord").decode(bytes(wire), 0).is_ok());
        assert_eq!(again("EndTransactionRecord", 0, wire).unwrap_err().kind(), ErrorKind::InvalidValue);
    }
    assert_eq!(refused("EndTransactionRecord", 0, "01d00ffeffffff0f01").kind(), ErrorKind::Malformed);
    // A number that the message has given away, now or later.
    for (version, tag) in [(0, 0), (0, 3), (3, 3)] {
        let json = json!({ "_unknownTaggedFields": [{ "tag": tag, "data": "" }] });
        let error = message("BrokerRegistrationChangeRecord").encode(&json, version).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
    }
    // Without tagged fields there is no place for them.
    not_written(
        "MetadataRequest",
        1,
        json!({ "_unknownTaggedFields": [{ "tag": 9, "data": "" }] }),
        ErrorKind::UnsupportedVersion,
        "MetadataRequest._unknownTaggedFields",
    );
}

#[test]
fn a_tag_of_later_versions_is_refused() {
    let error = refused("BrokerRegistrationChangeRecord", 0, "00000001 0000000000000002 01 01 01 01");
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Malformed, Some(15)));
    assert!(again("BrokerRegistrationChangeRecord", 1, "00000001 0000000000000002 01 01 01 01").is_ok());
}

#[test]
fn a_tag_with_its_default_is_dropped() {
    let wire = "00000001 0000000000000002 02 00 01 00 02 01 01";
    let decoded = message("BrokerRegistrationChangeRecord").decode(bytes(wire), 2).unwrap();
    assert_eq!(decoded.json, json!({ "brokerId": 1, "brokerEpoch": 2 }));
    assert_eq!(again("BrokerRegistrationChangeRecord", 2, wire), Ok(text("00000001 0000000000000002 00")));
}

#[test]
fn counts_of_tags_are_checked() {
    for wire in ["ffffffff0f", "05", "0200"] {
        assert_eq!(refused("EndTransactionRecord", 0, wire).kind(), ErrorKind::Malformed);
    }
}

#[test]
fn varints_may_be_long_but_not_too_long() {
    for count in ["01", "8100", "8180808000", "8180808040"] {
        let wire = format!("{count} 00 02 0261");
        assert_eq!(again("BeginTransactionRecord", 0, &wire), Ok(text("01 00 02 0261")));
    }
    refused("BeginTransactionRecord", 0, "818080808000 00 02 0261");
    // 2147483647 bytes, which are not there.
    refused("RemoveFeatureLevelRecord", 0, "8080808008 00");
    refused("MetadataRequest", 9, "8080808008 01 00 00 00");
}

#[test]
fn any_negative_length_is_null() {
    assert_eq!(again("MetadataRequest", 1, "fffffffe"), Ok("ffffffff".to_owned()));
    assert_eq!(again("MetadataRequest", 9, "8180808008 01 00 00 00"), Ok(text("00 01 00 00 00")));
    let error = refused("MetadataRequest", 0, "fffffffe");
    assert_eq!((error.path().as_str(), error.offset()), ("MetadataRequest.topics", Some(0)));
    let error = refused("MetadataRequest", 1, "00000001 ffff");
    assert_eq!((error.path().as_str(), error.offset()), ("MetadataRequest.topics[0].name", Some(4)));
}

#[test]
fn text_that_is_not_utf8_is_replaced() {
    assert_eq!(again("RemoveFeatureLevelRecord", 0, "02ff00"), Ok("04efbfbd00".to_owned()));
    assert_eq!(again("RemoveFeatureLevelRecord", 0, "04eda08000"), Ok("04efbfbd00".to_owned()));
}

#[test]
fn any_byte_but_zero_is_true() {
    assert_eq!(again("AlterClientQuotasRequest", 0, "00000000 02"), Ok("0000000001".to_owned()));
    assert_eq!(again("AlterClientQuotasRequest", 0, "00000000 ff"), Ok("0000000001".to_owned()));
}

#[test]
fn strings_end_at_32767_bytes() {
    let long = "x".repeat(32_768);
    let wire = format!("818002{}00", "78".repeat(32_768));
    let error = refused("RemoveFeatureLevelRecord", 0, &wire);
    assert_eq!((error.path().as_str(), error.offset()), ("RemoveFeatureLevelRecord.name", Some(0)));
    let path = "RemoveFeatureLevelRecord.name";
    not_written("RemoveFeatureLevelRecord", 0, json!({ "name": long }), ErrorKind::InvalidValue, path);
    assert!(message("RemoveFeatureLevelRecord").encode(&json!({ "name": long[1..] }), 0).is_ok());
}

#[test]
fn bytes_after_the_message_are_counted() {
    let decoded = message("MetadataRequest").decode(bytes("00000000 0102"), 1).unwrap();
    assert_eq!(decoded.leftover, 2);
}

#[test]
fn records_are_null_where_kafka_takes_that() {
    let produce = |length: &str| format!("00 ffff 00000000 02 02 61 02 00000000 {length} 00 00 00");
    assert_eq!(again("ProduceRequest", 9, &produce("00")), Ok(text(&produce("00"))));
    assert_eq!(again("ProduceRequest", 9, &produce("03 0102")), Ok(text(&produce("03 0102"))));
    // Not given, they are null.
    let json = json!({ "acks": -1, "topicData": [{ "name": "a", "partitionData": [{}] }] });
    assert_eq!(hex(&message("ProduceRequest").encode(&json, 9).unwrap()), text(&produce("00")));

    let json = json!({ "responses": [{ "partitions": [{ "records": null }] }] });
    assert!(message("ShareFetchResponse").encode(&json, 0).is_ok());
    let path = "ShareFetchResponse.responses[0].partitions[0].records";
    not_written("ShareFetchResponse", 1, json, ErrorKind::InvalidValue, path);
    let head = "00000000 0000 00 00000000 02 00000000000000000000000000000000 02";
    let wire = format!("{head} 00000000 0000 00 0000 00 00000000 00000000 00 00 01 00 00 01 00");
    assert_eq!(refused("ShareFetchResponse", 1, &wire).path(), path);

    let json = json!({ "topics": [{ "partitions": [{ "unalignedRecords": null }] }] });
    let path = "FetchSnapshotResponse.topics[0].partitions[0].unalignedRecords";
    not_written("FetchSnapshotResponse", 1, json, ErrorKind::InvalidValue, path);
}
