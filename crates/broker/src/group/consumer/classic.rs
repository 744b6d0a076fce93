//! Members of the classic protocol in a consumer group: JoinGroup is a heartbeat that may change the group, SyncGroup
//! brings the assignment, Heartbeat tells that there is another one.

use std::collections::BTreeSet;

use milena_messages::consumer_group_heartbeat::request::TopicPartitions;
use milena_messages::{ErrorCode, HeartbeatRequest, JoinGroupResponse, SyncGroupRequest, SyncGroupResponse};

use crate::coordinator::{Effects, Ticket};
use crate::group::consumer::migrate::{MigrationPolicy, assignment_blob, subscription};
use crate::group::consumer::reconcile::Report;
use crate::group::consumer::{
    ClassicSide, ConsumerGroup, ConsumerMember, ConsumerSettings, Found, MemberState, Partitions, Refused, TopicLookup,
    refused,
};
use crate::group::join::{ID_REQUIRED, Join};
use crate::group::offset::CONSUMER;
use crate::group::{GroupMachine, GroupReply};

/// What JoinGroup comes to.
struct Joined {
    response: JoinGroupResponse,
    /// The group is a classic one from here on, and rebalances if this is true.
    downgrade: Option<bool>,
}

impl GroupMachine {
    /// JoinGroup to a consumer group with members.
    pub(crate) fn join_consumers(&mut self, join: &Join<'_>, now_ms: i64, effects: &mut Effects<GroupMachine>) {
        let id = &*join.request.group_id;
        let Some(mut group) = self.consumers.remove(id) else { return };
        let backup = group.clone();
        let mut own = Effects::new();
        let joined = group.join_classic(join, join.settings, now_ms, &mut own, |group| self.downgrades_to(group));
        let fits = own.check_size();
        self.consumers.insert(id.to_owned(), group);
        match joined.and_then(|joined| fits.map(|()| joined).map_err(|code| refused(code, ""))) {
            Ok(joined) => {
                effects.absorb(own);
                if let Some(rebalance) = joined.downgrade {
                    self.downgrade(id, rebalance, now_ms, effects);
                }
                effects.reply(join.ticket, GroupReply::Join(joined.response));
            }
            Err(refused) => {
                self.consumers.insert(id.to_owned(), backup);
                join.refuse("", refused.code, effects);
            }
        }
        self.arm(id);
    }

    /// Whether a group with these members may become a classic one.
    fn downgrades_to(&self, group: &ConsumerGroup) -> bool {
        self.downgrades_without(group, &[])
    }

    /// SyncGroup of a member of a consumer group.
    pub(crate) fn sync_consumers(
        &mut self,
        request: &SyncGroupRequest,
        ticket: Ticket,
        topics: &dyn TopicLookup,
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) {
        let id = &*request.group_id;
        let Some(group) = self.consumers.get_mut(id) else { return };
        let response = group
            .sync_classic(request, topics, now_ms)
            .unwrap_or_else(|error_code| SyncGroupResponse { error_code, ..Default::default() });
        effects.reply(ticket, GroupReply::Sync(response));
        self.arm(id);
    }

    /// Heartbeat of a member of a consumer group.
    pub(crate) fn heartbeat_consumers(&mut self, request: &HeartbeatRequest, now_ms: i64) -> ErrorCode {
        let id = &*request.group_id;
        let Some(group) = self.consumers.get_mut(id) else { return ErrorCode::UNKNOWN_MEMBER_ID };
        let code = group.heartbeat_classic(request, now_ms).err().unwrap_or(ErrorCode::NONE);
        self.arm(id);
        code
    }
}

