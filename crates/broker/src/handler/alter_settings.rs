//! What AlterConfigs and IncrementalAlterConfigs have in common: how settings are checked and changed.

use std::collections::{BTreeMap, HashMap, HashSet};

use milena_messages::{ByteString, ErrorCode};

use super::Context;
use super::authorize::unauthorized;
use super::describe_configs::{
    BROKER, CLIENT_METRICS, GROUP, LOGGER, ROOT_LEVEL, ROOT_LOGGER, TOPIC, config_resource, is_read_only, of_broker,
};
use crate::cluster::resource_config::{GROUP_SETTINGS, METRICS_SETTINGS, check_match};
use crate::cluster::setting::{Setting, parts};
use crate::cluster::stored_config::{ALL_BROKERS, MAX_RESOURCES, Values};
use crate::cluster::{broker_setting, topic_config, topic_name};
use crate::refusal::Refusal;
use crate::security::acl;

const MIN_IN_SYNC: &str = "min.insync.replicas";
const INTERVAL: &str = "interval.ms";
const LEVELS: &[&str] = &["DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN"];

/// What happens to a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Set,
    Delete,
    Append,
    Subtract,
    /// A number without meaning.
    Unknown,
}

impl From<i8> for Operation {
    fn from(number: i8) -> Self {
        match number {
            0 => Self::Set,
            1 => Self::Delete,
            2 => Self::Append,
            3 => Self::Subtract,
            _ => Self::Unknown,
        }
    }
}

#[derive(Debug)]
pub(super) struct Change {
    pub(super) name: ByteString,
    pub(super) operation: Operation,
    pub(super) value: Option<ByteString>,
}

/// The changes of one topic, broker, group, logger or subscription.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) resource_type: i8,
    pub(super) name: ByteString,
    /// Whether settings that no change names are deleted.
    pub(super) replace: bool,
    pub(super) changes: Vec<Change>,
}

fn invalid_request(message: impl Into<String>) -> Refusal {
    Refusal::new(ErrorCode::INVALID_REQUEST, message.into())
}

fn invalid_config(message: impl Into<String>) -> Refusal {
    Refusal::new(ErrorCode::INVALID_CONFIG, message.into())
}

/// Changes the settings of each resource; with `validate_only` only checks whether they could be changed. One result for
/// each resource, in their order.
pub(super) fn alter(context: &Context, resources: &[Resource], validate_only: bool) -> Vec<Result<(), Refusal>> {
    let mut times: HashMap<(i8, &str), u32> = HashMap::new();
    resources.iter().for_each(|one| *times.entry((one.resource_type, &*one.name)).or_default() += 1);
    // An operation without meaning makes the controller fail for all resources that come to it.
    let fails = resources.iter().any(comes_to_nothing);
    let alter_one = |resource: &Resource| {
        if times[&(resource.resource_type, &*resource.name)] > 1 {
            return Err(invalid_request("Each resource must appear at most once."));
        }
        check_changes(resource)?;
        if matches!(resource.resource_type, TOPIC | BROKER | LOGGER | CLIENT_METRICS | GROUP) {
            let of = config_resource(resource.resource_type, &resource.name);
            context.authorize(acl::Operation::AlterConfigs, of).map_err(unauthorized)?;
        }
        if fails && matches!(resource.resource_type, TOPIC | CLIENT_METRICS | GROUP) {
            return Err(Refusal::new(ErrorCode::UNKNOWN_SERVER_ERROR, ""));
        }
        match resource.resource_type {
            TOPIC => alter_topic(context, resource, validate_only),
            BROKER if fails => {
                alter_broker(context, resource, true).and(Err(Refusal::new(ErrorCode::UNKNOWN_SERVER_ERROR, "")))
            }
            BROKER => alter_broker(context, resource, validate_only),
            LOGGER if !resource.replace => alter_logger(context, resource, validate_only),
            CLIENT_METRICS => alter_metrics(context, resource, validate_only),
            GROUP => alter_group(context, resource, validate_only),
            other => Err(invalid_request(format!("Unknown resource type {other}"))),
        }
    };
    resources.iter().map(alter_one).collect()
}

/// Whether the controller would come upon an operation without meaning while it changes this resource.
fn comes_to_nothing(resource: &Resource) -> bool {
    let is_forwarded = matches!(resource.resource_type, TOPIC | CLIENT_METRICS | GROUP);
    let setting = |name: &str| if resource.resource_type == TOPIC { topic_config::setting(name) } else { None };
    is_forwarded
        && check_changes(resource).is_ok()
        && changed(&Values::new(), resource, setting)
            .is_err_and(|refusal| refusal.code == ErrorCode::UNKNOWN_SERVER_ERROR)
}

/// What Kafka checks for all types.
fn check_changes(resource: &Resource) -> Result<(), Refusal> {
    let mut seen = HashSet::new();
    if !resource.changes.iter().all(|change| seen.insert(&change.name)) {
        return Err(invalid_request("Error due to duplicate config keys"));
    }
    let is_null = |change: &&Change| change.value.is_none() && change.operation != Operation::Delete;
    let nulls: Vec<&str> = resource.changes.iter().filter(is_null).map(|change| &*change.name).collect();
    if nulls.is_empty() {
        return Ok(());
    }
    Err(invalid_request(format!("Null value not supported for : {}", nulls.join(","))))
}

