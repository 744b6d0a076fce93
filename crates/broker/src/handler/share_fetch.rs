use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use milena_messages::share_fetch::request::AcknowledgementBatch;
use milena_messages::share_fetch::response::{
    AcquiredRecords, LeaderIdAndEpoch, NodeEndpoint, PartitionData, ShareFetchableTopicResponse,
};
use milena_messages::{ErrorCode, ShareFetchRequest, ShareFetchResponse, Uuid};
use tokio::time::{Instant, sleep, timeout_at};

use super::context::node_endpoint;
use super::share_acks::{Acknowledged, RENEWS, acknowledge, leader_for};
use super::{Context, Outcome};
use crate::cluster::TopicRef;
use crate::cost::Cost;
use crate::group::share::is_member_id;
use crate::security::acl::{Operation, Resource};
use crate::share::delivery::Acknowledgement;
use crate::share::fetch::{Fetched, ShareFetch, attempt};
use crate::share::session::{FINAL, Opened, Place, SessionKey};
use crate::storage::waiter::Waiter;

/// The mode that never hands out more records than asked for (KIP-1206).
const RECORD_LIMIT: i8 = 1;

pub(super) fn handle(context: &Context, request: ShareFetchRequest, _cost: &mut Cost) -> Outcome<ShareFetchResponse> {
    let refuse = |error_code| ShareFetchResponse { error_code, ..Default::default() };
    let state = &context.state;
    let Some(group) = &request.group_id else { return refuse(ErrorCode::INVALID_REQUEST).into() };
    if let Err(code) = context.authorize(Operation::Read, Resource::group(group)) {
        return refuse(code).into();
    }
    let Some(member) = request.member_id.as_deref().filter(|id| is_member_id(id)) else {
        return refuse(ErrorCode::INVALID_REQUEST).into();
    };
    let renews = context.version >= RENEWS && request.is_renew_ack;
    let reads_too = [request.max_bytes, request.min_bytes, request.max_records, request.max_wait_ms];
    if renews && reads_too.iter().any(|limit| *limit != 0) {
        return refuse(ErrorCode::INVALID_REQUEST).into();
    }
    let acknowledges =
        request.topics.iter().flat_map(|topic| &topic.partitions).any(|one| !one.acknowledgement_batches.is_empty());
    let session = SessionKey { node: context.node.id, group: group.to_string(), member: member.to_owned() };
    let epoch = request.share_session_epoch;
    let opened = state.share_sessions.open(
        &session,
        epoch,
        (&listed(&request), &forgotten(&request)),
        acknowledges,
        context.client.connection,
    );
    let places = match opened {
        Ok(Opened::Final) => Vec::new(),
        Ok(Opened::Places(places)) => places,
        Err(ErrorCode::SHARE_SESSION_LIMIT_REACHED) => {
            // Not at once, so that the client does not try again and again.
            let wait = wait(&request);
            return Outcome::later(async move {
                sleep(wait).await;
                refuse(ErrorCode::SHARE_SESSION_LIMIT_REACHED).into()
            });
        }
        Err(code) => return refuse(code).into(),
    };
    let mut reply = Reply { session, epoch, is_first: epoch == 0, acknowledged: Vec::new(), refused: Vec::new() };
    if acknowledges {
        reply.acknowledged = acknowledge_all(context, &reply.session, &request, renews);
    }
    if renews {
        return respond(context, reply, Vec::new()).into();
    }
    let mut readable = Vec::new();
    for place in places {
        match state.topic(TopicRef::Id(place.0)) {
            None => reply.refused.push((place, ErrorCode::UNKNOWN_TOPIC_ID)),
            Some(topic) if !context.may(Operation::Read, Resource::topic(&topic.name)) => {
                reply.refused.push((place, ErrorCode::TOPIC_AUTHORIZATION_FAILED));
            }
            Some(topic) if topic.partition(place.1).is_none() => {
                reply.refused.push((place, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
            }
            Some(_) => readable.push(place),
        }
    }
    // Each request begins with another partition.
    if let Some(turn) = usize::try_from(epoch).ok().and_then(|epoch| epoch.checked_rem(readable.len())) {
        readable.rotate_left(turn);
    }
    let bytes = |bytes: i32| usize::try_from(bytes).unwrap_or(0);
    let max_bytes = bytes(request.max_bytes.min(state.config.fetch_max_bytes));
    let fetch = ShareFetch {
        node: context.node.id,
        group: group.to_string(),
        member: member.into(),
        places: readable,
        strict: request.share_acquire_mode == RECORD_LIMIT,
        batch_size: request.batch_size,
        max_records: request.max_records,
        max_bytes: max_bytes.min(state.unsent.room()),
        min_bytes: bytes(request.min_bytes).min(max_bytes),
    };
    let wait = wait(&request);
    let mut quick = Cost::quick();
    if let Some(fetched) = attempt(state, &fetch, wait.is_zero(), &mut quick) {
        return respond(context, reply, fetched).into();
    }
    let context = context.clone();
    Outcome::later(async move {
        match get(&context, Arc::new(fetch), wait).await {
            Ok(fetched) => respond(&context, reply, fetched).into(),
            Err(error) => Outcome::Close(format!("the handler failed: {error}")),
        }
    })
}

fn wait(request: &ShareFetchRequest) -> Duration {
    Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0))
}

