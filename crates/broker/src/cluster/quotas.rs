//! Quotas that clients stored; `throttle` enforces them.

use std::collections::BTreeMap;

use milena_messages::ErrorCode;

use crate::refusal::Refusal;

pub(crate) const USER: &str = "user";
pub(crate) const CLIENT_ID: &str = "client-id";
pub(crate) const IP: &str = "ip";

/// What a quota is for: names by type; without a name it is the default.
pub(crate) type Entity = BTreeMap<String, Option<String>>;

/// Most entities with quotas.
pub(crate) const MAX_ENTITIES: usize = 100_000;

const OF_CLIENTS: &[&str] =
    &["producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"];
const OF_ADDRESSES: &[&str] = &["connection_creation_rate"];
/// Those that need not be whole numbers.
const FRACTIONAL: &[&str] = &["request_percentage", "controller_mutation_rate"];

/// The quotas of each entity, by key.
pub(crate) type Quotas = BTreeMap<Entity, BTreeMap<String, f64>>;

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(ErrorCode::INVALID_REQUEST, message.into())
}

/// Checks an entity, with the messages of Kafka.
///
/// # Errors
/// INVALID_REQUEST.
pub(crate) fn check_entity(entity: &Entity) -> Result<(), Refusal> {
    if entity.is_empty() {
        return Err(invalid("Invalid empty client quota entity"));
    }
    for (entity_type, name) in entity {
        if !matches!(entity_type.as_str(), USER | CLIENT_ID | IP) {
            return Err(invalid(format!("Unhandled client quota entity type: {entity_type}")));
        }
        if name.as_deref() == Some("") {
            return Err(invalid(format!("Empty {entity_type} not supported")));
        }
    }
    if entity.contains_key(IP) && entity.len() > 1 {
        let message = "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId";
        return Err(invalid(message));
    }
    // Kafka would also look up the names of hosts.
    let is_address = |name: &str| name == "localhost" || name.parse::<std::net::IpAddr>().is_ok();
    if let Some(Some(name)) = entity.get(IP).filter(|name| name.as_deref().is_some_and(|name| !is_address(name))) {
        return Err(invalid(format!("{name} is not a valid IP or resolvable host.")));
    }
    Ok(())
}

/// Checks the key and value of a quota, with the messages of Kafka. `value` is `None` when the quota is removed.
///
/// # Errors
/// INVALID_REQUEST.
pub(crate) fn check_quota(entity: &Entity, key: &str, value: Option<f64>) -> Result<(), Refusal> {
    let Some(value) = value else { return Ok(()) };
    if let Some(Some(address)) = entity.get(IP) {
        if address.parse::<std::net::IpAddr>().is_err() {
            return Err(invalid(format!("{address} is not a valid IP or resolvable host.")));
        }
    }
    let known = if entity.contains_key(IP) { OF_ADDRESSES } else { OF_CLIENTS };
    if !known.contains(&key) {
        return Err(invalid(format!("Invalid configuration key {key}")));
    }
    if value.is_nan() || value <= 0.0 {
        return Err(invalid(format!("Quota {key} must be greater than 0")));
    }
    if !FRACTIONAL.contains(&key) && value.fract() != 0.0 {
        return Err(invalid(format!("{key} cannot be a fractional value.")));
    }
    Ok(())
}