/// The values after the changes. `setting` gives what is known of a setting whose values may be lists.
fn changed(
    before: &Values,
    resource: &Resource,
    setting: impl Fn(&str) -> Option<&'static Setting>,
) -> Result<Values, Refusal> {
    let mut after = if resource.replace { Values::new() } else { before.clone() };
    for Change { name, operation, value } in &resource.changes {
        let (name, value) = (&**name, value.as_deref().unwrap_or(""));
        match operation {
            Operation::Set => _ = after.insert(name.to_owned(), value.to_owned()),
            Operation::Delete => _ = after.remove(name),
            Operation::Append | Operation::Subtract => {
                let word = if *operation == Operation::Append { "APPEND" } else { "SUBTRACT" };
                let Some(setting) = setting(name).filter(|setting| setting.kind.is_list()) else {
                    return Err(invalid_config(format!("Can't {word} to key {name} because its type is not LIST.")));
                };
                let list = edited(after.get(name).map_or(setting.default, String::as_str), value, *operation);
                after.insert(name.to_owned(), list);
            }
            Operation::Unknown => return Err(Refusal::new(ErrorCode::UNKNOWN_SERVER_ERROR, "")),
        }
    }
    Ok(after)
}

/// A list with parts appended or taken out.
fn edited(current: &str, value: &str, operation: Operation) -> String {
    let mut list: Vec<&str> = parts(current).collect();
    for part in parts(value) {
        match operation {
            Operation::Append if !list.contains(&part) => list.push(part),
            Operation::Append => {}
            _ => list.retain(|other| *other != part),
        }
    }
    list.join(",")
}

fn alter_topic(context: &Context, resource: &Resource, validate_only: bool) -> Result<(), Refusal> {
    // Kafka looks at the changes before the name, and at the name before the values.
    let change = |before: &Values| {
        let after = changed(before, resource, topic_config::setting)?;
        if resource.name.is_empty() {
            return Err(invalid_request("Default topic resources are not allowed."));
        }
        topic_name::check(&resource.name)?;
        Ok(after)
    };
    context.state.alter_topic(&resource.name, validate_only, change)
}

/// The values of a broker after the changes.
fn changed_broker(before: &Values, resource: &Resource) -> Result<Values, Refusal> {
    let mut after = if resource.replace { Values::new() } else { before.clone() };
    for Change { name, operation, value } in &resource.changes {
        let (name, value) = (&**name, value.as_deref().unwrap_or(""));
        let known = broker_setting::all().get(name);
        match operation {
            Operation::Set => _ = after.insert(name.to_owned(), value.to_owned()),
            Operation::Delete => _ = after.remove(name),
            Operation::Append | Operation::Subtract => {
                let word = if *operation == Operation::Append { "append" } else { "subtract" };
                if !known.is_some_and(|setting| setting.is_list()) {
                    return Err(invalid_config(format!("Config value {word} is not allowed for config key: {name}")));
                }
                let default = known.and_then(|setting| setting.default).unwrap_or_default();
                let list = edited(after.get(name).map_or(default, String::as_str), value, *operation);
                after.insert(name.to_owned(), list);
            }
            Operation::Unknown => return Err(invalid_request("The server does not know this operation.")),
        }
    }
    Ok(after)
}

/// Checks what a broker would have set.
fn check_broker(after: &Values) -> Result<(), Refusal> {
    let names = |which: &dyn Fn(&str) -> bool| {
        after.keys().map(String::as_str).filter(|name| which(name)).collect::<Vec<_>>().join(", ")
    };
    let fixed = names(&is_read_only);
    if !fixed.is_empty() {
        return Err(invalid_request(format!("Cannot update these configs dynamically: [{fixed}]")));
    }
    let of_listeners = names(&broker_setting::is_of_listeners);
    if !of_listeners.is_empty() {
        return Err(invalid_request(format!(
            "These security configs can be dynamically updated only per-listener using the listener prefix: \
             [{of_listeners}]"
        )));
    }
    for (key, value) in after {
        if let Some(setting) = broker_setting::all().get(key.as_str()) {
            setting.check(key, value).map_err(invalid_request)?;
        }
        let kind = of_broker(key).map(|setting| setting.kind);
        kind.map_or(Ok(()), |kind| kind.check(key, value)).map_err(invalid_request)?;
    }
    Ok(())
}

