//! ShareGroupHeartbeat: members join, say what they want, and learn what they get.

use std::collections::{BTreeMap, BTreeSet};

use milena_messages::share_group_heartbeat::response::{Assignment, TopicPartitions};
use milena_messages::{ErrorCode, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse, Uuid};

use crate::coordinator::Effects;
use crate::group::consumer::{Partitions, Refused, TopicLookup, hash_of, refused};
use crate::group::share::assignor::{Candidate, assign};
use crate::group::share::{JOIN, LEAVE, ShareGroup, ShareMember, StateTopic, record};
use crate::group::{GroupMachine, GroupWork};
use crate::share::settings::ShareSettings;

/// Most characters of the id of a member.
const MAX_MEMBER_ID: usize = 36;

/// A heartbeat, and what is known of its client.
pub(crate) struct ShareHeartbeat<'a> {
    pub(crate) request: &'a ShareGroupHeartbeatRequest,
    pub(crate) client_id: &'a str,
    pub(crate) client_host: &'a str,
    pub(crate) topics: &'a dyn TopicLookup,
    pub(crate) settings: &'a ShareSettings,
}

/// Whether a member may be called like this.
pub(crate) fn is_member_id(id: &str) -> bool {
    !id.is_empty() && id.encode_utf16().count() <= MAX_MEMBER_ID
}

/// Checks what does not depend on the group, in Kafka's order.
///
/// # Errors
/// A field is missing, or has a value that is never right.
pub(crate) fn check(request: &ShareGroupHeartbeatRequest) -> Result<(), Refused> {
    let invalid = |message: &str| Err(refused(ErrorCode::INVALID_REQUEST, message));
    if !is_member_id(&request.member_id) {
        return invalid("Invalid member id in the request.");
    }
    if request.member_id.trim().is_empty() {
        return invalid("MemberId can't be empty.");
    }
    if request.group_id.trim().is_empty() {
        return invalid("GroupId can't be empty.");
    }
    if request.rack_id.as_ref().is_some_and(|rack| rack.trim().is_empty()) {
        return invalid("RackId can't be empty.");
    }
    match request.member_epoch {
        JOIN if request.subscribed_topic_names.as_ref().is_none_or(|names| names.is_empty()) => {
            invalid("SubscribedTopicNames must be set in first request.")
        }
        epoch if epoch < LEAVE => invalid("MemberEpoch is invalid."),
        _ => Ok(()),
    }
}

impl GroupMachine {
    /// ShareGroupHeartbeat of a request that was [checked](check).
    ///
    /// # Errors
    /// The member is unknown, fenced, or cannot join this group. Then nothing has changed.
    pub(crate) fn share_heartbeat(
        &mut self,
        heartbeat: &ShareHeartbeat<'_>,
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) -> Result<ShareGroupHeartbeatResponse, Refused> {
        let request = heartbeat.request;
        let id = &*request.group_id;
        if request.member_epoch == LEAVE {
            let missing = self.no_share_group(id);
            let group = self.shares.get_mut(id).ok_or(missing)?;
            group.member(&request.member_id)?;
            group.remove(&request.member_id, effects);
            return Ok(ShareGroupHeartbeatResponse {
                member_id: Some(request.member_id.clone()),
                member_epoch: LEAVE,
                ..Default::default()
            });
        }
        let is_new = !self.shares.contains_key(id);
        if is_new && self.is_of_another_protocol(id) {
            return Err(self.no_share_group(id));
        }
        if is_new && request.member_epoch != JOIN {
            return Err(refused(ErrorCode::GROUP_ID_NOT_FOUND, format!("Share group {id} not found.")));
        }
        let group = self.shares.entry(id.to_owned()).or_insert_with(|| ShareGroup::new(id));
        // What is too much for the log has not happened. A heartbeat that says nothing new is not worth a copy.
        let backup = (!group.is_steady(heartbeat)).then(|| group.clone());
        let mut response = group.heartbeat(heartbeat, now_ms, effects);
        if let (Err(code), Some(backup)) = (effects.check_size(), backup) {
            *group = backup;
            response = Err(refused(code, "The member or its assignment is too large for the log of the group."));
        }
        match &response {
            Ok(_) => {
                if let Some(offsets) = group.to_set_up.take() {
                    effects.work(GroupWork::InitializeShareState { group: id.to_owned(), offsets });
                }
            }
            Err(_) if is_new => _ = self.shares.remove(id),
            Err(_) => {}
        }
        self.arm(id);
        response
    }
}

