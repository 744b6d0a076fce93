//! Works on messages.

use milena_messages::api_versions::response::ApiVersion;
use milena_messages::fetch::response::{FetchableTopicResponse, PartitionData};
use milena_messages::join_group::response::JoinGroupResponseMember;
use milena_messages::metadata::response::{MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic};
use milena_messages::offset_fetch::response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::{
    ApiKey, ApiVersionsResponse, Bytes, FetchResponse, JoinGroupResponse, Message, MetadataResponse,
    OffsetFetchResponse, ProduceRequest, RequestHeader, Uuid,
};
use milena_wire::Writer;

use crate::Bench;
use crate::measure::subject;
use crate::peers::{self, Codec};

/// Byte strings from this length on are segments of their own in a vectored write.
const KEEP_FROM: usize = 1024;

macro_rules! rivals {
    ($bytes:expr, $version:expr, $name:ident, $module:ident) => {
        vec![
            peers::codec::<peers::KafkaProtocol, kafka_protocol::messages::$name>(&$bytes, $version),
            #[cfg(feature = "kafka-wire")]
            peers::codec::<peers::KafkaWire, kafka_wire::$name>(&$bytes, $version),
            #[cfg(feature = "odradek")]
            peers::codec::<peers::Odradek, odradek_protocol::messages::$module::$name>(&$bytes, $version),
        ]
    };
}

#[cfg(feature = "krabka")]
macro_rules! krabka {
    ($list:ident, $bytes:expr, $version:expr, $module:ident :: $name:ident) => {
        $list.push(peers::codec::<peers::Krabka, krabka_protocol::owned::$module::$name>(&$bytes, $version));
        $list.push(peers::krabka_borrowed!($bytes, $version, krabka_protocol::borrowed::$module::$name));
    };
}

#[cfg(not(feature = "krabka"))]
macro_rules! krabka {
    ($list:ident, $($rest:tt)*) => {
        let _ = &mut $list;
    };
}

/// Decode and encode of one message by milena and all peers.
fn works<M: Message>(bench: &mut Bench, name: &str, value: &M, version: i16, rivals: impl Fn(&Bytes) -> Vec<Codec>) {
    let (decode, encode) = (format!("{name} decode"), format!("{name} encode"));
    let segments = format!("{name} encode in segments");
    let with_segments = matches!(M::NAME, "FetchResponse" | "ProduceRequest");
    let wanted = [bench.wants(&decode), bench.wants(&encode), with_segments && bench.wants(&segments)];
    if wanted == [false; 3] {
        return;
    }
    let bytes = value.to_bytes(version).expect("a value that milena writes");
    assert!(M::from_bytes(bytes.clone(), version).expect("bytes that milena reads") == *value);
    let in_segments = || {
        let mut writer = Writer::in_segments(KEEP_FROM);
        value.encode(&mut writer, version).expect("a value that milena writes");
        writer.into_segments()
    };
    assert!(in_segments().concat() == bytes);
    if wanted[0] {
        let milena = subject("milena", || M::from_bytes(bytes.clone(), version).expect("bytes that milena reads"));
        bench.work(&decode, milena, rivals(&bytes).into_iter().filter_map(|peer| peer.decode).collect());
    }
    if wanted[1] {
        let milena = subject("milena", || value.to_bytes(version).expect("a value that milena writes"));
        bench.work(&encode, milena, rivals(&bytes).into_iter().filter_map(|peer| peer.encode).collect());
    }
    if wanted[2] {
        let milena = subject("milena", in_segments);
        bench.work(&segments, milena, rivals(&bytes).into_iter().filter_map(|peer| peer.encode).collect());
    }
}

pub fn run(bench: &mut Bench) {
    works(bench, "Metadata v12, 100 x 10 partitions,", &metadata(), 12, |bytes| {
        let mut list = rivals!(bytes, 12, MetadataResponse, metadata_response);
        krabka!(list, bytes, 12, metadata_response::MetadataResponse);
        list
    });
    // krabka-protocol opens the batches inside of Fetch and Produce: another work.
    works(bench, "Fetch v12, 50 partitions of 16 KiB,", &fetch(), 12, |bytes| {
        rivals!(bytes, 12, FetchResponse, fetch_response)
    });
    works(bench, "Produce v9, 10 partitions of 16 KiB,", &produce(), 9, |bytes| {
        rivals!(bytes, 9, ProduceRequest, produce_request)
    });
    works(bench, "JoinGroup v9, 50 members,", &join_group(), 9, |bytes| {
        let mut list = rivals!(bytes, 9, JoinGroupResponse, join_group_response);
        krabka!(list, bytes, 9, join_group_response::JoinGroupResponse);
        list
    });
    works(bench, "OffsetFetch v8, 10000 partitions,", &offset_fetch(), 8, |bytes| {
        let mut list = rivals!(bytes, 8, OffsetFetchResponse, offset_fetch_response);
        krabka!(list, bytes, 8, offset_fetch_response::OffsetFetchResponse);
        list
    });
    works(bench, "ApiVersions v3,", &api_versions(), 3, |bytes| {
        let mut list = rivals!(bytes, 3, ApiVersionsResponse, api_versions_response);
        krabka!(list, bytes, 3, api_versions_response::ApiVersionsResponse);
        list
    });
    let header = RequestHeader {
        request_api_key: ApiKey::FETCH,
        request_api_version: 12,
        correlation_id: 4711,
        client_id: Some("consumer-billing-1".into()),
        ..Default::default()
    };
    works(bench, "request header v2,", &header, 2, |bytes| {
        let mut list = rivals!(bytes, 2, RequestHeader, request_header);
        krabka!(list, bytes, 2, request_header::RequestHeader);
        list
    });
}

