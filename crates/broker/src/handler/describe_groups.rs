use milena_messages::describe_groups::response::{DescribedGroup, DescribedGroupMember};
use milena_messages::{ByteString, DescribeGroupsRequest, DescribeGroupsResponse, ErrorCode};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};

/// About the memory of a member besides its bytes.
const MEMBER_SIZE: usize = 200;
/// From here on a group that is not there is an error (KIP-1043).
const NOT_FOUND: i16 = 6;

pub(super) fn handle(context: &Context, request: DescribeGroupsRequest, cost: &mut Cost) -> DescribeGroupsResponse {
    let mut describe = |id: ByteString| {
        let mut group = describe(context, id);
        let bytes = |member: &DescribedGroupMember| {
            let names = member.member_id.len() + member.client_id.len() + member.client_host.len();
            MEMBER_SIZE + names + member.member_metadata.len() + member.member_assignment.len()
        };
        if !cost.response(group.members.iter().map(bytes).sum()) {
            let (group_id, error_code) = (group.group_id, ErrorCode::UNKNOWN_SERVER_ERROR);
            return DescribedGroup { group_id, error_code, ..Default::default() };
        }
        if request.include_authorized_operations && group.error_code.is_none() {
            group.authorized_operations = context.operations(Resource::group(&group.group_id));
        }
        group
    };
    // As in Kafka, the groups that the client may not see come first.
    let may = |id: &ByteString| context.may(Operation::Describe, Resource::group(id));
    let (seen, unseen): (Vec<_>, Vec<_>) = request.groups.into_iter().partition(may);
    let unauthorized =
        |group_id| DescribedGroup { group_id, error_code: ErrorCode::GROUP_AUTHORIZATION_FAILED, ..Default::default() };
    let groups = unseen.into_iter().map(unauthorized).chain(seen.into_iter().map(&mut describe)).collect();
    DescribeGroupsResponse { groups, ..Default::default() }
}

fn describe(context: &Context, id: ByteString) -> DescribedGroup {
    let refused = |error_code, message: Option<String>| DescribedGroup {
        group_id: id.clone(),
        error_code,
        error_message: message.map(Into::into),
        ..Default::default()
    };
    let state = &context.state;
    let described = state.groups.with(state, context.node.id, &id, |machine, _, _| {
        (machine.describe(&id), machine.consumers.contains_key(&*id) || machine.is_share_group(&id))
    });
    match described {
        Ok((Some(group), _)) => group,
        Ok((None, _)) if context.version < NOT_FOUND => {
            DescribedGroup { group_state: "Dead".into(), ..refused(ErrorCode::NONE, None) }
        }
        Ok((None, is_consumer)) => {
            let what = if is_consumer { "is not a classic group" } else { "not found" };
            DescribedGroup {
                group_state: "Dead".into(),
                ..refused(ErrorCode::GROUP_ID_NOT_FOUND, Some(format!("Group {id} {what}.")))
            }
        }
        Err(code) => refused(code, None),
    }
}
