mod aborted;
mod progress;
mod reader;

use std::time::Duration;

use milena_records::ReadOptions;

use crate::client::Client;
use crate::error::{Error, Result};
use crate::fetch::{FetchOptions, out_of_range};
use crate::offsets::{Isolation, OffsetSpec};
pub use reader::RangeReader;

/// Where reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// At this offset, or the next one that exists. An offset that the partition does not have is an error.
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
    /// Whether to leave out what cannot be read, and go on after it. What was left out is in [`RangeReader::skipped`].
    pub skip_corrupt: bool,
    /// How long to go on without any progress: while brokers cannot be reached, and while their responses are empty
    /// although records should follow, as with remote storage that is slow. `None`, the default, is one minute of empty
    /// responses for a range with an end, and no limit at all with [`Stop::Never`].
    pub patience: Option<Duration>,
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
    /// As [`Client::offset`], which looks up both ends; [`Error::OffsetOutOfRange`] for a start after the end of the
    /// partition. A start before the oldest record shows when reading.
    pub async fn fetch_range(
        &self,
        topic: &str,
        partition: i32,
        start: Start,
        stop: Stop,
        options: RangeOptions,
    ) -> Result<RangeReader> {
        if let (Start::Offset(start), Stop::Offset(stop)) = (start, stop) {
            if start > stop {
                return Err(Error::Invalid(format!("reading would begin at offset {start} and stop before {stop}")));
            }
        }
        let isolation = options.fetch.isolation;
        let latest = self.latest(topic, partition, isolation).await?;
        let position = match start {
            Start::Offset(offset) if offset < 0 => {
                return Err(Error::Invalid(format!("there is no offset {offset}, the first is 0")));
            }
            Start::Offset(offset) => {
                // Offsets from the last stable one on exist, but are not to be read yet.
                let committed = isolation == Isolation::ReadCommitted;
                let uncommitted = Isolation::ReadUncommitted;
                if offset > latest && !(committed && offset <= self.latest(topic, partition, uncommitted).await?) {
                    return Err(out_of_range(&self.core, topic, partition, offset).await);
                }
                offset
            }
            Start::At(OffsetSpec::Latest) => latest,
            Start::At(spec) => {
                self.offset_as(topic, partition, spec, isolation).await?.map_or(latest, |found| found.offset)
            }
        };
        let end = match stop {
            Stop::End => Some(latest),
            Stop::Offset(offset) => Some(offset.min(latest)),
            Stop::Never => None,
        };
        let follows_start = start == Start::EARLIEST;
        Ok(RangeReader::new(self.clone(), topic, partition, options, position, end, follows_start))
    }

    async fn latest(&self, topic: &str, partition: i32, isolation: Isolation) -> Result<i64> {
        let found = self.offset_as(topic, partition, OffsetSpec::Latest, isolation).await?;
        Ok(found.map_or(0, |found| found.offset))
    }
}
