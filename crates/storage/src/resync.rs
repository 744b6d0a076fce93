use std::io::{self, Read};
use std::ops::Range;

use bytes::Bytes;
use milena_records::{Batch, ReadOptions};

use crate::head::{HEAD, MAGIC, is_in_place, is_near, plausible};
use crate::window::Window;

/// Bytes that may be compared with a checksum while searching, besides four for each byte that is skipped. It bounds the
/// time that made-up headers can cost.
const CREDIT: u64 = 64 << 20;
/// Bytes that are skipped before they are freed.
const FREED: usize = 64 << 10;

/// Finds the next batch after bytes that are not one.
#[derive(Debug)]
pub(crate) struct Resync {
    max_batch: usize,
    credit: u64,
}

/// Where a batch ends whose checksum is wrong.
pub(crate) enum Extent {
    /// Where its size says. The first offset of the next batch, if a valid one follows.
    Claimed(Option<i64>),
    /// Before that: another batch begins so many bytes after its start, with this first offset if it is known.
    Before(usize, Option<i64>),
    /// Nobody knows.
    Unknown,
}

/// What follows the claimed end of a batch.
enum Next {
    /// The end, zeros, or a batch with a valid checksum and this first offset.
    Sure(Option<i64>),
    /// A header that may well be one.
    Likely,
    Nothing,
}

/// Bytes that were skipped, and what follows.
pub(crate) struct Skipped {
    pub(crate) range: Range<u64>,
    /// Nothing but zeros.
    pub(crate) are_zeros: bool,
    /// A batch follows, with this first offset if it is known; otherwise the end.
    pub(crate) found: Option<Option<i64>>,
}

impl Resync {
    pub(crate) fn new(max_batch: usize) -> Self {
        Self { max_batch, credit: CREDIT }
    }

    /// Skips bytes up to the next batch with a valid checksum, or the end. The first byte belongs to no batch.
    pub(crate) fn search<R: Read>(&mut self, window: &mut Window<R>) -> io::Result<Skipped> {
        let start = window.position();
        let (mut at, mut are_zeros) = (0, true);
        let found = loop {
            window.fill(at + HEAD)?;
            let Some(byte) = window.held().get(at) else { break None };
            are_zeros &= *byte == 0;
            at += 1;
            self.earn();
            if let Some(batch) = self.batch(window, at)? {
                break Some(self.offset(window, at, &batch)?);
            }
            if at >= FREED {
                window.skip(at);
                at = 0;
            }
        };
        window.skip(at);
        Ok(Skipped { range: start..window.position(), are_zeros, found })
    }

    /// Where the batch at the front of the window ends, which claims `total` bytes and is not valid.
    ///
    /// Its size may be what is wrong, and then other batches stand inside of the bytes that it claims. Bytes that look like
    /// a batch may also be a part of a record: if the claimed end is certain, a batch inside counts only if
    /// batches follow on it up to there.
    pub(crate) fn extent<R: Read>(
        &mut self,
        window: &mut Window<R>,
        total: usize,
        next_offset: Option<i64>,
    ) -> io::Result<Extent> {
        let next = self.after(window, total, next_offset)?;
        if matches!(next, Next::Nothing) {
            return Ok(Extent::Unknown);
        }
        let mut at = 1;
        while at < total {
            self.earn();
            let Some(batch) = self.batch(window, at)? else {
                at += 1;
                continue;
            };
            if matches!(next, Next::Likely) {
                return Ok(Extent::Before(at, self.offset(window, at, &batch)?));
            }
            let found = self.offset(window, at, &batch)?;
            let mut end = at + batch.size_in_bytes();
            while end < total {
                let Some(batch) = self.batch(window, end)? else { break };
                end += batch.size_in_bytes();
            }
            if end >= total {
                return Ok(Extent::Before(at, found));
            }
            at = end;
        }
        Ok(Extent::Claimed(match next {
            Next::Sure(offset) => offset,
            _ => None,
        }))
    }

    fn after<R: Read>(&mut self, window: &mut Window<R>, at: usize, next_offset: Option<i64>) -> io::Result<Next> {
        window.fill(at + HEAD)?;
        let rest = window.held().get(at..).unwrap_or_default();
        let head = rest.get(..HEAD).unwrap_or(rest);
        if head.iter().all(|byte| *byte == 0) {
            return Ok(Next::Sure(None));
        }
        let is_likely = is_in_place(head, self.max_batch, next_offset);
        if let Some(batch) = self.batch(window, at)? {
            return Ok(Next::Sure(self.offset(window, at, &batch)?));
        }
        Ok(if is_likely { Next::Likely } else { Next::Nothing })
    }

    /// The batch with a valid checksum that begins there.
    fn batch<R: Read>(&mut self, window: &mut Window<R>, at: usize) -> io::Result<Option<Batch>> {
        let Some(head) = window.held().get(at..) else { return Ok(None) };
        if head.get(MAGIC).is_none_or(|magic| *magic > 2) && head.len() > MAGIC {
            return Ok(None);
        }
        let held = window.fill(at + HEAD)?;
        let head = &window.held()[at..held.min(at + HEAD)];
        let Some(total) = plausible(head, self.max_batch) else { return Ok(None) };
        if window.fill(at + total)? < at + total || plausible(&window.held()[at..], self.max_batch).is_none() {
            return Ok(None);
        }
        if !self.pay(total) {
            return Ok(None);
        }
        let bytes = Bytes::copy_from_slice(&window.held()[at..at + total]);
        Ok(Batch::parse(bytes, ReadOptions::default()).ok().filter(|batch| batch.check_crc().is_ok()))
    }

    /// The first offset of a valid batch. No checksum covers it, so the batch after it must not have a smaller one.
    fn offset<R: Read>(&mut self, window: &mut Window<R>, at: usize, batch: &Batch) -> io::Result<Option<i64>> {
        let next = self.batch(window, at + batch.size_in_bytes())?;
        let limit = next.as_ref().and_then(first_offset).unwrap_or(i64::MAX);
        Ok(first_offset(batch).filter(|_| batch.last_offset() < limit))
    }

    fn earn(&mut self) {
        self.credit = self.credit.saturating_add(4);
    }

    /// Whether there is credit left for so many bytes.
    fn pay(&mut self, bytes: usize) -> bool {
        let left = self.credit.checked_sub(bytes as u64);
        self.credit = left.unwrap_or(self.credit);
        left.is_some()
    }
}

/// The offset of the first record. The header of a compressed message set says the last one instead.
fn first_offset(batch: &Batch) -> Option<i64> {
    match batch.count().is_none() && batch.is_compressed() {
        true => batch.records().next()?.ok().map(|record| record.offset),
        false => Some(batch.base_offset()),
    }
}

/// The offsets between two valid batches, if there can be so many.
pub(crate) fn lost(from: Option<i64>, to: Option<i64>) -> Option<Range<i64>> {
    match (from, to) {
        (Some(from), Some(to)) if from < to && from >= 0 && is_near(from, to) => Some(from..to),
        _ => None,
    }
}
