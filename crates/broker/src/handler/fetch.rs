mod read;

use std::sync::Arc;
use std::time::Duration;

use milena_connection::frame_response;
use milena_messages::fetch::request::{FetchPartition, FetchTopic, ForgottenTopic};
use milena_messages::fetch::response::{FetchableTopicResponse, NodeEndpoint, PartitionData};
use milena_messages::{ByteString, ErrorCode, FetchRequest, FetchResponse, Uuid};
use tokio::time::{Instant, timeout_at};

use self::read::{COMMITTED, Reading, WHOLE_FIRST, available, read};
use super::context::node_endpoint;
use super::each_once::{Listed, each_once};
use super::{Context, Outcome};
use crate::cluster::throttle::{ClientQuota, QuotaKind};
use crate::cluster::{State, Topic, TopicRef};
use crate::cost::Cost;
use crate::fetch_session::{FetchContext, FetchSessions, Key, SessionRequest, Wanted};
use crate::security::acl::{Operation, Resource};
use crate::storage::partition::Partition;
use crate::storage::waiter::Waiter;

/// From here on consumers may read from followers (KIP-392).
const FOLLOWERS: i16 = 11;
/// From here on topics go by id (KIP-516).
const TOPIC_IDS: i16 = 13;
/// From here on errors say who leads (KIP-951).
const LEADER_HINTS: i16 = 16;

impl Listed for FetchTopic {
    type Partition = FetchPartition;

    fn topic(&self) -> (ByteString, Uuid) {
        (self.topic.clone(), self.topic_id)
    }

    fn partitions(&mut self) -> &mut Vec<FetchPartition> {
        &mut self.partitions
    }

    fn index(partition: &FetchPartition) -> i32 {
        partition.partition
    }
}

pub(super) fn handle(context: &Context, mut request: FetchRequest, cost: &mut Cost) -> Outcome<FetchResponse> {
    let (state, by_id) = (&context.state, context.version >= TOPIC_IDS);
    let name_of = |id| state.topic(TopicRef::Id(id)).map(|topic| topic.name.clone());
    let topics = std::mem::take(&mut request.topics);
    let session = SessionRequest {
        id: request.session_id,
        epoch: request.session_epoch,
        by_id,
        privileged: replica(&request) >= 0,
        wanted: listed(&topics, by_id, name_of),
        forgotten: request.forgotten_topics_data.iter().flat_map(|topic| forgotten(topic, by_id)).collect(),
    };
    let (session, wanted) = match context.node.fetch_sessions.begin(session, name_of, state.now_ms()) {
        Ok(begun) => begun,
        Err(code @ ErrorCode::UNKNOWN_SERVER_ERROR) => return refused(&request, &topics, by_id, code).into(),
        Err(error_code) => return FetchResponse { error_code, ..Default::default() }.into(),
    };
    let plan = Plan::new(context, wanted, replica(&request) >= 0);
    // Kafka looks at it only when there is something to read.
    if !matches!(request.isolation_level, 0 | COMMITTED) && !plan.read.is_empty() {
        return refused(&request, &topics, by_id, ErrorCode::UNKNOWN_SERVER_ERROR).into();
    }
    let quota = if replica(&request) < 0 { context.quota(QuotaKind::Fetch) } else { None };
    // More would be held back in any case.
    let most = quota.as_ref().map_or(i32::MAX, |quota| quota.burst() as i32);
    let fetch = Fetch {
        reading: Reading {
            version: context.version,
            committed: request.isolation_level == COMMITTED,
            replica: replica(&request),
            max_bytes: if context.version >= WHOLE_FIRST { request.max_bytes.min(most) } else { most },
            rack: request.rack_id.to_string().into(),
        },
        max_wait: Duration::from_millis(request.max_wait_ms.max(0) as u64),
        enough: size(request.min_bytes.min(state.config.fetch_max_bytes).min(most)),
        quota,
        context: context.clone(),
        session,
        plan,
    };
    if matches!(fetch.session, FetchContext::Sessionless) && fetch.quota.is_none() && fetch.is_ready() {
        // It changes nothing, so that it may be handled again when it turns out to be costly.
        return fetch.respond(cost).into();
    }
    Outcome::later(async move {
        if !fetch.is_ready() {
            // It cannot fail in any other way.
            let _ = timeout_at(Instant::now() + fetch.max_wait, fetch.enough()).await;
        }
        let (state, frame_size) = (fetch.context.state.clone(), fetch.context.frame_size);
        let fetch = Arc::new(fetch);
        let (reader, node) = (fetch.clone(), fetch.context.node.clone());
        match state.workers.budgeted(frame_size, move |cost| reader.partitions(cost)).await {
            Ok(mut partitions) => {
                let throttle_time_ms = fetch.throttle(&partitions);
                let session = if throttle_time_ms > 0 {
                    partitions.clear();
                    FetchSessions::throttled(&fetch.session)
                } else {
                    node.fetch_sessions.finish(&fetch.session, &mut partitions, state.now_ms())
                };
                let response = session.map(|session_id| fetch.response(session_id, partitions));
                let overtaken = |session_id| {
                    let error_code = ErrorCode::INVALID_FETCH_SESSION_EPOCH;
                    FetchResponse { error_code, session_id, ..Default::default() }
                };
                FetchResponse { throttle_time_ms, ..response.unwrap_or_else(overtaken) }.into()
            }
            Err(error) => Outcome::Close(format!("the handler failed: {error}")),
        }
    })
}

