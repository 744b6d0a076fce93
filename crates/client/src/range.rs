use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use milena_records::{Batch, Batches, Control, IntoRecords, ReadOptions, Record};
use tokio::time::{Instant, sleep};

use crate::client::Client;
use crate::error::{Error, Result};
use crate::fetch::{FetchOptions, Fetched};
use crate::offsets::{Isolation, OffsetSpec};

/// Largest answer asked for when a batch does not fit below the configured size.
const MAX_BYTES: i32 = 1 << 30;

/// Answers without a byte, although records should be there, before the range counts as read.
const EMPTY_ANSWERS: u32 = 3;

/// Shortest time between answers without a byte.
const PAUSE: Duration = Duration::from_millis(10);

/// Where reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// At this offset, or the next one that is there. Below the oldest record this is an error.
    Offset(i64),
    /// At an offset to be looked up; a timestamp that no record has reached means the end.
    At(OffsetSpec),
}

impl Start {
    /// At the oldest record.
    pub const EARLIEST: Self = Self::At(OffsetSpec::Earliest);
    /// At the end.
    pub const LATEST: Self = Self::At(OffsetSpec::Latest);
}

/// Where reading stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    /// At the end as it is when reading begins.
    End,
    /// Before this offset, or at the end if that comes first.
    Offset(i64),
    /// Not at all: waits for new records.
    Never,
}

/// How to read a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeOptions {
    /// How each Fetch is done.
    pub fetch: FetchOptions,
    /// How batches are read.
    pub read: ReadOptions,
    /// Whether to leave out what cannot be read, and go on behind it. What was left out is in [`RangeReader::skipped`].
    pub skip_corrupt: bool,
}

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
    fetched: Option<Run>,
    records: Option<(IntoRecords, i64)>,
    empty_answers: u32,
    still_since: Option<Instant>,
    skipped: Vec<Error>,
}

/// The batches of one answer, as far as they are not read.
#[derive(Debug)]
struct Run {
    batches: Batches,
    aborted: Aborted,
    /// Where the answer begins.
    from: i64,
    high_watermark: i64,
}

/// Which producers' records are to be left out.
#[derive(Debug, Default)]
struct Aborted {
    /// Producer id and first offset, in the order of the offsets.
    coming: VecDeque<(i64, i64)>,
    open: HashSet<i64>,
}

impl Client {
    /// Reads the records of a partition, from `start` up to `stop`.
    ///
    /// ```no_run
    /// # async fn program(client: milena_client::Client) -> milena_client::Result<()> {
    /// use milena_client::{RangeOptions, Start, Stop};
    ///
    /// let mut reader = client.fetch_range("letters", 0, Start::EARLIEST, Stop::End, RangeOptions::default()).await?;
    /// while let Some(record) = reader.next().await? {
    ///     println!("{} {:?}", record.offset, record.value);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Client::offset`], which is asked for both ends. An offset below the oldest record shows when reading.
    pub async fn fetch_range(
        &self,
        topic: &str,
        partition: i32,
        start: Start,
        stop: Stop,
        options: RangeOptions,
    ) -> Result<RangeReader> {
        let isolation = options.fetch.isolation;
        let latest = match (start, stop) {
            (Start::Offset(_), Stop::Never) => None,
            _ => Some(self.latest(topic, partition, isolation).await?),
        };
        let position = match start {
            Start::Offset(offset) if offset < 0 => {
                return Err(Error::Invalid(format!("offset {offset} cannot be, the first is 0")));
            }
            Start::Offset(offset) => offset,
            Start::At(OffsetSpec::Latest) => latest.unwrap_or_default(),
            Start::At(spec) => {
                let found = self.offset_as(topic, partition, spec, isolation).await?;
                found.map(|found| found.offset).or(latest).unwrap_or_default()
            }
        };
        let end = match stop {
            Stop::End => latest,
            Stop::Offset(offset) => Some(latest.map_or(offset, |latest| offset.min(latest))),
            Stop::Never => None,
        };
        Ok(RangeReader {
            client: self.clone(),
            topic: topic.into(),
            partition,
            options,
            position,
            end,
            fetched: None,
            records: None,
            empty_answers: 0,
            still_since: None,
            skipped: Vec::new(),
        })
    }

    async fn latest(&self, topic: &str, partition: i32, isolation: Isolation) -> Result<i64> {
        let found = self.offset_as(topic, partition, OffsetSpec::Latest, isolation).await?;
        Ok(found.map_or(0, |found| found.offset))
    }
}

