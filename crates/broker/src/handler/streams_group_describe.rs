use milena_messages::streams_group_describe::response::{Assignment, DescribedGroup, Member};
use milena_messages::{ByteString, ErrorCode, StreamsGroupDescribeRequest, StreamsGroupDescribeResponse};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};

/// About the memory of a member besides its texts and tasks.
const MEMBER_SIZE: usize = 400;

pub(super) fn handle(
    context: &Context,
    request: StreamsGroupDescribeRequest,
    cost: &mut Cost,
) -> StreamsGroupDescribeResponse {
    let mut describe = |id: ByteString| {
        let mut group = describe(context, id);
        let topology: usize = group
            .topology
            .iter()
            .flat_map(|topology| topology.subtopologies.iter().flatten())
            .map(|part| {
                let infos = part.state_changelog_topics.len() + part.repartition_source_topics.len();
                100 * (part.source_topics.len() + part.repartition_sink_topics.len() + infos + 1)
            })
            .sum();
        if !cost.response(topology + group.members.iter().map(size).sum::<usize>()) {
            let (group_id, error_code) = (group.group_id, ErrorCode::UNKNOWN_SERVER_ERROR);
            return DescribedGroup { group_id, error_code, ..Default::default() };
        }
        if request.include_authorized_operations && group.error_code.is_none() {
            group.authorized_operations = context.operations(Resource::group(&group.group_id));
        }
        group
    };
    let mut ids = request.group_ids.clone();
    let mut seen = std::collections::HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    StreamsGroupDescribeResponse { groups: ids.into_iter().map(&mut describe).collect(), ..Default::default() }
}

/// About the memory that a member takes in a response.
fn size(member: &Member) -> usize {
    let tasks = |assignment: &Assignment| {
        let ids = assignment.active_tasks.iter().chain(&assignment.standby_tasks);
        ids.map(|ids| ids.subtopology_id.len() + 4 * ids.partitions.len()).sum::<usize>()
    };
    let tags: usize = member.client_tags.iter().map(|tag| tag.key.len() + tag.value.len()).sum();
    MEMBER_SIZE + tasks(&member.assignment) + tasks(&member.target_assignment) + tags + 50 * member.task_offsets.len()
}

fn describe(context: &Context, id: ByteString) -> DescribedGroup {
    let refused = |error_code, message: Option<String>| DescribedGroup {
        group_id: id.clone(),
        error_code,
        error_message: message.map(Into::into),
        ..Default::default()
    };
    let state = &context.state;
    if !state.serves_protocol("streams") {
        return refused(ErrorCode::UNSUPPORTED_VERSION, None);
    }
    if let Err(code) = context.authorize(Operation::Describe, Resource::group(&id)) {
        return refused(code, None);
    }
    if id.is_empty() {
        return refused(ErrorCode::INVALID_GROUP_ID, None);
    }
    let described = state
        .groups
        .with(state, context.node.id, &id, |machine, _, _| machine.streams_group(&id).map(|group| group.described()));
    match described {
        Ok(Ok(group)) => group,
        Ok(Err(why)) => refused(why.code, Some(why.message)),
        Err(code) => refused(code, None),
    }
}
