use milena_messages::{ByteString, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, ErrorCode, Uuid};

use super::Context;
use crate::cluster::random_uuid;
use crate::cost::Cost;
use crate::group::consumer::{CLIENT_CHOOSES_ID, ConsumerHeartbeat, JOIN, Refused, TopicLookup, check};
use crate::security::acl::{Operation, Resource};

pub(super) fn handle(
    context: &Context,
    request: ConsumerGroupHeartbeatRequest,
    _cost: &mut Cost,
) -> ConsumerGroupHeartbeatResponse {
    if !context.state.serves_protocol("consumer") {
        return ConsumerGroupHeartbeatResponse { error_code: ErrorCode::UNSUPPORTED_VERSION, ..Default::default() };
    }
    if let Err(error_code) = authorize(context, &request) {
        return ConsumerGroupHeartbeatResponse { error_code, error_message: None, ..Default::default() };
    }
    if let Err(refused) = check(&request, context.version) {
        return respond(refused);
    }
    let state = &context.state;
    let mut member_id = request.member_id.to_string();
    if member_id.is_empty() && context.version < CLIENT_CHOOSES_ID && request.member_epoch == JOIN {
        member_id = random_uuid().to_string();
    }
    let settings = state.consumer_settings(&request.group_id);
    let client_host = context.client.host();
    let heartbeat = ConsumerHeartbeat {
        request: &request,
        member_id: &member_id,
        client_id: context.client_id.as_deref().unwrap_or_default(),
        client_host: &client_host,
        topics: &SeenTopics(context),
        settings: &settings,
    };
    let beat = state.groups.with(state, context.node.id, &request.group_id, |machine, now_ms, effects| {
        machine.consumer_heartbeat(&heartbeat, now_ms, effects)
    });
    match beat {
        Ok(Ok(response)) => response,
        Ok(Err(refused)) => respond(refused),
        Err(error_code) => ConsumerGroupHeartbeatResponse { error_code, ..Default::default() },
    }
}

/// A member reads its group, and sees every topic that it names.
fn authorize(context: &Context, request: &ConsumerGroupHeartbeatRequest) -> Result<(), ErrorCode> {
    context.authorize(Operation::Read, Resource::group(&request.group_id))?;
    let mut topics = request.subscribed_topic_names.iter().flatten();
    topics.try_for_each(|topic| context.authorize(Operation::Describe, Resource::topic(topic)))
}

fn respond(refused: Refused) -> ConsumerGroupHeartbeatResponse {
    let Refused { code, message } = refused;
    ConsumerGroupHeartbeatResponse { error_code: code, error_message: Some(message.into()), ..Default::default() }
}

/// The topics of the cluster. A regular expression finds those that the client may see.
struct SeenTopics<'a>(&'a Context);

impl TopicLookup for SeenTopics<'_> {
    fn find(&self, name: &str) -> Option<(Uuid, i32)> {
        self.0.state.find(name)
    }

    fn name(&self, id: Uuid) -> Option<String> {
        self.0.state.name(id)
    }

    fn names(&self) -> Vec<ByteString> {
        let mut names = self.0.state.names();
        names.retain(|name| self.0.may(Operation::Describe, Resource::topic(name)));
        names
    }

    fn count(&self) -> usize {
        self.0.state.count()
    }

    fn version(&self) -> i64 {
        self.0.state.version()
    }
}
