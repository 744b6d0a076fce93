use std::collections::{BTreeMap, HashMap};

use milena_messages::share_acknowledge::request::{AcknowledgePartition, AcknowledgementBatch};
use milena_messages::share_acknowledge::response::{
    LeaderIdAndEpoch, NodeEndpoint, PartitionData, ShareAcknowledgeTopicResponse,
};
use milena_messages::{ErrorCode, ShareAcknowledgeRequest, ShareAcknowledgeResponse, Uuid};

use super::Context;
use super::context::node_endpoint;
use super::share_acks::{RENEWS, acknowledge, leader_for};
use crate::cost::Cost;
use crate::group::share::is_member_id;
use crate::security::acl::{Operation, Resource};
use crate::share::delivery::Acknowledgement;
use crate::share::session::{FINAL, SessionKey};

pub(super) fn handle(
    context: &Context,
    request: ShareAcknowledgeRequest,
    _cost: &mut Cost,
) -> ShareAcknowledgeResponse {
    let refuse = |error_code| ShareAcknowledgeResponse { error_code, ..Default::default() };
    let state = &context.state;
    let Some(group) = &request.group_id else { return refuse(ErrorCode::INVALID_REQUEST) };
    if let Err(code) = context.authorize(Operation::Read, Resource::group(group)) {
        return refuse(code);
    }
    let Some(member) = request.member_id.as_deref().filter(|id| is_member_id(id)) else {
        return refuse(ErrorCode::INVALID_REQUEST);
    };
    let session = SessionKey { node: context.node.id, group: group.to_string(), member: member.to_owned() };
    if let Err(code) = state.share_sessions.acknowledge(&session, request.share_session_epoch) {
        return refuse(code);
    }
    let settings = state.share_settings(group);
    let mut topics: Vec<ShareAcknowledgeTopicResponse> = Vec::new();
    let mut places: HashMap<Uuid, usize> = HashMap::new();
    let mut endpoints: BTreeMap<i32, NodeEndpoint> = BTreeMap::new();
    for (topic_id, wanted) in listed_once(&request) {
        let place = (topic_id, wanted.partition_index);
        let verdicts: Vec<Acknowledgement> = wanted.acknowledgement_batches.iter().map(verdict).collect();
        let renews = context.version >= RENEWS && request.is_renew_ack;
        let done = acknowledge(context, &session, place, &verdicts, renews, &settings);
        let mut data = PartitionData {
            partition_index: wanted.partition_index,
            error_code: done.error_code,
            error_message: done.error_message,
            ..Default::default()
        };
        if let Some((leader_id, leader_epoch, node)) = leader_for(context, place, data.error_code) {
            data.current_leader = LeaderIdAndEpoch { leader_id, leader_epoch, ..Default::default() };
            endpoints.extend(node.map(|node| (node.id, node_endpoint!(context, node))));
        }
        let at = *places.entry(topic_id).or_insert_with(|| {
            topics.push(ShareAcknowledgeTopicResponse { topic_id, ..Default::default() });
            topics.len() - 1
        });
        topics[at].partitions.push(data);
    }
    if request.share_session_epoch == FINAL {
        let held = state.share_sessions.close(&session).unwrap_or_default();
        state.share_release(&session, &held);
    }
    ShareAcknowledgeResponse {
        acquisition_lock_timeout_ms: settings.lock_ms,
        responses: topics,
        node_endpoints: endpoints.into_values().collect(),
        ..Default::default()
    }
}

/// Each partition once, as it was listed last.
fn listed_once(request: &ShareAcknowledgeRequest) -> Vec<(Uuid, &AcknowledgePartition)> {
    let mut all: Vec<(Uuid, &AcknowledgePartition)> = Vec::new();
    let mut places: HashMap<(Uuid, i32), usize> = HashMap::new();
    for topic in &request.topics {
        for partition in &topic.partitions {
            let next = all.len();
            match *places.entry((topic.topic_id, partition.partition_index)).or_insert(next) {
                place if place < next => all[place].1 = partition,
                _ => all.push((topic.topic_id, partition)),
            }
        }
    }
    all
}

fn verdict(batch: &AcknowledgementBatch) -> Acknowledgement {
    Acknowledgement { first: batch.first_offset, last: batch.last_offset, kinds: batch.acknowledge_types.to_vec() }
}
