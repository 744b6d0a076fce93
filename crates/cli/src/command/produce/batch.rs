//! Records of one partition on their way to the broker, with the lines that they came from.

use milena_client::{Acks, Client, Codec, Error, Record};

/// Records for one partition, with the number of the line of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    lines: Vec<u64>,
    records: Vec<Record>,
}

/// About as many bytes as a record takes in a batch.
pub(super) fn size(record: &Record) -> usize {
    let headers =
        record.headers.iter().map(|header| 4 + header.key.len() + header.value.as_ref().map_or(0, |v| v.len()));
    let data = [&record.key, &record.value].into_iter().flatten().map(|bytes| bytes.len());
    16 + data.chain(headers).sum::<usize>()
}

impl Batch {
    pub(super) fn push(&mut self, line: u64, record: Record) {
        self.lines.push(line);
        self.records.push(record);
    }
}

/// Where batches go.
#[derive(Clone)]
pub(super) struct Destination {
    pub(super) client: Client,
    pub(super) topic: String,
    pub(super) partition: i32,
    pub(super) acks: Acks,
    pub(super) codec: Codec,
}

/// A batch that was written.
pub(super) struct Written {
    pub(super) records: usize,
    pub(super) base_offset: Option<i64>,
}

/// Why lines were not written, or perhaps not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The record is at fault, and would be refused every time.
    Refused,
    /// The broker may have written it, but did not confirm it.
    InDoubt,
    /// It was not written: no leader, no permission, no time left.
    Unwritten,
}

/// Lines that were not written, or perhaps not.
pub(super) struct Lost {
    pub(super) fate: Fate,
    pub(super) lines: Vec<u64>,
    pub(super) error: Error,
}

/// The outcome for a batch.
pub(super) struct Sent {
    pub(super) partition: i32,
    pub(super) written: Vec<Written>,
    pub(super) lost: Vec<Lost>,
}

impl Destination {
    /// Writes a batch. Records that are refused do not keep the others from being written.
    pub(super) async fn send(&self, batch: Batch) -> Sent {
        let Batch { lines, records } = batch;
        let mut sent = Sent { partition: self.partition, written: Vec::new(), lost: Vec::new() };
        let report = self.client.produce_report(&self.topic, self.partition, self.acks, self.codec, records).await;
        for part in report.batches() {
            let error = match &part.result {
                Ok(outcome) => {
                    sent.written.push(Written { records: part.records.len(), base_offset: outcome.base_offset });
                    continue;
                }
                Err(error) => error.clone(),
            };
            let (fate, lines) = (fate(&error), lines.get(part.records.clone()).unwrap_or_default());
            match sent.lost.last_mut() {
                // One error may end the writing of several parts of a batch.
                Some(last) if fate == Fate::Unwritten && last.fate == fate => last.lines.extend(lines),
                _ => sent.lost.push(Lost { fate, lines: lines.to_vec(), error }),
            }
        }
        sent
    }
}

fn fate(error: &Error) -> Fate {
    match error {
        error if error.is_record_fault() => Fate::Refused,
        error if error.possibly_written() => Fate::InDoubt,
        _ => Fate::Unwritten,
    }
}
