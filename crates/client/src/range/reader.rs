use std::sync::Arc;
use std::time::Duration;

use milena_records::{Batches, IntoRecords, Record};
use tokio::time::Instant;

use super::aborted::Aborted;
use super::options::RangeOptions;
use super::progress::Progress;
use crate::client::Client;
use crate::error::{Error, Result, StallReason};
use crate::fetch::Fetched;
use crate::offsets::Isolation;

/// Largest response asked for when a batch does not fit below the configured size.
const MAX_BYTES: i32 = 1 << 30;

/// Reads the records of a partition from one offset to another. Made by [`Client::fetch_range`].
#[derive(Debug)]
pub struct RangeReader {
    client: Client,
    topic: Arc<str>,
    partition: i32,
    options: RangeOptions,
    position: i64,
    /// `None` for no end.
    end: Option<i64>,
    /// Whether to begin again when the oldest record was deleted before anything was read.
    follows_start: bool,
    run: Option<Run>,
    records: Option<(IntoRecords, i64)>,
    progress: Progress,
    skipped: Vec<Error>,
}

/// The batches of one response, as far as they are not read.
#[derive(Debug)]
struct Run {
    batches: Batches,
    aborted: Aborted,
    /// The position at the request.
    from: i64,
    bytes: usize,
    /// `None` when the broker throttles and says nothing else.
    high_watermark: Option<i64>,
    /// Before which offset there is something to read: the high watermark or, for committed records, the last stable offset.
    readable: Option<i64>,
    /// How long the broker took.
    took: Duration,
    /// Whether something could not be read and was left out.
    skipped: bool,
}

impl RangeReader {
    pub(super) fn new(
        client: Client,
        topic: &str,
        partition: i32,
        options: RangeOptions,
        position: i64,
        end: Option<i64>,
        follows_start: bool,
    ) -> Self {
        let progress = Progress::new(options.patience, end.is_some());
        Self {
            client,
            topic: topic.into(),
            partition,
            options,
            position,
            end,
            follows_start,
            run: None,
            records: None,
            progress,
            skipped: Vec::new(),
        }
    }

    /// The next record; `None` at the end, and ever after. Control records and, with [`Isolation::ReadCommitted`], records of
    /// aborted transactions are left out.
    ///
    /// Reading ends only at the end. Anything else is an error: [`Error::Stalled`] when there is no progress for longer than
    /// [`RangeOptions::patience`], [`Error::Truncated`] when the partition got shorter.
    ///
    /// # Errors
    /// As [`Client::fetch`], except that with [`Stop::Never`](crate::Stop::Never) the reader waits for brokers that cannot
    /// be reached; [`Error::Records`] for a batch that cannot be read, unless those are to be skipped. The reader stays where
    /// it is, and the next call tries the same again.
    pub async fn next(&mut self) -> Result<Option<Record>> {
        loop {
            if self.is_done() {
                return Ok(None);
            }
            if let Some((records, next_offset)) = &mut self.records {
                match records.next() {
                    Some(Ok(record)) if record.offset < self.position => {}
                    Some(Ok(record)) => {
                        self.position = record.offset + 1;
                        self.progress.made();
                        self.follows_start = false;
                        if self.end.is_some_and(|end| record.offset >= end) {
                            self.records = None;
                            return Ok(None);
                        }
                        return Ok(Some(record));
                    }
                    Some(Err(cause)) => {
                        let next_offset = *next_offset;
                        self.records = None;
                        self.corrupt(cause, next_offset).await?;
                    }
                    None => {
                        self.position = self.position.max(*next_offset);
                        self.records = None;
                    }
                }
            } else if self.run.is_some() {
                self.open_batch().await?;
            } else {
                self.fetch().await?;
            }
        }
    }

    /// All records that are left. With [`Stop::Never`](crate::Stop::Never) this does not end.
    ///
    /// # Errors
    /// As [`RangeReader::next`]; the records before the error are lost.
    pub async fn read_all(&mut self) -> Result<Vec<Record>> {
        let mut all = Vec::new();
        while let Some(record) = self.next().await? {
            all.push(record);
        }
        Ok(all)
    }

    /// The offset to go on from: after the last record that was given, and what was left out after it.
    pub fn position(&self) -> i64 {
        self.position
    }

    /// The offset before which reading stops; `None` for never.
    pub fn end(&self) -> Option<i64> {
        self.end
    }

    /// Whether the end is reached.
    pub fn is_done(&self) -> bool {
        self.end.is_some_and(|end| self.position >= end)
    }

    /// What was left out because it cannot be read, oldest first.
    pub fn skipped(&self) -> &[Error] {
        &self.skipped
    }

