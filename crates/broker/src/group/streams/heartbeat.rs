//! StreamsGroupHeartbeat: members join with their topology, say what they have, and learn what they get.

use std::collections::BTreeMap;
use std::sync::Arc;

use milena_messages::streams_group_heartbeat::request::{TaskIds, TaskOffset};
use milena_messages::streams_group_heartbeat::response as told;
use milena_messages::{ErrorCode, StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse};

use crate::coordinator::Effects;
use crate::group::consumer::{JOIN, LEAVE, LEAVE_STATIC, MemberState, Refused, TopicLookup, hash_of};
use crate::group::streams::assignor::{self, Candidate, Part};
use crate::group::streams::check::{check_epoch, check_tasks};
use crate::group::streams::reconcile::Reported;
use crate::group::streams::topology::{self, InternalTopic, Status};
use crate::group::streams::{Known, Offsets, StreamsGroup, StreamsMember, StreamsSettings, Target, Task, record};
use crate::group::{GroupMachine, record as group_record};

/// The epoch of a member that is about to go.
pub(super) const LEFT: i32 = LEAVE;
/// More tasks than that do not fit into the log.
const MAX_TASKS: i64 = 200_000;
/// From here on members learn that client tags are missing, and that the lag is a long.
const CLIENT_TAGS: i16 = 1;

/// A heartbeat, and what is known of its client.
pub(crate) struct StreamsHeartbeat<'a> {
    pub(crate) request: &'a StreamsGroupHeartbeatRequest,
    pub(crate) version: i16,
    pub(crate) client_id: &'a str,
    pub(crate) client_host: &'a str,
    pub(crate) topics: &'a dyn TopicLookup,
    /// The settings of the group.
    pub(crate) settings: &'a StreamsSettings,
}

pub(super) fn refused(code: ErrorCode, message: impl Into<String>) -> Refused {
    Refused { code, message: message.into() }
}

pub(super) fn invalid(message: impl Into<String>) -> Refused {
    refused(ErrorCode::INVALID_REQUEST, message)
}

impl GroupMachine {
    /// StreamsGroupHeartbeat of a request that was [checked](check), and the internal topics that are missing.
    ///
    /// # Errors
    /// The member is unknown, fenced, or cannot join this group; the topology makes no sense. Then nothing has changed.
    pub(crate) fn streams_heartbeat(
        &mut self,
        heartbeat: &StreamsHeartbeat<'_>,
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) -> Result<(StreamsGroupHeartbeatResponse, Vec<InternalTopic>), Refused> {
        let request = heartbeat.request;
        let id = &*request.group_id;
        if matches!(request.member_epoch, LEAVE | LEAVE_STATIC) {
            let response = self.streams_leave(heartbeat, effects);
            self.arm(id);
            return response.map(|response| (response, Vec::new()));
        }
        let mut own = Effects::new();
        let response = match self.streams.get_mut(id) {
            Some(group) if group.is_steady(heartbeat) => group.heartbeat(heartbeat, now_ms, &mut own)?,
            known => {
                // What fails has not happened.
                let mut group = match known.map(|group| group.clone()) {
                    Some(group) => group,
                    None => self.begin_streams_group(id, request.member_epoch, &mut own)?,
                };
                let response = group.heartbeat(heartbeat, now_ms, &mut own)?;
                let too_large = "The topology, the member or its assignment is too large for the log of the group.";
                own.check_size().map_err(|code| refused(code, too_large))?;
                if self.groups.remove(id).is_some() {
                    self.due.remove(id);
                }
                self.streams.insert(id.to_owned(), group);
                response
            }
        };
        effects.absorb(own);
        self.arm(id);
        Ok(response)
    }

