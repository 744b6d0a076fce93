use milena_messages::{ErrorCode, UnregisterControllerRequest, UnregisterControllerResponse};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::Operation;

/// Every node is a controller as well, and one that is up registers again at once.
pub(super) fn handle(
    context: &Context,
    request: UnregisterControllerRequest,
    _cost: &mut Cost,
) -> UnregisterControllerResponse {
    let refused = |error_code, message: String| UnregisterControllerResponse {
        error_code,
        error_message: Some(message.into()),
        ..Default::default()
    };
    if let Err(refusal) = context.authorize_cluster(Operation::Alter) {
        return refused(refusal.code, refusal.message.into_owned());
    }
    let id = request.controller_id;
    if id == context.state.controller() {
        return refused(
            ErrorCode::INVALID_REQUEST,
            "Controller cannot unregister itself while it is active.".to_owned(),
        );
    }
    if context.state.node(id).is_none() {
        let message = format!("Controller ID {id} is not currently registered.");
        return refused(ErrorCode::CONTROLLER_ID_NOT_REGISTERED, message);
    }
    UnregisterControllerResponse { error_message: None, ..Default::default() }
}
