//! ConsumerGroupHeartbeat: members join, say what they have and want, and learn what they get.

use std::collections::{BTreeMap, BTreeSet};

use milena_messages::consumer_group_heartbeat::response::{Assignment, TopicPartitions};
use milena_messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, ErrorCode, Uuid};

use crate::coordinator::Effects;
use crate::group::GroupMachine;
use crate::group::consumer::assignor::Candidate;
use crate::group::consumer::reconcile::Report;
use crate::group::consumer::subscription::RegexChange;
use crate::group::consumer::{
    Assignor, ConsumerGroup, ConsumerMember, ConsumerSettings, Found, JOIN, LEAVE, LEAVE_STATIC, MemberState, Owned,
    Refused, TopicLookup, record, refused,
};

/// A heartbeat, and what is known of its client.
pub(crate) struct ConsumerHeartbeat<'a> {
    pub(crate) request: &'a ConsumerGroupHeartbeatRequest,
    /// The id of the member; before version 1 the coordinator chooses it.
    pub(crate) member_id: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) client_host: &'a str,
    pub(crate) topics: &'a dyn TopicLookup,
    /// The settings of the group.
    pub(crate) settings: &'a ConsumerSettings,
}

impl GroupMachine {
    /// ConsumerGroupHeartbeat of a request that was [checked](check).
    ///
    /// # Errors
    /// The member is unknown, fenced, or cannot join this group. Then nothing has changed.
    pub(crate) fn consumer_heartbeat(
        &mut self,
        heartbeat: &ConsumerHeartbeat<'_>,
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) -> Result<ConsumerGroupHeartbeatResponse, Refused> {
        let id = &*heartbeat.request.group_id;
        let response = match heartbeat.request.member_epoch {
            LEAVE | LEAVE_STATIC => self.consumer_leave(heartbeat, now_ms, effects),
            epoch if !self.consumers.contains_key(id) => self.first_heartbeat(heartbeat, epoch, now_ms, effects),
            _ => self.next_heartbeat(heartbeat, now_ms, effects),
        };
        self.arm(id);
        response
    }

    /// A heartbeat that begins a group, or makes a classic group one of the consumer protocol.
    fn first_heartbeat(
        &mut self,
        heartbeat: &ConsumerHeartbeat<'_>,
        epoch: i32,
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) -> Result<ConsumerGroupHeartbeatResponse, Refused> {
        let id = &*heartbeat.request.group_id;
        let mut own = Effects::new();
        let mut group = self.begin_consumer_group(id, epoch, heartbeat.topics, &mut own)?;
        let response = group.heartbeat(heartbeat, now_ms, &mut own)?;
        own.check_size().map_err(too_large)?;
        group.begin_classic_sessions(now_ms);
        self.end_classic_group(id, effects);
        effects.absorb(own);
        self.consumers.insert(id.to_owned(), group);
        Ok(response)
    }

    fn next_heartbeat(
        &mut self,
        heartbeat: &ConsumerHeartbeat<'_>,
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) -> Result<ConsumerGroupHeartbeatResponse, Refused> {
        let id = &*heartbeat.request.group_id;
        let Some(group) = self.consumers.get_mut(id) else { return Err(self.no_consumer_group(id)) };
        // What is too much for the log has not happened. A heartbeat that says nothing new is not worth a copy.
        let backup = (!group.is_steady(heartbeat)).then(|| group.clone());
        let response = group.heartbeat(heartbeat, now_ms, effects);
        match (effects.check_size(), backup) {
            (Err(code), Some(backup)) => {
                *group = backup;
                Err(too_large(code))
            }
            _ => response,
        }
    }
}

fn too_large(code: ErrorCode) -> Refused {
    refused(code, "The member or its assignment is too large for the log of the group.")
}

/// What a request changes about a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    /// The names of topics that it reads.
    pub(super) names: bool,
    pub(super) regex: RegexChange,
    /// Whether most members prefer another assignor now.
    pub(super) assignor: bool,
    /// The one for the next target.
    pub(super) chosen: Assignor,
}

impl Change {
    /// Whether the member reads something else than before.
    pub(super) fn subscription(self) -> bool {
        self.names || self.regex != RegexChange::None
    }
}

