//! Where errors stand. What Kafka's own classes write is compared in `conformance/tests/refusals.rs`.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;

use bytes::Bytes;
use milena_fault::{FaultedRequest, Injection, Level, Patched, has_place, level, respond};
use milena_messages::{ApiKey, ErrorCode};
use milena_schema::{MessageSpec, Spec};
use serde_json::{Value, json};

fn message(api: ApiKey, kind: &str) -> &'static MessageSpec {
    Spec::kafka().message(&format!("{}{kind}", api.name().unwrap())).unwrap()
}

fn request(api: ApiKey, version: i16, json: &Value) -> FaultedRequest {
    let body = message(api, "Request").encode(json, version).unwrap();
    FaultedRequest { api, version, correlation_id: 7, body }
}

/// The response as JSON, with its header read.
fn read(api: ApiKey, version: i16, frame: &Bytes) -> Value {
    assert_eq!(&frame[..4], [0, 0, 0, 7]);
    let start = if api.response_header_version(version) >= 1 { 5 } else { 4 };
    let decoded = message(api, "Response").decode(frame.slice(start..), version).unwrap();
    assert_eq!(decoded.leftover, 0);
    decoded.json
}

/// The response of a broker as bytes.
fn frame(api: ApiKey, version: i16, json: &Value) -> Bytes {
    let header = if api.response_header_version(version) >= 1 { &b"\0\0\0\x07\0"[..] } else { b"\0\0\0\x07" };
    [header, &message(api, "Response").encode(json, version).unwrap()].concat().into()
}

fn refused(api: ApiKey, version: i16, json: &Value, code: ErrorCode) -> Value {
    match respond(&request(api, version, json), code, None) {
        Injection::Response(frame) => read(api, version, &frame),
        other => panic!("{api} {version}: {other:?}"),
    }
}

#[test]
fn a_fetch_is_refused_for_each_of_its_partitions() {
    let request = json!({ "topics": [
        { "topic": "letters", "partitions": [{ "partition": 3 }, { "partition": 4 }] },
        { "topic": "stamps", "partitions": [{ "partition": 0 }] },
    ]});
    let json = refused(ApiKey::FETCH, 11, &request, ErrorCode::NOT_LEADER_OR_FOLLOWER);
    assert_eq!(json["errorCode"], 0);
    let partition = |index| {
        json!({ "partitionIndex": index, "errorCode": 6, "highWatermark": -1, "lastStableOffset": -1,
            "logStartOffset": -1, "abortedTransactions": [], "preferredReadReplica": -1, "records": "" })
    };
    assert_eq!(
        json["responses"],
        json!([
            { "topic": "letters", "partitions": [partition(3), partition(4)] },
            { "topic": "stamps", "partitions": [partition(0)] },
        ])
    );
}

