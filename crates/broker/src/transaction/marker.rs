//! The second step of the end of a transaction: a marker in every partition.

use std::sync::Arc;

use crate::cluster::{State, TopicRef};
use crate::storage::leadership::NO_LEADER;
use crate::transaction::machine::Producer;
use crate::transaction::{Status, Transaction};

/// What to write where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    pub(super) id: String,
    pub(super) producer: Producer,
    commit: bool,
    partitions: Vec<(String, i32)>,
}

impl Marker {
    /// The markers of a transaction that is prepared to end.
    pub(super) fn of(id: &str, transaction: &Transaction) -> Self {
        Self {
            id: id.to_owned(),
            producer: Producer { id: transaction.producer_id, epoch: transaction.epoch },
            commit: transaction.status == Status::PrepareCommit,
            partitions: transaction.partitions.iter().cloned().collect(),
        }
    }
}

/// Writes the markers, and completes the transaction when all are written. What cannot be written now is tried again when
/// the coordinator's timer is due.
pub(super) fn write(state: &Arc<State>, node: i32, marker: &Marker) {
    let mut complete = true;
    for (topic, index) in &marker.partitions {
        // A topic that was deleted meanwhile needs no marker.
        let found = state.topic(TopicRef::Name(topic)).and_then(|topic| topic.partition(*index));
        let Some(partition) = found else { continue };
        let leader = partition.leadership().leader;
        let producer = (marker.producer.id, marker.producer.epoch);
        let written = leader != NO_LEADER
            && partition.end_transaction(leader, producer, 0, marker.commit, state.now_ms()).is_ok();
        complete &= written;
        if written && topic == state.groups.topic_name() {
            state.groups.ended(*index, marker.producer.id, marker.commit);
        }
    }
    if complete {
        // Another node may coordinate by now: it finds the transaction prepared, and writes the markers once more.
        let done = state.transactions.with(state, node, &marker.id, |machine, now_ms, effects| {
            machine.complete(marker, now_ms, effects);
        });
        if let Err(code) = done {
            tracing::debug!(id = %marker.id, %code, "the coordinator moved while a transaction ended");
        }
    }
}
