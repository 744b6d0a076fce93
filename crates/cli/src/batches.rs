//! Batches out of bytes that somebody found somewhere, each with a verdict: would a consumer take it?

use std::ops::Range;

use bytes::Bytes;
use milena_records::{Batch, Batches, Error, ErrorKind, Partial, ReadOptions};

/// One batch, or what stands in the place of one.
pub(crate) struct Entry {
    /// The how-manieth, from 0.
    pub(crate) index: usize,
    /// Its bytes, counted from the start of the input.
    pub(crate) range: Range<usize>,
    /// None when there is no header to be read.
    pub(crate) batch: Option<Batch>,
    /// Why a consumer that checks checksums refuses it.
    pub(crate) refused: Option<Error>,
}

/// What a walk reads, and what it makes of what it finds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manner {
    /// Goes on behind what strict reading refuses.
    pub(crate) goes_on: bool,
    /// Looks for the next batch behind one whose size makes no sense.
    pub(crate) searches: bool,
    /// Reads as much of what strict reading refuses as can be made out.
    pub(crate) tolerant: bool,
    /// Zeros up to the end are room that a broker has set aside, as in the file of a segment.
    pub(crate) segment: bool,
}

/// Walks from batch to batch, and ends behind the first that strict reading refuses unless it is to go on.
pub(crate) struct Walk {
    bytes: Bytes,
    manner: Manner,
    strict: Batches,
    tolerant: Batches,
    done: bool,
    zeros: usize,
    /// Entries given so far.
    walked: usize,
}

impl Walk {
    pub(crate) fn new(bytes: Bytes, manner: Manner) -> Self {
        Self {
            strict: Batches::new(bytes.clone()),
            tolerant: Batches::with_options(bytes.clone(), ReadOptions::tolerant()),
            bytes,
            manner,
            done: false,
            zeros: 0,
            walked: 0,
        }
    }

    /// The batch that is cut off at the end. Batches that were not walked over are skipped for that.
    pub(crate) fn partial(&mut self) -> Option<Partial> {
        self.strict.by_ref().for_each(drop);
        self.strict.partial()
    }

    /// Zeros at the end of a segment, once the walk has come there.
    pub(crate) fn zeros(&self) -> usize {
        self.zeros
    }

    /// An entry that seems to be cut off may have a damaged size, and then others stand behind its beginning.
    fn behind_the_end(&mut self, start: usize) -> Option<Entry> {
        let next = self.strict.partial().filter(|_| self.manner.searches).and(find_batch(&self.bytes, start + 1))?;
        let cut = Batch::parse(self.bytes.slice(start..next), ReadOptions::default()).err()?;
        let index = self.walked;
        self.walked += 1;
        self.strict.skip_to(next);
        self.tolerant.skip_to(next);
        Some(Entry { index, range: start..next, batch: None, refused: Some(cut) })
    }

    /// Nothing but zeros is what a broker sets aside, and no batch.
    fn is_set_aside(&self, error: &Error, start: usize) -> bool {
        let rest = self.bytes.get(start..).unwrap_or_default();
        self.manner.segment && error.kind() == ErrorKind::Framing && rest.iter().all(|byte| *byte == 0)
    }
}

impl Iterator for Walk {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if self.done {
            return None;
        }
        let start = self.strict.position();
        // Both stop at the same bytes: the manner of reading makes a difference to the records alone.
        let (strict, tolerant) = (self.strict.next(), self.tolerant.next());
        let Some(strict) = strict else { return self.behind_the_end(start) };
        let entry = match strict {
            Ok(batch) => {
                let place = batch.place();
                let refused = batch.records().find_map(Result::err);
                let batch = match (&refused, tolerant) {
                    (Some(_), Some(Ok(tolerant))) if self.manner.tolerant => tolerant,
                    _ => batch,
                };
                Entry { index: place.index, range: place.range, batch: Some(batch), refused }
            }
            Err(error) if self.is_set_aside(&error, start) => {
                self.done = true;
                self.zeros = self.bytes.len() - start;
                return None;
            }
            Err(error) => {
                let (index, mut range) = match error.batch() {
                    Some(place) => (place.index, place.range.clone()),
                    None => (0, start..self.bytes.len()),
                };
                // Where the size makes no sense, only a checksum tells where the next one begins.
                if self.manner.searches && error.kind() == ErrorKind::Framing {
                    if let Some(next) = find_batch(&self.bytes, start + 1) {
                        self.strict.skip_to(next);
                        self.tolerant.skip_to(next);
                        range.end = next;
                    }
                }
                Entry { index, range, batch: None, refused: Some(error) }
            }
        };
        self.walked = entry.index + 1;
        self.done = entry.refused.is_some() && !self.manner.goes_on;
        Some(entry)
    }
}

/// Bytes that checksums are taken of, in all, for each byte there is: a hostile input may look like many large batches.
const SEARCH_EFFORT: usize = 16;

/// Where the next batch of magic 2 begins whose checksum is right.
fn find_batch(bytes: &Bytes, from: usize) -> Option<usize> {
    const SIZE: usize = 8;
    const MAGIC: usize = 16;
    let mut effort = bytes.len().saturating_mul(SEARCH_EFFORT);
    for start in from..bytes.len().saturating_sub(MAGIC) {
        if bytes.get(start + MAGIC) != Some(&2) {
            continue;
        }
        let size = bytes.get(start + SIZE..).and_then(|rest| rest.first_chunk()).map(|size| i32::from_be_bytes(*size));
        let end = size.and_then(|size| usize::try_from(size).ok()).map(|size| start + SIZE + 4 + size);
        let Some(end) = end.filter(|end| *end <= bytes.len()) else { continue };
        effort = effort.checked_sub(end - start)?;
        let batch = Batch::parse(bytes.slice(start..end), ReadOptions::default());
        if batch.is_ok_and(|batch| batch.check_crc().is_ok()) {
            return Some(start);
        }
    }
    None
}
