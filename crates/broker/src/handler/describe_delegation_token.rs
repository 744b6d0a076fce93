use milena_messages::describe_delegation_token::response::{DescribedDelegationToken, DescribedDelegationTokenRenewer};
use milena_messages::{DescribeDelegationTokenRequest, DescribeDelegationTokenResponse, ErrorCode};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource, ResourceType};
use crate::security::delegation::Token;
use crate::security::principal::Principal;

/// From here on responses name who asked for the token.
const WITH_REQUESTER: i16 = 3;
/// Most bytes of the strings of a token, without its renewers.
const TOKEN_SIZE: usize = 1024;

pub(super) fn handle(
    context: &Context,
    request: DescribeDelegationTokenRequest,
    cost: &mut Cost,
) -> DescribeDelegationTokenResponse {
    let refused = |error_code| DescribeDelegationTokenResponse { error_code, ..Default::default() };
    if !context.may_ask_for_tokens() {
        return refused(ErrorCode::DELEGATION_TOKEN_REQUEST_NOT_ALLOWED);
    }
    let mut tokens = context.state.credentials.tokens();
    if !tokens.is_enabled() {
        return refused(ErrorCode::DELEGATION_TOKEN_AUTH_DISABLED);
    }
    // An empty list asks for nobody's tokens, and no list for everybody's.
    let owners = request.owners.map(|owners| {
        let owners = owners.iter().map(|owner| Principal::new(&owner.principal_type, &owner.principal_name));
        owners.collect::<Vec<_>>()
    });
    let is_wanted = |token: &&Token| {
        owners.as_ref().is_none_or(|owners| owners.iter().any(|owner| token.concerns(owner)))
            && may_describe(context, token)
    };
    let mut described = Vec::new();
    for token in tokens.swept(context.state.now_ms()).values().filter(is_wanted) {
        if !cost.response(TOKEN_SIZE * (1 + token.renewers.len())) {
            return refused(ErrorCode::POLICY_VIOLATION);
        }
        described.push(describe(token, context.version));
    }
    DescribeDelegationTokenResponse { tokens: described, ..Default::default() }
}

/// Whether the client has to do with the token, or may see those of others.
fn may_describe(context: &Context, token: &Token) -> bool {
    let (id, owner) = (token.id.to_string(), token.owner.to_string());
    let token_itself = Resource { resource_type: ResourceType::DelegationToken, name: &id };
    let of_owner = Resource { resource_type: ResourceType::User, name: &owner };
    token.concerns(&context.client.principal)
        || context.may(Operation::Describe, token_itself)
        || context.may(Operation::DescribeTokens, of_owner)
}

fn describe(token: &Token, version: i16) -> DescribedDelegationToken {
    let renewer = |renewer: &Principal| DescribedDelegationTokenRenewer {
        principal_type: renewer.principal_type().into(),
        principal_name: renewer.name().into(),
        ..Default::default()
    };
    let requester = |text: &str| if version >= WITH_REQUESTER { text.into() } else { "".into() };
    DescribedDelegationToken {
        principal_type: token.owner.principal_type().into(),
        principal_name: token.owner.name().into(),
        token_requester_principal_type: requester(token.requester.principal_type()),
        token_requester_principal_name: requester(token.requester.name()),
        issue_timestamp: token.issued_at,
        expiry_timestamp: token.expires_at,
        max_timestamp: token.max_at,
        token_id: token.id.to_string().into(),
        hmac: token.hmac.clone().into(),
        renewers: token.renewers.iter().map(renewer).collect(),
        ..Default::default()
    }
}
