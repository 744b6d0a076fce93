//! What is looked at in a StreamsGroupHeartbeat before the group is.

use milena_messages::{ErrorCode, StreamsGroupHeartbeatRequest};

use crate::group::consumer::{JOIN, LEAVE_STATIC, Refused};
use crate::group::streams::heartbeat::{invalid, refused, reported};
use crate::group::streams::topology::Configured;
use crate::group::streams::{Owned, StreamsMember};

/// Checks the names of the topics of a topology.
///
/// # Errors
/// A topic is one of Kafka's own, or no topic could have the name.
pub(crate) fn check_topics(
    request: &StreamsGroupHeartbeatRequest,
    is_internal: impl Fn(&str) -> bool,
    is_valid: impl Fn(&str) -> bool,
) -> Result<(), Refused> {
    let Some(topology) = &request.topology else { return Ok(()) };
    let mut seen = std::collections::HashSet::new();
    let names = topology.subtopologies.iter().flat_map(|part| {
        let sources = part.source_topics.iter().chain(&part.repartition_sink_topics);
        let infos = part.repartition_source_topics.iter().chain(&part.state_changelog_topics);
        sources.chain(infos.map(|info| &info.name))
    });
    let names: Vec<&str> = names.map(|name| &**name).filter(|name| seen.insert(*name)).collect();
    let wrong = |message: String| Err(refused(ErrorCode::STREAMS_INVALID_TOPOLOGY, message));
    let internal: Vec<&str> = names.iter().copied().filter(|name| is_internal(name)).collect();
    if !internal.is_empty() {
        let names = internal.join(",");
        return wrong(format!("Use of Kafka internal topics {names} in a Kafka Streams topology is prohibited."));
    }
    let invalid: Vec<&str> = names.into_iter().filter(|name| !is_valid(name)).collect();
    if !invalid.is_empty() {
        return wrong(format!("Topic names {} are not valid topic names.", invalid.join(",")));
    }
    Ok(())
}

/// Checks what does not depend on the group, in Kafka's order.
///
/// # Errors
/// A field is missing, or has a value that is never right.
pub(crate) fn check(request: &StreamsGroupHeartbeatRequest) -> Result<(), Refused> {
    let is_empty = |text: &Option<milena_messages::ByteString>| text.as_ref().is_some_and(|text| text.is_empty());
    let refuse = |message: &str| Err(invalid(message));
    let parts = || request.topology.iter().flat_map(|topology| &topology.subtopologies);
    if parts().any(|part| !part.source_topic_regex.is_empty()) {
        return refuse("Regular expressions for source topics are not supported yet.");
    }
    if request.member_id.is_empty() {
        return refuse("MemberId can't be empty.");
    }
    if request.group_id.is_empty() {
        return refuse("GroupId can't be empty.");
    }
    if is_empty(&request.instance_id) {
        return refuse("InstanceId can't be empty.");
    }
    if is_empty(&request.rack_id) {
        return refuse("RackId can't be empty.");
    }
    let epoch = request.member_epoch;
    if epoch == JOIN {
        if request.rebalance_timeout_ms == -1 {
            return refuse("RebalanceTimeoutMs must be provided in first request.");
        }
        let kinds = [
            ("ActiveTasks", &request.active_tasks),
            ("StandbyTasks", &request.standby_tasks),
            ("WarmupTasks", &request.warmup_tasks),
        ];
        if let Some((name, _)) = kinds.into_iter().find(|(_, ids)| ids.as_ref().is_none_or(|ids| !ids.is_empty())) {
            return Err(invalid(format!("{name} must be empty when (re-)joining.")));
        }
        if request.topology.is_none() {
            return refuse("Topology must be non-null when (re-)joining.");
        }
        let mut changelogs = parts().flat_map(|part| &part.state_changelog_topics);
        if let Some(info) = changelogs.find(|info| info.partitions != 0) {
            let message = format!(
                "Changelog topic {} must have an undefined partition count, but it is set to {}.",
                info.name, info.partitions
            );
            return Err(refused(ErrorCode::STREAMS_INVALID_TOPOLOGY, message));
        }
    } else if epoch == LEAVE_STATIC && request.instance_id.is_none() {
        return refuse("InstanceId can't be null.");
    } else if epoch < LEAVE_STATIC {
        return Err(invalid(format!("MemberEpoch is {epoch}, but must be greater than or equal to -2.")));
    }
    let kinds = [&request.active_tasks, &request.standby_tasks, &request.warmup_tasks];
    if kinds.iter().any(|ids| ids.is_some()) && kinds.iter().any(|ids| ids.is_none()) {
        return refuse("If one task-type is non-null, all must be non-null.");
    }
    if epoch != JOIN && request.topology.is_some() {
        return refuse("Topology can only be provided when (re-)joining.");
    }
    Ok(())
}

/// Checks the epoch that a member says it has. A response may be lost, so that the one before is right too as long as the
/// member has nothing that it should not have.
pub(super) fn check_epoch(member: &StreamsMember, request: &StreamsGroupHeartbeatRequest) -> Result<(), Refused> {
    let epoch = request.member_epoch;
    let fenced = |order: &str| {
        let message = format!(
            "The streams group member has a {order} member epoch ({epoch}) than the one known by the group coordinator \
             ({}). The member must abandon all its partitions and rejoin.",
            member.epoch
        );
        Err(refused(ErrorCode::FENCED_MEMBER_EPOCH, message))
    };
    let Owned { active, standby } = &member.assigned;
    let covers = || {
        reported(request).is_some_and(|reported| {
            reported.active.iter().all(|task| active.contains_key(task))
                && reported.standby.is_subset(standby)
                && reported.warmup.is_empty()
        })
    };
    if epoch == JOIN {
        return Ok(());
    }
    if epoch > member.epoch {
        return fenced("greater");
    }
    if epoch < member.epoch && (epoch != member.previous_epoch || !covers()) {
        return fenced("smaller");
    }
    Ok(())
}

/// Checks that the tasks of a request are some.
pub(super) fn check_tasks(configured: &Configured, request: &StreamsGroupHeartbeatRequest) -> Result<(), Refused> {
    let Some(parts) = configured.subtopologies.as_ref().filter(|_| configured.is_ready()) else { return Ok(()) };
    for ids in [&request.active_tasks, &request.standby_tasks, &request.warmup_tasks].into_iter().flatten().flatten() {
        let id = &*ids.subtopology_id;
        let missing = || invalid(format!("Subtopology {id} does not exist in the topology."));
        let count = parts.get(id).ok_or_else(missing)?.tasks;
        if let Some(task) = ids.partitions.iter().find(|partition| !(0..count).contains(*partition)) {
            return Err(invalid(format!(
                "Task {task} for subtopology {id} is invalid. Number of tasks for this subtopology: {count}"
            )));
        }
    }
    Ok(())
}
