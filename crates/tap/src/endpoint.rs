//! Hosts and ports in answers, which become those of the proxy.

use std::collections::HashMap;
use std::sync::OnceLock;

use bytes::Bytes;
use milena_messages::ApiKey;
use milena_schema::{Field, MessageKind, MessageSpec, Spec, StructId, Type};
use milena_wire::varint;

use crate::header::response_body;
use crate::patch::Patches;
use crate::walk::{Found, Lost, Mark, Plan, port_size};

/// Structs of answers that hold a host and a port and are left as they are: message, struct, reason.
pub const LEFT_ALONE: &[(&str, &str, &str)] = &[
    ("StreamsGroupHeartbeatResponse", "Endpoint", "where the applications of Kafka Streams reach each other"),
    ("StreamsGroupDescribeResponse", "Endpoint", "where the applications of Kafka Streams reach each other"),
];

/// Requests that hold hosts are left as they are: with one exception brokers and controllers send them, and say in them
/// where others reach them, which a proxy may not change. AddRaftVoter is sent by people who name the address themselves.
pub const REQUESTS_WITH_HOSTS: &[&str] = &[
    "AddRaftVoterRequest",
    "BeginQuorumEpochRequest",
    "BrokerRegistrationRequest",
    "ControllerRegistrationRequest",
    "EndQuorumEpochRequest",
    "LeaderAndIsrRequest",
    "StreamsGroupHeartbeatRequest",
    "UpdateMetadataRequest",
    "UpdateRaftVoterRequest",
];

/// Whether a field of an answer is the host of a node, with its port behind.
fn is_endpoint(message: &MessageSpec, id: StructId, field: &Field) -> bool {
    let name = &message.structure(id).name;
    message.kind == MessageKind::Response
        && field.name == "Host"
        && field.ty == Type::String
        && message.structure(id).fields.iter().any(|field| port_size(field).is_some())
        && !LEFT_ALONE.iter().any(|(left, inner, _)| *left == message.name && inner == name)
}

/// How to find the endpoints in an answer; `None` when it has none, or is not known.
fn plan(api: ApiKey, version: i16) -> Option<&'static Plan> {
    static PLANS: OnceLock<HashMap<(i16, i16), Plan>> = OnceLock::new();
    PLANS
        .get_or_init(|| {
            let responses = Spec::kafka().messages.iter().filter(|message| message.kind == MessageKind::Response);
            let all = responses.flat_map(|message| message.versions.iter().map(move |version| (message, version)));
            let plans = all.filter_map(|(message, version)| {
                let mark = |message: &MessageSpec, id: StructId, field: &Field| {
                    is_endpoint(message, id, field).then_some(Mark::Endpoint)
                };
                Some(((message.key?, version), Plan::new(message, version, &mark)))
            });
            plans.filter(|(_, plan)| plan.stops()).collect()
        })
        .get(&(api.0, version))
}

/// Makes the plans, which takes a few milliseconds, before the first answer waits for it.
pub(crate) fn prepare() {
    let _ = plan(ApiKey::METADATA, 0);
}

/// Where clients reach a node of this host and port; `None` when they should go there by themselves.
pub(crate) type Local<'a> = dyn FnMut(&str, i32) -> Option<(String, u16)> + 'a;

/// What became of an answer.
#[derive(Debug)]
pub(crate) enum Rewritten {
    /// It has no endpoints, or none that `local` knows better.
    Same,
    /// The answer in pieces to be written one behind the other.
    Changed(Vec<Bytes>),
    /// It is not what the protocol says, or of a version that no release has.
    Unreadable,
}

/// Asks `local` about each host and port of an answer and puts what it says in their place. `frame` is without its size.
pub(crate) fn rewrite(api: ApiKey, version: i16, frame: &Bytes, local: &mut Local<'_>) -> Rewritten {
    let Some(plan) = plan(api, version) else {
        // A version to come of an API that names nodes will name them too, nobody knows where.
        let newest = api.versions().max();
        let hidden = version > newest && self::plan(api, newest).is_some();
        return if hidden { Rewritten::Unreadable } else { Rewritten::Same };
    };
    let mut patches = Patches::default();
    let walked = response_body(api, version, frame).ok_or(Lost(0)).and_then(|body| {
        plan.walk(frame, body, &mut |found| {
            let Ok(host) = std::str::from_utf8(&frame[found.value.clone()]) else { return };
            let port = match frame[found.port.clone()] {
                [a, b] => u16::from_be_bytes([a, b]).into(),
                [a, b, c, d] => i32::from_be_bytes([a, b, c, d]),
                _ => return,
            };
            // An answer without a node has no host, and -1 or 0 for its port.
            if host.is_empty() || port <= 0 {
                return;
            }
            if let Some((host, port)) = local(host, port) {
                patches.put_found(found, found.field.start..found.port.end, endpoint(found, &host, port));
            }
        })
    });
    match walked {
        Err(Lost(_)) => Rewritten::Unreadable,
        Ok(()) if patches.is_empty() => Rewritten::Same,
        Ok(()) => Rewritten::Changed(patches.apply(frame)),
    }
}

/// Host and port as the version writes them.
fn endpoint(found: &Found<'_>, host: &str, port: u16) -> Bytes {
    let mut bytes = Vec::with_capacity(host.len() + 8);
    match found.flexible {
        true => varint::write_u32(&mut bytes, host.len() as u32 + 1),
        false => bytes.extend((host.len() as i16).to_be_bytes()),
    }
    bytes.extend(host.as_bytes());
    match found.port.len() {
        2 => bytes.extend(port.to_be_bytes()),
        _ => bytes.extend(i32::from(port).to_be_bytes()),
    }
    bytes.into()
}

#[cfg(test)]
mod tests;
