//! Committed offsets.

use std::collections::BTreeMap;

use milena_messages::{ByteString, ErrorCode, OffsetCommitKey, OffsetCommitValue, Uuid};

use crate::coordinator::Effects;
use crate::coordinator::record::CoordinatorRecord;
use crate::group::classic::{ClassicGroup, Phase};
use crate::group::consumer::subscription;
use crate::group::{GroupMachine, record};

/// The protocol type of consumers.
pub(super) const CONSUMER: &str = "consumer";

/// What a group committed for a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offset {
    pub(crate) offset: i64,
    /// -1 when the client knew none.
    pub(crate) leader_epoch: i32,
    pub(crate) metadata: ByteString,
    pub(crate) commit_timestamp: i64,
    /// When it is dropped, if an old client said so.
    pub(crate) expire_timestamp: Option<i64>,
}

/// The offsets of one group.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    committed: BTreeMap<(String, i32), Offset>,
    /// Those of open transactions, by producer.
    pending: BTreeMap<i64, BTreeMap<(String, i32), Offset>>,
}

impl Offsets {
    pub(crate) fn get(&self, topic: &str, partition: i32) -> Option<&Offset> {
        self.committed.get(&(topic.to_owned(), partition))
    }

    /// All committed ones, by topic and partition.
    pub(crate) fn committed(&self) -> impl Iterator<Item = (&str, i32, &Offset)> {
        self.committed.iter().map(|((topic, partition), offset)| (&**topic, *partition, offset))
    }

    /// Whether an open transaction is about to change the offset (KIP-447).
    pub(crate) fn is_unstable(&self, topic: &str, partition: i32) -> bool {
        self.pending.values().any(|offsets| offsets.contains_key(&(topic.to_owned(), partition)))
    }

    /// Whether an open transaction is about to commit offsets.
    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.committed.is_empty() && self.pending.is_empty()
    }

    pub(super) fn ended(&mut self, producer_id: i64, committed: bool) {
        if let Some(offsets) = self.pending.remove(&producer_id).filter(|_| committed) {
            self.committed.extend(offsets);
        }
    }
}

/// Who commits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Committer<'a> {
    pub(crate) member_id: &'a str,
    pub(crate) instance_id: Option<&'a str>,
    pub(crate) generation: i32,
    pub(crate) is_transactional: bool,
    /// Whether the request is of a version that knows of the epochs of members.
    pub(crate) knows_epochs: bool,
}

impl GroupMachine {
    /// Checks whether a member may commit, and lets its session go on.
    ///
    /// # Errors
    /// It is no member, or not of this generation.
    pub(crate) fn check_commit(&mut self, id: &str, who: Committer<'_>, now_ms: i64) -> Result<(), ErrorCode> {
        if let Some(group) = self.consumers.get(id) {
            return group.check_commit(who);
        }
        if self.is_share_group(id) {
            return Err(ErrorCode::GROUP_ID_NOT_FOUND);
        }
        if let Some(group) = self.streams.get(id) {
            return group.check_commit(who);
        }
        let Some(group) = self.groups.get_mut(id) else {
            // Without a generation it is a consumer that assigns by itself, or an operator.
            return match who.generation {
                ..0 => Ok(()),
                _ if who.knows_epochs => Err(ErrorCode::GROUP_ID_NOT_FOUND),
                _ => Err(ErrorCode::ILLEGAL_GENERATION),
            };
        };
        group.check_commit(who)?;
        if matches!(group.phase, Phase::Stable | Phase::PreparingRebalance) {
            group.heard_of(who.member_id, now_ms);
        }
        self.arm(id);
        Ok(())
    }

    /// Checks whether a committer that was [checked](Self::check_commit) may commit for a partition.
    ///
    /// # Errors
    /// It is a member of a consumer group that got the partition later, or does not have it.
    pub(crate) fn check_partition(
        &self,
        id: &str,
        who: Committer<'_>,
        (name, topic): (&str, Uuid),
        partition: i32,
    ) -> Result<(), ErrorCode> {
        if let Some(group) = self.streams.get(id) {
            return group.check_partition(who, name, partition);
        }
        self.consumers.get(id).map_or(Ok(()), |group| group.check_partition(who, topic, partition))
    }

    /// Commits an offset whose committer was [checked](Self::check_commit). The size of all commits is checked after the
    /// last one.
    pub(crate) fn commit(
        &mut self,
        id: &str,
        topic: &str,
        partition: i32,
        offset: &Offset,
        effects: &mut Effects<GroupMachine>,
    ) -> ErrorCode {
        if offset.metadata.len() > self.settings.max_metadata_bytes {
            return ErrorCode::OFFSET_METADATA_TOO_LARGE;
        }
        if effects.has_room() {
            effects.record(record::offset(id, topic, partition, offset));
        }
        ErrorCode::NONE
    }

