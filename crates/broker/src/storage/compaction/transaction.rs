//! What compaction notes of transactions while it goes through a log.

use std::collections::{BTreeMap, HashMap, HashSet};

use milena_records::Control;

use crate::storage::log::{BatchKind, LogBatch};
use crate::storage::transactions::Aborted;

/// Transactions that are open at the place that compaction has come to.
#[derive(Debug, Default)]
pub(super) struct CleanedTransactions {
    /// Those that begin later, by first offset and producer.
    expected: BTreeMap<(i64, i64), Aborted>,
    /// Whether there were records of it.
    aborted: HashMap<i64, (Aborted, bool)>,
    committed: HashSet<i64>,
    left: Vec<Aborted>,
}

impl CleanedTransactions {
    /// These transactions were aborted.
    pub(super) fn expect(&mut self, aborted: impl Iterator<Item = Aborted>) {
        self.expected.extend(aborted.map(|one| ((one.first_offset, one.producer_id), one)));
    }

    fn come_to(&mut self, offset: i64) {
        while let Some(first) = self.expected.first_entry().filter(|first| first.key().0 <= offset) {
            let one = first.remove();
            self.aborted.entry(one.producer_id).or_insert((one, false));
        }
    }

    /// A marker comes next. True when no records of its transaction are left, so that it can go.
    pub(super) fn marker(&mut self, batch: &LogBatch, control: Option<Control<'_>>) -> bool {
        self.come_to(batch.last_offset);
        let Some(sequence) = batch.sequence else { return false };
        match control {
            Some(Control::Abort { .. }) => match self.aborted.remove(&sequence.producer_id) {
                Some((one, true)) => {
                    self.left.push(one);
                    false
                }
                _ => true,
            },
            Some(Control::Commit { .. }) => !self.committed.remove(&sequence.producer_id),
            Some(_) => false,
            // Its record went before.
            None => true,
        }
    }

    /// A batch with records comes next. True when it was aborted.
    pub(super) fn data(&mut self, batch: &LogBatch) -> bool {
        self.come_to(batch.last_offset);
        let Some(sequence) = batch.sequence.filter(|_| batch.kind == BatchKind::Transactional) else { return false };
        match self.aborted.get_mut(&sequence.producer_id) {
            Some((_, has_records)) => {
                *has_records = true;
                true
            }
            None => {
                self.committed.insert(sequence.producer_id);
                false
            }
        }
    }

    /// The aborted transactions whose marker stays because there were records of them.
    pub(super) fn left(self) -> Vec<Aborted> {
        self.left
    }
}
