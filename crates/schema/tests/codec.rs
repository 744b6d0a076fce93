//! The schema-driven codec against bytes laid out by hand, and against what Kafka's own classes do in odd cases.

use bytes::Bytes;
use milena_schema::{Content, LayoutField, Message, Spec, UNKNOWN_TAGGED_FIELDS};
use milena_wire::{Error, ErrorKind};
use serde_json::{Value, json};

fn message(name: &str) -> &'static Message {
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

#[test]
fn api_versions_response_with_features() {
    let version = "11 6d657461646174612e76657273696f6e";
    let wire = format!(
        "0000 02 0012 0000 0004 00 00000000 03 \
         00 17 02 {version} 0001 0015 00 \
         01 08 0000000000000005 \
         02 17 02 {version} 0014 0013 00"
    );
    let json = json!({
        "errorCode": 0,
        "apiKeys": [{ "apiKey": 18, "minVersion": 0, "maxVersion": 4 }],
        "throttleTimeMs": 0,
        "supportedFeatures": [{ "name": "metadata.version", "minVersion": 1, "maxVersion": 21 }],
        "finalizedFeaturesEpoch": 5,
        "finalizedFeatures": [{ "name": "metadata.version", "maxVersionLevel": 20, "minVersionLevel": 19 }],
    });
    same("ApiVersionsResponse", 3, &wire, json.clone());
    // In a version without tags all of these are ignorable.
    let old = message("ApiVersionsResponse").encode(&json, 0).unwrap();
    assert_eq!(hex(&old), text("0000 00000001 0012 0000 0004"));
}

#[test]
fn metadata_request_tells_null_from_empty() {
    same("MetadataRequest", 0, "00000000", json!({ "topics": [] }));
    same("MetadataRequest", 0, "00000001 0001 61", json!({ "topics": [{ "name": "a" }] }));
    same("MetadataRequest", 1, "ffffffff", json!({ "topics": null }));
    same("MetadataRequest", 1, "00000000", json!({ "topics": [] }));
    let modern = |topics: Value| json!({ "topics": topics, "allowAutoTopicCreation": true, "includeTopicAuthorizedOperations": false });
    same("MetadataRequest", 12, "00 01 00 00", modern(json!(null)));
    same("MetadataRequest", 12, "01 01 00 00", modern(json!([])));
    same(
        "MetadataRequest",
        12,
        "02 000102030405060708090a0b0c0d0e0f 00 00 01 00 00",
        modern(json!([{ "topicId": "AAECAwQFBgcICQoLDA0ODw", "name": null }])),
    );
    not_written("MetadataRequest", 0, json!({ "topics": null }), ErrorKind::InvalidValue, "MetadataRequest.topics");
    not_written(
        "MetadataRequest",
        9,
        json!({ "topics": [{ "name": "a" }, { "name": null }] }),
        ErrorKind::InvalidValue,
        "MetadataRequest.topics[1].name",
    );
}

#[test]
fn fetch_request_of_three_ages() {
    same(
        "FetchRequest",
        0,
        "ffffffff 000001f4 00000001 00000001 0001 61 00000001 00000002 0000000000000007 00100000",
        json!({
            "replicaId": -1, "maxWaitMs": 500, "minBytes": 1,
            "topics": [{ "topic": "a", "partitions": [
                { "partition": 2, "fetchOffset": 7, "partitionMaxBytes": 1_048_576 },
            ]}],
        }),
    );
    let tail = "000001f4 00000001 7fffffff 00 00000000 ffffffff 01 01 01";
    let mut json = json!({
        "clusterId": "abc", "replicaId": -1, "maxWaitMs": 500, "minBytes": 1, "maxBytes": i32::MAX,
        "isolationLevel": 0, "sessionId": 0, "sessionEpoch": -1, "topics": [], "forgottenTopicsData": [], "rackId": "",
    });
    same("FetchRequest", 12, &format!("ffffffff {tail} 01 00 04 04 616263"), json.clone());
    json.as_object_mut().unwrap().remove("replicaId");
    json["replicaState"] = json!({ "replicaId": 3, "replicaEpoch": 9 });
    let wire = format!("{tail} 02 00 04 04 616263 01 0d 00000003 0000000000000009 00");
    same("FetchRequest", 15, &wire, json.clone());
    // The order in JSON is that of the spec, not that of the wire.
    let decoded = message("FetchRequest").decode(bytes(&wire), 15).unwrap().json;
    let names: Vec<_> = decoded.as_object().unwrap().keys().take(3).collect();
    assert_eq!(names, ["clusterId", "replicaState", "maxWaitMs"]);
    json["replicaState"] = json!({ "replicaId": -1 });
    json["clusterId"] = json!(null);
    assert_eq!(hex(&message("FetchRequest").encode(&json, 15).unwrap()), text(&format!("{tail} 00")));
}

