//! Coordinators of groups, transactions and share partitions: how they are found, and when they have moved.

use std::any::Any;
use std::sync::Arc;

use milena_messages::{
    AddOffsetsToTxnResponse, AddPartitionsToTxnResponse, ApiKey, ByteString, ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatResponse, DeleteGroupsResponse, DescribeGroupsResponse, DescribeTransactionsResponse,
    EndTxnResponse, ErrorCode, FindCoordinatorRequest, HeartbeatResponse, InitProducerIdResponse, JoinGroupResponse,
    LeaveGroupResponse, OffsetCommitResponse, OffsetDeleteResponse, OffsetFetchResponse, ShareGroupDescribeResponse,
    ShareGroupHeartbeatResponse, StreamsGroupDescribeResponse, StreamsGroupHeartbeatResponse, SyncGroupResponse,
    TxnOffsetCommitResponse,
};
use milena_transport::Address;

use crate::call::{Reply, Subject};
use crate::core::Core;
use crate::error::{Error, Misbehaviour, Origin, Result};
use crate::net::{Endpoint, Failure, Link};
use crate::timing::Limit;

/// What the key of a coordinator names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CoordinatorKind {
    /// A group id.
    Group,
    /// A transactional id; needs Kafka 0.11 or later.
    Transaction,
    /// A share partition, as `group:topicId:partition`; needs Kafka 3.9 or later (KIP-932).
    Share,
}

impl CoordinatorKind {
    /// The key type of FindCoordinator.
    fn number(self) -> i8 {
        match self {
            Self::Group => 0,
            Self::Transaction => 1,
            Self::Share => 2,
        }
    }
}

/// A connection to a coordinator: the one that is known, else looked up once.
pub(crate) async fn coordinator_link(core: &Core, kind: CoordinatorKind, key: &str, limit: Limit) -> Result<Link> {
    let cache = &core.metadata.cache;
    let endpoint = match cache.coordinator(kind, key) {
        Some(known) => known,
        None => {
            let found = find(core, kind, key, limit).await?;
            cache.learn_coordinator(kind, key, found.clone());
            found
        }
    };
    core.pool.link(&endpoint, limit.deadline).await
}

async fn find(core: &Core, kind: CoordinatorKind, key: &str, limit: Limit) -> Result<Endpoint> {
    let api = ApiKey::FIND_COORDINATOR;
    let link = core.metadata.any_link(&core.pool, limit.deadline).await?;
    let version = link.version_of(api)?;
    let mut request = FindCoordinatorRequest { key_type: kind.number(), ..Default::default() };
    match version {
        4.. => request.coordinator_keys = vec![ByteString::from(key)],
        _ => request.key = ByteString::from(key),
    }
    let sent = link.call(request, version, limit).await;
    let response = match sent.result {
        Ok(response) => response.unwrap_or_default(),
        Err(Failure::Error(error)) => return Err(error),
        Err(Failure::NotSent) => return Err(link.not_sent(api)),
    };
    let address = Arc::clone(link.address());
    let (code, message, node, host, port) = match response.coordinators.into_iter().next() {
        Some(found) => (found.error_code, found.error_message, found.node_id, found.host, found.port),
        None => (response.error_code, response.error_message, response.node_id, response.host, response.port),
    };
    if code != ErrorCode::NONE {
        let reply = Reply { address, version, throttle: sent.throttle, body: Some(()) };
        return Err(reply.error(api, code, Subject { message: message.as_deref(), ..Subject::default() }));
    }
    match Address::new(&host, port).ok() {
        Some(address) => Ok(Endpoint { address, origin: Origin::Advertised(node) }),
        None => Err(Error::Misbehaved { address, cause: Misbehaviour::NoCoordinator { key: key.into() } }),
    }
}

/// Whether a response says that another broker is the coordinator.
pub(crate) fn coordinator_moved(response: &dyn Any) -> bool {
    let mut moved = false;
    let mut see = |code: ErrorCode| {
        moved |= matches!(code, ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE);
    };
    macro_rules! code_of {
        ($($type:ident)*) => {
            $(if let Some(response) = response.downcast_ref::<$type>() {
                see(response.error_code);
            })*
        };
    }
    macro_rules! codes_in {
        ($($type:ident: $($field:ident).+;)*) => {
            $(if let Some(response) = response.downcast_ref::<$type>() {
                codes_in!(@ response, see, $($field).+);
            })*
        };
        (@ $one:expr, $see:ident, $code:ident) => { $see($one.$code) };
        (@ $one:expr, $see:ident, $list:ident . $($rest:ident).+) => {
            for inner in &$one.$list {
                codes_in!(@ inner, $see, $($rest).+);
            }
        };
    }
    code_of! {
        JoinGroupResponse SyncGroupResponse HeartbeatResponse LeaveGroupResponse OffsetDeleteResponse OffsetFetchResponse
        ConsumerGroupHeartbeatResponse ShareGroupHeartbeatResponse StreamsGroupHeartbeatResponse
        InitProducerIdResponse AddPartitionsToTxnResponse AddOffsetsToTxnResponse EndTxnResponse
    }
    codes_in! {
        OffsetCommitResponse: topics.partitions.error_code;
        OffsetFetchResponse: topics.partitions.error_code;
        OffsetFetchResponse: groups.error_code;
        DescribeGroupsResponse: groups.error_code;
        DeleteGroupsResponse: results.error_code;
        ConsumerGroupDescribeResponse: groups.error_code;
        AddPartitionsToTxnResponse: results_by_topic_v3_and_below.results_by_partition.partition_error_code;
        AddPartitionsToTxnResponse:
            results_by_transaction.topic_results.results_by_partition.partition_error_code;
        ShareGroupDescribeResponse: groups.error_code;
        StreamsGroupDescribeResponse: groups.error_code;
        TxnOffsetCommitResponse: topics.partitions.error_code;
        DescribeTransactionsResponse: transaction_states.error_code;
    }
    moved
}

#[cfg(test)]
mod tests {
    use milena_messages::offset_commit::response::{OffsetCommitResponsePartition, OffsetCommitResponseTopic};

    use super::*;

    #[test]
    fn the_code_of_any_partition_shows_that_the_coordinator_moved() {
        let response = |error_code| {
            let partition = |error_code| OffsetCommitResponsePartition { error_code, ..Default::default() };
            let partitions = vec![partition(ErrorCode::NONE), partition(error_code)];
            let topic = OffsetCommitResponseTopic { partitions, ..Default::default() };
            OffsetCommitResponse { topics: vec![topic], ..Default::default() }
        };
        assert!(coordinator_moved(&response(ErrorCode::NOT_COORDINATOR)));
        assert!(!coordinator_moved(&response(ErrorCode::ILLEGAL_GENERATION)));
    }
}
