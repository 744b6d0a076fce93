use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::client::Client;
use crate::core::Core;
use crate::error::{Error, Result, StallReason};
use crate::fetch::{FetchOptions, Fetched, fetch};
use crate::offsets::{FoundOffset, Isolation, Listed, OffsetSpec, Wanted, list};
use crate::timing::{Backoff, rounded};

/// How much to read at once when records are searched for a time.
const SEARCH_BYTES: i32 = 4 << 20;

impl Client {
    /// Looks up one offset; `None` when there is no such record.
    ///
    /// # Errors
    /// A kind of offset that the broker's version cannot look up ([`Error::Unsupported`]); a time before 1970; the broker's
    /// refusal; no leader after [`ClientConfig::unknown_topic_grace`](crate::ClientConfig::unknown_topic_grace); the
    /// deadline.
    pub async fn offset(&self, topic: &str, partition: i32, spec: OffsetSpec) -> Result<Option<FoundOffset>> {
        self.offset_as(topic, partition, spec, Isolation::default()).await
    }

    pub(crate) async fn offset_as(
        &self,
        topic: &str,
        partition: i32,
        spec: OffsetSpec,
        isolation: Isolation,
    ) -> Result<Option<FoundOffset>> {
        match self.list_offsets(&[(topic, partition, spec)], isolation).await.pop() {
            Some(result) => result,
            None => Ok(None),
        }
    }

    /// Looks up offsets of several partitions. Each has its own result, in their order: `None` where there is no such
    /// record, or the error of that partition alone.
    pub async fn list_offsets(
        &self,
        wanted: &[(&str, i32, OffsetSpec)],
        isolation: Isolation,
    ) -> Vec<Result<Option<FoundOffset>>> {
        let wanted: Vec<Wanted<'_>> =
            wanted.iter().map(|&(topic, partition, spec)| Wanted { topic, partition, spec }).collect();
        let mut results = Vec::with_capacity(wanted.len());
        for (listed, wanted) in list(&self.core, &wanted, isolation).await.into_iter().zip(wanted) {
            results.push(match (listed, wanted.spec) {
                (Listed::Found(found), _) => Ok(found),
                (Listed::NoTimes, OffsetSpec::Timestamp(time)) => {
                    search(&self.core, wanted.topic, wanted.partition, time).await
                }
                (Listed::NoTimes, _) => Ok(None),
                (Listed::Failed(error), _) => Err(error),
            });
        }
        results
    }
}

/// The first record at or after a time, found by reading the partition from its beginning.
async fn search(core: &Arc<Core>, topic: &str, partition: i32, time: i64) -> Result<Option<FoundOffset>> {
    let end = |spec| Wanted { topic, partition, spec };
    let ends = [end(OffsetSpec::Earliest), end(OffsetSpec::Latest)];
    let mut found = Vec::new();
    for listed in list(core, &ends, Isolation::ReadUncommitted).await {
        match listed {
            Listed::Failed(error) => return Err(error),
            Listed::Found(Some(offset)) => found.push(offset.offset),
            Listed::Found(None) | Listed::NoTimes => return Ok(None),
        }
    }
    let [mut position, end] = found[..] else { return Ok(None) };
    let mut options = FetchOptions { max_bytes: SEARCH_BYTES, min_bytes: 0, ..FetchOptions::default() };
    let (started, mut backoff) = (Instant::now(), Backoff::new(core.config.retry_backoff));
    while position < end {
        let fetched = fetch(core, topic, partition, position, &options).await?;
        let before = position;
        if let Some(found) = search_batches(&fetched, topic, partition, time, &mut position)? {
            return Ok(Some(found));
        }
        if started.elapsed() >= core.config.deadline {
            let address: Arc<str> = Arc::from("the broker");
            let reason = format!(
                "it is older than Kafka 0.10.1 and cannot look up times, and reading {topic}-{partition} took longer than \
                 {:?}: it was read up to offset {position} of {end}",
                core.config.deadline
            );
            return Err(Error::Unsupported { address, api: milena_messages::ApiKey::LIST_OFFSETS, reason });
        }
        if position == before {
            let reason = if fetched.records.is_empty() { StallReason::Empty } else { StallReason::CutBatch };
            if reason == StallReason::CutBatch && options.max_bytes < i32::MAX / 2 {
                options.max_bytes *= 2;
                continue;
            }
            let after: Duration = rounded(started.elapsed());
            if after * 2 >= core.config.deadline {
                let (topic, high_watermark) = (topic.into(), fetched.high_watermark.unwrap_or(end));
                return Err(Error::Stalled { topic, partition, position, high_watermark, after, reason });
            }
            backoff.wait().await;
        }
    }
    Ok(None)
}

fn search_batches(
    fetched: &Fetched,
    topic: &str,
    partition: i32,
    time: i64,
    position: &mut i64,
) -> Result<Option<FoundOffset>> {
    for batch in fetched.batches() {
        let unreadable = |cause: milena_records::Error, at: i64| {
            let (base_offset, last_offset) =
                cause.batch().map_or((at, at), |place| (place.base_offset, place.last_offset));
            Error::Records { topic: topic.into(), partition, base_offset, last_offset, cause }
        };
        let batch = batch.map_err(|cause| unreadable(cause, *position))?;
        for record in batch.records() {
            let record = record.map_err(|cause| unreadable(cause, *position))?;
            if record.offset >= *position && record.timestamp >= time {
                let (offset, timestamp) = (record.offset, Some(record.timestamp));
                return Ok(Some(FoundOffset { offset, timestamp, leader_epoch: None }));
            }
        }
        *position = batch.next_offset().max(*position);
    }
    Ok(None)
}