    /// The group that a first member begins. An empty classic group gives way.
    fn begin_streams_group(
        &self,
        id: &str,
        member_epoch: i32,
        effects: &mut Effects<GroupMachine>,
    ) -> Result<StreamsGroup, Refused> {
        let not_streams = || refused(ErrorCode::GROUP_ID_NOT_FOUND, format!("Group {id} is not a streams group."));
        match self.groups.get(id) {
            Some(classic) if member_epoch == JOIN && classic.is_empty() => {
                effects.record(group_record::group_tombstone(id));
                Ok(StreamsGroup::new(id))
            }
            None if self.consumers.contains_key(id) || self.is_share_group(id) => Err(not_streams()),
            None if member_epoch == JOIN => Ok(StreamsGroup::new(id)),
            None => Err(refused(ErrorCode::GROUP_ID_NOT_FOUND, format!("Streams group {id} not found."))),
            Some(_) => Err(not_streams()),
        }
    }
}

impl StreamsGroup {
    /// Whether the heartbeat is one of a member that has all it should have, and says nothing new.
    fn is_steady(&self, heartbeat: &StreamsHeartbeat<'_>) -> bool {
        let request = heartbeat.request;
        let is_reconciled =
            self.members.get(&*request.member_id).is_some_and(|member| member.is_reconciled_to(self.epoch));
        is_reconciled
            && request.member_epoch != JOIN
            && self.known_version == Some(heartbeat.topics.version())
            && request.active_tasks.is_none()
            && request.process_id.is_none()
            && request.user_endpoint.is_none()
            && request.client_tags.is_none()
            && request.rack_id.is_none()
            && request.task_offsets.is_none()
            && request.task_end_offsets.is_none()
    }

    fn heartbeat(
        &mut self,
        heartbeat: &StreamsHeartbeat<'_>,
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) -> Result<(StreamsGroupHeartbeatResponse, Vec<InternalTopic>), Refused> {
        let (request, settings, topics) = (heartbeat.request, heartbeat.settings, heartbeat.topics);
        let id = &*request.member_id;
        let is_joining = request.member_epoch == JOIN;
        if is_joining {
            self.check_room(id, request.instance_id.as_deref(), settings)?;
        }
        let found = self.find(heartbeat)?;
        let was_empty = self.members.is_empty();
        let replaces = found.id != id;
        let before = StreamsMember { id: id.to_owned(), ..found.clone() };
        let member = updated(&before, heartbeat);
        if replaces {
            self.replace(&found.id, &before, effects);
        }
        let mut recompute = false;
        if member != before || !self.members.contains_key(id) {
            effects.record(record::member(&self.id, &member));
            recompute = request.instance_id.is_none() || matters(&before, &member);
        }
        self.members.insert(id.to_owned(), member.clone());

        let new_topology = self.topology.is_none();
        let topology = self.update_topology(request, effects)?;
        let mut status = Vec::new();
        if !new_topology && member.topology_epoch < topology.epoch {
            let message = format!(
                "The member's topology epoch {} is behind the group's topology epoch {}.",
                member.topology_epoch, topology.epoch
            );
            status.push((Status::StaleTopology, message));
        }
        recompute |= self.look_at_topics(&topology, new_topology, topics)?;
        let configured = self.configured.clone().unwrap_or_default();
        check_tasks(&configured, request)?;
        self.keep_offsets(request)?;
        let validated = if configured.is_ready() { topology.epoch } else { -1 };
        recompute |= validated != self.validated_epoch;
        let configs = settings.assignment_configs();
        recompute |= configs != self.configs;
        if recompute {
            self.epoch = self.epoch.saturating_add(1);
            (self.validated_epoch, self.configs) = (validated, configs);
            effects.record(record::group(self));
        }
        if was_empty && settings.initial_delay_ms > 0 {
            self.delay_until.get_or_insert(now_ms + i64::from(settings.initial_delay_ms));
        }
        let target = self.maybe_assign(&member.id, settings, now_ms, &mut status, effects);

        let mut after = member.clone();
        if !member.is_reconciled_to(self.assignment_epoch) {
            after = self.reconcile(&member, self.assignment_epoch, &target, reported(request).as_ref())?;
        }
        let timers = self.timers.entry(id.to_owned()).or_default();
        timers.session = Some(now_ms + i64::from(settings.session_timeout_ms));
        if after != member {
            effects.record(record::current(&self.id, &after));
            timers.revocation = (after.state == MemberState::UnrevokedPartitions)
                .then(|| (after.epoch, now_ms + i64::from(after.rebalance_timeout_ms)));
        }
        if request.shutdown_application {
            self.shutdown.get_or_insert_with(|| id.to_owned());
        }
        let tasks_changed = after.assigned != before.assigned;
        if after.endpoint != before.endpoint || tasks_changed && after.endpoint.is_some() {
            self.endpoint_epoch += 1;
        }
        self.members.insert(id.to_owned(), after.clone());
        let mut response = self.response(heartbeat, &after, is_joining || tasks_changed, was_empty && new_topology);
        if let Some((problem, message)) = &configured.problem {
            status.push((*problem, message.clone()));
        }
        if let Some(member) = &self.shutdown {
            let message = format!(
                "Streams group member {member} encountered a fatal error and requested a shutdown for the entire \
                 application."
            );
            status.push((Status::ShutdownApplication, message));
        }
        if let Some(missing) = missing_tags(settings, &after).filter(|_| heartbeat.version >= CLIENT_TAGS) {
            status.push((Status::MissingClientTags, missing));
        }
        let one = |(status, message): (Status, String)| told::Status {
            status_code: status as i8,
            status_detail: message.into(),
            ..Default::default()
        };
        response.status = Some(status.into_iter().map(one).collect());
        let to_create = if configured.is_ready() { Vec::new() } else { configured.to_create.clone() };
        Ok((response, to_create))
    }

