use std::collections::BTreeMap;

use milena_messages::describe_acls::response::{AclDescription, DescribeAclsResource};
use milena_messages::{DescribeAclsRequest, DescribeAclsResponse, ErrorCode};

use super::{Context, Outcome};
use crate::cost::Cost;
use crate::refusal::Refusal;
use crate::security::acl::{Operation, Pattern, PatternType, Rule};
use crate::security::filter::{AclFilter, FilterCodes};

/// The pattern types of a filter of version 0: it knew literal names only (KIP-290).
pub(super) const LITERAL: i8 = PatternType::Literal.code();

pub(super) fn handle(
    context: &Context,
    request: DescribeAclsRequest,
    cost: &mut Cost,
) -> Outcome<DescribeAclsResponse> {
    let codes = FilterCodes {
        resource_type: request.resource_type_filter,
        pattern_type: if context.version == 0 { LITERAL } else { request.pattern_type_filter },
        operation: request.operation,
        permission: request.permission_type,
    };
    if codes.has_unknown() {
        return Outcome::Close("DescribeAcls with a number that means nothing".to_owned());
    }
    let filter = AclFilter::new(codes, request.resource_name_filter, request.principal_filter, request.host_filter);
    match describe(context, filter.as_ref(), cost) {
        Ok(resources) => DescribeAclsResponse { error_message: None, resources, ..Default::default() },
        Err(refusal) => {
            DescribeAclsResponse { error_code: refusal.code, error_message: refusal.text(), ..Default::default() }
        }
    }
    .into()
}

fn describe(
    context: &Context,
    filter: Option<&AclFilter>,
    cost: &mut Cost,
) -> Result<Vec<DescribeAclsResource>, Refusal> {
    context.authorize_cluster(Operation::Describe)?;
    let disabled = || Refusal::new(ErrorCode::SECURITY_DISABLED, "No Authorizer is configured on the broker");
    let authorizer = context.state.authorizer.as_ref().ok_or_else(disabled)?;
    let mut resources: BTreeMap<Pattern, Vec<Rule>> = BTreeMap::new();
    for acl in filter.map(|filter| authorizer.matching(filter)).unwrap_or_default() {
        // What is listed is stored, and bounded; but a long list is made on a thread of its own.
        cost.entries(1);
        resources.entry(acl.pattern).or_default().push(acl.rule);
    }
    let entry = |rule: Rule| AclDescription {
        principal: rule.principal.into(),
        host: rule.host.into(),
        operation: rule.operation.code(),
        permission_type: rule.permission.code(),
        ..Default::default()
    };
    let resource = |(pattern, rules): (Pattern, Vec<Rule>)| DescribeAclsResource {
        resource_type: pattern.resource_type.code(),
        resource_name: pattern.name.into(),
        pattern_type: pattern.pattern_type.code(),
        acls: rules.into_iter().map(entry).collect(),
        ..Default::default()
    };
    Ok(resources.into_iter().map(resource).collect())
}

#[cfg(test)]
mod tests {
    use milena_messages::create_acls::request::AclCreation;
    use milena_messages::delete_acls::request::DeleteAclsFilter;
    use milena_messages::{CreateAclsRequest, DeleteAclsRequest};

    use super::*;
    use crate::config::BrokerConfig;
    use crate::handler::tests::{Fixture, state, state_with};
    use crate::handler::{create_acls, delete_acls};
    use crate::security::authorizer::AclConfig;
    use crate::security::principal::Principal;

    fn guarded() -> Fixture {
        let acls = AclConfig { super_users: vec![Principal::anonymous()], ..AclConfig::default() };
        state_with(BrokerConfig { acls: Some(acls), ..BrokerConfig::default() })
    }

    fn creation(resource: (i8, &str, i8), principal: &str, host: &str, operation: i8) -> AclCreation {
        AclCreation {
            resource_type: resource.0,
            resource_name: resource.1.into(),
            resource_pattern_type: resource.2,
            principal: principal.into(),
            host: host.into(),
            operation,
            permission_type: 3,
            ..Default::default()
        }
    }

    fn fine_creation() -> AclCreation {
        creation((2, "u", 3), "User:a", "*", 3)
    }

    fn create(state: &Fixture, creations: Vec<AclCreation>) -> Vec<(ErrorCode, String)> {
        let request = CreateAclsRequest { creations, ..Default::default() };
        let Outcome::Response(response) = create_acls::handle(&state.at(3), request, &mut Cost::quick()) else {
            panic!("a response was expected")
        };
        let text = |text: Option<milena_messages::ByteString>| text.unwrap_or_default().to_string();
        response.results.into_iter().map(|result| (result.error_code, text(result.error_message))).collect()
    }

    fn describe(state: &Fixture, pattern_type_filter: i8, version: i16) -> (ErrorCode, Vec<(String, usize)>) {
        let request = DescribeAclsRequest {
            resource_type_filter: 1,
            pattern_type_filter,
            operation: 1,
            permission_type: 1,
            resource_name_filter: None,
            principal_filter: None,
            host_filter: None,
            ..Default::default()
        };
        let Outcome::Response(response) = handle(&state.at(version), request, &mut Cost::quick()) else {
            panic!("a response was expected")
        };
        let resources = response.resources.iter().map(|one| (one.resource_name.to_string(), one.acls.len()));
        (response.error_code, resources.collect())
    }

