use milena_messages::{ErrorCode, StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse};

use super::Context;
use crate::cluster::{State, topic_name};
use crate::cost::Cost;
use crate::group::consumer::Refused;
use crate::group::streams::{InternalTopic, Status, StreamsHeartbeat, check, check_topics};
use crate::refusal::Refusal;
use crate::security::acl::{Operation, Resource};

/// How many topics that could not be created are named.
const MAX_NAMED: usize = 3;
/// The topics that clients cannot use in a topology.
const INTERNAL: &[&str] = &["__consumer_offsets", "__transaction_state", "__share_group_state"];

pub(super) fn handle(
    context: &Context,
    request: StreamsGroupHeartbeatRequest,
    _cost: &mut Cost,
) -> StreamsGroupHeartbeatResponse {
    match heartbeat(context, &request) {
        Ok(response) => response,
        Err(Refused { code, message }) => StreamsGroupHeartbeatResponse {
            error_code: code,
            error_message: (!message.is_empty()).then(|| message.into()),
            ..Default::default()
        },
    }
}

fn heartbeat(
    context: &Context,
    request: &StreamsGroupHeartbeatRequest,
) -> Result<StreamsGroupHeartbeatResponse, Refused> {
    let only = |code| Refused { code, message: String::new() };
    let state = &context.state;
    if !state.serves_protocol("streams") {
        return Err(only(ErrorCode::UNSUPPORTED_VERSION));
    }
    context.authorize(Operation::Read, Resource::group(&request.group_id)).map_err(only)?;
    check_topics(request, |name| INTERNAL.contains(&name), |name| topic_name::check(name).is_ok())?;
    let parts = request.topology.iter().flat_map(|topology| &topology.subtopologies);
    for part in parts {
        let infos = part.repartition_source_topics.iter().chain(&part.state_changelog_topics);
        let names = part.source_topics.iter().chain(&part.repartition_sink_topics);
        for name in names.chain(infos.map(|info| &info.name)) {
            context.authorize(Operation::Describe, Resource::topic(name)).map_err(only)?;
        }
    }
    check(request)?;
    let settings = state.streams_settings(&request.group_id);
    let client_host = context.client.host();
    let heartbeat = StreamsHeartbeat {
        request,
        version: context.version,
        client_id: context.client_id.as_deref().unwrap_or_default(),
        client_host: &client_host,
        topics: &**state,
        settings: &settings,
    };
    let beat = state.groups.with(state, context.node.id, &request.group_id, |machine, now_ms, effects| {
        machine.streams_heartbeat(&heartbeat, now_ms, effects)
    });
    let (mut response, missing) = beat.map_err(only)??;
    create(context, &missing, &mut response);
    Ok(response)
}

/// Creates the internal topics that a topology lacks. The member learns of those that cannot be.
fn create(context: &Context, missing: &[InternalTopic], response: &mut StreamsGroupHeartbeatResponse) {
    if missing.is_empty() {
        return;
    }
    let denied: Vec<&str> = match context.may(Operation::Create, Resource::CLUSTER) {
        true => Vec::new(),
        false => missing
            .iter()
            .map(|topic| &*topic.name)
            .filter(|name| !context.may(Operation::Create, Resource::topic(name)))
            .collect(),
    };
    if !denied.is_empty() {
        return tell(response, &format!("Unauthorized to CREATE on topics {}.", denied.join(", ")));
    }
    let failed = missing.iter().filter_map(|topic| {
        let refusal = create_one(&context.state, topic).err()?;
        Some(format!("{} ({})", topic.name, refusal.message))
    });
    let failed: Vec<String> = failed.collect();
    if failed.is_empty() {
        return;
    }
    let named = failed[..failed.len().min(MAX_NAMED)].join(", ");
    let more = if failed.len() > MAX_NAMED { format!(" and {} more", failed.len() - MAX_NAMED) } else { String::new() };
    tell(response, &format!("Creation failed: {named}{more}."));
}

fn create_one(state: &State, topic: &InternalTopic) -> Result<(), Refusal> {
    let config = state.topic_config(topic.configs.iter().map(|(name, value)| (&**name, Some(&**value))))?;
    let factor = match topic.replication_factor {
        factor if factor > 0 => factor,
        _ => state.config.default_replication_factor,
    };
    let replicas = state.place(topic.partitions, factor)?;
    match state.create_topic(&topic.name, replicas, config, false) {
        // Another member was faster.
        Err(refusal) if refusal.code == ErrorCode::TOPIC_ALREADY_EXISTS => Ok(()),
        created => created.map(|_| ()),
    }
}

/// Adds a text to the status that says that internal topics are missing.
fn tell(response: &mut StreamsGroupHeartbeatResponse, text: &str) {
    let code = Status::MissingInternalTopics as i8;
    let mut all = response.status.iter_mut().flatten();
    if let Some(status) = all.find(|status| status.status_code == code) {
        status.status_detail = format!("{}; {text}", status.status_detail).into();
    }
}
