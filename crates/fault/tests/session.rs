//! Which partitions a session has (KIP-227, KIP-932).

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use milena_fault::{FaultedRequest, Injection, Patched, Sessions, respond};
use milena_messages::{ApiKey, ErrorCode};
use milena_schema::Spec;
use serde_json::{Value, json};

fn request(api: ApiKey, version: i16, json: &Value) -> FaultedRequest {
    let message = Spec::kafka().message(&format!("{}Request", api.name().unwrap())).unwrap();
    FaultedRequest { api, version, correlation_id: 7, body: message.encode(json, version).unwrap() }
}

/// A Fetch of version 11 in a session: the partitions it adds and those it drops.
fn fetch(id: i32, epoch: i32, adds: &[(&str, i32)], drops: &[(&str, i32)]) -> FaultedRequest {
    let topics: Vec<_> =
        adds.iter().map(|(topic, index)| json!({ "topic": topic, "partitions": [{ "partition": index }] })).collect();
    let forgotten: Vec<_> =
        drops.iter().map(|(topic, index)| json!({ "topic": topic, "partitions": [index] })).collect();
    let json = json!({ "sessionId": id, "sessionEpoch": epoch, "topics": topics, "forgottenTopicsData": forgotten });
    request(ApiKey::FETCH, 11, &json)
}

/// The partitions that fail when this request does; `None` when only those that it names would.
fn failing(sessions: &Sessions, request: &FaultedRequest) -> Option<Vec<(String, i64)>> {
    let members = sessions.members(request)?;
    let response = Spec::kafka().message(&format!("{}Response", request.api.name().unwrap())).unwrap();
    let json = match respond(request, ErrorCode::NOT_LEADER_OR_FOLLOWER, Some(&members)) {
        Injection::Patch(patch) => {
            let broker = [b"\0\0\0\x07", &response.encode(&json!({}), request.version).unwrap()[..]].concat();
            let Patched::Changed(frame) = patch.apply(&broker.into()) else { return Some(Vec::new()) };
            response.decode(frame.slice(4..), request.version).unwrap().json
        }
        Injection::Response(frame) => response.decode(frame.slice(5..), request.version).unwrap().json,
        Injection::NoPlace => panic!("no place"),
    };
    assert_eq!(json["errorCode"], 0);
    let mut all = Vec::new();
    for topic in json["responses"].as_array().unwrap() {
        let name = topic.get("topic").or_else(|| topic.get("topicId")).unwrap().as_str().unwrap();
        for partition in topic["partitions"].as_array().unwrap() {
            assert_eq!(partition["errorCode"], 6);
            all.push((name.to_owned(), partition["partitionIndex"].as_i64().unwrap()));
        }
    }
    Some(all)
}

fn names(all: &[(&str, i64)]) -> Option<Vec<(String, i64)>> {
    Some(all.iter().map(|(name, index)| ((*name).to_owned(), *index)).collect())
}

#[test]
fn a_fetch_that_names_nothing_is_about_all_of_its_session() {
    let mut sessions = Sessions::default();
    let opening = sessions.request(&fetch(0, 0, &[("letters", 0), ("letters", 1), ("stamps", 7)], &[])).unwrap();
    assert_eq!(failing(&sessions, &fetch(5, 1, &[], &[])), None, "the broker has not responded yet");
    sessions.response(opening, 5);
    assert_eq!(failing(&sessions, &fetch(5, 1, &[], &[])), names(&[("letters", 0), ("letters", 1), ("stamps", 7)]));
    // What a request adds and drops counts for itself, and for those after it once it went to the broker.
    let change = fetch(5, 1, &[("new", 2)], &[("letters", 1), ("stamps", 7)]);
    assert_eq!(failing(&sessions, &change), names(&[("letters", 0), ("new", 2)]));
    assert!(sessions.request(&change).is_none());
    assert_eq!(failing(&sessions, &fetch(5, 2, &[], &[])), names(&[("letters", 0), ("new", 2)]));
    // Another session, no session, a new one, and a closed one.
    assert_eq!(failing(&sessions, &fetch(6, 1, &[], &[])), None);
    assert_eq!(failing(&sessions, &fetch(0, -1, &[("letters", 0)], &[])), None);
    assert_eq!(failing(&sessions, &fetch(5, 0, &[("letters", 0)], &[])), None);
    sessions.request(&fetch(5, -1, &[], &[]));
    assert_eq!(failing(&sessions, &fetch(5, 3, &[], &[])), None);
}

#[test]
fn a_broker_without_room_for_sessions_opens_none() {
    let mut sessions = Sessions::default();
    let opening = sessions.request(&fetch(0, 0, &[("letters", 0)], &[])).unwrap();
    sessions.response(opening, 0);
    assert_eq!(failing(&sessions, &fetch(0, 1, &[], &[])), None);
}

#[test]
fn topics_may_be_ids_and_share_sessions_are_known_by_their_member() {
    let id = "AAAAAAAAAAAAAAAAAAAAAQ";
    let topics = json!([{ "topicId": id, "partitions": [{ "partition": 3 }] }]);
    let mut sessions = Sessions::default();
    let first = request(ApiKey::FETCH, 17, &json!({ "sessionEpoch": 0, "topics": topics }));
    let opening = sessions.request(&first).unwrap();
    sessions.response(opening, 9);
    let next = request(ApiKey::FETCH, 17, &json!({ "sessionId": 9, "sessionEpoch": 1 }));
    let members = sessions.members(&next).unwrap();
    assert!(matches!(respond(&next, ErrorCode(6), Some(&members)), Injection::Patch(_)));

    let share = |epoch: i32, member: &str, topics: Value| {
        let json = json!({ "groupId": "g", "memberId": member, "shareSessionEpoch": epoch, "topics": topics });
        request(ApiKey::SHARE_FETCH, 1, &json)
    };
    let topics = json!([{ "topicId": id, "partitions": [{ "partitionIndex": 3 }] }]);
    sessions.request(&share(0, "m", topics));
    assert_eq!(failing(&sessions, &share(1, "m", json!([]))), names(&[(id, 3)]));
    assert_eq!(failing(&sessions, &share(1, "n", json!([]))), None);
    sessions.request(&share(-1, "m", json!([])));
    assert_eq!(failing(&sessions, &share(1, "m", json!([]))), None);
}

#[test]
fn the_number_of_sessions_is_bounded_and_the_one_unused_for_longest_goes_first() {
    let mut sessions = Sessions::default();
    for id in 1..=2_000 {
        let opening = sessions.request(&fetch(0, 0, &[("letters", id)], &[])).unwrap();
        sessions.response(opening, id);
    }
    sessions.request(&fetch(1, 1, &[], &[]));
    let opening = sessions.request(&fetch(0, 0, &[("letters", 0)], &[])).unwrap();
    sessions.response(opening, 3_000);
    assert_eq!(failing(&sessions, &fetch(1, 2, &[], &[])), names(&[("letters", 1)]));
    assert_eq!(failing(&sessions, &fetch(2, 1, &[], &[])), None);
    assert_eq!(failing(&sessions, &fetch(3_000, 1, &[], &[])), names(&[("letters", 0)]));
}