/// The partitions of a request, each once, in the order in which Kafka reads them.
fn listed(topics: &[FetchTopic], by_id: bool, name_of: impl Fn(Uuid) -> Option<ByteString>) -> Vec<Wanted> {
    let is_one = matches!(topics, [only] if only.partitions.len() == 1);
    let once = if is_one { topics.to_vec() } else { each_once(topics.to_vec()) };
    let mut all = Vec::new();
    for FetchTopic { topic, topic_id, partitions, .. } in once {
        let (name, id) = if by_id { (name_of(topic_id), topic_id) } else { (Some(topic), Uuid::ZERO) };
        all.extend(partitions.into_iter().map(|one| Wanted {
            topic: name.clone(),
            id,
            partition: one.partition,
            offset: one.fetch_offset,
            max_bytes: one.partition_max_bytes,
            leader_epoch: one.current_leader_epoch,
            last_fetched_epoch: one.last_fetched_epoch,
        }));
    }
    all
}

fn forgotten(topic: &ForgottenTopic, by_id: bool) -> impl Iterator<Item = Key> {
    topic
        .partitions
        .iter()
        .map(move |index| if by_id { Key::Id(topic.topic_id, *index) } else { Key::Name(topic.topic.clone(), *index) })
}

/// The replica that fetches; -1 for a consumer.
fn replica(request: &FetchRequest) -> i32 {
    if request.replica_id == -1 { request.replica_state.replica_id } else { request.replica_id }
}

fn size(bytes: i32) -> usize {
    usize::try_from(bytes).unwrap_or(0)
}

/// The data of a partition that was not looked at.
fn unknown(error_code: ErrorCode) -> PartitionData {
    // Null is allowed for the records, but some clients fail on it.
    PartitionData { error_code, high_watermark: -1, records: Some(bytes::Bytes::new()), ..Default::default() }
}

/// A response that refuses the whole request.
fn refused(request: &FetchRequest, topics: &[FetchTopic], by_id: bool, error_code: ErrorCode) -> FetchResponse {
    let partition =
        |wanted: &FetchPartition| PartitionData { partition_index: wanted.partition, ..unknown(error_code) };
    let topic = |wanted: &FetchTopic| FetchableTopicResponse {
        topic: wanted.topic.clone(),
        partitions: wanted.partitions.iter().map(partition).collect(),
        ..Default::default()
    };
    // With topic ids there is nothing to name the topics by when they are not looked at.
    let topics = if by_id { &[] } else { topics };
    let responses = topics.iter().map(topic).collect();
    FetchResponse { error_code, session_id: request.session_id, responses, ..Default::default() }
}