fn alter_broker(context: &Context, resource: &Resource, validate_only: bool) -> Result<(), Refusal> {
    let all = resource.name.is_empty();
    if !all {
        match resource.name.parse::<i32>() {
            Ok(id) if id == context.node.id => {}
            Ok(id) => {
                let own = context.node.id;
                return Err(invalid_request(format!("Unexpected broker id, expected {own}, but received {id}")));
            }
            Err(_) => {
                return Err(invalid_request(format!("Node id must be an integer, but it is: {}", resource.name)));
            }
        }
    }
    let (state, name) = (&context.state, if all { ALL_BROKERS } else { &*resource.name });
    {
        let mut stored = state.stored_configs();
        let before = stored.brokers.get(name).cloned().unwrap_or_default();
        let after = changed_broker(&before, resource)?;
        check_broker(&after)?;
        if all && before.contains_key(MIN_IN_SYNC) && !after.contains_key(MIN_IN_SYNC) {
            let message = "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.";
            return Err(invalid_config(message));
        }
        if validate_only {
            return Ok(());
        }
        put(&mut stored.brokers, name, after)?;
    }
    if all {
        state.broker_defaults_changed();
    }
    Ok(())
}

fn alter_logger(context: &Context, resource: &Resource, validate_only: bool) -> Result<(), Refusal> {
    let own = context.node.id;
    match resource.name.parse::<i32>() {
        Ok(id) if id == own => {}
        Ok(id) => return Err(invalid_request(format!("Unexpected node id. Expected {own}, but received {id}"))),
        Err(_) => return Err(invalid_request(format!("Node id must be an integer, but it is: {}", resource.name))),
    }
    let mut level = None;
    for Change { name, operation, value } in &resource.changes {
        let value = value.as_deref().unwrap_or("");
        let refused = |word| format!("{word} operation is not allowed for the BROKER_LOGGER resource");
        match operation {
            Operation::Append => return Err(invalid_request(refused("APPEND"))),
            Operation::Subtract => return Err(invalid_request(refused("SUBTRACT"))),
            Operation::Unknown => return Err(invalid_request(format!("Unknown operation for logger {name}"))),
            _ if *name != ROOT_LOGGER => return Err(invalid_config(format!("Logger {name} does not exist!"))),
            Operation::Delete => {
                return Err(invalid_request("Removing the log level of the root logger is not allowed"));
            }
            Operation::Set if !LEVELS.contains(&value) => {
                return Err(invalid_config(format!(
                    "Cannot set the log level of {name} to {value} as it is not a supported log level. Valid log levels \
                     are {}",
                    LEVELS.join(", ")
                )));
            }
            Operation::Set => level = Some(value),
        }
    }
    let levels = &mut context.state.stored_configs().levels;
    match level.filter(|_| !validate_only) {
        None => {}
        Some(ROOT_LEVEL) => _ = levels.remove(&own),
        Some(level) => _ = levels.insert(own, level.to_owned()),
    }
    Ok(())
}

fn alter_metrics(context: &Context, resource: &Resource, validate_only: bool) -> Result<(), Refusal> {
    let mut stored = context.state.stored_configs();
    let before = stored.client_metrics.get(&*resource.name).cloned().unwrap_or_default();
    let after = changed(&before, resource, |_| None)?;
    if resource.name.is_empty() {
        return Err(invalid_request("Subscription name can't be empty"));
    }
    for (key, value) in &after {
        let Some(setting) = METRICS_SETTINGS.iter().find(|setting| setting.name == key) else {
            return Err(invalid_request(format!("Unknown client metrics configuration: {key}")));
        };
        setting.kind.check(key, value).map_err(invalid_config)?;
        if key == INTERVAL && !value.parse::<i64>().is_ok_and(|interval| (100..=3_600_000).contains(&interval)) {
            return Err(invalid_request(format!(
                "Invalid value {value} for {INTERVAL}, interval must be between 100 and 3600000 (1 hour)"
            )));
        }
        if let (true, Err(pair)) = (key == "match", check_match(value)) {
            return Err(invalid_config(format!("Illegal client matching pattern: {pair}")));
        }
    }
    if validate_only {
        return Ok(());
    }
    stored.client_metrics_version += 1;
    put(&mut stored.client_metrics, &resource.name, after)
}

fn alter_group(context: &Context, resource: &Resource, validate_only: bool) -> Result<(), Refusal> {
    let mut stored = context.state.stored_configs();
    let before = stored.groups.get(&*resource.name).cloned().unwrap_or_default();
    let after = changed(&before, resource, |_| None)?;
    if resource.name.is_empty() {
        return Err(invalid_request("Default group resources are not allowed."));
    }
    for (key, value) in &after {
        let Some(setting) = GROUP_SETTINGS.iter().find(|setting| setting.name == key) else {
            return Err(invalid_config(format!("Unknown group config name: {key}")));
        };
        setting.kind.check(key, value).map_err(invalid_config)?;
    }
    if validate_only { Ok(()) } else { put(&mut stored.groups, &resource.name, after) }
}

/// Stores the settings; what has none is forgotten.
fn put(resources: &mut BTreeMap<String, Values>, name: &str, values: Values) -> Result<(), Refusal> {
    if values.is_empty() {
        resources.remove(name);
    } else if resources.len() >= MAX_RESOURCES && !resources.contains_key(name) {
        let message = format!("At most {MAX_RESOURCES} resources of a type have settings of their own.");
        return Err(Refusal::new(ErrorCode::POLICY_VIOLATION, message));
    } else {
        resources.insert(name.to_owned(), values);
    }
    Ok(())
}