impl ConsumerGroup {
    fn heartbeat(
        &mut self,
        heartbeat: &ConsumerHeartbeat<'_>,
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) -> Result<ConsumerGroupHeartbeatResponse, Refused> {
        let (request, settings) = (heartbeat.request, heartbeat.settings);
        let id = heartbeat.member_id;
        self.check_room(id, request.instance_id.as_deref(), settings)?;
        let found = self.find(heartbeat)?;
        self.check_regex(request.subscribed_topic_regex.as_deref().unwrap_or_default())?;
        let owned = request.topic_partitions.as_deref();
        if found.member.state == MemberState::Unknown && owned.is_none_or(|owned| !owned.is_empty()) {
            // Says why.
            let report = Report { owned, subscription_changed: false, subscribed: BTreeSet::new() };
            self.reconcile(&found.member, &report)?;
        }
        // From here on nothing fails.
        let before = ConsumerMember { id: id.to_owned(), ..found.member.clone() };
        let member = updated(&before, heartbeat);
        let change = self.take_in(found, &before, &member, effects);
        let subscription_changed = change.subscription();
        let bump = change.names || change.regex == RegexChange::Known || change.assignor;
        self.maybe_begin_epoch(bump, heartbeat.topics, effects);
        self.maybe_assign(change.chosen, settings, heartbeat.topics, now_ms, effects);

        let subscribed = self.topic_ids(&member, heartbeat.topics);
        let report = Report { owned, subscription_changed, subscribed };
        let after = if member.is_reconciled_to(self.assignment_epoch) && !subscription_changed {
            member.clone()
        } else {
            // An unknown state was looked at above.
            self.reconcile(&member, &report).unwrap_or_else(|_| member.clone())
        };
        let timers = self.timers.entry(id.to_owned()).or_default();
        timers.session = Some(now_ms + i64::from(settings.session_timeout_ms));
        (timers.join, timers.sync) = (None, None);
        if after != member {
            effects.record(record::current(&self.id, &after));
            timers.revocation = (after.state == MemberState::UnrevokedPartitions)
                .then(|| (after.epoch, now_ms + i64::from(after.rebalance_timeout_ms)));
        }
        let is_full = request.member_epoch == JOIN
            || request.rebalance_timeout_ms != -1 && names_subscription(request) && owned.is_some();
        let changed = !after.assigned.keys().eq(before.assigned.keys());
        let response = ConsumerGroupHeartbeatResponse {
            member_id: Some(id.to_owned().into()),
            member_epoch: after.epoch,
            heartbeat_interval_ms: settings.heartbeat_interval_ms,
            assignment: (is_full || changed).then(|| assignment(&after.assigned)),
            ..Default::default()
        };
        self.members.insert(id.to_owned(), after);
        self.resolve_regexes(heartbeat.topics, now_ms, effects);
        Ok(response)
    }

    /// Takes a member in as it is now, with its id in place of another one if it replaces one.
    pub(super) fn take_in(
        &mut self,
        found: Found,
        before: &ConsumerMember,
        member: &ConsumerMember,
        effects: &mut Effects<GroupMachine>,
    ) -> Change {
        let (assignor, votes) = (self.assignor(), self.votes());
        let known: BTreeSet<String> = votes.into_keys().map(str::to_owned).collect();
        let id = &member.id;
        if found.member.id != *id {
            self.remove_member(&found.member.id, effects);
        }
        if !self.members.contains_key(id) || member != before {
            effects.record(record::member(&self.id, member));
        }
        if let Some(target) = found.target {
            effects.record(record::target(&self.id, id, &target));
            self.targets.insert(id.clone(), target);
            effects.record(record::current(&self.id, member));
        }
        self.members.insert(id.clone(), member.clone());
        let chosen = self.assignor_after(&known);
        Change {
            names: member.subscribed != before.subscribed,
            regex: self.change_regex(before, member, effects),
            assignor: chosen != assignor,
            chosen,
        }
    }

    /// Whether the heartbeat is one of a member that has all it should have, and says nothing new.
    fn is_steady(&self, heartbeat: &ConsumerHeartbeat<'_>) -> bool {
        let request = heartbeat.request;
        let member = self.members.get(heartbeat.member_id);
        let is_reconciled = member.is_some_and(|member| member.is_reconciled_to(self.epoch));
        is_reconciled && request.member_epoch != JOIN && !names_subscription(request)
    }

