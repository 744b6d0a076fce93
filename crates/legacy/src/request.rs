use bytes::Bytes;
use milena_connection::{ConnectionError, request_frame};
use milena_messages::fetch::request::{FetchPartition, FetchTopic};
use milena_messages::list_offsets::request::{ListOffsetsPartition, ListOffsetsTopic};
use milena_messages::metadata::request::MetadataRequestTopic;
use milena_messages::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use milena_messages::offset_fetch::request::OffsetFetchRequestTopic;
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::{
    ByteString, FetchRequest, FindCoordinatorRequest, ListOffsetsRequest, MetadataRequest, OffsetCommitRequest,
    OffsetFetchRequest, ProduceRequest, Request,
};
use milena_wire::{Error, Result};

use crate::group::by_topic;
use crate::payload::{
    FetchRequestPayload, ListOffsetRequestPayload, OffsetCommitRequestPayload, OffsetFetchRequestPayload,
    OffsetRequestPayload, ProduceRequestPayload,
};

/// A consumer, not a replica.
const CONSUMER: i32 = -1;

fn frame<R: Request>(client_id: &str, correlation_id: i32, request: &R, version: i16) -> Result<Bytes> {
    let client_id = ByteString::from(client_id);
    request_frame(request, version, correlation_id, Some(&client_id)).map_err(|error| match error {
        ConnectionError::Encode { error, .. } => error,
        other => Error::invalid(other.to_string()),
    })
}

/// The frame of Produce, version 0. Messages are sent at offset 0, with their checksums computed again.
///
/// `acks`: 1 = the leader has it, 0 = no response at all, -1 = all in-sync replicas have it. `timeout`: milliseconds that
/// the leader may wait for the others. Brokers from 4.0 on do not take this version.
///
/// # Errors
/// Other acks; two payloads for one partition; text above 32767 bytes; more bytes than an int32 counts.
pub fn encode_produce_request(
    client_id: &str,
    correlation_id: i32,
    payloads: &[ProduceRequestPayload],
    acks: i16,
    timeout: i32,
) -> Result<Bytes> {
    if !(-1..=1).contains(&acks) {
        return Err(Error::invalid(format!("acks are 1, 0 or -1, not {acks}")).within("acks"));
    }
    let mut topic_data = Vec::new();
    for (name, payloads) in by_topic(payloads)? {
        let mut partition_data = Vec::with_capacity(payloads.len());
        for payload in payloads {
            let mut set = Vec::new();
            payload.messages.iter().try_for_each(|message| message.entry(0, &mut set))?;
            let records = Some(set.into());
            partition_data.push(PartitionProduceData { index: payload.partition, records, ..Default::default() });
        }
        topic_data.push(TopicProduceData { name, partition_data, ..Default::default() });
    }
    let request = ProduceRequest { acks, timeout_ms: timeout, topic_data, ..Default::default() };
    frame(client_id, correlation_id, &request, 0)
}

/// The frame of Fetch, version 0: asks for messages of magic 0.
///
/// `max_wait_time`: milliseconds that the broker may wait for `min_bytes` bytes to come together.
///
/// # Errors
/// Two payloads for one partition; text above 32767 bytes.
pub fn encode_fetch_request(
    client_id: &str,
    correlation_id: i32,
    payloads: &[FetchRequestPayload],
    max_wait_time: i32,
    min_bytes: i32,
) -> Result<Bytes> {
    let partition = |payload: &FetchRequestPayload| FetchPartition {
        partition: payload.partition,
        fetch_offset: payload.offset,
        partition_max_bytes: payload.max_bytes,
        ..Default::default()
    };
    let topics = by_topic(payloads)?.into_iter().map(|(topic, payloads)| FetchTopic {
        topic,
        partitions: payloads.into_iter().map(partition).collect(),
        ..Default::default()
    });
    let request = FetchRequest {
        replica_id: CONSUMER,
        max_wait_ms: max_wait_time,
        min_bytes,
        topics: topics.collect(),
        ..Default::default()
    };
    frame(client_id, correlation_id, &request, 0)
}

