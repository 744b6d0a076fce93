//! What is special about the records of groups: blobs of members, and what other brokers than Apache Kafka write.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use milena_schema::MessageSpec;
use serde_json::Value;

use crate::blob::{Blob, Kind, read};

/// The blobs of members in the value of a group, by their paths.
pub(super) fn blobs(message: &MessageSpec, json: &Value) -> Vec<(String, Blob)> {
    let mut found = Vec::new();
    let mut look = |path: String, json: &Value, kind: Kind| {
        let bytes = json.as_str().and_then(|text| STANDARD.decode(text).ok()).filter(|bytes| !bytes.is_empty());
        if let Some(blob) = bytes.and_then(|bytes| read(kind, bytes.into()).ok()) {
            found.push((path, blob));
        }
    };
    match message.name.as_str() {
        "GroupMetadataValue" => {
            let (subscription, assignment) = match json["protocolType"].as_str() {
                Some("consumer") => (Kind::Subscription, Kind::Assignment),
                Some("connect") => (Kind::ConnectSubscription, Kind::ConnectAssignment),
                _ => return Vec::new(),
            };
            for (index, member) in json["members"].as_array().into_iter().flatten().enumerate() {
                look(format!("members[{index}].subscription"), &member["subscription"], subscription);
                look(format!("members[{index}].assignment"), &member["assignment"], assignment);
            }
        }
        "ConsumerGroupMemberMetadataValue" => {
            let protocols = json["classicMemberMetadata"]["supportedProtocols"].as_array();
            for (index, protocol) in protocols.into_iter().flatten().enumerate() {
                let path = format!("classicMemberMetadata.supportedProtocols[{index}].metadata");
                look(path, &protocol["metadata"], Kind::Subscription);
            }
        }
        _ => {}
    }
    found
}

/// Redpanda repeats the version of a group in front of each of its members. Gives the bytes as Kafka would have them,
/// without the version in front of all, if that is what they are.
pub(super) fn without_member_versions(message: &MessageSpec, bytes: &Bytes, version: i16) -> Option<Bytes> {
    if message.name != "GroupMetadataValue" || message.is_flexible(version) {
        return None;
    }
    let notes = message.decode_annotated(bytes.clone(), version).notes;
    let count_at = notes.iter().find(|note| note.depth == 1 && note.name == "members")?.range.start;
    let count = i32::from_be_bytes(*bytes.get(count_at..)?.first_chunk()?);
    let head = bytes.slice(..count_at);
    let mut rest = bytes.slice(count_at + 4..);
    let mut kafkas = BytesMut::from(&bytes[..count_at + 4]);
    for _ in 0..count {
        if i16::from_be_bytes(*rest.first_chunk()?) != version {
            return None;
        }
        // A group of this one member says where the member ends.
        let one = [&head[..], &1_i32.to_be_bytes(), &rest[2..]].concat();
        let leftover = message.decode(one.into(), version).ok()?.leftover;
        let member = rest.slice(2..rest.len() - leftover);
        kafkas.extend_from_slice(&member);
        rest = rest.slice(2 + member.len()..);
    }
    kafkas.extend_from_slice(&rest);
    Some(kafkas.freeze())
}
