//! For which partitions of a share group there is state at the share coordinator: it is set up for what members read, moved
//! and deleted by operators, and goes with its topic.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use milena_messages::alter_share_group_offsets::request::AlterShareGroupOffsetsRequestTopic;
use milena_messages::alter_share_group_offsets::response::{
    AlterShareGroupOffsetsResponsePartition, AlterShareGroupOffsetsResponseTopic,
};
use milena_messages::delete_share_group_offsets::response::DeleteShareGroupOffsetsResponseTopic;
use milena_messages::{ByteString, ErrorCode, Uuid};

use crate::cluster::State;
use crate::coordinator::Effects;
use crate::group::GroupMachine;
use crate::group::consumer::{Refused, TopicLookup, refused};
use crate::group::share::{ShareGroup, StateTopic, StateTopics, record};
use crate::share::{ShareKey, ShareRefusal, message};

/// After that time without a result, state is set up again: Kafka's `group.share.initialize.retry.interval.ms`.
const RETRY_AFTER_MS: i64 = 30_000;
/// What Kafka calls a topic whose name it does not know.
const UNKNOWN_NAME: &str = "<UNKNOWN>";

/// Partitions to set up, each with the offset where the group begins; -1 leaves that to the leader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StartOffsets {
    pub(crate) state_epoch: i32,
    pub(crate) topics: BTreeMap<Uuid, BTreeMap<i32, i64>>,
}

/// Partitions by topic.
pub(crate) type StatePartitions = BTreeMap<Uuid, BTreeSet<i32>>;

/// Sets partitions up at the share coordinator; gives what went wrong, by partition.
pub(crate) fn initialize_share_state(
    state: &Arc<State>,
    group: &str,
    offsets: &StartOffsets,
) -> BTreeMap<(Uuid, i32), ShareRefusal> {
    let mut refusals = BTreeMap::new();
    for (topic, partitions) in &offsets.topics {
        for (partition, start_offset) in partitions {
            let key = ShareKey { group: group.to_owned(), topic: *topic, partition: *partition };
            let done = state.with_share_state(&key, |machine, now_ms, effects| {
                machine.initialize(&key, offsets.state_epoch, *start_offset, (&**state, now_ms), effects)
            });
            if let Err(refusal) = done {
                refusals.insert((*topic, *partition), refusal);
            }
        }
    }
    refusals
}

/// Adds partitions to those of topics that are there.
fn add(topics: &mut BTreeMap<Uuid, StateTopic>, id: Uuid, more: StateTopic) {
    match topics.get_mut(&id) {
        Some(topic) => {
            topic.partitions.extend(more.partitions);
            (topic.name, topic.since) = (more.name, more.since);
        }
        None => _ = topics.insert(id, more),
    }
}

impl ShareGroup {
    /// Notes which partitions that members read have no state yet, and gives those to set up.
    pub(super) fn begin_state(
        &mut self,
        topics: &dyn TopicLookup,
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) -> Option<StartOffsets> {
        let missing: Vec<(Uuid, StateTopic)> =
            self.subscribed().into_iter().filter_map(|name| self.missing(name, topics, now_ms)).collect();
        if missing.is_empty() {
            return None;
        }
        let known = self.state_topics.clone().unwrap_or_default();
        let mut offsets = StartOffsets { state_epoch: self.epoch, topics: BTreeMap::new() };
        for (id, topic) in &missing {
            // Partitions that a topic gained are read from their beginning.
            let is_known = known.initialized.contains_key(id) || known.initializing.contains_key(id);
            let start = if is_known { 0 } else { -1 };
            offsets.topics.insert(*id, topic.partitions.iter().map(|partition| (*partition, start)).collect());
        }
        self.initializing(missing, effects);
        Some(offsets)
    }

    /// Partitions of a topic without state.
    fn missing(&self, name: &str, topics: &dyn TopicLookup, now_ms: i64) -> Option<(Uuid, StateTopic)> {
        let (id, count) = topics.find(name)?;
        let state = self.state_topics.as_ref();
        let ready = state.and_then(|state| state.initialized.get(&id));
        if ready.is_some_and(|ready| ready.partitions.len() >= usize::try_from(count).unwrap_or(0)) {
            return None;
        }
        let begun = state.and_then(|state| state.initializing.get(&id));
        let begun = begun.filter(|topic| now_ms.saturating_sub(topic.since) < RETRY_AFTER_MS);
        let known: BTreeSet<i32> =
            [ready, begun].into_iter().flatten().flat_map(|topic| &topic.partitions).copied().collect();
        let partitions: BTreeSet<i32> = (0..count).filter(|partition| !known.contains(partition)).collect();
        let topic = StateTopic { name: name.to_owned(), partitions, since: now_ms };
        Some((id, topic)).filter(|(_, topic)| !topic.partitions.is_empty())
    }