/// The frame of ListOffsets, version 0: asks for the first offsets of log segments.
///
/// # Errors
/// Two payloads for one partition; text above 32767 bytes.
pub fn encode_offset_request(client_id: &str, correlation_id: i32, payloads: &[OffsetRequestPayload]) -> Result<Bytes> {
    let partition = |payload: &OffsetRequestPayload| ListOffsetsPartition {
        partition_index: payload.partition,
        timestamp: payload.time,
        max_num_offsets: payload.max_offsets,
        ..Default::default()
    };
    let topics = by_topic(payloads)?.into_iter().map(|(name, payloads)| ListOffsetsTopic {
        name,
        partitions: payloads.into_iter().map(partition).collect(),
        ..Default::default()
    });
    let request = ListOffsetsRequest { replica_id: CONSUMER, topics: topics.collect(), ..Default::default() };
    frame(client_id, correlation_id, &request, 0)
}

/// The frame of ListOffsets, version 1: asks for the first offset at or after a time.
///
/// # Errors
/// Two payloads for one partition; text above 32767 bytes.
pub fn encode_list_offset_request(
    client_id: &str,
    correlation_id: i32,
    payloads: &[ListOffsetRequestPayload],
) -> Result<Bytes> {
    let partition = |payload: &ListOffsetRequestPayload| ListOffsetsPartition {
        partition_index: payload.partition,
        timestamp: payload.time,
        ..Default::default()
    };
    let topics = by_topic(payloads)?.into_iter().map(|(name, payloads)| ListOffsetsTopic {
        name,
        partitions: payloads.into_iter().map(partition).collect(),
        ..Default::default()
    });
    let request = ListOffsetsRequest { replica_id: CONSUMER, topics: topics.collect(), ..Default::default() };
    frame(client_id, correlation_id, &request, 1)
}

/// The frame of Metadata, version 0. No topics at all asks for all of them.
///
/// # Errors
/// Text above 32767 bytes.
pub fn encode_metadata_request<T: AsRef<str>>(client_id: &str, correlation_id: i32, topics: &[T]) -> Result<Bytes> {
    let topics = topics
        .iter()
        .map(|name| MetadataRequestTopic { name: Some(name.as_ref().into()), ..Default::default() })
        .collect();
    frame(client_id, correlation_id, &MetadataRequest { topics: Some(topics), ..Default::default() }, 0)
}

/// The frame of FindCoordinator, version 0, which was called ConsumerMetadata then: asks which broker looks after a
/// consumer group.
///
/// # Errors
/// Text above 32767 bytes.
pub fn encode_consumer_metadata_request(client_id: &str, correlation_id: i32, group: &str) -> Result<Bytes> {
    frame(client_id, correlation_id, &FindCoordinatorRequest { key: group.into(), ..Default::default() }, 0)
}

/// The frame of OffsetCommit, version 0: commits to ZooKeeper, no matter who is in the group. Brokers from 4.0 on do not take
/// this version.
///
/// # Errors
/// Two payloads for one partition; text above 32767 bytes.
pub fn encode_offset_commit_request(
    client_id: &str,
    correlation_id: i32,
    group: &str,
    payloads: &[OffsetCommitRequestPayload],
) -> Result<Bytes> {
    let partition = |payload: &OffsetCommitRequestPayload| OffsetCommitRequestPartition {
        partition_index: payload.partition,
        committed_offset: payload.offset,
        committed_metadata: payload.metadata.clone(),
        ..Default::default()
    };
    let topics = by_topic(payloads)?.into_iter().map(|(name, payloads)| OffsetCommitRequestTopic {
        name,
        partitions: payloads.into_iter().map(partition).collect(),
        ..Default::default()
    });
    let request = OffsetCommitRequest { group_id: group.into(), topics: topics.collect(), ..Default::default() };
    frame(client_id, correlation_id, &request, 0)
}

/// The frame of OffsetFetch: version 1, for offsets that were committed to Kafka, with `from_kafka`, and version 0, for
/// those in ZooKeeper, without.
///
/// # Errors
/// Two payloads for one partition; text above 32767 bytes.
pub fn encode_offset_fetch_request(
    client_id: &str,
    correlation_id: i32,
    group: &str,
    payloads: &[OffsetFetchRequestPayload],
    from_kafka: bool,
) -> Result<Bytes> {
    let topics = by_topic(payloads)?.into_iter().map(|(name, payloads)| OffsetFetchRequestTopic {
        name,
        partition_indexes: payloads.into_iter().map(|payload| payload.partition).collect(),
        ..Default::default()
    });
    let request = OffsetFetchRequest { group_id: group.into(), topics: Some(topics.collect()), ..Default::default() };
    frame(client_id, correlation_id, &request, i16::from(from_kafka))
}
