//! Fetch sessions and faults, with milena's messages over plain sockets.

use milena_broker::{Broker, BrokerCluster, BrokerConfig, ClusterConfig};
use milena_messages::fetch::request::{FetchPartition, FetchTopic};
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::{ErrorCode, FetchRequest, FetchResponse, ProduceRequest};
use milena_records::{Codec, Record, encode};

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

/// Two nodes in racks of their own. The first one leads `a` alone, the second one `b`; the first one leads `c` as well, of
/// which both have a replica.
async fn two_racks() -> BrokerCluster {
    let broker = BrokerConfig { rack_aware_fetch: true, ..BrokerConfig::default() };
    let racks = vec!["r1".to_owned(), "r2".to_owned()];
    let cluster = BrokerCluster::start(ClusterConfig { nodes: 2, racks, broker }).await.unwrap();
    for (topic, leader, replicas) in [("a", 1, 1), ("b", 2, 1), ("c", 1, 2)] {
        cluster.create_topic(topic, 1, replicas).unwrap();
        assert_eq!(cluster.leader(topic, 0), Some(leader), "replicas go to nodes in turn");
    }
    cluster.append("c", 0, &[Record::from_value("x")]).unwrap();
    cluster
}

fn of(topic: &str, rack: &str, fetch_offset: i64) -> FetchRequest {
    let partition = FetchPartition { fetch_offset, partition_max_bytes: 1000, ..Default::default() };
    let topic = FetchTopic { topic: topic.into(), partitions: vec![partition], ..Default::default() };
    FetchRequest { max_bytes: 1000, rack_id: rack.into(), topics: vec![topic], ..Default::default() }
}

/// Code, preferred replica, and whether there are records.
fn outcome(response: &FetchResponse) -> (ErrorCode, i32, bool) {
    let data = &response.responses[0].partitions[0];
    (data.error_code, data.preferred_read_replica, data.records.as_ref().is_some_and(|records| !records.is_empty()))
}

/// The rows are what two nodes of Kafka 4.4 in the same racks respond.
#[tokio::test(flavor = "multi_thread")]
async fn consumers_are_sent_to_a_replica_in_their_rack() {
    let cluster = two_racks().await;
    let [mut first, mut second] = [1, 2].map(|node| Client::new(cluster.address(node).unwrap()));
    let (none, outside) = (ErrorCode::NONE, ErrorCode::OFFSET_OUT_OF_RANGE);
    for (version, rack, offset, at_first, at_second) in [
        (12, "r1", 0, (none, -1, true), (none, -1, true)),
        (12, "r2", 0, (none, 2, false), (none, -1, true)),
        (11, "r2", 0, (none, 2, false), (none, -1, true)),
        (11, "r3", 0, (none, -1, true), (none, -1, true)),
        (11, "", 0, (none, -1, true), (none, -1, true)),
        (11, "r2", 1, (none, 2, false), (none, -1, false)),
        (12, "r2", 9, (outside, -1, false), (outside, -1, false)),
        (10, "r2", 0, (none, -1, true), (ErrorCode::NOT_LEADER_OR_FOLLOWER, -1, false)),
    ] {
        let case = format!("version {version}, rack {rack}, offset {offset}");
        assert_eq!(outcome(&first.call(&of("c", rack, offset), version)), at_first, "{case}");
        assert_eq!(outcome(&second.call(&of("c", rack, offset), version)), at_second, "{case}");
    }
    // It does not wait for records that are to be read elsewhere.
    // The client would give up long before.
    let patient = FetchRequest { max_wait_ms: 60_000, min_bytes: 1, ..of("c", "r2", 1) };
    assert_eq!(outcome(&first.call(&patient, 12)), (none, 2, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_went_to_the_wrong_node_learns_who_leads() {
    let cluster = two_racks().await;
    let mut first = Client::new(cluster.address(1).unwrap());
    let state = cluster.state();
    let (id, port) = (state.topic("b").unwrap().id.clone(), cluster.address(2).unwrap().port());
    let leads = (2, i32::from(port), Some("r2".into()));
    for version in [12, 15, 16, 18] {
        let mut request = of("b", "", 0);
        request.topics[0].topic_id = id.parse().unwrap();
        let response = first.call(&request, version);
        let leader = &response.responses[0].partitions[0].current_leader;
        let hints: Vec<_> =
            response.node_endpoints.iter().map(|node| (node.node_id, node.port, node.rack.clone())).collect();
        let expected = if version >= 16 { (2, 0, vec![leads.clone()]) } else { (-1, -1, vec![]) };
        assert_eq!((leader.leader_id, leader.leader_epoch, hints), expected, "Fetch {version}");
    }
    for version in [9, 10, 12, 13] {
        let records = Some(encode(&[Record::from_value("x")], Codec::None).unwrap());
        let partition_data = vec![PartitionProduceData { index: 0, records, ..Default::default() }];
        let topic_id = id.parse().unwrap();
        let topic = TopicProduceData { name: "b".into(), topic_id, partition_data, ..Default::default() };
        let response = first.call(&ProduceRequest { acks: 1, topic_data: vec![topic], ..Default::default() }, version);
        let partition = &response.responses[0].partition_responses[0];
        let leader = &partition.current_leader;
        let hints: Vec<_> =
            response.node_endpoints.iter().map(|node| (node.node_id, node.port, node.rack.clone())).collect();
        let expected = if version >= 10 { (2, 0, vec![leads.clone()]) } else { (-1, -1, vec![]) };
        assert_eq!((leader.leader_id, leader.leader_epoch, hints), expected, "Produce {version}");
        assert_eq!(partition.error_code, ErrorCode::NOT_LEADER_OR_FOLLOWER, "Produce {version}");
    }
}
