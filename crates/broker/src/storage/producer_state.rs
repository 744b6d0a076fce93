//! What a partition remembers of idempotent producers (KIP-98).

use std::collections::{BTreeMap, HashMap, VecDeque};

use milena_messages::ErrorCode;
use milena_messages::storage::producer_snapshot::ProducerEntry;

use crate::refusal::Refusal;

/// As many requests as a producer may have on their way, and so the batches that may come twice.
const REMEMBERED: usize = 5;

/// The part of a batch header that names its producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sequence {
    pub(crate) producer_id: i64,
    pub(crate) epoch: i16,
    pub(crate) first: i32,
    pub(crate) last: i32,
}

/// Where a batch went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Appended {
    pub(crate) base_offset: i64,
    /// -1 when the timestamps are the producer's.
    pub(crate) log_append_time_ms: i64,
}

/// A batch that may come twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Remembered {
    pub(crate) first: i32,
    pub(crate) last: i32,
    pub(crate) appended: Appended,
    pub(crate) last_offset: i64,
    pub(crate) timestamp: i64,
}

/// What is known of a producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Producer {
    pub(crate) epoch: i16,
    /// Of the transaction coordinator that wrote the last marker; -1 for none.
    pub(crate) coordinator_epoch: i32,
    /// The greatest timestamp of its last batch or marker.
    pub(crate) last_timestamp: i64,
    /// Oldest first.
    pub(crate) batches: VecDeque<Remembered>,
}

impl Producer {
    pub(crate) fn new(epoch: i16) -> Self {
        Self { epoch, coordinator_epoch: -1, last_timestamp: -1, batches: VecDeque::new() }
    }

    /// A greater epoch than before fences what came with the last one.
    fn enter(&mut self, epoch: i16) {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.batches.clear();
        }
    }

    /// Its last sequence number; -1 for none.
    pub(crate) fn last_sequence(&self) -> i32 {
        self.batches.back().map_or(-1, |batch| batch.last)
    }

    /// The last offset of its last batch.
    pub(crate) fn last_data_offset(&self) -> Option<i64> {
        self.batches.back().map(|batch| batch.last_offset)
    }
}

/// Most producers whose transaction is asked for at the coordinator at the same time.
const MAX_VERIFYING: usize = 1000;

/// The producers of one partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Producers {
    known: HashMap<i64, Producer>,
    /// Epoch and least sequence number of those that came with a transactional batch, and did not write it yet (KIP-890).
    verifying: BTreeMap<i64, (i16, i32)>,
}

impl Producers {
    /// Looks at a batch before it is appended. `Some` says that it came before, and where it went then.
    pub(crate) fn check(&self, batch: Sequence) -> Result<Option<Appended>, Refusal> {
        let out_of_order = |expected: i32| {
            let message = format!(
                "Out of order sequence number for producer {} at epoch {}: {}, expected {expected}",
                batch.producer_id, batch.epoch, batch.first
            );
            Err(Refusal::new(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, message))
        };
        let least = self.verifying.get(&batch.producer_id).map(|(_, least)| *least);
        // Of an unknown producer any sequence is taken: what is known of it may have been lost with old records.
        let Some(producer) = self.known.get(&batch.producer_id) else {
            return least.filter(|least| batch.first > *least).map_or(Ok(None), out_of_order);
        };
        if batch.epoch == producer.epoch {
            let same = |known: &&Remembered| known.first == batch.first && known.last == batch.last;
            if let Some(known) = producer.batches.iter().find(same) {
                return Ok(Some(Appended { log_append_time_ms: known.timestamp, ..known.appended }));
            }
        }
        if batch.epoch < producer.epoch {
            let message = format!(
                "Epoch of producer {} is {}, which is smaller than the last seen epoch {}",
                batch.producer_id, batch.epoch, producer.epoch
            );
            return Err(Refusal::new(ErrorCode::INVALID_PRODUCER_EPOCH, message));
        }
        if let Some(least) = least.filter(|least| batch.first > *least) {
            return out_of_order(least);
        }
        let expected = match producer.batches.back() {
            Some(known) if batch.epoch == producer.epoch => next(known.last),
            _ => 0,
        };
        if batch.first == expected { Ok(None) } else { out_of_order(expected) }
    }

    /// A transactional batch is about to be written if the coordinator agrees. Until one is, none may have a greater
    /// sequence number than the least that came.
    pub(crate) fn verifies(&mut self, producer_id: i64, epoch: i16, sequence: i32) {
        if self.verifying.len() >= MAX_VERIFYING && !self.verifying.contains_key(&producer_id) {
            self.verifying.pop_first();
        }
        let entry = self.verifying.entry(producer_id).or_insert((epoch, sequence));
        if epoch > entry.0 {
            *entry = (epoch, sequence);
        } else {
            entry.1 = entry.1.min(sequence);
        }
    }

