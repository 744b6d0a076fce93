//! The rules of Kafka's transaction coordinator.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use milena_messages::{ErrorCode, TransactionLogKey, TransactionLogValue};

use crate::cluster::State;
use crate::coordinator::record::CoordinatorRecord;
use crate::coordinator::{Effects, MAX_BATCH_BYTES, Machine};
use crate::transaction::{Marker, Status, Transaction, marker};

/// The last epoch that a producer writes at; the one after it is for fencing.
const LAST_EPOCH: i16 = i16::MAX - 1;
/// How long markers wait that could not be written.
const RETRY_MS: i64 = 100;

/// Who acts: a producer by its id and epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Producer {
    pub(crate) id: i64,
    pub(crate) epoch: i16,
}

/// How a transaction is to end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) commit: bool,
    /// Whether the producer goes on at the next epoch (KIP-890).
    pub(crate) bumps_epoch: bool,
    /// A producer id that nobody has, in case that epochs are used up.
    pub(crate) fresh: i64,
}

/// The transactional ids of one partition of `__transaction_state`.
#[derive(Debug, Default)]
pub(crate) struct TransactionMachine {
    transactions: BTreeMap<String, Transaction>,
    /// The epoch that each id had before, for a client that repeats a request whose response was lost. Only in memory, as
    /// in Kafka.
    last_epochs: BTreeMap<String, i16>,
    /// Markers that are not written yet: not another attempt before this time.
    retries: BTreeMap<String, i64>,
    due: BTreeSet<(i64, String)>,
}

impl Machine for TransactionMachine {
    type Reply = ();
    type Work = Marker;

    fn new(_: &State) -> Self {
        Self::default()
    }

    fn replay(&mut self, record: &CoordinatorRecord, _: Option<i64>) {
        let Ok(key) = record.read_key::<TransactionLogKey>() else { return };
        let id = key.transactional_id.to_string();
        self.disarm(&id);
        let value = record.value.as_ref().and_then(|_| record.read_value::<TransactionLogValue>().ok());
        match value.as_ref().and_then(Transaction::from_record) {
            Some(transaction) => {
                self.transactions.insert(id.clone(), transaction);
                self.arm(&id);
            }
            None => _ = self.transactions.remove(&id),
        }
    }

    fn deadline(&self) -> Option<i64> {
        self.due.first().map(|(time, _)| *time)
    }

    fn tick(&mut self, now_ms: i64, effects: &mut Effects<Self>) {
        while let Some((_, id)) = self.due.first().filter(|(time, _)| *time <= now_ms).cloned() {
            self.disarm(&id);
            let Some(transaction) = self.transactions.get(&id).cloned() else { continue };
            match transaction.status {
                // It took too long: its producer is fenced, and it is aborted.
                Status::Ongoing => self.fence(&id, transaction, now_ms, effects),
                Status::PrepareCommit | Status::PrepareAbort => {
                    self.retries.insert(id.clone(), now_ms + RETRY_MS);
                    self.arm(&id);
                    effects.work(Marker::of(&id, &transaction));
                }
                _ => {}
            }
        }
    }

    fn work(state: &Arc<State>, node: i32, work: Marker) {
        marker::write(state, node, &work);
    }
}

impl TransactionMachine {
    pub(crate) fn get(&self, id: &str) -> Option<&Transaction> {
        self.transactions.get(id)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Transaction)> {
        self.transactions.iter().map(|(id, transaction)| (&**id, transaction))
    }

    fn due_at(&self, id: &str) -> Option<i64> {
        let transaction = self.transactions.get(id)?;
        match transaction.status {
            Status::Ongoing => Some(transaction.started_at.saturating_add(i64::from(transaction.timeout_ms))),
            Status::PrepareCommit | Status::PrepareAbort => {
                Some(self.retries.get(id).copied().unwrap_or(transaction.updated_at + RETRY_MS))
            }
            _ => None,
        }
    }

    fn arm(&mut self, id: &str) {
        if let Some(time) = self.due_at(id) {
            self.due.insert((time, id.to_owned()));
        }
    }

    fn disarm(&mut self, id: &str) {
        if let Some(time) = self.due_at(id) {
            self.due.remove(&(time, id.to_owned()));
        }
    }

