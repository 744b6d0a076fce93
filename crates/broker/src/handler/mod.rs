//! What the broker serves: one module per API, named as its spec file, and the table of all of them.

mod add_offsets_to_txn;
mod add_partitions_to_txn;
mod add_raft_voter;
mod alter_client_quotas;
mod alter_configs;
mod alter_partition_reassignments;
mod alter_replica_log_dirs;
mod alter_settings;
mod alter_share_group_offsets;
mod alter_user_scram_credentials;
mod api_versions;
mod authorize;
mod consumer_group_describe;
mod consumer_group_heartbeat;
mod context;
mod create_acls;
mod create_delegation_token;
mod create_partitions;
mod create_topics;
mod delete_acls;
mod delete_groups;
mod delete_records;
mod delete_share_group_offsets;
mod delete_share_group_state;
mod delete_topics;
mod describe_acls;
mod describe_client_quotas;
mod describe_cluster;
mod describe_configs;
mod describe_delegation_token;
mod describe_groups;
mod describe_log_dirs;
mod describe_producers;
mod describe_quorum;
mod describe_share_group_offsets;
mod describe_topic_partitions;
mod describe_transactions;
mod describe_user_scram_credentials;
mod described;
mod each_once;
mod elect_leaders;
mod end_txn;
mod expire_delegation_token;
mod fetch;
mod find_coordinator;
mod get_telemetry_subscriptions;
mod heartbeat;
mod incremental_alter_configs;
mod init_producer_id;
mod initialize_share_group_state;
mod join_group;
mod leave_group;
mod list_config_resources;
mod list_groups;
mod list_offsets;
mod list_partition_reassignments;
mod list_transactions;
mod merged;
mod metadata;
mod offset_commit;
mod offset_delete;
mod offset_fetch;
mod offset_for_leader_epoch;
mod produce;
mod push_telemetry;
mod read_share_group_state;
mod read_share_group_state_summary;
mod remove_raft_voter;
mod renew_delegation_token;
mod sasl_authenticate;
mod sasl_handshake;
mod share_acknowledge;
mod share_acks;
mod share_fetch;
mod share_group_describe;
mod share_group_heartbeat;
mod share_state;
mod streams_group_describe;
mod streams_group_heartbeat;
mod streams_group_topology_description_update;
mod sync_group;
#[cfg(test)]
pub(crate) mod tests;
mod txn_offset_commit;
mod unregister_broker;
mod unregister_controller;
mod update_features;
mod write_share_group_state;
mod write_txn_markers;

use std::pin::Pin;

use bytes::Bytes;
use milena_connection::{ConnectionError, IncomingRequest, frame_response};
use milena_messages::{ApiKey, ErrorCode, Request, VersionRange};
use milena_wire::Report;

pub(crate) use self::api_versions::has_valid_software_name;
pub(crate) use self::context::{Client, Context};
use crate::coordinator::Reply;
use crate::cost::Cost;

/// What comes of a request.
pub(crate) enum Outcome<R> {
    Response(R),
    /// The client wants no response.
    Nothing,
    /// An error that the client learns of only when its connection is closed.
    Close(String),
    /// The response comes later. The connection handles no other request before, as in Kafka, and drops the future when
    /// the client leaves.
    Later(Later<R>),
}

/// An outcome to wait for; never [`Outcome::Later`] again.
pub(crate) type Later<R> = Pin<Box<dyn Future<Output = Outcome<R>> + Send>>;

impl<R> From<R> for Outcome<R> {
    fn from(response: R) -> Self {
        Self::Response(response)
    }
}

impl<R> Outcome<R> {
    /// An outcome to wait for.
    pub(crate) fn later(future: impl Future<Output = Outcome<R>> + Send + 'static) -> Self {
        Self::Later(Box::pin(future))
    }
}

/// The outcome of a command to a coordinator, which may reply later. When the coordinator moves meanwhile, the client gets
/// NOT_COORDINATOR and looks for it again.
fn coordinated<M: Send + 'static, R>(
    reply: Result<Reply<M>, ErrorCode>,
    respond: impl FnOnce(Result<M, ErrorCode>) -> R + Send + 'static,
) -> Outcome<R> {
    match reply {
        Ok(Reply::Now(reply)) => respond(Ok(reply)).into(),
        Ok(Reply::Later(reply)) => {
            Outcome::later(async move { respond(reply.await.map_err(|_| ErrorCode::NOT_COORDINATOR)).into() })
        }
        Err(code) => respond(Err(code)).into(),
    }
}

/// The frame of a response, in segments to write one after the other.
pub(crate) type Frame = Vec<Bytes>;

fn frame<R: Request>(
    version: i16,
    correlation_id: i32,
    outcome: Outcome<R::Response>,
) -> Result<Outcome<Frame>, ConnectionError>
where
    R::Response: Send + 'static,
{
    Ok(match outcome {
        Outcome::Response(response) => Outcome::Response(frame_response(&response, version, correlation_id)?),
        Outcome::Nothing => Outcome::Nothing,
        Outcome::Close(why) => Outcome::Close(why),
        Outcome::Later(later) => Outcome::later(async move {
            match frame::<R>(version, correlation_id, later.await) {
                Ok(outcome) => outcome,
                Err(error) => Outcome::Close(Report(&error).to_string()),
            }
        }),
    })
}