#[test]
fn codes_of_sessions_are_about_the_whole_response() {
    let topics = json!([{ "topic": "letters", "partitions": [{ "partition": 3 }] }]);
    for code in [70, 71, 106] {
        let json = refused(ApiKey::FETCH, 11, &json!({ "sessionId": 9, "topics": topics }), ErrorCode(code));
        assert_eq!((&json["errorCode"], &json["sessionId"], &json["responses"]), (&json!(code), &json!(0), &json!([])));
    }
    let topics = json!([{ "topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [{ "partitionIndex": 3 }] }]);
    let share = json!({ "groupId": "g", "memberId": "m", "shareSessionEpoch": 2, "topics": topics });
    for api in [ApiKey::SHARE_FETCH, ApiKey::SHARE_ACKNOWLEDGE] {
        for code in [122, 123, 133, 30] {
            let json = refused(api, 1, &share, ErrorCode(code));
            assert_eq!((&json["errorCode"], &json["responses"]), (&json!(code), &json!([])), "{api}");
        }
        let json = refused(api, 1, &share, ErrorCode::NOT_LEADER_OR_FOLLOWER);
        assert_eq!((&json["errorCode"], &json["responses"][0]["partitions"][0]["errorCode"]), (&json!(0), &json!(6)));
    }
    // What is wrong with an acknowledgement has a field of its own in a ShareFetch.
    let partition = &refused(ApiKey::SHARE_FETCH, 1, &share, ErrorCode(121))["responses"][0]["partitions"][0];
    assert_eq!((&partition["errorCode"], &partition["acknowledgeErrorCode"]), (&json!(0), &json!(121)));
}

#[test]
fn codes_of_groups_stand_as_far_out_as_the_version_lets_them() {
    let topics = json!([{ "name": "letters", "partitionIndexes": [3] }]);
    for (version, field) in [(0, "/topics/0/partitions/0/errorCode"), (2, "/errorCode"), (7, "/errorCode")] {
        let request = json!({ "groupId": "readers", "topics": topics });
        let json = refused(ApiKey::OFFSET_FETCH, version, &request, ErrorCode::NOT_COORDINATOR);
        assert_eq!(json.pointer(field), Some(&json!(16)), "version {version}: {json}");
    }
    let group = json!({ "groupId": "readers", "memberId": "m", "memberEpoch": 3, "topics": topics });
    let request = json!({ "groups": [group] });
    for code in [16, 113, 25] {
        let json = refused(ApiKey::OFFSET_FETCH, 9, &request, ErrorCode(code));
        assert_eq!(json["groups"], json!([{ "groupId": "readers", "topics": [], "errorCode": code }]));
    }
    let json = refused(ApiKey::OFFSET_FETCH, 9, &request, ErrorCode::UNSTABLE_OFFSET_COMMIT);
    assert_eq!(json["groups"][0]["errorCode"], 0);
    let partition = &json["groups"][0]["topics"][0]["partitions"][0];
    assert_eq!((&partition["errorCode"], &partition["committedOffset"]), (&json!(88), &json!(-1)));

    let leave = json!({ "groupId": "readers", "members": [{ "memberId": "m", "groupInstanceId": "i" }] });
    let json = refused(ApiKey::LEAVE_GROUP, 5, &leave, ErrorCode::COORDINATOR_NOT_AVAILABLE);
    assert_eq!((&json["errorCode"], &json["members"]), (&json!(15), &json!([])));
    let json = refused(ApiKey::LEAVE_GROUP, 5, &leave, ErrorCode::FENCED_INSTANCE_ID);
    assert_eq!((&json["errorCode"], &json["members"][0]["errorCode"]), (&json!(0), &json!(82)));
}

#[test]
fn the_group_id_stays_out_of_the_error_message() {
    for (api, field) in [
        (ApiKey::DESCRIBE_GROUPS, "groups"),
        (ApiKey::CONSUMER_GROUP_DESCRIBE, "groupIds"),
        (ApiKey::SHARE_GROUP_DESCRIBE, "groupIds"),
        (ApiKey::STREAMS_GROUP_DESCRIBE, "groupIds"),
    ] {
        for version in api.versions().iter() {
            let json = refused(api, version, &json!({ field: ["readers", "others"] }), ErrorCode::GROUP_ID_NOT_FOUND);
            for (at, name) in ["readers", "others"].iter().enumerate() {
                let group = &json["groups"][at];
                assert_eq!((&group["groupId"], &group["errorCode"]), (&json!(name), &json!(69)), "{api} {version}");
                assert!(group.get("errorMessage").is_none_or(Value::is_null), "{api} {version}: {group}");
            }
        }
    }
    for version in 4..=6 {
        let request = json!({ "coordinatorKeys": ["readers"] });
        let json = refused(ApiKey::FIND_COORDINATOR, version, &request, ErrorCode(15));
        let wanted = json!([{ "key": "readers", "nodeId": -1, "host": "", "port": -1, "errorCode": 15,
            "errorMessage": null }]);
        assert_eq!(json["coordinators"], wanted);
    }
}

#[test]
fn elements_are_named_as_in_the_request_whatever_the_fields_are_called() {
    let produce =
        json!({ "acks": -1, "topicData": [{ "name": "letters", "partitionData": [{ "index": 2, "records": null }] }]});
    let json = refused(ApiKey::PRODUCE, 7, &produce, ErrorCode::CORRUPT_MESSAGE);
    let partition =
        json!({ "index": 2, "errorCode": 2, "baseOffset": -1, "logAppendTimeMs": -1, "logStartOffset": -1 });
    assert_eq!(json["responses"], json!([{ "name": "letters", "partitionResponses": [partition] }]));

    let json = refused(ApiKey::DELETE_TOPICS, 3, &json!({ "topicNames": ["a", "b"] }), ErrorCode::NOT_CONTROLLER);
    assert_eq!(json["responses"], json!([{ "name": "a", "errorCode": 41 }, { "name": "b", "errorCode": 41 }]));

    let commit =
        json!({ "groupId": "readers", "topics": [{ "name": "letters", "partitions": [{ "partitionIndex": 5 }] }]});
    let json = refused(ApiKey::OFFSET_COMMIT, 6, &commit, ErrorCode::ILLEGAL_GENERATION);
    assert_eq!(
        json["topics"],
        json!([{ "name": "letters", "partitions": [{ "partitionIndex": 5, "errorCode": 22 }] }])
    );

    let add =
        json!({ "transactions": [{ "transactionalId": "t", "topics": [{ "name": "letters", "partitions": [1] }] }]});
    let json = refused(ApiKey::ADD_PARTITIONS_TO_TXN, 4, &add, ErrorCode::INVALID_TXN_STATE);
    let result = &json["resultsByTransaction"][0];
    assert_eq!(result["transactionalId"], "t");
    let partition = json!({ "partitionIndex": 1, "partitionErrorCode": 48 });
    assert_eq!(result["topicResults"], json!([{ "name": "letters", "resultsByPartition": [partition] }]));

    // Each topic of each directory, and each user that is named once or twice.
    let dirs = json!({ "dirs": [
        { "path": "/a", "topics": [{ "name": "letters", "partitions": [0, 1] }] },
        { "path": "/b", "topics": [{ "name": "stamps", "partitions": [2] }] },
    ]});
    let json = refused(ApiKey::ALTER_REPLICA_LOG_DIRS, 1, &dirs, ErrorCode::LOG_DIR_NOT_FOUND);
    let partition = |index| json!({ "partitionIndex": index, "errorCode": 57 });
    assert_eq!(
        json["results"],
        json!([
            { "topicName": "letters", "partitions": [partition(0), partition(1)] },
            { "topicName": "stamps", "partitions": [partition(2)] },
        ])
    );
    let scram = json!({
        "deletions": [{ "name": "alice", "mechanism": 1 }, { "name": "bob", "mechanism": 1 }],
        "upsertions": [{ "name": "bob", "mechanism": 2, "iterations": 4096, "salt": "", "saltedPassword": "" }],
    });
    let json = refused(ApiKey::ALTER_USER_SCRAM_CREDENTIALS, 0, &scram, ErrorCode::NOT_CONTROLLER);
    let users: Vec<_> = json["results"].as_array().unwrap().iter().map(|result| result["user"].clone()).collect();
    assert_eq!(users, ["alice", "bob"]);
}

#[test]
fn a_metadata_error_goes_into_the_topics_of_the_broker_and_its_nodes_stay() {
    for version in ApiKey::METADATA.versions().iter() {
        let partition =
            json!({ "errorCode": 0, "partitionIndex": 2, "leaderId": 1, "replicaNodes": [1], "isrNodes": [1] });
        let topic = json!({ "errorCode": 0, "name": "letters", "partitions": [partition, partition] });
        let broker = json!({ "brokers": [{ "nodeId": 1, "host": "kafka", "port": 9092 }], "topics": [topic, topic] });
        let request = request(ApiKey::METADATA, version, &json!({ "topics": [{ "name": "letters" }] }));
        let patched = |code| {
            let Injection::Patch(patch) = respond(&request, code, None) else { panic!("version {version}") };
            assert!(patch.request_body().is_none());
            match patch.apply(&frame(ApiKey::METADATA, version, &broker)) {
                Patched::Changed(frame) => read(ApiKey::METADATA, version, &frame),
                Patched::Unchanged => panic!("version {version}"),
            }
        };
        let json = patched(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        assert_eq!(json["brokers"][0]["host"], "kafka");
        for topic in json["topics"].as_array().unwrap() {
            assert_eq!(
                (&topic["name"], &topic["errorCode"], &topic["partitions"]),
                (&json!("letters"), &json!(3), &json!([]))
            );
        }
        let json = patched(ErrorCode::LISTENER_NOT_FOUND);
        let partition = &json["topics"][1]["partitions"][1];
        assert_eq!(json["topics"][0]["errorCode"], 0);
        assert_eq!((&partition["errorCode"], &partition["leaderId"]), (&json!(72), &json!(-1)));
        // A response without topics has nothing that could fail.
        let Injection::Patch(patch) = respond(&request, ErrorCode::LEADER_NOT_AVAILABLE, None) else { panic!() };
        let empty = frame(ApiKey::METADATA, version, &json!({ "topics": [] }));
        assert_eq!(patch.apply(&empty), Patched::Unchanged);
        assert_eq!(patch.apply(&empty.slice(..6)), Patched::Unchanged);
        match respond(&request, ErrorCode::REBOOTSTRAP_REQUIRED, None) {
            Injection::Response(frame) if version >= 13 => {
                assert_eq!(read(ApiKey::METADATA, version, &frame)["errorCode"], 129);
            }
            Injection::NoPlace if version < 13 => {}
            other => panic!("version {version}: {other:?}"),
        }
        assert_eq!(has_place(ApiKey::METADATA, version, ErrorCode::REBOOTSTRAP_REQUIRED), version >= 13);
    }
}

#[test]
fn describe_log_dirs_has_no_field_for_most_codes_up_to_version_2() {
    for version in ApiKey::DESCRIBE_LOG_DIRS.versions().iter() {
        let request = request(ApiKey::DESCRIBE_LOG_DIRS, version, &json!({ "topics": null }));
        match respond(&request, ErrorCode::CLUSTER_AUTHORIZATION_FAILED, None) {
            Injection::NoPlace if version < 3 => {}
            Injection::Response(frame) if version >= 3 => {
                assert_eq!(read(ApiKey::DESCRIBE_LOG_DIRS, version, &frame)["errorCode"], 31);
            }
            other => panic!("version {version}: {other:?}"),
        }
        assert_eq!(has_place(ApiKey::DESCRIBE_LOG_DIRS, version, ErrorCode(31)), version >= 3);
        // That of a directory is in each that the broker has.
        let Injection::Patch(patch) = respond(&request, ErrorCode::KAFKA_STORAGE_ERROR, None) else { panic!() };
        let topics = json!([{ "name": "letters", "partitions": [] }]);
        let broker = json!({ "results": [{ "errorCode": 0, "logDir": "/data", "topics": topics }] });
        let Patched::Changed(frame) = patch.apply(&frame(ApiKey::DESCRIBE_LOG_DIRS, version, &broker)) else {
            panic!()
        };
        let result = &read(ApiKey::DESCRIBE_LOG_DIRS, version, &frame)["results"][0];
        assert_eq!(
            (&result["errorCode"], &result["logDir"], &result["topics"]),
            (&json!(56), &json!("/data"), &json!([]))
        );
    }
}

#[test]
fn the_broker_responds_to_a_fetch_in_a_session_and_the_session_goes_on() {
    for version in 7..=18 {
        let (topic, name) = match version {
            13.. => ("topicId", json!("AAAAAAAAAAAAAAAAAAAAAQ")),
            _ => ("topic", json!("letters")),
        };
        let topics = json!([{ topic: name, "partitions": [{ "partition": 3 }] }]);
        let fetch = json!({ "maxWaitMs": 500, "sessionEpoch": 0, "topics": topics });
        let request = request(ApiKey::FETCH, version, &fetch);
        let Injection::Patch(patch) = respond(&request, ErrorCode::NOT_LEADER_OR_FOLLOWER, None) else { panic!() };
        // The broker does not wait for records that nobody will see.
        let body = patch.request_body().unwrap();
        let mut at_once = fetch.clone();
        at_once["maxWaitMs"] = json!(0);
        assert_eq!(body, &message(ApiKey::FETCH, "Request").encode(&at_once, version).unwrap()[..]);
        let broker = json!({ "sessionId": 99, "responses": [{ topic: name, "partitions":
            [{ "partitionIndex": 3, "highWatermark": 5, "records": "AAAA" }] }] });
        let Patched::Changed(patched) = patch.apply(&frame(ApiKey::FETCH, version, &broker)) else { panic!() };
        let json = read(ApiKey::FETCH, version, &patched);
        assert_eq!((&json["errorCode"], &json["sessionId"]), (&json!(0), &json!(99)));
        let partition = &json["responses"][0]["partitions"][0];
        assert_eq!((&json["responses"][0][topic], &partition["partitionIndex"]), (&name, &json!(3)));
        assert_eq!((&partition["errorCode"], &partition["records"]), (&json!(6), &json!("")));
        // An error of the broker's own stays.
        let broker = json!({ "errorCode": 71, "responses": [] });
        assert_eq!(patch.apply(&frame(ApiKey::FETCH, version, &broker)), Patched::Unchanged);
    }
}

#[test]
fn every_response_with_a_field_for_a_code_can_be_made() {
    let mut without = BTreeSet::new();
    for api in ApiKey::all() {
        for version in api.versions().iter() {
            let json = message(api, "Request").sample_json(version, 1).unwrap();
            let request = request(api, version, &json);
            // All codes at the newest version, a few of each kind at the others.
            let newest = version == api.versions().max();
            let few = [-1, 3, 6, 16, 25, 31, 41, 56, 71, 113, 122, 129];
            for code in (-1..=137).filter(|code| *code != 0 && (newest || few.contains(code))).map(ErrorCode) {
                match respond(&request, code, None) {
                    Injection::NoPlace => {
                        assert!(!has_place(api, version, code), "{api} {version} {code}");
                        assert_eq!(level(api, code), Some(Level::Whole));
                        without.insert(api.to_string());
                    }
                    Injection::Response(frame) => {
                        let oldest = api == ApiKey::API_VERSIONS && code == ErrorCode::UNSUPPORTED_VERSION;
                        let json = read(api, if oldest { 0 } else { version }, &frame).to_string();
                        assert!(json.contains(&format!("rrorCode\":{}", code.0)), "{api} {version} {code}: {json}");
                    }
                    Injection::Patch(_) => {}
                }
            }
        }
    }
    let known = ["DescribeLogDirs", "Metadata"].map(str::to_owned);
    assert_eq!(without, known.into_iter().collect());
}

#[test]
fn a_request_that_cannot_be_read_gets_no_error() {
    let request =
        FaultedRequest { api: ApiKey::FETCH, version: 12, correlation_id: 7, body: Bytes::from_static(b"\0\0") };
    assert!(matches!(respond(&request, ErrorCode(6), None), Injection::NoPlace));
    let request = FaultedRequest { api: ApiKey(10_000), version: 2, correlation_id: 7, body: Bytes::new() };
    assert!(matches!(respond(&request, ErrorCode(6), None), Injection::NoPlace));
}

#[test]
fn the_page_about_faults_says_where_each_code_stands() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/faults.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = page.lines().skip_while(|line| !line.starts_with("| API | for the response")).skip(2);
    let mut apis = BTreeSet::new();
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let named = ApiKey::all().filter(|api| {
            let name = api.name().unwrap();
            cells[1].split([',', ' ']).any(|word| word == name)
                || (cells[1].contains("share groups") && name.ends_with("ShareGroupOffsets"))
        });
        for api in named {
            apis.insert(api);
            for (cell, wanted) in [(cells[2], Level::Whole), (cells[3], Level::Elements)] {
                let mut codes: Vec<ErrorCode> =
                    cell.split('`').skip(1).step_by(2).map(|code| code.parse().unwrap()).collect();
                if cell.starts_with("codes of topics") {
                    codes.extend([3, 29, 100, 17].map(ErrorCode));
                }
                if cell.contains("all other codes") {
                    codes.push(ErrorCode::UNKNOWN_SERVER_ERROR);
                }
                for code in codes {
                    assert_eq!(level(api, code), Some(wanted), "{api} {code}");
                }
            }
        }
    }
    let known: BTreeSet<_> = ApiKey::all().filter(|api| level(*api, ErrorCode(-1)).is_some()).collect();
    assert_eq!(apis, known);
}
