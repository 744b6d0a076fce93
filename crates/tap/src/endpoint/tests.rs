use std::collections::BTreeSet;

use milena_schema::StructId;
use milena_wire::VersionRange;
use serde_json::{Value, json};

use super::*;

/// The structs of a message that have a field by whose name it is a host or a port, and those fields' versions.
fn with_hosts(message: &MessageSpec) -> Vec<(StructId, VersionRange)> {
    let named = |field: &&Field| {
        let name = field.name.to_lowercase();
        // ClientHost is where a client is seen to be.
        (name.ends_with("host") || name.ends_with("port")) && name != "clienthost"
    };
    let mut all = Vec::new();
    for (index, structure) in message.structs.iter().enumerate() {
        // The host of an ACL is where clients come from.
        let is_acl = structure.fields.iter().any(|field| field.name == "PermissionType");
        if let Some(field) = structure.fields.iter().find(named).filter(|_| !is_acl) {
            all.push((message_id(message, index), field.versions.intersect(message.versions)));
        }
    }
    all
}

/// The id of a struct by its place, which only fields that use it give away.
fn message_id(message: &MessageSpec, index: usize) -> StructId {
    let fields = message.structs.iter().flat_map(|structure| &structure.fields);
    let ids = fields.filter_map(|field| field.ty.struct_id()).chain([StructId::ROOT]);
    ids.into_iter().find(|id| id.index() == index).unwrap()
}

#[test]
fn every_host_of_every_response_is_rewritten_or_left_alone_for_a_reason() {
    let mut left = BTreeSet::new();
    let mut handled = 0;
    for message in Spec::kafka().messages.iter().filter(|message| message.kind == MessageKind::Response) {
        for (id, versions) in with_hosts(message) {
            let name = &message.structure(id).name;
            if LEFT_ALONE.iter().any(|(message_name, inner, _)| message_name == &message.name && inner == name) {
                left.insert((message.name.as_str(), name.as_str()));
                continue;
            }
            let fields = &message.structure(id).fields;
            let at = fields.iter().position(|field| is_endpoint(message, message.structure(id), field));
            let at = at.unwrap_or_else(|| panic!("{}.{name} has a host that nobody rewrites", message.name));
            assert!(is_port(&fields[at + 1]), "{}.{name}: the port does not follow the host", message.name);
            assert_eq!(fields[at].versions, fields[at + 1].versions, "{}.{name}", message.name);
            for version in versions.iter() {
                let found = finder(ApiKey(message.key.unwrap()), version).is_some();
                assert!(found, "{} version {version} has no finder", message.name);
                handled += 1;
            }
        }
    }
    let all: BTreeSet<_> = LEFT_ALONE.iter().map(|(message, inner, _)| (*message, *inner)).collect();
    assert_eq!(left, all, "every field on the list exists");
    assert!(handled > 40, "{handled} versions of responses have hosts");
}

#[test]
fn the_list_of_requests_with_hosts_is_complete() {
    let requests = Spec::kafka().messages.iter().filter(|message| message.kind == MessageKind::Request);
    let found: BTreeSet<&str> =
        requests.filter(|message| !with_hosts(message).is_empty()).map(|message| message.name.as_str()).collect();
    assert_eq!(found, REQUESTS_WITH_HOSTS.iter().copied().collect());
}

/// Moves every endpoint of a response in JSON, as the proxy should in bytes.
fn moved(message: &MessageSpec, id: StructId, json: &mut Value) -> usize {
    let mut count = 0;
    for field in &message.structure(id).fields {
        let Some(inner) = field.ty.struct_id() else { continue };
        match json.get_mut(&field.json_name) {
            Some(Value::Array(array)) => {
                count += array.iter_mut().map(|json| moved(message, inner, json)).sum::<usize>()
            }
            Some(json @ Value::Object(_)) => count += moved(message, inner, json),
            _ => {}
        }
    }
    if message.structure(id).fields.iter().any(|field| is_endpoint(message, message.structure(id), field))
        && json.get("port").is_some_and(|port| port.as_i64().unwrap() > 0)
    {
        let (host, port) = local(json["host"].as_str().unwrap(), json["port"].as_i64().unwrap() as i32);
        json["host"] = json!(host);
        json["port"] = json!(port);
        count += 1;
    }
    count
}

/// Longer hosts and shorter ones, so that sizes change in both directions and past the limits of varints.
fn local(host: &str, port: i32) -> (String, u16) {
    if port % 2 == 0 { ("x".to_owned(), 1) } else { (format!("{host}.{}", "long".repeat(40)), 65_535) }
}

#[test]
fn a_response_changes_in_hosts_and_ports_only() {
    let mut moves = 0;
    for message in Spec::kafka().messages.iter().filter(|message| message.kind == MessageKind::Response) {
        let api = ApiKey(message.key.unwrap());
        for (version, seed) in message.versions.iter().flat_map(|version| (0..4).map(move |seed| (version, seed))) {
            // The samples have unknown tagged fields in every struct.
            let json = message.sample_json(version, seed).unwrap();
            let frame = |json: &Value| {
                let mut frame = vec![0, 0, 0, 7];
                if api.response_header_version(version) >= 1 {
                    frame.extend([1, 9, 2, b'h', b'i']);
                }
                frame.extend(message.encode(json, version).unwrap());
                frame.extend(b"trailing");
                Bytes::from(frame)
            };
            let before = frame(&json);
            let mut wanted = json.clone();
            let count = moved(message, StructId::ROOT, &mut wanted);
            moves += count;
            let after = match rewrite(api, version, &before, &mut |host, port| Some(local(host, port))) {
                Rewritten::Same => before.clone(),
                Rewritten::Changed(pieces) => pieces.concat().into(),
                Rewritten::Unreadable => panic!("{} version {version} cannot be walked over", message.name),
            };
            assert!(after == frame(&wanted), "{} version {version}", message.name);
        }
    }
    assert!(moves > 200, "{moves} endpoints moved");
}

#[test]
fn a_response_without_a_node_stays_as_it_is() {
    // FindCoordinator version 0: error 15, node -1, no host, port -1.
    let frame = Bytes::from_static(b"\0\0\0\x07\0\x0f\xff\xff\xff\xff\0\0\xff\xff\xff\xff");
    let mut asked = |_: &str, _| -> Option<(String, u16)> { panic!("there is no host to ask about") };
    assert!(matches!(rewrite(ApiKey::FIND_COORDINATOR, 0, &frame, &mut asked), Rewritten::Same));
    assert!(matches!(rewrite(ApiKey(12_345), 0, &frame, &mut asked), Rewritten::Same));
    assert!(matches!(rewrite(ApiKey::HEARTBEAT, 99, &frame, &mut asked), Rewritten::Same));
    assert!(matches!(rewrite(ApiKey::METADATA, 99, &frame, &mut asked), Rewritten::Unreadable));
}

#[test]
fn a_response_that_is_cut_off_before_its_hosts_is_unreadable() {
    let message = Spec::kafka().message("ShareFetchResponse").unwrap();
    let version = message.versions.max();
    let mut whole = vec![0, 0, 0, 7, 0];
    whole.extend(message.encode(&message.sample_json(version, 1).unwrap(), version).unwrap());
    let end = whole.len();
    for size in 0..end {
        let frame = Bytes::from(whole[..size].to_vec());
        let rewritten = rewrite(ApiKey::SHARE_FETCH, version, &frame, &mut |_, _| Some(("x".to_owned(), 1)));
        // What comes after the last host is not looked at.
        assert!(matches!(rewritten, Rewritten::Unreadable) || size > end / 2, "{size}");
    }
}