    /// Codes and messages of Kafka 4.4.
    #[test]
    fn entries_are_created_or_refused_as_by_kafka() {
        let state = guarded();
        let fine = (ErrorCode::NONE, String::new());
        let invalid = |message: &str| (ErrorCode::INVALID_REQUEST, message.to_owned());
        let results = create(
            &state,
            vec![
                creation((2, "t", 3), "User:a", "*", 3),
                creation((2, "t", 3), "User:a", "*", 3),
                creation((2, "t", 4), "User:a", "10.0.0.0/8", 4),
                creation((4, "kafka", 3), "User:a", "*", 3),
                creation((2, "", 3), "User:a", "*", 3),
                creation((2, "t", 3), "a", "*", 3),
                creation((2, "t", 3), "User:a", "", 3),
                creation((99, "t", 3), "User:a", "*", 3),
                creation((2, "t", 5), "User:a", "*", 3),
                creation((2, "t", 3), "User:a", "*", 99),
                creation((4, "kafka-cluster", 3), "User:a", "*", 9),
            ],
        );
        let expected = [
            fine.clone(),
            fine.clone(),
            fine.clone(),
            invalid("The only valid name for the CLUSTER resource is kafka-cluster"),
            invalid("Invalid empty resource name"),
            invalid(
                "Could not parse principal from `a` (no colon is present separating the principal type from the principal \
                 name)",
            ),
            invalid("Host pattern cannot be null or empty"),
            invalid("Invalid resourceType UNKNOWN"),
            invalid("Invalid patternType UNKNOWN"),
            invalid("Invalid operation UNKNOWN"),
            fine,
        ];
        assert_eq!(results, expected);
        // What only filters can have fails the whole request.
        for creation in [(1, 3, 3), (2, 1, 3), (2, 2, 3), (2, 3, 1)]
            .map(|(of, pattern, operation)| creation((of, "u", pattern), "User:a", "*", operation))
        {
            let results = create(&state, vec![fine_creation(), creation]);
            assert!(results.iter().all(|result| result.0 == ErrorCode::UNKNOWN_SERVER_ERROR), "{results:?}");
        }
        let entry = |name: &str, count| (name.to_owned(), count);
        assert_eq!(
            describe(&state, 1, 3),
            (ErrorCode::NONE, vec![entry("t", 1), entry("t", 1), entry("kafka-cluster", 1)])
        );
        // Version 0 sees literal names only.
        assert_eq!(describe(&state, 1, 0), (ErrorCode::NONE, vec![entry("t", 1), entry("kafka-cluster", 1)]));
    }

    #[test]
    fn a_filter_deletes_what_it_matches() {
        let state = guarded();
        create(&state, vec![creation((2, "t", 3), "User:a", "*", 3), creation((3, "g", 3), "User:a", "*", 3)]);
        let filter = DeleteAclsFilter {
            resource_type_filter: 2,
            pattern_type_filter: 1,
            operation: 1,
            permission_type: 1,
            resource_name_filter: None,
            principal_filter: None,
            host_filter: None,
            ..Default::default()
        };
        let request = DeleteAclsRequest { filters: vec![filter], ..Default::default() };
        let Outcome::Response(response) = delete_acls::handle(&state.at(3), request, &mut Cost::quick()) else {
            panic!("a response was expected")
        };
        let deleted = &response.filter_results[0].matching_acls;
        assert_eq!((deleted.len(), &*deleted[0].resource_name), (1, "t"));
        assert_eq!(describe(&state, 1, 3), (ErrorCode::NONE, vec![("g".to_owned(), 1)]));
    }

    #[test]
    fn without_an_authorizer_acls_are_disabled() {
        let state = state();
        assert_eq!(describe(&state, 1, 3), (ErrorCode::SECURITY_DISABLED, vec![]));
        let results = create(&state, vec![creation((2, "t", 3), "User:a", "*", 3)]);
        assert_eq!(results, [(ErrorCode::SECURITY_DISABLED, "No Authorizer is configured.".to_owned())]);
    }

    #[test]
    fn only_those_who_may_can_see_and_change_entries() {
        let state = state_with(BrokerConfig { acls: Some(AclConfig::default()), ..BrokerConfig::default() });
        assert_eq!(describe(&state, 1, 3), (ErrorCode::CLUSTER_AUTHORIZATION_FAILED, vec![]));
        let results = create(&state, vec![creation((2, "t", 3), "User:a", "*", 3)]);
        assert_eq!(results[0].0, ErrorCode::CLUSTER_AUTHORIZATION_FAILED);
        let authorizer = state.authorizer.as_ref().unwrap();
        authorizer.add(vec!["allow User:ANONYMOUS alter cluster".parse().unwrap()]).unwrap();
        assert_eq!(create(&state, vec![creation((2, "t", 3), "User:a", "*", 3)])[0].0, ErrorCode::NONE);
    }
}