#[test]
fn the_client_id_of_a_header_is_never_compact() {
    let json = json!({ "requestApiKey": 18, "requestApiVersion": 3, "correlationId": 7, "clientId": "milena" });
    same("RequestHeader", 2, "0012 0003 00000007 0006 6d696c656e61 00", json.clone());
    same("RequestHeader", 1, "0012 0003 00000007 0006 6d696c656e61", json.clone());
    assert_eq!(hex(&message("RequestHeader").encode(&json, 0).unwrap()), "0012000300000007");
}

#[test]
fn a_tagged_nullable_struct_has_a_varint_marker() {
    let head = "00 00 02 63 02 68 01 00 ffffffff 00";
    let mut json = json!({
        "instanceId": null, "rackId": null, "clientId": "c", "clientHost": "h", "subscribedTopicNames": [],
        "subscribedTopicRegex": null, "rebalanceTimeoutMs": -1, "serverAssignor": null,
    });
    same("ConsumerGroupMemberMetadataValue", 0, &format!("{head} 00"), json.clone());
    json["classicMemberMetadata"] = json!(null);
    same("ConsumerGroupMemberMetadataValue", 0, &format!("{head} 01 00 01 00"), json.clone());
    json["classicMemberMetadata"] = json!({ "sessionTimeoutMs": 1, "supportedProtocols": [] });
    same("ConsumerGroupMemberMetadataValue", 0, &format!("{head} 01 00 07 01 00000001 01 00"), json.clone());
    // The struct of defaults, not null, is the default.
    json["classicMemberMetadata"] = json!({ "sessionTimeoutMs": 0 });
    let bytes = message("ConsumerGroupMemberMetadataValue").encode(&json, 0).unwrap();
    assert_eq!(hex(&bytes), text(&format!("{head} 00")));
}

#[test]
fn an_untagged_nullable_struct_has_a_marker_of_one_byte() {
    let head = "00000000 0000 00 00 00000001 00000002";
    let json = |assignment: Value| {
        json!({
            "throttleTimeMs": 0, "errorCode": 0, "errorMessage": null, "memberId": null, "memberEpoch": 1,
            "heartbeatIntervalMs": 2, "assignment": assignment,
        })
    };
    let name = "ConsumerGroupHeartbeatResponse";
    same(name, 0, &format!("{head} ff 00"), json(json!(null)));
    let full = json(json!({ "topicPartitions": [] }));
    let written = format!("{head} 01 01 00 00");
    same(name, 0, &written, full);
    for marker in ["00", "02", "7f"] {
        assert_eq!(again(name, 0, &format!("{head} {marker} 01 00 00")), Ok(text(&written)));
    }
    assert_eq!(again(name, 0, &format!("{head} 80 00")), Ok(text(&format!("{head} ff 00"))));
}

