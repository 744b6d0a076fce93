//! Why a request to the control port fails.

use hyper::StatusCode;
use milena_broker::BrokerError;
use milena_client::Report;
use milena_messages::ErrorCode;
use serde_json::{Value, json};

/// A request that failed.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) message: String,
    /// Kafka's name for it, if it has one.
    pub(super) code: Option<ErrorCode>,
    /// The methods that a path has.
    pub(super) allow: Option<String>,
}

impl Refused {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), code: None, allow: None }
    }

    /// What was sent is wrong.
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(super) fn to_json(&self) -> Value {
        let mut json = json!({ "error": self.message });
        if let Some(code) = self.code {
            json["code"] = code.to_string().into();
        }
        json
    }
}

impl From<BrokerError> for Refused {
    fn from(error: BrokerError) -> Self {
        let message = Report(&error).to_string();
        let (status, code) = match error {
            BrokerError::Refused { code, .. } => (status_of(code), Some(code)),
            BrokerError::Node { reason: "there is no such node", .. } => (StatusCode::NOT_FOUND, None),
            BrokerError::Node { .. } | BrokerError::Config { .. } => (StatusCode::CONFLICT, None),
            BrokerError::Fault(_) => (StatusCode::BAD_REQUEST, None),
            BrokerError::Timeout { .. } => (StatusCode::REQUEST_TIMEOUT, None),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, None),
        };
        Self { status, message, code, allow: None }
    }
}

fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => StatusCode::NOT_FOUND,
        ErrorCode::TOPIC_ALREADY_EXISTS
        | ErrorCode::LEADER_NOT_AVAILABLE
        | ErrorCode::REPLICA_NOT_AVAILABLE
        | ErrorCode::ELIGIBLE_LEADERS_NOT_AVAILABLE => StatusCode::CONFLICT,
        _ => StatusCode::BAD_REQUEST,
    }
}
