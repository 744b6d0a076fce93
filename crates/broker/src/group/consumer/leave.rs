//! Members of consumer groups that go, and those that are sent away.

use std::collections::BTreeSet;

use milena_messages::leave_group::request::MemberIdentity;
use milena_messages::{ConsumerGroupHeartbeatResponse, ErrorCode};

use crate::coordinator::Effects;
use crate::group::GroupMachine;
use crate::group::consumer::heartbeat::hash_of;
use crate::group::consumer::{ConsumerGroup, ConsumerHeartbeat, LEAVE_STATIC, Refused, record};

impl GroupMachine {
    pub(super) fn consumer_leave(
        &mut self,
        heartbeat: &ConsumerHeartbeat<'_>,
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) -> Result<ConsumerGroupHeartbeatResponse, Refused> {
        let (id, epoch) = (heartbeat.member_id, heartbeat.request.member_epoch);
        let group_id = &*heartbeat.request.group_id;
        let missing = self.no_consumer_group(group_id);
        let group = self.consumers.get_mut(group_id).ok_or(missing)?;
        match heartbeat.request.instance_id.as_deref() {
            Some(instance_id) => _ = group.check_instance(id, instance_id)?,
            None => _ = group.member(id)?,
        }
        if epoch == LEAVE_STATIC {
            group.step_aside(id, effects);
        } else {
            self.fence_consumers(group_id, &[id.to_owned()], now_ms, effects);
        }
        Ok(ConsumerGroupHeartbeatResponse {
            member_id: Some(id.to_owned().into()),
            member_epoch: epoch,
            ..Default::default()
        })
    }

    /// LeaveGroup of members, which operators use for both kinds of groups. Those who can go, go at once.
    pub(crate) fn leave_consumers(
        &mut self,
        id: &str,
        leaving: &[MemberIdentity],
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) -> Vec<ErrorCode> {
        let Some(group) = self.consumers.get(id) else { return Vec::new() };
        let found: Vec<_> = leaving.iter().map(|one| group.find_leaving(one)).collect();
        let gone: BTreeSet<String> = found.iter().flatten().cloned().collect();
        let gone: Vec<String> = gone.into_iter().collect();
        self.fence_consumers(id, &gone, now_ms, effects);
        found.into_iter().map(|found| found.err().unwrap_or(ErrorCode::NONE)).collect()
    }

    /// Removes members of a consumer group. Those who are left may be a classic group.
    pub(crate) fn fence_consumers(
        &mut self,
        id: &str,
        gone: &[String],
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) {
        let Some(group) = self.consumers.get(id).filter(|_| !gone.is_empty()) else { return };
        let downgrades = self.downgrades_without(group, gone);
        let Some(group) = self.consumers.get_mut(id) else { return };
        if downgrades {
            gone.iter().for_each(|id| group.remove_member(id, effects));
            self.downgrade(id, true, now_ms, effects);
        } else {
            group.fence(gone, effects);
        }
    }

    /// Deletes a consumer group without members.
    pub(crate) fn delete_consumer_group(&mut self, id: &str, effects: &mut Effects<GroupMachine>) {
        if let Some(group) = self.consumers.remove(id) {
            group.tombstones(effects);
            self.due.remove(id);
        }
    }

    /// Whether a consumer group of this id has members, so that it cannot be deleted.
    pub(crate) fn has_consumers(&self, id: &str) -> bool {
        self.consumers.get(id).is_some_and(|group| !group.is_empty())
    }
}

impl ConsumerGroup {
    fn step_aside(&mut self, id: &str, effects: &mut Effects<GroupMachine>) {
        if let Some(member) = self.members.get_mut(id) {
            member.step_aside();
            effects.record(record::current(&self.id, member));
        }
    }

    fn find_leaving(&self, leaving: &MemberIdentity) -> Result<String, ErrorCode> {
        let found = match leaving.group_instance_id.as_deref() {
            Some(instance_id) if leaving.member_id.is_empty() => {
                let member = self.static_member(instance_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
                return Ok(member.id.clone());
            }
            Some(instance_id) => self.check_instance(&leaving.member_id, instance_id),
            None => self.member(&leaving.member_id),
        };
        found.map(|member| member.id.clone()).map_err(|refused| refused.code)
    }

    /// Removes members; what they had is for others.
    pub(super) fn fence(&mut self, members: &[String], effects: &mut Effects<GroupMachine>) {
        for id in members {
            self.remove_member(id, effects);
        }
        self.drop_unused_regexes(effects);
        let mut known = std::mem::take(&mut self.known);
        let read: BTreeSet<&str> =
            self.members.values().flat_map(|member| self.topics_of(member)).map(|name| &**name).collect();
        known.retain(|name, _| read.contains(&**name));
        self.known = known;
        if !self.known.is_empty() || self.members.is_empty() {
            self.metadata_hash = hash_of(&self.known);
        }
        self.epoch = self.epoch.saturating_add(1);
        effects.record(record::group(self));
        if self.members.is_empty() {
            // There is nobody to assign to.
            (self.assignment_epoch, self.assignment_timestamp) = (self.epoch, 0);
            effects.record(record::target_metadata(self));
        }
    }

    pub(super) fn remove_member(&mut self, id: &str, effects: &mut Effects<GroupMachine>) {
        self.members.remove(id);
        self.targets.remove(id);
        self.timers.remove(id);
        effects.record(record::current_tombstone(&self.id, id));
        effects.record(record::target_tombstone(&self.id, id));
        effects.record(record::member_tombstone(&self.id, id));
    }

    /// The records that make the group go with all its members.
    pub(super) fn all_tombstones(&self, effects: &mut Effects<GroupMachine>) {
        for id in self.members.keys() {
            effects.record(record::current_tombstone(&self.id, id));
            effects.record(record::target_tombstone(&self.id, id));
            effects.record(record::member_tombstone(&self.id, id));
        }
        self.tombstones(effects);
    }

    /// The records that make a group without members go.
    pub(super) fn tombstones(&self, effects: &mut Effects<GroupMachine>) {
        effects.record(record::target_metadata_tombstone(&self.id));
        self.regexes.keys().for_each(|regex| effects.record(record::regex_tombstone(&self.id, regex)));
        effects.record(record::group_tombstone(&self.id));
    }
}