impl ConsumerGroup {
    fn join_classic(
        &mut self,
        join: &Join<'_>,
        settings: &ConsumerSettings,
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
        downgrades: impl FnOnce(&Self) -> bool,
    ) -> Result<Joined, Refused> {
        let request = join.request;
        let instance_id = request.group_instance_id.as_deref();
        if settings.migration == MigrationPolicy::Disabled {
            return Err(inconsistent());
        }
        let is_unknown = request.member_id.is_empty();
        // Consumer groups have ids in Kafka's own form.
        let fresh = short(&join.unique);
        let id = if is_unknown { fresh.as_str() } else { &*request.member_id };
        self.check_room(id, instance_id, settings)?;
        if !self.supports(&request.protocol_type, request.protocols.iter().map(|protocol| &*protocol.name)) {
            return Err(inconsistent());
        }
        if is_unknown && instance_id.is_none() && join.version >= ID_REQUIRED {
            let error_code = ErrorCode::MEMBER_ID_REQUIRED;
            let response = JoinGroupResponse {
                error_code,
                member_id: id.to_owned().into(),
                generation_id: -1,
                ..Default::default()
            };
            return Ok(Joined { response, downgrade: None });
        }
        let found = self.find_classic(id, instance_id, is_unknown)?;
        let protocols = join.protocols();
        let said = protocols.first().and_then(|(_, metadata)| subscription(metadata)).ok_or_else(inconsistent)?;
        // A static consumer that comes back with the classic protocol may be the last one to do so.
        let replaces_consumer = found.member.classic.is_none() && instance_id.is_some_and(|id| self.is_static(id));
        let before = ConsumerMember { id: id.to_owned(), ..found.member.clone() };
        let member = ConsumerMember {
            instance_id: instance_id.map(str::to_owned).or_else(|| before.instance_id.clone()),
            rack_id: said.rack_id.map(|rack| rack.to_string()).or_else(|| before.rack_id.clone()),
            rebalance_timeout_ms: join.rebalance_timeout_ms(),
            subscribed: said.topics.iter().map(|name| name.to_string()).collect(),
            regex: String::new(),
            client_id: join.client_id.to_owned(),
            client_host: join.client_host.to_owned(),
            classic: Some(ClassicSide { session_timeout_ms: request.session_timeout_ms, protocols }),
            ..before.clone()
        };
        let topics = join.topics;
        let owned = said.owned_partitions.iter().filter_map(|topic| {
            let (topic_id, _) = topics.find(&topic.topic)?;
            Some(TopicPartitions { topic_id, partitions: topic.partitions.clone(), ..Default::default() })
        });
        let owned: Vec<TopicPartitions> = owned.collect();
        let change = self.take_in(found, &before, &member, effects);
        let subscription_changed = change.subscription();
        self.maybe_begin_epoch(subscription_changed, topics, effects);
        let downgrade = replaces_consumer && downgrades(self);
        let rebalance = downgrade && self.assignment_epoch < self.epoch;
        if !downgrade {
            self.maybe_assign(change.chosen, settings, topics, now_ms, effects);
        }
        let mut after = member.clone();
        if !rebalance && (subscription_changed || !member.is_reconciled_to(self.assignment_epoch)) {
            let subscribed: BTreeSet<_> = self.topic_ids(&member, topics);
            let report = Report { owned: Some(&owned), subscription_changed, subscribed };
            after = self.reconcile(&member, &report)?;
        }
        if after != member {
            effects.record(super::record::current(&self.id, &after));
        }
        let timers = self.timers.entry(id.to_owned()).or_default();
        *timers = super::Timers {
            session: Some(now_ms + i64::from(request.session_timeout_ms)),
            sync: Some(now_ms + i64::from(after.rebalance_timeout_ms)),
            ..Default::default()
        };
        let response = JoinGroupResponse {
            member_id: id.to_owned().into(),
            generation_id: after.epoch,
            protocol_type: Some(CONSUMER.into()),
            protocol_name: request.protocols.first().map(|protocol| protocol.name.clone()),
            ..Default::default()
        };
        self.members.insert(id.to_owned(), after);
        Ok(Joined { response, downgrade: downgrade.then_some(rebalance) })
    }

    /// The member as it was before JoinGroup.
    fn find_classic(&self, id: &str, instance_id: Option<&str>, is_unknown: bool) -> Result<Found, Refused> {
        let known = || self.members.get(id).cloned().unwrap_or_else(|| ConsumerMember::new(id));
        let Some(instance_id) = instance_id else { return Ok(Found { member: known(), target: None }) };
        if !is_unknown {
            return Ok(Found { member: self.check_instance(id, instance_id)?.clone(), target: None });
        }
        Ok(match self.static_member(instance_id) {
            None => Found { member: known(), target: None },
            Some(member) => self.replaced(member),
        })
    }

    fn is_static(&self, instance_id: &str) -> bool {
        self.static_member(instance_id).is_some()
    }

