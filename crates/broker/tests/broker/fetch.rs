//! Fetch sessions and faults, with milena's messages over plain sockets.

use milena_broker::{Broker, BrokerConfig};
use milena_messages::fetch::request::{FetchPartition, FetchTopic};
use milena_messages::{ErrorCode, FetchRequest, FetchResponse};
use milena_records::Record;

use super::client::Client;

fn request(session_id: i32, session_epoch: i32, partitions: &[i32]) -> FetchRequest {
    let partition = |index: &i32| FetchPartition { partition: *index, partition_max_bytes: 1000, ..Default::default() };
    let partitions: Vec<_> = partitions.iter().map(partition).collect();
    let topic = FetchTopic { topic: "a".into(), partitions, ..Default::default() };
    let topics = if topic.partitions.is_empty() { vec![] } else { vec![topic] };
    FetchRequest { max_bytes: 1000, session_id, session_epoch, topics, ..Default::default() }
}

fn rows(response: &FetchResponse) -> Vec<(i32, ErrorCode, i64)> {
    let all = response.responses.iter().flat_map(|topic| &topic.partitions);
    all.map(|data| (data.partition_index, data.error_code, data.high_watermark)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_injected_error_hits_each_partition_of_the_session_once() {
    let broker = Broker::start(BrokerConfig::default()).await.unwrap();
    broker.cluster().create_topic("a", 3, 1).unwrap();
    broker.cluster().append("a", 0, &[Record::from_value("x")]).unwrap();
    let mut client = Client::new(broker.address());
    let id = client.call(&request(0, 0, &[0, 1]), 12).session_id;
    assert_ne!(id, 0);
    broker.faults().add("fetch@1: error KAFKA_STORAGE_ERROR").unwrap();
    let failed = client.call(&request(id, 1, &[2]), 12);
    assert_eq!((failed.error_code, failed.session_id), (ErrorCode::NONE, id));
    let storage = ErrorCode::KAFKA_STORAGE_ERROR;
    assert_eq!(rows(&failed), [(0, storage, -1), (1, storage, -1), (2, storage, -1)]);
    // As after an error of Kafka's own, the client learns again where all of them end.
    let after = client.call(&request(id, 2, &[]), 12);
    assert_eq!(rows(&after), [(1, ErrorCode::NONE, 0), (2, ErrorCode::NONE, 0), (0, ErrorCode::NONE, 1)]);
    assert_eq!(rows(&client.call(&request(id, 3, &[]), 12)), [(0, ErrorCode::NONE, 1)], "it has records");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_starts_again_has_no_sessions() {
    let broker = Broker::start(BrokerConfig::default()).await.unwrap();
    broker.cluster().create_topic("a", 1, 1).unwrap();
    let mut client = Client::new(broker.address());
    let id = client.call(&request(0, 0, &[0]), 12).session_id;
    broker.cluster().kill_node(1).await.unwrap();
    broker.cluster().start_node(1).await.unwrap();
    let mut client = Client::new(broker.address());
    assert_eq!(client.call(&request(id, 1, &[]), 12).error_code, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
}
