//! What is refused, and what is said about it.

use super::*;

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
