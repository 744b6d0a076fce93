use milena_messages::delete_groups::response::DeletableGroupResult;
use milena_messages::{ByteString, DeleteGroupsRequest, DeleteGroupsResponse};

use super::Context;
use crate::cost::Cost;

pub(super) fn handle(context: &Context, request: DeleteGroupsRequest, _cost: &mut Cost) -> DeleteGroupsResponse {
    let state = &context.state;
    let delete = |id: ByteString| {
        let refused = |error_code| DeletableGroupResult { group_id: id.clone(), error_code, ..Default::default() };
        let deleted =
            state.groups.with(state, context.node.id, &id, |machine, _, effects| machine.delete(&id, effects));
        deleted.unwrap_or_else(refused)
    };
    // A group that is listed twice is deleted once.
    let mut names = request.groups_names;
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    DeleteGroupsResponse { results: names.into_iter().map(delete).collect(), ..Default::default() }
}
