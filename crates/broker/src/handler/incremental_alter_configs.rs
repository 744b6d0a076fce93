use milena_messages::incremental_alter_configs::response::AlterConfigsResourceResponse;
use milena_messages::{IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse};

use super::Context;
use super::alter_settings::{Change, Resource, alter};
use crate::cost::Cost;

pub(super) fn handle(
    context: &Context,
    request: IncrementalAlterConfigsRequest,
    _cost: &mut Cost,
) -> IncrementalAlterConfigsResponse {
    let resource = |one: milena_messages::incremental_alter_configs::request::AlterConfigsResource| {
        let changes = one.configs.into_iter().map(|config| Change {
            name: config.name,
            operation: config.config_operation.into(),
            value: config.value,
        });
        let changes = changes.collect();
        Resource { resource_type: one.resource_type, name: one.resource_name, replace: false, changes }
    };
    let resources: Vec<Resource> = request.resources.into_iter().map(resource).collect();
    let results = alter(context, &resources, request.validate_only);
    let response = |(resource, result): (Resource, Result<(), crate::refusal::Refusal>)| {
        let refusal = result.err();
        AlterConfigsResourceResponse {
            error_code: refusal.as_ref().map_or_else(Default::default, |refusal| refusal.code),
            error_message: refusal.filter(|refusal| !refusal.message.is_empty()).and_then(|refusal| refusal.text()),
            resource_type: resource.resource_type,
            resource_name: resource.name,
            ..Default::default()
        }
    };
    let responses = resources.into_iter().zip(results).map(response).collect();
    IncrementalAlterConfigsResponse { responses, ..Default::default() }
}

#[cfg(test)]
mod tests {
    use milena_messages::ErrorCode;
    use milena_messages::incremental_alter_configs::request::{AlterConfigsResource, AlterableConfig};

    use super::*;
    use crate::cluster::TopicRef;
    use crate::handler::tests::{Fixture, create, state};

    const SET: i8 = 0;
    const DELETE: i8 = 1;
    const APPEND: i8 = 2;
    const SUBTRACT: i8 = 3;

    fn ask_with(
        state: &Fixture,
        (resource_type, resource_name): (i8, &str),
        changes: &[(&str, i8, Option<&str>)],
        validate_only: bool,
    ) -> (ErrorCode, String) {
        let config = |(name, config_operation, value): &(&str, i8, Option<&str>)| AlterableConfig {
            name: (*name).into(),
            config_operation: *config_operation,
            value: value.map(Into::into),
            ..Default::default()
        };
        let configs = changes.iter().map(config).collect();
        let resource =
            AlterConfigsResource { resource_type, resource_name: resource_name.into(), configs, ..Default::default() };
        let request = IncrementalAlterConfigsRequest { resources: vec![resource], validate_only, ..Default::default() };
        let response = handle(&state.at(1), request, &mut Cost::quick()).responses.remove(0);
        (response.error_code, response.error_message.map(|text| text.to_string()).unwrap_or_default())
    }

    fn ask(state: &Fixture, resource: (i8, &str), changes: &[(&str, i8, Option<&str>)]) -> (ErrorCode, String) {
        ask_with(state, resource, changes, false)
    }

    #[test]
    fn settings_take_effect_and_lists_grow_and_shrink() {
        let state = state();
        create(&state, "t", 1);
        let own = |name: &str| state.topic(TopicRef::Name("t")).unwrap().config().own(name).map(str::to_owned);
        let changes = [("max.message.bytes", SET, Some(" 100 ")), ("cleanup.policy", APPEND, Some("compact"))];
        let fine = (ErrorCode::NONE, String::new());
        assert_eq!(ask_with(&state, (2, "t"), &changes, true), fine);
        assert_eq!(own("cleanup.policy"), None);
        assert_eq!(ask(&state, (2, "t"), &changes), fine);
        // The default is the start of the list, as in Kafka 4.4.
        assert_eq!(own("cleanup.policy").as_deref(), Some("delete,compact"));
        let config = state.topic(TopicRef::Name("t")).unwrap().config();
        assert!(config.compacted && config.deletes && config.max_message_bytes == 100);
        assert_eq!(ask(&state, (2, "t"), &[("cleanup.policy", SUBTRACT, Some("delete"))]), fine);
        assert_eq!(own("cleanup.policy").as_deref(), Some("compact"));
        assert_eq!(ask(&state, (2, "t"), &[("cleanup.policy", DELETE, None), ("no.such", DELETE, Some("x"))]), fine);
        assert_eq!(own("cleanup.policy"), None);
        assert!(!state.topic(TopicRef::Name("t")).unwrap().config().compacted);
    }

