use milena_messages::{
    ErrorCode, StreamsGroupTopologyDescriptionUpdateRequest, StreamsGroupTopologyDescriptionUpdateResponse,
};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};

/// Kafka keeps descriptions by a plugin, and has none of its own.
pub(super) fn handle(
    context: &Context,
    request: StreamsGroupTopologyDescriptionUpdateRequest,
    _cost: &mut Cost,
) -> StreamsGroupTopologyDescriptionUpdateResponse {
    let refused = |error_code| StreamsGroupTopologyDescriptionUpdateResponse { error_code, ..Default::default() };
    if !context.state.serves_protocol("streams") {
        return refused(ErrorCode::UNSUPPORTED_VERSION);
    }
    if let Err(code) = context.authorize(Operation::Read, Resource::group(&request.group_id)) {
        return refused(code);
    }
    StreamsGroupTopologyDescriptionUpdateResponse {
        error_message: Some("The broker has no streams group topology description plugin configured.".into()),
        ..refused(ErrorCode::UNSUPPORTED_VERSION)
    }
}