impl ShareGroup {
    fn heartbeat(
        &mut self,
        heartbeat: &ShareHeartbeat<'_>,
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) -> Result<ShareGroupHeartbeatResponse, Refused> {
        let (request, settings) = (heartbeat.request, heartbeat.settings);
        let id = &*request.member_id;
        if self.members.len() >= settings.max_size && !self.members.contains_key(id) {
            let message = format!("The share group has reached its maximum capacity of {} members.", settings.max_size);
            return Err(refused(ErrorCode::GROUP_MAX_SIZE_REACHED, message));
        }
        let before = match request.member_epoch {
            JOIN => self.members.get(id).cloned().unwrap_or_else(|| ShareMember::new(id)),
            epoch => {
                let member = self.member(id)?;
                check_epoch(member, epoch)?;
                member.clone()
            }
        };
        // From here on nothing fails.
        let member = updated(&before, heartbeat);
        if !self.members.contains_key(id) || member != before {
            effects.record(record::member(&self.id, &member));
        }
        let mut bump = member.subscribed != before.subscribed;
        if self.assignment_epoch >= self.epoch {
            bump |= self.has_unassigned();
        }
        self.members.insert(id.to_owned(), member.clone());
        bump = self.maybe_begin_epoch(bump, &member, heartbeat.topics, effects);
        self.maybe_assign(heartbeat, now_ms, effects);

        let mut after = member.clone();
        if self.assignment_epoch != member.epoch || bump {
            let is_read =
                |topic: &Uuid| heartbeat.topics.name(*topic).is_some_and(|name| member.subscribed.contains(&name));
            after.assigned = self.targets.get(id).cloned().unwrap_or_default();
            after.assigned.retain(|topic, _| is_read(topic));
            if self.assignment_epoch != member.epoch {
                (after.previous_epoch, after.epoch) = (member.epoch, self.assignment_epoch);
            }
            if after != member {
                effects.record(record::current(&self.id, &after));
            }
        }
        self.sessions.set(id, now_ms.saturating_add(i64::from(settings.session_timeout_ms)));
        let is_full = request.member_epoch == JOIN || request.subscribed_topic_names.is_some();
        let response = ShareGroupHeartbeatResponse {
            member_id: Some(id.to_owned().into()),
            member_epoch: after.epoch,
            heartbeat_interval_ms: settings.heartbeat_interval_ms,
            assignment: (is_full || after.assigned != before.assigned).then(|| assignment(&after.assigned)),
            ..Default::default()
        };
        self.members.insert(id.to_owned(), after);
        self.to_set_up = self.begin_state(heartbeat.topics, now_ms, effects);
        Ok(response)
    }

    /// Whether the heartbeat is one of a member that has all it should have, and says nothing new.
    fn is_steady(&self, heartbeat: &ShareHeartbeat<'_>) -> bool {
        let request = heartbeat.request;
        let is_there = self.members.get(&*request.member_id).is_some_and(|member| member.epoch == self.epoch);
        is_there && request.member_epoch != JOIN && request.subscribed_topic_names.is_none()
    }

    /// Whether partitions with state are assigned to nobody.
    fn has_unassigned(&self) -> bool {
        let Some(state) = self.state_topics.as_ref().filter(|_| !self.members.is_empty()) else { return false };
        let subscribed = self.subscribed();
        let is_assigned = |(topic, known): (&Uuid, &StateTopic)| {
            let partitions = self.targets.values().filter_map(|target| target.get(topic)).flatten();
            let assigned: BTreeSet<i32> = partitions.copied().collect();
            !subscribed.contains(&*known.name) || assigned == known.partitions
        };
        !state.initialized.iter().all(is_assigned)
    }

    /// Begins an epoch when members, subscriptions or topics changed; says whether there is a new one.
    fn maybe_begin_epoch(
        &mut self,
        mut bump: bool,
        member: &ShareMember,
        topics: &dyn TopicLookup,
        effects: &mut Effects<GroupMachine>,
    ) -> bool {
        // Each member looks at its own topics, so that a heartbeat costs the same however large the group is.
        let is_known = |name: &String| self.known.get(name) == Some(&topics.find(name));
        if bump || !member.subscribed.iter().all(is_known) {
            let names = self.members.values().flat_map(|member| &member.subscribed);
            self.known = names.map(|name| (name.clone(), topics.find(name))).collect();
            let hash = hash_of(&self.known);
            bump |= hash != self.metadata_hash;
            self.metadata_hash = hash;
        }
        if bump {
            self.epoch = self.epoch.saturating_add(1);
            effects.record(record::group(self));
        }
        bump
    }

