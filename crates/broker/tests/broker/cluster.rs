//! A cluster of several nodes, with milena's messages over plain sockets.

use std::time::Duration;

use milena_broker::{BrokerCluster, BrokerConfig, ClusterConfig, Coordinated};
use milena_messages::join_group::request::JoinGroupRequestProtocol;
use milena_messages::metadata::response::MetadataResponsePartition;
use milena_messages::offset_for_leader_epoch::request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::{
    ErrorCode, FindCoordinatorRequest, HeartbeatRequest, JoinGroupRequest, ListGroupsRequest, MetadataRequest,
    MetadataResponse, OffsetForLeaderEpochRequest, ProduceRequest, ProduceResponse, SyncGroupRequest,
};
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
    assert_eq!(cluster.kill_node(13).await.unwrap_err().to_string(), "node 13: there is no such node");
    cluster.kill_node(12).await.unwrap();
    assert_eq!(cluster.kill_node(12).await.unwrap_err().to_string(), "node 12: it is not up");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_virtual_clock_moves_only_when_it_is_advanced() {
    let broker = BrokerConfig { virtual_clock: Some(1_700_000_000_000), ..BrokerConfig::default() };
    let cluster = BrokerCluster::start(ClusterConfig { nodes: 1, racks: Vec::new(), broker }).await.unwrap();
    let mut client = Client::new(cluster.address(1).unwrap());
    let request = JoinGroupRequest {
        group_id: "g".into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 10_000,
        protocol_type: "consumer".into(),
        protocols: vec![JoinGroupRequestProtocol { name: "range".into(), ..Default::default() }],
        ..Default::default()
    };
    let joined = client.call(&request, 3);
    assert_eq!((joined.error_code, joined.generation_id), (ErrorCode::NONE, 1));
    let mut beat = || {
        let member_id = joined.member_id.clone();
        let request = HeartbeatRequest { group_id: "g".into(), generation_id: 1, member_id, ..Default::default() };
        client.call(&request, 4).error_code
    };
    cluster.advance(Duration::from_millis(9_999)).unwrap();
    assert_eq!(beat(), ErrorCode::NONE);
    cluster.advance(Duration::from_millis(10_000)).unwrap();
    assert_eq!(beat(), ErrorCode::UNKNOWN_MEMBER_ID);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_was_cut_off_diverges_from_what_a_client_read() {
    let cluster = BrokerCluster::start(ClusterConfig { nodes: 1, ..ClusterConfig::default() }).await.unwrap();
    cluster.create_topic("a", 1, 1).unwrap();
    let mut client = Client::new(cluster.address(1).unwrap());
    assert_eq!([produce(&mut client, -1).1, produce(&mut client, -1).1, produce(&mut client, -1).1], [0, 1, 2]);
    cluster.truncate("a", 0, 1).unwrap();
    let partition =
        OffsetForLeaderPartition { partition: 0, current_leader_epoch: 1, leader_epoch: 0, ..Default::default() };
    let topic = OffsetForLeaderTopic { topic: "a".into(), partitions: vec![partition], ..Default::default() };
    let request = OffsetForLeaderEpochRequest { topics: vec![topic], ..Default::default() };
    let end = client.call(&request, 4).topics.remove(0).partitions.remove(0);
    assert_eq!((end.error_code, end.leader_epoch, end.end_offset), (ErrorCode::NONE, 0, 1));
    assert_eq!(produce(&mut client, -1), (ErrorCode::NONE, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_isolated_node_is_silent_and_others_lead_until_it_is_connected_again() {
    let cluster = BrokerCluster::start(ClusterConfig { nodes: 2, ..ClusterConfig::default() }).await.unwrap();
    cluster.create_topic("a", 1, 2).unwrap();
    let leader = cluster.leader("a", 0).unwrap();
    let mut before = Client::new(cluster.address(leader).unwrap());
    assert_eq!(produce(&mut before, -1), (ErrorCode::NONE, 0));

    cluster.isolate_node(leader).await.unwrap();
    let other = cluster.leader("a", 0).unwrap();
    assert_ne!(other, leader);
    let node = cluster.state().nodes.into_iter().find(|node| node.id == leader).unwrap();
    assert_eq!((node.is_up, node.is_isolated), (false, true));
    let why = |error: milena_broker::BrokerError| error.to_string();
    assert_eq!(why(cluster.start_node(leader).await.unwrap_err()), format!("node {leader}: it is isolated"));
    assert_eq!(why(cluster.move_leader("a", 0, leader).unwrap_err()), format!("node {leader}: it is isolated"));
    assert_eq!(why(cluster.reconnect_node(other).await.unwrap_err()), format!("node {other}: it is not isolated"));
    let metadata = MetadataRequest { topics: None, ..Default::default() };
    // An old connection and a new one: both are open, and nothing comes.
    let mut during = Client::new(cluster.address(leader).unwrap());
    let short = Some(Duration::from_millis(100));
    for client in [&mut before, &mut during] {
        client.send(&metadata, 12);
        client.socket.set_read_timeout(short).unwrap();
        let error = client.socket.peek(&mut [0]).unwrap_err();
        assert!(matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut), "{error}");
        client.socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    }
    let mut at_other = Client::new(cluster.address(other).unwrap());
    assert_eq!(produce(&mut at_other, -1), (ErrorCode::NONE, 1));

    cluster.reconnect_node(leader).await.unwrap();
    for client in [&mut before, &mut during] {
        assert_eq!(client.receive::<MetadataRequest>(12).brokers.len(), 2);
    }
    assert_eq!(produce(&mut before, -1), (ErrorCode::NOT_LEADER_OR_FOLLOWER, -1));
    cluster.isolate_node(leader).await.unwrap();
    cluster.kill_node(leader).await.unwrap();
    cluster.start_node(leader).await.unwrap();
    let mut again = Client::new(cluster.address(leader).unwrap());
    assert_eq!(again.call(&metadata, 12).brokers.len(), 2, "a node that starts again is connected");
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_moves_with_its_members_to_any_node() {
    let cluster = BrokerCluster::start(ClusterConfig { nodes: 5, ..ClusterConfig::default() }).await.unwrap();
    let group = Coordinated::Group("g");
    for node in cluster.node_ids() {
        cluster.move_coordinator(group, node).unwrap();
        assert_eq!(cluster.coordinator(group).unwrap(), Some(node));
        let mut client = Client::new(cluster.address(node).unwrap());
        let request = FindCoordinatorRequest { key: "g".into(), ..Default::default() };
        assert_eq!(client.call(&request, 3).node_id, node);
        let list = client.call(&ListGroupsRequest::default(), 4);
        assert_eq!(list.groups.len(), usize::from(node > 1), "the group that joined at node 1 is at node {node}");
        let request = JoinGroupRequest {
            group_id: "g".into(),
            session_timeout_ms: 10_000,
            rebalance_timeout_ms: 10_000,
            protocol_type: "consumer".into(),
            protocols: vec![JoinGroupRequestProtocol { name: "range".into(), ..Default::default() }],
            ..Default::default()
        };
        if node == 1 {
            let joined = client.call(&request, 3);
            let sync = SyncGroupRequest {
                group_id: "g".into(),
                generation_id: joined.generation_id,
                member_id: joined.member_id,
                ..Default::default()
            };
            assert_eq!(client.call(&sync, 3).error_code, ErrorCode::NONE);
        }
    }
    assert!(cluster.move_coordinator(Coordinated::Transaction("t"), 9).is_err());
    cluster.move_coordinator(Coordinated::Transaction("t"), 4).unwrap();
    assert_eq!(cluster.coordinator(Coordinated::Transaction("t")).unwrap(), Some(4));
    cluster.shutdown().await;
}
