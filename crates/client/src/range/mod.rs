mod aborted;
mod options;
mod progress;
mod reader;

use crate::client::Client;
use crate::error::{Error, Result};
use crate::fetch::out_of_range;
use crate::offsets::{Isolation, OffsetSpec};
pub use options::{RangeOptions, Start, Stop};
pub use reader::RangeReader;

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
