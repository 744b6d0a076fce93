use milena_messages::consumer_group_describe::response::{DescribedGroup, Member};
use milena_messages::{ByteString, ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, ErrorCode};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};

/// About the memory of a member besides its texts and partitions.
const MEMBER_SIZE: usize = 300;

pub(super) fn handle(
    context: &Context,
    request: ConsumerGroupDescribeRequest,
    cost: &mut Cost,
) -> ConsumerGroupDescribeResponse {
    let mut describe = |id: ByteString| {
        let mut group = describe(context, id);
        if shows_too_much(context, &group) {
            let message = "The group has described topic(s) that the client is not authorized to describe.";
            return DescribedGroup {
                group_id: group.group_id,
                error_code: ErrorCode::TOPIC_AUTHORIZATION_FAILED,
                error_message: Some(message.into()),
                ..Default::default()
            };
        }
        if !cost.response(group.members.iter().map(size).sum()) {
            let (group_id, error_code) = (group.group_id, ErrorCode::UNKNOWN_SERVER_ERROR);
            return DescribedGroup { group_id, error_code, ..Default::default() };
        }
        if request.include_authorized_operations && group.error_code.is_none() {
            group.authorized_operations = context.operations(Resource::group(&group.group_id));
        }
        group
    };
    let ids = request.group_ids.clone();
    // As in Kafka, the groups that the client may not see come first.
    let may = |id: &ByteString| context.may(Operation::Describe, Resource::group(id));
    let (seen, unseen): (Vec<_>, Vec<_>) = ids.into_iter().partition(may);
    let unauthorized =
        |group_id| DescribedGroup { group_id, error_code: ErrorCode::GROUP_AUTHORIZATION_FAILED, ..Default::default() };
    let groups = unseen.into_iter().map(unauthorized).chain(seen.into_iter().map(&mut describe)).collect();
    ConsumerGroupDescribeResponse { groups, ..Default::default() }
}

/// Whether a member has partitions of a topic that the client may not see.
fn shows_too_much(context: &Context, group: &DescribedGroup) -> bool {
    let assignments = group.members.iter().flat_map(|member| [&member.assignment, &member.target_assignment]);
    let mut topics = assignments.flat_map(|assignment| &assignment.topic_partitions);
    topics.any(|topic| !context.may(Operation::Describe, Resource::topic(&topic.topic_name)))
}

/// About the memory that a member takes in a response.
fn size(member: &Member) -> usize {
    let names: usize = member.subscribed_topic_names.iter().map(|name| name.len()).sum();
    let assignments = [&member.assignment, &member.target_assignment];
    let topics = assignments.into_iter().flat_map(|assignment| &assignment.topic_partitions);
    let partitions: usize = topics.map(|topic| 4 * topic.partitions.len() + topic.topic_name.len()).sum();
    MEMBER_SIZE + names + partitions + member.client_id.len() + member.member_id.len()
}

fn describe(context: &Context, id: ByteString) -> DescribedGroup {
    let refused = |error_code, message: Option<String>| DescribedGroup {
        group_id: id.clone(),
        error_code,
        error_message: message.map(Into::into),
        ..Default::default()
    };
    if !context.state.serves_protocol("consumer") {
        return refused(ErrorCode::UNSUPPORTED_VERSION, None);
    }
    if id.is_empty() {
        return refused(ErrorCode::INVALID_GROUP_ID, None);
    }
    let state = &context.state;
    let described = state.groups.with(state, context.node.id, &id, |machine, _, _| {
        machine.consumer_group(&id).map(|group| group.described(&**state))
    });
    match described {
        Ok(Ok(group)) => group,
        Ok(Err(why)) => refused(why.code, Some(why.message)),
        Err(code) => refused(code, None),
    }
}
