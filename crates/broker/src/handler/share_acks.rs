//! Acknowledgements, which come with ShareFetch and with ShareAcknowledge.

use std::sync::Arc;

use milena_messages::{ByteString, ErrorCode};

use super::Context;
use crate::cluster::TopicRef;
use crate::cluster::node::Node;
use crate::security::acl::{Operation, Resource};
use crate::share::delivery::Acknowledgement;
use crate::share::session::{Place, SessionKey};
use crate::share::settings::ShareSettings;

/// The type that begins a lock again (KIP-1222).
const RENEW: i8 = 4;
/// From here on there is such a type.
pub(super) const RENEWS: i16 = 2;

/// What became of the acknowledgements of a partition.
#[derive(Clone, Debug, Default)]
pub(super) struct Acknowledged {
    pub(super) error_code: ErrorCode,
    pub(super) error_message: Option<ByteString>,
}

impl Acknowledged {
    fn refused(error_code: ErrorCode) -> Self {
        Self { error_code, error_message: None }
    }
}

/// Carries out the acknowledgements of a partition. `renews`: the request says that there may be some that renew.
pub(super) fn acknowledge(
    context: &Context,
    session: &SessionKey,
    place: Place,
    verdicts: &[Acknowledgement],
    renews: bool,
    settings: &ShareSettings,
) -> Acknowledged {
    let state = &context.state;
    let Some(topic) = state.topic(TopicRef::Id(place.0)) else {
        return Acknowledged::refused(ErrorCode::UNKNOWN_TOPIC_ID);
    };
    if !is_valid(verdicts, context.version, renews) {
        return Acknowledged::refused(ErrorCode::INVALID_REQUEST);
    }
    if let Err(code) = context.authorize(Operation::Read, Resource::topic(&topic.name)) {
        return Acknowledged::refused(code);
    }
    if topic.partition(place.1).is_none() {
        return Acknowledged::refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    }
    if verdicts.is_empty() {
        return Acknowledged::default();
    }
    match state.share_acknowledge(session, place, verdicts, settings) {
        Ok(()) => Acknowledged::default(),
        Err(refusal) => Acknowledged { error_code: refusal.code, error_message: Some(refusal.message.into()) },
    }
}

/// Ranges go forward, and have one type or one for each offset.
fn is_valid(verdicts: &[Acknowledgement], version: i16, renews: bool) -> bool {
    let greatest = if version == RENEWS { RENEW } else { RENEW - 1 };
    let mut end = -1;
    verdicts.iter().all(|verdict| {
        let kinds = &verdict.kinds;
        let is_good = verdict.first <= verdict.last
            && verdict.first >= end
            && !kinds.is_empty()
            && (kinds.len() == 1 || i64::try_from(kinds.len() - 1) == Ok(verdict.last - verdict.first))
            && kinds.iter().all(|kind| (0..=greatest).contains(kind))
            && (renews || !kinds.contains(&RENEW));
        end = verdict.last;
        is_good
    })
}

/// The leader of a partition and its epoch, and the node if it is up, for a client whose error says that it went astray.
pub(super) fn leader_for(context: &Context, place: Place, code: ErrorCode) -> Option<(i32, i32, Option<Arc<Node>>)> {
    if ![ErrorCode::NOT_LEADER_OR_FOLLOWER, ErrorCode::FENCED_LEADER_EPOCH].contains(&code) {
        return None;
    }
    let partition = context.state.topic(TopicRef::Id(place.0))?.partition(place.1)?;
    let leadership = partition.leadership();
    let node = context.state.node(leadership.leader).filter(|node| node.is_alive());
    Some((leadership.leader, leadership.epoch, node))
}