    fn response(
        &self,
        heartbeat: &StreamsHeartbeat<'_>,
        member: &StreamsMember,
        tell_tasks: bool,
        is_new_group: bool,
    ) -> StreamsGroupHeartbeatResponse {
        let settings = heartbeat.settings;
        let lag = settings.acceptable_recovery_lag;
        let mut response = StreamsGroupHeartbeatResponse {
            member_id: member.id.clone().into(),
            member_epoch: member.epoch,
            heartbeat_interval_ms: settings.heartbeat_interval_ms,
            task_offset_interval_ms: settings.task_offset_interval_ms,
            // Each version has a field of its own for it.
            acceptable_recovery_lag_legacy: if heartbeat.version < CLIENT_TAGS { lag as i32 } else { 0 },
            acceptable_recovery_lag: if heartbeat.version < CLIENT_TAGS { -1 } else { lag },
            endpoint_information_epoch: if is_new_group { 0 } else { self.endpoint_epoch },
            ..Default::default()
        };
        if tell_tasks {
            response.active_tasks = Some(task_ids(member.assigned.active.keys()));
            response.standby_tasks = Some(task_ids(&member.assigned.standby));
            response.warmup_tasks = Some(Vec::new());
        }
        if self.endpoint_epoch != heartbeat.request.endpoint_information_epoch {
            response.partitions_by_user_endpoint = Some(self.partitions_by_endpoint(heartbeat.topics));
        }
        response
    }

    fn partitions_by_endpoint(&self, topics: &dyn TopicLookup) -> Vec<told::EndpointToPartitions> {
        let Some(parts) = self.configured.as_ref().and_then(|configured| configured.subtopologies.as_ref()) else {
            return Vec::new();
        };
        let of = |tasks: &mut dyn Iterator<Item = &Task>| {
            let mut found: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
            for (id, partition) in tasks {
                for topic in parts.get(id).into_iter().flat_map(|part| &part.sources) {
                    if topics.find(topic).is_some_and(|(_, count)| *partition < count) {
                        found.entry(topic).or_default().push(*partition);
                    }
                }
            }
            let topic = |(topic, partitions): (&str, Vec<i32>)| told::TopicPartition {
                topic: topic.to_owned().into(),
                partitions: partitions.into_iter().collect(),
                ..Default::default()
            };
            found.into_iter().map(topic).collect::<Vec<_>>()
        };
        let member = |member: &StreamsMember| {
            let (host, port) = member.endpoint.clone()?;
            Some(told::EndpointToPartitions {
                user_endpoint: told::Endpoint { host: host.into(), port, ..Default::default() },
                active_partitions: of(&mut member.assigned.active.keys()),
                standby_partitions: of(&mut member.assigned.standby.iter()),
                ..Default::default()
            })
        };
        self.members.values().filter_map(member).collect()
    }