/// Waits until there is enough to get, or until the time is over.
async fn get(
    context: &Context,
    fetch: Arc<ShareFetch>,
    wait: Duration,
) -> Result<Vec<(Place, Fetched)>, tokio::task::JoinError> {
    let state = &context.state;
    let waiter = Arc::new(Waiter::default());
    for (number, place) in fetch.places.iter().enumerate() {
        if let Some(partition) = state.topic(TopicRef::Id(place.0)).and_then(|topic| topic.partition(place.1)) {
            partition.watch(&waiter, number);
        }
    }
    let end = Instant::now() + wait;
    let mut is_over = wait.is_zero();
    loop {
        let (of_job, fetch) = (state.clone(), fetch.clone());
        let job = move |cost: &mut Cost| attempt(&of_job, &fetch, is_over, cost);
        if let Some(fetched) = state.workers.budgeted(context.frame_size, job).await? {
            return Ok(fetched);
        }
        if is_over {
            return Ok(Vec::new());
        }
        is_over = timeout_at(end, waiter.news()).await.is_err();
    }
}

/// The partitions that a request adds, each once.
fn listed(request: &ShareFetchRequest) -> Vec<Place> {
    let of_topic = |topic: &milena_messages::share_fetch::request::FetchTopic| {
        topic.partitions.iter().map(|one| (topic.topic_id, one.partition_index)).collect::<Vec<_>>()
    };
    request.topics.iter().flat_map(of_topic).collect()
}

/// The partitions that a request takes out.
fn forgotten(request: &ShareFetchRequest) -> Vec<Place> {
    let of_topic = |topic: &milena_messages::share_fetch::request::ForgottenTopic| {
        topic.partitions.iter().map(|partition| (topic.topic_id, *partition)).collect::<Vec<_>>()
    };
    request.forgotten_topics_data.iter().flat_map(of_topic).collect()
}

fn acknowledge_all(
    context: &Context,
    session: &SessionKey,
    request: &ShareFetchRequest,
    renews: bool,
) -> Vec<(Place, Acknowledged)> {
    let settings = context.state.share_settings(&session.group);
    let mut last: HashMap<Place, usize> = HashMap::new();
    let mut all: Vec<(Place, Vec<Acknowledgement>)> = Vec::new();
    for topic in &request.topics {
        for partition in &topic.partitions {
            let verdicts = partition.acknowledgement_batches.iter().map(verdict).collect();
            let place = (topic.topic_id, partition.partition_index);
            // A partition that is listed twice counts as it was listed last.
            match last.get(&place) {
                Some(at) => all[*at].1 = verdicts,
                None => {
                    last.insert(place, all.len());
                    all.push((place, verdicts));
                }
            }
        }
    }
    let done = |(place, verdicts): (Place, Vec<Acknowledgement>)| {
        (place, acknowledge(context, session, place, &verdicts, renews, &settings))
    };
    all.into_iter().map(done).collect()
}

