//! Which throttle times a client has to honour (KIP-219).

use std::time::Duration;

use milena_messages::{ApiKey, Response};

/// The first version in which the broker responds before it throttles. In earlier versions it holds the response back
/// instead, so that the wait is over when the response arrives. As `shouldClientThrottle` of Kafka 4.4's response classes has
/// it; those that are not named wait in every version.
fn since(api: ApiKey) -> i16 {
    match api {
        ApiKey::FETCH => 8,
        ApiKey::PRODUCE | ApiKey::METADATA => 6,
        ApiKey::OFFSET_COMMIT | ApiKey::OFFSET_FETCH => 4,
        ApiKey::CREATE_TOPICS | ApiKey::JOIN_GROUP | ApiKey::LIST_OFFSETS => 3,
        ApiKey::API_VERSIONS
        | ApiKey::DELETE_TOPICS
        | ApiKey::DESCRIBE_CONFIGS
        | ApiKey::DESCRIBE_GROUPS
        | ApiKey::FIND_COORDINATOR
        | ApiKey::HEARTBEAT
        | ApiKey::LEAVE_GROUP
        | ApiKey::LIST_GROUPS
        | ApiKey::SYNC_GROUP => 2,
        ApiKey::ADD_OFFSETS_TO_TXN
        | ApiKey::ADD_PARTITIONS_TO_TXN
        | ApiKey::ALTER_CONFIGS
        | ApiKey::ALTER_REPLICA_LOG_DIRS
        | ApiKey::CREATE_ACLS
        | ApiKey::CREATE_DELEGATION_TOKEN
        | ApiKey::CREATE_PARTITIONS
        | ApiKey::DELETE_ACLS
        | ApiKey::DELETE_GROUPS
        | ApiKey::DELETE_RECORDS
        | ApiKey::DESCRIBE_ACLS
        | ApiKey::DESCRIBE_DELEGATION_TOKEN
        | ApiKey::DESCRIBE_LOG_DIRS
        | ApiKey::END_TXN
        | ApiKey::EXPIRE_DELEGATION_TOKEN
        | ApiKey::INIT_PRODUCER_ID
        | ApiKey::RENEW_DELEGATION_TOKEN
        | ApiKey::TXN_OFFSET_COMMIT => 1,
        _ => 0,
    }
}

/// How long nothing may be sent on the connection after this response.
pub(super) fn wait_after<R: Response>(response: &R, version: i16) -> Duration {
    match u64::try_from(response.throttle_time_ms()) {
        Ok(millis) if version >= since(R::API_KEY) => Duration::from_millis(millis),
        _ => Duration::ZERO,
    }
}
