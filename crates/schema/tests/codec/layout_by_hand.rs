//! Bytes laid out by hand from the rules of the protocol.

use super::*;

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