fn verdict(batch: &AcknowledgementBatch) -> Acknowledgement {
    Acknowledgement { first: batch.first_offset, last: batch.last_offset, kinds: batch.acknowledge_types.to_vec() }
}

/// What is known of the response before anything is read.
struct Reply {
    session: SessionKey,
    epoch: i32,
    /// The session is new: all its partitions are named.
    is_first: bool,
    acknowledged: Vec<(Place, Acknowledged)>,
    /// Partitions that are not read.
    refused: Vec<(Place, ErrorCode)>,
}

fn respond(context: &Context, reply: Reply, fetched: Vec<(Place, Fetched)>) -> ShareFetchResponse {
    let state = &context.state;
    let settings = state.share_settings(&reply.session.group);
    let mut topics = Topics::default();
    let mut endpoints: BTreeMap<i32, NodeEndpoint> = BTreeMap::new();
    let refused =
        reply.refused.into_iter().map(|(place, error_code)| (place, Fetched { error_code, ..Fetched::default() }));
    for (place, fetched) in fetched.into_iter().chain(refused) {
        let mut data = PartitionData {
            partition_index: place.1,
            error_code: fetched.error_code,
            records: Some(fetched.records),
            acquired_records: fetched
                .acquired
                .iter()
                .map(|range| AcquiredRecords {
                    first_offset: range.first,
                    last_offset: range.last,
                    delivery_count: i16::try_from(range.deliveries).unwrap_or(i16::MAX),
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        };
        if let Some((leader_id, leader_epoch, node)) = leader_for(context, place, data.error_code) {
            data.current_leader = LeaderIdAndEpoch { leader_id, leader_epoch, ..Default::default() };
            endpoints.extend(node.map(|node| (node.id, node_endpoint!(context, node))));
        }
        let has_records = data.records.as_ref().is_some_and(|records| !records.is_empty());
        let has_error = !data.error_code.is_none();
        if reply.is_first || state.share_sessions.must_respond(&reply.session, place, has_records, has_error) {
            topics.partition(place, data);
        }
    }
    for (place, done) in reply.acknowledged {
        let data = topics.get(place);
        data.acknowledge_error_code = done.error_code;
        data.acknowledge_error_message = done.error_message;
    }
    if reply.epoch == FINAL {
        let held = state.share_sessions.close(&reply.session).unwrap_or_default();
        state.share_release(&reply.session, &held);
    }
    ShareFetchResponse {
        acquisition_lock_timeout_ms: settings.lock_ms,
        responses: topics.list,
        node_endpoints: endpoints.into_values().collect(),
        ..Default::default()
    }
}

/// The topics of a response.
#[derive(Default)]
struct Topics {
    list: Vec<ShareFetchableTopicResponse>,
    topics: HashMap<Uuid, usize>,
    places: HashMap<Place, usize>,
}

impl Topics {
    fn partition(&mut self, place: Place, data: PartitionData) {
        let at = *self.topics.entry(place.0).or_insert_with(|| {
            self.list.push(ShareFetchableTopicResponse { topic_id: place.0, ..Default::default() });
            self.list.len() - 1
        });
        self.places.insert(place, self.list[at].partitions.len());
        self.list[at].partitions.push(data);
    }

    /// The partition, added without records if it is not there.
    fn get(&mut self, place: Place) -> &mut PartitionData {
        if !self.places.contains_key(&place) {
            // Null is allowed for the records, but some clients fail on it.
            let records = Some(Bytes::new());
            self.partition(place, PartitionData { partition_index: place.1, records, ..Default::default() });
        }
        &mut self.list[self.topics[&place.0]].partitions[self.places[&place]]
    }
}