    /// Codes and messages of Kafka 4.4.
    #[test]
    fn refusals_are_those_of_kafka() {
        let state = state();
        create(&state, "t", 1);
        let (invalid, config) = (ErrorCode::INVALID_REQUEST, ErrorCode::INVALID_CONFIG);
        for (resource, changes, code, message) in [
            (
                (2, "t"),
                vec![("retention.ms", APPEND, Some("1"))],
                config,
                "Can't APPEND to key retention.ms because its type is not LIST.",
            ),
            ((2, "t"), vec![("retention.ms", SET, None)], invalid, "Null value not supported for : retention.ms"),
            ((2, "t"), vec![("retention.ms", 7, Some("1"))], ErrorCode::UNKNOWN_SERVER_ERROR, ""),
            ((2, "t"), vec![("no.such", SET, Some("x"))], config, "Unknown topic config name: no.such"),
            // The changes come before the name, and the values before the question whether there is such a topic.
            (
                (2, ""),
                vec![("preallocate", SUBTRACT, Some("x"))],
                config,
                "Can't SUBTRACT to key preallocate because its type is not LIST.",
            ),
            (
                (2, "zz"),
                vec![("retention.ms", SET, Some("x"))],
                config,
                "Invalid value x for configuration retention.ms: Not a number of type LONG",
            ),
            (
                (2, "t"),
                vec![("retention.ms", SET, Some("1")), ("retention.ms", DELETE, None)],
                invalid,
                "Error due to duplicate config keys",
            ),
            ((2, "zz"), vec![], ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "The topic 'zz' does not exist."),
            ((2, ""), vec![], invalid, "Default topic resources are not allowed."),
            ((99, "x"), vec![], invalid, "Unknown resource type 99"),
            ((4, "9"), vec![], invalid, "Unexpected broker id, expected 1, but received 9"),
            ((4, "abc"), vec![], invalid, "Node id must be an integer, but it is: abc"),
            (
                (4, "1"),
                vec![("broker.id", SET, Some("2"))],
                invalid,
                "Cannot update these configs dynamically: [broker.id]",
            ),
            (
                (4, ""),
                vec![("log.dirs", SUBTRACT, Some("/tmp"))],
                invalid,
                "Cannot update these configs dynamically: [log.dirs]",
            ),
            ((4, "1"), vec![("node.id", DELETE, None)], ErrorCode::NONE, ""),
            (
                (4, ""),
                vec![("log.retention.ms", APPEND, Some("1"))],
                config,
                "Config value append is not allowed for config key: log.retention.ms",
            ),
            (
                (4, "1"),
                vec![("log.cleaner.threads", SET, Some("x"))],
                invalid,
                "Invalid value x for configuration log.cleaner.threads: Not a number of type INT",
            ),
            (
                (32, "g"),
                vec![("consumer.session.timeout.ms", SET, Some("1"))],
                config,
                "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.",
            ),
            ((32, "g"), vec![("no.such", SET, Some("1"))], config, "Unknown group config name: no.such"),
            ((32, ""), vec![], invalid, "Default group resources are not allowed."),
            (
                (16, "m"),
                vec![("interval.ms", SET, Some("5"))],
                invalid,
                "Invalid value 5 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
            ),
            ((16, "m"), vec![("match", SET, Some("foo=bar"))], config, "Illegal client matching pattern: foo=bar"),
            ((16, "m"), vec![("no.such", SET, Some("5"))], invalid, "Unknown client metrics configuration: no.such"),
            ((16, ""), vec![], invalid, "Subscription name can't be empty"),
            ((8, "1"), vec![("no.such", SET, Some("DEBUG"))], config, "Logger no.such does not exist!"),
            (
                (8, "1"),
                vec![("root", DELETE, None)],
                invalid,
                "Removing the log level of the root logger is not allowed",
            ),
            ((8, "2"), vec![], invalid, "Unexpected node id. Expected 1, but received 2"),
        ] {
            assert_eq!(ask(&state, resource, &changes), (code, message.to_owned()), "{resource:?} {changes:?}");
        }
    }

    #[test]
    fn topics_without_a_value_have_that_of_all_brokers() {
        let state = state();
        let topic = create(&state, "t", 1);
        assert_eq!(ask(&state, (4, ""), &[("message.max.bytes", SET, Some("77"))]).0, ErrorCode::NONE);
        assert_eq!(topic.config().max_message_bytes, 77);
        assert_eq!(create(&state, "u", 1).config().max_message_bytes, 77);
        assert_eq!(ask(&state, (4, ""), &[("message.max.bytes", DELETE, None)]).0, ErrorCode::NONE);
        assert_eq!(topic.config().max_message_bytes, 1_048_588);
    }
}
