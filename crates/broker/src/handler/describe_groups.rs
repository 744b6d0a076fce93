use milena_messages::describe_groups::response::{DescribedGroup, DescribedGroupMember};
use milena_messages::{ByteString, DescribeGroupsRequest, DescribeGroupsResponse, ErrorCode};

use super::Context;
use super::described::{self, Described as _, described, only};
use crate::cost::Cost;
use crate::group::consumer::Refused;

/// About the memory of a member besides its bytes.
const MEMBER_SIZE: usize = 200;
/// From here on a group that is not there is an error (KIP-1043).
const NOT_FOUND: i16 = 6;

described!(DescribedGroup, |group: &DescribedGroup| group.members.iter().map(size).sum());

pub(super) fn handle(context: &Context, request: DescribeGroupsRequest, cost: &mut Cost) -> DescribeGroupsResponse {
    let with_operations = request.include_authorized_operations;
    let groups = described::describe(context, request.groups, with_operations, cost, |id| describe(context, id));
    DescribeGroupsResponse { groups, ..Default::default() }
}

fn size(member: &DescribedGroupMember) -> usize {
    let names = member.member_id.len() + member.client_id.len() + member.client_host.len();
    MEMBER_SIZE + names + member.member_metadata.len() + member.member_assignment.len()
}

fn describe(context: &Context, id: &ByteString) -> Result<DescribedGroup, Refused> {
    let state = &context.state;
    let described =
        state.groups.with(state, context.node.id, id, |machine, _, _| (machine.describe(id), machine.has_group(id)));
    let (code, message) = match described.map_err(only)? {
        (Some(group), _) => return Ok(group),
        (None, _) if context.version < NOT_FOUND => (ErrorCode::NONE, None),
        (None, true) => (ErrorCode::GROUP_ID_NOT_FOUND, Some(format!("Group {id} is not a classic group."))),
        (None, false) => (ErrorCode::GROUP_ID_NOT_FOUND, Some(format!("Group {id} not found."))),
    };
    Ok(DescribedGroup { group_state: "Dead".into(), ..DescribedGroup::refused(id.clone(), code, message) })
}