    pub(super) fn check_room(
        &self,
        member: &str,
        instance: Option<&str>,
        settings: &ConsumerSettings,
    ) -> Result<(), Refused> {
        let is_back = || instance.is_some_and(|instance| self.static_member(instance).is_some());
        if self.members.len() < settings.max_size || self.members.contains_key(member) || is_back() {
            return Ok(());
        }
        let message = format!("The consumer group has reached its maximum capacity of {} members.", settings.max_size);
        Err(refused(ErrorCode::GROUP_MAX_SIZE_REACHED, message))
    }

    /// The member as it was before this heartbeat: a new one, or, for a static member that comes back under another id,
    /// the one that it replaces.
    fn find(&self, heartbeat: &ConsumerHeartbeat<'_>) -> Result<Found, Refused> {
        let (id, epoch) = (heartbeat.member_id, heartbeat.request.member_epoch);
        let owned = heartbeat.request.topic_partitions.as_deref();
        let new = || self.members.get(id).cloned().unwrap_or_else(|| ConsumerMember::new(id));
        let found = |member: ConsumerMember| Found { member, target: None };
        let Some(instance_id) = heartbeat.request.instance_id.as_deref() else {
            if epoch == JOIN {
                return Ok(found(new()));
            }
            let member = self.member(id)?;
            check_epoch(member, epoch, owned)?;
            return Ok(found(member.clone()));
        };
        if epoch != JOIN {
            let member = self.check_instance(id, instance_id)?;
            check_epoch(member, epoch, owned)?;
            return Ok(found(member.clone()));
        }
        match self.static_member(instance_id) {
            None => Ok(found(new())),
            Some(member) if member.classic.is_none() && member.epoch != LEAVE_STATIC => {
                let message = format!(
                    "Static member {id} with instance id {instance_id} cannot join the group because the instance id is \
                     owned by {} member.",
                    member.id
                );
                Err(refused(ErrorCode::UNRELEASED_INSTANCE_ID, message))
            }
            Some(member) => Ok(self.replaced(member)),
        }
    }

    /// A static member whose place another one takes.
    pub(super) fn replaced(&self, member: &ConsumerMember) -> Found {
        let target = Some(self.target(&member.id));
        Found { member: ConsumerMember { epoch: 0, previous_epoch: 0, ..member.clone() }, target }
    }

    /// The static member of this instance id, checked that it has this member id.
    pub(super) fn check_instance(&self, id: &str, instance_id: &str) -> Result<&ConsumerMember, Refused> {
        let unknown = || refused(ErrorCode::UNKNOWN_MEMBER_ID, format!("Instance id {instance_id} is unknown."));
        let member = self.static_member(instance_id).ok_or_else(unknown)?;
        if member.id != id {
            let message =
                format!("Static member {id} with instance id {instance_id} was fenced by member {}.", member.id);
            return Err(refused(ErrorCode::FENCED_INSTANCE_ID, message));
        }
        Ok(member)
    }

    /// The assignor that most members prefer.
    pub(super) fn assignor(&self) -> Assignor {
        // With as many votes for each it is `uniform`, as in Kafka.
        let most = self.votes().into_iter().max_by_key(|(_, count)| *count);
        most.and_then(|(name, _)| Assignor::named(name)).unwrap_or(Assignor::Uniform)
    }

    /// The same at the moment of a change, when `known` were the assignors with votes: of as many votes for each, a new
    /// assignor has the edge, as in Kafka 4.4.
    fn assignor_after(&self, known: &BTreeSet<String>) -> Assignor {
        let most = self.votes().into_iter().max_by_key(|(name, count)| (*count, !known.contains(*name), *name));
        most.and_then(|(name, _)| Assignor::named(name)).unwrap_or(Assignor::Uniform)
    }

    /// How many members prefer each assignor.
    fn votes(&self) -> BTreeMap<&str, usize> {
        let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
        for name in self.members.values().filter_map(|member| member.server_assignor.as_deref()) {
            *votes.entry(name).or_default() += 1;
        }
        votes
    }

