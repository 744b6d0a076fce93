use std::collections::BTreeMap;

use milena_messages::describe_client_quotas::request::ComponentData;
use milena_messages::describe_client_quotas::response::{EntityData, EntryData, ValueData};
use milena_messages::{ByteString, DescribeClientQuotasRequest, DescribeClientQuotasResponse, ErrorCode};

use super::Context;
use crate::cluster::quotas::{CLIENT_ID, Entity, IP, USER};
use crate::cost::Cost;
use crate::refusal::Refusal;
use crate::security::acl::Operation;

/// What the name of an entity has to be.
enum Match {
    Exact(String),
    /// There is none: the default.
    Default,
    Any,
}

impl Match {
    fn fits(&self, name: &Option<String>) -> bool {
        match self {
            Self::Exact(wanted) => name.as_ref() == Some(wanted),
            Self::Default => name.is_none(),
            Self::Any => true,
        }
    }
}

pub(super) fn handle(
    context: &Context,
    request: DescribeClientQuotasRequest,
    cost: &mut Cost,
) -> DescribeClientQuotasResponse {
    let authorized = context.authorize_cluster(Operation::DescribeConfigs);
    let filter = match authorized.and_then(|()| filter(&request.components)) {
        Ok(filter) => filter,
        Err(refusal) => {
            let error_message = refusal.text();
            return DescribeClientQuotasResponse {
                error_code: refusal.code,
                error_message,
                entries: None,
                ..Default::default()
            };
        }
    };
    let fits = |entity: &Entity| {
        let parts = filter.iter().all(|(kind, wanted)| entity.get(*kind).is_some_and(|name| wanted.fits(name)));
        parts && (!request.strict || entity.len() == filter.len())
    };
    let quotas = context.state.quotas();
    cost.entries(quotas.len());
    let entry = |(entity, values): (&Entity, &BTreeMap<String, f64>)| {
        let part = |(entity_type, name): (&String, &Option<String>)| EntityData {
            entity_type: entity_type.as_str().into(),
            entity_name: name.as_deref().map(Into::into),
            ..Default::default()
        };
        let value =
            |(key, value): (&String, &f64)| ValueData { key: key.as_str().into(), value: *value, ..Default::default() };
        EntryData {
            entity: entity.iter().map(part).collect(),
            values: values.iter().map(value).collect(),
            ..Default::default()
        }
    };
    let entries = quotas.iter().filter(|(entity, _)| fits(entity)).map(entry).collect();
    DescribeClientQuotasResponse {
        error_message: Some(ByteString::from_static("")),
        entries: Some(entries),
        ..Default::default()
    }
}

fn filter(components: &[ComponentData]) -> Result<BTreeMap<&str, Match>, Refusal> {
    let invalid = |message: String| Err(Refusal::new(ErrorCode::INVALID_REQUEST, message));
    let mut filter = BTreeMap::new();
    for component in components {
        let kind = &*component.entity_type;
        if kind.is_empty() {
            return invalid("Invalid empty entity type.".to_owned());
        }
        if filter.contains_key(kind) {
            return invalid(format!("Entity type {kind} cannot appear more than once in the filter."));
        }
        if !matches!(kind, USER | CLIENT_ID | IP) {
            return Err(Refusal::new(ErrorCode::UNSUPPORTED_VERSION, format!("Unsupported entity type {kind}")));
        }
        let name = component.r#match.as_ref();
        let wanted = match (component.match_type, name) {
            (0, Some(name)) => Match::Exact(name.to_string()),
            (0, None) => {
                return invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.".to_owned());
            }
            (1, None) => Match::Default,
            (2, None) => Match::Any,
            (1 | 2, Some(_)) => {
                let kind = if component.match_type == 1 { "DEFAULT" } else { "SPECIFIED" };
                return invalid(format!("Request specified MATCH_TYPE_{kind}, but also specified a match string."));
            }
            (other, _) => return invalid(format!("Unknown match type {other}")),
        };
        filter.insert(kind, wanted);
    }
    if filter.contains_key(IP) && filter.len() > 1 {
        let message = "Invalid entity filter component combination. IP filter component should not be used with user or \
                       clientId filter component.";
        return invalid(message.to_owned());
    }
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::tests::state;

    /// As Kafka 4.4 with the same quotas.
    #[test]
    fn filters_choose_entities_as_in_kafka() {
        let state = state();
        let put = |entity: &[(&str, Option<&str>)]| {
            let entity = entity.iter().map(|(kind, name)| ((*kind).to_owned(), name.map(str::to_owned))).collect();
            state.quotas().insert(entity, [("request_percentage".to_owned(), 1.0)].into());
        };
        put(&[("client-id", Some("c")), ("user", None)]);
        put(&[("ip", Some("127.0.0.1"))]);
        put(&[("user", Some("e"))]);
        let ask = |components: &[(&str, i8, Option<&str>)], strict| {
            let component = |(kind, match_type, name): &(&str, i8, Option<&str>)| ComponentData {
                entity_type: (*kind).into(),
                match_type: *match_type,
                r#match: name.map(Into::into),
                ..Default::default()
            };
            let components = components.iter().map(component).collect();
            let request = DescribeClientQuotasRequest { components, strict, ..Default::default() };
            let response = handle(&state.at(1), request, &mut Cost::quick());
            (response.error_code, response.entries.map(|entries| entries.len()))
        };
        let found = |count| (ErrorCode::NONE, Some(count));
        assert_eq!(ask(&[], false), found(3));
        assert_eq!(ask(&[], true), found(0));
        assert_eq!(ask(&[("user", 1, None)], true), found(0));
        assert_eq!(ask(&[("user", 1, None)], false), found(1));
        assert_eq!(ask(&[("user", 2, None)], false), found(2));
        assert_eq!(ask(&[("user", 0, Some("e"))], true), found(1));
        let invalid = (ErrorCode::INVALID_REQUEST, None);
        assert_eq!(ask(&[("user", 0, None)], false), invalid);
        assert_eq!(ask(&[("user", 1, Some("x"))], false), invalid);
        assert_eq!(ask(&[("user", 9, None)], false), invalid);
        assert_eq!(ask(&[("usr", 2, None)], false), (ErrorCode::UNSUPPORTED_VERSION, None));
        assert_eq!(ask(&[("usr", 1, Some("x"))], false), (ErrorCode::UNSUPPORTED_VERSION, None));
        assert_eq!(ask(&[("user", 2, None), ("ip", 0, Some("a"))], false), invalid);
    }
}
