//! One broker as a client sees it: bytes over a socket.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use milena_broker::{Broker, BrokerConfig};
use milena_messages::create_topics::request::{CreatableTopic, CreatableTopicConfig};
use milena_messages::fetch::request::{FetchPartition, FetchTopic};
use milena_messages::fetch::response::PartitionData;
use milena_messages::list_offsets::request::{ListOffsetsPartition, ListOffsetsTopic};
use milena_messages::metadata::request::MetadataRequestTopic;
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::produce::response::PartitionProduceResponse;
use milena_messages::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, Bytes, CreateTopicsRequest, DeleteTopicsRequest, ErrorCode,
    FetchRequest, InitProducerIdRequest, ListOffsetsRequest, Message, MetadataRequest, ProduceRequest, Uuid,
};
use milena_records::{Batch, BatchBuilder, Batches, Codec, ReadOptions, Record, TimestampType, encode};
use milena_wire::Reader;

use super::client::Client;

impl Client {
    fn create(&mut self, name: &str, configs: &[(&str, &str)]) -> Uuid {
        let configs = configs.iter().map(|(name, value)| CreatableTopicConfig {
            name: (*name).into(),
            value: Some((*value).into()),
            ..Default::default()
        });
        let topic = CreatableTopic {
            name: name.into(),
            num_partitions: 1,
            replication_factor: 1,
            configs: configs.collect(),
            ..Default::default()
        };
        let result = self.call(&CreateTopicsRequest { topics: vec![topic], ..Default::default() }, 7).topics.remove(0);
        assert_eq!(result.error_code, ErrorCode::NONE, "{:?}", result.error_message);
        result.topic_id
    }

    fn produce(&mut self, topic: (&str, Uuid), records: Bytes, version: i16) -> PartitionProduceResponse {
        let response = self.call(&produce(topic, records, -1), version);
        response.responses[0].partition_responses[0].clone()
    }

    fn fetch(&mut self, topic: (&str, Uuid), offset: i64, version: i16) -> PartitionData {
        self.call(&fetch(topic, offset, 0), version).responses[0].partitions[0].clone()
    }
}
fn produce(topic: (&str, Uuid), records: Bytes, acks: i16) -> ProduceRequest {
    let partition = PartitionProduceData { index: 0, records: Some(records), ..Default::default() };
    let data = TopicProduceData {
        name: topic.0.into(),
        topic_id: topic.1,
        partition_data: vec![partition],
        ..Default::default()
    };
    ProduceRequest { acks, timeout_ms: 1000, topic_data: vec![data], ..Default::default() }
}

fn fetch(topic: (&str, Uuid), fetch_offset: i64, max_wait_ms: i32) -> FetchRequest {
    let partition = FetchPartition { fetch_offset, partition_max_bytes: 1 << 20, ..Default::default() };
    let topic =
        FetchTopic { topic: topic.0.into(), topic_id: topic.1, partitions: vec![partition], ..Default::default() };
    FetchRequest { max_wait_ms, min_bytes: 1, topics: vec![topic], ..Default::default() }
}

fn records(data: &PartitionData) -> Vec<Record> {
    let batches = Batches::new(data.records.clone().unwrap());
    batches.flat_map(|batch| batch.unwrap().into_records().map(Result::unwrap)).collect()
}

/// A broker on a runtime of its own, and the first connection to it.
fn start(config: BrokerConfig) -> (tokio::runtime::Runtime, Broker, Client) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let broker = runtime.block_on(Broker::start(config)).unwrap();
    let client = Client::new(broker.address());
    (runtime, broker, client)
}

#[test]
fn what_was_produced_at_any_version_is_fetched_at_any_version() {
    let (_runtime, _broker, mut client) = start(BrokerConfig::default());
    let topic = ("letters", client.create("letters", &[]));
    let mut expected = Vec::new();
    for version in 3..=13 {
        for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4] {
            let record = Record::new("key", format!("{codec} at {version}")).with_timestamp(1_700_000_000_000);
            let record = record.with_offset(expected.len() as i64);
            let answer = client.produce(topic, encode(std::slice::from_ref(&record), codec).unwrap(), version);
            assert_eq!((answer.error_code, answer.base_offset), (ErrorCode::NONE, expected.len() as i64));
            expected.push(record);
        }
    }
    for version in 0..=18 {
        let data = client.fetch(topic, 0, version);
        assert_eq!(data.error_code, ErrorCode::NONE, "version {version}");
        assert_eq!(data.high_watermark, expected.len() as i64);
        let mut found = records(&data);
        if version < 2 {
            found.iter_mut().for_each(|record| record.timestamp = 1_700_000_000_000);
        }
        assert_eq!(found, expected, "version {version}");
    }
}

