//! The files of a segment, as Kafka lays them out.

use std::path::{Path, PathBuf};

use milena_messages::AbortedTxn;
use milena_storage::{IndexEntry, OffsetEntry, OutOfSegment, TimeEntry};

use crate::storage::segment::Segment;
use crate::storage::transactions::Aborted;

/// Kafka's default of `index.interval.bytes`.
const INDEX_INTERVAL: u64 = 4096;
/// The endings of the files of a segment.
pub(super) const ENDINGS: [&str; 4] = ["log", "index", "timeindex", "txnindex"];

/// The path of a file of a segment; the state is empty, or an ending such as `.cleaned`.
pub(super) fn path(folder: &Path, segment: i64, ending: &str, state: &str) -> PathBuf {
    folder.join(format!("{segment:020}.{ending}{state}"))
}

/// The indexes of a segment: by offset, by time, and of aborted transactions.
pub(super) fn indexes(segment: &Segment, aborted: &[Aborted]) -> Result<[Vec<u8>; 3], OutOfSegment> {
    let base = segment.base_offset();
    let [mut offsets, mut times, mut transactions] = [Vec::new(), Vec::new(), Vec::new()];
    let (mut since, mut greatest, mut last_time) = (0, (-1, base), -1);
    for (position, header) in segment.headers_from(0) {
        if header.max_timestamp() > greatest.0 {
            greatest = (header.max_timestamp(), header.last_offset());
        }
        if since > INDEX_INTERVAL {
            let position =
                u32::try_from(position).map_err(|_| OutOfSegment { number: position as i64, base_offset: base })?;
            IndexEntry::Offset(OffsetEntry { offset: header.last_offset(), position }).push(base, &mut offsets)?;
            if greatest.0 > last_time {
                IndexEntry::Time(TimeEntry { timestamp: greatest.0, offset: greatest.1 }).push(base, &mut times)?;
                last_time = greatest.0;
            }
            since = 0;
        }
        since += header.size() as u64;
    }
    // The last entry says what the whole segment has.
    if greatest.0 > last_time {
        IndexEntry::Time(TimeEntry { timestamp: greatest.0, offset: greatest.1 }).push(base, &mut times)?;
    }
    for one in aborted.iter().filter(|one| (base..segment.end_offset()).contains(&one.last_offset)) {
        let entry = AbortedTxn {
            producer_id: one.producer_id,
            first_offset: one.first_offset,
            last_offset: one.last_offset,
            last_stable_offset: one.last_stable_offset,
        };
        IndexEntry::Aborted(entry).push(base, &mut transactions)?;
    }
    Ok([offsets, times, transactions])
}
