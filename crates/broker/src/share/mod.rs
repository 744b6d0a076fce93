//! Share groups (KIP-932) below their members: which records were delivered to them, and what came of it.
//!
//! - The leader of a partition hands out records and keeps the locks in memory: [`delivery`], a state machine without clock
//!   and sockets, and [`leader`], which runs one for each group and partition.
//! - The share coordinator keeps what has to last in `__share_group_state`: [`state`].
//! - A member reads through a session with the leader: [`session`].
//!
//! Who is a member, and who reads what, is the business of the group coordinator: `group/share/`.

pub(crate) mod combine;
pub(crate) mod delivery;
pub(crate) mod fetch;
pub(crate) mod leader;
mod record;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod state;

use std::fmt;

use milena_messages::{ErrorCode, Uuid};

/// A partition as one share group reads it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ShareKey {
    pub(crate) group: String,
    pub(crate) topic: Uuid,
    pub(crate) partition: i32,
}

impl fmt::Display for ShareKey {
    /// The key by which clients find its coordinator.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.group, self.topic, self.partition)
    }
}

/// Whether a text names a share partition, as [`ShareKey`] writes it. The group may have colons.
pub(crate) fn is_share_key(text: &str) -> bool {
    let mut parts = text.rsplitn(3, ':');
    let (partition, topic, group) = (parts.next(), parts.next(), parts.next());
    partition.is_some_and(|partition| partition.parse::<i32>().is_ok())
        && topic.is_some_and(|topic| topic.parse::<Uuid>().is_ok())
        && group.is_some_and(|group| !group.trim().is_empty())
}

/// A refusal: a code, and a text for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShareRefusal {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

impl ShareRefusal {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A refusal with Kafka's text for the code.
    pub(crate) fn of(code: ErrorCode) -> Self {
        Self::new(code, message(code))
    }
}

/// Kafka's texts for the codes that share groups give without one of their own.
pub(crate) fn message(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => "This server does not host this topic-partition.",
        ErrorCode::FENCED_LEADER_EPOCH => "The leader epoch in the request is older than the epoch on the broker.",
        ErrorCode::FENCED_STATE_EPOCH => {
            "The share coordinator rejected the request because the share-group state epoch did not match."
        }
        ErrorCode::NOT_LEADER_OR_FOLLOWER => {
            "For requests intended only for the leader, this error indicates that the broker is not the current leader. For \
             requests intended for any replica, this error indicates that the broker is not a replica of the topic \
             partition."
        }
        ErrorCode::NON_EMPTY_GROUP => "The group is not empty.",
        ErrorCode::INVALID_GROUP_ID => "The group id is invalid.",
        ErrorCode::NOT_COORDINATOR => "This is not the correct coordinator.",
        ErrorCode::COORDINATOR_NOT_AVAILABLE => "The coordinator is not available.",
        _ => "The server experienced an unexpected error when processing the request.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_partitions_are_named_as_in_kafka() {
        let key = ShareKey { group: "a:b".into(), topic: Uuid::from_bytes([1; 16]), partition: 3 };
        assert_eq!(key.to_string(), "a:b:AQEBAQEBAQEBAQEBAQEBAQ:3");
        assert!(is_share_key(&key.to_string()));
        for wrong in
            ["", "g", "g:AQEBAQEBAQEBAQEBAQEBAQ", "g:AQEBAQEBAQEBAQEBAQEBAQ:x", ":AQEBAQEBAQEBAQEBAQEBAQ:1", "g:1:1"]
        {
            assert!(!is_share_key(wrong), "{wrong}");
        }
    }
}
