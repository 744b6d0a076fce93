use milena_messages::describe_configs::request::DescribeConfigsResource;
use milena_messages::describe_configs::response::{
    DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use milena_messages::{ByteString, DescribeConfigsRequest, DescribeConfigsResponse, ErrorCode};

use super::Context;
use super::authorize::unauthorized;
use crate::cluster::broker_setting;
use crate::cluster::group_config::{of_start, of_start_for_groups};
use crate::cluster::resource_config::{GROUP_SETTINGS, METRICS_SETTINGS};
use crate::cluster::setting::Setting;
use crate::cluster::stored_config::{ALL_BROKERS, StoredConfigs, Values};
use crate::cluster::topic_config::{self, SETTINGS, TopicConfig};
use crate::cluster::{State, TopicRef};
use crate::cost::Cost;
use crate::refusal::Refusal;
use crate::security::acl::{Operation, Resource};

pub(super) const TOPIC: i8 = 2;
pub(super) const BROKER: i8 = 4;
pub(super) const LOGGER: i8 = 8;
pub(super) const CLIENT_METRICS: i8 = 16;
pub(super) const GROUP: i8 = 32;

/// The one logger.
pub(super) const ROOT_LOGGER: &str = "root";
/// Its level, when nobody set one.
pub(super) const ROOT_LEVEL: &str = "INFO";

/// Where values come from: set for the topic itself.
const OF_TOPIC: i8 = 1;
/// Set for one broker by a client.
const OF_ONE_BROKER: i8 = 2;
/// Set for all brokers by a client.
const OF_ALL_BROKERS: i8 = 3;
/// Set where the broker was started.
const OF_START: i8 = 4;
/// Built in.
const DEFAULT: i8 = 5;
const OF_LOGGER: i8 = 6;
const OF_CLIENT_METRICS: i8 = 7;
const OF_GROUP: i8 = 8;

const MALFORMED: &str = "This most likely occurs because of a request being malformed by the client library or the \
                         message was sent to an incompatible broker. See the broker logs for more details.";

pub(super) fn handle(context: &Context, request: DescribeConfigsRequest, cost: &mut Cost) -> DescribeConfigsResponse {
    // One resource of an unknown type makes Kafka refuse all of them.
    let known = |resource: &DescribeConfigsResource| {
        matches!(resource.resource_type, TOPIC | BROKER | LOGGER | CLIENT_METRICS | GROUP)
    };
    let all_known = request.resources.iter().all(known);
    let mut results = Vec::new();
    // As in Kafka, what is refused comes last.
    let may = |resource: &&DescribeConfigsResource| authorize(context, resource).is_ok();
    let (seen, unseen): (Vec<_>, Vec<_>) = request.resources.iter().partition(may);
    for resource in seen.into_iter().chain(unseen) {
        let mut result = DescribeConfigsResult {
            resource_type: resource.resource_type,
            resource_name: resource.resource_name.clone(),
            error_message: Some(ByteString::from_static("")),
            ..Default::default()
        };
        let described = if all_known {
            authorize(context, resource).map_err(unauthorized).and_then(|()| entries(context, resource, cost))
        } else {
            Err(Refusal::new(ErrorCode::INVALID_REQUEST, MALFORMED))
        };
        match described {
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

/// Topics and groups have permissions of their own, the rest belongs to the cluster.
fn authorize(context: &Context, resource: &DescribeConfigsResource) -> Result<(), ErrorCode> {
    let of = config_resource(resource.resource_type, &resource.resource_name);
    context.authorize(Operation::DescribeConfigs, of)
}

/// What has to be permitted to see or change the settings of a resource.
pub(super) fn config_resource(resource_type: i8, name: &str) -> Resource<'_> {
    match resource_type {
        TOPIC => Resource::topic(name),
        GROUP => Resource::group(name),
        _ => Resource::CLUSTER,
    }
}

/// Leaves out what was not asked for, and says the source as the version can.
fn fit(config: &mut DescribeConfigsResourceResult, request: &DescribeConfigsRequest, version: i16) {
    config.is_default = version == 0 && config.config_source == DEFAULT;
    if !request.include_synonyms {
        config.synonyms.clear();
    }
    if !request.include_documentation && config.config_source != OF_LOGGER {
        config.documentation = None;
    }
}

fn entries(
    context: &Context,
    resource: &DescribeConfigsResource,
    cost: &mut Cost,
) -> Result<Vec<DescribeConfigsResourceResult>, Refusal> {
    let (state, name) = (&*context.state, &*resource.resource_name);
    // Kafka describes a resource as often as it is listed, so a small request could ask for gigabytes.
    let mut take = |count: usize| {
        let message = "The request lists more resources than one response can hold.";
        if cost.entries(count) { Ok(()) } else { Err(Refusal::new(ErrorCode::INVALID_REQUEST, message)) }
    };
    let invalid = |message: String| Err(Refusal::new(ErrorCode::INVALID_REQUEST, message));
    match resource.resource_type {
        TOPIC => {
            crate::cluster::topic_name::check(name)?;
            let unknown = || Refusal::new(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, "");
            let topic = state.topic(TopicRef::Name(name)).ok_or_else(unknown)?;
            take(SETTINGS.len())?;
            let config = topic.config();
            let defaults = Defaults::new(state, Some(context.node.id));
            Ok(SETTINGS.iter().map(|setting| defaults.entry(setting, config.own(setting.name), OF_TOPIC)).collect())
        }
        BROKER if name == ALL_BROKERS => {
            let stored = state.stored_configs();
            let all = stored.brokers.get(ALL_BROKERS);
            take(all.map_or(0, Values::len))?;
            let set = all.into_iter().flatten();
            Ok(set.map(|(name, value)| broker_entry(name, &[(value.as_str(), OF_ALL_BROKERS)], None, "")).collect())
        }
        BROKER | LOGGER => {
            let what = "Broker id must";
            match name.parse::<i32>() {
                Ok(id) if id == context.node.id => {}
                Ok(id) if resource.resource_type == BROKER => {
                    let own = context.node.id;
                    return invalid(format!("Unexpected broker id, expected {own} or empty string, but received {id}"));
                }
                Ok(id) => {
                    return invalid(format!("Unexpected broker id, expected {} but received {id}", context.node.id));
                }
                Err(_) if name.is_empty() => return invalid(format!("{what} not be empty")),
                Err(_) => return invalid(format!("{what} be an integer, but it is: {name}")),
            }
            if resource.resource_type == BROKER {
                let entries = broker_entries(context);
                take(entries.len())?;
                return Ok(entries);
            }
            take(1)?;
            let stored = state.stored_configs();
            Ok(vec![DescribeConfigsResourceResult {
                name: ROOT_LOGGER.into(),
                value: Some(stored.levels.get(&context.node.id).map_or(ROOT_LEVEL, String::as_str).into()),
                config_source: OF_LOGGER,
                documentation: Some(ByteString::from_static("")),
                ..Default::default()
            }])
        }
        GROUP if name.is_empty() => invalid("Group name must not be empty".to_owned()),
        GROUP => {
            take(GROUP_SETTINGS.len())?;
            let own = state.stored_configs().groups.get(name).cloned().unwrap_or_default();
            let defaults = Defaults::new(state, Some(context.node.id));
            let own = |setting: &Setting| own.get(setting.name).map(String::as_str);
            Ok(GROUP_SETTINGS.iter().map(|setting| defaults.entry(setting, own(setting), OF_GROUP)).collect())
        }
        _ if name.is_empty() => invalid("Client metrics subscription name must not be empty".to_owned()),
        _ => {
            take(METRICS_SETTINGS.len())?;
            let own = state.stored_configs().client_metrics.get(name).cloned().unwrap_or_default();
            let defaults = Defaults::new(state, None);
            let own = |setting: &Setting| own.get(setting.name).map(String::as_str);
            let entry = |setting| defaults.entry(setting, own(setting), OF_CLIENT_METRICS);
            Ok(METRICS_SETTINGS.iter().map(entry).collect())
        }
    }
}

/// What the brokers say for topics and groups that have no value of their own.
pub(super) struct Defaults {
    one: Values,
    all: Values,
    start: Values,
}

impl Defaults {
    /// As the node sees them; without a node, what all brokers have in common.
    pub(super) fn new(state: &State, node: Option<i32>) -> Self {
        let stored = state.stored_configs();
        let of = |name: &str| stored.brokers.get(name).cloned().unwrap_or_default();
        let mut start = Values::new();
        let built_in = topic_config::setting("max.message.bytes").map(|setting| setting.default);
        let max_message_bytes = state.config.max_message_bytes.to_string();
        if built_in != Some(&*max_message_bytes) {
            start.insert("message.max.bytes".to_owned(), max_message_bytes);
        }
        start.extend(of_start_for_groups(&state.config).map(|(name, value)| (name.to_owned(), value)));
        Self { one: node.map(|id| of(&id.to_string())).unwrap_or_default(), all: of(ALL_BROKERS), start }
    }

    /// The value in force with its source, and those that it hides; each with its source.
    fn values<'a>(&'a self, setting: &'a Setting, own: Option<(&'a str, i8)>) -> Vec<(&'a str, &'a str, i8)> {
        let mut values: Vec<_> = own.map(|(value, source)| (setting.name, value, source)).into_iter().collect();
        if let Some(name) = setting.of_broker {
            let levels = [(&self.one, OF_ONE_BROKER), (&self.all, OF_ALL_BROKERS), (&self.start, OF_START)];
            values.extend(levels.into_iter().filter_map(|(set, source)| Some((name, &**set.get(name)?, source))));
            let from_brokers = values.iter().any(|(_, _, source)| matches!(*source, OF_ONE_BROKER | OF_ALL_BROKERS));
            if setting.broker_has_default {
                values.push((name, setting.default, DEFAULT));
            } else if let Some((name, value)) = fallback(name).filter(|_| from_brokers) {
                values.push((name, value, DEFAULT));
            }
        }
        values
    }

    /// The value of a topic and where it comes from.
    pub(super) fn of_topic(&self, config: &TopicConfig, setting: &Setting) -> (ByteString, i8) {
        let values = self.values(setting, config.own(setting.name).map(|value| (value, OF_TOPIC)));
        values.first().map_or((setting.default.into(), DEFAULT), |(_, value, source)| {
            (setting.kind.shown(value).as_ref().into(), *source)
        })
    }

    fn entry(&self, setting: &'static Setting, own: Option<&str>, source: i8) -> DescribeConfigsResourceResult {
        let values = self.values(setting, own.map(|own| (own, source)));
        let (_, value, config_source) = values.first().copied().unwrap_or((setting.name, setting.default, DEFAULT));
        DescribeConfigsResourceResult {
            name: setting.name.into(),
            value: Some(setting.kind.shown(value).as_ref().into()),
            config_source,
            synonyms: values
                .iter()
                .map(|(name, value, source)| synonym(name, &setting.kind.shown(value), *source))
                .collect(),
            config_type: setting.kind.config_type(),
            documentation: Some(setting.about.into()),
            ..Default::default()
        }
    }
}

fn synonym(name: &str, value: &str, source: i8) -> DescribeConfigsSynonym {
    DescribeConfigsSynonym { name: name.into(), value: Some(value.into()), source, ..Default::default() }
}

/// A setting of brokers, with its values in their order, and the name and value of the setting that gives its default.
fn broker_entry(
    name: &str,
    values: &[(&str, i8)],
    fallback: Option<(&str, &str)>,
    about: &str,
) -> DescribeConfigsResourceResult {
    let first = values.first();
    let known = broker_setting::all().get(name);
    // Kafka shows nothing of what it does not know: that could be a secret of a plugin.
    let hidden = known.is_none_or(|setting| setting.is_sensitive());
    let mut synonyms: Vec<_> = values.iter().map(|(value, source)| synonym(name, value, *source)).collect();
    synonyms.extend(fallback.map(|(name, value)| synonym(name, value, DEFAULT)));
    if hidden {
        synonyms.iter_mut().for_each(|synonym| synonym.value = None);
    }
    DescribeConfigsResourceResult {
        name: name.into(),
        value: first.filter(|_| !hidden).map(|(value, _)| (*value).into()),
        read_only: is_read_only(name) || known.is_none(),
        is_sensitive: hidden,
        config_source: first.map_or(DEFAULT, |(_, source)| *source),
        synonyms,
        config_type: known.map_or(0, |setting| setting.config_type),
        documentation: Some(about.into()),
        ..Default::default()
    }
}

/// The setting of topics or groups whose default is this setting of brokers.
pub(super) fn of_broker(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().chain(GROUP_SETTINGS).find(|setting| setting.of_broker == Some(name))
}

pub(super) fn is_read_only(name: &str) -> bool {
    broker_setting::all().get(name).is_some_and(|setting| setting.is_fixed)
}

/// Name and default of the setting on which one without a default falls back.
fn fallback(name: &str) -> Option<(&'static str, &'static str)> {
    let name = broker_setting::fallback(name)?;
    Some((name, broker_setting::all().get(name)?.default?))
}

/// The settings of the broker that a client may want to know, under the names that Kafka gives them, and those that clients
/// set.
fn broker_entries(context: &Context) -> Vec<DescribeConfigsResourceResult> {
    let config = &context.state.config;
    let (int, text, flag, long) = (3, 2, 1, 5);
    let listeners = context.state.listeners.iter().enumerate();
    let listeners: Vec<String> =
        listeners.map(|(index, listener)| format!("{}://{}", listener.name, context.node.endpoint_of(index))).collect();
    let mut start = vec![
        ("advertised.listeners", listeners.join(","), text, "Where clients connect to."),
        ("auto.create.topics.enable", config.auto_create_topics.to_string(), flag, "Whether Metadata creates topics."),
        ("broker.id", context.node.id.to_string(), int, "The id of the node."),
        (
            "connections.max.idle.ms",
            config.idle_timeout.as_millis().to_string(),
            long,
            "After that time a silent connection is closed.",
        ),
        (
            "default.replication.factor",
            config.default_replication_factor.to_string(),
            int,
            "Default number of replicas for new topics.",
        ),
        ("max.connections", config.max_connections.to_string(), int, "Most connections at the same time."),
        (
            "group.initial.rebalance.delay.ms",
            config.group_initial_rebalance_delay_ms.to_string(),
            int,
            "How long the first rebalance of a classic group waits for more members.",
        ),
        (
            "group.max.session.timeout.ms",
            config.group_max_session_timeout_ms.to_string(),
            int,
            "Longest session timeout of a member of a classic group.",
        ),
        ("group.max.size", config.group_max_size.to_string(), int, "Most members of a classic group."),
        (
            "group.min.session.timeout.ms",
            config.group_min_session_timeout_ms.to_string(),
            int,
            "Shortest session timeout of a member of a classic group.",
        ),
        ("message.max.bytes", config.max_message_bytes.to_string(), int, "Largest record batch in bytes."),
        ("node.id", context.node.id.to_string(), int, "The id of the node."),
        ("num.partitions", config.default_partitions.to_string(), int, "Default number of partitions for new topics."),
        ("socket.request.max.bytes", config.max_frame.to_string(), int, "Largest request in bytes."),
    ];
    start.extend(of_start(config));
    let stored = context.state.stored_configs();
    let StoredConfigs { brokers, .. } = &*stored;
    let (one, all) = (brokers.get(&context.node.id.to_string()), brokers.get(ALL_BROKERS));
    let mut names: Vec<&str> = start.iter().map(|(name, ..)| *name).collect();
    names.extend(broker_setting::all().keys());
    names.extend([one, all].into_iter().flatten().flat_map(|set| set.keys().map(String::as_str)));
    names.sort_unstable();
    names.dedup();
    let entry = |name: &str| {
        let start = start.iter().find(|(other, ..)| *other == name);
        let built_in = broker_setting::all().get(name).and_then(|setting| setting.default);
        let levels = [
            (one.and_then(|set| set.get(name)).map(String::as_str), OF_ONE_BROKER),
            (all.and_then(|set| set.get(name)).map(String::as_str), OF_ALL_BROKERS),
            (start.map(|(_, value, ..)| value.as_str()), OF_START),
            (built_in, DEFAULT),
        ];
        let values: Vec<_> = levels.into_iter().filter_map(|(value, source)| Some((value?, source))).collect();
        let fallback = fallback(name).filter(|_| !values.is_empty());
        broker_entry(name, &values, fallback, start.map_or("", |(.., about)| *about))
    };
    names.into_iter().map(entry).collect()
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
        assert_eq!(some[0].synonyms.len(), 0, "Kafka names none for this one");
    }

    /// As Kafka 4.4 describes them.
    #[test]
    fn synonyms_have_the_names_of_the_brokers_settings() {
        let state = state();
        create(&state, "a", 1);
        let one = |kind, name: &str, key: &str| ask(&state, kind, name, Some(&[key]), 4).configs.remove(0);
        let synonyms = |entry: DescribeConfigsResourceResult| -> Vec<(String, String, i8)> {
            let synonym =
                |one: &DescribeConfigsSynonym| (one.name.to_string(), one.value.as_deref().unwrap().into(), one.source);
            entry.synonyms.iter().map(synonym).collect()
        };
        let expect = |name: &str, value: &str, source| (name.to_owned(), value.to_owned(), source);
        let policy = synonyms(one(TOPIC, "a", "cleanup.policy"));
        assert_eq!(policy, [expect("log.cleanup.policy", "delete", 5)]);
        let in_sync = synonyms(one(TOPIC, "a", "min.insync.replicas"));
        assert_eq!(in_sync, [expect("min.insync.replicas", "1", 3), expect("min.insync.replicas", "1", 5)]);
        let session = synonyms(one(GROUP, "g", "consumer.session.timeout.ms"));
        assert_eq!(session, [expect("group.consumer.session.timeout.ms", "45000", 5)]);
        assert_eq!(synonyms(one(CLIENT_METRICS, "m", "interval.ms")), []);
        let logger = one(LOGGER, "1", "root");
        assert_eq!((logger.value.as_deref(), logger.config_source, logger.config_type), (Some("INFO"), 6, 0));
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
        assert_eq!(ask(&state, 16, "", None, 4).error_code, ErrorCode::INVALID_REQUEST);
        assert_eq!(ask(&state, 32, "", None, 4).error_code, ErrorCode::INVALID_REQUEST);
        assert_eq!(ask(&state, 99, "x", None, 4).error_code, ErrorCode::INVALID_REQUEST);
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
