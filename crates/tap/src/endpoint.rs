//! Hosts and ports in responses, which become those of the proxy.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use milena_connection::response_body_start;
use milena_messages::{ApiKey, ByteString};
use milena_schema::{Field, Finder, MessageKind, MessageSpec, Scalar, Spec, StructSpec, TagSize, Type};
use milena_wire::varint;

use crate::patch::Patches;

/// Structs of responses that hold a host and a port and are left as they are: message, struct, reason.
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

/// Whether a field of a response is the host of a node, with its port after it.
fn is_endpoint(message: &MessageSpec, structure: &StructSpec, field: &Field) -> bool {
    message.kind == MessageKind::Response
        && field.name == "Host"
        && field.ty == Type::String
        && structure.fields.iter().any(is_port)
        && !LEFT_ALONE.iter().any(|(left, inner, _)| *left == message.name && *inner == structure.name)
}

/// Whether a field is the port to the host before it.
fn is_port(field: &Field) -> bool {
    field.name == "Port" && matches!(field.ty, Type::Int32 | Type::Uint16)
}

/// Whether a field is the id of the node whose host comes later.
fn is_node(field: &Field) -> bool {
    matches!(field.name.as_str(), "NodeId" | "BrokerId") && field.ty == Type::Int32
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
                    is_host(field) || ((is_port(field) || is_node(field)) && structure.fields.iter().any(is_host))
                };
                let has_hosts = |structure: &StructSpec, field: &Field| is_endpoint(message, structure, field);
                let hosts = message.finder(version, has_hosts).ok()?;
                let finder = message.finder(version, is_wanted).ok()?;
                let finder = finder.until_last().with_exact_tags();
                hosts.finds_anything().then_some(((message.key?, version), finder))
            });
            finders.collect()
        })
        .get(&(api.0, version))
}

/// Makes the finders, which takes a few milliseconds, before the first response waits for it.
pub(crate) fn prepare() {
    let _ = finder(ApiKey::METADATA, 0);
}

/// Where clients reach a node of this host and port; `None` when they should go there by themselves.
pub(crate) type Local<'a> = dyn FnMut(&str, i32) -> Option<(String, u16)> + 'a;

/// What became of a response.
#[derive(Debug)]
pub(crate) enum Rewritten {
    /// It has no endpoints, or none that `local` knows better.
    Same,
    /// The response in pieces, in their order.
    Changed(Vec<Bytes>),
    /// It is not what the protocol says, or of a version that no release has.
    Unreadable,
}

/// A host and port in a response.
struct Endpoint {
    /// The id of the node; -1 where the response has none.
    node: i32,
    host: ByteString,
    port: i32,
    range: Range<usize>,
    tags: Vec<TagSize>,
    flexible: bool,
    wide: bool,
}

/// Asks `local` about each host and port of a response, in the order of node ids, and puts what it says in their place.
/// `frame` is without its size.
pub(crate) fn rewrite(api: ApiKey, version: i16, frame: &Bytes, local: &mut Local<'_>) -> Rewritten {
    let Some(finder) = finder(api, version) else {
        // A future version of an API that names nodes will name them too, nobody knows where.
        let newest = api.versions().max();
        let hidden = version > newest && self::finder(api, newest).is_some();
        return if hidden { Rewritten::Unreadable } else { Rewritten::Same };
    };
    let Some(endpoints) = find(finder, api, version, frame) else { return Rewritten::Unreadable };
    // Listeners open in the order of node ids, whatever the order of the response.
    let mut order: Vec<usize> = (0..endpoints.len()).collect();
    order.sort_by_key(|at| (endpoints[*at].node, *at));
    let mut locals: Vec<Option<(String, u16)>> = vec![None; endpoints.len()];
    for at in order {
        locals[at] = local(&endpoints[at].host, endpoints[at].port);
    }
    let mut patches = Patches::default();
    for (endpoint, local) in endpoints.into_iter().zip(locals) {
        if let Some((host, port)) = local {
            let bytes = written(&endpoint, &host, port);
            patches.put_inside(&endpoint.tags, endpoint.range, bytes);
        }
    }
    if patches.is_empty() { Rewritten::Same } else { Rewritten::Changed(patches.apply(frame)) }
}

/// The endpoints of a response. `None` when it cannot be read.
fn find(finder: &Finder<'_>, api: ApiKey, version: i16, frame: &Bytes) -> Option<Vec<Endpoint>> {
    let body = response_body_start(frame, api, version)?;
    let mut endpoints = Vec::new();
    let mut node = -1;
    // A host whose port comes next: its bytes.
    let mut host: Option<(Range<usize>, ByteString)> = None;
    let walked = finder.walk(frame, body, |found| match found.value {
        // What is not UTF-8 was replaced, and is the name of no host.
        Scalar::Text(text) => {
            host = frame[found.range.clone()].ends_with(text.as_bytes()).then_some((found.range, text))
        }
        Scalar::Integer(id) if is_node(found.field) => node = i32::try_from(id).unwrap_or(-1),
        Scalar::Integer(port) => {
            let Some((range, host)) = host.take().filter(|(range, _)| range.end == found.range.start) else { return };
            let Some(port) = i32::try_from(port).ok().filter(|port| *port > 0) else { return };
            // A response without a node has no host, and -1 or 0 for its port.
            if !host.is_empty() {
                endpoints.push(Endpoint {
                    node,
                    host,
                    port,
                    range: range.start..found.range.end,
                    tags: found.tags.to_vec(),
                    flexible: found.flexible,
                    wide: found.field.ty != Type::Uint16,
                });
            }
        }
        _ => {}
    });
    walked.ok().map(|_| endpoints)
}

/// Host and port as the version writes them.
fn written(endpoint: &Endpoint, host: &str, port: u16) -> Bytes {
    let mut bytes = Vec::with_capacity(host.len() + 8);
    match endpoint.flexible {
        true => varint::write_u32(&mut bytes, host.len() as u32 + 1),
        false => bytes.extend((host.len() as i16).to_be_bytes()),
    }
    bytes.extend(host.as_bytes());
    match endpoint.wide {
        true => bytes.extend(i32::from(port).to_be_bytes()),
        false => bytes.extend(port.to_be_bytes()),
    }
    bytes.into()
}

#[cfg(test)]
mod tests;
