use milena_messages::alter_configs::response::AlterConfigsResourceResponse;
use milena_messages::{AlterConfigsRequest, AlterConfigsResponse};

use super::Context;
use super::alter_settings::{Change, Operation, Resource, alter};
use crate::cost::Cost;

pub(super) fn handle(context: &Context, request: AlterConfigsRequest, _cost: &mut Cost) -> AlterConfigsResponse {
    let resource = |one: milena_messages::alter_configs::request::AlterConfigsResource| {
        let changes = one.configs.into_iter().map(|config| Change {
            name: config.name,
            operation: Operation::Set,
            value: config.value,
        });
        let changes = changes.collect();
        Resource { resource_type: one.resource_type, name: one.resource_name, replace: true, changes }
    };
    let resources: Vec<Resource> = request.resources.into_iter().map(resource).collect();
    // Kafka 4.4 never responds to a resource that is listed twice. Here it is refused, as IncrementalAlterConfigs does.
    let results = alter(context, &resources, request.validate_only);
    let response = |(resource, result): (Resource, Result<(), crate::refusal::Refusal>)| {
        let refusal = result.err();
        AlterConfigsResourceResponse {
            error_code: refusal.as_ref().map_or_else(Default::default, |refusal| refusal.code),
            error_message: refusal.and_then(|refusal| refusal.text()),
            resource_type: resource.resource_type,
            resource_name: resource.name,
            ..Default::default()
        }
    };
    AlterConfigsResponse { responses: resources.into_iter().zip(results).map(response).collect(), ..Default::default() }
}

#[cfg(test)]
mod tests {
    use milena_messages::ErrorCode;
    use milena_messages::alter_configs::request::{AlterConfigsResource, AlterableConfig};

    use super::*;
    use crate::handler::tests::{create, state};

    #[test]
    fn settings_that_are_not_named_are_deleted() {
        let state = state();
        let topic = create(&state, "t", 1);
        let ask = |resource_type, name: &str, configs: &[(&str, Option<&str>)]| {
            let config = |(name, value): &(&str, Option<&str>)| AlterableConfig {
                name: (*name).into(),
                value: value.map(Into::into),
                ..Default::default()
            };
            let configs = configs.iter().map(config).collect();
            let resource =
                AlterConfigsResource { resource_type, resource_name: name.into(), configs, ..Default::default() };
            let request = AlterConfigsRequest { resources: vec![resource], ..Default::default() };
            handle(&state.at(2), request, &mut Cost::quick()).responses[0].error_code
        };
        assert_eq!(ask(2, "t", &[("retention.bytes", Some("77"))]), ErrorCode::NONE);
        assert_eq!(ask(2, "t", &[("retention.ms", Some("5"))]), ErrorCode::NONE);
        assert_eq!((topic.config().own("retention.bytes"), topic.config().own("retention.ms")), (None, Some("5")));
        // As Kafka 4.4.
        assert_eq!(ask(2, "t", &[("retention.ms", None)]), ErrorCode::INVALID_REQUEST);
        assert_eq!(ask(2, "t", &[("retention.ms", Some("x"))]), ErrorCode::INVALID_CONFIG);
        assert_eq!(ask(8, "1", &[]), ErrorCode::INVALID_REQUEST);
        assert_eq!(ask(4, "", &[]), ErrorCode::INVALID_CONFIG);
        assert_eq!(topic.config().own("retention.ms"), Some("5"));
    }
}
