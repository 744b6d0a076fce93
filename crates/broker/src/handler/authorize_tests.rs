use milena_messages::create_topics::request::CreatableTopic;
use milena_messages::delete_topics::request::DeleteTopicState;
use milena_messages::metadata::request::MetadataRequestTopic;
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::{
    CreateTopicsRequest, DeleteTopicsRequest, InitProducerIdRequest, ListGroupsRequest, MetadataRequest,
    ProduceRequest, Uuid,
};
use milena_records::{Codec, Record, encode};

use crate::config::BrokerConfig;
use crate::cost::Cost;
use crate::handler::tests::{Fixture, create, state_with};
use crate::handler::{
    Outcome, create_topics, delete_topics, init_producer_id, list_groups, metadata, offset_commit, produce,
};
use crate::security::authorizer::AclConfig;
use milena_messages::ErrorCode;

/// A broker with these ACLs of the client, and the topics `seen` and `hidden`.
fn guarded(acls: &[&str]) -> Fixture {
    let acl = |acl: &&str| format!("allow User:ANONYMOUS {acl}").parse().unwrap();
    let acls = AclConfig { acls: acls.iter().map(acl).collect(), ..AclConfig::default() };
    let state = state_with(BrokerConfig { acls: Some(acls), ..BrokerConfig::default() });
    create(&state, "seen", 1);
    create(&state, "hidden", 1);
    state
}

fn topics(state: &Fixture, request: MetadataRequest) -> Vec<(String, ErrorCode, bool)> {
    let response = metadata::handle(&state.at(12), request, &mut Cost::quick());
    let topic = |topic: milena_messages::metadata::response::MetadataResponseTopic| {
        (topic.name.unwrap_or_default().to_string(), topic.error_code, topic.topic_id.is_zero())
    };
    response.topics.into_iter().map(topic).collect()
}

fn named(names: &[&str]) -> MetadataRequest {
    let topic = |name: &&str| MetadataRequestTopic { name: Some((*name).into()), ..Default::default() };
    let topics = Some(names.iter().map(topic).collect());
    MetadataRequest { topics, allow_auto_topic_creation: true, ..Default::default() }
}

/// As Kafka 4.4: those who may not see a topic get the same for one that is there and one that is not.
#[test]
fn metadata_keeps_topics_secret() {
    let state = guarded(&["read topic:seen", "describe topic:new"]);
    let refused = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
    let all = MetadataRequest { topics: None, ..Default::default() };
    assert_eq!(topics(&state, all), [("seen".to_owned(), ErrorCode::NONE, false)]);
    assert_eq!(
        topics(&state, named(&["seen", "hidden", "absent"])),
        [
            ("seen".to_owned(), ErrorCode::NONE, false),
            ("hidden".to_owned(), refused, true),
            ("absent".to_owned(), refused, true)
        ]
    );
    // A client that sees a topic may still not create it.
    assert_eq!(topics(&state, named(&["new"])), [("new".to_owned(), refused, true)]);
    assert!(state.topic(crate::cluster::TopicRef::Name("new")).is_none());
    let by_id = |topic_id| {
        let topic = MetadataRequestTopic { topic_id, name: None, ..Default::default() };
        topics(&state, MetadataRequest { topics: Some(vec![topic]), ..Default::default() })
    };
    let hidden = state.topic(crate::cluster::TopicRef::Name("hidden")).unwrap().id;
    assert_eq!(by_id(hidden), [(String::new(), refused, false)]);
    assert_eq!(by_id(Uuid::from_bytes([7; 16])), [(String::new(), ErrorCode::UNKNOWN_TOPIC_ID, false)]);
}

