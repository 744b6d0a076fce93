use milena_messages::{ErrorCode, SaslHandshakeRequest, SaslHandshakeResponse};

use super::Context;
use crate::cost::Cost;

/// Only requests outside of a login come here.
pub(super) fn handle(_: &Context, _: SaslHandshakeRequest, _cost: &mut Cost) -> SaslHandshakeResponse {
    SaslHandshakeResponse { error_code: ErrorCode::ILLEGAL_SASL_STATE, ..Default::default() }
}
