use milena_messages::{ErrorCode, SaslAuthenticateRequest, SaslAuthenticateResponse};

use super::Context;
use crate::cost::Cost;

/// Only requests outside of a login come here.
pub(super) fn handle(_: &Context, _: SaslAuthenticateRequest, _cost: &mut Cost) -> SaslAuthenticateResponse {
    SaslAuthenticateResponse {
        error_code: ErrorCode::ILLEGAL_SASL_STATE,
        error_message: Some("SaslAuthenticate request received after successful authentication".into()),
        ..Default::default()
    }
}
