use milena_messages::create_acls::request::AclCreation;
use milena_messages::create_acls::response::AclCreationResult;
use milena_messages::{CreateAclsRequest, CreateAclsResponse, ErrorCode};

use super::{Context, Outcome};
use crate::cost::Cost;
use crate::refusal::Refusal;
use crate::security::acl::{Acl, Operation, Pattern, PatternType, Permission, ResourceType, Rule};

pub(super) fn handle(context: &Context, request: CreateAclsRequest, _cost: &mut Cost) -> Outcome<CreateAclsResponse> {
    if request.creations.iter().any(|creation| numbers(creation).contains(&UNKNOWN)) {
        return Outcome::Close("CreateAcls with a number that means nothing".to_owned());
    }
    let results = match create(context, &request.creations) {
        Ok(results) => results,
        // It is that of each.
        Err(refusal) => request.creations.iter().map(|_| Err(refusal.clone())).collect(),
    };
    let result = |result: Result<(), Refusal>| match result {
        Ok(()) => AclCreationResult { error_message: None, ..Default::default() },
        Err(refusal) => {
            AclCreationResult { error_code: refusal.code, error_message: refusal.text(), ..Default::default() }
        }
    };
    CreateAclsResponse { results: results.into_iter().map(result).collect(), ..Default::default() }.into()
}

/// The number that clients must not send.
const UNKNOWN: i8 = 0;
/// What only filters can have.
const ANY: i8 = 1;
/// A pattern type that only filters can have.
const MATCH: i8 = 2;

fn numbers(creation: &AclCreation) -> [i8; 4] {
    [creation.resource_type, creation.resource_pattern_type, creation.operation, creation.permission_type]
}

fn create(context: &Context, creations: &[AclCreation]) -> Result<Vec<Result<(), Refusal>>, Refusal> {
    context.authorize_cluster(Operation::Alter)?;
    let disabled = || Refusal::new(ErrorCode::SECURITY_DISABLED, "No Authorizer is configured.");
    let authorizer = context.state.authorizer.as_ref().ok_or_else(disabled)?;
    // Kafka fails at one of these, and refuses the whole request.
    let of_filters =
        |creation: &AclCreation| numbers(creation).contains(&ANY) || creation.resource_pattern_type == MATCH;
    if creations.iter().any(of_filters) {
        let message = "The server experienced an unexpected error when processing the request.";
        return Err(Refusal::new(ErrorCode::UNKNOWN_SERVER_ERROR, message));
    }
    let mut valid = Vec::new();
    let checked = creations.iter().map(|creation| acl(creation).map(|acl| valid.push(acl))).collect();
    authorizer.add(valid)?;
    Ok(checked)
}

fn acl(creation: &AclCreation) -> Result<Acl, Refusal> {
    let unknown = |what: &str| Refusal::new(ErrorCode::INVALID_REQUEST, format!("Invalid {what} UNKNOWN"));
    let resource_type = ResourceType::from_code(creation.resource_type);
    let pattern_type = PatternType::from_code(creation.resource_pattern_type);
    let operation = Operation::from_code(creation.operation);
    let permission = Permission::from_code(creation.permission_type);
    let pattern = Pattern {
        resource_type: resource_type.ok_or_else(|| unknown("resourceType"))?,
        pattern_type: pattern_type.ok_or_else(|| unknown("patternType"))?,
        name: creation.resource_name.to_string(),
    };
    let operation = operation.ok_or_else(|| unknown("operation"))?;
    let permission = permission.ok_or_else(|| unknown("permissionType"))?;
    let rule = Rule::new(&creation.principal, &creation.host, operation, permission)?;
    Acl::new(pattern, rule)
}