    /// A transactional batch or a marker was appended: the producer's transaction is known to be open, or over.
    pub(crate) fn verified(&mut self, producer_id: i64) {
        self.verifying.remove(&producer_id);
    }

    /// The epoch of a producer that wrote here.
    pub(crate) fn epoch(&self, producer_id: i64) -> Option<i16> {
        self.known.get(&producer_id).map(|producer| producer.epoch)
    }

    /// Remembers a batch that was appended, with its last offset and greatest timestamp.
    pub(crate) fn appended(&mut self, batch: Sequence, appended: Appended, last_offset: i64, timestamp: i64) {
        let producer = self.known.entry(batch.producer_id).or_insert_with(|| Producer::new(batch.epoch));
        producer.enter(batch.epoch);
        if producer.batches.len() == REMEMBERED {
            producer.batches.pop_front();
        }
        let Sequence { first, last, .. } = batch;
        producer.batches.push_back(Remembered { first, last, appended, last_offset, timestamp });
        producer.last_timestamp = timestamp;
    }

    /// Looks at a marker before it is written.
    ///
    /// # Errors
    /// A later producer or coordinator was here before.
    pub(crate) fn check_marker(
        &self,
        (producer_id, epoch): (i64, i16),
        coordinator_epoch: i32,
    ) -> Result<(), ErrorCode> {
        if producer_id < 0 || epoch < 0 {
            // What Kafka fails on.
            return Err(ErrorCode::UNKNOWN_SERVER_ERROR);
        }
        match self.known.get(&producer_id) {
            Some(known) if epoch < known.epoch => Err(ErrorCode::INVALID_PRODUCER_EPOCH),
            Some(known) if coordinator_epoch < known.coordinator_epoch => {
                Err(ErrorCode::TRANSACTION_COORDINATOR_FENCED)
            }
            _ => Ok(()),
        }
    }

    /// A marker of this epoch ended the producer's transaction. A greater epoch than before fences the former ones.
    pub(crate) fn ended(&mut self, producer_id: i64, epoch: i16, coordinator_epoch: i32, timestamp: i64) {
        let producer = self.known.entry(producer_id).or_insert_with(|| Producer::new(epoch));
        if producer.epoch < epoch {
            producer.enter(epoch);
        }
        producer.coordinator_epoch = coordinator_epoch;
        producer.last_timestamp = timestamp;
        self.verified(producer_id);
    }

    /// Forgets the producers that were last seen this long ago, unless this holds of them.
    pub(crate) fn expire(&mut self, now_ms: i64, after_ms: i64, stays: impl Fn(i64) -> bool) {
        self.known.retain(|id, producer| now_ms.saturating_sub(producer.last_timestamp) < after_ms || stays(*id));
    }

    /// As a snapshot of Kafka has them. `open` says where the transaction of a producer began.
    pub(crate) fn to_snapshot(&self, open: impl Fn(i64) -> Option<i64>) -> Vec<ProducerEntry> {
        let entry = |(id, producer): (&i64, &Producer)| {
            let last = producer.batches.back();
            ProducerEntry {
                producer_id: *id,
                epoch: producer.epoch,
                last_sequence: producer.last_sequence(),
                last_offset: last.map_or(-1, |last| last.last_offset),
                offset_delta: last.map_or(0, |last| (last.last_offset - last.appended.base_offset) as i32),
                timestamp: producer.last_timestamp,
                coordinator_epoch: producer.coordinator_epoch,
                current_txn_first_offset: open(*id).unwrap_or(-1),
            }
        };
        let mut entries: Vec<_> = self.known.iter().map(entry).collect();
        entries.sort_by_key(|entry| entry.producer_id);
        entries
    }

    /// What a snapshot says. Of each producer it has the last batch only.
    pub(crate) fn from_snapshot(entries: &[ProducerEntry]) -> Self {
        let producer = |entry: &ProducerEntry| {
            let mut producer = Producer::new(entry.epoch);
            producer.coordinator_epoch = entry.coordinator_epoch;
            producer.last_timestamp = entry.timestamp;
            if entry.last_offset >= 0 {
                let base_offset = entry.last_offset - i64::from(entry.offset_delta);
                let first = match entry.last_sequence.checked_sub(entry.offset_delta) {
                    Some(first) if first >= 0 || entry.last_sequence < 0 => first.max(-1),
                    // Sequence numbers begin again at 0 after the greatest one.
                    _ => i32::MAX - (entry.offset_delta - entry.last_sequence) + 1,
                };
                producer.batches.push_back(Remembered {
                    first,
                    last: entry.last_sequence,
                    appended: Appended { base_offset, log_append_time_ms: -1 },
                    last_offset: entry.last_offset,
                    timestamp: entry.timestamp,
                });
            }
            (entry.producer_id, producer)
        };
        Self { known: entries.iter().map(producer).collect(), verifying: BTreeMap::new() }
    }

