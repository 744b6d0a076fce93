use milena_messages::delete_share_group_offsets::response::DeleteShareGroupOffsetsResponseTopic;
use milena_messages::{ByteString, DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse, ErrorCode, Uuid};

use super::Context;
use super::authorize::unauthorized;
use crate::cluster::TopicRef;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};
use crate::share::message;

pub(super) fn handle(
    context: &Context,
    request: DeleteShareGroupOffsetsRequest,
    _cost: &mut Cost,
) -> DeleteShareGroupOffsetsResponse {
    let refuse = |error_code, text: String| DeleteShareGroupOffsetsResponse {
        error_code,
        error_message: Some(text.into()),
        ..Default::default()
    };
    let group = &*request.group_id;
    if let Err(code) = context.authorize(Operation::Delete, Resource::group(group)) {
        return refuse(code, unauthorized(code).message.into_owned());
    }
    if group.is_empty() {
        return refuse(ErrorCode::INVALID_GROUP_ID, message(ErrorCode::INVALID_GROUP_ID).to_owned());
    }
    let state = &context.state;
    let names = request.topics.iter().map(|topic| topic.topic_name.clone());
    let may = |name: &ByteString| context.may(Operation::Read, Resource::topic(name));
    let (names, others): (Vec<ByteString>, Vec<ByteString>) = names.partition(may);
    let begun = state.groups.with(state, context.node.id, group, |machine, _, effects| {
        machine.share_delete_offsets(group, &names, &**state, effects)
    });
    let (wanted, mut responses) = match begun {
        Ok(Ok(begun)) => begun,
        Ok(Err(refused)) => return refuse(refused.code, refused.message),
        Err(code) => return refuse(code, message(code).to_owned()),
    };
    let mut deleted: Vec<Uuid> = Vec::new();
    let mut successes = Vec::new();
    for (topic_id, partitions) in &wanted {
        let topic_name = state.topic(TopicRef::Id(*topic_id)).map(|topic| topic.name.clone()).unwrap_or_default();
        let topic = DeleteShareGroupOffsetsResponseTopic { topic_name, topic_id: *topic_id, ..Default::default() };
        match state.delete_share_state(group, *topic_id, partitions) {
            Ok(()) => {
                deleted.push(*topic_id);
                successes.push(topic);
            }
            Err(error_code) => responses.push(DeleteShareGroupOffsetsResponseTopic {
                error_code,
                error_message: Some(message(error_code).into()),
                ..topic
            }),
        }
    }
    if !deleted.is_empty() {
        let noted = state.groups.with(state, context.node.id, group, |machine, _, effects| {
            machine.share_offsets_deleted(group, &deleted, effects);
        });
        if let Err(code) = noted {
            return refuse(code, message(code).to_owned());
        }
    }
    let unauthorized = |topic_name| DeleteShareGroupOffsetsResponseTopic {
        topic_name,
        error_code: ErrorCode::TOPIC_AUTHORIZATION_FAILED,
        error_message: Some(unauthorized(ErrorCode::TOPIC_AUTHORIZATION_FAILED).message.as_ref().into()),
        ..Default::default()
    };
    let mut responses: Vec<_> = others.into_iter().map(unauthorized).chain(responses).collect();
    responses.extend(successes);
    DeleteShareGroupOffsetsResponse { responses, ..Default::default() }
}
