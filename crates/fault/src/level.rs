//! Where an API reports which error: for the request as a whole, or for each of its elements.

use milena_messages::{ApiKey, ErrorCode};

/// Where a code stands in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// In the outermost place: that of the response, or of each group in OffsetFetch 8 and later.
    Whole,
    /// In the innermost place that the request has elements for, such as each partition.
    Elements,
}

use Level::{Elements, Whole};

/// An API whose responses have places for codes on several levels.
struct Api {
    key: ApiKey,
    /// The level of all codes but the exceptions.
    level: Level,
    /// Codes of the other level.
    exceptions: &'static [ErrorCode],
    /// Whether a code for the whole is repeated in every element.
    repeated: bool,
}

const fn api(key: ApiKey, level: Level, exceptions: &'static [ErrorCode], repeated: bool) -> Api {
    Api { key, level, exceptions, repeated }
}

/// Codes of a topic or partition that every API reports for that topic or partition.
const TOPIC: [ErrorCode; 4] = [
    ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode::TOPIC_AUTHORIZATION_FAILED,
    ErrorCode::UNKNOWN_TOPIC_ID,
    ErrorCode::INVALID_TOPIC_EXCEPTION,
];

/// Codes of partitions in the replication of the metadata log.
const RAFT_PARTITION: &[ErrorCode] = &[
    ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode::NOT_LEADER_OR_FOLLOWER,
    ErrorCode::FENCED_LEADER_EPOCH,
    ErrorCode::UNKNOWN_LEADER_EPOCH,
    ErrorCode::INVALID_REQUEST,
    ErrorCode::INCONSISTENT_VOTER_SET,
    ErrorCode::SNAPSHOT_NOT_FOUND,
    ErrorCode::POSITION_OUT_OF_RANGE,
];