#[test]
fn a_tagged_array_tells_null_from_empty() {
    let head = "00000001 00000002 00 02 00000000000000000000000000000000 01";
    let json = |epochs: Option<Value>| {
        let mut partitions = json!({ "topicId": "AAAAAAAAAAAAAAAAAAAAAA", "partitions": [] });
        if let Some(epochs) = epochs {
            partitions["assignmentEpochs"] = epochs;
        }
        json!({
            "memberEpoch": 1, "previousMemberEpoch": 2, "state": 0, "assignedPartitions": [partitions],
            "partitionsPendingRevocation": [],
        })
    };
    let name = "ConsumerGroupCurrentMemberAssignmentValue";
    same(name, 0, &format!("{head} 00 01 00"), json(None));
    same(name, 0, &format!("{head} 01 00 01 00 01 00"), json(Some(json!(null))));
    same(name, 0, &format!("{head} 01 00 05 02 00000007 01 00"), json(Some(json!([7]))));
    // The other way round where null is the default.
    let head = "00000001 0000000000000002";
    let mut json = json!({ "brokerId": 1, "brokerEpoch": 2 });
    same("BrokerRegistrationChangeRecord", 3, &format!("{head} 00"), json.clone());
    json["cordonedLogDirs"] = json!([]);
    same("BrokerRegistrationChangeRecord", 3, &format!("{head} 01 03 01 01"), json);
}

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
fn bytes_behind_the_message_are_counted() {
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

#[test]
fn a_field_of_another_version_is_dropped_only_if_nothing_is_lost() {
    let fetch = message("FetchRequest");
    let path = "FetchRequest.replicaId";
    not_written("FetchRequest", 15, json!({ "replicaId": 5 }), ErrorKind::UnsupportedVersion, path);
    assert!(fetch.encode(&json!({ "replicaId": -1 }), 15).is_ok());
    assert!(fetch.encode(&json!({ "rackId": "r", "maxBytes": 1 }), 0).is_ok());
    let partition = json!({ "topics": [{ "partitions": [{}, { "lastFetchedEpoch": 0 }] }] });
    let path = "FetchRequest.topics[0].partitions[1].lastFetchedEpoch";
    not_written("FetchRequest", 11, partition, ErrorKind::UnsupportedVersion, path);
    // Structs count by all they hold.
    let path = "FetchRequest.replicaState";
    assert!(fetch.encode(&json!({ "replicaState": { "replicaId": -1 } }), 12).is_ok());
    for state in [json!({ "replicaId": 0 }), json!({ UNKNOWN_TAGGED_FIELDS: [{ "tag": 1, "data": "" }] }), json!(null)]
    {
        not_written("FetchRequest", 12, json!({ "replicaState": state }), ErrorKind::UnsupportedVersion, path);
    }
    not_written(
        "FetchRequest",
        6,
        json!({ "forgottenTopicsData": [{}] }),
        ErrorKind::UnsupportedVersion,
        "FetchRequest.forgottenTopicsData",
    );
    // Ignorable: null too.
    assert!(message("ApiVersionsRequest").encode(&json!({ "clientSoftwareName": null }), 0).is_ok());
}

#[test]
fn a_version_that_is_not_there_is_refused_everywhere() {
    let fetch = message("FetchRequest");
    for version in [-1, 19, i16::MAX] {
        for error in [
            fetch.decode(Bytes::new(), version).unwrap_err(),
            fetch.encode(&json!({}), version).unwrap_err(),
            fetch.default_json(version).unwrap_err(),
            fetch.sample_json(version, 0).unwrap_err(),
            fetch.layout(version).unwrap_err(),
            fetch.decode_annotated(Bytes::new(), version).outcome.unwrap_err(),
        ] {
            assert_eq!((error.kind(), error.path().as_str()), (ErrorKind::UnsupportedVersion, "FetchRequest"));
            assert!(error.message().contains("0-18"), "{error}");
        }
    }
}

#[test]
fn a_name_that_never_was_brings_near_ones() {
    let invalid = ErrorKind::InvalidValue;
    let said = not_written("FetchRequest", 4, json!({ "topcs": [] }), invalid, "FetchRequest.topcs");
    assert!(said.contains("topics"), "{said}");
    let json = json!({ "topics": [{ "zzzzzzzz": 1 }] });
    let said = not_written("MetadataRequest", 1, json, invalid, "MetadataRequest.topics[0].zzzzzzzz");
    assert!(said.contains("topicId, name"), "{said}");
    // Also inside of a tagged struct, and of one that would otherwise be at its default.
    let json = json!({ "replicaState": { "replicaId": -1, "epoch": -1 } });
    not_written("FetchRequest", 15, json, invalid, "FetchRequest.replicaState.epoch");
}

#[test]
fn a_value_of_the_wrong_kind_is_named() {
    let cases = [
        (json!({ "maxWaitMs": "5" }), "maxWaitMs"),
        (json!({ "maxWaitMs": 5.5 }), "maxWaitMs"),
        (json!({ "maxWaitMs": 2_147_483_648_i64 }), "maxWaitMs"),
        (json!({ "maxWaitMs": u64::MAX }), "maxWaitMs"),
        (json!({ "maxWaitMs": null }), "maxWaitMs"),
        (json!({ "isolationLevel": 128 }), "isolationLevel"),
        (json!({ "topics": {} }), "topics"),
        (json!({ "topics": [null] }), "topics[0]"),
        (json!({ "topics": [5] }), "topics[0]"),
        (json!({ "topics": [{ "topicId": "AAAA" }] }), "topics[0].topicId"),
        (json!({ "forgottenTopicsData": [{ "partitions": [1, "2"] }] }), "forgottenTopicsData[0].partitions[1]"),
        (json!({ "forgottenTopicsData": [{ "partitions": [1, null] }] }), "forgottenTopicsData[0].partitions[1]"),
        (json!({ "clusterId": 5 }), "clusterId"),
        (json!({ "replicaState": null }), "replicaState"),
        (json!({ "rackId": true }), "rackId"),
        (json!({ "_unknownTaggedFields": 5 }), "_unknownTaggedFields"),
        (json!({ "_unknownTaggedFields": [{ "tag": 5 }] }), "_unknownTaggedFields[0]"),
        (json!({ "_unknownTaggedFields": [{ "tag": -1, "data": "" }] }), "_unknownTaggedFields[0].tag"),
        (json!({ "_unknownTaggedFields": [{ "tag": 5, "data": "?" }] }), "_unknownTaggedFields[0].data"),
    ];
    for (json, path) in cases {
        not_written("FetchRequest", 16, json, ErrorKind::InvalidValue, &format!("FetchRequest.{path}"));
    }
    not_written("FetchRequest", 16, json!([]), ErrorKind::InvalidValue, "FetchRequest");
    let path = "ProduceRequest.topicData[0].partitionData[0].records";
    for records in ["AQ", "A", "AQ=", "A?=="] {
        let json = json!({ "topicData": [{ "partitionData": [{ "records": records }] }] });
        not_written("ProduceRequest", 3, json, ErrorKind::InvalidValue, path);
    }
}

#[test]
fn floats_that_are_not_finite_are_strings() {
    for (bits, value) in [
        ("7ff8000000000000", json!("NaN")),
        ("7ff0000000000000", json!("Infinity")),
        ("fff0000000000000", json!("-Infinity")),
        ("3ff8000000000000", json!(1.5)),
        ("8000000000000000", json!(-0.0)),
    ] {
        let json = json!({
            "entries": [{ "entity": [], "ops": [{ "key": "k", "value": value, "remove": false }] }],
            "validateOnly": false,
        });
        let wire = format!("00000001 00000000 00000001 0001 6b {bits} 00 00");
        same("AlterClientQuotasRequest", 0, &wire, json);
    }
    let json = json!({ "entries": [{ "ops": [{ "value": 3 }] }] });
    let bytes = message("AlterClientQuotasRequest").encode(&json, 0).unwrap();
    assert!(hex(&bytes).contains("4008000000000000"));
}

#[test]
fn hostile_counts_end_early() {
    // 8 bytes that claim 2^31 - 1 elements.
    let error = refused("MetadataRequest", 0, "7fffffff 00000000");
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Malformed, Some(0)));
    // As many elements as bytes, where an element takes dozens of bytes.
    let mut wire = vec![0, 0, 0, 0, 0, 0x10, 0, 0];
    wire.resize(8 + 0x0010_0000, 0);
    let error = message("MetadataResponse").decode(wire.into(), 7).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::LimitExceeded, Some(4)));
}

