use milena_messages::delete_groups::response::DeletableGroupResult;
use milena_messages::{ByteString, DeleteGroupsRequest, DeleteGroupsResponse, ErrorCode};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};

pub(super) fn handle(context: &Context, request: DeleteGroupsRequest, _cost: &mut Cost) -> DeleteGroupsResponse {
    let state = &context.state;
    let delete = |id: ByteString| {
        let refused = |error_code| DeletableGroupResult { group_id: id.clone(), error_code, ..Default::default() };
        if let Err(error_code) = delete_share_state(context, &id) {
            return refused(error_code);
        }
        let deleted =
            state.groups.with(state, context.node.id, &id, |machine, _, effects| machine.delete(&id, effects));
        deleted.unwrap_or_else(refused)
    };
    // A group that is listed twice is deleted once.
    let mut names = request.groups_names;
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let may = |name: &ByteString| context.may(Operation::Delete, Resource::group(name));
    let (deletable, others): (Vec<_>, Vec<_>) = names.into_iter().partition(may);
    let unauthorized = |group_id| DeletableGroupResult {
        group_id,
        error_code: ErrorCode::GROUP_AUTHORIZATION_FAILED,
        ..Default::default()
    };
    let results = deletable.into_iter().map(delete).chain(others.into_iter().map(unauthorized)).collect();
    DeleteGroupsResponse { results, ..Default::default() }
}

/// Deletes what the share coordinator keeps of a group, if it is a share group without members.
fn delete_share_state(context: &Context, id: &str) -> Result<(), ErrorCode> {
    let state = &context.state;
    let begun = state.groups.with(state, context.node.id, id, |machine, _, effects| {
        machine.is_share_group(id).then(|| machine.share_delete_state(id, &**state, effects))
    })?;
    let Some(begun) = begun else { return Ok(()) };
    for (topic, partitions) in begun.map_err(|refused| refused.code)? {
        state.delete_share_state(id, topic, &partitions)?;
    }
    Ok(())
}