    /// Notes that state of these topics is about to be set up.
    fn initializing(&mut self, topics: Vec<(Uuid, StateTopic)>, effects: &mut Effects<GroupMachine>) {
        if topics.is_empty() {
            return;
        }
        let state = self.state_topics.get_or_insert_default();
        for (id, topic) in topics {
            add(&mut state.initializing, id, topic);
        }
        let StateTopics { initializing, deleting, .. } = state;
        deleting.retain(|id, _| !initializing.contains_key(id));
        effects.record(record::state(&self.id, state));
    }

    /// Forgets that state of these partitions is about to be set up; gives the names of their topics.
    fn no_longer_initializing(&mut self, offsets: &StartOffsets) -> BTreeMap<Uuid, String> {
        let mut names = BTreeMap::new();
        let Some(state) = &mut self.state_topics else { return names };
        for (id, partitions) in &offsets.topics {
            let Some(topic) = state.initializing.get_mut(id) else { continue };
            names.insert(*id, topic.name.clone());
            topic.partitions.retain(|partition| !partitions.contains_key(partition));
        }
        state.initializing.retain(|id, topic| !topic.partitions.is_empty() || !offsets.topics.contains_key(id));
        names
    }
}

impl GroupMachine {
    /// The state of partitions was set up, or could not be set up.
    pub(crate) fn share_initialized(
        &mut self,
        id: &str,
        offsets: &StartOffsets,
        succeeded: bool,
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) {
        let Some(group) = self.shares.get_mut(id) else { return };
        let names = group.no_longer_initializing(offsets);
        let state = group.state_topics.get_or_insert_default();
        if succeeded {
            for (topic, partitions) in &offsets.topics {
                let name = names.get(topic).map_or(UNKNOWN_NAME, |name| name).to_owned();
                let partitions = partitions.keys().copied().collect();
                add(&mut state.initialized, *topic, StateTopic { name, partitions, since: now_ms });
            }
        }
        effects.record(record::state(id, state));
    }

    /// AlterShareGroupOffsets of topics that exist: what to set up, and the response for when that succeeds.
    ///
    /// # Errors
    /// The group has members, or is of another protocol.
    pub(crate) fn share_alter_offsets(
        &mut self,
        id: &str,
        topics: &[AlterShareGroupOffsetsRequestTopic],
        lookup: &dyn TopicLookup,
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) -> Result<(Vec<AlterShareGroupOffsetsResponseTopic>, StartOffsets), Refused> {
        if self.is_of_another_protocol(id) {
            return Err(self.no_share_group(id));
        }
        if self.shares.get(id).is_some_and(|group| !group.is_empty()) {
            return Err(refused(ErrorCode::NON_EMPTY_GROUP, message(ErrorCode::NON_EMPTY_GROUP)));
        }
        let is_new = !self.shares.contains_key(id);
        let group = self.shares.entry(id.to_owned()).or_insert_with(|| ShareGroup::new(id));
        let backup = group.state_topics.clone();
        let mut offsets = StartOffsets { state_epoch: group.epoch, topics: BTreeMap::new() };
        let mut responses = Vec::new();
        let mut initializing = Vec::new();
        for topic in topics {
            let found = lookup.find(&topic.topic_name);
            let count = found.map_or(0, |(_, count)| count);
            let partition = |index: i32| {
                let missing = (index >= count).then_some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
                AlterShareGroupOffsetsResponsePartition {
                    partition_index: index,
                    error_code: missing.unwrap_or_default(),
                    error_message: missing.map(|code| message(code).into()),
                    ..Default::default()
                }
            };
            responses.push(AlterShareGroupOffsetsResponseTopic {
                topic_name: topic.topic_name.clone(),
                topic_id: found.map(|(topic_id, _)| topic_id).unwrap_or_default(),
                partitions: topic.partitions.iter().map(|wanted| partition(wanted.partition_index)).collect(),
                ..Default::default()
            });
            let Some((topic_id, _)) = found else { continue };
            let known = topic.partitions.iter().filter(|wanted| wanted.partition_index < count);
            let starts: BTreeMap<i32, i64> =
                known.map(|wanted| (wanted.partition_index, wanted.start_offset)).collect();
            let partitions = starts.keys().copied().collect();
            let name = topic.topic_name.to_string();
            initializing.push((topic_id, StateTopic { name, partitions, since: now_ms }));
            if !starts.is_empty() {
                offsets.topics.entry(topic_id).or_default().extend(starts);
            }
        }
        group.initializing(initializing, effects);
        if let Err(code) = effects.check_size() {
            group.state_topics = backup;
            if is_new {
                self.shares.remove(id);
            }
            return Err(refused(code, message(code)));
        }
        if is_new && group.state_topics.is_none() {
            self.shares.remove(id);
        }
        Ok((responses, offsets))
    }

