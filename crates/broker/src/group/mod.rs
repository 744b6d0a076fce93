//! The group coordinator: members, generations and committed offsets, as a machine without clock, sockets and tasks.
//!
//! Its records are those of Kafka's `__consumer_offsets`. A classic group is in the log as it was when its leader last
//! handed out assignments, as in Kafka; who is about to join is in memory only.

pub(crate) mod classic;
pub(crate) mod consumer;
mod expiry;
pub(crate) mod join;
mod leave;
pub(crate) mod offset;
mod record;
pub(crate) mod share;
pub(crate) mod streams;
mod sync;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use milena_messages::delete_groups::response::DeletableGroupResult;
use milena_messages::{ByteString, ErrorCode, GroupMetadataKey, JoinGroupResponse, OffsetCommitKey, SyncGroupResponse};
use milena_messages::{GroupMetadataValue, TypedRecord};

use crate::cluster::State;
use crate::coordinator::record::CoordinatorRecord;
use crate::coordinator::{Effects, Machine};
use crate::group::classic::ClassicGroup;
use crate::group::consumer::{ConsumerGroup, ConsumerSettings};
use crate::group::offset::Offsets;
use crate::group::share::{ShareGroup, StartOffsets, initialize_share_state};
use crate::group::streams::StreamsGroup;
use crate::share::settings::ShareSettings;
use crate::timers::Timers;

/// What a request that waited gets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GroupReply {
    Join(JoinGroupResponse),
    Sync(SyncGroupResponse),
}

/// What a group coordinator does outside of its log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GroupWork {
    /// Sets up the state of a share group at the share coordinator.
    InitializeShareState { group: String, offsets: StartOffsets },
}

/// The settings of a group coordinator, under Kafka's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupSettings {
    /// `group.min.session.timeout.ms`
    pub(crate) min_session_timeout_ms: i32,
    /// `group.max.session.timeout.ms`
    pub(crate) max_session_timeout_ms: i32,
    /// `group.initial.rebalance.delay.ms`
    pub(crate) initial_rebalance_delay_ms: i32,
    /// `group.max.size`
    pub(crate) max_size: usize,
    /// `offset.metadata.max.bytes`
    pub(crate) max_metadata_bytes: usize,
    /// `offsets.retention.minutes`, in milliseconds.
    pub(crate) offsets_retention_ms: i64,
    pub(crate) consumer: ConsumerSettings,
    /// Of share groups without settings of their own.
    pub(crate) share: ShareSettings,
    /// `group.streams.session.timeout.ms`
    pub(crate) streams_session_timeout_ms: i32,
}

/// The groups of one partition of `__consumer_offsets`.
#[derive(Debug)]
pub(crate) struct GroupMachine {
    pub(crate) settings: GroupSettings,
    pub(crate) groups: BTreeMap<String, ClassicGroup>,
    /// Groups of the consumer protocol; no id is in both.
    pub(crate) consumers: BTreeMap<String, ConsumerGroup>,
    /// Share groups; no id is here and in another map.
    pub(crate) shares: BTreeMap<String, ShareGroup>,
    /// Groups of Kafka Streams; no id is in another one.
    pub(crate) streams: BTreeMap<String, StreamsGroup>,
    pub(crate) offsets: BTreeMap<String, Offsets>,
    /// When to look at a group next, for each group that waits for something.
    due: Timers,
    /// When to look for expired offsets next.
    next_expiry: i64,
    /// While the log is replayed. A live group is ahead of its records, and does not listen to them.
    loading: bool,
}

impl Machine for GroupMachine {
    type Reply = GroupReply;
    type Work = GroupWork;

    fn new(state: &State) -> Self {
        Self::with_settings(state.group_settings())
    }

    fn replay(&mut self, record: &CoordinatorRecord, producer_id: Option<i64>) {
        // Kafka leaves out what it cannot read, with a line in its log.
        let Some((kind, _)) = record.key_type() else { return };
        let read = match kind {
            // Type 0 is the same key, from before 0.9.
            0 | OffsetCommitKey::TYPE => self.replay_offset(record, producer_id),
            GroupMetadataKey::TYPE => self.replay_group(record),
            kind => self
                .replay_consumer(kind, record)
                .and_then(|()| self.replay_share(kind, record))
                .and_then(|()| self.replay_streams(kind, record)),
        };
        if let Err(error) = read {
            tracing::debug!(%error, "a record of a group is left out");
        }
    }

    fn ended(&mut self, producer_id: i64, committed: bool) {
        self.offsets.values_mut().for_each(|offsets| offsets.ended(producer_id, committed));
        self.offsets.retain(|_, offsets| !offsets.is_empty());
    }

    fn loaded(&mut self, now_ms: i64) {
        self.loading = false;
        self.begin_expiry(now_ms);
        let ids: Vec<String> = self.groups.keys().cloned().collect();
        for id in ids {
            if let Some(group) = self.groups.get_mut(&id) {
                group.begin_sessions(now_ms);
            }
            self.arm(&id);
        }
        let ids: Vec<String> = self.consumers.keys().cloned().collect();
        for id in ids {
            if let Some(group) = self.consumers.get_mut(&id) {
                group.begin_timers(now_ms, &self.settings.consumer);
            }
            self.arm(&id);
        }
        let ids: Vec<String> = self.shares.keys().cloned().collect();
        for id in ids {
            if let Some(group) = self.shares.get_mut(&id) {
                group.begin_sessions(now_ms, &self.settings.share);
            }
            self.arm(&id);
        }
        let ids: Vec<String> = self.streams.keys().cloned().collect();
        for id in ids {
            if let Some(group) = self.streams.get_mut(&id) {
                group.begin_timers(now_ms, self.settings.streams_session_timeout_ms);
            }
            self.arm(&id);
        }
    }

