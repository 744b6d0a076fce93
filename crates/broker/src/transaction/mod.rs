//! The transaction coordinator: who may write as a transactional id, and what its transaction touches, as a machine
//! without clock, sockets and tasks.
//!
//! Its records are those of Kafka's `__transaction_state`; the machine is nothing but their replay. A transaction ends in
//! three steps: a record that says how it is to end, a marker in every partition, and a record that says that all are
//! written.

mod admit;
mod machine;
mod marker;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use milena_messages::transaction_coordinator::transaction_log_value::PartitionsSchema;
use milena_messages::{Int32s, TransactionLogKey, TransactionLogValue};

pub(crate) use self::admit::admit;
pub(crate) use self::machine::{End, Producer, TransactionMachine};
pub(crate) use self::marker::Marker;
use crate::coordinator::record::{CoordinatorRecord, set};

/// Where a transaction is. The numbers are those of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Empty = 0,
    Ongoing = 1,
    PrepareCommit = 2,
    PrepareAbort = 3,
    CompleteCommit = 4,
    CompleteAbort = 5,
    Dead = 6,
    PrepareEpochFence = 7,
}

impl Status {
    const ALL: [Self; 8] = [
        Self::Empty,
        Self::Ongoing,
        Self::PrepareCommit,
        Self::PrepareAbort,
        Self::CompleteCommit,
        Self::CompleteAbort,
        Self::Dead,
        Self::PrepareEpochFence,
    ];

    fn of(number: i8) -> Option<Self> {
        Self::ALL.into_iter().find(|status| *status as i8 == number)
    }

    /// The status with this name, as clients ask for it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// As clients see it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Ongoing => "Ongoing",
            Self::PrepareCommit => "PrepareCommit",
            Self::PrepareAbort => "PrepareAbort",
            Self::CompleteCommit => "CompleteCommit",
            Self::CompleteAbort => "CompleteAbort",
            Self::Dead => "Dead",
            Self::PrepareEpochFence => "PrepareEpochFence",
        }
    }
}

/// What is known of a transactional id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transaction {
    pub(crate) producer_id: i64,
    /// The producer id before the last one was used up; -1 for none.
    previous_producer_id: i64,
    /// The one after it, when the epochs of this one are used up and the transaction is ending; -1 for none.
    next_producer_id: i64,
    pub(crate) epoch: i16,
    pub(crate) timeout_ms: i32,
    pub(crate) status: Status,
    pub(crate) partitions: BTreeSet<(String, i32)>,
    /// When the transaction began, in milliseconds since 1970; -1 when there is none.
    pub(crate) started_at: i64,
    updated_at: i64,
    /// Whether the client gets a new epoch with each transaction (KIP-890).
    bumps_epoch: bool,
}

impl Transaction {
    fn from_record(value: &TransactionLogValue) -> Option<Self> {
        let topics = value.transaction_partitions.iter().flatten();
        let partitions =
            topics.flat_map(|topic| topic.partition_ids.iter().map(|partition| (topic.topic.to_string(), *partition)));
        Some(Self {
            producer_id: value.producer_id,
            previous_producer_id: value.previous_producer_id,
            next_producer_id: value.next_producer_id,
            epoch: value.producer_epoch,
            timeout_ms: value.transaction_timeout_ms,
            status: Status::of(value.transaction_status)?,
            partitions: partitions.collect(),
            started_at: value.transaction_start_timestamp_ms,
            updated_at: value.transaction_last_update_timestamp_ms,
            bumps_epoch: value.client_transaction_version >= 2,
        })
    }

    fn to_record(&self, id: &str) -> CoordinatorRecord {
        let mut topics: Vec<PartitionsSchema> = Vec::new();
        for (topic, partition) in &self.partitions {
            if topics.last().is_none_or(|last| last.topic != **topic) {
                topics.push(PartitionsSchema { topic: topic.clone().into(), ..Default::default() });
            }
            if let Some(last) = topics.last_mut() {
                last.partition_ids.push(*partition);
            }
        }
        let value = TransactionLogValue {
            producer_id: self.producer_id,
            previous_producer_id: self.previous_producer_id,
            next_producer_id: self.next_producer_id,
            producer_epoch: self.epoch,
            transaction_timeout_ms: self.timeout_ms,
            transaction_status: self.status as i8,
            // Nothing at all, not an empty list, while there is no transaction.
            transaction_partitions: (self.status != Status::Empty).then_some(topics),
            transaction_last_update_timestamp_ms: self.updated_at,
            transaction_start_timestamp_ms: self.started_at,
            client_transaction_version: if self.bumps_epoch { 2 } else { 0 },
            ..Default::default()
        };
        let key = TransactionLogKey { transactional_id: id.to_owned().into() };
        // Version 1 is the flexible one.
        set(&key, &value, 1)
    }

    /// The partitions by topic, for descriptions.
    pub(crate) fn topics(&self) -> Vec<(String, Int32s)> {
        let mut topics: Vec<(String, Int32s)> = Vec::new();
        for (topic, partition) in &self.partitions {
            match topics.last_mut().filter(|(last, _)| last == topic) {
                Some((_, partitions)) => partitions.push(*partition),
                None => topics.push((topic.clone(), Int32s::from_slice(&[*partition]))),
            }
        }
        topics
    }
}