    async fn fetch(&mut self) -> Result<()> {
        let asked = Instant::now();
        let error = match self.client.fetch(&self.topic, self.partition, self.position, &self.options.fetch).await {
            Ok(fetched) => {
                self.run = Some(self.run_of(fetched, asked.elapsed()));
                return Ok(());
            }
            Err(error) => error,
        };
        match &error {
            // Retention was faster than we.
            Error::OffsetOutOfRange { earliest: Some(earliest), .. }
                if self.follows_start && *earliest > self.position =>
            {
                self.position = *earliest;
                Ok(())
            }
            error if error.is_outage() => {
                if self.progress.wait_for_brokers().await.is_err() {
                    return Err(error.clone());
                }
                tracing::warn!(error = %milena_wire::Report(error), "waiting for {}-{}", self.topic, self.partition);
                Ok(())
            }
            _ => Err(error),
        }
    }

    fn run_of(&self, fetched: Fetched, took: Duration) -> Run {
        let stable = fetched.last_stable_offset.filter(|_| self.options.fetch.isolation == Isolation::ReadCommitted);
        Run {
            readable: stable.or(fetched.high_watermark),
            aborted: Aborted::new(fetched.aborted.clone()),
            from: self.position,
            bytes: fetched.records.len(),
            high_watermark: fetched.high_watermark,
            took,
            skipped: false,
            batches: fetched.batches_with(self.options.read),
        }
    }

    /// Goes on to the next batch that has records to give, or to the end of the response.
    async fn open_batch(&mut self) -> Result<()> {
        let Some(run) = &mut self.run else { return Ok(()) };
        match run.batches.next() {
            None => self.close_run().await,
            Some(Err(cause)) => {
                let next_offset = cause.batch().map_or(self.position, |place| place.last_offset.saturating_add(1));
                self.corrupt(cause, next_offset).await
            }
            Some(Ok(batch)) => {
                let next_offset = batch.next_offset();
                if next_offset <= self.position {
                    return Ok(());
                }
                let committed = self.options.fetch.isolation == Isolation::ReadCommitted;
                if batch.is_control() || (committed && run.aborted.contains(&batch)) {
                    run.aborted.leave(&batch);
                    self.position = next_offset;
                } else {
                    self.records = Some((batch.into_records(), next_offset));
                }
                Ok(())
            }
        }
    }

    /// Looks at what a response brought, once it is read. Without progress there is a pause, and an end to patience.
    async fn close_run(&mut self) -> Result<()> {
        let Some(run) = self.run.take() else { return Ok(()) };
        if self.position > run.from {
            if !run.skipped {
                self.progress.made();
            }
            return Ok(());
        }
        // A broker that throttles says nothing else, and the next request waits as long as it asked.
        let Some(high_watermark) = run.high_watermark else { return Ok(()) };
        let reason = match run.batches.partial() {
            // Before Fetch 3 a batch above the limit is cut off: the next response has to be larger.
            Some(partial) => {
                let limit = self.options.fetch.max_bytes;
                let wanted = partial.expected.and_then(|wanted| i32::try_from(wanted).ok()).unwrap_or(0);
                let larger = wanted.max(limit.saturating_mul(2)).min(MAX_BYTES);
                let filled = usize::try_from(limit).is_ok_and(|limit| run.bytes >= limit);
                if filled && larger > limit {
                    tracing::debug!(limit, larger, "a batch does not fit, asking for more");
                    self.options.fetch.max_bytes = larger;
                    return Ok(());
                }
                StallReason::CutBatch
            }
            None if run.bytes > 0 => StallReason::OldRecords,
            None if self.end.is_none() && run.readable.is_some_and(|readable| self.position >= readable) => {
                self.progress.idle(run.took, self.options.fetch.max_wait).await;
                return Ok(());
            }
            None => StallReason::Empty,
        };
        let Err(after) = self.progress.wait().await else { return Ok(()) };
        let (topic, partition, position) = (Arc::clone(&self.topic), self.partition, self.position);
        Err(match self.end {
            Some(end) if high_watermark < end && reason == StallReason::Empty => {
                Error::Truncated { topic, partition, position, high_watermark, end }
            }
            _ => Error::Stalled { topic, partition, position, high_watermark, after, reason },
        })
    }

    /// What cannot be read ends the reading, or is skipped up to `next_offset`.
    async fn corrupt(&mut self, cause: milena_records::Error, next_offset: i64) -> Result<()> {
        let (base_offset, last_offset) =
            cause.batch().map_or((self.position, self.position), |place| (place.base_offset, place.last_offset));
        let has_extent = cause.batch().is_some();
        let topic = Arc::clone(&self.topic);
        let error = Error::Records { topic, partition: self.partition, base_offset, last_offset, cause };
        // A header that lies may lead neither back nor beyond what is there.
        let most = self.run.as_ref().and_then(|run| run.high_watermark).unwrap_or(self.position);
        if !self.options.skip_corrupt || most <= self.position {
            self.run = None;
            // Trying again at once does not load the broker.
            self.progress.pause_after_error().await;
            return Err(error);
        }
        self.position = next_offset.clamp(self.position + 1, most);
        tracing::warn!(error = %milena_wire::Report(&error), next = self.position, "skipped what cannot be read");
        self.skipped.push(error);
        if let Some(run) = &mut self.run {
            run.skipped = true;
        }
        if !has_extent {
            // Offset after offset may fail like this, with a request for each.
            self.progress.pause_after_error().await;
        }
        Ok(())
    }
}