macro_rules! apis {
    ($($api:ident $min:literal - $max:literal $type:ident => $handler:ident;)*) => {
        /// The APIs served, with their versions: what ApiVersions lists, and no other request comes here.
        pub(crate) const SERVED: &[(ApiKey, VersionRange)] =
            &[$((ApiKey::$api, VersionRange::new($min, $max))),*];

        /// Reads a request, handles it and writes the response. When `cost` needs a full budget afterwards, nothing was
        /// changed and the outcome means nothing.
        ///
        /// # Errors
        /// The request cannot be read; the connection has to be closed.
        pub(crate) fn handle(
            context: &Context,
            incoming: &IncomingRequest,
            cost: &mut Cost,
        ) -> Result<Outcome<Frame>, ConnectionError> {
            let (version, correlation_id) = (incoming.api_version, incoming.correlation_id);
            match incoming.api_key {
                $(ApiKey::$api => {
                    let request = incoming.decode::<milena_messages::$type>()?;
                    let outcome = $handler::handle(context, request, cost).into();
                    if cost.needs_full() {
                        return Ok(Outcome::Nothing);
                    }
                    frame::<milena_messages::$type>(version, correlation_id, outcome)
                })*
                api => Err(ConnectionError::NotServed { api, version, served: VersionRange::NONE }),
            }
        }
    };
}

