//! Quotas that hold clients back, by a virtual clock. The times are those that Kafka 4.4 gave.

use std::time::Duration;

use milena_broker::{BrokerCluster, BrokerConfig, ClusterConfig};
use milena_messages::alter_client_quotas::request::{EntityData, EntryData, OpData};
use milena_messages::create_topics::request::CreatableTopic;
use milena_messages::fetch::request::{FetchPartition, FetchTopic};
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::{
    AlterClientQuotasRequest, ApiKey, CreateTopicsRequest, DeleteTopicsRequest, ErrorCode, FetchRequest, Message as _,
    MetadataRequest, ProduceRequest,
};
use milena_records::{Codec, Record, encode};

use super::client::Client;

async fn cluster() -> (BrokerCluster, Client) {
    let broker = BrokerConfig { virtual_clock: Some(1_700_000_000_000), ..BrokerConfig::default() };
    let config = ClusterConfig { nodes: 1, broker, ..ClusterConfig::default() };
    let cluster = BrokerCluster::start(config).await.unwrap();
    cluster.create_topic("a", 1, 1).unwrap();
    let client = Client::new(cluster.address(1).unwrap());
    (cluster, client)
}

/// A quota of the client id that the clients of these tests have.
fn limit(client: &mut Client, key: &str, value: f64) {
    let entity =
        EntityData { entity_type: "client-id".into(), entity_name: Some("sockets".into()), ..Default::default() };
    let op = OpData { key: key.into(), value, ..Default::default() };
    let entry = EntryData { entity: vec![entity], ops: vec![op], ..Default::default() };
    let request = AlterClientQuotasRequest { entries: vec![entry], ..Default::default() };
    assert_eq!(client.call(&request, 1).entries[0].error_code, ErrorCode::NONE);
}

fn produce(bytes: usize) -> ProduceRequest {
    let records = Some(encode(&[Record::from_value(vec![0; bytes])], Codec::None).unwrap());
    let partition = PartitionProduceData { index: 0, records, ..Default::default() };
    let topic = TopicProduceData { name: "a".into(), partition_data: vec![partition], ..Default::default() };
    ProduceRequest { acks: 1, topic_data: vec![topic], ..Default::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_producer_gets_its_response_at_once_and_then_waits() {
    let (cluster, mut client) = cluster().await;
    limit(&mut client, "producer_byte_rate", 1000.0);
    let request = produce(15_000);
    // Kafka counts the frame without its size: 15,116 bytes in ten seconds are 516 per second too many.
    let frame = request.to_bytes(9).unwrap().len() + "sockets".len() + 11;
    let response = client.call(&request, 9);
    assert_eq!(response.responses[0].partition_responses[0].error_code, ErrorCode::NONE);
    assert_eq!(response.throttle_time_ms, frame as i32 - 10_000);

    client.send(&MetadataRequest::default(), 9);
    let mut other = Client::new(cluster.address(1).unwrap());
    let arrived = |cluster: &BrokerCluster| {
        cluster.requests().iter().filter(|request| request.api_key() == ApiKey::METADATA).count()
    };
    cluster.advance(Duration::from_millis(response.throttle_time_ms as u64 - 1)).unwrap();
    // A response on another connection: the node has had time to look at this one.
    other.call(&AlterClientQuotasRequest::default(), 1);
    assert_eq!(arrived(&cluster), 0, "its next request waits");
    cluster.advance(Duration::from_millis(1)).unwrap();
    client.receive::<MetadataRequest>(9);
    assert_eq!(arrived(&cluster), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_gets_nothing_until_it_may_read_again() {
    let (cluster, mut client) = cluster().await;
    cluster.append("a", 0, &[Record::from_value(vec![0; 15_000])]).unwrap();
    limit(&mut client, "consumer_byte_rate", 500.0);
    let partition = FetchPartition { partition_max_bytes: 1 << 20, ..Default::default() };
    let topic = FetchTopic { topic: "a".into(), partitions: vec![partition], ..Default::default() };
    for (session_epoch, least) in [(-1, 20_000), (0, 20_000)] {
        let topics = vec![topic.clone()];
        let request = FetchRequest { max_bytes: 1 << 20, session_epoch, topics, ..Default::default() };
        let response = client.call(&request, 12);
        assert!((least..least + 400).contains(&response.throttle_time_ms), "{}", response.throttle_time_ms);
        assert_eq!((response.error_code, response.session_id), (ErrorCode::NONE, 0));
        assert!(response.responses.is_empty());
        cluster.advance(Duration::from_secs(60)).unwrap();
    }
    limit(&mut client, "consumer_byte_rate", 5000.0);
    let request = FetchRequest { max_bytes: 1 << 20, session_epoch: -1, topics: vec![topic], ..Default::default() };
    let response = client.call(&request, 12);
    assert_eq!((response.throttle_time_ms, response.responses.len()), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_are_created_and_deleted_at_a_rate() {
    let (cluster, mut client) = cluster().await;
    limit(&mut client, "controller_mutation_rate", 1.0);
    let create = |client: &mut Client, names: &[&str], num_partitions, version| {
        let topic = |name: &&str| CreatableTopic {
            name: (*name).into(),
            num_partitions,
            replication_factor: 1,
            ..Default::default()
        };
        let request = CreateTopicsRequest { topics: names.iter().map(topic).collect(), ..Default::default() };
        let response = client.call(&request, version);
        cluster.advance(Duration::from_millis(response.throttle_time_ms.min(1000) as u64)).unwrap();
        let codes: Vec<_> = response.topics.iter().map(|topic| topic.error_code).collect();
        (response.throttle_time_ms, codes)
    };
    let exceeded = ErrorCode::THROTTLING_QUOTA_EXCEEDED;
    assert_eq!(create(&mut client, &["b"], 8, 7), (0, vec![ErrorCode::NONE]));
    let all = create(&mut client, &["c", "d", "e"], 3, 7);
    assert_eq!(all, (3000, vec![ErrorCode::NONE, ErrorCode::NONE, exceeded]));
    // Another connection is not muted; a second has passed.
    let mut client = Client::new(cluster.address(1).unwrap());
    assert_eq!(create(&mut client, &["f"], 1, 7), (2000, vec![exceeded]));
    let mut client = Client::new(cluster.address(1).unwrap());
    assert_eq!(create(&mut client, &["g"], 1, 5), (2000, vec![ErrorCode::NONE]), "old versions only wait");
    let mut client = Client::new(cluster.address(1).unwrap());
    let response = client.call(&DeleteTopicsRequest { topic_names: vec!["b".into()], ..Default::default() }, 5);
    assert_eq!((response.throttle_time_ms, response.responses[0].error_code), (1000, exceeded));
}
