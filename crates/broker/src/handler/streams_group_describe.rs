use milena_messages::streams_group_describe::response::{Assignment, DescribedGroup, Member, Subtopology};
use milena_messages::{ByteString, ErrorCode, StreamsGroupDescribeRequest, StreamsGroupDescribeResponse};

use super::Context;
use super::described::{self, described, only};
use crate::cost::Cost;
use crate::group::consumer::Refused;

/// About the memory of a member besides its texts and tasks.
const MEMBER_SIZE: usize = 400;
/// About the memory of a topic of a topology.
const TOPIC_SIZE: usize = 100;

described!(DescribedGroup, |group: &DescribedGroup| {
    group.members.iter().map(size).sum::<usize>()
        + TOPIC_SIZE * parts(group).map(|part| topics(part).count() + 1).sum::<usize>()
});

pub(super) fn handle(
    context: &Context,
    request: StreamsGroupDescribeRequest,
    cost: &mut Cost,
) -> StreamsGroupDescribeResponse {
    let with_operations = request.include_authorized_operations;
    let groups = described::describe(context, request.group_ids, with_operations, cost, |id| describe(context, id));
    StreamsGroupDescribeResponse { groups, ..Default::default() }
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

fn parts(group: &DescribedGroup) -> impl Iterator<Item = &Subtopology> {
    group.topology.iter().flat_map(|topology| topology.subtopologies.iter().flatten())
}

fn topics(part: &Subtopology) -> impl Iterator<Item = &ByteString> {
    let infos = part.repartition_source_topics.iter().chain(&part.state_changelog_topics);
    part.source_topics.iter().chain(&part.repartition_sink_topics).chain(infos.map(|info| &info.name))
}

fn describe(context: &Context, id: &ByteString) -> Result<DescribedGroup, Refused> {
    let state = &context.state;
    if !state.serves_protocol("streams") {
        return Err(only(ErrorCode::UNSUPPORTED_VERSION));
    }
    let described = state
        .groups
        .with(state, context.node.id, id, |machine, _, _| machine.streams_group(id).map(|group| group.described()));
    let group = described.map_err(only)??;
    let message = "The described group uses topics that the client is not authorized to describe.";
    described::check_topics(context, parts(&group).flat_map(topics), message)?;
    Ok(group)
}
