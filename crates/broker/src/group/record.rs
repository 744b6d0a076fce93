//! The records of groups, at the versions that Kafka writes.

use milena_messages::group_coordinator::group_metadata_value::MemberMetadata;
use milena_messages::{GroupMetadataKey, GroupMetadataValue, OffsetCommitKey, OffsetCommitValue};

use crate::coordinator::record::{CoordinatorRecord, remove, set};
use crate::group::classic::ClassicGroup;
use crate::group::offset::Offset;
use crate::group::text;

const GROUP_VERSION: i16 = 3;
const OFFSET_VERSION: i16 = 3;
/// The only version with a time of expiry, which old clients may set.
const EXPIRING_OFFSET_VERSION: i16 = 1;

fn group_key(group: &str) -> GroupMetadataKey {
    GroupMetadataKey { group: group.to_owned().into() }
}

/// A group with its members and what was assigned to them.
pub(super) fn group(group: &ClassicGroup) -> CoordinatorRecord {
    let members = group.members().map(|member| MemberMetadata {
        member_id: member.id.clone().into(),
        group_instance_id: member.instance_id.clone().map(Into::into),
        client_id: member.client_id.clone().into(),
        client_host: member.client_host.clone().into(),
        rebalance_timeout: member.rebalance_timeout_ms,
        session_timeout: member.session_timeout_ms,
        subscription: group.protocol().and_then(|name| member.metadata(name)).unwrap_or_default(),
        assignment: member.assignment.clone(),
        ..Default::default()
    });
    let value = GroupMetadataValue {
        protocol_type: text(group.protocol_type()),
        generation: group.generation(),
        protocol: group.protocol().map(|name| name.to_owned().into()),
        leader: group.leader().map(|id| id.to_owned().into()),
        current_state_timestamp: group.state_since(),
        members: members.collect(),
        ..Default::default()
    };
    set(&group_key(group.id()), &value, GROUP_VERSION)
}

pub(super) fn group_tombstone(group: &str) -> CoordinatorRecord {
    remove(&group_key(group))
}

fn offset_key(group: &str, topic: &str, partition: i32) -> OffsetCommitKey {
    OffsetCommitKey { group: group.to_owned().into(), topic: topic.to_owned().into(), partition }
}

pub(super) fn offset(group: &str, topic: &str, partition: i32, offset: &Offset) -> CoordinatorRecord {
    let expires = offset.expire_timestamp.is_some();
    let value = OffsetCommitValue {
        offset: offset.offset,
        leader_epoch: if expires { -1 } else { offset.leader_epoch },
        metadata: offset.metadata.clone(),
        commit_timestamp: offset.commit_timestamp,
        expire_timestamp: offset.expire_timestamp.unwrap_or(-1),
        ..Default::default()
    };
    set(&offset_key(group, topic, partition), &value, if expires { EXPIRING_OFFSET_VERSION } else { OFFSET_VERSION })
}

pub(super) fn offset_tombstone(group: &str, topic: &str, partition: i32) -> CoordinatorRecord {
    remove(&offset_key(group, topic, partition))
}
