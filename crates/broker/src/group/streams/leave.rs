//! Members of streams groups that go, and those that are sent away.

use milena_messages::{ErrorCode, StreamsGroupHeartbeatResponse};

use crate::coordinator::Effects;
use crate::group::GroupMachine;
use crate::group::consumer::{LEAVE_STATIC, Refused};
use crate::group::streams::{Owned, StreamsGroup, StreamsHeartbeat, StreamsMember, record};

impl GroupMachine {
    pub(super) fn streams_leave(
        &mut self,
        heartbeat: &StreamsHeartbeat<'_>,
        effects: &mut Effects<GroupMachine>,
    ) -> Result<StreamsGroupHeartbeatResponse, Refused> {
        let request = heartbeat.request;
        let (group_id, id, epoch) = (&*request.group_id, &*request.member_id, request.member_epoch);
        let missing = self.no_streams_group(group_id);
        let group = self.streams.get_mut(group_id).ok_or(missing)?;
        if request.shutdown_application {
            group.shutdown.get_or_insert_with(|| id.to_owned());
        }
        match request.instance_id.as_deref() {
            Some(instance_id) => _ = group.check_instance(id, instance_id)?,
            None => _ = group.member(id)?,
        }
        if epoch == LEAVE_STATIC {
            group.step_aside(id, effects);
        } else {
            group.fence(&[id.to_owned()], effects);
        }
        Ok(StreamsGroupHeartbeatResponse {
            member_id: id.to_owned().into(),
            member_epoch: epoch,
            status: Some(Vec::new()),
            ..Default::default()
        })
    }

    /// Deletes a streams group without members.
    pub(crate) fn delete_streams_group(&mut self, id: &str, effects: &mut Effects<GroupMachine>) {
        if let Some(group) = self.streams.remove(id) {
            group.tombstones(effects);
            self.due.remove(id);
        }
    }

    /// Whether a streams group of this id has members, so that it cannot be deleted.
    pub(crate) fn has_streams_members(&self, id: &str) -> bool {
        self.streams.get(id).is_some_and(|group| !group.is_empty())
    }
}

impl StreamsGroup {
    /// The static member of this instance id, checked that it has this member id.
    pub(super) fn check_instance(&self, id: &str, instance_id: &str) -> Result<&StreamsMember, Refused> {
        let unknown = || Refused {
            code: ErrorCode::UNKNOWN_MEMBER_ID,
            message: format!("Instance id {instance_id} is unknown."),
        };
        let member = self.static_member(instance_id).ok_or_else(unknown)?;
        if member.id != id {
            let message =
                format!("Static member {id} with instance id {instance_id} was fenced by member {}.", member.id);
            return Err(Refused { code: ErrorCode::FENCED_INSTANCE_ID, message });
        }
        Ok(member)
    }

    /// The member is away for a while: it keeps its tasks, for the next one with its instance id.
    fn step_aside(&mut self, id: &str, effects: &mut Effects<GroupMachine>) {
        let Some(member) = self.members.get_mut(id) else { return };
        member.epoch = LEAVE_STATIC;
        member.pending = Owned::default();
        member.assigned.active.values_mut().for_each(|epoch| *epoch = 0);
        effects.record(record::current(&self.id, member));
    }

    /// Removes members; what they had is for others.
    fn fence(&mut self, gone: &[String], effects: &mut Effects<GroupMachine>) {
        gone.iter().for_each(|id| self.remove_member(id, effects));
        self.epoch = self.epoch.saturating_add(1);
        effects.record(record::group(self));
        if self.members.is_empty() {
            self.shutdown = None;
            // There is nobody to assign to.
            (self.assignment_epoch, self.assignment_timestamp) = (self.epoch, 0);
            effects.record(record::target_metadata(self));
        }
    }

    pub(super) fn remove_member(&mut self, id: &str, effects: &mut Effects<GroupMachine>) {
        self.members.remove(id);
        self.targets.remove(id);
        self.timers.remove(id);
        self.offsets.remove(id);
        effects.record(record::current_tombstone(&self.id, id));
        effects.record(record::target_tombstone(&self.id, id));
        effects.record(record::member_tombstone(&self.id, id));
    }

    /// Removes members whose session ended, and those that did not give up tasks in time; computes an assignment that
    /// waited for more members.
    pub(super) fn expire(&mut self, now_ms: i64, effects: &mut Effects<GroupMachine>) {
        if self.delay_until.is_some_and(|until| until <= now_ms) {
            self.delay_until = None;
            if !self.is_empty() && self.epoch > self.assignment_epoch {
                self.assign(now_ms, effects);
            }
        }
        let is_late = |(id, timers): (&String, &super::Timers)| {
            let session = timers.session.is_some_and(|time| time <= now_ms);
            let revocation = timers.revocation.is_some_and(|(epoch, time)| {
                time <= now_ms && self.members.get(id).is_some_and(|member| member.epoch == epoch)
            });
            (session || revocation).then(|| id.clone())
        };
        let late: Vec<String> = self.timers.iter().filter_map(is_late).collect();
        for timers in self.timers.values_mut() {
            // A member that went on in time is not late.
            timers.revocation = timers.revocation.filter(|(_, time)| *time > now_ms);
        }
        // Kafka fences one member after the other, each with an epoch of its own.
        late.iter().for_each(|id| self.fence(std::slice::from_ref(id), effects));
    }

    /// The records that make a group without members go.
    fn tombstones(&self, effects: &mut Effects<GroupMachine>) {
        effects.record(record::target_metadata_tombstone(&self.id));
        effects.record(record::group_tombstone(&self.id));
        effects.record(record::topology_tombstone(&self.id));
    }
}