fn topic_name(index: usize) -> String {
    format!("orders.region-{index:03}.v1")
}

fn topic_id(index: usize) -> Uuid {
    Uuid::from_bytes((0x1234_5678_9abc_def0_u128 * (index as u128 + 1)).to_be_bytes())
}

fn metadata() -> MetadataResponse {
    let broker = |id: i32| MetadataResponseBroker {
        node_id: id,
        host: format!("broker-{id}.kafka.internal").into(),
        port: 9092,
        rack: Some(format!("zone-{}", id % 3).into()),
        ..Default::default()
    };
    let partition = |topic: usize, index: usize| {
        let first = (topic + index) as i32 % 6;
        MetadataResponsePartition {
            partition_index: index as i32,
            leader_id: first,
            leader_epoch: 7,
            replica_nodes: (0..3).map(|i| (first + i) % 6).collect(),
            isr_nodes: (0..3).map(|i| (first + i) % 6).collect(),
            ..Default::default()
        }
    };
    MetadataResponse {
        brokers: (0..6).map(broker).collect(),
        cluster_id: Some("kq3bS5xhQ9eVtHk5e0yB3g".into()),
        controller_id: 1,
        topics: (0..100)
            .map(|topic| MetadataResponseTopic {
                name: Some(topic_name(topic).into()),
                topic_id: topic_id(topic),
                partitions: (0..10).map(|index| partition(topic, index)).collect(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}

/// 16 KiB of one record batch.
fn records() -> Bytes {
    let record = milena_records::Record::from_value(vec![b'x'; 16 * 1024 - 80]);
    milena_records::encode([&record], milena_records::Codec::None).expect("one record")
}

fn fetch() -> FetchResponse {
    let records = records();
    FetchResponse {
        session_id: 1_234_567,
        responses: (0..5)
            .map(|topic| FetchableTopicResponse {
                topic: topic_name(topic).into(),
                partitions: (0..10)
                    .map(|index| PartitionData {
                        partition_index: index,
                        high_watermark: 1_000_000 + i64::from(index),
                        last_stable_offset: 1_000_000,
                        log_start_offset: 17,
                        records: Some(records.clone()),
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}

fn produce() -> ProduceRequest {
    let records = records();
    ProduceRequest {
        acks: -1,
        timeout_ms: 30_000,
        topic_data: (0..2)
            .map(|topic| TopicProduceData {
                name: topic_name(topic).into(),
                partition_data: (0..5)
                    .map(|index| PartitionProduceData { index, records: Some(records.clone()), ..Default::default() })
                    .collect(),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}

fn join_group() -> JoinGroupResponse {
    let member = |index: usize| format!("consumer-billing-{index}-8c6b7a4e-0d3f-4b0e-9a52-3f1f0c2b7d1e");
    JoinGroupResponse {
        generation_id: 12,
        protocol_type: Some("consumer".into()),
        protocol_name: Some("cooperative-sticky".into()),
        leader: member(0).into(),
        member_id: member(0).into(),
        members: (0..50)
            .map(|index| JoinGroupResponseMember {
                member_id: member(index).into(),
                metadata: Bytes::from(vec![index as u8; 120]),
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    }
}

fn offset_fetch() -> OffsetFetchResponse {
    OffsetFetchResponse {
        groups: vec![OffsetFetchResponseGroup {
            group_id: "billing".into(),
            topics: (0..100)
                .map(|topic| OffsetFetchResponseTopics {
                    name: topic_name(topic).into(),
                    partitions: (0..100)
                        .map(|index| OffsetFetchResponsePartitions {
                            partition_index: index,
                            committed_offset: 1_000_000 + i64::from(index),
                            committed_leader_epoch: 5,
                            metadata: Some("".into()),
                            ..Default::default()
                        })
                        .collect(),
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn api_versions() -> ApiVersionsResponse {
    ApiVersionsResponse {
        api_keys: (0..75)
            .map(|key| ApiVersion { api_key: ApiKey(key), max_version: key % 13, ..Default::default() })
            .collect(),
        ..Default::default()
    }
}
