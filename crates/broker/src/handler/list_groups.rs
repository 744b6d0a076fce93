use std::collections::HashSet;

use milena_messages::list_groups::response::ListedGroup;
use milena_messages::{ByteString, ListGroupsRequest, ListGroupsResponse};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};

pub(super) fn handle(context: &Context, request: ListGroupsRequest, _cost: &mut Cost) -> ListGroupsResponse {
    // A filter may name as many as it likes: each group looks only once.
    let set = |names: &[ByteString]| names.iter().map(|name| name.to_ascii_lowercase()).collect::<HashSet<_>>();
    let (states, types) = (set(&request.states_filter), set(&request.types_filter));
    let matches =
        |filter: &HashSet<String>, value: &str| filter.is_empty() || filter.contains(&value.to_ascii_lowercase());
    let wanted = |group: &ListedGroup| matches(&states, &group.group_state) && matches(&types, &group.group_type);
    let all = context.state.groups.each(&context.state, context.node.id, |machine| machine.list());
    let all_seen = context.may(Operation::Describe, Resource::CLUSTER);
    let seen = |group: &ListedGroup| all_seen || context.may(Operation::Describe, Resource::group(&group.group_id));
    let groups = all.into_iter().flatten().filter(|group| wanted(group) && seen(group)).collect();
    ListGroupsResponse { groups, ..Default::default() }
}
