use std::collections::{HashSet, VecDeque};

use milena_records::{Batch, Control};

/// Which producers' records belong to aborted transactions.
#[derive(Debug, Default)]
pub(super) struct Aborted {
    /// Producer id and first offset, in the order of the offsets.
    coming: VecDeque<(i64, i64)>,
    open: HashSet<i64>,
}

impl Aborted {
    /// From pairs of producer id and first offset.
    pub(super) fn new(mut list: Vec<(i64, i64)>) -> Self {
        list.sort_by_key(|(_, first_offset)| *first_offset);
        Self { coming: list.into(), open: HashSet::new() }
    }

    /// Whether the records of the batch belong to an aborted transaction.
    pub(super) fn contains(&mut self, batch: &Batch) -> bool {
        self.enter(batch.last_offset());
        batch.is_transactional() && self.open.contains(&batch.producer_id())
    }

    fn enter(&mut self, up_to: i64) {
        while let Some((producer_id, _)) = self.coming.front().filter(|(_, first_offset)| *first_offset <= up_to) {
            self.open.insert(*producer_id);
            self.coming.pop_front();
        }
    }

    /// The marker of an abort ends the transaction of its producer.
    pub(super) fn leave(&mut self, batch: &Batch) {
        if !batch.is_control() {
            return;
        }
        self.enter(batch.last_offset());
        let aborts = |record| matches!(Control::parse(&record), Ok(Control::Abort { .. }));
        if batch.records().next().is_some_and(|record| record.is_ok_and(aborts)) {
            self.open.remove(&batch.producer_id());
        }
    }
}