#[test]
fn message_sets_go_in_and_come_out() {
    let (_runtime, _broker, mut client) = start(BrokerConfig::default());
    let topic = ("letters", client.create("letters", &[]));
    let mut batch = BatchBuilder::new();
    batch.push(&Record::new("k", "v").with_timestamp(1_700_000_000_000)).unwrap();
    client.produce(topic, batch.build().unwrap(), 9);
    // What version 2 fetches is a message of magic 1: just what version 2 produces.
    let messages = client.fetch(topic, 0, 2).records.unwrap();
    for version in 0..=2 {
        let answer = client.produce(topic, messages.clone(), version);
        assert_eq!((answer.error_code, answer.base_offset), (ErrorCode::NONE, i64::from(version) + 1));
    }
    let found = records(&client.fetch(topic, 0, 12));
    assert_eq!(found.len(), 4);
    for (offset, record) in found.into_iter().enumerate() {
        let expected = Record::new("k", "v").with_timestamp(1_700_000_000_000).with_offset(offset as i64);
        assert_eq!(record, expected);
    }
}

#[test]
fn opaque_batches_come_back_byte_for_byte() {
    let (_runtime, _broker, mut client) = start(BrokerConfig::default());
    let topic = ("letters", client.create("letters", &[]));
    let mut sent = Vec::new();
    for codec in Codec::ALL {
        let list =
            [Record::new("k", "v"), Record { value: Some(Bytes::new()), ..Record::default() }, Record::default()];
        let batch = encode(&list, codec).unwrap();
        assert_eq!(client.produce(topic, batch.clone(), 9).error_code, ErrorCode::NONE);
        sent.push(batch);
    }
    let data = client.fetch(topic, 0, 12);
    let found: Vec<Batch> = Batches::new(data.records.unwrap()).map(Result::unwrap).collect();
    assert_eq!(found.len(), sent.len());
    for (index, (batch, sent)) in found.iter().zip(&sent).enumerate() {
        assert_eq!((batch.base_offset(), batch.partition_leader_epoch()), (3 * index as i64, 0));
        // All but the base offset and the leader epoch, which the broker sets.
        assert_eq!((&batch.bytes()[8..12], &batch.bytes()[16..]), (&sent[8..12], &sent[16..]));
    }
}

