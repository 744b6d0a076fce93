use milena_messages::{CreateDelegationTokenRequest, CreateDelegationTokenResponse, ErrorCode};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource, ResourceType};
use crate::security::delegation::NewToken;
use crate::security::principal::Principal;

/// Computing the credentials of a token takes about as long as copying this much.
const COST: usize = 8 << 20;
/// From here on responses name who asked.
const WITH_REQUESTER: i16 = 3;
/// The time of a token that there is not.
const NO_TIME: i64 = -1;

pub(super) fn handle(
    context: &Context,
    request: CreateDelegationTokenRequest,
    cost: &mut Cost,
) -> CreateDelegationTokenResponse {
    let requester = context.client.principal.clone();
    let owner = match request.owner_principal_name.filter(|name| !name.is_empty()) {
        Some(name) => Principal::new(request.owner_principal_type.as_deref().unwrap_or_default(), &name),
        None => requester.clone(),
    };
    let names_requester = context.version >= WITH_REQUESTER;
    let response = |error_code| CreateDelegationTokenResponse {
        error_code,
        principal_type: owner.principal_type().into(),
        principal_name: owner.name().into(),
        token_requester_principal_type: if names_requester { requester.principal_type().into() } else { "".into() },
        token_requester_principal_name: if names_requester { requester.name().into() } else { "".into() },
        issue_timestamp_ms: NO_TIME,
        expiry_timestamp_ms: NO_TIME,
        max_timestamp_ms: NO_TIME,
        ..Default::default()
    };
    if !context.may_ask_for_tokens() {
        return response(ErrorCode::DELEGATION_TOKEN_REQUEST_NOT_ALLOWED);
    }
    let name = owner.to_string();
    let of_owner = Resource { resource_type: ResourceType::User, name: &name };
    if owner != requester && !context.may(Operation::CreateTokens, of_owner) {
        return response(ErrorCode::DELEGATION_TOKEN_AUTHORIZATION_FAILED);
    }
    let renewer = |renewer: &milena_messages::create_delegation_token::request::CreatableRenewers| {
        Principal::new(&renewer.principal_type, &renewer.principal_name)
    };
    let renewers: Vec<Principal> = request.renewers.iter().map(renewer).collect();
    if renewers.iter().any(|renewer| !renewer.is_user()) {
        return response(ErrorCode::INVALID_PRINCIPAL_TYPE);
    }
    let mut tokens = context.state.credentials.tokens();
    if tokens.is_enabled() && !cost.copy(COST) {
        return response(ErrorCode::NONE);
    }
    let new = NewToken {
        owner: owner.clone(),
        requester: requester.clone(),
        renewers,
        max_lifetime_ms: request.max_lifetime_ms,
    };
    match tokens.create(new, context.state.now_ms()) {
        Ok(token) => CreateDelegationTokenResponse {
            issue_timestamp_ms: token.issued_at,
            expiry_timestamp_ms: token.expires_at,
            max_timestamp_ms: token.max_at,
            token_id: token.id.to_string().into(),
            hmac: token.hmac.into(),
            ..response(ErrorCode::NONE)
        },
        // The controller leaves the times at 0 where a broker writes -1.
        Err(code) => CreateDelegationTokenResponse {
            issue_timestamp_ms: 0,
            expiry_timestamp_ms: 0,
            max_timestamp_ms: 0,
            ..response(code)
        },
    }
}