/// The partitions of a request, as far as metadata tells.
struct Plan {
    /// Those that are there.
    read: Vec<Wanted>,
    /// Those that are not, or that the client may not read, which come last in the response.
    failed: Vec<(Wanted, ErrorCode)>,
}

impl Plan {
    fn new(context: &Context, wanted: Vec<Wanted>, is_replica: bool) -> Self {
        let unauthorized = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
        if is_replica && !context.may(Operation::ClusterAction, Resource::CLUSTER) {
            return Self { read: Vec::new(), failed: wanted.into_iter().map(|one| (one, unauthorized)).collect() };
        }
        let (named, nameless): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|one| one.topic.is_some());
        let failed = nameless.into_iter().map(|one| (one, ErrorCode::UNKNOWN_TOPIC_ID)).collect();
        let mut plan = Self { read: Vec::with_capacity(named.len()), failed };
        let mut topics = Topics::new(&context.state);
        for one in named {
            // Replicas need no permission for each topic.
            let name = one.topic.as_deref().unwrap_or_default();
            if !is_replica && !context.may(Operation::Read, Resource::topic(name)) {
                plan.failed.push((one, unauthorized));
                continue;
            }
            // The id is looked at when the partition is read.
            if topics.of(&one).is_some_and(|topic| topic.partition(one.partition).is_some()) {
                plan.read.push(one);
            } else {
                plan.failed.push((one, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
            }
        }
        plan
    }
}

/// Finds topics by name; neighbours in a list mostly have the same one.
struct Topics<'a> {
    state: &'a State,
    last: Option<(ByteString, Option<Arc<Topic>>)>,
}

impl<'a> Topics<'a> {
    fn new(state: &'a State) -> Self {
        Self { state, last: None }
    }

    fn of(&mut self, wanted: &Wanted) -> Option<&Arc<Topic>> {
        let name = wanted.topic.as_ref()?;
        if self.last.as_ref().is_none_or(|(last, _)| last != name) {
            self.last = Some((name.clone(), self.state.topic(TopicRef::Name(name))));
        }
        self.last.as_ref().and_then(|(_, topic)| topic.as_ref())
    }

    /// # Errors
    /// The topic was deleted; another one has its name now.
    fn partition(&mut self, wanted: &Wanted) -> Result<Arc<Partition>, ErrorCode> {
        let topic = self.of(wanted).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        let partition = topic.partition(wanted.partition).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        if !wanted.id.is_zero() && wanted.id != topic.id {
            return Err(ErrorCode::INCONSISTENT_TOPIC_ID);
        }
        Ok(partition)
    }
}

/// A Fetch request on its way.
struct Fetch {
    context: Context,
    reading: Reading,
    max_wait: Duration,
    /// The bytes that end the wait.
    enough: usize,
    quota: Option<ClientQuota>,
    session: FetchContext,
    plan: Plan,
}

impl Fetch {
    fn is_ready(&self) -> bool {
        self.max_wait.is_zero() || self.plan.read.is_empty() || Ready::of(self).is_enough(self)
    }

    /// Waits until there is enough to read, or an error to report.
    async fn enough(&self) {
        let (waiter, mut topics) = (Arc::new(Waiter::default()), Topics::new(&self.context.state));
        for (number, wanted) in self.plan.read.iter().enumerate() {
            if let Ok(partition) = topics.partition(wanted) {
                partition.watch(&waiter, number);
            }
        }
        // After the watch began, so that nothing is missed in between. From now on only what changed is looked at.
        let mut ready = Ready::of(self);
        while !ready.is_enough(self) {
            let changed = waiter.news().await;
            // Topics may be deleted meanwhile.
            let mut topics = Topics::new(&self.context.state);
            for number in changed {
                let partition = topics.partition(&self.plan.read[number]);
                ready.set(number, self.available(number, partition));
            }
        }
    }

    fn available(&self, number: usize, partition: Result<Arc<Partition>, ErrorCode>) -> Result<usize, ErrorCode> {
        available(&self.context, &*partition?, &self.plan.read[number], &self.reading)
    }

