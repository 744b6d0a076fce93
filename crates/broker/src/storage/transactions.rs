//! The transactions of one partition: which are open, and which were aborted.

use std::collections::{BTreeSet, HashMap};

/// A transaction that was aborted, as Fetch lists it: a reader of committed records leaves out what this producer wrote
/// between these offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Aborted {
    pub(crate) producer_id: i64,
    pub(crate) first_offset: i64,
    /// Of the marker.
    pub(crate) last_offset: i64,
    /// Where the next open transaction began when the marker came, or the offset after the marker.
    pub(crate) last_stable_offset: i64,
}

#[derive(Debug, Default)]
pub(crate) struct Transactions {
    /// The first offset of each open transaction by its producer.
    open: HashMap<i64, i64>,
    /// The same offsets in order.
    first_offsets: BTreeSet<i64>,
    /// In the order of their markers.
    aborted: Vec<Aborted>,
}

impl Transactions {
    /// A transactional batch was appended.
    pub(crate) fn wrote(&mut self, producer_id: i64, base_offset: i64) {
        if let std::collections::hash_map::Entry::Vacant(place) = self.open.entry(producer_id) {
            place.insert(base_offset);
            self.first_offsets.insert(base_offset);
        }
    }

    /// A marker was appended.
    pub(crate) fn ended(&mut self, producer_id: i64, marker_offset: i64, committed: bool) {
        let Some(first_offset) = self.open.remove(&producer_id) else { return };
        self.first_offsets.remove(&first_offset);
        if !committed {
            let last_stable_offset = self.first_open().unwrap_or(marker_offset + 1);
            self.aborted.push(Aborted { producer_id, first_offset, last_offset: marker_offset, last_stable_offset });
        }
    }

    /// Whether the producer has an open transaction here, and where it began.
    pub(crate) fn open_since(&self, producer_id: i64) -> Option<i64> {
        self.open.get(&producer_id).copied()
    }

    /// Where the oldest open transaction begins.
    pub(crate) fn first_open(&self) -> Option<i64> {
        self.first_offsets.first().copied()
    }

    /// The aborted transactions with records in `from..to`.
    pub(crate) fn aborted_between(&self, from: i64, to: i64) -> Vec<Aborted> {
        self.aborted.iter().filter(|one| one.last_offset >= from && one.first_offset < to).copied().collect()
    }

    /// All aborted transactions, in the order of their markers.
    pub(crate) fn aborted(&self) -> &[Aborted] {
        &self.aborted
    }

    /// Compaction left something of these only, of all that ended before the offset.
    pub(crate) fn compacted_before(&mut self, offset: i64, left: &[Aborted]) {
        self.aborted.retain(|one| one.last_offset >= offset || left.contains(one));
    }

    /// Records before the offset are gone.
    pub(crate) fn deleted_before(&mut self, offset: i64) {
        self.aborted.retain(|one| one.last_offset >= offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_open_transaction_holds_back_readers_of_committed_records() {
        let mut transactions = Transactions::default();
        transactions.wrote(1, 10);
        transactions.wrote(2, 12);
        transactions.wrote(1, 14);
        assert_eq!((transactions.first_open(), transactions.open_since(2)), (Some(10), Some(12)));
        transactions.ended(1, 16, false);
        assert_eq!(transactions.first_open(), Some(12));
        transactions.ended(2, 17, true);
        assert_eq!(transactions.first_open(), None);
        let aborted = Aborted { producer_id: 1, first_offset: 10, last_offset: 16, last_stable_offset: 12 };
        assert_eq!(transactions.aborted_between(0, 11), [aborted]);
        assert_eq!(transactions.aborted_between(16, 20), [aborted]);
        assert_eq!(transactions.aborted_between(17, 20), []);
        assert_eq!(transactions.aborted_between(0, 10), []);
    }
}
