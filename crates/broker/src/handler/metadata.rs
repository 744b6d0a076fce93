use std::collections::HashSet;
use std::sync::Arc;

use milena_messages::metadata::request::MetadataRequestTopic;
use milena_messages::metadata::response::{MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic};
use milena_messages::{ErrorCode, Int32s, MetadataRequest, MetadataResponse};

use super::Context;
use crate::cluster::node::Node;
use crate::cluster::{State, Topic, TopicRef};
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};
use crate::storage::leadership::NO_LEADER;
use crate::storage::partition::Partition;

/// The request did not ask for them.
const NOT_ASKED: i32 = i32::MIN;
/// About what it costs to describe a partition, in bytes that could be copied instead.
const DESCRIBED_SIZE: usize = 512;

pub(super) fn handle(context: &Context, request: MetadataRequest, cost: &mut Cost) -> MetadataResponse {
    let (state, version) = (&*context.state, context.version);
    let all = match &request.topics {
        None => true,
        Some(topics) => version == 0 && topics.is_empty(),
    };
    let is_nothing = |topic: &MetadataRequestTopic| topic.name.is_none() && topic.topic_id.is_zero();
    if version >= 12 && request.topics.iter().flatten().any(is_nothing) {
        // Kafka fails.
        let failed = |topic: &MetadataRequestTopic| MetadataResponseTopic {
            error_code: ErrorCode::UNKNOWN_SERVER_ERROR,
            name: Some(topic.name.clone().unwrap_or_default()),
            topic_id: topic.topic_id,
            ..Default::default()
        };
        let topics = request.topics.iter().flatten().map(failed).collect();
        let error_code = if version >= 13 { ErrorCode::UNKNOWN_SERVER_ERROR } else { ErrorCode::NONE };
        return MetadataResponse { error_code, topics, ..Default::default() };
    }
    let mut topics: Vec<_> = if all {
        let mut topics = state.topics();
        topics.retain(|topic| context.may(Operation::Describe, Resource::topic(&topic.name)));
        let partitions: usize = topics.iter().map(|topic| topic.partition_count()).sum();
        if !cost.copy(partitions.saturating_mul(DESCRIBED_SIZE)) {
            return MetadataResponse::default();
        }
        topics.iter().map(|topic| describe(state, topic)).collect()
    } else {
        let create = version < 4 || request.allow_auto_topic_creation;
        // A topic that is listed twice is in the response once.
        let mut seen = HashSet::new();
        let listed = request.topics.iter().flatten().filter(|topic| seen.insert((&topic.name, topic.topic_id)));
        listed.map(|topic| look_up(context, topic, create)).collect()
    };
    // Kafka refuses the whole request, and names nothing else in the response.
    if topics.iter().any(|topic| topic.error_code == ErrorCode::INVALID_REQUEST) {
        topics.iter_mut().for_each(|topic| topic.error_code = ErrorCode::INVALID_REQUEST);
        return MetadataResponse { topics, ..Default::default() };
    }
    if request.include_topic_authorized_operations {
        let refused = [ErrorCode::TOPIC_AUTHORIZATION_FAILED, ErrorCode::UNKNOWN_TOPIC_ID];
        for topic in topics.iter_mut().filter(|topic| !refused.contains(&topic.error_code)) {
            let name = topic.name.as_deref().unwrap_or_default();
            topic.topic_authorized_operations = context.operations(Resource::topic(name));
        }
    }
    let asked = request.include_cluster_authorized_operations;
    let broker = |node: &Arc<Node>| {
        let endpoint = context.endpoint(node);
        MetadataResponseBroker {
            node_id: node.id,
            host: endpoint.host.clone(),
            port: endpoint.port.into(),
            rack: node.rack.clone(),
            ..Default::default()
        }
    };
    MetadataResponse {
        brokers: state.alive().iter().map(broker).collect(),
        cluster_id: Some(state.cluster_id.clone()),
        controller_id: state.controller(),
        topics,
        cluster_authorized_operations: if asked { context.cluster_operations() } else { NOT_ASKED },
        ..Default::default()
    }
}