#[test]
fn a_waiting_fetch_wakes_for_records_and_gives_up_in_time() {
    let (_runtime, broker, mut client) = start(BrokerConfig::default());
    let topic = ("letters", client.create("letters", &[]));
    let begin = Instant::now();
    assert!(records(&client.call(&fetch(topic, 0, 200), 13).responses[0].partitions[0]).is_empty());
    assert!(begin.elapsed() >= Duration::from_millis(200));

    let begin = Instant::now();
    client.send(&fetch(topic, 0, 15_000), 13);
    let mut other = Client::new(broker.address());
    std::thread::sleep(Duration::from_millis(50));
    other.produce(topic, encode(&[Record::from_value("news")], Codec::None).unwrap(), 9);
    let response = client.receive::<FetchRequest>(13);
    assert_eq!(records(&response.responses[0].partitions[0]).len(), 1);
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn requests_that_come_together_get_responses_in_their_order() {
    let (_runtime, _broker, mut client) = start(BrokerConfig::default());
    let topic = ("letters", client.create("letters", &[]));
    client.send(&fetch(topic, 0, 100), 12);
    client.send(&MetadataRequest::default(), 12);
    client.correlation_id -= 1;
    client.receive::<FetchRequest>(12);
    client.correlation_id += 1;
    client.receive::<MetadataRequest>(12);
}

#[test]
fn acks_0_has_no_response_and_its_error_closes() {
    let (_runtime, broker, mut client) = start(BrokerConfig::default());
    let topic = ("letters", client.create("letters", &[]));
    let batch = encode(&[Record::from_value("x")], Codec::None).unwrap();
    client.send(&produce(topic, batch, 0), 9);
    // The next response is that of the next request.
    assert_eq!(records(&client.fetch(topic, 0, 12)).len(), 1);
    client.send(&produce(topic, Bytes::from_static(b"not a batch"), 0), 9);
    assert!(client.read().is_none());
    assert_eq!(records(&Client::new(broker.address()).fetch(topic, 0, 12)).len(), 1);
}

#[test]
fn errors_of_producers_reach_them() {
    let (_runtime, _broker, mut client) = start(BrokerConfig::default());
    let topic = ("letters", client.create("letters", &[]));
    let mut damaged = encode(&[Record::from_value("x")], Codec::None).unwrap().to_vec();
    *damaged.last_mut().unwrap() ^= 1;
    assert_eq!(client.produce(topic, damaged.into(), 9).error_code, ErrorCode::CORRUPT_MESSAGE);
    let batch = encode(&[Record::from_value("x")], Codec::None).unwrap();
    let unknown = ("nothing", Uuid::from_bytes([9; 16]));
    assert_eq!(client.produce(unknown, batch.clone(), 12).error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(client.produce(unknown, batch, 13).error_code, ErrorCode::UNKNOWN_TOPIC_ID);
    assert_eq!(client.fetch(topic, 0, 12).high_watermark, 0);
}

#[test]
fn a_repeated_batch_of_an_idempotent_producer_is_appended_once() {
    let (_runtime, _broker, mut client) = start(BrokerConfig::default());
    let topic = ("letters", client.create("letters", &[]));
    let id = client.call(&InitProducerIdRequest { transactional_id: None, ..Default::default() }, 5).producer_id;
    let batch = |sequence| {
        let mut builder = BatchBuilder::new().producer(id, 0, sequence);
        builder.push(&Record::from_value("x")).unwrap();
        builder.build().unwrap()
    };
    let mut send = |sequence| {
        let answer = client.produce(topic, batch(sequence), 9);
        (answer.error_code, answer.base_offset)
    };
    assert_eq!([send(0), send(1), send(0)], [(ErrorCode::NONE, 0), (ErrorCode::NONE, 1), (ErrorCode::NONE, 0)]);
    assert_eq!(send(3).0, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
    assert_eq!(client.fetch(topic, 0, 12).high_watermark, 2);
}

#[test]
fn log_append_time_is_the_clock_of_the_broker() {
    let (_runtime, _broker, mut client) = start(BrokerConfig::default());
    let topic = ("letters", client.create("letters", &[("message.timestamp.type", "LogAppendTime")]));
    let batch = encode(&[Record::from_value("x").with_timestamp(5)], Codec::Gzip).unwrap();
    let answer = client.produce(topic, batch, 9);
    assert!(answer.log_append_time_ms > 1_700_000_000_000);
    let bytes = client.fetch(topic, 0, 12).records.unwrap();
    let batch = Batch::parse(bytes, ReadOptions::default()).unwrap();
    assert_eq!(batch.timestamp_type(), TimestampType::LogAppendTime);
    assert_eq!(batch.into_records().next().unwrap().unwrap().timestamp, answer.log_append_time_ms);
}

#[test]
fn offsets_are_found_by_time_and_at_the_ends() {
    let (_runtime, _broker, mut client) = start(BrokerConfig::default());
    let topic = ("letters", client.create("letters", &[]));
    let list: Vec<_> = (0..5).map(|n| Record::from_value("x").with_timestamp(1000 + n)).collect();
    client.produce(topic, encode(&list, Codec::Lz4).unwrap(), 9);
    let mut find = |timestamp, version| {
        let partition = ListOffsetsPartition { timestamp, ..Default::default() };
        let topic = ListOffsetsTopic { name: "letters".into(), partitions: vec![partition], ..Default::default() };
        let response = client.call(&ListOffsetsRequest { topics: vec![topic], ..Default::default() }, version);
        response.topics[0].partitions[0].clone()
    };
    for version in 1..=11 {
        assert_eq!([find(-2, version).offset, find(-1, version).offset, find(1003, version).offset], [0, 5, 3]);
    }
    assert_eq!(find(-1, 0).old_style_offsets, [5]);
    assert_eq!(find(-3, 7).offset, 4);
}

#[test]
fn topics_come_by_asking_and_go_by_deleting() {
    let (_runtime, broker, mut client) = start(BrokerConfig { default_partitions: 4, ..Default::default() });
    for version in 0..=13 {
        let name = format!("asked-for-at-{version}");
        let topic = MetadataRequestTopic { name: Some(name.as_str().into()), ..Default::default() };
        let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
        // As in Kafka the topic is there after the first response.
        let first = client.call(&request, version);
        assert_eq!(first.topics[0].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        let response = client.call(&request, version);
        assert_eq!(response.topics[0].partitions.len(), 4);
        assert_eq!(format!("{}:{}", response.brokers[0].host, response.brokers[0].port), broker.bootstrap());
        let delete = DeleteTopicsRequest { topic_names: vec![name.as_str().into()], ..Default::default() };
        assert_eq!(client.call(&delete, 5).responses[0].error_code, ErrorCode::NONE);
        assert_eq!(client.call(&delete, 5).responses[0].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    }
}

#[test]
fn api_versions_above_ours_gets_error_35_in_the_form_of_version_0() {
    let (_runtime, _broker, mut client) = start(BrokerConfig::default());
    client.write(ApiKey::API_VERSIONS, 99, b"whatever version 99 may look like");
    let mut reader = Reader::new(client.read().unwrap());
    assert_eq!(reader.i32().unwrap(), client.correlation_id);
    let response = ApiVersionsResponse::decode(&mut reader, 0).unwrap();
    assert_eq!(response.error_code, ErrorCode::UNSUPPORTED_VERSION);
    let [entry] = &response.api_keys[..] else { panic!("one entry was expected: {response:?}") };
    assert_eq!((entry.api_key, entry.min_version, entry.max_version), (ApiKey::API_VERSIONS, 0, 5));
    // The connection goes on.
    let request = ApiVersionsRequest {
        client_software_name: "sockets".into(),
        client_software_version: "1".into(),
        ..Default::default()
    };
    for version in 0..=5 {
        let response = client.call(&request, version);
        assert_eq!(response.error_code, ErrorCode::NONE);
        assert!(response.api_keys.iter().any(|entry| entry.api_key == ApiKey::PRODUCE && entry.max_version == 13));
    }
}

#[test]
fn what_cannot_be_read_ends_its_own_connection_only() {
    let (_runtime, broker, mut client) = start(BrokerConfig { max_frame: 1000, ..Default::default() });
    let bad: [&[u8]; 6] = [
        // Metadata 14 and an API that nobody has.
        b"\0\0\0\x0a\0\x03\0\x0e\0\0\0\x01\xff\xff",
        b"\0\0\0\x0a\x03\xe7\0\0\0\0\0\x01\xff\xff",
        // Too large, negative, no room for a header, half a Produce.
        b"\0\0\x03\xe9",
        b"\xff\xff\xff\xff",
        b"\0\0\0\x03\0\x03\0",
        b"\0\0\0\x0c\0\0\0\x03\0\0\0\x01\xff\xff\xff\xff",
    ];
    for bytes in bad {
        let mut hostile = Client::new(broker.address());
        hostile.socket.write_all(bytes).unwrap();
        assert!(hostile.read().is_none(), "{bytes:?}");
    }
    client.call(&MetadataRequest::default(), 12);
}

#[test]
fn connections_above_the_limit_and_idle_ones_are_closed() {
    let config = BrokerConfig { max_connections: 1, idle_timeout: Duration::from_millis(300), ..Default::default() };
    let (_runtime, broker, mut client) = start(config);
    client.call(&MetadataRequest::default(), 12);
    assert!(Client::new(broker.address()).read().is_none());
    assert!(client.read().is_none());
}

#[test]
fn shutdown_ends_waiting_fetches_and_frees_the_port() {
    let (runtime, broker, mut client) = start(BrokerConfig::default());
    let topic = ("letters", client.create("letters", &[]));
    client.send(&fetch(topic, 0, 60_000), 12);
    std::thread::sleep(Duration::from_millis(50));
    let address = broker.address();
    let begin = Instant::now();
    runtime.block_on(broker.shutdown());
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert!(client.read().is_none());
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_dropped_broker_is_gone() {
    let (runtime, broker, mut client) = start(BrokerConfig::default());
    client.call(&MetadataRequest::default(), 12);
    drop(broker);
    assert!(client.read().is_none());
    drop(runtime);
}

#[test]
fn requests_are_kept_for_tests_that_want_to_see_them() {
    let (_runtime, broker, mut client) = start(BrokerConfig { requests_kept: 3, ..Default::default() });
    let topic = ("letters", client.create("letters", &[]));
    client.produce(topic, encode(&[Record::from_value("x")], Codec::None).unwrap(), 9);
    client.fetch(topic, 0, 12);
    client.call(&MetadataRequest::default(), 12);
    let requests = broker.requests();
    let seen: Vec<_> = requests.iter().map(|one| (one.number(), one.api_key(), one.api_version())).collect();
    assert_eq!(seen, [(1, ApiKey::PRODUCE, 9), (2, ApiKey::FETCH, 12), (3, ApiKey::METADATA, 12)]);
    let produced = &requests[0];
    assert_eq!((produced.client_id(), produced.correlation_id()), (Some("sockets"), 2));
    assert_eq!(produced.peer(), client.socket.local_addr().unwrap());
    assert_eq!(produced.decode::<ProduceRequest>().unwrap().topic_data[0].name, "letters");
    assert!(produced.decode::<FetchRequest>().is_err());
}

#[test]
fn connections_that_never_send_give_way() {
    let (_runtime, broker, mut client) = start(BrokerConfig { max_connections: 3, ..Default::default() });
    client.call(&MetadataRequest::default(), 12);
    let mut silent = [Client::new(broker.address()), Client::new(broker.address())];
    let mut fresh = [Client::new(broker.address()), Client::new(broker.address())];
    for one in &mut fresh {
        one.call(&MetadataRequest::default(), 12);
    }
    for one in &mut silent {
        assert!(one.read().is_none());
    }
    // All three have sent requests, so the next one is refused.
    assert!(Client::new(broker.address()).read().is_none());
    client.call(&MetadataRequest::default(), 12);
}