/// From the error handling of Kafka's brokers, and the lists of codes in its response classes. APIs with places on one level
/// only are not here.
const APIS: &[Api] = &[
    api(
        ApiKey::FETCH,
        Elements,
        &[
            ErrorCode::FETCH_SESSION_ID_NOT_FOUND,
            ErrorCode::INVALID_FETCH_SESSION_EPOCH,
            ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR,
            ErrorCode::INCONSISTENT_CLUSTER_ID,
            ErrorCode::INVALID_REQUEST,
            ErrorCode::UNSUPPORTED_VERSION,
        ],
        false,
    ),
    api(ApiKey::METADATA, Elements, &[ErrorCode::REBOOTSTRAP_REQUIRED], false),
    api(
        ApiKey::LEADER_AND_ISR,
        Elements,
        &[
            ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
            ErrorCode::STALE_CONTROLLER_EPOCH,
            ErrorCode::STALE_BROKER_EPOCH,
            ErrorCode::UNSUPPORTED_VERSION,
            ErrorCode::INVALID_REQUEST,
        ],
        true,
    ),
    api(
        ApiKey::STOP_REPLICA,
        Elements,
        &[
            ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
            ErrorCode::STALE_CONTROLLER_EPOCH,
            ErrorCode::STALE_BROKER_EPOCH,
            ErrorCode::UNSUPPORTED_VERSION,
            ErrorCode::INVALID_REQUEST,
        ],
        true,
    ),
    api(
        ApiKey::OFFSET_FETCH,
        Whole,
        &[TOPIC[0], TOPIC[1], TOPIC[2], TOPIC[3], ErrorCode::UNSTABLE_OFFSET_COMMIT],
        false,
    ),
    api(ApiKey::LEAVE_GROUP, Whole, &[ErrorCode::FENCED_INSTANCE_ID, ErrorCode::UNKNOWN_MEMBER_ID], false),
    api(
        ApiKey::ADD_PARTITIONS_TO_TXN,
        Elements,
        &[ErrorCode::CLUSTER_AUTHORIZATION_FAILED, ErrorCode::UNSUPPORTED_VERSION, ErrorCode::INVALID_REQUEST],
        false,
    ),
    // The code of a log directory is the only one that is not about the request.
    api(ApiKey::DESCRIBE_LOG_DIRS, Whole, &[ErrorCode::KAFKA_STORAGE_ERROR], false),
    api(
        ApiKey::ELECT_LEADERS,
        Elements,
        &[
            ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
            ErrorCode::NOT_CONTROLLER,
            ErrorCode::REQUEST_TIMED_OUT,
            ErrorCode::UNSUPPORTED_VERSION,
            ErrorCode::INVALID_REQUEST,
        ],
        true,
    ),
    api(
        ApiKey::ALTER_PARTITION_REASSIGNMENTS,
        Elements,
        &[
            ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
            ErrorCode::NOT_CONTROLLER,
            ErrorCode::REQUEST_TIMED_OUT,
            ErrorCode::UNSUPPORTED_VERSION,
            ErrorCode::INVALID_REQUEST,
        ],
        true,
    ),
    api(
        ApiKey::OFFSET_DELETE,
        Whole,
        &[TOPIC[0], TOPIC[1], TOPIC[2], TOPIC[3], ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC],
        false,
    ),
    api(
        ApiKey::DESCRIBE_USER_SCRAM_CREDENTIALS,
        Whole,
        &[ErrorCode::RESOURCE_NOT_FOUND, ErrorCode::DUPLICATE_RESOURCE],
        true,
    ),
    api(ApiKey::VOTE, Whole, RAFT_PARTITION, false),
    api(ApiKey::BEGIN_QUORUM_EPOCH, Whole, RAFT_PARTITION, false),
    api(ApiKey::END_QUORUM_EPOCH, Whole, RAFT_PARTITION, false),
    api(ApiKey::DESCRIBE_QUORUM, Whole, RAFT_PARTITION, false),
    api(ApiKey::FETCH_SNAPSHOT, Whole, RAFT_PARTITION, false),
    api(
        ApiKey::ALTER_PARTITION,
        Elements,
        &[
            ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
            ErrorCode::NOT_CONTROLLER,
            ErrorCode::STALE_BROKER_EPOCH,
            ErrorCode::UNSUPPORTED_VERSION,
        ],
        false,
    ),
    api(ApiKey::UPDATE_FEATURES, Whole, &[ErrorCode::FEATURE_UPDATE_FAILED, ErrorCode::INVALID_UPDATE_VERSION], false),
    api(
        ApiKey::ASSIGN_REPLICAS_TO_DIRS,
        Elements,
        &[
            ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
            ErrorCode::NOT_CONTROLLER,
            ErrorCode::STALE_BROKER_EPOCH,
            ErrorCode::UNSUPPORTED_VERSION,
        ],
        false,
    ),
    api(ApiKey::SHARE_FETCH, Elements, SHARE_SESSION, false),
    api(ApiKey::SHARE_ACKNOWLEDGE, Elements, SHARE_SESSION, false),
    api(ApiKey::DESCRIBE_SHARE_GROUP_OFFSETS, Whole, &TOPIC, false),
    api(ApiKey::ALTER_SHARE_GROUP_OFFSETS, Whole, &TOPIC, false),
    api(ApiKey::DELETE_SHARE_GROUP_OFFSETS, Whole, &TOPIC, false),
];

/// Codes that a share fetch or a share acknowledgement gets as a whole.
const SHARE_SESSION: &[ErrorCode] = &[
    ErrorCode::SHARE_SESSION_NOT_FOUND,
    ErrorCode::INVALID_SHARE_SESSION_EPOCH,
    ErrorCode::SHARE_SESSION_LIMIT_REACHED,
    ErrorCode::GROUP_AUTHORIZATION_FAILED,
    ErrorCode::INVALID_GROUP_ID,
    ErrorCode::GROUP_ID_NOT_FOUND,
    ErrorCode::UNKNOWN_MEMBER_ID,
    ErrorCode::INVALID_REQUEST,
    ErrorCode::UNSUPPORTED_VERSION,
];

/// Where Kafka's broker reports a code in the response of an API. `None` for an API that has places on one level only.
pub fn level(api: ApiKey, code: ErrorCode) -> Option<Level> {
    let known = APIS.iter().find(|known| known.key == api)?;
    Some(match (known.exceptions.contains(&code), known.level) {
        (false, level) => level,
        (true, Whole) => Elements,
        (true, Elements) => Whole,
    })
}

/// Whether a code for the whole stands in every element as well.
pub(crate) fn is_repeated(api: ApiKey, version: i16, code: ErrorCode) -> bool {
    // Up to version 12 of Fetch, for clients that look into partitions only. Codes of sessions come without partitions.
    if api == ApiKey::FETCH {
        let session = [
            ErrorCode::FETCH_SESSION_ID_NOT_FOUND,
            ErrorCode::INVALID_FETCH_SESSION_EPOCH,
            ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR,
        ];
        return version < 13 && !session.contains(&code);
    }
    APIS.iter().find(|known| known.key == api).is_some_and(|known| known.repeated)
}