    /// InitProducerId. `fresh` is a producer id that nobody has, in case that one is needed.
    ///
    /// # Errors
    /// The producer is fenced; a transaction is still ending.
    pub(crate) fn init(
        &mut self,
        id: &str,
        timeout_ms: i32,
        expected: Option<Producer>,
        fresh: i64,
        now_ms: i64,
        effects: &mut Effects<Self>,
    ) -> Result<Producer, ErrorCode> {
        let Some(known) = self.transactions.get(id).cloned() else {
            let transaction = Transaction {
                producer_id: fresh,
                previous_producer_id: -1,
                next_producer_id: -1,
                epoch: 0,
                timeout_ms,
                status: Status::Empty,
                partitions: BTreeSet::new(),
                started_at: -1,
                updated_at: now_ms,
                bumps_epoch: false,
            };
            effects.record(transaction.to_record(id));
            return Ok(Producer { id: fresh, epoch: 0 });
        };
        let is_known = |expected: Producer| {
            expected.epoch == -1
                || expected.id == known.producer_id
                // The response that brought a new id, as the epochs of the old one were used up, was lost.
                || (expected.id == known.previous_producer_id && expected.epoch >= LAST_EPOCH)
        };
        if expected.is_some_and(|expected| !is_known(expected)) {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        match known.status {
            Status::PrepareCommit | Status::PrepareAbort => Err(ErrorCode::CONCURRENT_TRANSACTIONS),
            Status::Ongoing => {
                // The producer of the open transaction is fenced, whatever epoch the client names; it comes again when
                // the transaction is aborted.
                self.fence(id, known, now_ms, effects);
                Err(ErrorCode::CONCURRENT_TRANSACTIONS)
            }
            Status::Dead | Status::PrepareEpochFence => Err(ErrorCode::UNKNOWN_SERVER_ERROR),
            Status::Empty | Status::CompleteCommit | Status::CompleteAbort => {
                let producer = self.next_producer(id, &known, expected, fresh)?;
                let rotated = producer.id != known.producer_id;
                let transaction = Transaction {
                    producer_id: producer.id,
                    previous_producer_id: if rotated { known.producer_id } else { known.previous_producer_id },
                    next_producer_id: -1,
                    epoch: producer.epoch,
                    timeout_ms,
                    status: Status::Empty,
                    partitions: BTreeSet::new(),
                    started_at: -1,
                    updated_at: now_ms,
                    bumps_epoch: known.bumps_epoch,
                };
                effects.record(transaction.to_record(id));
                Ok(producer)
            }
        }
    }

    /// Id and epoch for a producer that starts again.
    fn next_producer(
        &mut self,
        id: &str,
        known: &Transaction,
        expected: Option<Producer>,
        fresh: i64,
    ) -> Result<Producer, ErrorCode> {
        let expected = expected.filter(|expected| expected.epoch != -1);
        if known.epoch >= LAST_EPOCH && expected.is_none_or(|expected| expected.epoch == known.epoch) {
            self.last_epochs.insert(id.to_owned(), known.epoch);
            return Ok(Producer { id: fresh, epoch: 0 });
        }
        // Beyond the last epoch only another producer id helps, which is given out above.
        let bumped = Producer { id: known.producer_id, epoch: known.epoch.saturating_add(1) };
        match expected {
            None => {
                self.last_epochs.remove(id);
                Ok(bumped)
            }
            Some(expected) if expected.epoch == known.epoch => {
                self.last_epochs.insert(id.to_owned(), known.epoch);
                Ok(bumped)
            }
            // The response to the same request was lost.
            Some(expected) if self.last_epochs.get(id) == Some(&expected.epoch) => {
                Ok(Producer { id: known.producer_id, epoch: known.epoch })
            }
            Some(_) => Err(ErrorCode::PRODUCER_FENCED),
        }
    }

    /// Aborts an open transaction at an epoch that its producer does not have.
    fn fence(&mut self, id: &str, transaction: Transaction, now_ms: i64, effects: &mut Effects<Self>) {
        let epoch = transaction.epoch.saturating_add(1);
        self.last_epochs.remove(id);
        self.prepare(id, Transaction { epoch, ..transaction }, false, now_ms, effects);
    }

    /// The first step of the end.
    fn prepare(&self, id: &str, transaction: Transaction, commit: bool, now_ms: i64, effects: &mut Effects<Self>) {
        let status = if commit { Status::PrepareCommit } else { Status::PrepareAbort };
        let prepared = Transaction { status, updated_at: now_ms, ..transaction };
        effects.record(prepared.to_record(id));
        effects.work(Marker::of(id, &prepared));
    }

    /// The transaction of this producer.
    fn of(&self, id: &str, producer: Producer) -> Result<&Transaction, ErrorCode> {
        let known = self.transactions.get(id).ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
        if known.producer_id != producer.id {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        if known.epoch != producer.epoch {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        Ok(known)
    }

    /// Adds partitions to the transaction, which begins with the first one.
    ///
    /// # Errors
    /// The producer is unknown or fenced; its last transaction is still ending.
    pub(crate) fn add(
        &mut self,
        id: &str,
        producer: Producer,
        partitions: impl IntoIterator<Item = (String, i32)>,
        bumps_epoch: bool,
        now_ms: i64,
        effects: &mut Effects<Self>,
    ) -> Result<(), ErrorCode> {
        let known = self.of(id, producer)?;
        if matches!(known.status, Status::PrepareCommit | Status::PrepareAbort) {
            return Err(ErrorCode::CONCURRENT_TRANSACTIONS);
        }
        let goes_on = known.status == Status::Ongoing;
        let mut all = if goes_on { known.partitions.clone() } else { BTreeSet::new() };
        let before = all.len();
        all.extend(partitions);
        if goes_on && all.len() == before {
            return Ok(());
        }
        let transaction = Transaction {
            status: Status::Ongoing,
            partitions: all,
            started_at: if goes_on { known.started_at } else { now_ms },
            updated_at: now_ms,
            bumps_epoch,
            ..known.clone()
        };
        let record = transaction.to_record(id);
        if record.size() > MAX_BATCH_BYTES {
            return Err(ErrorCode::UNKNOWN_SERVER_ERROR);
        }
        effects.record(record);
        Ok(())
    }

    /// Whether a producer may write to a partition: it is a part of its open transaction.
    ///
    /// # Errors
    /// It is not, or the producer is unknown or fenced.
    pub(crate) fn verify(&self, id: &str, producer: Producer, topic: &str, partition: i32) -> Result<(), ErrorCode> {
        let known = self.of(id, producer)?;
        match known.status {
            Status::PrepareCommit | Status::PrepareAbort => Err(ErrorCode::CONCURRENT_TRANSACTIONS),
            Status::Ongoing if known.partitions.contains(&(topic.to_owned(), partition)) => Ok(()),
            _ => Err(ErrorCode::TRANSACTION_ABORTABLE),
        }
    }

    /// EndTxn. Returns the id and epoch at which the producer goes on.
    ///
    /// # Errors
    /// The producer is unknown or fenced, there is no transaction to end, or it ended in the other way.
    pub(crate) fn end(
        &mut self,
        id: &str,
        producer: Producer,
        end: End,
        now_ms: i64,
        effects: &mut Effects<Self>,
    ) -> Result<Producer, ErrorCode> {
        let End { commit, bumps_epoch, .. } = end;
        let known = self.transactions.get(id).cloned().ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
        // Clients that do not raise the epoch with each transaction repeat a request at the same epoch.
        let bumped = bumps_epoch && known.bumps_epoch;
        let spent = producer.epoch == LAST_EPOCH - 1;
        let rotated = bumped && spent && producer.id == known.previous_producer_id && known.epoch == 0;
        if known.producer_id != producer.id && !rotated {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        let now = Producer { id: known.producer_id, epoch: known.epoch };
        // The response to the same request was lost, and the epoch was raised by it.
        let repeated = rotated || (bumped && producer.epoch.checked_add(1) == Some(known.epoch));
        if producer.epoch != known.epoch && !repeated {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        let wrong = Err(ErrorCode::INVALID_TXN_STATE);
        match (known.status, commit) {
            (Status::CompleteCommit, true) | (Status::CompleteAbort, false) if repeated || !bumps_epoch => Ok(now),
            (Status::PrepareCommit, true) | (Status::PrepareAbort, false) => Err(ErrorCode::CONCURRENT_TRANSACTIONS),
            _ if repeated => wrong,
            (Status::Ongoing, _) => Ok(self.finish(id, known, end, now_ms, effects)),
            // With an epoch for each transaction, an abort of nothing still gives the next one.
            (Status::Empty | Status::CompleteCommit | Status::CompleteAbort, false) if bumps_epoch => {
                let nothing = Transaction { partitions: BTreeSet::new(), started_at: now_ms, ..known };
                Ok(self.finish(id, nothing, end, now_ms, effects))
            }
            _ => wrong,
        }
    }

    fn finish(&mut self, id: &str, known: Transaction, end: End, now_ms: i64, effects: &mut Effects<Self>) -> Producer {
        let End { commit, bumps_epoch, fresh } = end;
        if !bumps_epoch {
            let producer = Producer { id: known.producer_id, epoch: known.epoch };
            self.prepare(id, Transaction { bumps_epoch, ..known }, commit, now_ms, effects);
            return producer;
        }
        self.last_epochs.insert(id.to_owned(), known.epoch);
        let epoch = known.epoch.saturating_add(1);
        let exhausted = epoch >= LAST_EPOCH;
        let next = if exhausted { Producer { id: fresh, epoch: 0 } } else { Producer { id: known.producer_id, epoch } };
        let next_producer_id = if exhausted { fresh } else { -1 };
        self.prepare(id, Transaction { epoch, bumps_epoch, next_producer_id, ..known }, commit, now_ms, effects);
        next
    }

    /// All markers are written: the transaction is at its end.
    pub(crate) fn complete(&mut self, marker: &Marker, now_ms: i64, effects: &mut Effects<Self>) {
        let Some(known) = self.transactions.get(&marker.id) else { return };
        let status = match known.status {
            Status::PrepareCommit => Status::CompleteCommit,
            Status::PrepareAbort => Status::CompleteAbort,
            // Another attempt was faster.
            _ => return,
        };
        if (known.producer_id, known.epoch) != (marker.producer.id, marker.producer.epoch) {
            return;
        }
        self.retries.remove(&marker.id);
        let mut transaction = Transaction { status, partitions: BTreeSet::new(), updated_at: now_ms, ..known.clone() };
        if transaction.next_producer_id != -1 {
            transaction.previous_producer_id = transaction.producer_id;
            (transaction.producer_id, transaction.epoch) = (transaction.next_producer_id, 0);
            transaction.next_producer_id = -1;
        }
        effects.record(transaction.to_record(&marker.id));
    }
}
