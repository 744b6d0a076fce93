use milena_messages::create_acls::request::AclCreation;
use milena_messages::create_acls::response::AclCreationResult;
use milena_messages::{CreateAclsRequest, CreateAclsResponse, ErrorCode};

use super::{Context, Outcome};
use crate::cost::Cost;
use crate::refusal::Refusal;
use crate::security::acl::{Acl, Operation, Pattern, PatternType, Permission, ResourceType, Rule};

pub(super) fn handle(context: &Context, request: CreateAclsRequest, _cost: &mut Cost) -> Outcome<CreateAclsResponse> {
    if !request.creations.iter().all(is_known) {
        return Outcome::Close("CreateAcls with a number that has no meaning".to_owned());
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

/// Numbers that filters have mean something here too, but are refused one by one.
fn is_known(creation: &AclCreation) -> bool {
    let within = |code: i8, last: i8| (1..=last).contains(&code);
    within(creation.resource_type, ResourceType::User.code())
        && within(creation.resource_pattern_type, PatternType::Prefixed.code())
        && within(creation.operation, Operation::TwoPhaseCommit.code())
        && within(creation.permission_type, Permission::Allow.code())
}

fn create(context: &Context, creations: &[AclCreation]) -> Result<Vec<Result<(), Refusal>>, Refusal> {
    context.authorize_cluster(Operation::Alter)?;
    let disabled = || Refusal::new(ErrorCode::SECURITY_DISABLED, "No Authorizer is configured.");
    let authorizer = context.state.authorizer.as_ref().ok_or_else(disabled)?;
    let mut valid = Vec::new();
    let checked = creations.iter().map(|creation| acl(creation).map(|acl| valid.push(acl))).collect();
    authorizer.add(valid)?;
    Ok(checked)
}

fn acl(creation: &AclCreation) -> Result<Acl, Refusal> {
    let invalid = |what: &str| Refusal::new(ErrorCode::INVALID_REQUEST, format!("Invalid {what}"));
    let resource_type = ResourceType::from_code(creation.resource_type);
    let pattern_type = PatternType::from_code(creation.resource_pattern_type);
    let operation = Operation::from_code(creation.operation);
    let permission = Permission::from_code(creation.permission_type);
    let pattern = Pattern {
        resource_type: resource_type.ok_or_else(|| invalid("resourceType ANY"))?,
        pattern_type: pattern_type.ok_or_else(|| {
            invalid(if creation.resource_pattern_type == 1 { "patternType ANY" } else { "patternType MATCH" })
        })?,
        name: creation.resource_name.to_string(),
    };
    let rule = Rule::new(
        &creation.principal,
        &creation.host,
        operation.ok_or_else(|| invalid("operation ANY"))?,
        permission.ok_or_else(|| invalid("permissionType ANY"))?,
    )?;
    Acl::new(pattern, rule)
}
