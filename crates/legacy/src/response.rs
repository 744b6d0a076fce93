use bytes::Bytes;
use milena_messages::{
    FetchResponse, FindCoordinatorResponse, ListOffsetsResponse, MetadataResponse, OffsetCommitResponse,
    OffsetFetchResponse, ProduceResponse, Response,
};
use milena_wire::{At, Reader, Result};

use crate::message_set::decode_message_set;
use crate::payload::{
    ConsumerMetadataResponse, FetchResponsePayload, ListOffsetResponsePayload, OffsetCommitResponsePayload,
    OffsetFetchResponsePayload, OffsetResponsePayload, ProduceResponsePayload,
};

/// Reads the body after the correlation id.
fn body<R: Response>(response: Bytes, version: i16) -> Result<R> {
    let mut reader = Reader::new(response);
    reader.i32().at("correlationId")?;
    R::decode(&mut reader, version)
}

/// Reads the response to [`encode_produce_request`](crate::encode_produce_request), from the correlation id on: a payload
/// for each partition, in the order of the response.
///
/// # Errors
/// Bytes that are not such a response.
pub fn decode_produce_response(response: Bytes) -> Result<Vec<ProduceResponsePayload>> {
    let mut out = Vec::new();
    for topic in body::<ProduceResponse>(response, 0)?.responses {
        out.extend(topic.partition_responses.into_iter().map(|partition| ProduceResponsePayload {
            topic: topic.name.clone(),
            partition: partition.index,
            error: partition.error_code,
            offset: partition.base_offset,
        }));
    }
    Ok(out)
}

/// Reads the response to [`encode_fetch_request`](crate::encode_fetch_request), from the correlation id on: a payload for
/// each partition, with all of its messages out of their compression. Keys and values share the memory of the response
/// unless they were compressed.
///
/// # Errors
/// Bytes that are not such a response, and messages that [`decode_message_set`] refuses; those are named by topic,
/// partition and entry, with bytes counted in the set of the partition.
pub fn decode_fetch_response(response: Bytes) -> Result<Vec<FetchResponsePayload>> {
    let mut out = Vec::new();
    for topic in body::<FetchResponse>(response, 0)?.responses {
        for partition in topic.partitions {
            let messages = decode_message_set(partition.records.unwrap_or_default())
                .map_err(|error| error.within(format!("{}-{}", topic.topic, partition.partition_index)))?;
            out.push(FetchResponsePayload {
                topic: topic.topic.clone(),
                partition: partition.partition_index,
                error: partition.error_code,
                highwater_mark: partition.high_watermark,
                messages,
            });
        }
    }
    Ok(out)
}

/// Reads the response to [`encode_offset_request`](crate::encode_offset_request), from the correlation id on: a payload for
/// each partition.
///
/// # Errors
/// Bytes that are not such a response.
pub fn decode_offset_response(response: Bytes) -> Result<Vec<OffsetResponsePayload>> {
    let mut out = Vec::new();
    for topic in body::<ListOffsetsResponse>(response, 0)?.topics {
        out.extend(topic.partitions.into_iter().map(|partition| OffsetResponsePayload {
            topic: topic.name.clone(),
            partition: partition.partition_index,
            error: partition.error_code,
            offsets: partition.old_style_offsets,
        }));
    }
    Ok(out)
}

/// Reads the response to [`encode_list_offset_request`](crate::encode_list_offset_request), from the correlation id on: a
/// payload for each partition.
///
/// # Errors
/// Bytes that are not such a response.
pub fn decode_list_offset_response(response: Bytes) -> Result<Vec<ListOffsetResponsePayload>> {
    let mut out = Vec::new();
    for topic in body::<ListOffsetsResponse>(response, 1)?.topics {
        out.extend(topic.partitions.into_iter().map(|partition| ListOffsetResponsePayload {
            topic: topic.name.clone(),
            partition: partition.partition_index,
            error: partition.error_code,
            timestamp: partition.timestamp,
            offset: partition.offset,
        }));
    }
    Ok(out)
}

/// Reads the response to [`encode_metadata_request`](crate::encode_metadata_request), from the correlation id on. As in
/// kafka-python it comes whole.
///
/// # Errors
/// Bytes that are not such a response.
pub fn decode_metadata_response(response: Bytes) -> Result<MetadataResponse> {
    body(response, 0)
}

/// Reads the response to [`encode_consumer_metadata_request`](crate::encode_consumer_metadata_request), from the
/// correlation id on.
///
/// # Errors
/// Bytes that are not such a response.
pub fn decode_consumer_metadata_response(data: Bytes) -> Result<ConsumerMetadataResponse> {
    let response: FindCoordinatorResponse = body(data, 0)?;
    Ok(ConsumerMetadataResponse {
        error: response.error_code,
        node_id: response.node_id,
        host: response.host,
        port: response.port,
    })
}

/// Reads the response to [`encode_offset_commit_request`](crate::encode_offset_commit_request), from the correlation id on:
/// a payload for each partition.
///
/// # Errors
/// Bytes that are not such a response.
pub fn decode_offset_commit_response(response: Bytes) -> Result<Vec<OffsetCommitResponsePayload>> {
    let mut out = Vec::new();
    for topic in body::<OffsetCommitResponse>(response, 0)?.topics {
        out.extend(topic.partitions.into_iter().map(|partition| OffsetCommitResponsePayload {
            topic: topic.name.clone(),
            partition: partition.partition_index,
            error: partition.error_code,
        }));
    }
    Ok(out)
}

/// Reads the response to [`encode_offset_fetch_request`](crate::encode_offset_fetch_request), from the correlation id on: a
/// payload for each partition. Versions 0 and 1 look the same.
///
/// # Errors
/// Bytes that are not such a response.
pub fn decode_offset_fetch_response(response: Bytes) -> Result<Vec<OffsetFetchResponsePayload>> {
    let mut out = Vec::new();
    for topic in body::<OffsetFetchResponse>(response, 0)?.topics {
        out.extend(topic.partitions.into_iter().map(|partition| OffsetFetchResponsePayload {
            topic: topic.name.clone(),
            partition: partition.partition_index,
            offset: partition.committed_offset,
            metadata: partition.metadata,
            error: partition.error_code,
        }));
    }
    Ok(out)
}
