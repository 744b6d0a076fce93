use milena_wire::counted;

use crate::error::{Error, Result};
use crate::options::Mode;
use crate::read::batch::Batch;
use crate::read::legacy::Messages;
use crate::read::payload::Payload;
use crate::read::record::Base;
use crate::record::Record;
use crate::view::RecordRef;

/// How far reading has come.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// Byte of the payload; unused until `started`.
    pos: usize,
    /// Records given.
    index: usize,
    started: bool,
    done: bool,
}

/// What the records are made from.
#[derive(Clone, Copy)]
enum Source<'a> {
    V2 { payload: &'a Payload, base: Base, count: i32 },
    Legacy { payload: &'a Payload, messages: Messages },
}

impl<'a> Source<'a> {
    fn new(batch: &'a Batch, payload: &'a Payload) -> Self {
        match batch.count() {
            Some(count) => Self::V2 { payload, base: Base::new(batch), count },
            None => Self::Legacy { payload, messages: Messages::new(batch, payload) },
        }
    }

    fn payload(&self) -> &'a Payload {
        match self {
            Self::V2 { payload, .. } | Self::Legacy { payload, .. } => payload,
        }
    }

    #[inline]
    fn next(&self, batch: &'a Batch, progress: &mut Progress) -> Option<Result<RecordRef<'a>>> {
        if progress.done {
            return None;
        }
        let read = match self {
            Self::V2 { payload, base, count } => {
                if !progress.started {
                    progress.started = true;
                    progress.pos = payload.start;
                    if *count < 0 {
                        progress.done = true;
                        return Some(Err(bad_count(batch, *count)));
                    }
                }
                let count = *count as usize;
                if progress.index == count {
                    return self.end(batch, progress);
                }
                let read = base.record(&payload.data, &mut progress.pos);
                // Kafka holds the last record back too when there is more after it.
                let last = progress.index + 1 == count;
                if last && read.is_ok() && progress.pos < payload.data.len() && batch.options.mode == Mode::Strict {
                    Err(trailing(progress.pos, payload))
                } else {
                    read
                }
            }
            Self::Legacy { payload, messages } => match messages.next(&payload.data, &mut progress.pos) {
                Some(read) => read,
                None => return self.end(batch, progress),
            },
        };
        match read {
            Ok(record) => {
                progress.index += 1;
                Some(Ok(record))
            }
            Err(error) => Some(Err(self.fail(batch, progress, error))),
        }
    }

    #[cold]
    fn fail(&self, batch: &Batch, progress: &mut Progress, error: Error) -> Error {
        progress.done = true;
        let payload = self.payload();
        // The reason that there are too few bytes is the better error.
        match &payload.fault {
            Some(fault) => fault.clone(),
            None => batch.locate(payload, error, progress.index),
        }
    }

    /// All records are given: tells what a tolerant reader has let pass.
    fn end(&self, batch: &Batch, progress: &mut Progress) -> Option<Result<RecordRef<'a>>> {
        progress.done = true;
        let payload = self.payload();
        if let Some(fault) = &payload.fault {
            return Some(Err(fault.clone()));
        }
        // A batch without records may carry anything, as far as Kafka is concerned.
        if matches!(self, Self::V2 { .. }) && progress.index > 0 && progress.pos < payload.data.len() {
            let error = trailing(progress.pos, payload);
            return Some(Err(batch.locate(payload, error, progress.index)));
        }
        None
    }
}

#[cold]
fn trailing(pos: usize, payload: &Payload) -> Error {
    Error::malformed(pos, format!("{} after the last record", counted(payload.data.len() - pos, "byte")))
}

#[cold]
fn bad_count(batch: &Batch, count: i32) -> Error {
    let at = batch.start + crate::layout::v2::COUNT;
    Error::malformed(at, counted(count, "record")).in_field("count").in_batch(batch.place())
}

/// The records of a batch, borrowed from it. Made by [`Batch::records`].
#[derive(Clone)]
pub struct Records<'a> {
    batch: &'a Batch,
    source: Option<Source<'a>>,
    progress: Progress,
}

impl<'a> Records<'a> {
    pub(super) fn new(batch: &'a Batch) -> Self {
        Self { batch, source: None, progress: Progress::default() }
    }

    #[cold]
    fn open(&mut self) -> Result<Source<'a>> {
        match self.batch.payload() {
            Ok(payload) => Ok(*self.source.insert(Source::new(self.batch, payload))),
            Err(error) => {
                self.progress.done = true;
                Err(error.clone())
            }
        }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<RecordRef<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Result<RecordRef<'a>>> {
        if self.progress.done {
            return None;
        }
        if self.source.is_none() {
            if let Err(error) = self.open() {
                return Some(Err(error));
            }
        }
        self.source.as_ref()?.next(self.batch, &mut self.progress)
    }
}

impl std::iter::FusedIterator for Records<'_> {}

impl std::fmt::Debug for Records<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records").field("batch", self.batch).field("progress", &self.progress).finish()
    }
}

/// The records of a batch as owned values that share its memory. Made by [`Batch::into_records`].
#[derive(Clone, Debug)]
pub struct IntoRecords {
    batch: Batch,
    progress: Progress,
}

impl IntoRecords {
    pub(super) fn new(batch: Batch) -> Self {
        Self { batch, progress: Progress::default() }
    }

    /// The batch that the records are from.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }
}

impl Iterator for IntoRecords {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        if self.progress.done {
            return None;
        }
        match self.batch.payload() {
            Ok(payload) => {
                let next = Source::new(&self.batch, payload).next(&self.batch, &mut self.progress)?;
                Some(next.map(|record| record.to_owned()))
            }
            Err(error) => {
                self.progress.done = true;
                Some(Err(error.clone()))
            }
        }
    }
}

impl std::iter::FusedIterator for IntoRecords {}
