use std::collections::HashMap;
use std::fs;
use std::ops::Range;

use milena_messages::AbortedTxn;
use milena_records::Control;

use super::index::Entries;
use crate::fault::Fault;
use crate::folder::File;
use crate::index::{IndexEntry, IndexKind};
use crate::item::Verified;
use crate::log::{Content, LogReader};
use crate::walk::{Step, Walk};

/// Transactions that are kept in mind at a time; of more, none is missed in the index.
const MAX_OPEN: usize = 100_000;

/// Each abort in a log has to stand in its `.txnindex`, and each entry there has to be an abort in the log.
///
/// A transaction may begin in a segment before; where its records were, before compaction, is not known either.
pub(super) fn verify(walk: &mut Walk, log: &File, file: Option<&File>) -> Step<Verified> {
    let mut entries = match file {
        Some(file) => Some(Entries::open(walk, file, IndexKind::Txn)?),
        None => None,
    };
    let mut open: HashMap<i64, i64> = HashMap::new();
    for part in LogReader::with_options(fs::File::open(&log.path)?, walk.options.log) {
        let part = part?;
        let Content::Batch { batch, .. } = part.content else { continue };
        if !batch.is_transactional() {
            continue;
        }
        let id = batch.producer_id();
        if !batch.is_control() {
            if open.len() < MAX_OPEN {
                open.entry(id).or_insert(batch.base_offset());
            }
            continue;
        }
        for record in batch.records().map_while(Result::ok) {
            let began = open.remove(&id);
            let Ok(Control::Abort { .. }) = Control::parse(&record) else { continue };
            if let Some(entries) = &mut entries {
                skip(walk, entries, record.offset)?;
                if let Some((range, aborted)) = current(entries, record.offset) {
                    compare(walk, range, &aborted, id, began)?;
                    entries.advance(walk)?;
                    continue;
                }
            }
            if began.is_some() {
                let message = format!("producer {id} aborted at offset {}, which no .txnindex tells", record.offset);
                walk.fault(&Fault::mismatch(part.range.clone(), message))?;
            }
        }
    }
    let Some(mut entries) = entries else { return Ok(Verified::default()) };
    skip(walk, &mut entries, i64::MAX)?;
    Ok(Verified { entries: entries.read, ..Verified::default() })
}

/// Passes over entries whose abort ought to have come.
fn skip(walk: &mut Walk, entries: &mut Entries, up_to: i64) -> Step {
    while let Some((range, IndexEntry::Aborted(aborted))) = entries.peek() {
        if aborted.last_offset >= up_to {
            break;
        }
        let message = format!("producer {} did not abort at offset {}", aborted.producer_id, aborted.last_offset);
        let fault = Fault::mismatch(range.clone(), message);
        walk.fault(&fault)?;
        entries.advance(walk)?;
    }
    Ok(())
}

fn current(entries: &Entries, offset: i64) -> Option<(Range<u64>, AbortedTxn)> {
    match entries.peek() {
        Some((range, IndexEntry::Aborted(aborted))) if aborted.last_offset == offset => {
            Some((range.clone(), aborted.clone()))
        }
        _ => None,
    }
}

fn compare(walk: &mut Walk, range: Range<u64>, aborted: &AbortedTxn, id: i64, began: Option<i64>) -> Step {
    let AbortedTxn { producer_id, first_offset, last_offset, last_stable_offset, .. } = *aborted;
    let what = format!("offsets {first_offset} to {last_offset} of producer {producer_id}");
    let message = if producer_id != id {
        format!("{what}: it is producer {id} who aborted there")
    } else if let Some(began) = began.filter(|began| *began < first_offset) {
        format!("{what}: the transaction begins at {began}")
    } else if first_offset > last_offset || last_stable_offset > last_offset.saturating_add(1) {
        format!("{what}, with a last stable offset of {last_stable_offset}: that cannot be")
    } else {
        return Ok(());
    };
    walk.fault(&Fault::mismatch(range, message))
}
