use milena_messages::list_groups::response::ListedGroup;
use milena_messages::{ListGroupsRequest, ListGroupsResponse};

use super::Context;
use crate::cost::Cost;

pub(super) fn handle(context: &Context, request: ListGroupsRequest, _cost: &mut Cost) -> ListGroupsResponse {
    let matches = |filter: &[milena_messages::ByteString], value: &str| {
        filter.is_empty() || filter.iter().any(|wanted| wanted.eq_ignore_ascii_case(value))
    };
    let wanted = |group: &ListedGroup| {
        matches(&request.states_filter, &group.group_state) && matches(&request.types_filter, &group.group_type)
    };
    let all = context.state.groups.each(&context.state, context.node.id, |machine| machine.list());
    let groups = all.into_iter().flatten().filter(wanted).collect();
    ListGroupsResponse { groups, ..Default::default() }
}
