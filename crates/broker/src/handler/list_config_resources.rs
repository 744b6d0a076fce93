use milena_messages::list_config_resources::response::ConfigResource;
use milena_messages::{ByteString, ErrorCode, ListConfigResourcesRequest, ListConfigResourcesResponse};

use super::Context;
use super::describe_configs::{BROKER, CLIENT_METRICS, GROUP, LOGGER, TOPIC};
use crate::cost::Cost;
use crate::security::acl::{Operation, Resource};

pub(super) fn handle(
    context: &Context,
    request: ListConfigResourcesRequest,
    cost: &mut Cost,
) -> ListConfigResourcesResponse {
    /// In the order of Kafka's response.
    const TYPES: [i8; 5] = [GROUP, CLIENT_METRICS, LOGGER, BROKER, TOPIC];
    if let Err(error_code) = context.authorize(Operation::DescribeConfigs, Resource::CLUSTER) {
        return ListConfigResourcesResponse { error_code, ..Default::default() };
    }
    let state = &context.state;
    let mut asked = request.resource_types;
    if context.version == 0 {
        // This version is for client metrics only.
        asked = vec![CLIENT_METRICS];
    } else if asked.is_empty() {
        asked = TYPES.to_vec();
    } else if asked.iter().any(|one| !TYPES.contains(one)) {
        return ListConfigResourcesResponse { error_code: ErrorCode::UNSUPPORTED_VERSION, ..Default::default() };
    }
    let mut config_resources = Vec::new();
    for resource_type in TYPES.into_iter().filter(|one| asked.contains(one)) {
        let nodes = || state.alive().iter().map(|node| node.id.to_string().into()).collect();
        let keys = |set: &std::collections::BTreeMap<String, _>| set.keys().map(|name| (&**name).into()).collect();
        let names: Vec<ByteString> = match resource_type {
            GROUP => keys(&state.stored_configs().groups),
            CLIENT_METRICS => keys(&state.stored_configs().client_metrics),
            TOPIC => state.topics().iter().map(|topic| topic.name.clone()).collect(),
            _ => nodes(),
        };
        // What is listed is stored, and bounded; but a long list is made on a thread of its own.
        cost.entries(names.len());
        let resource = |resource_name| ConfigResource { resource_name, resource_type, ..Default::default() };
        config_resources.extend(names.into_iter().map(resource));
    }
    ListConfigResourcesResponse { config_resources, ..Default::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::tests::{create, state};

    #[test]
    fn resources_are_listed_in_the_order_of_kafka() {
        let state = state();
        create(&state, "t", 1);
        state.stored_configs().groups.insert("g".into(), [("share.isolation.level".into(), "x".into())].into());
        let ask = |types: &[i8]| {
            let request = ListConfigResourcesRequest { resource_types: types.to_vec(), ..Default::default() };
            let response = handle(&state.at(1), request, &mut Cost::quick());
            let all = response.config_resources.iter().map(|one| (one.resource_name.to_string(), one.resource_type));
            (response.error_code, all.collect::<Vec<_>>())
        };
        let one = |name: &str, resource_type| (name.to_owned(), resource_type);
        assert_eq!(ask(&[]), (ErrorCode::NONE, vec![one("g", 32), one("1", 8), one("1", 4), one("t", 2)]));
        assert_eq!(ask(&[2, 32]), (ErrorCode::NONE, vec![one("g", 32), one("t", 2)]));
        assert_eq!(ask(&[16, 99]), (ErrorCode::UNSUPPORTED_VERSION, vec![]));
    }
}
