use std::collections::BTreeSet;

use milena_messages::describe_topic_partitions::request::TopicRequest;
use milena_messages::describe_topic_partitions::response::{
    Cursor, DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};
use milena_messages::{ByteString, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, ErrorCode, Int32s};

use super::Context;
use crate::cluster::{TopicRef, topic_name};
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};
use crate::storage::leadership::NO_LEADER;

/// Most partitions of a response: Kafka's default of `max.request.partition.size.limit`.
const MAX_PARTITIONS: i32 = 2000;

pub(super) fn handle(
    context: &Context,
    request: DescribeTopicPartitionsRequest,
    _cost: &mut Cost,
) -> DescribeTopicPartitionsResponse {
    let state = &context.state;
    let asked: BTreeSet<ByteString> = request.topics.iter().map(|topic| topic.name.clone()).collect();
    let mut first = 0;
    let mut names = asked.clone();
    if names.is_empty() {
        names = state.topics().iter().map(|topic| topic.name.clone()).collect();
    }
    if let Some(cursor) = &request.cursor {
        if cursor.partition_index < 0 || !asked.is_empty() && !asked.contains(&cursor.topic_name) {
            return refused(&request, ErrorCode::INVALID_REQUEST);
        }
        names = names.split_off(&cursor.topic_name);
        first = if names.first() == Some(&cursor.topic_name) { cursor.partition_index } else { 0 };
    }
    if names.iter().any(|name| name.is_empty()) {
        // Kafka fails.
        return refused(&request, ErrorCode::UNKNOWN_SERVER_ERROR);
    }
    let mut unauthorized = Vec::new();
    names.retain(|name| {
        let authorized = context.authorize(Operation::Describe, Resource::topic(name));
        // Whether there is such a topic stays secret.
        if let (Err(error_code), false) = (authorized, asked.is_empty()) {
            let name = Some(name.clone());
            unauthorized.push(DescribeTopicPartitionsResponseTopic { error_code, name, ..Default::default() });
        }
        authorized.is_ok()
    });
    let mut left = request.response_partition_limit.clamp(1, MAX_PARTITIONS) as usize;
    let mut response = DescribeTopicPartitionsResponse::default();
    for name in names {
        if left == 0 {
            response.next_cursor = Some(Cursor { topic_name: name, partition_index: 0, ..Default::default() });
            break;
        }
        let mut described = DescribeTopicPartitionsResponseTopic {
            name: Some(name.clone()),
            topic_authorized_operations: context.operations(Resource::topic(&name)),
            ..Default::default()
        };
        let Some(topic) = state.topic(TopicRef::Name(&name)) else {
            described.error_code = topic_name::check(&name)
                .map_or_else(|refusal| refusal.code, |()| ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
            response.topics.push(described);
            // The place that the cursor names is one in this topic.
            first = 0;
            continue;
        };
        (described.topic_id, described.is_internal) = (topic.id, topic.is_internal());
        let partitions = topic.partitions();
        let (start, count) = (std::mem::take(&mut first), partitions.len());
        for (index, partition) in (0..).zip(&partitions).skip(start as usize).take(left) {
            let leadership = partition.leadership();
            let up = |node: &i32| state.node(*node).is_some_and(|node| node.is_alive());
            let offline: Vec<i32> = leadership.replicas.iter().copied().filter(|node| !up(node)).collect();
            let error_code =
                if leadership.leader == NO_LEADER { ErrorCode::LEADER_NOT_AVAILABLE } else { ErrorCode::NONE };
            described.partitions.push(DescribeTopicPartitionsResponsePartition {
                error_code,
                partition_index: index,
                leader_id: leadership.leader,
                leader_epoch: leadership.epoch,
                replica_nodes: Int32s::from_slice(&leadership.replicas),
                isr_nodes: Int32s::from_slice(&leadership.in_sync),
                eligible_leader_replicas: Some(Int32s::default()),
                last_known_elr: Some(Int32s::default()),
                offline_replicas: Int32s::from_slice(&offline),
                ..Default::default()
            });
        }
        left -= described.partitions.len();
        let next = start as usize + described.partitions.len();
        response.topics.push(described);
        if next < count {
            let partition_index = next as i32;
            response.next_cursor = Some(Cursor { topic_name: name, partition_index, ..Default::default() });
            break;
        }
    }
    response.topics.append(&mut unauthorized);
    response
}

/// The topics as they were listed, each with the error.
fn refused(request: &DescribeTopicPartitionsRequest, error_code: ErrorCode) -> DescribeTopicPartitionsResponse {
    let topic = |topic: &TopicRequest| DescribeTopicPartitionsResponseTopic {
        error_code,
        name: Some(topic.name.clone()),
        ..Default::default()
    };
    DescribeTopicPartitionsResponse { topics: request.topics.iter().map(topic).collect(), ..Default::default() }
}

#[cfg(test)]
mod tests {
    use milena_messages::describe_topic_partitions::request;

    use super::*;
    use crate::handler::tests::{create, state};

    /// As Kafka 4.4 pages through the same topics.
    #[test]
    fn a_cursor_says_where_the_next_page_begins() {
        let state = state();
        create(&state, "u", 3);
        create(&state, "t", 4);
        type Page = (Vec<(String, ErrorCode, usize)>, Option<(String, i32)>);
        let ask = |names: &[&str], response_partition_limit, cursor: Option<(&str, i32)>| -> Page {
            let topic = |name: &&str| request::TopicRequest { name: (*name).into(), ..Default::default() };
            let cursor = cursor.map(|(topic_name, partition_index)| request::Cursor {
                topic_name: topic_name.into(),
                partition_index,
                ..Default::default()
            });
            let topics = names.iter().map(topic).collect();
            let request =
                DescribeTopicPartitionsRequest { topics, response_partition_limit, cursor, ..Default::default() };
            let response = handle(&state.at(0), request, &mut Cost::quick());
            let topic = |topic: &DescribeTopicPartitionsResponseTopic| {
                (topic.name.as_deref().unwrap_or_default().to_owned(), topic.error_code, topic.partitions.len())
            };
            let next = response.next_cursor.map(|next| (next.topic_name.to_string(), next.partition_index));
            (response.topics.iter().map(topic).collect(), next)
        };
        let fine = |name: &str, count| (name.to_owned(), ErrorCode::NONE, count);
        let bad = |name: &str, code| (name.to_owned(), code, 0);
        let at = |name: &str, index| Some((name.to_owned(), index));
        let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        let all = ["u", "t", "zz", "t"];
        assert_eq!(ask(&all, 2000, None), (vec![fine("t", 4), fine("u", 3), bad("zz", unknown)], None));
        assert_eq!(ask(&["t", "u"], 1, None), (vec![fine("t", 1)], at("t", 1)));
        assert_eq!(ask(&["t", "u"], -5, None), (vec![fine("t", 1)], at("t", 1)));
        assert_eq!(ask(&["t", "u"], 3, Some(("t", 1))), (vec![fine("t", 3)], at("u", 0)));
        assert_eq!(ask(&["t", "u"], 100, Some(("t", 4))), (vec![fine("t", 0), fine("u", 3)], None));
        assert_eq!(ask(&["t"], 4, None), (vec![fine("t", 4)], None));
        let invalid = ErrorCode::INVALID_REQUEST;
        assert_eq!(ask(&["t", "u"], 9, Some(("tt", 0))), (vec![bad("t", invalid), bad("u", invalid)], None));
        assert_eq!(ask(&["t", "u"], 9, Some(("t", -1))), (vec![bad("t", invalid), bad("u", invalid)], None));
        assert_eq!(ask(&[], 1, Some(("tt", 2))), (vec![fine("u", 1)], at("u", 1)));
        let failed = ErrorCode::UNKNOWN_SERVER_ERROR;
        assert_eq!(ask(&["t", "", "t"], 1, None), (vec![bad("t", failed), bad("", failed), bad("t", failed)], None));
        assert_eq!(ask(&["a/b"], 1, None), (vec![bad("a/b", ErrorCode::INVALID_TOPIC_EXCEPTION)], None));
    }
}
