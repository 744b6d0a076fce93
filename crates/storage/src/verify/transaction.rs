use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io;

use milena_messages::AbortedTxn;
use milena_records::{Batch, Control};

use super::entries::Entries;
use crate::fault::Fault;

/// Transactions that are remembered at a time. When there are more, all are forgotten.
const MAX_OPEN: usize = 100_000;

/// The transactions of a partition, as its segments are read one after the other.
#[derive(Default)]
pub(super) struct Transactions {
    /// The first offset of each open transaction, by producer.
    open: HashMap<i64, i64>,
    /// The producers of the same, by offset.
    order: BTreeMap<i64, i64>,
    /// What began before this offset is not known.
    known_from: Option<i64>,
}

impl Transactions {
    /// Something is not readable: a transaction may have begun or ended there.
    pub(super) fn forget(&mut self) {
        self.open.clear();
        self.order.clear();
        self.known_from = None;
    }

    /// A batch that is right. Each abort in it has to be the next entry of the `.txnindex` of its segment, and each entry
    /// there has to be an abort in the log. What is wrong with the index is pushed to its faults; the return value is an
    /// abort that should have an entry and has none. Compaction removes records of aborted transactions, so that nobody
    /// knows where they began.
    pub(super) fn batch(
        &mut self,
        batch: &Batch,
        entries: Option<&mut Entries>,
        is_compacted: bool,
    ) -> io::Result<Option<Fault>> {
        let known_from = *self.known_from.get_or_insert(batch.base_offset());
        if !batch.is_transactional() {
            return Ok(None);
        }
        let id = batch.producer_id();
        if !batch.is_control() {
            if self.open.len() == MAX_OPEN {
                self.forget();
                self.known_from = Some(batch.base_offset());
            }
            if let Entry::Vacant(slot) = self.open.entry(id) {
                slot.insert(batch.base_offset());
                self.order.insert(batch.base_offset(), id);
            }
            return Ok(None);
        }
        // A control batch that ends a transaction has one record.
        let Some(Ok(record)) = batch.records().next() else { return Ok(None) };
        let began = self.open.remove(&id);
        if let Some(began) = began {
            self.order.remove(&began);
        }
        let Ok(Control::Abort { .. }) = Control::parse(&record) else { return Ok(None) };
        if let Some(entries) = entries {
            skip(entries, record.offset)?;
            if let Some((range, aborted)) = entries.aborted().filter(|(_, entry)| entry.last_offset == record.offset) {
                let stable = self.order.keys().next().copied().unwrap_or(record.offset + 1);
                if let Some(message) = wrong(aborted, id, began, stable, known_from, is_compacted) {
                    entries.faults.push(Fault::mismatch(range, message));
                }
                entries.advance()?;
                return Ok(None);
            }
        }
        // Kafka writes no entry for a transaction without records.
        let message = format!("producer {id} aborted at offset {}, and no .txnindex has it", record.offset);
        let range = batch.place().range;
        Ok(began.map(|_| Fault::mismatch(range.start as u64..range.end as u64, message)))
    }
}

/// Entries whose abort should have come.
pub(super) fn skip(entries: &mut Entries, up_to: i64) -> io::Result<()> {
    while let Some((range, aborted)) = entries.aborted().filter(|(_, entry)| entry.last_offset < up_to) {
        let message = format!("producer {} did not abort at offset {}", aborted.producer_id, aborted.last_offset);
        entries.faults.push(Fault::mismatch(range, message));
        entries.advance()?;
    }
    Ok(())
}

/// What is wrong with an entry whose abort is there.
fn wrong(
    aborted: &AbortedTxn,
    id: i64,
    began: Option<i64>,
    stable: i64,
    known_from: i64,
    is_compacted: bool,
) -> Option<String> {
    let AbortedTxn { producer_id, first_offset, last_offset, last_stable_offset, .. } = *aborted;
    let what = format!("offsets {first_offset} to {last_offset} of producer {producer_id}");
    if producer_id != id {
        return Some(format!("{what}: it is producer {id} that aborted there"));
    }
    if first_offset > last_offset || last_stable_offset > last_offset.saturating_add(1) {
        return Some(format!("{what}, with a last stable offset of {last_stable_offset}: that is impossible"));
    }
    let is_known = first_offset >= known_from && !is_compacted;
    match began {
        Some(began) if began < first_offset || is_known && began > first_offset => {
            return Some(format!("{what}: the transaction begins at {began}"));
        }
        None if is_known => return Some(format!("{what}: the transaction has no records from {first_offset} on")),
        _ => {}
    }
    // The first offset of another transaction that was open, or what follows the abort.
    let is_known = last_stable_offset >= known_from && !is_compacted;
    (is_known && last_stable_offset != stable)
        .then(|| format!("{what}: the last stable offset after it is {stable}, not {last_stable_offset}"))
}
