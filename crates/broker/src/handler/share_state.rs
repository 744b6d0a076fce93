//! What the requests to the share coordinator have in common.

use std::collections::BTreeMap;

use milena_messages::{ByteString, ErrorCode, Uuid};

use super::Context;
use crate::coordinator::Effects;
use crate::security::acl::Operation;
use crate::share::state::{Partitions, ShareMachine};
use crate::share::{ShareKey, ShareRefusal};

/// What is asked for each partition, by topic. A partition that is listed twice counts as it was listed last, as in Kafka.
pub(super) fn by_topic<T>(topics: impl IntoIterator<Item = (Uuid, Vec<(i32, T)>)>) -> BTreeMap<Uuid, BTreeMap<i32, T>> {
    let mut all: BTreeMap<Uuid, BTreeMap<i32, T>> = BTreeMap::new();
    for (topic, partitions) in topics {
        all.entry(topic).or_default().extend(partitions);
    }
    all
}

/// Runs a command for a share partition on this node. The command gets the topics of the cluster and the time.
///
/// # Errors
/// This node is not the coordinator; what the command refuses.
pub(super) fn at_coordinator<T>(
    context: &Context,
    (group, topic, partition): (&str, Uuid, i32),
    doing: &str,
    command: impl FnOnce(
        &mut ShareMachine,
        &ShareKey,
        (&dyn Partitions, i64),
        &mut Effects<ShareMachine>,
    ) -> Result<T, ShareRefusal>,
) -> Result<T, ShareRefusal> {
    if let Err(refusal) = context.authorize_cluster(Operation::ClusterAction) {
        return Err(ShareRefusal::new(refusal.code, refusal.message.into_owned()));
    }
    let key = ShareKey { group: group.to_owned(), topic, partition };
    let state = &context.state;
    let run = state.shares.with(state, context.node.id, &key.to_string(), |machine, now_ms, effects| {
        command(machine, &key, (&**state, now_ms), effects)
    });
    let not_here = |code| {
        let message = format!("Unable to {doing} share group state: {}", crate::share::message(code));
        ShareRefusal { code, message }
    };
    run.map_err(not_here)?
}

/// The code and the message of a partition.
pub(super) fn outcome(refusal: Option<ShareRefusal>) -> (ErrorCode, Option<ByteString>) {
    match refusal {
        None => (ErrorCode::NONE, None),
        Some(refusal) => (refusal.code, Some(refusal.message.into())),
    }
}