// Left out on purpose: InitProducerId 6, which Kafka marks as unstable.
apis! {
    PRODUCE 0-13 ProduceRequest => produce;
    FETCH 0-18 FetchRequest => fetch;
    LIST_OFFSETS 0-11 ListOffsetsRequest => list_offsets;
    METADATA 0-13 MetadataRequest => metadata;
    OFFSET_COMMIT 0-10 OffsetCommitRequest => offset_commit;
    OFFSET_FETCH 0-10 OffsetFetchRequest => offset_fetch;
    FIND_COORDINATOR 0-6 FindCoordinatorRequest => find_coordinator;
    JOIN_GROUP 0-9 JoinGroupRequest => join_group;
    HEARTBEAT 0-4 HeartbeatRequest => heartbeat;
    LEAVE_GROUP 0-5 LeaveGroupRequest => leave_group;
    SYNC_GROUP 0-5 SyncGroupRequest => sync_group;
    DESCRIBE_GROUPS 0-6 DescribeGroupsRequest => describe_groups;
    LIST_GROUPS 0-5 ListGroupsRequest => list_groups;
    SASL_HANDSHAKE 0-1 SaslHandshakeRequest => sasl_handshake;
    API_VERSIONS 0-5 ApiVersionsRequest => api_versions;
    CREATE_TOPICS 0-7 CreateTopicsRequest => create_topics;
    DELETE_TOPICS 0-6 DeleteTopicsRequest => delete_topics;
    DELETE_RECORDS 0-2 DeleteRecordsRequest => delete_records;
    INIT_PRODUCER_ID 0-5 InitProducerIdRequest => init_producer_id;
    OFFSET_FOR_LEADER_EPOCH 0-4 OffsetForLeaderEpochRequest => offset_for_leader_epoch;
    ADD_PARTITIONS_TO_TXN 0-5 AddPartitionsToTxnRequest => add_partitions_to_txn;
    ADD_OFFSETS_TO_TXN 0-4 AddOffsetsToTxnRequest => add_offsets_to_txn;
    END_TXN 0-5 EndTxnRequest => end_txn;
    WRITE_TXN_MARKERS 0-2 WriteTxnMarkersRequest => write_txn_markers;
    TXN_OFFSET_COMMIT 0-6 TxnOffsetCommitRequest => txn_offset_commit;
    DESCRIBE_ACLS 0-3 DescribeAclsRequest => describe_acls;
    CREATE_ACLS 0-3 CreateAclsRequest => create_acls;
    DELETE_ACLS 0-3 DeleteAclsRequest => delete_acls;
    DESCRIBE_CONFIGS 0-4 DescribeConfigsRequest => describe_configs;
    ALTER_CONFIGS 0-2 AlterConfigsRequest => alter_configs;
    ALTER_REPLICA_LOG_DIRS 0-2 AlterReplicaLogDirsRequest => alter_replica_log_dirs;
    DESCRIBE_LOG_DIRS 0-5 DescribeLogDirsRequest => describe_log_dirs;
    SASL_AUTHENTICATE 0-2 SaslAuthenticateRequest => sasl_authenticate;
    CREATE_PARTITIONS 0-3 CreatePartitionsRequest => create_partitions;
    CREATE_DELEGATION_TOKEN 0-3 CreateDelegationTokenRequest => create_delegation_token;
    RENEW_DELEGATION_TOKEN 0-2 RenewDelegationTokenRequest => renew_delegation_token;
    EXPIRE_DELEGATION_TOKEN 0-2 ExpireDelegationTokenRequest => expire_delegation_token;
    DESCRIBE_DELEGATION_TOKEN 0-3 DescribeDelegationTokenRequest => describe_delegation_token;
    DELETE_GROUPS 0-3 DeleteGroupsRequest => delete_groups;
    ELECT_LEADERS 0-2 ElectLeadersRequest => elect_leaders;
    INCREMENTAL_ALTER_CONFIGS 0-1 IncrementalAlterConfigsRequest => incremental_alter_configs;
    ALTER_PARTITION_REASSIGNMENTS 0-1 AlterPartitionReassignmentsRequest => alter_partition_reassignments;
    LIST_PARTITION_REASSIGNMENTS 0-0 ListPartitionReassignmentsRequest => list_partition_reassignments;
    OFFSET_DELETE 0-0 OffsetDeleteRequest => offset_delete;
    DESCRIBE_CLIENT_QUOTAS 0-1 DescribeClientQuotasRequest => describe_client_quotas;
    ALTER_CLIENT_QUOTAS 0-1 AlterClientQuotasRequest => alter_client_quotas;
    DESCRIBE_USER_SCRAM_CREDENTIALS 0-0 DescribeUserScramCredentialsRequest => describe_user_scram_credentials;
    ALTER_USER_SCRAM_CREDENTIALS 0-0 AlterUserScramCredentialsRequest => alter_user_scram_credentials;
    DESCRIBE_QUORUM 0-2 DescribeQuorumRequest => describe_quorum;
    UPDATE_FEATURES 0-2 UpdateFeaturesRequest => update_features;
    DESCRIBE_CLUSTER 0-2 DescribeClusterRequest => describe_cluster;
    DESCRIBE_PRODUCERS 0-0 DescribeProducersRequest => describe_producers;
    UNREGISTER_BROKER 0-0 UnregisterBrokerRequest => unregister_broker;
    DESCRIBE_TRANSACTIONS 0-0 DescribeTransactionsRequest => describe_transactions;
    LIST_TRANSACTIONS 0-2 ListTransactionsRequest => list_transactions;
    CONSUMER_GROUP_HEARTBEAT 0-1 ConsumerGroupHeartbeatRequest => consumer_group_heartbeat;
    CONSUMER_GROUP_DESCRIBE 0-1 ConsumerGroupDescribeRequest => consumer_group_describe;
    GET_TELEMETRY_SUBSCRIPTIONS 0-0 GetTelemetrySubscriptionsRequest => get_telemetry_subscriptions;
    PUSH_TELEMETRY 0-0 PushTelemetryRequest => push_telemetry;
    LIST_CONFIG_RESOURCES 0-1 ListConfigResourcesRequest => list_config_resources;
    DESCRIBE_TOPIC_PARTITIONS 0-0 DescribeTopicPartitionsRequest => describe_topic_partitions;
    SHARE_GROUP_HEARTBEAT 1-1 ShareGroupHeartbeatRequest => share_group_heartbeat;
    SHARE_GROUP_DESCRIBE 1-1 ShareGroupDescribeRequest => share_group_describe;
    SHARE_FETCH 1-2 ShareFetchRequest => share_fetch;
    SHARE_ACKNOWLEDGE 1-2 ShareAcknowledgeRequest => share_acknowledge;
    ADD_RAFT_VOTER 0-1 AddRaftVoterRequest => add_raft_voter;
    REMOVE_RAFT_VOTER 0-0 RemoveRaftVoterRequest => remove_raft_voter;
    INITIALIZE_SHARE_GROUP_STATE 0-0 InitializeShareGroupStateRequest => initialize_share_group_state;
    READ_SHARE_GROUP_STATE 0-0 ReadShareGroupStateRequest => read_share_group_state;
    WRITE_SHARE_GROUP_STATE 0-1 WriteShareGroupStateRequest => write_share_group_state;
    DELETE_SHARE_GROUP_STATE 0-0 DeleteShareGroupStateRequest => delete_share_group_state;
    READ_SHARE_GROUP_STATE_SUMMARY 0-1 ReadShareGroupStateSummaryRequest => read_share_group_state_summary;
    STREAMS_GROUP_HEARTBEAT 0-1 StreamsGroupHeartbeatRequest => streams_group_heartbeat;
    STREAMS_GROUP_DESCRIBE 0-1 StreamsGroupDescribeRequest => streams_group_describe;
    DESCRIBE_SHARE_GROUP_OFFSETS 0-1 DescribeShareGroupOffsetsRequest => describe_share_group_offsets;
    ALTER_SHARE_GROUP_OFFSETS 0-0 AlterShareGroupOffsetsRequest => alter_share_group_offsets;
    DELETE_SHARE_GROUP_OFFSETS 0-0 DeleteShareGroupOffsetsRequest => delete_share_group_offsets;
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE 0-0 StreamsGroupTopologyDescriptionUpdateRequest => streams_group_topology_description_update;
    UNREGISTER_CONTROLLER 0-0 UnregisterControllerRequest => unregister_controller;
}
