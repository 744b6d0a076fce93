use std::collections::HashSet;

use milena_messages::share_group_describe::response::{DescribedGroup, Member};
use milena_messages::{ByteString, ErrorCode, ShareGroupDescribeRequest, ShareGroupDescribeResponse};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};

/// About the memory of a member besides its texts and partitions.
const MEMBER_SIZE: usize = 200;

pub(super) fn handle(
    context: &Context,
    request: ShareGroupDescribeRequest,
    cost: &mut Cost,
) -> ShareGroupDescribeResponse {
    let mut describe = |id: ByteString| {
        let mut group = describe(context, id);
        if !cost.response(group.members.iter().map(size).sum()) {
            let (group_id, error_code) = (group.group_id, ErrorCode::UNKNOWN_SERVER_ERROR);
            return DescribedGroup { group_id, error_code, ..Default::default() };
        }
        if request.include_authorized_operations && group.error_code.is_none() {
            group.authorized_operations = context.operations(Resource::group(&group.group_id));
        }
        group
    };
    let mut ids = request.group_ids.clone();
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    ShareGroupDescribeResponse { groups: ids.into_iter().map(&mut describe).collect(), ..Default::default() }
}

/// About the memory that a member takes in a response.
fn size(member: &Member) -> usize {
    let names: usize = member.subscribed_topic_names.iter().map(|name| name.len()).sum();
    let topics = &member.assignment.topic_partitions;
    let partitions: usize = topics.iter().map(|topic| 4 * topic.partitions.len() + topic.topic_name.len()).sum();
    MEMBER_SIZE + names + partitions + member.client_id.len() + member.member_id.len()
}

fn describe(context: &Context, id: ByteString) -> DescribedGroup {
    let refused = |error_code, message: Option<String>| DescribedGroup {
        group_id: id.clone(),
        error_code,
        error_message: message.map(Into::into),
        ..Default::default()
    };
    if let Err(code) = context.authorize(Operation::Describe, Resource::group(&id)) {
        return refused(code, None);
    }
    if id.is_empty() {
        return refused(ErrorCode::INVALID_GROUP_ID, None);
    }
    let state = &context.state;
    let described = state.groups.with(state, context.node.id, &id, |machine, _, _| {
        machine.share_group(&id).map(|group| group.described(&**state))
    });
    match described {
        Ok(Ok(group)) => {
            let topics = group.members.iter().flat_map(|member| &member.assignment.topic_partitions);
            let may = |name: &str| context.may(Operation::Describe, Resource::topic(name));
            if topics.clone().all(|topic| may(&topic.topic_name)) {
                return group;
            }
            let message = "The group has described topic(s) that the client is not authorized to describe.";
            refused(ErrorCode::TOPIC_AUTHORIZATION_FAILED, Some(message.to_owned()))
        }
        Ok(Err(why)) => refused(why.code, Some(why.message)),
        Err(code) => refused(code, None),
    }
}
