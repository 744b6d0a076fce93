use milena_messages::share_group_describe::response::{DescribedGroup, Member};
use milena_messages::{ByteString, ErrorCode, ShareGroupDescribeRequest, ShareGroupDescribeResponse};

use super::Context;
use super::described::{self, described, only};
use crate::cost::Cost;
use crate::group::consumer::Refused;

/// About the memory of a member besides its texts and partitions.
const MEMBER_SIZE: usize = 200;

described!(DescribedGroup, |group: &DescribedGroup| group.members.iter().map(size).sum());

pub(super) fn handle(
    context: &Context,
    request: ShareGroupDescribeRequest,
    cost: &mut Cost,
) -> ShareGroupDescribeResponse {
    let with_operations = request.include_authorized_operations;
    let groups = described::describe(context, request.group_ids, with_operations, cost, |id| describe(context, id));
    ShareGroupDescribeResponse { groups, ..Default::default() }
}

/// About the memory that a member takes in a response.
fn size(member: &Member) -> usize {
    let names: usize = member.subscribed_topic_names.iter().map(|name| name.len()).sum();
    let topics = &member.assignment.topic_partitions;
    let partitions: usize = topics.iter().map(|topic| 4 * topic.partitions.len() + topic.topic_name.len()).sum();
    MEMBER_SIZE + names + partitions + member.client_id.len() + member.member_id.len()
}

fn describe(context: &Context, id: &ByteString) -> Result<DescribedGroup, Refused> {
    let state = &context.state;
    if id.is_empty() {
        return Err(only(ErrorCode::INVALID_GROUP_ID));
    }
    let described = state.groups.with(state, context.node.id, id, |machine, _, _| {
        machine.share_group(id).map(|group| group.described(&**state))
    });
    let group = described.map_err(only)??;
    let topics = group.members.iter().flat_map(|member| &member.assignment.topic_partitions);
    let message = "The group has described topic(s) that the client is not authorized to describe.";
    described::check_topics(context, topics.map(|topic| &topic.topic_name), message)?;
    Ok(group)
}
