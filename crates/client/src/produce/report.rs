use std::ops::Range;

use crate::error::{Error, Result};

/// Where a batch went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProduceOutcome {
    /// Offset of the first record; `None` with [`Acks::None`](crate::Acks::None), where there is no response.
    pub base_offset: Option<i64>,
    /// The broker's time of the append, in milliseconds since 1970, when the topic keeps that instead of the producer's.
    pub log_append_time: Option<i64>,
    /// Oldest offset of the partition; `None` before Produce 5.
    pub log_start_offset: Option<i64>,
    /// The version of Produce that was spoken.
    pub api_version: i16,
    /// The record format: 2, or 1 and 0 with brokers before 0.11 and 0.10.
    pub magic: i8,
}

/// What became of consecutive records of a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BatchReport {
    /// Their indexes in the call, from 0.
    pub records: Range<usize>,
    /// Where they were written, as one batch, or why not. [`Error::possibly_written`] says whether they may be in the log
    /// all the same.
    pub result: Result<ProduceOutcome>,
}

/// What became of each record of a call of [`Client::produce_report`](crate::Client::produce_report).
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ProduceReport {
    batches: Vec<BatchReport>,
}

impl ProduceReport {
    pub(super) fn push(&mut self, records: Range<usize>, result: Result<ProduceOutcome>) {
        self.batches.push(BatchReport { records, result });
    }

    pub(super) fn sort(&mut self) {
        self.batches.sort_by_key(|batch| batch.records.start);
    }

    /// Every record is in one of these, in the order of the call.
    pub fn batches(&self) -> &[BatchReport] {
        &self.batches
    }

    /// The result of one record; `None` when the call had no such record.
    pub fn of(&self, record: usize) -> Option<&Result<ProduceOutcome>> {
        self.batches.iter().find(|batch| batch.records.contains(&record)).map(|batch| &batch.result)
    }

    /// How many records were written, as far as the broker confirmed it.
    pub fn written(&self) -> usize {
        self.batches.iter().filter(|batch| batch.result.is_ok()).map(|batch| batch.records.len()).sum()
    }

    /// The records that were not written or are in doubt.
    pub fn failures(&self) -> impl Iterator<Item = (Range<usize>, &Error)> {
        self.batches.iter().filter_map(|batch| Some((batch.records.clone(), batch.result.as_ref().err()?)))
    }

    /// Where the first batch went, if all records were written.
    ///
    /// # Errors
    /// The first failure; [`Error::PartlyWritten`] around it when other records were written.
    pub fn into_result(self) -> Result<ProduceOutcome> {
        let (written, records) = (self.written(), self.batches.iter().map(|batch| batch.records.len()).sum());
        let mut first = None;
        for batch in self.batches {
            match batch.result {
                Err(error) if written == 0 => return Err(error),
                Err(error) => return Err(Error::PartlyWritten { written, records, first: Box::new(error) }),
                Ok(outcome) => {
                    first.get_or_insert(outcome);
                }
            }
        }
        Ok(first.unwrap_or_default())
    }
}