    fn check_room(&self, id: &str, instance_id: Option<&str>, settings: &StreamsSettings) -> Result<(), Refused> {
        let is_back = || instance_id.is_some_and(|instance_id| self.static_member(instance_id).is_some());
        if self.members.len() < settings.max_size || self.members.contains_key(id) || is_back() {
            return Ok(());
        }
        let message = format!("The streams group has reached its maximum capacity of {} members.", settings.max_size);
        Err(refused(ErrorCode::GROUP_MAX_SIZE_REACHED, message))
    }

    /// The member as it was before this heartbeat, or the one whose place it takes.
    fn find(&self, heartbeat: &StreamsHeartbeat<'_>) -> Result<StreamsMember, Refused> {
        let request = heartbeat.request;
        let (id, is_joining) = (&*request.member_id, request.member_epoch == JOIN);
        let new = || self.members.get(id).cloned().unwrap_or_else(|| StreamsMember::new(id));
        let Some(instance_id) = request.instance_id.as_deref() else {
            let member = if is_joining { new() } else { self.member(id)?.clone() };
            check_epoch(&member, request)?;
            return Ok(member);
        };
        if !is_joining {
            let member = self.check_instance(id, instance_id)?;
            check_epoch(member, request)?;
            return Ok(member.clone());
        }
        match self.static_member(instance_id) {
            None => Ok(new()),
            Some(member) if member.epoch != LEAVE_STATIC => {
                let message = format!(
                    "Static member {id} with instance id {instance_id} cannot join the group because the instance id is \
                     owned by {} member.",
                    member.id
                );
                Err(refused(ErrorCode::UNRELEASED_INSTANCE_ID, message))
            }
            Some(member) => Ok(StreamsMember { epoch: 0, previous_epoch: 0, ..member.clone() }),
        }
    }

    /// A static member has another id than before: it takes over the target.
    fn replace(&mut self, old: &str, new: &StreamsMember, effects: &mut Effects<GroupMachine>) {
        let target = self.target(old);
        self.remove_member(old, effects);
        effects.record(record::member(&self.id, new));
        effects.record(record::target(&self.id, &new.id, &target));
        effects.record(record::current(&self.id, new));
        self.targets.insert(new.id.clone(), target);
        self.members.insert(new.id.clone(), new.clone());
    }

    fn update_topology(
        &mut self,
        request: &StreamsGroupHeartbeatRequest,
        effects: &mut Effects<GroupMachine>,
    ) -> Result<Arc<milena_messages::StreamsGroupTopologyValue>, Refused> {
        let asked = request.topology.as_ref().map(topology::from_request);
        match (asked, &self.topology) {
            (Some(asked), None) if asked.epoch < 0 => {
                Err(refused(ErrorCode::UNKNOWN_SERVER_ERROR, "Topology epoch must be non-negative."))
            }
            (Some(asked), None) => {
                effects.record(record::topology(&self.id, &asked));
                Ok(self.topology.insert(Arc::new(asked)).clone())
            }
            (Some(asked), Some(known)) if known.epoch <= asked.epoch && **known != asked => {
                Err(invalid("Topology updates are not supported yet."))
            }
            (_, Some(known)) => Ok(known.clone()),
            (None, None) => Err(refused(
                ErrorCode::UNKNOWN_SERVER_ERROR,
                "The topology is null and the group topology is also null.",
            )),
        }
    }

    /// Compares the topology with the topics, when they may have changed. True when they are others than before.
    fn look_at_topics(
        &mut self,
        topology: &milena_messages::StreamsGroupTopologyValue,
        new_topology: bool,
        topics: &dyn TopicLookup,
    ) -> Result<bool, Refused> {
        let version = topics.version();
        if !new_topology && self.configured.is_some() && self.known_version == Some(version) {
            return Ok(false);
        }
        let known: Known = topology::required(topology)
            .into_iter()
            .map(|name| (topics.find(&name), name))
            .map(|(a, b)| (b, a))
            .collect();
        let hash = hash_of(&known);
        let changed = hash != self.metadata_hash;
        if changed || new_topology || self.configured.is_none() {
            let configured = topology::configure(topology, topics)?;
            let tasks = configured.subtopologies.iter().flat_map(BTreeMap::values).map(|part| i64::from(part.tasks));
            if tasks.sum::<i64>() > MAX_TASKS {
                let message = format!("The topology has more than {MAX_TASKS} tasks.");
                return Err(refused(ErrorCode::UNKNOWN_SERVER_ERROR, message));
            }
            self.configured = Some(Arc::new(configured));
        }
        (self.known_version, self.metadata_hash) = (Some(version), hash);
        Ok(changed)
    }

