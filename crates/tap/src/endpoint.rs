//! Hosts and ports in answers, which become those of the proxy.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use milena_messages::{ApiKey, ByteString};
use milena_schema::{Field, Finder, Found, MessageKind, MessageSpec, Scalar, Spec, StructSpec, Type};
use milena_wire::varint;

use crate::header::response_body;
use crate::patch::Patches;

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
fn is_endpoint(message: &MessageSpec, structure: &StructSpec, field: &Field) -> bool {
    message.kind == MessageKind::Response
        && field.name == "Host"
        && field.ty == Type::String
        && structure.fields.iter().any(is_port)
        && !LEFT_ALONE.iter().any(|(left, inner, _)| *left == message.name && *inner == structure.name)
}

/// Whether a field is the port to the host in front of it.
fn is_port(field: &Field) -> bool {
    field.name == "Port" && matches!(field.ty, Type::Int32 | Type::Uint16)
}

/// How to find the endpoints in a response; `None` when it has none, or is not known.
fn finder(api: ApiKey, version: i16) -> Option<&'static Finder<'static>> {
    static FINDERS: OnceLock<HashMap<(i16, i16), Finder<'static>>> = OnceLock::new();
    FINDERS
        .get_or_init(|| {
            let responses = Spec::kafka().messages.iter().filter(|message| message.kind == MessageKind::Response);
            let all = responses.flat_map(|message| message.versions.iter().map(move |version| (message, version)));
            let finders = all.filter_map(|(message, version)| {
                let is_wanted = |structure: &StructSpec, field: &Field| {
                    let is_host = |field: &Field| is_endpoint(message, structure, field);
                    is_host(field) || (is_port(field) && structure.fields.iter().any(is_host))
                };
                let finder = message.finder(version, is_wanted).ok()?;
                Some(((message.key?, version), finder.until_last().with_exact_tags()))
            });
            finders.filter(|(_, finder)| finder.finds_anything()).collect()
        })
        .get(&(api.0, version))
}

/// Makes the finders, which takes a few milliseconds, before the first response waits for it.
pub(crate) fn prepare() {
    let _ = finder(ApiKey::METADATA, 0);
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
    let Some(finder) = finder(api, version) else {
        // A version to come of an API that names nodes will name them too, nobody knows where.
        let newest = api.versions().max();
        let hidden = version > newest && self::finder(api, newest).is_some();
        return if hidden { Rewritten::Unreadable } else { Rewritten::Same };
    };
    let Some(body) = response_body(api, version, frame) else { return Rewritten::Unreadable };
    let mut patches = Patches::default();
    // A host whose port comes next: its bytes.
    let mut host: Option<(Range<usize>, ByteString)> = None;
    let walked = finder.walk(frame, body, |found| match found.value {
        // What is not UTF-8 was replaced, and is the name of no host.
        Scalar::Text(text) => {
            host = frame[found.range.clone()].ends_with(text.as_bytes()).then_some((found.range, text))
        }
        Scalar::Integer(port) => {
            let Some((range, host)) = host.take().filter(|(range, _)| range.end == found.range.start) else { return };
            let Some(port) = i32::try_from(port).ok().filter(|port| *port > 0) else { return };
            // A response without a node has no host, and -1 or 0 for its port.
            if host.is_empty() {
                return;
            }
            if let Some((host, port)) = local(&host, port) {
                patches.put_inside(found.tags, range.start..found.range.end, endpoint(&found, &host, port));
            }
        }
        _ => {}
    });
    match walked {
        Err(_) => Rewritten::Unreadable,
        Ok(_) if patches.is_empty() => Rewritten::Same,
        Ok(_) => Rewritten::Changed(patches.apply(frame)),
    }
}

/// Host and port as the version writes them; `found` is the port.
fn endpoint(found: &Found<'_, '_>, host: &str, port: u16) -> Bytes {
    let mut bytes = Vec::with_capacity(host.len() + 8);
    match found.flexible {
        true => varint::write_u32(&mut bytes, host.len() as u32 + 1),
        false => bytes.extend((host.len() as i16).to_be_bytes()),
    }
    bytes.extend(host.as_bytes());
    match found.field.ty {
        Type::Uint16 => bytes.extend(port.to_be_bytes()),
        _ => bytes.extend(i32::from(port).to_be_bytes()),
    }
    bytes.into()
}

#[cfg(test)]
mod tests;
