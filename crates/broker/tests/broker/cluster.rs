//! A cluster of several nodes, with milena's messages over plain sockets.

use milena_broker::{BrokerCluster, BrokerConfig, ClusterConfig};
use milena_messages::metadata::response::MetadataResponsePartition;
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::{ErrorCode, MetadataRequest, MetadataResponse, ProduceRequest, ProduceResponse};
use milena_records::{Codec, Record, encode};

use super::client::Client;

fn partition(metadata: &MetadataResponse, topic: usize) -> &MetadataResponsePartition {
    &metadata.topics[topic].partitions[0]
}

fn produce(client: &mut Client, acks: i16) -> (ErrorCode, i64) {
    let records = Some(encode(&[Record::from_value("x")], Codec::None).unwrap());
    let partition = PartitionProduceData { index: 0, records, ..Default::default() };
    let topic = TopicProduceData { name: "a".into(), partition_data: vec![partition], ..Default::default() };
    let request = ProduceRequest { acks, topic_data: vec![topic], ..Default::default() };
    let response: ProduceResponse = client.call(&request, 9);
    let done = &response.responses[0].partition_responses[0];
    (done.error_code, done.base_offset)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_moves_to_another_node_when_its_leader_dies() {
    let cluster = BrokerCluster::start(ClusterConfig { nodes: 3, ..ClusterConfig::default() }).await.unwrap();
    cluster.create_topic("a", 1, 3).unwrap();
    let leader = cluster.leader("a", 0).unwrap();
    let other = cluster.node_ids().into_iter().find(|node| *node != leader).unwrap();
    let mut at_leader = Client::new(cluster.address(leader).unwrap());
    let mut at_other = Client::new(cluster.address(other).unwrap());

    let metadata: MetadataResponse = at_other.call(&MetadataRequest { topics: None, ..Default::default() }, 12);
    assert_eq!(metadata.brokers.len(), 3);
    assert_eq!((partition(&metadata, 0).leader_id, partition(&metadata, 0).leader_epoch), (leader, 0));
    assert_eq!(produce(&mut at_leader, -1), (ErrorCode::NONE, 0));
    assert_eq!(produce(&mut at_other, -1), (ErrorCode::NOT_LEADER_OR_FOLLOWER, -1));

    cluster.kill_node(leader).await.unwrap();
    assert!(at_leader.read().is_none(), "its connections are cut");
    let metadata: MetadataResponse = at_other.call(&MetadataRequest { topics: None, ..Default::default() }, 12);
    assert_eq!(metadata.brokers.len(), 2);
    let moved = partition(&metadata, 0);
    assert_eq!((moved.leader_epoch, moved.isr_nodes.len(), &moved.offline_replicas[..]), (1, 2, &[leader][..]));
    let mut at_new = Client::new(cluster.address(moved.leader_id).unwrap());
    assert_eq!(produce(&mut at_new, -1), (ErrorCode::NONE, 1));

    let address = cluster.bootstrap();
    cluster.start_node(leader).await.unwrap();
    assert_ne!(cluster.bootstrap(), address);
    let metadata: MetadataResponse = at_other.call(&MetadataRequest { topics: None, ..Default::default() }, 12);
    assert_eq!((metadata.brokers.len(), partition(&metadata, 0).isr_nodes.len()), (3, 3));
    cluster.move_leader("a", 0, leader).unwrap();
    let mut back = Client::new(cluster.address(leader).unwrap());
    assert_eq!(produce(&mut back, 1), (ErrorCode::NONE, 2));
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ports_and_ids_follow_the_first_ones() {
    let racks = vec!["a".to_owned(), "b".to_owned()];
    let broker = BrokerConfig { node_id: 10, ..BrokerConfig::default() };
    let cluster = BrokerCluster::start(ClusterConfig { nodes: 2, racks, broker }).await.unwrap();
    assert_eq!(cluster.node_ids(), [10, 11]);
    assert_eq!(cluster.add_node().await.unwrap(), 12);
    let mut client = Client::new(cluster.address(12).unwrap());
    let metadata: MetadataResponse = client.call(&MetadataRequest { topics: None, ..Default::default() }, 12);
    let racks: Vec<_> = metadata.brokers.iter().map(|broker| broker.rack.as_deref()).collect();
    assert_eq!(racks, [Some("a"), Some("b"), None]);
    assert!(cluster.start_node(12).await.is_err());
    assert!(cluster.kill_node(13).await.is_err());
}