    /// DeleteShareGroupOffsets: what to delete at the share coordinator, and what is refused at once.
    ///
    /// # Errors
    /// There is no such share group, or it has members.
    pub(crate) fn share_delete_offsets(
        &mut self,
        id: &str,
        topics: &[ByteString],
        lookup: &dyn TopicLookup,
        effects: &mut Effects<GroupMachine>,
    ) -> Result<(StatePartitions, Vec<DeleteShareGroupOffsetsResponseTopic>), Refused> {
        self.empty_share_group(id)?;
        let (mut wanted, mut refusals) = (StatePartitions::new(), Vec::new());
        let state = self.shares.get_mut(id).and_then(|group| group.state_topics.as_mut());
        let Some(state) = state else { return Ok((wanted, refusals)) };
        for name in topics {
            let refusal = |error: &str| DeleteShareGroupOffsetsResponseTopic {
                topic_name: name.clone(),
                error_code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                error_message: Some(error.to_owned().into()),
                ..Default::default()
            };
            let Some((topic, count)) = lookup.find(name) else {
                refusals.push(refusal(message(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)));
                continue;
            };
            if let Some(known) = state.initialized.remove(&topic) {
                wanted.insert(topic, known.partitions);
                state.deleting.insert(topic, known.name);
            } else if state.deleting.contains_key(&topic) {
                wanted.insert(topic, (0..count).collect());
            } else {
                refusals.push(refusal("There is no offset information to delete."));
            }
        }
        effects.record(record::state(id, state));
        Ok((wanted, refusals))
    }

    /// The state of these topics was deleted.
    pub(crate) fn share_offsets_deleted(&mut self, id: &str, topics: &[Uuid], effects: &mut Effects<GroupMachine>) {
        if let Some(state) = self.shares.get_mut(id).and_then(|group| group.state_topics.as_mut()) {
            state.deleting.retain(|topic, _| !topics.contains(topic));
            effects.record(record::state(id, state));
        }
    }

    /// A share group is about to be deleted: what to delete at the share coordinator before.
    ///
    /// # Errors
    /// There is no such share group, or it has members.
    pub(crate) fn share_delete_state(
        &mut self,
        id: &str,
        lookup: &dyn TopicLookup,
        effects: &mut Effects<GroupMachine>,
    ) -> Result<StatePartitions, Refused> {
        self.empty_share_group(id)?;
        let state = self.shares.get_mut(id).and_then(|group| group.state_topics.as_mut());
        let Some(state) = state else { return Ok(StatePartitions::new()) };
        let mut wanted = StatePartitions::new();
        for (topic, known) in state.initialized.iter().chain(&state.initializing) {
            wanted.entry(*topic).or_default().extend(&known.partitions);
            state.deleting.insert(*topic, known.name.clone());
        }
        for topic in state.deleting.keys() {
            // What was not deleted before is tried again.
            if let Some((_, count)) = lookup.name(*topic).and_then(|name| lookup.find(&name)) {
                wanted.entry(*topic).or_default().extend(0..count);
            }
        }
        state.initialized.clear();
        state.initializing.clear();
        state.deleting.retain(|topic, _| wanted.contains_key(topic));
        effects.record(record::state(id, state));
        Ok(wanted)
    }

    /// Deletes a share group without members, with its records.
    pub(crate) fn delete_share_group(&mut self, id: &str, effects: &mut Effects<GroupMachine>) -> bool {
        if self.empty_share_group(id).is_err() || self.shares.remove(id).is_none() {
            return false;
        }
        effects.record(record::target_metadata_tombstone(id));
        effects.record(record::state_tombstone(id));
        effects.record(record::group_tombstone(id));
        true
    }

    fn empty_share_group(&self, id: &str) -> Result<(), Refused> {
        if self.share_group(id)?.is_empty() {
            return Ok(());
        }
        Err(refused(ErrorCode::NON_EMPTY_GROUP, message(ErrorCode::NON_EMPTY_GROUP)))
    }

    /// The partitions of a share group that have state; none when there is no such group.
    pub(crate) fn share_partitions(&self, id: &str) -> StatePartitions {
        let state = self.shares.get(id).and_then(|group| group.state_topics.as_ref());
        let topics = state.into_iter().flat_map(|state| &state.initialized);
        topics.map(|(topic, known)| (*topic, known.partitions.clone())).collect()
    }

    /// A topic is gone, and so is its state.
    pub(crate) fn share_topic_deleted(&mut self, topic: Uuid, effects: &mut Effects<GroupMachine>) {
        for (id, group) in &mut self.shares {
            let Some(state) = &mut group.state_topics else { continue };
            let had = [
                state.initializing.remove(&topic).is_some(),
                state.initialized.remove(&topic).is_some(),
                state.deleting.remove(&topic).is_some(),
            ];
            if had.contains(&true) {
                effects.record(record::state(id, state));
            }
        }
    }
}
