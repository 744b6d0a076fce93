use milena_messages::describe_configs::request::DescribeConfigsResource;
use milena_messages::describe_configs::response::{
    DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use milena_messages::{ByteString, DescribeConfigsRequest, DescribeConfigsResponse, ErrorCode};

use super::Context;
use crate::cluster::topic_config::{Kind, MAX_MESSAGE_BYTES, SETTINGS, Setting, TopicConfig};
use crate::cluster::{State, TopicRef};
use crate::cost::Cost;
use crate::refusal::Refusal;

const TOPIC: i8 = 2;
const BROKER: i8 = 4;

/// Set for the topic itself.
const OF_TOPIC: i8 = 1;
/// Set where the broker was started.
const OF_BROKER: i8 = 4;
/// Built in.
const DEFAULT: i8 = 5;

pub(super) fn handle(context: &Context, request: DescribeConfigsRequest, cost: &mut Cost) -> DescribeConfigsResponse {
    let mut results = Vec::new();
    for resource in &request.resources {
        let mut result = DescribeConfigsResult {
            resource_type: resource.resource_type,
            resource_name: resource.resource_name.clone(),
            ..Default::default()
        };
        match entries(context, resource, cost) {
            Ok(mut configs) => {
                // An empty list means all of them, as null does.
                if let Some(keys) = resource.configuration_keys.as_ref().filter(|keys| !keys.is_empty()) {
                    configs.retain(|config| keys.contains(&config.name));
                }
                configs.iter_mut().for_each(|config| fit(config, &request, context.version));
                result.configs = configs;
            }
            Err(refusal) => {
                result.error_code = refusal.code;
                result.error_message = refusal.text();
            }
        }
        results.push(result);
    }
    DescribeConfigsResponse { results, ..Default::default() }
}

/// Leaves out what was not asked for, and says the source as the version can.
fn fit(config: &mut DescribeConfigsResourceResult, request: &DescribeConfigsRequest, version: i16) {
    config.is_default = version == 0 && config.config_source == DEFAULT;
    if !request.include_synonyms {
        config.synonyms.clear();
    }
    if !request.include_documentation {
        config.documentation = None;
    }
}

fn entries(
    context: &Context,
    resource: &DescribeConfigsResource,
    cost: &mut Cost,
) -> Result<Vec<DescribeConfigsResourceResult>, Refusal> {
    let state = &*context.state;
    // Kafka describes a resource as often as it is listed, so a small request could ask for gigabytes.
    let mut take = || {
        let message = "The request lists more resources than one response can hold.";
        if cost.entries(SETTINGS.len()) { Ok(()) } else { Err(Refusal::new(ErrorCode::INVALID_REQUEST, message)) }
    };
    match resource.resource_type {
        TOPIC => {
            crate::cluster::topic_name::check(&resource.resource_name)?;
            let topic = state.topic(TopicRef::Name(&resource.resource_name)).ok_or_else(|| {
                Refusal::new(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic.")
            })?;
            take()?;
            let config = topic.config();
            Ok(SETTINGS.iter().map(|setting| topic_entry(state, &config, setting)).collect())
        }
        BROKER => match resource.resource_name.parse::<i32>() {
            Ok(id) if id == context.node.id => take().map(|()| broker_entries(context)),
            // Settings of all brokers together: none are ever set.
            _ if resource.resource_name.is_empty() => Ok(Vec::new()),
            _ => {
                let message = format!(
                    "Unexpected broker id, expected {} but received {}",
                    context.node.id, resource.resource_name
                );
                Err(Refusal::new(ErrorCode::INVALID_REQUEST, message))
            }
        },
        other => Err(Refusal::new(ErrorCode::INVALID_REQUEST, format!("Unsupported resource type: {other}"))),
    }
}

/// The value in force for a topic.
pub(super) fn topic_value(state: &State, config: &TopicConfig, setting: &Setting) -> ByteString {
    match config.own(setting.name) {
        Some(value) => value.into(),
        None if setting.name == MAX_MESSAGE_BYTES => state.config.max_message_bytes.to_string().into(),
        None => ByteString::from_static(setting.default),
    }
}

/// Where that value comes from.
pub(super) fn source(config: &TopicConfig, setting: &Setting) -> i8 {
    if config.own(setting.name).is_some() { OF_TOPIC } else { DEFAULT }
}

fn topic_entry(state: &State, config: &TopicConfig, setting: &'static Setting) -> DescribeConfigsResourceResult {
    let own = config.own(setting.name).map(|value| DescribeConfigsSynonym {
        name: setting.name.into(),
        value: Some(value.into()),
        source: OF_TOPIC,
        ..Default::default()
    });
    let built_in = DescribeConfigsSynonym {
        name: setting.name.into(),
        value: Some(setting.default.into()),
        source: DEFAULT,
        ..Default::default()
    };
    DescribeConfigsResourceResult {
        name: setting.name.into(),
        value: Some(topic_value(state, config, setting)),
        config_source: source(config, setting),
        synonyms: own.into_iter().chain([built_in]).collect(),
        config_type: setting.kind.config_type(),
        documentation: Some(setting.about.into()),
        ..Default::default()
    }
}

/// The settings of the broker that a client may want to know, under the names that Kafka gives them.
fn broker_entries(context: &Context) -> Vec<DescribeConfigsResourceResult> {
    let config = &context.state.config;
    let endpoint = context.node.endpoint();
    let (int, text, flag) = (Kind::Int(0).config_type(), Kind::Text.config_type(), Kind::Bool.config_type());
    let long = Kind::Long(0).config_type();
    [
        (
            "advertised.listeners",
            format!("PLAINTEXT://{}:{}", endpoint.host, endpoint.port),
            text,
            "Where clients connect to.",
        ),
        (
            "auto.create.topics.enable",
            config.auto_create_topics.to_string(),
            flag,
            "Whether metadata requests create topics.",
        ),
        ("broker.id", context.node.id.to_string(), int, "The id of the node."),
        (
            "connections.max.idle.ms",
            config.idle_timeout.as_millis().to_string(),
            long,
            "When a silent connection is closed.",
        ),
        (
            "default.replication.factor",
            config.default_replication_factor.to_string(),
            int,
            "Replicas of a topic that does not say how many.",
        ),
        ("max.connections", config.max_connections.to_string(), int, "Connections at the same time."),
        ("message.max.bytes", config.max_message_bytes.to_string(), int, "Largest record batch in bytes."),
        ("node.id", context.node.id.to_string(), int, "The id of the node."),
        (
            "num.partitions",
            config.default_partitions.to_string(),
            int,
            "Partitions of a topic that does not say how many.",
        ),
        ("socket.request.max.bytes", config.max_frame.to_string(), int, "Largest request in bytes."),
    ]
    .into_iter()
    .map(|(name, value, config_type, about)| DescribeConfigsResourceResult {
        name: name.into(),
        value: Some(value.into()),
        read_only: true,
        config_source: OF_BROKER,
        config_type,
        documentation: Some(about.into()),
        ..Default::default()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::tests::{Fixture, create, state};

    fn ask(
        state: &Fixture,
        resource_type: i8,
        name: &str,
        keys: Option<&[&str]>,
        version: i16,
    ) -> DescribeConfigsResult {
        let resource = DescribeConfigsResource {
            resource_type,
            resource_name: name.into(),
            configuration_keys: keys.map(|keys| keys.iter().map(|key| (*key).into()).collect()),
            ..Default::default()
        };
        let request =
            DescribeConfigsRequest { resources: vec![resource], include_synonyms: true, ..Default::default() };
        handle(&state.at(version), request, &mut Cost::full(0)).results.remove(0)
    }

    #[test]
    fn keys_choose_and_none_take_all() {
        let state = state();
        create(&state, "a", 1);
        assert_eq!(ask(&state, TOPIC, "a", None, 4).configs.len(), SETTINGS.len());
        assert_eq!(ask(&state, TOPIC, "a", Some(&[]), 4).configs.len(), SETTINGS.len());
        let some = ask(&state, TOPIC, "a", Some(&["retention.ms", "nothing"]), 4).configs;
        assert_eq!(some.len(), 1);
        assert_eq!((some[0].value.as_deref(), some[0].config_source), (Some("604800000"), DEFAULT));
        assert_eq!(some[0].synonyms.len(), 1);
    }

    #[test]
    fn version_0_has_a_flag_in_place_of_the_source() {
        let state = state();
        create(&state, "a", 1);
        assert!(ask(&state, TOPIC, "a", None, 0).configs[0].is_default);
        assert!(!ask(&state, TOPIC, "a", None, 1).configs[0].is_default);
    }

    #[test]
    fn unknown_resources_are_errors() {
        let state = state();
        assert_eq!(ask(&state, TOPIC, "a", None, 4).error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        assert_eq!(ask(&state, BROKER, "2", None, 4).error_code, ErrorCode::INVALID_REQUEST);
        assert_eq!(ask(&state, 16, "x", None, 4).error_code, ErrorCode::INVALID_REQUEST);
        assert!(ask(&state, BROKER, "1", None, 4).configs.iter().any(|config| config.name == "num.partitions"));
    }

    #[test]
    fn a_topic_that_is_listed_often_is_described_within_the_budget() {
        let state = state();
        create(&state, "a", 1);
        let resource = DescribeConfigsResource {
            resource_type: TOPIC,
            resource_name: "a".into(),
            configuration_keys: None,
            ..Default::default()
        };
        let request = DescribeConfigsRequest { resources: vec![resource; 60_000], ..Default::default() };
        let results = handle(&state.at(4), request, &mut Cost::full(0)).results;
        assert_eq!(results.len(), 60_000);
        assert_eq!(results[1].configs.len(), SETTINGS.len());
        assert_eq!(results[59_999].error_code, ErrorCode::INVALID_REQUEST);
        assert!(results.iter().map(|result| result.configs.len()).sum::<usize>() <= 200_000);
    }
}
