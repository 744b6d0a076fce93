use std::collections::BTreeSet;

use super::*;

fn answer(api: ApiKey, version: i16, request: Value, code: ErrorCode) -> Option<Value> {
    let name = api.name().unwrap();
    let body = Spec::kafka().message(&format!("{name}Request")).unwrap().encode(&request, version).unwrap();
    let frame = frame(api, version, 7, &body, 0, code)?.concat();
    assert_eq!(&frame[..4], [0, 0, 0, 7]);
    let start = if api.response_header_version(version) >= 1 { 5 } else { 4 };
    let response = Spec::kafka().message(&format!("{name}Response")).unwrap();
    let decoded = response.decode(Bytes::from(frame).slice(start..), version).unwrap();
    assert_eq!(decoded.leftover, 0);
    Some(decoded.json)
}

#[test]
fn a_fetch_is_refused_for_each_of_its_partitions() {
    let request = json!({ "topics": [
        { "topic": "letters", "partitions": [{ "partition": 3 }, { "partition": 4 }] },
        { "topic": "stamps", "partitions": [{ "partition": 0 }] },
    ]});
    let json = answer(ApiKey::FETCH, 11, request, ErrorCode::NOT_LEADER_OR_FOLLOWER).unwrap();
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
fn a_code_about_the_whole_request_stands_outside() {
    let request = json!({ "topics": [{ "topic": "letters", "partitions": [{ "partition": 3 }] }]});
    let json = answer(ApiKey::FETCH, 11, request, ErrorCode::FETCH_SESSION_ID_NOT_FOUND).unwrap();
    assert_eq!((&json["errorCode"], &json["responses"]), (&json!(70), &json!([])));
    let request = json!({ "groups": [{ "groupId": "readers", "topics": null }]});
    let json = answer(ApiKey::OFFSET_FETCH, 8, request, ErrorCode::NOT_COORDINATOR).unwrap();
    assert_eq!(json["groups"], json!([{ "groupId": "readers", "topics": [], "errorCode": 16 }]));
}

#[test]
fn elements_are_named_as_in_the_request_whatever_the_fields_are_called() {
    let produce =
        json!({ "acks": -1, "topicData": [{ "name": "letters", "partitionData": [{ "index": 2, "records": null }] }]});
    let json = answer(ApiKey::PRODUCE, 7, produce, ErrorCode::CORRUPT_MESSAGE).unwrap();
    let partition =
        json!({ "index": 2, "errorCode": 2, "baseOffset": -1, "logAppendTimeMs": -1, "logStartOffset": -1 });
    assert_eq!(json["responses"], json!([{ "name": "letters", "partitionResponses": [partition] }]));

    let json =
        answer(ApiKey::DELETE_TOPICS, 3, json!({ "topicNames": ["a", "b"] }), ErrorCode::NOT_CONTROLLER).unwrap();
    assert_eq!(json["responses"], json!([{ "name": "a", "errorCode": 41 }, { "name": "b", "errorCode": 41 }]));

    let json = answer(ApiKey::FIND_COORDINATOR, 4, json!({ "coordinatorKeys": ["readers"] }), ErrorCode(15)).unwrap();
    assert_eq!(
        (&json["coordinators"][0]["key"], &json["coordinators"][0]["errorCode"]),
        (&json!("readers"), &json!(15))
    );

    let commit =
        json!({ "groupId": "readers", "topics": [{ "name": "letters", "partitions": [{ "partitionIndex": 5 }] }]});
    let json = answer(ApiKey::OFFSET_COMMIT, 6, commit, ErrorCode::ILLEGAL_GENERATION).unwrap();
    assert_eq!(
        json["topics"],
        json!([{ "name": "letters", "partitions": [{ "partitionIndex": 5, "errorCode": 22 }] }])
    );

    let add =
        json!({ "transactions": [{ "transactionalId": "t", "topics": [{ "name": "letters", "partitions": [1] }] }]});
    let json = answer(ApiKey::ADD_PARTITIONS_TO_TXN, 4, add, ErrorCode::INVALID_TXN_STATE).unwrap();
    let result = &json["resultsByTransaction"][0];
    assert_eq!(result["transactionalId"], "t");
    let partition = json!({ "partitionIndex": 1, "partitionErrorCode": 48 });
    assert_eq!(result["topicResults"], json!([{ "name": "letters", "resultsByPartition": [partition] }]));
}

fn count(message: &MessageSpec, id: StructId, json: &Value) -> usize {
    let mut found = 0;
    for field in &message.structure(id).fields {
        let Some(json) = json.get(&field.json_name) else { continue };
        found += match (field.ty.struct_id(), json) {
            (Some(inner), Value::Array(all)) => all.iter().map(|json| count(message, inner, json)).sum(),
            (Some(inner), json) => count(message, inner, json),
            (None, json) => usize::from(field.entity == Some(Entity::ErrorCode) && *json == 41),
        };
    }
    found
}

#[test]
fn every_answer_with_a_place_for_a_code_can_be_made() {
    let mut without = BTreeSet::new();
    for api in ApiKey::all() {
        let name = api.name().unwrap();
        let (request, response) = (format!("{name}Request"), format!("{name}Response"));
        let request = Spec::kafka().message(&request).unwrap();
        let response = Spec::kafka().message(&response).unwrap();
        for version in api.versions().iter() {
            let mut json = request.sample_json(version, 1).unwrap();
            if api == ApiKey::PRODUCE {
                json["acks"] = json!(1);
            }
            match answer(api, version, json, ErrorCode::NOT_CONTROLLER) {
                Some(json) => assert!(count(response, StructId::ROOT, &json) > 0, "{name} version {version}: {json}"),
                None => {
                    without.insert(format!("{name} {version}"));
                }
            }
        }
    }
    // These name no directory that was not asked for, and have no code beside that of a directory.
    let known = ["DescribeLogDirs 0", "DescribeLogDirs 1", "DescribeLogDirs 2"];
    assert_eq!(without, known.map(str::to_owned).into_iter().collect());
}
