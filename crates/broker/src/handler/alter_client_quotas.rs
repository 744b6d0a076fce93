use std::collections::{HashMap, HashSet};

use milena_messages::alter_client_quotas::request::{self, OpData};
use milena_messages::alter_client_quotas::response::{EntityData, EntryData};
use milena_messages::{AlterClientQuotasRequest, AlterClientQuotasResponse, ErrorCode};

use super::Context;
use crate::cluster::quotas::{Entity, MAX_ENTITIES, check_entity, check_quota};
use crate::cost::Cost;
use crate::refusal::Refusal;
use crate::security::acl::Operation;

pub(super) fn handle(
    context: &Context,
    request: AlterClientQuotasRequest,
    _cost: &mut Cost,
) -> AlterClientQuotasResponse {
    let of = |entry: &request::EntryData| -> Entity {
        let part = |part: &request::EntityData| {
            (part.entity_type.to_string(), part.entity_name.as_ref().map(|name| name.to_string()))
        };
        entry.entity.iter().map(part).collect()
    };
    let entities: Vec<Entity> = request.entries.iter().map(of).collect();
    let mut times: HashMap<&Entity, u32> = HashMap::new();
    entities.iter().for_each(|entity| *times.entry(entity).or_default() += 1);
    if let Err(refusal) = context.authorize_cluster(Operation::AlterConfigs) {
        return refused(request.entries, &refusal);
    }
    let mut entries = Vec::new();
    for (entity, entry) in entities.iter().zip(&request.entries) {
        // One that is listed twice is in the response once, and nothing changes.
        let result = match times.remove(entity) {
            None => continue,
            // Kafka says the same when a key comes twice.
            Some(1) if !repeats_a_key(&entry.ops) => alter(context, entity, &entry.ops, request.validate_only),
            Some(_) => {
                let part =
                    |(kind, name): (&String, &Option<String>)| format!("{kind}={}", name.as_deref().unwrap_or("null"));
                let parts: Vec<String> = entity.iter().map(part).collect();
                let message = format!("Ignoring duplicate entity ClientQuotaEntity(entries={{{}}})", parts.join(", "));
                Err(Refusal::new(ErrorCode::INVALID_REQUEST, message))
            }
        };
        let (error_code, error_message) = match result {
            Ok(()) => (ErrorCode::NONE, None),
            Err(refusal) => (refusal.code, refusal.text()),
        };
        let part = |(entity_type, name): (&String, &Option<String>)| EntityData {
            entity_type: entity_type.as_str().into(),
            entity_name: name.as_deref().map(Into::into),
            ..Default::default()
        };
        let entity = entity.iter().map(part).collect();
        entries.push(EntryData { error_code, error_message, entity, ..Default::default() });
    }
    AlterClientQuotasResponse { entries, ..Default::default() }
}

/// What each entry gets when the client may change none.
fn refused(entries: Vec<request::EntryData>, refusal: &Refusal) -> AlterClientQuotasResponse {
    let part = |part: request::EntityData| EntityData {
        entity_type: part.entity_type,
        entity_name: part.entity_name,
        ..Default::default()
    };
    let entry = |entry: request::EntryData| EntryData {
        error_code: refusal.code,
        error_message: refusal.text(),
        entity: entry.entity.into_iter().map(part).collect(),
        ..Default::default()
    };
    AlterClientQuotasResponse { entries: entries.into_iter().map(entry).collect(), ..Default::default() }
}

fn repeats_a_key(ops: &[OpData]) -> bool {
    let mut seen = HashSet::new();
    !ops.iter().all(|op| seen.insert(&*op.key))
}

fn alter(context: &Context, entity: &Entity, ops: &[OpData], validate_only: bool) -> Result<(), Refusal> {
    check_entity(entity)?;
    for op in ops {
        check_quota(entity, &op.key, (!op.remove).then_some(op.value))?;
    }
    if validate_only {
        return Ok(());
    }
    let mut quotas = context.state.quotas();
    if quotas.len() >= MAX_ENTITIES && !quotas.contains_key(entity) {
        let message = format!("At most {MAX_ENTITIES} entities have quotas.");
        return Err(Refusal::new(ErrorCode::POLICY_VIOLATION, message));
    }
    let mut set = quotas.remove(entity).unwrap_or_default();
    for op in ops {
        if op.remove {
            set.remove(&*op.key);
        } else {
            set.insert(op.key.to_string(), op.value);
        }
    }
    if !set.is_empty() {
        quotas.insert(entity.clone(), set);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::tests::state;

    /// Codes and messages of Kafka 4.4.
    #[test]
    fn quotas_are_stored_or_refused_as_by_kafka() {
        let state = state();
        let ask = |entity: &[(&str, Option<&str>)], key: &str, value: f64, remove| {
            let part = |(kind, name): &(&str, Option<&str>)| request::EntityData {
                entity_type: (*kind).into(),
                entity_name: name.map(Into::into),
                ..Default::default()
            };
            let ops = vec![OpData { key: key.into(), value, remove, ..Default::default() }];
            let entry = request::EntryData { entity: entity.iter().map(part).collect(), ops, ..Default::default() };
            let request = AlterClientQuotasRequest { entries: vec![entry], ..Default::default() };
            let entry = handle(&state.at(1), request, &mut Cost::quick()).entries.remove(0);
            (entry.error_code, entry.error_message.map(|text| text.to_string()).unwrap_or_default())
        };
        let rate = "producer_byte_rate";
        for (entity, key, value, message) in [
            (&[("user", Some("bob"))][..], "nope", 1.0, "Invalid configuration key nope"),
            (&[("usr", Some("bob"))][..], rate, 1.0, "Unhandled client quota entity type: usr"),
            (&[][..], rate, 1.0, "Invalid empty client quota entity"),
            (&[("user", Some(""))][..], rate, 1.0, "Empty user not supported"),
            (
                &[("ip", Some("not an ip"))][..],
                "connection_creation_rate",
                1.0,
                "not an ip is not a valid IP or resolvable host.",
            ),
            (&[("ip", Some("1.2.3.4"))][..], rate, 1.0, "Invalid configuration key producer_byte_rate"),
            (&[("user", Some("s"))][..], rate, 0.0, "Quota producer_byte_rate must be greater than 0"),
            (&[("user", Some("s"))][..], rate, 1.5, "producer_byte_rate cannot be a fractional value."),
        ] {
            assert_eq!(ask(entity, key, value, false), (ErrorCode::INVALID_REQUEST, message.to_owned()));
        }
        let entity = [("user", None), ("client-id", Some("c"))];
        assert_eq!(ask(&entity, "request_percentage", 50.5, false).0, ErrorCode::NONE);
        assert_eq!(state.quotas().values().next().unwrap()["request_percentage"], 50.5);
        assert_eq!(ask(&entity, "request_percentage", 0.0, true).0, ErrorCode::NONE);
        assert!(state.quotas().is_empty());
    }
}
