use milena_messages::{ErrorCode, RenewDelegationTokenRequest, RenewDelegationTokenResponse};

use super::Context;
use crate::cost::Cost;

pub(super) fn handle(
    context: &Context,
    request: RenewDelegationTokenRequest,
    _cost: &mut Cost,
) -> RenewDelegationTokenResponse {
    if !context.may_ask_for_tokens() {
        return RenewDelegationTokenResponse {
            error_code: ErrorCode::DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
            expiry_timestamp_ms: -1,
            ..Default::default()
        };
    }
    let mut tokens = context.state.credentials.tokens();
    let (who, now_ms) = (&context.client.principal, context.state.now_ms());
    let renewed = tokens.renew(&request.hmac, request.renew_period_ms, who, now_ms);
    RenewDelegationTokenResponse {
        error_code: renewed.err().unwrap_or(ErrorCode::NONE),
        expiry_timestamp_ms: renewed.unwrap_or(0),
        ..Default::default()
    }
}