/// Checks that a struct has every field of the layout, at another value than the default.
fn full(json: &Value, fields: &[LayoutField<'_>], flexible: bool, path: &str) {
    let map = json.as_object().expect(path);
    assert_eq!(map.len(), fields.len() + usize::from(flexible), "{path}");
    assert_eq!(map.contains_key(UNKNOWN_TAGGED_FIELDS), flexible, "{path}");
    for field in fields {
        let path = format!("{path}.{}", field.field.json_name);
        let value = &map[&field.field.json_name];
        assert!(!value.is_null() && *value != field.default, "{path} is {value}");
        match value {
            Value::Array(elements) => {
                assert!(elements.len() >= 2, "{path}");
                if field.field.ty.struct_id().is_some() {
                    elements.iter().for_each(|element| full(element, &field.fields, flexible, &path));
                }
            }
            Value::Object(_) => full(value, &field.fields, flexible, &path),
            _ => {}
        }
    }
}

#[test]
fn samples_hold_every_field_of_their_version() {
    for message in &Spec::kafka().messages {
        for version in message.versions.iter() {
            let json = message.sample_json(version, 7).unwrap();
            let layout = message.layout(version).unwrap();
            full(&json, &layout.fields, layout.flexible, &message.name);
            assert_eq!(json, message.sample_json(version, 7).unwrap());
        }
    }
}

#[test]
fn notes_cover_the_message() {
    for message in &Spec::kafka().messages {
        let version = message.versions.max();
        let json = message.sample_json(version, 3).unwrap();
        let wire = message.encode(&json, version).unwrap();
        let annotated = message.decode_annotated(wire.clone(), version);
        assert_eq!(annotated.outcome.unwrap().json, json);
        let notes = annotated.notes;
        assert_eq!(notes[0].range, 0..wire.len());
        let mut above: Vec<&milena_schema::Note> = Vec::new();
        let mut end = 0;
        for note in &notes {
            above.truncate(note.depth);
            if let Some(parent) = above.last() {
                assert!(note.path.starts_with(&parent.path), "{} in {}", note.path, parent.path);
                assert!(parent.range.start <= note.range.start && note.range.end <= parent.range.end, "{}", note.path);
            }
            assert!(note.range.start >= end && note.content != Content::Failed, "{} {}", note.path, end);
            end = if matches!(note.content, Content::Value(_)) { note.range.end } else { note.range.start };
            above.push(note);
        }
    }
}

#[test]
fn notes_tell_fields_and_bytes() {
    let wire = bytes("00000001 0003 c3a161 01 03 d00f 01 05 00");
    let annotated = message("MetadataRequest").decode_annotated(bytes("00000001 0003 c3a161"), 1);
    let notes: Vec<_> = annotated.notes.iter().map(|n| (n.path.as_str(), n.ty.as_str(), n.range.clone())).collect();
    assert_eq!(
        notes,
        [
            ("MetadataRequest", "MetadataRequest", 0..9),
            ("MetadataRequest.topics", "[]MetadataRequestTopic?", 0..9),
            ("MetadataRequest.topics[0]", "MetadataRequestTopic", 4..9),
            ("MetadataRequest.topics[0].name", "string", 4..9),
        ]
    );
    assert_eq!(annotated.notes[3].content, Content::Value(json!("áa")));
    assert_eq!(annotated.notes[1].content, Content::Array(1));

    let cut = message("MetadataRequest").decode_annotated(wire.slice(..7), 1);
    assert_eq!(cut.notes.len(), 4);
    assert!(cut.notes.iter().all(|note| note.content == Content::Failed));
    assert_eq!(cut.outcome.unwrap_err().path(), "MetadataRequest.topics[0].name");

    let tagged = message("BeginTransactionRecord").decode_annotated(bytes("02 d00f 01 07 00 02 0261"), 0);
    let notes: Vec<_> = tagged.notes.iter().map(|n| (n.name.as_str(), n.tag, n.range.clone())).collect();
    assert_eq!(
        notes,
        [
            ("BeginTransactionRecord", None, 0..9),
            ("_unknownTaggedFields[0]", Some(2000), 4..5),
            ("name", Some(0), 7..9),
        ]
    );
    assert_eq!(tagged.notes[1].to_json()["value"], json!("Bw=="));
}

#[test]
fn a_message_cut_off_anywhere_is_an_error_with_a_place() {
    for message in &Spec::kafka().messages {
        let version = message.versions.max();
        let wire = message.encode(&message.sample_json(version, 5).unwrap(), version).unwrap();
        for length in (0..wire.len()).step_by(1 + wire.len() / 40) {
            let error = message.decode(wire.slice(..length), version).unwrap_err();
            assert!(
                error.path().starts_with(&message.name) && error.offset().is_some_and(|at| at <= length),
                "{error}"
            );
            let annotated = message.decode_annotated(wire.slice(..length), version);
            assert_eq!(annotated.outcome.unwrap_err(), error);
        }
    }
}

#[test]
fn layouts_differ_by_what_the_spec_says() {
    let fetch = message("FetchRequest");
    let diff = fetch.layout_diff(12, 15).unwrap();
    let changes: Vec<_> = diff.changes.iter().map(|change| (change.kind.name(), change.path.as_str())).collect();
    assert_eq!(
        changes,
        [
            ("removed", "replicaId"),
            ("added", "replicaState"),
            ("removed", "topics[].topic"),
            ("added", "topics[].topicId"),
            ("removed", "forgottenTopicsData[].topic"),
            ("added", "forgottenTopicsData[].topicId"),
        ]
    );
    assert_eq!(diff.flexible, (true, true));
    assert!(fetch.layout_diff(3, 3).unwrap().changes.is_empty());

    let diff = message("MetadataRequest").layout_diff(9, 10).unwrap();
    let expected = "MetadataRequest version 9 to 10\n+ topics[].topicId  uuid\n~ topics[].name  string? may be null  entity \
                    topicName\n";
    assert_eq!(diff.to_string(), expected);
    assert_eq!(diff.to_json()["changes"][1]["change"], json!("nullable"));
    assert_eq!(message("MetadataRequest").layout_diff(10, 9).unwrap().changes[1].kind.name(), "not nullable");
}

#[test]
fn a_layout_reads_as_a_tree() {
    let layout = message("HeartbeatRequest").layout(4).unwrap();
    let expected = "HeartbeatRequest version 4 of 0-4, flexible\n  \
        GroupId          string   entity groupId\n  \
        GenerationId     int32  // From the last JoinGroup answer.\n  \
        MemberId         string\n  \
        GroupInstanceId  string?  default null  // Static membership id (KIP-345); null = dynamic member.\n";
    assert_eq!(layout.to_string(), expected);
    let json = layout.to_json();
    assert_eq!(json["fields"][3]["type"], json!("string?"));
    assert_eq!(json["fields"][3]["default"], json!(null));
    let fetch = message("FetchRequest").layout(15).unwrap().to_json();
    assert_eq!(fetch["fields"][1]["fields"][0]["jsonName"], json!("replicaId"));
    assert_eq!(fetch["fields"][1]["tag"], json!(1));
}
