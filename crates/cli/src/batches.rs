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
        let (strict, tolerant) = (self.strict.next()?, self.tolerant.next());
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
                let (index, range) = match error.batch() {
                    Some(place) => (place.index, place.range.clone()),
                    None => (0, start..self.bytes.len()),
                };
                Entry { index, range, batch: None, refused: Some(error) }
            }
        };
        self.done = entry.refused.is_some() && !self.manner.goes_on;
        Some(entry)
    }
}
