//! What reading and writing the most used messages may ask of the allocator. The numbers are guards: fewer is progress,
//! more has to be argued for.

use allocation_counter::measure;
use milena_messages::fetch::response::{FetchableTopicResponse, PartitionData};
use milena_messages::join_group::response::JoinGroupResponseMember;
use milena_messages::metadata::response::{MetadataResponsePartition, MetadataResponseTopic};
use milena_messages::offset_fetch::response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};
use milena_messages::{
    Bytes, FetchResponse, JoinGroupResponse, Message, MetadataResponse, OffsetFetchResponse, ProduceRequest,
    RequestHeader,
};
use milena_wire::Writer;

fn metadata() -> MetadataResponse {
    let partition = |index: i32| MetadataResponsePartition {
        partition_index: index,
        replica_nodes: (0..3).collect(),
        isr_nodes: (0..3).collect(),
        ..Default::default()
    };
    let topic = |index: i32| MetadataResponseTopic {
        name: Some(format!("orders.region-{index:03}.v1").into()),
        partitions: (0..10).map(partition).collect(),
        ..Default::default()
    };
    MetadataResponse { topics: (0..100).map(topic).collect(), ..Default::default() }
}

fn fetch(records: &Bytes) -> FetchResponse {
    let partition = |index: i32| PartitionData {
        partition_index: index,
        records: Some(records.clone()),
        aborted_transactions: None,
        ..Default::default()
    };
    let topic = |index: i32| FetchableTopicResponse {
        topic: format!("orders.region-{index:03}.v1").into(),
        partitions: (0..10).map(partition).collect(),
        ..Default::default()
    };
    FetchResponse { responses: (0..5).map(topic).collect(), ..Default::default() }
}

/// Allocations of reading `value` out of bytes that several own, as those of a frame are.
fn decode_allocations<M: Message>(value: &M, version: i16) -> u64 {
    let bytes = value.to_bytes(version).expect("a value to write");
    let _shared = bytes.clone();
    let mut read = None;
    let info = measure(|| read = Some(M::from_bytes(bytes.clone(), version)));
    assert!(read.expect("measured").expect("bytes to read") == *value);
    info.count_total
}

fn encode_allocations<M: Message>(value: &M, version: i16) -> u64 {
    measure(|| drop(value.to_bytes(version).expect("a value to write"))).count_total
}

#[test]
fn metadata_costs_one_allocation_for_each_topic_and_one_for_the_list() {
    assert_eq!(decode_allocations(&metadata(), 12), 101);
}

#[test]
fn fetch_costs_one_allocation_for_each_topic_and_one_for_the_list() {
    assert_eq!(decode_allocations(&fetch(&Bytes::from(vec![7; 16 * 1024])), 12), 6);
}

#[test]
fn offset_fetch_of_many_partitions_costs_one_allocation_for_each_array() {
    let partition = |index: i32| OffsetFetchResponsePartitions {
        partition_index: index,
        metadata: Some("".into()),
        ..Default::default()
    };
    let topic = |index: i32| OffsetFetchResponseTopics {
        name: format!("orders.region-{index:03}.v1").into(),
        partitions: (0..100).map(partition).collect(),
        ..Default::default()
    };
    let group = OffsetFetchResponseGroup { topics: (0..100).map(topic).collect(), ..Default::default() };
    assert_eq!(decode_allocations(&OffsetFetchResponse { groups: vec![group], ..Default::default() }, 8), 102);
}

#[test]
fn a_request_header_costs_no_allocation() {
    let header = RequestHeader { client_id: Some("consumer-billing-1".into()), ..Default::default() };
    assert_eq!(decode_allocations(&header, 2), 0);
}

#[test]
fn a_small_message_is_written_with_two_allocations() {
    // The buffer, and what lets its owners share it.
    assert_eq!(encode_allocations(&ProduceRequest::default(), 9), 2);
}

#[test]
fn a_buffer_with_room_takes_a_message_without_an_allocation() {
    let header = RequestHeader { client_id: Some("consumer-billing-1".into()), ..Default::default() };
    let body = fetch(&Bytes::from(vec![7; 16 * 1024]));
    let mut buf = Vec::with_capacity(1024 * 1024);
    buf.extend_from_slice(b"size");
    let info = measure(|| {
        header.append_to(&mut buf, 2).expect("a value to write");
        body.append_to(&mut buf, 12).expect("a value to write");
    });
    assert_eq!(info.count_total, 0);
    let parts = [Bytes::from("size"), header.to_bytes(2).expect("a value"), body.to_bytes(12).expect("a value")];
    assert_eq!(buf, parts.concat());
}

#[test]
fn a_message_that_cannot_be_written_leaves_the_buffer_as_it_was() {
    let header = RequestHeader { client_id: Some("x".repeat(40_000).into()), ..Default::default() };
    let mut buf = b"size".to_vec();
    header.append_to(&mut buf, 2).expect_err("too long a string");
    assert_eq!(buf, b"size");
}

#[test]
fn a_list_of_like_elements_is_written_with_few_allocations() {
    // The first buffer, one that is foreseen to be large enough, and what lets its owners share it.
    let member = |index: usize| JoinGroupResponseMember {
        member_id: format!("consumer-billing-{index}-8c6b7a4e-0d3f-4b0e-9a52-3f1f0c2b7d1e").into(),
        metadata: Bytes::from(vec![7; 120]),
        ..Default::default()
    };
    let group = JoinGroupResponse { members: (0..50).map(member).collect(), ..Default::default() };
    assert_eq!(encode_allocations(&group, 9), 3);
    // One more, because the partitions of the first topic are foreseen before the topics are.
    assert_eq!(encode_allocations(&metadata(), 12), 4);
}

#[test]
fn a_first_element_larger_than_all_others_costs_64_kib_at_most() {
    let topic = |length: usize| MetadataResponseTopic { name: Some("x".repeat(length).into()), ..Default::default() };
    let topics = std::iter::once(topic(30_000)).chain((0..10_000).map(|_| topic(0))).collect();
    let response = MetadataResponse { topics, ..Default::default() };
    let size = response.to_bytes(12).expect("a value to write").len() as u64;
    let info = measure(|| drop(response.to_bytes(12).expect("a value to write")));
    // A buffer that grows doubles, and its old one is there until it is copied.
    assert!(info.bytes_max <= 3 * size + 64 * 1024, "{} bytes for {size}", info.bytes_max);
}

#[test]
fn records_are_copied_once_into_one_buffer_and_never_into_segments() {
    let response = fetch(&Bytes::from(vec![7; 16 * 1024]));
    let all = response.to_bytes(12).expect("a value to write").len() as u64;
    let one = measure(|| drop(response.to_bytes(12).expect("a value to write")));
    assert!(one.bytes_total < all + 16 * 1024, "{} bytes for {all}", one.bytes_total);
    let segments = measure(|| {
        let mut writer = Writer::in_segments(1024);
        response.encode(&mut writer, 12).expect("a value to write");
        drop(writer.into_segments());
    });
    assert!(segments.bytes_total < 16 * 1024, "{} bytes", segments.bytes_total);
}