    /// Counts the bytes of a response. When they are too many, the client gets nothing and waits.
    fn throttle(&self, partitions: &[(Wanted, PartitionData)]) -> i32 {
        let Some(quota) = &self.quota else { return 0 };
        let (context, now_ms) = (&self.context, self.context.state.now_ms());
        let response = self.response(0, partitions.to_vec());
        let frame = frame_response(&response, context.version, 0);
        let bytes = frame.map_or(0, |frame| frame.iter().map(bytes::Bytes::len).sum::<usize>()) as f64;
        let throttle_time_ms = context.node.throttle.take(quota, bytes, now_ms);
        if throttle_time_ms > 0 {
            context.node.throttle.give_back(quota, bytes, now_ms);
            context.mute(throttle_time_ms);
        }
        throttle_time_ms
    }

    fn respond(&self, cost: &mut Cost) -> FetchResponse {
        self.response(0, self.partitions(cost))
    }

    /// What all partitions have: those that were read, and then those that are not there.
    fn partitions(&self, cost: &mut Cost) -> Vec<(Wanted, PartitionData)> {
        let mut topics = Topics::new(&self.context.state);
        let partitions = self.plan.read.iter().map(|wanted| (wanted, topics.partition(wanted)));
        let mut all = read(&self.context, &self.reading, partitions, cost);
        // Kafka says null where it looked at the log, and has an empty list otherwise.
        let failed = |(wanted, code): &(Wanted, ErrorCode)| {
            let data = PartitionData { partition_index: wanted.partition, ..unknown(*code) };
            (wanted.clone(), data)
        };
        all.extend(self.plan.failed.iter().map(failed));
        all
    }

    fn response(&self, session_id: i32, partitions: Vec<(Wanted, PartitionData)>) -> FetchResponse {
        let mut responses: Vec<FetchableTopicResponse> = Vec::new();
        let mut node_endpoints: Vec<NodeEndpoint> = Vec::new();
        let mut last: Option<Wanted> = None;
        for (wanted, data) in partitions {
            let leader = data.current_leader.leader_id;
            if leader >= 0 && node_endpoints.iter().all(|known| known.node_id != leader) {
                node_endpoints.extend(self.endpoint(leader));
            }
            match responses.last_mut().filter(|_| last.as_ref().is_some_and(|last| last.is_beside(&wanted))) {
                Some(topic) => topic.partitions.push(data),
                None => responses.push(FetchableTopicResponse {
                    topic: wanted.topic.clone().unwrap_or_default(),
                    topic_id: wanted.id,
                    partitions: vec![data],
                    ..Default::default()
                }),
            }
            last = Some(wanted);
        }
        FetchResponse { session_id, responses, node_endpoints, ..Default::default() }
    }

    /// Where a node is, for clients that did not know that it leads.
    fn endpoint(&self, node: i32) -> Option<NodeEndpoint> {
        let node = self.context.state.node(node).filter(|node| node.is_alive())?;
        Some(node_endpoint!(self.context, node))
    }
}

/// How many bytes each partition has for a request, in their order.
struct Ready {
    bytes: Vec<usize>,
    total: usize,
    failed: bool,
}

impl Ready {
    fn of(fetch: &Fetch) -> Self {
        let mut ready = Self { bytes: vec![0; fetch.plan.read.len()], total: 0, failed: false };
        let mut topics = Topics::new(&fetch.context.state);
        for (number, wanted) in fetch.plan.read.iter().enumerate() {
            let partition = topics.partition(wanted);
            ready.set(number, fetch.available(number, partition));
        }
        ready
    }

    fn set(&mut self, number: usize, bytes: Result<usize, ErrorCode>) {
        self.failed |= bytes.is_err();
        let bytes = bytes.unwrap_or(0);
        self.total = self.total - self.bytes[number] + bytes;
        self.bytes[number] = bytes;
    }

    /// Whether there is no reason to wait. Errors of what is read are reported at once.
    fn is_enough(&self, fetch: &Fetch) -> bool {
        self.failed || self.total >= fetch.enough
    }
}

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