    /// Begins an epoch when members, subscriptions or topics changed. Without a change this costs the same however large
    /// the group is.
    pub(super) fn maybe_begin_epoch(
        &mut self,
        bump: bool,
        topics: &dyn TopicLookup,
        effects: &mut Effects<GroupMachine>,
    ) {
        if bump || self.known_version != Some(topics.version()) {
            self.begin_epoch(topics, bump, effects);
        }
    }

    /// Looks at the topics, and begins an epoch if they or something else changed.
    pub(super) fn begin_epoch(&mut self, topics: &dyn TopicLookup, changed: bool, effects: &mut Effects<GroupMachine>) {
        self.known_version = Some(topics.version());
        self.known = self.look_at(topics);
        let hash = hash_of(&self.known);
        if changed || hash != self.metadata_hash {
            self.metadata_hash = hash;
            self.epoch = self.epoch.saturating_add(1);
            effects.record(record::group(self));
        }
    }

    /// Computes a new target when the last one is of an older epoch.
    pub(super) fn maybe_assign(
        &mut self,
        assignor: Assignor,
        settings: &ConsumerSettings,
        topics: &dyn TopicLookup,
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) {
        let next = self.assignment_timestamp + i64::from(settings.assignment_interval_ms);
        let is_too_early = self.assignment_timestamp != 0 && now_ms < next;
        if self.epoch <= self.assignment_epoch || is_too_early {
            return;
        }
        let mut counts = BTreeMap::new();
        let mut ids: BTreeMap<&str, Uuid> = BTreeMap::new();
        for name in self.members.values().flat_map(|member| self.topics_of(member)) {
            if ids.contains_key(&**name) {
                continue;
            }
            if let Some((topic, count)) = topics.find(name) {
                counts.insert(topic, count);
                ids.insert(name, topic);
            }
        }
        let candidate = |member: &ConsumerMember| Candidate {
            id: member.id.clone(),
            instance_id: member.instance_id.clone(),
            topics: self.topics_of(member).filter_map(|name| ids.get(&**name).copied()).collect(),
            current: self.target(&member.id),
        };
        let candidates: Vec<Candidate> = self.members.values().map(candidate).collect();
        for (member, target) in assignor.assign(&candidates, &counts) {
            if self.targets.get(&member) != Some(&target) {
                effects.record(record::target(&self.id, &member, &target));
                self.targets.insert(member, target);
            }
        }
        self.assignment_epoch = self.epoch;
        self.assignment_timestamp = now_ms;
        effects.record(record::target_metadata(self));
    }
}

/// Checks the epoch that a member says it has. A response may be lost, so that the one before is right too as long as the
/// member has nothing that it should not have.
fn check_epoch(
    member: &ConsumerMember,
    epoch: i32,
    owned: Option<&[milena_messages::consumer_group_heartbeat::request::TopicPartitions]>,
) -> Result<(), Refused> {
    let fenced = |order: &str| {
        let message = format!(
            "The consumer group member has a {order} member epoch ({epoch}) than the one known by the group coordinator \
             ({}). The member must abandon all its partitions and rejoin.",
            member.epoch
        );
        Err(refused(ErrorCode::FENCED_MEMBER_EPOCH, message))
    };
    if epoch > member.epoch {
        return fenced("greater");
    }
    if epoch < member.epoch && (epoch != member.previous_epoch || !member.covers(owned)) {
        return fenced("smaller");
    }
    Ok(())
}

/// Whether the request says what its member reads.
fn names_subscription(request: &ConsumerGroupHeartbeatRequest) -> bool {
    request.subscribed_topic_names.is_some() || request.subscribed_topic_regex.is_some()
}