    /// Computes a new target when the last one is of an older epoch.
    fn maybe_assign(&mut self, heartbeat: &ShareHeartbeat<'_>, now_ms: i64, effects: &mut Effects<GroupMachine>) {
        let next = self.assignment_timestamp.saturating_add(i64::from(heartbeat.settings.assignment_interval_ms));
        let is_too_early = self.assignment_timestamp != 0 && now_ms < next;
        if self.epoch <= self.assignment_epoch || is_too_early {
            return;
        }
        let mut ids: BTreeMap<&str, Uuid> = BTreeMap::new();
        let mut partitions: BTreeMap<Uuid, BTreeSet<i32>> = BTreeMap::new();
        for name in self.members.values().flat_map(|member| &member.subscribed) {
            if let Some((topic, count)) = heartbeat.topics.find(name) {
                ids.insert(name, topic);
                let known = self.state_topics.as_ref().and_then(|state| state.initialized.get(&topic));
                let ready = known.into_iter().flat_map(|known| known.partitions.range(..count));
                partitions.insert(topic, ready.copied().collect());
            }
        }
        let candidate = |member: &ShareMember| Candidate {
            id: member.id.clone(),
            topics: member.subscribed.iter().filter_map(|name| ids.get(&**name).copied()).collect(),
            current: self.targets.get(&member.id).cloned().unwrap_or_default(),
        };
        let candidates: Vec<Candidate> = self.members.values().map(candidate).collect();
        for (member, target) in assign(&candidates, &partitions) {
            if self.targets.get(&member) != Some(&target) {
                effects.record(record::target(&self.id, &member, &target));
                self.targets.insert(member, target);
            }
        }
        self.assignment_epoch = self.epoch;
        self.assignment_timestamp = now_ms;
        effects.record(record::target_metadata(self));
    }

    /// Removes a member.
    pub(super) fn remove(&mut self, id: &str, effects: &mut Effects<GroupMachine>) {
        self.sessions.remove(id);
        if self.members.remove(id).is_none() {
            return;
        }
        self.targets.remove(id);
        effects.record(record::current_tombstone(&self.id, id));
        effects.record(record::target_tombstone(&self.id, id));
        effects.record(record::member_tombstone(&self.id, id));
        let is_read = |name: &String| self.members.values().any(|member| member.subscribed.contains(name));
        self.known.retain(|name, _| is_read(name));
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
}

/// Checks the epoch that a member says it has. A response may be lost, so that the one before is right too.
fn check_epoch(member: &ShareMember, epoch: i32) -> Result<(), Refused> {
    let (known, previous) = (member.epoch, member.previous_epoch);
    let how = if epoch > known {
        format!("greater member epoch ({epoch}) than the one known by the group coordinator ({known})")
    } else if epoch < known && epoch != previous {
        format!(
            "smaller member epoch ({epoch}) than the one known by the group coordinator ({known}), and it does not match \
             the previous member epoch ({previous})"
        )
    } else {
        return Ok(());
    };
    let message = format!("The share group member has a {how}. The member must abandon all its partitions and rejoin.");
    Err(refused(ErrorCode::FENCED_MEMBER_EPOCH, message))
}

/// The member with what this heartbeat says of it. What it leaves out stays.
fn updated(before: &ShareMember, heartbeat: &ShareHeartbeat<'_>) -> ShareMember {
    let request = heartbeat.request;
    ShareMember {
        rack_id: request.rack_id.as_ref().map(|rack| rack.to_string()).or_else(|| before.rack_id.clone()),
        client_id: heartbeat.client_id.to_owned(),
        client_host: heartbeat.client_host.to_owned(),
        subscribed: match &request.subscribed_topic_names {
            Some(names) => names.iter().map(|name| name.to_string()).collect(),
            None => before.subscribed.clone(),
        },
        ..before.clone()
    }
}

fn assignment(assigned: &Partitions) -> Assignment {
    let topic = |(topic_id, partitions): (&Uuid, &BTreeSet<i32>)| TopicPartitions {
        topic_id: *topic_id,
        partitions: partitions.iter().copied().collect(),
        ..Default::default()
    };
    Assignment { topic_partitions: assigned.iter().map(topic).collect(), ..Default::default() }
}
