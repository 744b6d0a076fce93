use milena_messages::{ErrorCode, ExpireDelegationTokenRequest, ExpireDelegationTokenResponse};

use super::Context;
use crate::cost::Cost;

pub(super) fn handle(
    context: &Context,
    request: ExpireDelegationTokenRequest,
    _cost: &mut Cost,
) -> ExpireDelegationTokenResponse {
    if !context.may_ask_for_tokens() {
        return ExpireDelegationTokenResponse {
            error_code: ErrorCode::DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
            expiry_timestamp_ms: -1,
            ..Default::default()
        };
    }
    let mut tokens = context.state.credentials.tokens();
    let (who, now_ms) = (&context.client.principal, context.state.now_ms());
    let expires = tokens.expire(&request.hmac, request.expiry_time_period_ms, who, now_ms);
    ExpireDelegationTokenResponse {
        error_code: expires.err().unwrap_or(ErrorCode::NONE),
        expiry_timestamp_ms: expires.unwrap_or(0),
        ..Default::default()
    }
}
