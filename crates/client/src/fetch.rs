use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use milena_messages::fetch::request::{FetchPartition, FetchTopic};
use milena_messages::fetch::response::{FetchableTopicResponse, PartitionData};
use milena_messages::{ApiKey, ByteString, ErrorCode, FetchRequest};
use milena_records::{Batches, ReadOptions};

use crate::call::{Operation, Route, Subject};
use crate::client::Client;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::net::Link;
use crate::offsets::{Isolation, Listed, OffsetSpec, Wanted, list};

/// From the version after this one on a topic goes by its id alone.
const LAST_BY_NAME: i16 = 12;

/// How to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchOptions {
    /// How long the broker may wait for [`FetchOptions::min_bytes`] to come together. 500 ms by default.
    pub max_wait: Duration,
    /// How many bytes make the broker respond before that; 0 for a response at once. 1 by default.
    pub min_bytes: i32,
    /// Most bytes of records. From Fetch 3 (Kafka 0.10.1) on the first batch comes whole even if it is larger; before, it
    /// is cut off. 1 MiB by default.
    pub max_bytes: i32,
    /// Which records of transactions to read.
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
    /// Offsets below it are on all replicas in sync; readers see no further. `None` in the response of a broker that
    /// throttles, which has nothing but a throttle time.
    pub high_watermark: Option<i64>,
    /// Below it no transaction is open; `None` before Fetch 4.
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
    /// For how long the broker throttles this client. Later requests wait by themselves.
    pub throttle: Duration,
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
    /// Fetches from one partition once, from the leader. Repeated until there is a response, but not until there are
    /// records: with nothing to read there are none after [`FetchOptions::max_wait`].
    ///
    /// # Errors
    /// [`Error::OffsetOutOfRange`] with the range; other refusals of the broker; the deadline.
    pub async fn fetch(&self, topic: &str, partition: i32, offset: i64, options: &FetchOptions) -> Result<Fetched> {
        fetch(&self.core, topic, partition, offset, options).await
    }
}

/// As [`Client::fetch`].
pub(crate) async fn fetch(
    core: &Arc<Core>,
    topic: &str,
    partition: i32,
    offset: i64,
    options: &FetchOptions,
) -> Result<Fetched> {
    let mut operation = Operation::new(core).about(topic);
    loop {
        let result = fetch_once(&mut operation, topic, partition, offset, options).await;
        match operation.settle(result).await {
            Ok(Some(fetched)) => return Ok(fetched),
            Ok(None) => {}
            Err(Error::OffsetOutOfRange { .. }) => return Err(out_of_range(core, topic, partition, offset).await),
            Err(error) => return Err(error),
        }
    }
}

/// The error for an offset that a partition does not have, with the offsets that it has.
pub(crate) async fn out_of_range(core: &Arc<Core>, topic: &str, partition: i32, offset: i64) -> Error {
    let wanted = |spec| Wanted { topic, partition, spec };
    let ends = [wanted(OffsetSpec::Earliest), wanted(OffsetSpec::Latest)];
    let mut found = list(core, &ends, Isolation::ReadUncommitted).await.into_iter().map(|listed| match listed {
        Listed::Found(found) => found.map(|found| found.offset),
        // The offset is out of range all the same.
        Listed::NoTimes | Listed::Failed(_) => None,
    });
    let (earliest, latest) = (found.next().flatten(), found.next().flatten());
    Error::OffsetOutOfRange { topic: topic.into(), partition, offset, earliest, latest }
}

async fn fetch_once(
    operation: &mut Operation<'_>,
    topic: &str,
    partition: i32,
    offset: i64,
    options: &FetchOptions,
) -> Result<Fetched> {
    let leader = operation.leader(topic, partition).await?;
    let most = if leader.topic_id.is_some() { i16::MAX } else { LAST_BY_NAME };
    let version = |link: &Link| link.version_up_to::<FetchRequest>(most);
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
    let mut reply = operation.send_waiting(Route::At(&leader.endpoint), options.max_wait, version, make).await?;
    let response = reply.body.take().unwrap_or_default();
    let failed = |code| match code {
        ErrorCode::OFFSET_OUT_OF_RANGE => {
            Error::OffsetOutOfRange { topic: topic.into(), partition, offset, earliest: None, latest: None }
        }
        code => reply.error(ApiKey::FETCH, code, Subject::partition(topic, partition)),
    };
    if !response.error_code.is_none() {
        return Err(failed(response.error_code));
    }
    let by_id = reply.version > LAST_BY_NAME;
    let is_wanted = |found: &FetchableTopicResponse| {
        if by_id { Some(found.topic_id) == leader.topic_id } else { *found.topic == *topic }
    };
    let mut partitions = response.responses.into_iter().filter(is_wanted).flat_map(|topic| topic.partitions);
    match partitions.find(|data| data.partition_index == partition) {
        Some(data) if data.error_code.is_none() => Ok(Fetched::new(data, reply.version, reply.throttle)),
        Some(data) => Err(failed(data.error_code)),
        // A broker that throttles responds at once, without any partition (KIP-219).
        None if !reply.throttle.is_zero() => Ok(Fetched::throttled(reply.version, reply.throttle)),
        None => Err(Error::missing(&reply.address, ApiKey::FETCH, topic, partition)),
    }
}

impl Fetched {
    fn throttled(api_version: i16, throttle: Duration) -> Self {
        Self {
            high_watermark: None,
            last_stable_offset: None,
            log_start_offset: None,
            aborted: Vec::new(),
            records: Bytes::new(),
            api_version,
            throttle,
        }
    }

    fn new(data: PartitionData, api_version: i16, throttle: Duration) -> Self {
        let known = |offset: i64| (offset >= 0).then_some(offset);
        let aborted = data.aborted_transactions.unwrap_or_default();
        Self {
            high_watermark: known(data.high_watermark),
            last_stable_offset: known(data.last_stable_offset),
            log_start_offset: known(data.log_start_offset),
            aborted: aborted.iter().map(|aborted| (aborted.producer_id, aborted.first_offset)).collect(),
            records: data.records.unwrap_or_default(),
            api_version,
            throttle,
        }
    }
}
