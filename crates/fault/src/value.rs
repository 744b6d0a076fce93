//! What Kafka's error responses say in fields that are neither the code nor a name.

use milena_messages::{ApiKey, ErrorCode};
use milena_schema::{Field, Type};
use serde_json::{Value, json};

/// APIs whose int64 fields are 0 when a request fails. Offsets, times and producers of all others are -1.
const ZERO: &[ApiKey] = &[
    ApiKey::ALLOCATE_PRODUCER_IDS,
    ApiKey::DESCRIBE_TRANSACTIONS,
    ApiKey::EXPIRE_DELEGATION_TOKEN,
    ApiKey::RENEW_DELEGATION_TOKEN,
    ApiKey::READ_SHARE_GROUP_STATE,
    ApiKey::READ_SHARE_GROUP_STATE_SUMMARY,
    ApiKey::SASL_AUTHENTICATE,
];

/// The value of a field in a failed response; `None` for the default of the spec.
pub(crate) fn default(api: ApiKey, field: &Field, version: i16) -> Option<Value> {
    match (api, field.json_name.as_str()) {
        (ApiKey::FIND_COORDINATOR, "nodeId" | "port") => return Some(json!(-1)),
        (ApiKey::INIT_PRODUCER_ID, "producerEpoch") => return Some(json!(-1)),
        (ApiKey::JOIN_GROUP, "protocolName") if version >= 7 => return Some(Value::Null),
        (ApiKey::DESCRIBE_CLIENT_QUOTAS, "entries") => return Some(Value::Null),
        (_, "errorMessage") if field.nullable.contains(version) => return Some(Value::Null),
        _ => {}
    }
    match field.ty {
        Type::Int64 if field.tag.is_none() => Some(json!(if ZERO.contains(&api) { 0 } else { -1 })),
        Type::Records => Some(json!("")),
        _ => None,
    }
}

/// What depends on the request as a whole.
pub(crate) fn finish(api: ApiKey, version: i16, code: ErrorCode, request: &Value, response: &mut Value) {
    match api {
        // Except that a session which failed is none any more.
        ApiKey::FETCH
            if ![
                ErrorCode::FETCH_SESSION_ID_NOT_FOUND,
                ErrorCode::INVALID_FETCH_SESSION_EPOCH,
                ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR,
            ]
            .contains(&code)
                && version >= 7 =>
        {
            response["sessionId"] = request["sessionId"].clone();
        }
        // Clients take the highest version from here (KIP-511): the one below the one that they asked for.
        ApiKey::API_VERSIONS if code == ErrorCode::UNSUPPORTED_VERSION => {
            response["apiKeys"] =
                json!([{ "apiKey": ApiKey::API_VERSIONS.0, "minVersion": 0, "maxVersion": (version - 1).max(0) }]);
        }
        _ => {}
    }
}