    /// All producers by id.
    pub(crate) fn all(&self) -> impl Iterator<Item = (i64, &Producer)> {
        self.known.iter().map(|(id, producer)| (*id, producer))
    }
}

/// After the greatest sequence number comes 0.
fn next(sequence: i32) -> i32 {
    sequence.checked_add(1).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(epoch: i16, first: i32, last: i32) -> Sequence {
        Sequence { producer_id: 7, epoch, first, last }
    }

    fn with(batches: &[Sequence]) -> Producers {
        let mut producers = Producers::default();
        for (index, batch) in batches.iter().enumerate() {
            assert_eq!(producers.check(*batch), Ok(None));
            let appended = Appended { base_offset: index as i64, log_append_time_ms: -1 };
            producers.appended(*batch, appended, index as i64, TIME);
        }
        producers
    }

    const TIME: i64 = 0;

    /// Of a batch that comes again Kafka says its greatest timestamp.
    fn at(base_offset: i64) -> Appended {
        Appended { base_offset, log_append_time_ms: TIME }
    }

    fn code(result: Result<Option<Appended>, Refusal>) -> ErrorCode {
        result.unwrap_err().code
    }

    #[test]
    fn a_batch_that_comes_twice_returns_its_first_offset() {
        let producers = with(&[batch(0, 0, 4), batch(0, 5, 5)]);
        assert_eq!(producers.check(batch(0, 0, 4)), Ok(Some(at(0))));
        assert_eq!(producers.check(batch(0, 5, 5)), Ok(Some(at(1))));
        assert_eq!(producers.check(batch(0, 6, 6)), Ok(None));
    }

    #[test]
    fn gaps_and_overlaps_are_out_of_order() {
        let producers = with(&[batch(0, 0, 4)]);
        assert_eq!(code(producers.check(batch(0, 6, 6))), ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
        assert_eq!(code(producers.check(batch(0, 4, 6))), ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
    }

    #[test]
    fn only_the_last_five_batches_count_as_duplicates() {
        let batches: Vec<_> = (0..6).map(|n| batch(0, n, n)).collect();
        let producers = with(&batches);
        assert_eq!(producers.check(batch(0, 1, 1)), Ok(Some(at(1))));
        assert_eq!(code(producers.check(batch(0, 0, 0))), ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
    }

    #[test]
    fn a_new_epoch_begins_at_0_and_an_old_one_is_refused() {
        let mut producers = with(&[batch(1, 0, 4)]);
        assert_eq!(code(producers.check(batch(0, 5, 5))), ErrorCode::INVALID_PRODUCER_EPOCH);
        assert_eq!(code(producers.check(batch(2, 5, 5))), ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
        assert_eq!(producers.check(batch(2, 0, 0)), Ok(None));
        producers.appended(batch(2, 0, 0), at(9), 9, 0);
        assert_eq!(code(producers.check(batch(1, 0, 4))), ErrorCode::INVALID_PRODUCER_EPOCH);
    }

    #[test]
    fn producers_that_were_silent_for_long_are_forgotten() {
        let mut producers = with(&[batch(0, 0, 4)]);
        producers.ended(8, 0, 3, 500);
        producers.expire(999, 1000, |_| false);
        assert_eq!(producers.all().count(), 2);
        producers.expire(1000, 1000, |id| id == 7);
        assert_eq!(producers.all().count(), 2);
        producers.expire(1000, 1000, |_| false);
        assert_eq!(producers.all().map(|(id, _)| id).collect::<Vec<_>>(), [8]);
    }

    /// As in Kafka 4.4, where the first attempt failed because its transaction was not open.
    #[test]
    fn a_transaction_begins_with_the_least_sequence_that_came() {
        let mut producers = Producers::default();
        producers.verifies(7, 0, 0);
        producers.verifies(7, 0, 2);
        assert_eq!(code(producers.check(batch(0, 2, 4))), ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
        assert_eq!(producers.check(batch(0, 0, 1)), Ok(None));
        producers.verifies(7, 1, 5);
        assert_eq!(producers.check(batch(1, 5, 5)), Ok(None));
        producers.verified(7);
        assert_eq!(producers.check(batch(0, 9, 9)), Ok(None));
        (0..5000).for_each(|id| producers.verifies(id, 0, 0));
        assert_eq!(producers.verifying.len(), MAX_VERIFYING);
    }

    #[test]
    fn numbers_wrap_and_unknown_producers_begin_anywhere() {
        let producers = with(&[batch(0, i32::MAX - 1, i32::MAX)]);
        assert_eq!(producers.check(batch(0, 0, 3)), Ok(None));
    }
}
