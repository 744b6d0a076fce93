use std::collections::HashSet;

use milena_messages::alter_share_group_offsets::request::AlterShareGroupOffsetsRequestTopic;
use milena_messages::alter_share_group_offsets::response::{
    AlterShareGroupOffsetsResponsePartition, AlterShareGroupOffsetsResponseTopic,
};
use milena_messages::{AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse, ErrorCode};

use super::Context;
use super::authorize::unauthorized;
use crate::cluster::TopicRef;
use crate::cost::Cost;
use crate::group::share::initialize_share_state;
use crate::security::acl::{Operation, Resource};
use crate::share::message;

pub(super) fn handle(
    context: &Context,
    request: AlterShareGroupOffsetsRequest,
    _cost: &mut Cost,
) -> AlterShareGroupOffsetsResponse {
    let refuse = |error_code, text: String| AlterShareGroupOffsetsResponse {
        error_code,
        error_message: Some(text.into()),
        ..Default::default()
    };
    let group = &*request.group_id;
    if let Err(code) = context.authorize(Operation::Read, Resource::group(group)) {
        return refuse(code, unauthorized(code).message.into_owned());
    }
    if group.is_empty() {
        return refuse(ErrorCode::INVALID_GROUP_ID, message(ErrorCode::INVALID_GROUP_ID).to_owned());
    }
    let state = &context.state;
    let is_known =
        |topic: &AlterShareGroupOffsetsRequestTopic| state.topic(TopicRef::Name(&topic.topic_name)).is_some();
    let mut topics = request.topics.clone();
    // A topic that is listed twice is altered once.
    let mut seen = HashSet::new();
    topics.retain(|topic| seen.insert(topic.topic_name.clone()));
    let may =
        |topic: &AlterShareGroupOffsetsRequestTopic| context.may(Operation::Read, Resource::topic(&topic.topic_name));
    let (topics, others): (Vec<_>, Vec<_>) = topics.into_iter().partition(may);
    let (known, unknown): (Vec<_>, Vec<_>) = topics.into_iter().partition(is_known);
    let altered = state.groups.with(state, context.node.id, group, |machine, now_ms, effects| {
        machine.share_alter_offsets(group, &known, &**state, now_ms, effects)
    });
    let (mut responses, offsets) = match altered {
        Ok(Ok(altered)) => altered,
        Ok(Err(refused)) => return refuse(refused.code, refused.message),
        Err(code) => return refuse(code, message(code).to_owned()),
    };
    let refusals = initialize_share_state(state, group, &offsets);
    if refusals.is_empty() && !offsets.topics.is_empty() {
        let noted = state.groups.with(state, context.node.id, group, |machine, now_ms, effects| {
            machine.share_initialized(group, &offsets, true, now_ms, effects);
        });
        if let Err(code) = noted {
            return refuse(code, message(code).to_owned());
        }
    }
    for topic in &mut responses {
        for partition in topic.partitions.iter_mut().filter(|partition| partition.error_code.is_none()) {
            if let Some(refusal) = refusals.get(&(topic.topic_id, partition.partition_index)) {
                partition.error_code = refusal.code;
                partition.error_message = Some(refusal.message.clone().into());
            }
        }
    }
    let unknown = unknown.iter().map(|topic| {
        let code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        refused(topic, code, message(code))
    });
    let others = others.iter().map(|topic| {
        let code = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
        let found = state.topic(TopicRef::Name(&topic.topic_name));
        // Kafka takes the id of a topic for no secret.
        let topic_id = found.map(|found| found.id).unwrap_or_default();
        AlterShareGroupOffsetsResponseTopic { topic_id, ..refused(topic, code, &unauthorized(code).message) }
    });
    let responses = others.chain(unknown).chain(responses).collect();
    AlterShareGroupOffsetsResponse { responses, ..Default::default() }
}

/// A topic of which nothing was altered.
fn refused(
    topic: &AlterShareGroupOffsetsRequestTopic,
    error_code: ErrorCode,
    message: &str,
) -> AlterShareGroupOffsetsResponseTopic {
    let partition = |partition_index: i32| AlterShareGroupOffsetsResponsePartition {
        partition_index,
        error_code,
        error_message: Some(message.to_owned().into()),
        ..Default::default()
    };
    AlterShareGroupOffsetsResponseTopic {
        topic_name: topic.topic_name.clone(),
        partitions: topic.partitions.iter().map(|wanted| partition(wanted.partition_index)).collect(),
        ..Default::default()
    }
}