fn look_up(context: &Context, wanted: &MetadataRequestTopic, create: bool) -> MetadataResponseTopic {
    let (state, version) = (&*context.state, context.version);
    let may = |operation, name: &str| context.may(operation, Resource::topic(name));
    let refused = |error_code| MetadataResponseTopic {
        error_code,
        // Before version 12 the name cannot be null.
        name: wanted.name.clone().or_else(|| (version < 12).then(Default::default)),
        topic_id: wanted.topic_id,
        ..Default::default()
    };
    match &wanted.name {
        _ if !wanted.topic_id.is_zero() && version >= 12 => match state.topic(TopicRef::Id(wanted.topic_id)) {
            Some(topic) if may(Operation::Describe, &topic.name) => describe(state, &topic),
            Some(_) => MetadataResponseTopic { name: None, ..refused(ErrorCode::TOPIC_AUTHORIZATION_FAILED) },
            None => refused(ErrorCode::UNKNOWN_TOPIC_ID),
        },
        // Versions 10 and 11 could write ids, but brokers never looked at them.
        None => refused(if version < 12 { ErrorCode::INVALID_REQUEST } else { ErrorCode::UNKNOWN_TOPIC_ID }),
        // Whether there is such a topic stays secret.
        Some(name) if !may(Operation::Describe, name) => refused(ErrorCode::TOPIC_AUTHORIZATION_FAILED),
        Some(name) => match state.topic(TopicRef::Name(name)) {
            Some(topic) => describe(state, &topic),
            None if create && state.config.auto_create_topics => {
                if !context.may(Operation::Create, Resource::CLUSTER) && !may(Operation::Create, name) {
                    return refused(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
                }
                match state.auto_create(name) {
                    // Kafka creates it after the response: the client has to ask again.
                    Ok(_) => refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
                    Err(refusal) => refused(refusal.code),
                }
            }
            None => refused(match crate::cluster::topic_name::check(name) {
                Ok(()) => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                Err(refusal) => refusal.code,
            }),
        },
    }
}

fn describe(state: &State, topic: &Topic) -> MetadataResponseTopic {
    let up: HashSet<i32> = state.alive().iter().map(|node| node.id).collect();
    let partition = |(index, partition): (i32, Arc<Partition>)| {
        let leadership = partition.leadership();
        let offline: Vec<i32> = leadership.replicas.iter().copied().filter(|node| !up.contains(node)).collect();
        MetadataResponsePartition {
            error_code: if leadership.leader == NO_LEADER { ErrorCode::LEADER_NOT_AVAILABLE } else { ErrorCode::NONE },
            partition_index: index,
            leader_id: leadership.leader,
            leader_epoch: leadership.epoch,
            replica_nodes: Int32s::from_slice(&leadership.replicas),
            isr_nodes: Int32s::from_slice(&leadership.in_sync),
            offline_replicas: Int32s::from_slice(&offline),
            ..Default::default()
        }
    };
    MetadataResponseTopic {
        name: Some(topic.name.clone()),
        topic_id: topic.id,
        is_internal: topic.is_internal(),
        partitions: (0..).zip(topic.partitions()).map(partition).collect(),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use milena_messages::{Int32s, Uuid};

    use super::*;
    use crate::config::BrokerConfig;
    use crate::handler::tests::{Fixture, create, state, state_with};

    fn handle(state: &Fixture, request: MetadataRequest, version: i16) -> MetadataResponse {
        super::handle(&state.at(version), request, &mut Cost::quick())
    }

    fn named(name: &str) -> MetadataRequest {
        let topic = MetadataRequestTopic { name: Some(name.into()), ..Default::default() };
        MetadataRequest { topics: Some(vec![topic]), ..Default::default() }
    }

    #[test]
    fn all_topics_are_an_empty_list_in_version_0_and_null_later() {
        let state = state();
        create(&state, "a", 2);
        let names = |topics: Option<Vec<MetadataRequestTopic>>, version| {
            let request = MetadataRequest { topics, ..Default::default() };
            handle(&state, request, version).topics.len()
        };
        assert_eq!([names(Some(vec![]), 0), names(Some(vec![]), 1), names(None, 1), names(None, 13)], [1, 0, 1, 1]);
    }

    #[test]
    fn asking_for_an_unknown_topic_creates_it() {
        let state = state();
        // As Kafka 4.4, whose first response comes before the topic is there.
        let topic = handle(&state, named("new"), 0).topics.remove(0);
        assert_eq!((topic.error_code, topic.partitions.len()), (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, 0));
        let topic = handle(&state, named("new"), 0).topics.remove(0);
        assert_eq!((topic.error_code, topic.partitions.len()), (ErrorCode::NONE, 1));
        assert_eq!(topic.partitions[0].replica_nodes, Int32s::from_slice(&[1]));
        assert_eq!(handle(&state, named("a b"), 12).topics[0].error_code, ErrorCode::INVALID_TOPIC_EXCEPTION);
    }

    #[test]
    fn nothing_is_created_when_client_or_broker_do_not_want_it() {
        let unknown = |state: &Fixture, request, version| {
            let topic = handle(state, request, version).topics.remove(0);
            assert_eq!(topic.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
            assert!(state.topics().is_empty());
        };
        unknown(&state(), MetadataRequest { allow_auto_topic_creation: false, ..named("new") }, 4);
        let config = BrokerConfig { auto_create_topics: false, ..Default::default() };
        unknown(&state_with(config), named("new"), 13);
    }

    #[test]
    fn topics_are_found_by_id_from_version_12_on() {
        let state = state();
        let id = create(&state, "a", 1).id;
        let by_id = |topic_id, version| {
            let topic = MetadataRequestTopic { topic_id, name: None, ..Default::default() };
            handle(&state, MetadataRequest { topics: Some(vec![topic]), ..Default::default() }, version)
                .topics
                .remove(0)
        };
        assert_eq!(by_id(id, 12).name.as_deref(), Some("a"));
        assert_eq!(by_id(id, 11).error_code, ErrorCode::INVALID_REQUEST);
        // As Kafka 4.4, when there is neither id nor name.
        let nothing = by_id(Uuid::ZERO, 12);
        assert_eq!((nothing.error_code, nothing.name.as_deref()), (ErrorCode::UNKNOWN_SERVER_ERROR, Some("")));
        let unknown = by_id(Uuid::from_bytes([7; 16]), 13);
        assert_eq!((unknown.error_code, unknown.name), (ErrorCode::UNKNOWN_TOPIC_ID, None));
    }

    #[test]
    fn operations_come_only_when_asked_for() {
        let state = state();
        let plain = handle(&state, named("a"), 9);
        assert_eq!(
            (plain.cluster_authorized_operations, plain.topics[0].topic_authorized_operations),
            (i32::MIN, i32::MIN)
        );
        let request = MetadataRequest {
            include_cluster_authorized_operations: true,
            include_topic_authorized_operations: true,
            ..named("a")
        };
        let full = handle(&state, request, 9);
        // As in responses of Kafka without an authorizer.
        assert_eq!((full.cluster_authorized_operations, full.topics[0].topic_authorized_operations), (8096, 3576));
    }

    #[test]
    fn a_topic_that_is_listed_twice_is_in_the_response_once() {
        let state = state();
        create(&state, "a", 1);
        let topic = |name: &str| MetadataRequestTopic { name: Some(name.into()), ..Default::default() };
        let topics = ["a", "a", "b", "a", "b"].map(topic).to_vec();
        let request = MetadataRequest { topics: Some(topics), allow_auto_topic_creation: false, ..Default::default() };
        let topics = handle(&state, request, 8).topics;
        let found: Vec<_> = topics.iter().map(|topic| (topic.name.as_deref().unwrap(), topic.error_code)).collect();
        assert_eq!(found, [("a", ErrorCode::NONE), ("b", ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)]);
    }

    #[test]
    fn a_cluster_of_many_partitions_is_described_on_a_thread_of_its_own() {
        let state = state();
        create(&state, "a", 9000);
        let context = state.at(12);
        let all = MetadataRequest { topics: None, ..Default::default() };
        let mut cost = Cost::quick();
        super::handle(&context, all.clone(), &mut cost);
        assert!(cost.needs_full());
        let mut cost = Cost::full(0);
        assert_eq!(super::handle(&context, all, &mut cost).topics[0].partitions.len(), 9000);
    }
}
