use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use milena_messages::fetch::request::{FetchPartition, FetchTopic};
use milena_messages::fetch::response::PartitionData;
use milena_messages::{ApiKey, ByteString, FetchRequest};
use milena_records::{Batches, ReadOptions};
use tokio::time::Instant;

use crate::attempts::Attempts;
use crate::client::{About, Client, Whom};
use crate::error::{Error, Result};
use crate::link::Link;
use crate::offsets::Isolation;

/// How to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchOptions {
    /// How long the broker may wait for [`FetchOptions::min_bytes`] to come together. 500 ms unless said otherwise.
    pub max_wait: Duration,
    /// How many bytes are worth an answer before that; 0 for an answer at once. 1 unless said otherwise.
    pub min_bytes: i32,
    /// Most bytes of records. From Fetch 3 (Kafka 0.10.1) on the first batch comes whole even if it is larger; before, it
    /// is cut off. 1 MiB unless said otherwise.
    pub max_bytes: i32,
    /// What to see of transactions.
    pub isolation: Isolation,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            max_wait: Duration::from_millis(500),
            min_bytes: 1,
            max_bytes: 1 << 20,
            isolation: Isolation::ReadUncommitted,
        }
    }
}

/// What one Fetch brought.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fetched {
    /// Offsets below it are on all replicas in sync; readers see no further.
    pub high_watermark: i64,
    /// Below it every transaction is decided; `None` before Fetch 4.
    pub last_stable_offset: Option<i64>,
    /// The oldest offset that is still there; `None` before Fetch 5.
    pub log_start_offset: Option<i64>,
    /// Transactions whose records are to be left out: producer id, and offset of the first record. Only filled with
    /// [`Isolation::ReadCommitted`].
    pub aborted: Vec<(i64, i64)>,
    /// The batches as they came. The first may begin below the offset asked for, the last may be cut off.
    pub records: Bytes,
    /// The version of Fetch that was spoken.
    pub api_version: i16,
}

impl Fetched {
    /// The batches, one by one.
    pub fn batches(&self) -> Batches {
        Batches::new(self.records.clone())
    }

    /// The batches, one by one, read with options of your own.
    pub fn batches_with(&self, options: ReadOptions) -> Batches {
        Batches::with_options(self.records.clone(), options)
    }
}

impl Client {
    /// Fetches from one partition once, from the leader. Repeated until there is an answer, but not until there are
    /// records: with nothing to read there are none after [`FetchOptions::max_wait`].
    ///
    /// # Errors
    /// `OFFSET_OUT_OF_RANGE` and other refusals of the broker; the deadline.
    pub async fn fetch(&self, topic: &str, partition: i32, offset: i64, options: &FetchOptions) -> Result<Fetched> {
        let mut attempts = Attempts::new(&self.inner.config);
        loop {
            // The broker may take its time on top of what an answer takes.
            let deadline = attempts.request_deadline() + options.max_wait;
            match self.fetch_once(topic, partition, offset, options, deadline).await {
                Ok(fetched) => return Ok(fetched),
                Err(error) => {
                    self.doubt(&error, topic);
                    attempts.again_after(error).await?;
                }
            }
        }
    }

    async fn fetch_once(
        &self,
        topic: &str,
        partition: i32,
        offset: i64,
        options: &FetchOptions,
        deadline: Instant,
    ) -> Result<Fetched> {
        let leader = self.leader(topic, partition, deadline).await?;
        // From version 13 on a topic goes by its id alone.
        let most = if leader.topic_id.is_some() { i16::MAX } else { 12 };
        let version = |link: &Link| Client::version_up_to::<FetchRequest>(link, most);
        let make = |_: &Link, version| {
            let wanted = FetchPartition {
                partition,
                current_leader_epoch: leader.epoch,
                fetch_offset: offset,
                partition_max_bytes: options.max_bytes,
                ..Default::default()
            };
            let topic = FetchTopic {
                topic: ByteString::from(topic),
                topic_id: leader.topic_id.unwrap_or_default(),
                partitions: vec![wanted],
                ..Default::default()
            };
            Ok(FetchRequest {
                max_wait_ms: i32::try_from(options.max_wait.as_millis()).unwrap_or(i32::MAX),
                min_bytes: options.min_bytes,
                max_bytes: options.max_bytes,
                isolation_level: if version >= 4 { options.isolation.number() } else { 0 },
                topics: vec![topic],
                ..Default::default()
            })
        };
        let mut told = self.ask(Whom::At(&leader.address), deadline, version, make).await?;
        let answer = told.answer.take().unwrap_or_default();
        if !answer.error_code.is_none() {
            return Err(told.error(ApiKey::FETCH, answer.error_code, About::partition(topic, partition, None)));
        }
        let mut partitions = answer.responses.into_iter().flat_map(|topic| topic.partitions);
        let Some(data) = partitions.find(|data| data.partition_index == partition) else {
            let reason = format!("the answer does not name {topic}-{partition}");
            return Err(Error::Unsupported { address: Arc::clone(&told.address), api: ApiKey::FETCH, reason });
        };
        if !data.error_code.is_none() {
            return Err(told.error(ApiKey::FETCH, data.error_code, About::partition(topic, partition, None)));
        }
        Ok(Fetched::new(data, told.version))
    }
}

impl Fetched {
    fn new(data: PartitionData, api_version: i16) -> Self {
        let known = |offset: i64| (offset >= 0).then_some(offset);
        let aborted = data.aborted_transactions.unwrap_or_default();
        Self {
            high_watermark: data.high_watermark,
            last_stable_offset: known(data.last_stable_offset),
            log_start_offset: known(data.log_start_offset),
            aborted: aborted.iter().map(|aborted| (aborted.producer_id, aborted.first_offset)).collect(),
            records: data.records.unwrap_or_default(),
            api_version,
        }
    }
}