    fn deadline(&self) -> Option<i64> {
        self.due.first().into_iter().chain(self.expiry_deadline()).min()
    }

    fn tick(&mut self, now_ms: i64, effects: &mut Effects<GroupMachine>) {
        for id in self.due.due(now_ms) {
            self.due.remove(&id);
            let settings = self.settings.clone();
            if let Some(group) = self.groups.get_mut(&id) {
                group.tick(now_ms, &settings, effects);
            }
            if let Some(group) = self.consumers.get_mut(&id) {
                let late = group.late(now_ms);
                self.fence_consumers(&id, &late, now_ms, effects);
            }
            if let Some(group) = self.shares.get_mut(&id) {
                group.tick(now_ms, effects);
            }
            self.tick_streams(&id, now_ms, effects);
            self.arm(&id);
        }
        self.expire(now_ms, effects);
    }

    fn work(state: &Arc<State>, node: i32, work: GroupWork) {
        let GroupWork::InitializeShareState { group, offsets } = work;
        let refusals = initialize_share_state(state, &group, &offsets);
        for ((topic, partition), refusal) in &refusals {
            tracing::debug!(group, %topic, partition, message = refusal.message, "no state of a share group");
        }
        let noted = state.groups.with(state, node, &group, |machine, now_ms, effects| {
            machine.share_initialized(&group, &offsets, refusals.is_empty(), now_ms, effects);
        });
        if let Err(code) = noted {
            // The next coordinator sets it up again, after a while.
            tracing::debug!(group, %code, "the coordinator moved while state was set up");
        }
    }
}

impl GroupMachine {
    pub(crate) fn with_settings(settings: GroupSettings) -> Self {
        Self {
            settings,
            groups: BTreeMap::new(),
            consumers: BTreeMap::new(),
            shares: BTreeMap::new(),
            streams: BTreeMap::new(),
            offsets: BTreeMap::new(),
            due: Timers::default(),
            next_expiry: 0,
            loading: true,
        }
    }

    fn replay_group(&mut self, record: &CoordinatorRecord) -> Result<(), milena_wire::Error> {
        if !self.loading {
            return Ok(());
        }
        let key: GroupMetadataKey = record.read_key()?;
        let id = key.group.to_string();
        if record.value.is_none() {
            self.groups.remove(&id);
            return Ok(());
        }
        let value: GroupMetadataValue = record.read_value()?;
        self.groups.insert(id.clone(), ClassicGroup::from_record(id, value));
        Ok(())
    }

    /// Notes when a group has something to do. Calls after a later time than the noted one cost nothing: the group is
    /// looked at too early once, and then noted again.
    fn arm(&mut self, id: &str) {
        let classic = self.groups.get(id).and_then(ClassicGroup::next_deadline);
        let consumer = || self.consumers.get(id).and_then(ConsumerGroup::next_deadline);
        let share = || self.shares.get(id).and_then(ShareGroup::next_deadline);
        let streams = || self.streams.get(id).and_then(StreamsGroup::next_deadline);
        let Some(wanted) = classic.or_else(consumer).or_else(share).or_else(streams) else { return };
        if self.due.get(id).is_none_or(|armed| wanted < armed) {
            self.due.set(id, wanted);
        }
    }

    /// Whether there is a group of this id, of any kind.
    pub(crate) fn has_group(&self, id: &str) -> bool {
        self.groups.contains_key(id)
            || self.consumers.contains_key(id)
            || self.streams.contains_key(id)
            || self.shares.contains_key(id)
    }

    /// Checks whether a member may fetch offsets of a group whose members have epochs.
    ///
    /// # Errors
    /// It is no member, or of another epoch.
    pub(crate) fn check_fetch(&self, id: &str, member_id: Option<&str>, epoch: i32) -> Result<(), ErrorCode> {
        if let Some(group) = self.streams.get(id) {
            return group.check_fetch(member_id, epoch);
        }
        self.consumers.get(id).map_or(Ok(()), |group| group.check_fetch(member_id, epoch))
    }

    /// Deletes groups without members, and their offsets.
    pub(crate) fn delete(&mut self, id: &str, effects: &mut Effects<GroupMachine>) -> DeletableGroupResult {
        let result =
            |error_code| DeletableGroupResult { group_id: id.to_owned().into(), error_code, ..Default::default() };
        let has_sharers = self.shares.get(id).is_some_and(|group| !group.is_empty());
        if self.has_consumers(id) || has_sharers || self.has_streams_members(id) {
            return result(ErrorCode::NON_EMPTY_GROUP);
        }
        if self.delete_share_group(id, effects) {
            self.due.remove(id);
            return result(ErrorCode::NONE);
        }
        match self.groups.get(id) {
            None if !self.has_group(id) => {
                return result(ErrorCode::GROUP_ID_NOT_FOUND);
            }
            Some(group) if !group.is_empty() => return result(ErrorCode::NON_EMPTY_GROUP),
            _ => {}
        }
        if let Some(offsets) = self.offsets.get(id) {
            offsets.committed().for_each(|(topic, partition, _)| {
                effects.record(record::offset_tombstone(id, topic, partition));
            });
        }
        self.delete_consumer_group(id, effects);
        self.delete_streams_group(id, effects);
        if self.groups.remove(id).is_some() {
            self.due.remove(id);
            effects.record(record::group_tombstone(id));
        }
        result(ErrorCode::NONE)
    }
}

/// An empty string for what is not there.
fn text(value: Option<&str>) -> ByteString {
    value.map(|value| value.to_owned().into()).unwrap_or_default()
}
