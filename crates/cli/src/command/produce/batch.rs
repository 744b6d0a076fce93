//! Records of one partition on their way to the broker, with the lines that they came from.

use milena_client::{Acks, Client, Codec, Error, Record};
use milena_messages::{ApiKey, ErrorCode};

/// Records for one partition, with the number of the line of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    pub(super) lines: Vec<u64>,
    pub(super) records: Vec<Record>,
    /// About as many bytes as the batch has before compression.
    pub(super) bytes: usize,
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
        self.bytes += size(&record);
        self.lines.push(line);
        self.records.push(record);
    }

    fn split_off(&mut self, at: usize) -> Self {
        let records = self.records.split_off(at);
        let rest = Self { bytes: records.iter().map(size).sum(), lines: self.lines.split_off(at), records };
        self.bytes -= rest.bytes;
        rest
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    /// The broker or the format refuses the record, and would every time.
    Refused,
    /// The broker may have written it, but did not say so.
    InDoubt,
    /// It was not written: no leader, no permission, no time left.
    Unwritten,
}

/// Lines that were not written, or perhaps not.
pub(super) struct Lost {
    pub(super) fate: Fate,
    pub(super) lines: Vec<u64>,
    pub(super) error: Error,
    /// Bytes of the record, if it is one.
    pub(super) bytes: Option<usize>,
}

/// What became of a batch.
pub(super) struct Sent {
    pub(super) partition: i32,
    pub(super) written: Vec<Written>,
    pub(super) lost: Vec<Lost>,
    /// Bytes of a batch of several records that was too large for the topic.
    pub(super) too_large: Option<usize>,
}

impl Destination {
    /// Writes a batch. One that is refused because of what is in it is split, until the records at fault are alone; all
    /// others are written, in their order.
    pub(super) async fn send(&self, batch: Batch) -> Sent {
        let mut sent = Sent { partition: self.partition, written: Vec::new(), lost: Vec::new(), too_large: None };
        let mut parts = vec![batch];
        while let Some(mut part) = parts.pop() {
            let count = part.records.len();
            let produced =
                self.client.produce(&self.topic, self.partition, self.acks, self.codec, part.records.clone());
            let error = match produced.await {
                Ok(outcome) => {
                    sent.written.push(Written { records: count, base_offset: outcome.base_offset });
                    continue;
                }
                Err(error) => error,
            };
            let fate = fate(&error);
            if fate == Fate::Refused && count > 1 {
                if is_too_large(&error) {
                    sent.too_large = Some(sent.too_large.map_or(part.bytes, |bytes| bytes.min(part.bytes)));
                }
                let rest = part.split_off(count / 2);
                parts.extend([rest, part]);
                continue;
            }
            let bytes = (count == 1).then_some(part.bytes);
            let mut lost = Lost { fate, lines: part.lines, error, bytes };
            if fate == Fate::Unwritten {
                // The rest would run into the same.
                lost.lines.extend(parts.drain(..).rev().flat_map(|part| part.lines));
            }
            sent.lost.push(lost);
        }
        sent
    }
}

fn fate(error: &Error) -> Fate {
    match error {
        // The records cannot be written in the format that the broker takes.
        Error::Invalid(_) => Fate::Refused,
        _ if error.code().is_some_and(|code| REFUSALS.contains(&code)) => Fate::Refused,
        _ if possibly_written(error) => Fate::InDoubt,
        _ => Fate::Unwritten,
    }
}

/// Codes that refuse a batch because of what is in it.
const REFUSALS: [ErrorCode; 4] = [
    ErrorCode::MESSAGE_TOO_LARGE,
    ErrorCode::RECORD_LIST_TOO_LARGE,
    ErrorCode::INVALID_TIMESTAMP,
    ErrorCode::INVALID_RECORD,
];

/// Whether a batch, or a record if it was alone, is larger than the topic takes.
pub(super) fn is_too_large(error: &Error) -> bool {
    matches!(error.code(), Some(ErrorCode::MESSAGE_TOO_LARGE | ErrorCode::RECORD_LIST_TOO_LARGE))
}

fn possibly_written(error: &Error) -> bool {
    match error {
        Error::Closed { api, .. } | Error::Timeout { api, .. } => *api == ApiKey::PRODUCE,
        Error::Broker { api, code, .. } => {
            let after = [ErrorCode::REQUEST_TIMED_OUT, ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND];
            *api == ApiKey::PRODUCE && after.contains(code)
        }
        _ => false,
    }
}
