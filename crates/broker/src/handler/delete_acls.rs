use milena_messages::delete_acls::request::DeleteAclsFilter;
use milena_messages::delete_acls::response::{DeleteAclsFilterResult, DeleteAclsMatchingAcl};
use milena_messages::{DeleteAclsRequest, DeleteAclsResponse, ErrorCode};

use super::describe_acls::LITERAL;
use super::{Context, Outcome};
use crate::cost::Cost;
use crate::refusal::Refusal;
use crate::security::acl::{Acl, Operation};
use crate::security::filter::{AclFilter, FilterCodes};

/// Most entries that one request deletes, as in Kafka.
const MAX_DELETED: usize = 10_000;

pub(super) fn handle(context: &Context, request: DeleteAclsRequest, _cost: &mut Cost) -> Outcome<DeleteAclsResponse> {
    let count = request.filters.len();
    let mut has_unknown = false;
    let mut filter = |filter: DeleteAclsFilter| {
        let codes = FilterCodes {
            resource_type: filter.resource_type_filter,
            pattern_type: if context.version == 0 { LITERAL } else { filter.pattern_type_filter },
            operation: filter.operation,
            permission: filter.permission_type,
        };
        has_unknown |= codes.has_unknown();
        AclFilter::new(codes, filter.resource_name_filter, filter.principal_filter, filter.host_filter)
    };
    let filters: Vec<_> = request.filters.into_iter().map(&mut filter).collect();
    if has_unknown {
        return Outcome::Close("DeleteAcls with a number that means nothing".to_owned());
    }
    let unknown = Refusal::new(ErrorCode::INVALID_REQUEST, "Unknown patternFilter or entryFilter.");
    let filter_results = match delete(context, &filters) {
        Ok(found) => found.into_iter().map(|found| found.map_or_else(|| refused(&unknown), deleted)).collect(),
        Err(refusal) => (0..count).map(|_| refused(&refusal)).collect(),
    };
    DeleteAclsResponse { filter_results, ..Default::default() }.into()
}

fn delete(context: &Context, filters: &[Option<AclFilter>]) -> Result<Vec<Option<Vec<Acl>>>, Refusal> {
    context.authorize_cluster(Operation::Alter)?;
    let disabled = || Refusal::new(ErrorCode::SECURITY_DISABLED, "No Authorizer is configured.");
    let authorizer = context.state.authorizer.as_ref().ok_or_else(disabled)?;
    authorizer.delete(filters, MAX_DELETED).ok_or_else(|| {
        let message = format!("Cannot remove more than {MAX_DELETED} acls in a single delete operation.");
        Refusal::new(ErrorCode::INVALID_REQUEST, message)
    })
}

fn refused(refusal: &Refusal) -> DeleteAclsFilterResult {
    DeleteAclsFilterResult { error_code: refusal.code, error_message: refusal.text(), ..Default::default() }
}

fn deleted(acls: Vec<Acl>) -> DeleteAclsFilterResult {
    let matching = |Acl { pattern, rule }: Acl| DeleteAclsMatchingAcl {
        error_message: None,
        resource_type: pattern.resource_type.code(),
        resource_name: pattern.name.into(),
        pattern_type: pattern.pattern_type.code(),
        principal: rule.principal.into(),
        host: rule.host.into(),
        operation: rule.operation.code(),
        permission_type: rule.permission.code(),
        ..Default::default()
    };
    DeleteAclsFilterResult {
        error_message: None,
        matching_acls: acls.into_iter().map(matching).collect(),
        ..Default::default()
    }
}