    /// Keeps how far the member restored the state of its tasks.
    fn keep_offsets(&mut self, request: &StreamsGroupHeartbeatRequest) -> Result<(), Refused> {
        let by_task = |offsets: &[TaskOffset]| {
            let mut found = BTreeMap::new();
            for one in offsets {
                if found.insert((one.subtopology_id.to_string(), one.partition), one.offset).is_some() {
                    return Err(invalid(format!(
                        "Task offsets contain a duplicate entry for subtopology {} and partition {}.",
                        one.subtopology_id, one.partition
                    )));
                }
            }
            Ok(found)
        };
        let reached = request.task_offsets.as_deref().map(by_task).transpose()?;
        let end = request.task_end_offsets.as_deref().map(by_task).transpose()?;
        if reached.is_some() || end.is_some() {
            let known: &mut Offsets = self.offsets.entry(request.member_id.to_string()).or_default();
            known.reached = reached.unwrap_or_else(|| std::mem::take(&mut known.reached));
            known.end = end.unwrap_or_else(|| std::mem::take(&mut known.end));
        }
        Ok(())
    }

    /// Computes a new target when the last one is of an older epoch; gives that of the member.
    fn maybe_assign(
        &mut self,
        member: &str,
        settings: &StreamsSettings,
        now_ms: i64,
        status: &mut Vec<(Status, String)>,
        effects: &mut Effects<GroupMachine>,
    ) -> Target {
        if self.delay_until.is_some() {
            let message = "Assignment delayed due to the configured initial rebalance delay.";
            status.push((Status::AssignmentDelayed, message.to_owned()));
            return Target::default();
        }
        if self.epoch > self.assignment_epoch {
            let next = self.assignment_timestamp + i64::from(settings.assignment_interval_ms);
            if self.assignment_timestamp != 0 && now_ms < next {
                let message = "Assignment delayed due to the configured assignment interval.";
                status.push((Status::AssignmentDelayed, message.to_owned()));
            } else {
                self.assign(now_ms, effects);
            }
        }
        self.target(member)
    }

