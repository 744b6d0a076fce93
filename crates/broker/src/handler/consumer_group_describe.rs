use milena_messages::consumer_group_describe::response::{DescribedGroup, Member};
use milena_messages::{ByteString, ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, ErrorCode};

use super::Context;
use super::described::{self, described, only};
use crate::cost::Cost;
use crate::group::consumer::Refused;

/// About the memory of a member besides its texts and partitions.
const MEMBER_SIZE: usize = 300;

described!(DescribedGroup, |group: &DescribedGroup| group.members.iter().map(size).sum());

pub(super) fn handle(
    context: &Context,
    request: ConsumerGroupDescribeRequest,
    cost: &mut Cost,
) -> ConsumerGroupDescribeResponse {
    let with_operations = request.include_authorized_operations;
    let groups = described::describe(context, request.group_ids, with_operations, cost, |id| describe(context, id));
    ConsumerGroupDescribeResponse { groups, ..Default::default() }
}

/// About the memory that a member takes in a response.
fn size(member: &Member) -> usize {
    let names: usize = member.subscribed_topic_names.iter().map(|name| name.len()).sum();
    let assignments = [&member.assignment, &member.target_assignment];
    let topics = assignments.into_iter().flat_map(|assignment| &assignment.topic_partitions);
    let partitions: usize = topics.map(|topic| 4 * topic.partitions.len() + topic.topic_name.len()).sum();
    MEMBER_SIZE + names + partitions + member.client_id.len() + member.member_id.len()
}

fn describe(context: &Context, id: &ByteString) -> Result<DescribedGroup, Refused> {
    let state = &context.state;
    if !state.serves_protocol("consumer") {
        return Err(only(ErrorCode::UNSUPPORTED_VERSION));
    }
    if id.is_empty() {
        return Err(only(ErrorCode::INVALID_GROUP_ID));
    }
    let described = state.groups.with(state, context.node.id, id, |machine, _, _| {
        machine.consumer_group(id).map(|group| group.described(&**state))
    });
    let group = described.map_err(only)??;
    let assignments = group.members.iter().flat_map(|member| [&member.assignment, &member.target_assignment]);
    let topics = assignments.flat_map(|assignment| &assignment.topic_partitions).map(|topic| &topic.topic_name);
    let message = "The group has described topic(s) that the client is not authorized to describe.";
    described::check_topics(context, topics, message)?;
    Ok(group)
}
