//! Reading for share groups: what a member can get of the partitions of its session.

use std::sync::Arc;

use bytes::Bytes;
use milena_messages::ErrorCode;

use crate::cluster::State;
use crate::cost::Cost;
use crate::share::delivery::{Acquire, AcquiredRange};
use crate::share::leader::LedPartition;
use crate::share::session::Place;
use crate::share::settings::ShareSettings;
use crate::storage::log::{LogBatch, OutOfRange};

/// What a member wants to read.
#[derive(Clone, Debug)]
pub(crate) struct ShareFetch {
    pub(crate) node: i32,
    pub(crate) group: String,
    pub(crate) member: Arc<str>,
    /// In the order in which they are read.
    pub(crate) places: Vec<Place>,
    pub(crate) strict: bool,
    pub(crate) batch_size: i32,
    pub(crate) max_records: i32,
    pub(crate) max_bytes: usize,
    pub(crate) min_bytes: usize,
}

/// What a member gets of a partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fetched {
    pub(crate) error_code: ErrorCode,
    pub(crate) records: Bytes,
    pub(crate) acquired: Vec<AcquiredRange>,
}

impl Fetched {
    fn refused(error_code: ErrorCode) -> Self {
        Self { error_code, ..Self::default() }
    }
}

/// A partition of which there may be something to get.
struct Ready {
    number: usize,
    led: Arc<LedPartition>,
    /// What there is to read, at most as much as a partition may have of the response.
    bytes: usize,
}

/// Tries to get something; `None` when there is too little, and `force` is not set. The budget has to be looked at before
/// anything else: when it is exceeded, nothing was acquired and the result means nothing.
pub(crate) fn attempt(
    state: &Arc<State>,
    fetch: &ShareFetch,
    force: bool,
    cost: &mut Cost,
) -> Option<Vec<(Place, Fetched)>> {
    if fetch.places.is_empty() || fetch.max_records == 0 || fetch.max_bytes == 0 {
        return Some(Vec::new());
    }
    let settings = state.share_settings(&fetch.group);
    let mut results: Vec<Option<Fetched>> = vec![None; fetch.places.len()];
    let mut ready: Vec<Ready> = Vec::new();
    let mut failed = false;
    for (number, place) in fetch.places.iter().enumerate() {
        let led = match state.share_partition(fetch.node, &fetch.group, *place, &settings) {
            Ok(led) => led,
            Err(refusal) => {
                results[number] = Some(Fetched::refused(refusal.code));
                continue;
            }
        };
        let next = led.with(|share| share.can_acquire(&settings).then(|| share.next_offset()));
        let Some(offset) = next else { continue };
        match available(&led, offset, &settings) {
            Ok(bytes) => ready.push(Ready { number, led, bytes }),
            Err(_) => {
                failed = true;
                ready.push(Ready { number, led, bytes: 0 });
            }
        }
    }
    let all_refused = results.iter().all(Option::is_some);
    let each = fetch.max_bytes / ready.len().max(1);
    ready.iter_mut().for_each(|one| one.bytes = one.bytes.min(each));
    let total: usize = ready.iter().map(|one| one.bytes).sum();
    let is_enough = failed || !ready.is_empty() && total >= fetch.min_bytes;
    if !is_enough && !all_refused && !force {
        return None;
    }
    if !cost.copy(total) {
        return None;
    }
    let mut room = Room { records: fetch.max_records, bytes: fetch.max_bytes, each, whole_first: true };
    for one in &ready {
        results[one.number] = Some(acquire(state, fetch, &one.led, &settings, &mut room));
    }
    Some(fetch.places.iter().copied().zip(results).filter_map(|(place, result)| Some((place, result?))).collect())
}

/// Bytes from this offset to where the group may read.
fn available(led: &LedPartition, offset: i64, settings: &ShareSettings) -> Result<usize, ErrorCode> {
    let bytes = led.partition.with(|partition| {
        let bytes = partition.log.bytes_from(offset)?;
        // What an open transaction wrote is nothing yet for readers of committed records.
        let end = partition.last_stable_offset();
        let hidden = if settings.committed { partition.log.bytes_from(end).unwrap_or(0) } else { 0 };
        Ok(bytes.saturating_sub(hidden))
    });
    let bytes: u64 = bytes.map_err(|_: OutOfRange| ErrorCode::OFFSET_OUT_OF_RANGE)?;
    Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// What of a response is still free.
struct Room {
    records: i32,
    bytes: usize,
    /// For each partition.
    each: usize,
    /// The first batch comes even when it is too large.
    whole_first: bool,
}

fn acquire(
    state: &Arc<State>,
    fetch: &ShareFetch,
    led: &Arc<LedPartition>,
    settings: &ShareSettings,
    room: &mut Room,
) -> Fetched {
    let now_ms = state.now_ms();
    let fetched = led.with(|share| {
        if !share.can_acquire(settings) {
            return Fetched::default();
        }
        let offset = share.next_offset();
        let limit = room.bytes.min(room.each);
        let read = led.partition.with(|partition| {
            let until = if settings.committed { partition.last_stable_offset() } else { i64::MAX };
            let run = partition.log.read(offset, until, limit, room.whole_first)?;
            let end = run.end_offset.unwrap_or(offset);
            let aborted =
                if settings.committed { partition.transactions.aborted_between(offset, end) } else { Vec::new() };
            Ok((run, aborted))
        });
        let Ok((run, aborted)): Result<_, OutOfRange> = read else {
            // Records were deleted before the group came to them.
            share.log_starts_at(led.partition.with_log(|log| log.start_offset()));
            return Fetched::default();
        };
        let batches: Vec<LogBatch> = run.batches().collect();
        let wanted = Acquire {
            member: &fetch.member,
            strict: fetch.strict,
            batch_size: fetch.batch_size,
            max_records: room.records,
            offset,
            batches: &batches,
            aborted: &aborted,
            settings,
            now_ms,
        };
        let acquired = share.acquire(&wanted);
        Fetched { records: overlapping(run.bytes(), &batches, &acquired), acquired, ..Fetched::default() }
    });
    room.bytes = room.bytes.saturating_sub(fetched.records.len());
    room.whole_first &= fetched.records.is_empty();
    let count: i64 = fetched.acquired.iter().map(|range| range.last - range.first + 1).sum();
    room.records = room.records.saturating_sub(i32::try_from(count).unwrap_or(i32::MAX));
    if !fetched.acquired.is_empty() {
        state.share_arm(led);
    }
    fetched
}

/// The bytes of the batches with records that were acquired, and of those between.
fn overlapping(bytes: Bytes, batches: &[LogBatch], acquired: &[AcquiredRange]) -> Bytes {
    let (Some(first), Some(last)) = (acquired.first(), acquired.last()) else { return Bytes::new() };
    let size = |batches: &[LogBatch]| batches.iter().map(|batch| batch.bytes.len()).sum::<usize>();
    let from = batches.partition_point(|batch| batch.last_offset < first.first);
    let to = batches.partition_point(|batch| batch.base_offset <= last.last).max(from);
    let begin = size(&batches[..from]);
    bytes.slice(begin..begin + size(&batches[from..to]))
}
