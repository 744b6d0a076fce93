use milena_messages::{ErrorCode, UnregisterBrokerRequest, UnregisterBrokerResponse};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::Operation;

pub(super) fn handle(
    context: &Context,
    request: UnregisterBrokerRequest,
    _cost: &mut Cost,
) -> UnregisterBrokerResponse {
    let refused = |error_code, message: String| UnregisterBrokerResponse {
        error_code,
        error_message: Some(message.into()),
        ..Default::default()
    };
    if let Err(refusal) = context.authorize_cluster(Operation::Alter) {
        return refused(refusal.code, refusal.message.into_owned());
    }
    let id = request.broker_id;
    if context.state.unregister(id) {
        UnregisterBrokerResponse { error_message: None, ..Default::default() }
    } else {
        refused(ErrorCode::BROKER_ID_NOT_REGISTERED, format!("Broker ID {id} is not currently registered"))
    }
}