#[test]
fn topics_are_created_with_a_permission_for_the_cluster_or_for_each() {
    let ask = |acls: &[&str]| {
        let state = guarded(acls);
        let topic = |name: &str| CreatableTopic {
            name: name.into(),
            num_partitions: 1,
            replication_factor: 1,
            ..Default::default()
        };
        let request = CreateTopicsRequest { topics: vec![topic("a"), topic("b")], ..Default::default() };
        let response = create_topics::handle(&state.at(7), request, &mut Cost::quick());
        response.topics.iter().map(|one| (one.error_code, one.topic_config_error_code)).collect::<Vec<_>>()
    };
    let (fine, refused) = (ErrorCode::NONE, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    assert_eq!(ask(&[]), [(refused, fine), (refused, fine)]);
    // Settings are for those who may see them.
    assert_eq!(ask(&["create cluster"]), [(fine, refused), (fine, refused)]);
    assert_eq!(ask(&["create topic:a", "alter-configs topic:a"]), [(fine, fine), (refused, fine)]);
}

#[test]
fn a_topic_is_deleted_by_those_who_may_and_named_to_those_who_see_it() {
    let ask = |acls: &[&str], by_id: bool| {
        let state = guarded(acls);
        let id = state.topic(crate::cluster::TopicRef::Name("hidden")).unwrap().id;
        let topic = match by_id {
            true => DeleteTopicState { topic_id: id, name: None, ..Default::default() },
            false => DeleteTopicState { name: Some("hidden".into()), ..Default::default() },
        };
        let request = DeleteTopicsRequest { topics: vec![topic], ..Default::default() };
        let result = delete_topics::handle(&state.at(6), request, &mut Cost::quick()).responses.remove(0);
        (result.error_code, result.name.is_some(), result.topic_id.is_zero())
    };
    let (fine, refused) = (ErrorCode::NONE, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    assert_eq!(ask(&[], true), (refused, false, false));
    assert_eq!(ask(&["describe topic:*"], true), (refused, true, false));
    assert_eq!(ask(&["describe topic:*"], false), (refused, true, true));
    assert_eq!(ask(&["delete topic:hid*"], true), (fine, true, false));
    assert_eq!(ask(&["delete cluster"], false), (fine, true, false));
}

fn send(state: &Fixture, topic: &str, acks: i16) -> Outcome<milena_messages::ProduceResponse> {
    let records = Some(encode(&[Record::from_value("x")], Codec::None).unwrap());
    let partition = PartitionProduceData { index: 0, records, ..Default::default() };
    let topic = TopicProduceData { name: topic.into(), partition_data: vec![partition], ..Default::default() };
    let request = ProduceRequest { acks, topic_data: vec![topic], ..Default::default() };
    produce::handle(&state.at(9), request, &mut Cost::quick())
}

#[test]
fn a_refused_batch_is_not_appended_and_without_acks_closes_the_connection() {
    let state = guarded(&["write topic:seen"]);
    assert!(matches!(send(&state, "seen", 0), Outcome::Nothing));
    assert!(matches!(send(&state, "hidden", 0), Outcome::Close(_)));
    let Outcome::Response(response) = send(&state, "hidden", -1) else { panic!("a response was expected") };
    let code = response.responses[0].partition_responses[0].error_code;
    assert_eq!(code, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    let hidden = state.topic(crate::cluster::TopicRef::Name("hidden")).unwrap();
    assert_eq!(hidden.partition(0).unwrap().with_log(|log| log.end_offset()), 0);
}

#[test]
fn an_idempotent_producer_needs_one_topic_to_write_to() {
    let ask = |acls: &[&str]| {
        let request = InitProducerIdRequest { transactional_id: None, ..Default::default() };
        init_producer_id::handle(&guarded(acls).at(4), request, &mut Cost::quick()).error_code
    };
    assert_eq!(ask(&[]), ErrorCode::CLUSTER_AUTHORIZATION_FAILED);
    assert_eq!(ask(&["read topic:*"]), ErrorCode::CLUSTER_AUTHORIZATION_FAILED);
    assert_eq!(ask(&["write topic:whatever"]), ErrorCode::NONE);
    assert_eq!(ask(&["idempotent-write cluster"]), ErrorCode::NONE);
}

#[test]
fn groups_are_listed_to_those_who_may_see_them() {
    let ask = |acls: &[&str]| {
        let state = guarded(&[acls, &["read group:a", "read group:b", "read topic:seen"]].concat());
        for group in ["a", "b"] {
            let partition = milena_messages::offset_commit::request::OffsetCommitRequestPartition::default();
            let topic = milena_messages::offset_commit::request::OffsetCommitRequestTopic {
                name: "seen".into(),
                partitions: vec![partition],
                ..Default::default()
            };
            let request = milena_messages::OffsetCommitRequest {
                group_id: group.into(),
                topics: vec![topic],
                ..Default::default()
            };
            let response = offset_commit::handle(&state.at(8), request, &mut Cost::quick());
            assert_eq!(response.topics[0].partitions[0].error_code, ErrorCode::NONE);
        }
        let authorizer = state.authorizer.as_ref().unwrap();
        authorizer.remove(&"allow User:ANONYMOUS read group:b".parse().unwrap());
        list_groups::handle(&state.at(4), ListGroupsRequest::default(), &mut Cost::quick()).groups.len()
    };
    assert_eq!(ask(&[]), 1);
    assert_eq!(ask(&["describe cluster"]), 2);
}