    /// Computes a target for the epoch.
    pub(super) fn assign(&mut self, now_ms: i64, effects: &mut Effects<GroupMachine>) {
        let standbys = self.configs.get(STANDBY_REPLICAS).and_then(|count| count.parse().ok()).unwrap_or(0);
        let none = Offsets::default();
        let candidate = |member| Self::candidate(member, self.offsets.get(&member.id).unwrap_or(&none));
        let members: Vec<Candidate<'_>> = self.members.values().map(candidate).collect();
        let configured = self.configured.clone().unwrap_or_default();
        let parts = configured.subtopologies.iter().flatten().filter(|_| configured.is_ready());
        let part =
            |(id, part): (&'_ String, &topology::ConfiguredSubtopology)| (id.clone(), part.tasks, part.is_stateful);
        let parts: Vec<(String, i32, bool)> = parts.map(part).collect();
        let parts: Vec<Part<'_>> = parts
            .iter()
            .map(|(id, tasks, is_stateful)| Part { id, tasks: *tasks, is_stateful: *is_stateful })
            .collect();
        let assigned = assignor::assign(&members, &parts, standbys);
        for (member, target) in assigned {
            if self.targets.get(&member) != Some(&target) {
                effects.record(record::target(&self.id, &member, &target));
                self.targets.insert(member, target);
            }
        }
        (self.assignment_epoch, self.assignment_timestamp) = (self.epoch, now_ms);
        effects.record(record::target_metadata(self));
    }

    fn candidate<'a>(member: &'a StreamsMember, offsets: &'a Offsets) -> Candidate<'a> {
        Candidate { id: &member.id, process: &member.process_id, owned: &member.assigned, offsets: &offsets.reached }
    }
}

const STANDBY_REPLICAS: &str = "num.standby.replicas";

impl StreamsSettings {
    /// What the assignor goes by. An epoch begins when it changes.
    fn assignment_configs(&self) -> BTreeMap<String, String> {
        let mut configs = BTreeMap::from([(STANDBY_REPLICAS.to_owned(), self.standby_replicas.to_string())]);
        if !self.rack_tags.is_empty() {
            configs.insert("rack.aware.assignment.tags".to_owned(), self.rack_tags.clone());
        }
        configs
    }
}

/// What is missing of the tags that copies are spread over.
fn missing_tags(settings: &StreamsSettings, member: &StreamsMember) -> Option<String> {
    let missing: Vec<&str> = crate::cluster::setting::parts(settings.rack_tags.trim())
        .filter(|tag| !member.tags.contains_key(*tag))
        .collect();
    let message = || {
        format!(
            "Missing required client tags for rack-aware standby assignment: [{}]. Configure them via \
             'client.tag.<tagKey>' in your Streams config.",
            missing.join(", ")
        )
    };
    (!missing.is_empty()).then(message)
}

/// Whether a static member changed so that tasks have to be assigned again.
fn matters(before: &StreamsMember, after: &StreamsMember) -> bool {
    before.topology_epoch != after.topology_epoch
        || before.rack_id != after.rack_id
        || before.tags != after.tags
        || before.process_id != after.process_id
}

/// The member with what this heartbeat says of it. What it leaves out stays.
fn updated(before: &StreamsMember, heartbeat: &StreamsHeartbeat<'_>) -> StreamsMember {
    let request = heartbeat.request;
    let text = |new: &Option<milena_messages::ByteString>, old: &Option<String>| {
        new.as_ref().map(|text| text.to_string()).or_else(|| old.clone())
    };
    let endpoint = request.user_endpoint.as_ref().map(|endpoint| (endpoint.host.to_string(), endpoint.port));
    let tags = request.client_tags.as_ref();
    let tags = tags.map(|tags| tags.iter().map(|tag| (tag.key.to_string(), tag.value.to_string())).collect());
    StreamsMember {
        instance_id: text(&request.instance_id, &before.instance_id),
        rack_id: text(&request.rack_id, &before.rack_id),
        rebalance_timeout_ms: match request.rebalance_timeout_ms {
            -1 => before.rebalance_timeout_ms,
            timeout => timeout,
        },
        topology_epoch: request.topology.as_ref().map_or(before.topology_epoch, |topology| topology.epoch),
        client_id: heartbeat.client_id.to_owned(),
        client_host: heartbeat.client_host.to_owned(),
        process_id: request.process_id.as_ref().map_or_else(|| before.process_id.clone(), |id| id.to_string()),
        endpoint: if request.member_epoch == JOIN { endpoint } else { endpoint.or_else(|| before.endpoint.clone()) },
        tags: tags.unwrap_or_else(|| before.tags.clone()),
        ..before.clone()
    }
}

fn tasks(ids: &[TaskIds]) -> impl Iterator<Item = Task> {
    ids.iter().flat_map(|ids| ids.partitions.iter().map(|partition| (ids.subtopology_id.to_string(), *partition)))
}

/// What the member says it has; `None` when it does not say.
pub(super) fn reported(request: &StreamsGroupHeartbeatRequest) -> Option<Reported> {
    Some(Reported {
        active: tasks(request.active_tasks.as_deref()?).collect(),
        standby: tasks(request.standby_tasks.as_deref()?).collect(),
        warmup: tasks(request.warmup_tasks.as_deref()?).collect(),
    })
}

fn task_ids<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Vec<told::TaskIds> {
    let mut found: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    tasks.into_iter().for_each(|(id, partition)| found.entry(id).or_default().push(*partition));
    let ids = |(id, partitions): (&str, Vec<i32>)| told::TaskIds {
        subtopology_id: id.to_owned().into(),
        partitions: partitions.into_iter().collect(),
        ..Default::default()
    };
    found.into_iter().map(ids).collect()
}