impl RangeReader {
    /// The next record; `None` at the end, and ever after. Control records and, with [`Isolation::ReadCommitted`],
    /// records of aborted transactions are left out.
    ///
    /// # Errors
    /// As [`Client::fetch`]; [`Error::Records`] for a batch that cannot be read, unless those are to be skipped. The
    /// reader stays where it is, and the next call tries the same again.
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
                        if self.end.is_some_and(|end| record.offset >= end) {
                            self.records = None;
                            return Ok(None);
                        }
                        return Ok(Some(record));
                    }
                    Some(Err(cause)) => {
                        let next_offset = *next_offset;
                        self.records = None;
                        self.corrupt(cause, next_offset)?;
                    }
                    None => {
                        self.position = self.position.max(*next_offset);
                        self.records = None;
                    }
                }
            } else if self.fetched.is_some() {
                self.open_batch()?;
            } else {
                self.fetch().await?;
            }
        }
    }

    /// All records that are left. With [`Stop::Never`] this does not end.
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

    /// The offset to go on from: behind the last record that was given, and what was left out after it.
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
        let fetched = self.client.fetch(&self.topic, self.partition, self.position, &self.options.fetch).await?;
        if fetched.records.is_empty() && self.options.fetch.max_wait < PAUSE {
            sleep(PAUSE).await;
        }
        self.fetched = Some(self.run(fetched));
        Ok(())
    }

    /// An answer that brought nothing although records should be there. Behind the last record that compaction left
    /// nothing comes up to the end; a broker may also have nothing to say for a moment, so that one answer is not
    /// believed.
    fn stand_still(&mut self, high_watermark: i64) -> Result<()> {
        let Some(end) = self.end else { return Ok(()) };
        self.empty_answers += 1;
        let since = *self.still_since.get_or_insert_with(Instant::now);
        if high_watermark >= end && self.empty_answers >= EMPTY_ANSWERS {
            self.position = end;
        } else if since.elapsed() >= self.client.config().deadline {
            let (topic, partition, position) = (Arc::clone(&self.topic), self.partition, self.position);
            return Err(Error::Truncated { topic, partition, position, high_watermark, end });
        }
        Ok(())
    }

    fn run(&self, fetched: Fetched) -> Run {
        let mut aborted = fetched.aborted.clone();
        aborted.sort_by_key(|(_, first_offset)| *first_offset);
        Run {
            batches: fetched.batches_with(self.options.read),
            aborted: Aborted { coming: aborted.into(), open: HashSet::new() },
            from: self.position,
            high_watermark: fetched.high_watermark,
        }
    }

    /// Goes on to the next batch that has records to give, or to the end of the answer.
    fn open_batch(&mut self) -> Result<()> {
        let Some(run) = &mut self.fetched else { return Ok(()) };
        match run.batches.next() {
            None => self.close_run(),
            Some(Err(cause)) => {
                let next_offset = cause.batch().map_or(self.position, |place| place.last_offset.saturating_add(1));
                self.corrupt(cause, next_offset)
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

    /// Looks at what an answer brought once it is read.
    fn close_run(&mut self) -> Result<()> {
        let Some(run) = self.fetched.take() else { return Ok(()) };
        if self.position > run.from {
            self.empty_answers = 0;
            self.still_since = None;
            return Ok(());
        }
        // Before Fetch 3 a batch above the limit is cut off: the next answer has to be larger.
        let Some(partial) = run.batches.partial() else { return self.stand_still(run.high_watermark) };
        let before = self.options.fetch.max_bytes;
        let wanted = partial.expected.and_then(|wanted| i32::try_from(wanted).ok()).unwrap_or(0);
        let larger = wanted.max(before.saturating_mul(2)).min(MAX_BYTES);
        if larger <= before {
            return self.stand_still(run.high_watermark);
        }
        tracing::debug!(before, larger, "a batch does not fit, asking for more");
        self.options.fetch.max_bytes = larger;
        Ok(())
    }

    /// What cannot be read ends the reading, or is skipped up to `next_offset`.
    fn corrupt(&mut self, cause: milena_records::Error, next_offset: i64) -> Result<()> {
        let (base_offset, last_offset) =
            cause.batch().map_or((self.position, self.position), |place| (place.base_offset, place.last_offset));
        let topic = Arc::clone(&self.topic);
        let error = Error::Records { topic, partition: self.partition, base_offset, last_offset, cause };
        if !self.options.skip_corrupt {
            self.fetched = None;
            return Err(error);
        }
        // A header that lies may not lead back or far beyond what is there.
        let most = self.fetched.as_ref().map_or(i64::MAX, |run| run.high_watermark.max(self.position + 1));
        self.position = next_offset.clamp(self.position + 1, most);
        tracing::warn!(%error, next = self.position, "skipped what cannot be read");
        self.skipped.push(error);
        Ok(())
    }
}

impl Aborted {
    /// Whether the records of the batch belong to an aborted transaction.
    fn contains(&mut self, batch: &Batch) -> bool {
        self.enter(batch.last_offset());
        batch.is_transactional() && self.open.contains(&batch.producer_id())
    }

    fn enter(&mut self, up_to: i64) {
        while let Some((producer_id, _)) = self.coming.front().filter(|(_, first_offset)| *first_offset <= up_to) {
            self.open.insert(*producer_id);
            self.coming.pop_front();
        }
    }

    /// The marker of an abort ends the transaction of its producer.
    fn leave(&mut self, batch: &Batch) {
        if !batch.is_control() {
            return;
        }
        self.enter(batch.last_offset());
        let aborts = |record| matches!(Control::parse(&record), Ok(Control::Abort { .. }));
        if batch.records().next().is_some_and(|record| record.is_ok_and(aborts)) {
            self.open.remove(&batch.producer_id());
        }
    }
}