/// The member with what this heartbeat says of it. What it leaves out stays.
fn updated(before: &ConsumerMember, heartbeat: &ConsumerHeartbeat<'_>) -> ConsumerMember {
    let request = heartbeat.request;
    let text = |new: &Option<milena_messages::ByteString>, old: &Option<String>| {
        new.as_ref().map(|text| text.to_string()).or_else(|| old.clone())
    };
    let names = request.subscribed_topic_names.as_ref();
    ConsumerMember {
        instance_id: text(&request.instance_id, &before.instance_id),
        rack_id: text(&request.rack_id, &before.rack_id),
        server_assignor: text(&request.server_assignor, &before.server_assignor),
        client_id: heartbeat.client_id.to_owned(),
        client_host: heartbeat.client_host.to_owned(),
        classic: None,
        rebalance_timeout_ms: match request.rebalance_timeout_ms {
            -1 => before.rebalance_timeout_ms,
            timeout => timeout,
        },
        subscribed: match names {
            Some(names) => names.iter().map(|name| name.to_string()).collect(),
            None => before.subscribed.clone(),
        },
        regex: match &request.subscribed_topic_regex {
            Some(regex) => regex.to_string(),
            None => before.regex.clone(),
        },
        ..before.clone()
    }
}

fn assignment(owned: &Owned) -> Assignment {
    let mut topics: BTreeMap<Uuid, TopicPartitions> = BTreeMap::new();
    for (topic_id, partition) in owned.keys() {
        let topic =
            topics.entry(*topic_id).or_insert_with(|| TopicPartitions { topic_id: *topic_id, ..Default::default() });
        topic.partitions.push(*partition);
    }
    Assignment { topic_partitions: topics.into_values().collect(), ..Default::default() }
}

/// A number that changes when the topics do; 0 without any. Kafka uses another function, and compares only its own.
pub(in crate::group) fn hash_of(topics: &BTreeMap<String, Option<(Uuid, i32)>>) -> i64 {
    let mut hash: Option<u64> = None;
    let mut add = |bytes: &[u8]| {
        // FNV-1a.
        let before = hash.unwrap_or(0xcbf2_9ce4_8422_2325);
        let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        hash = Some(bytes.iter().fold(before, fold));
    };
    for (name, (id, count)) in topics.iter().filter_map(|(name, topic)| Some((name, (*topic)?))) {
        add(name.as_bytes());
        add(id.as_bytes());
        add(&count.to_be_bytes());
    }
    hash.unwrap_or(0) as i64
}

/// Checks what does not depend on the group, in Kafka's order.
///
/// # Errors
/// A field is missing, or has a value that is never right.
pub(crate) fn check(request: &ConsumerGroupHeartbeatRequest, version: i16) -> Result<(), Refused> {
    let invalid = |message: &str| Err(refused(ErrorCode::INVALID_REQUEST, message));
    let is_empty = |text: &Option<milena_messages::ByteString>| text.as_ref().is_some_and(|text| text.is_empty());
    let epoch = request.member_epoch;
    if (version >= CLIENT_CHOOSES_ID || epoch != JOIN) && request.member_id.is_empty() {
        return match request.group_id.is_empty() {
            true => invalid("GroupId can't be empty."),
            false => invalid("MemberId can't be empty."),
        };
    }
    if request.group_id.is_empty() {
        return invalid("GroupId can't be empty.");
    }
    if is_empty(&request.instance_id) {
        return invalid("InstanceId can't be empty.");
    }
    if is_empty(&request.rack_id) {
        return invalid("RackId can't be empty.");
    }
    if epoch == JOIN {
        if request.rebalance_timeout_ms == -1 {
            return invalid("RebalanceTimeoutMs must be provided in first request.");
        }
        if request.topic_partitions.as_ref().is_none_or(|owned| !owned.is_empty()) {
            return invalid("TopicPartitions must be empty when (re-)joining.");
        }
        if request.subscribed_topic_names.is_none() && request.subscribed_topic_regex.is_none() {
            return invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.");
        }
    }
    if epoch == LEAVE_STATIC && request.instance_id.is_none() {
        return invalid("InstanceId can't be null.");
    }
    if epoch < LEAVE_STATIC {
        return invalid("MemberEpoch is invalid.");
    }
    if let Some(name) = request.server_assignor.as_deref().filter(|name| Assignor::named(name).is_none()) {
        let message = format!("ServerAssignor {name} is not supported. Supported assignors: uniform, range.");
        return Err(refused(ErrorCode::UNSUPPORTED_ASSIGNOR, message));
    }
    Ok(())
}

/// From here on clients choose the ids of members.
pub(crate) const CLIENT_CHOOSES_ID: i16 = 1;