    /// Whether a member of the classic protocol with these protocols fits to the others of its kind.
    fn supports<'a>(&self, protocol_type: &str, mut protocols: impl Iterator<Item = &'a str>) -> bool {
        let sides: Vec<&ClassicSide> = self.members.values().filter_map(|member| member.classic.as_ref()).collect();
        let has = |side: &&ClassicSide, name: &str| side.protocols.iter().any(|(known, _)| known == name);
        protocol_type == CONSUMER && protocols.any(|name| sides.iter().all(|side| has(side, name)))
    }

    /// The member of the classic protocol that sent a request.
    fn classic_member(
        &self,
        id: &str,
        instance_id: Option<&str>,
        generation: i32,
    ) -> Result<(&ConsumerMember, &ClassicSide), ErrorCode> {
        let member = match instance_id {
            Some(instance_id) => self.check_instance(id, instance_id),
            None => self.member(id),
        };
        let member = member.map_err(|refused| refused.code)?;
        let side = member.classic.as_ref().ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        if member.epoch != generation {
            return Err(ErrorCode::ILLEGAL_GENERATION);
        }
        Ok((member, side))
    }

    fn sync_classic(
        &mut self,
        request: &SyncGroupRequest,
        topics: &dyn TopicLookup,
        now_ms: i64,
    ) -> Result<SyncGroupResponse, ErrorCode> {
        let (id, instance_id) = (&*request.member_id, request.group_instance_id.as_deref());
        let (member, side) = self.classic_member(id, instance_id, request.generation_id)?;
        let (name, metadata) = side.protocols.first().cloned().unwrap_or_default();
        let differs = |asked: Option<&str>, own: &str| asked.is_some_and(|asked| asked != own);
        if differs(request.protocol_type.as_deref(), CONSUMER) || differs(request.protocol_name.as_deref(), &name) {
            return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        let session = now_ms + i64::from(side.session_timeout_ms);
        let rejoins = self.assignment_epoch > member.epoch && member.state != MemberState::UnrevokedPartitions;
        let join_until = now_ms + i64::from(member.rebalance_timeout_ms);
        let mut assigned = Partitions::new();
        for (topic, partition) in member.assigned.keys() {
            assigned.entry(*topic).or_default().insert(*partition);
        }
        let timers = self.timers.entry(id.to_owned()).or_default();
        if rejoins {
            timers.join.get_or_insert(join_until);
            return Err(ErrorCode::REBALANCE_IN_PROGRESS);
        }
        timers.sync = None;
        timers.session = Some(session);
        Ok(SyncGroupResponse {
            protocol_type: request.protocol_type.clone(),
            protocol_name: request.protocol_name.clone(),
            assignment: assignment_blob(&assigned, |id| topics.name(id), &metadata),
            ..Default::default()
        })
    }

    fn heartbeat_classic(&mut self, request: &HeartbeatRequest, now_ms: i64) -> Result<(), ErrorCode> {
        let (id, instance_id) = (&*request.member_id, request.group_instance_id.as_deref());
        let (member, side) = self.classic_member(id, instance_id, request.generation_id)?;
        let session = now_ms + i64::from(side.session_timeout_ms);
        let join_until = now_ms + i64::from(member.rebalance_timeout_ms);
        let rejoins = member.epoch < self.assignment_epoch
            || member.state == MemberState::UnrevokedPartitions
            || member.state == MemberState::UnreleasedPartitions && !self.waits(member);
        let timers = self.timers.entry(id.to_owned()).or_default();
        timers.session = Some(session);
        if rejoins {
            timers.join.get_or_insert(join_until);
            return Err(ErrorCode::REBALANCE_IN_PROGRESS);
        }
        Ok(())
    }

    /// Whether another member still has what this one should get.
    fn waits(&self, member: &ConsumerMember) -> bool {
        let target = self.target(&member.id);
        let mut places = target.iter().flat_map(|(topic, all)| all.iter().map(|one| (*topic, *one)));
        places.any(|place| !member.assigned.contains_key(&place) && self.is_held_by_another(&member.id, place))
    }
}

fn inconsistent() -> Refused {
    refused(ErrorCode::INCONSISTENT_GROUP_PROTOCOL, "The protocols of the member are not supported.")
}

/// A uuid of hexadecimal digits in Kafka's form of 22 letters; anything else stays as it is.
fn short(uuid: &str) -> String {
    let digits: String = uuid.chars().filter(|digit| *digit != '-').collect();
    match u128::from_str_radix(&digits, 16) {
        Ok(number) if digits.len() == 32 => milena_messages::Uuid::from_bytes(number.to_be_bytes()).to_string(),
        _ => uuid.to_owned(),
    }
}