    /// Checks whether offsets of a group may be deleted.
    ///
    /// # Errors
    /// There is no such group; it has members that are no consumers.
    pub(crate) fn check_delete_offsets(&self, id: &str) -> Result<(), ErrorCode> {
        if id.is_empty() {
            return Err(ErrorCode::INVALID_GROUP_ID);
        }
        match self.groups.get(id) {
            None if !self.has_group(id) || self.is_share_group(id) => Err(ErrorCode::GROUP_ID_NOT_FOUND),
            Some(group) if !group.is_empty() && group.protocol_type() != Some(CONSUMER) => {
                Err(ErrorCode::NON_EMPTY_GROUP)
            }
            _ => Ok(()),
        }
    }

    /// Whether a consumer of the group reads the topic. Subscriptions that cannot be read count as those of all topics.
    pub(crate) fn is_subscribed(&self, id: &str, topic: &str) -> bool {
        if let Some(group) = self.streams.get(id) {
            return group.is_subscribed(topic);
        }
        if let Some(group) = self.consumers.get(id) {
            return group.is_subscribed(topic);
        }
        let Some(group) = self.groups.get(id).filter(|group| !group.is_empty()) else { return false };
        group.members().any(|member| {
            let metadata = group.protocol().and_then(|name| member.metadata(name)).unwrap_or_default();
            subscription(&metadata).is_none_or(|said| said.topics.iter().any(|name| name == topic))
        })
    }

    /// OffsetDelete of one partition.
    pub(crate) fn delete_offset(&self, id: &str, topic: &str, partition: i32, effects: &mut Effects<GroupMachine>) {
        if self.offsets.get(id).is_some_and(|offsets| offsets.get(topic, partition).is_some()) {
            effects.record(record::offset_tombstone(id, topic, partition));
        }
    }

    /// A topic was deleted: nobody needs its offsets.
    pub(crate) fn forget_topic(&self, name: &str, effects: &mut Effects<GroupMachine>) {
        for (group, offsets) in &self.offsets {
            for (topic, partition, _) in offsets.committed().filter(|(topic, ..)| *topic == name) {
                effects.record(record::offset_tombstone(group, topic, partition));
            }
        }
    }

    pub(super) fn replay_offset(
        &mut self,
        record: &CoordinatorRecord,
        producer_id: Option<i64>,
    ) -> Result<(), milena_wire::Error> {
        let key: OffsetCommitKey = record.read_key()?;
        let place = (key.topic.to_string(), key.partition);
        let group = key.group.to_string();
        if record.value.is_none() {
            if let Some(offsets) = self.offsets.get_mut(&group) {
                offsets.committed.remove(&place);
                if offsets.is_empty() {
                    self.offsets.remove(&group);
                }
            }
            return Ok(());
        }
        let value: OffsetCommitValue = record.read_value()?;
        // Offsets without a group are those of a consumer that assigns by itself. It has an empty group from now on, which
        // stays when the offsets are deleted.
        if !self.has_group(&group) {
            self.groups.insert(group.clone(), ClassicGroup::new(group.clone(), value.commit_timestamp));
        }
        let offset = Offset {
            offset: value.offset,
            leader_epoch: value.leader_epoch,
            metadata: value.metadata,
            commit_timestamp: value.commit_timestamp,
            expire_timestamp: Some(value.expire_timestamp).filter(|time| *time >= 0),
        };
        let offsets = self.offsets.entry(group).or_default();
        match producer_id {
            None => _ = offsets.committed.insert(place, offset),
            Some(id) => _ = offsets.pending.entry(id).or_default().insert(place, offset),
        }
        Ok(())
    }
}

impl ClassicGroup {
    fn check_commit(&self, who: Committer<'_>) -> Result<(), ErrorCode> {
        if who.generation < 0 && self.is_empty() {
            return Ok(());
        }
        let names_member = who.generation >= 0 || !who.member_id.is_empty() || who.instance_id.is_some();
        if names_member {
            self.check_member(who.member_id, who.instance_id)?;
            if who.generation != self.generation {
                return Err(ErrorCode::ILLEGAL_GENERATION);
            }
        } else if !who.is_transactional && !self.is_empty() {
            return Err(ErrorCode::UNKNOWN_MEMBER_ID);
        }
        if self.phase == Phase::CompletingRebalance {
            // It knows the new generation, and has to wait for its assignment.
            return Err(ErrorCode::REBALANCE_IN_PROGRESS);
        }
        Ok(())
    }
}
