//! Faults on demand, and waiting for requests, with milena's messages over plain sockets.

use std::time::{Duration, Instant};

use milena_broker::{Broker, BrokerCluster, BrokerConfig, BrokerError, ClusterConfig};
use milena_messages::fetch::request::{FetchPartition, FetchTopic};
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::{
    ApiKey, ErrorCode, FetchRequest, HeartbeatRequest, ListOffsetsRequest, Message as _, MetadataRequest,
    MetadataResponse, ProduceRequest, ProduceResponse,
};
use milena_records::{Codec, Record, encode};

use super::client::Client;

fn produce_request(acks: i16) -> ProduceRequest {
    let records = Some(encode(&[Record::from_value("x")], Codec::None).unwrap());
    let partition = PartitionProduceData { index: 0, records, ..Default::default() };
    let topic = TopicProduceData { name: "a".into(), partition_data: vec![partition], ..Default::default() };
    ProduceRequest { acks, topic_data: vec![topic], ..Default::default() }
}

fn outcome(response: &ProduceResponse) -> (ErrorCode, i64) {
    let partition = &response.responses[0].partition_responses[0];
    (partition.error_code, partition.base_offset)
}

async fn broker(rules: &[&str]) -> (Broker, Client) {
    let faults = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let broker = Broker::start(BrokerConfig { faults, ..BrokerConfig::default() }).await.unwrap();
    broker.cluster().create_topic("a", 1, 1).unwrap();
    let client = Client::new(broker.address());
    (broker, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_fails_has_no_effect_and_the_next_one_has() {
    let (broker, mut client) = broker(&[]).await;
    let fault = broker.faults().add("produce@1: error NOT_LEADER_OR_FOLLOWER").unwrap();
    assert_eq!(outcome(&client.call(&produce_request(-1), 9)), (ErrorCode::NOT_LEADER_OR_FOLLOWER, -1));
    assert_eq!(outcome(&client.call(&produce_request(-1), 9)), (ErrorCode::NONE, 0));
    assert_eq!((fault.matched(), fault.fired()), (2, 1));
    // What fails was received all the same.
    assert_eq!(broker.requests().len(), 2);

    fault.remove();
    let all = broker.faults().add("*: error COORDINATOR_NOT_AVAILABLE").unwrap();
    let beat = client.call(&HeartbeatRequest { group_id: "g".into(), ..Default::default() }, 4);
    assert_eq!(beat.error_code, ErrorCode::COORDINATOR_NOT_AVAILABLE);
    assert_eq!(broker.faults().statistics().len(), 1);
    broker.faults().clear();
    assert_eq!(outcome(&client.call(&produce_request(-1), 9)), (ErrorCode::NONE, 1));
    assert_eq!((fault.matched(), fault.fired(), all.matched(), all.fired()), (2, 1, 1, 1), "counts stay when rules go");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_metadata_comes_with_the_brokers_of_the_cluster() {
    let (broker, mut client) = broker(&["metadata@1: error LEADER_NOT_AVAILABLE"]).await;
    let request = MetadataRequest { topics: None, ..Default::default() };
    let metadata: MetadataResponse = client.call(&request, 12);
    assert_eq!(metadata.brokers[0].port, i32::from(broker.address().port()));
    assert_eq!(metadata.topics[0].error_code, ErrorCode::LEADER_NOT_AVAILABLE);
    assert_eq!(client.call(&request, 12).topics[0].error_code, ErrorCode::NONE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_that_fails_does_not_wait_for_records() {
    let (broker, mut client) = broker(&["fetch@1: error OFFSET_OUT_OF_RANGE"]).await;
    let partition = FetchPartition { partition: 0, partition_max_bytes: 1000, ..Default::default() };
    let topic = FetchTopic { topic: "a".into(), partitions: vec![partition], ..Default::default() };
    // Longer than the client waits. Session epoch 0 asks for a session, -1 for none.
    for session_epoch in [0, -1] {
        let request = FetchRequest {
            max_wait_ms: 60_000,
            min_bytes: 1,
            max_bytes: 1000,
            session_epoch,
            topics: vec![topic.clone()],
            ..Default::default()
        };
        let response = client.call(&request, 12);
        assert_eq!(response.responses[0].partitions[0].error_code, ErrorCode::OFFSET_OUT_OF_RANGE);
        broker.faults().add("fetch@1: error OFFSET_OUT_OF_RANGE").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_without_a_response_are_passed_over_or_end_the_connection() {
    let (broker, mut client) = broker(&["produce@1: drop"]).await;
    client.send(&produce_request(-1), 9);
    // The next response is that of the next request.
    assert_eq!(outcome(&client.call(&produce_request(-1), 9)), (ErrorCode::NONE, 0));

    broker.faults().add("produce@1: cut").unwrap();
    client.send(&produce_request(-1), 9);
    assert!(client.read().is_none());

    // With acks=0 a producer learns of an error by the end of its connection, as with Kafka.
    broker.faults().add("produce@2: error NOT_LEADER_OR_FOLLOWER").unwrap();
    let mut client = Client::new(broker.address());
    client.send(&produce_request(0), 9);
    client.send(&produce_request(0), 9);
    assert!(client.read().is_none());
    let mut client = Client::new(broker.address());
    assert_eq!(outcome(&client.call(&produce_request(1), 9)), (ErrorCode::NONE, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_is_cut_after_so_many_bytes() {
    use std::io::Read as _;

    let (broker, mut client) = broker(&[]).await;
    let whole = broker.faults().add("produce@1: cut after 1000000 bytes").unwrap();
    client.send(&produce_request(-1), 9);
    let mut all = Vec::new();
    client.socket.read_to_end(&mut all).unwrap();
    assert_eq!(all.len(), 4 + u32::from_be_bytes(*all.first_chunk().unwrap()) as usize, "a whole response");
    assert_eq!(whole.fired(), 1);

    broker.faults().add("produce@1: cut after 7 bytes").unwrap();
    let mut client = Client::new(broker.address());
    client.send(&produce_request(-1), 9);
    let mut first = Vec::new();
    client.socket.read_to_end(&mut first).unwrap();
    assert_eq!(first, all[..4].iter().copied().chain([0, 0, 0]).collect::<Vec<_>>());
    // Both had their effect.
    let mut client = Client::new(broker.address());
    assert_eq!(outcome(&client.call(&produce_request(-1), 9)), (ErrorCode::NONE, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn delayed_responses_come_in_order_and_no_sooner() {
    let delay = Duration::from_millis(300);
    let (_broker, mut client) = broker(&["produce: delay 300ms"]).await;
    let started = Instant::now();
    let requests = 5;
    for _ in 0..requests {
        client.send(&produce_request(-1), 9);
    }
    let sent = client.correlation_id;
    client.correlation_id = 0;
    for offset in 0..i64::from(sent) {
        client.correlation_id += 1;
        assert_eq!(outcome(&client.receive::<ProduceRequest>(9)), (ErrorCode::NONE, offset));
        assert!(started.elapsed() >= delay, "no response comes sooner");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_can_do_nothing_are_refused() {
    let (broker, mut client) = broker(&[]).await;
    for (rule, why) in [
        ("fletch: drop", "no API is named `fletch`"),
        ("describe_log_dirs v0-2, drop", "fault `describe_log_dirs v0-2, drop`"),
        ("produce: error NONE", "means success"),
        ("metadata v0-12: error REBOOTSTRAP_REQUIRED", "responses to Metadata have no field for REBOOTSTRAP_REQUIRED"),
    ] {
        let error = broker.faults().add(rule).unwrap_err();
        assert!(matches!(error, BrokerError::Fault(_)) && error.to_string().contains(why), "{error}");
    }
    assert!(broker.faults().statistics().is_empty());
    let config = BrokerConfig {
        faults: vec!["metadata v0-12: error REBOOTSTRAP_REQUIRED".parse().unwrap()],
        ..BrokerConfig::default()
    };
    assert!(matches!(Broker::start(config).await, Err(BrokerError::Fault(_))));
    // A rule about all APIs passes those by that have no place for its code.
    let rule = broker.faults().add("*: error REBOOTSTRAP_REQUIRED").unwrap();
    let metadata: MetadataResponse = client.call(&MetadataRequest { topics: None, ..Default::default() }, 12);
    assert_eq!((metadata.topics[0].error_code, rule.fired()), (ErrorCode::NONE, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_count_the_requests_of_all_nodes() {
    let cluster = BrokerCluster::start(ClusterConfig { nodes: 3, ..ClusterConfig::default() }).await.unwrap();
    let fault = cluster.faults().add("heartbeat client=sock*@/2: error REBALANCE_IN_PROGRESS").unwrap();
    let codes: Vec<_> = (1..=3)
        .flat_map(|node| {
            let mut client = Client::new(cluster.address(node).unwrap());
            let request = HeartbeatRequest { group_id: "g".into(), ..Default::default() };
            [client.call(&request, 4).error_code, client.call(&request, 4).error_code]
        })
        .map(|code| code == ErrorCode::REBALANCE_IN_PROGRESS)
        .collect();
    assert_eq!(codes, [false, true, false, true, false, true]);
    assert_eq!((fault.matched(), fault.fired()), (6, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_waits_for_the_request_that_it_expects() {
    let (broker, mut client) = broker(&[]).await;
    client.call(&produce_request(-1), 9);
    let sender = std::thread::spawn(move || {
        for _ in 0..3 {
            client.call(&ListOffsetsRequest::default(), 7);
        }
        client.call(&produce_request(1), 9);
        client
    });
    let acks = |acks| {
        move |request: &milena_broker::ReceivedRequest| {
            request.api_key() == ApiKey::PRODUCE && request.decode::<ProduceRequest>().unwrap().acks == acks
        }
    };
    let long = Duration::from_secs(20);
    assert_eq!(broker.wait_until(acks(1), long).await.unwrap().number(), 4);
    assert_eq!(broker.wait_until(acks(-1), long).await.unwrap().number(), 0, "one that came before");
    let mut count = 0;
    let third = broker.wait_until(
        |request| {
            count += usize::from(request.api_key() == ApiKey::LIST_OFFSETS);
            count == 3
        },
        long,
    );
    assert_eq!(third.await.unwrap().number(), 3);
    let never = broker.wait_until(acks(7), Duration::from_millis(10)).await;
    assert!(matches!(never, Err(BrokerError::Timeout { seen: 5, .. })), "{never:?}");
    let client = sender.join().unwrap();
    drop(client);
    let bytes = ListOffsetsRequest::default().to_bytes(7).unwrap();
    assert_eq!(*broker.requests()[1].body(), bytes);
}

fn produce_to(partitions: &[i32]) -> ProduceRequest {
    let records = Some(encode(&[Record::from_value("x")], Codec::None).unwrap());
    let partition =
        |index: &i32| PartitionProduceData { index: *index, records: records.clone(), ..Default::default() };
    let partition_data = partitions.iter().map(partition).collect();
    let topic = TopicProduceData { name: "b".into(), partition_data, ..Default::default() };
    ProduceRequest { acks: -1, topic_data: vec![topic], ..Default::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_one_partition_leaves_the_others_of_its_request_alone() {
    let (broker, mut client) = broker(&["produce topic=b partition=1-2: error NOT_LEADER_OR_FOLLOWER"]).await;
    broker.cluster().create_topic("b", 4, 1).unwrap();
    assert_eq!(outcome(&client.call(&produce_request(-1), 9)), (ErrorCode::NONE, 0), "another topic");
    let response = client.call(&produce_to(&[0, 1, 3]), 9);
    let mut codes: Vec<_> =
        response.responses[0].partition_responses.iter().map(|one| (one.index, one.error_code)).collect();
    codes.sort_unstable();
    assert_eq!(codes, [(0, ErrorCode::NONE), (1, ErrorCode::NOT_LEADER_OR_FOLLOWER), (3, ErrorCode::NONE)]);
    let ends = |broker: &Broker| -> Vec<i64> {
        broker.state().topic("b").unwrap().partitions.iter().map(|partition| partition.end_offset).collect()
    };
    assert_eq!(ends(&broker), [1, 0, 0, 1], "what failed has no effect");
    assert_eq!(client.call(&produce_to(&[2]), 9).responses[0].partition_responses[0].error_code.0, 6);
    assert_eq!(ends(&broker), [1, 0, 0, 1]);
    // By the id of the topic as well.
    let mut request = produce_to(&[3, 1]);
    request.topic_data[0].name = "".into();
    request.topic_data[0].topic_id = broker.state().topic("b").unwrap().id.parse().unwrap();
    let response = client.call(&request, 13);
    let found = response.responses.iter().flat_map(|topic| &topic.partition_responses);
    let mut codes: Vec<(i32, i16)> = found.map(|one| (one.index, one.error_code.0)).collect();
    codes.sort_unstable();
    assert_eq!(codes, [(1, 6), (3, 0)]);
    assert_eq!(ends(&broker), [1, 0, 0, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_fails_alone() {
    let (_broker, mut client) = broker(&["* group=readers: error COORDINATOR_LOAD_IN_PROGRESS"]).await;
    let mut beat =
        |group: &str| client.call(&HeartbeatRequest { group_id: group.into(), ..Default::default() }, 4).error_code;
    assert_eq!(beat("readers"), ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
    assert_ne!(beat("others"), ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_are_throttled_garbled_short_and_out_of_order() {
    let (_broker, mut client) = broker(&[
        "heartbeat@1: throttle 1500ms",
        "heartbeat@2: garble 3 bytes",
        "heartbeat@3: short by 2 bytes",
        "heartbeat@4: reorder",
        "heartbeat@6: reorder",
    ])
    .await;
    let beat = HeartbeatRequest { group_id: "g".into(), ..Default::default() };
    let send = |client: &mut Client| client.send(&beat, 3);
    send(&mut client);
    let right = client.read().unwrap();
    assert_eq!((right.len(), &right[4..8]), (10, &1500_i32.to_be_bytes()[..]));
    send(&mut client);
    let garbled = client.read().unwrap();
    let mut expected = right.to_vec();
    (expected[3], expected[6], expected[7]) = (2, 0, 0);
    assert_eq!(garbled[..4], expected[..4]);
    assert_eq!(garbled.iter().zip(&expected).filter(|(one, other)| one != other).count(), 3);
    send(&mut client);
    assert_eq!(client.read().unwrap().len(), 8);
    send(&mut client);
    send(&mut client);
    let ids = [client.read().unwrap()[3], client.read().unwrap()[3]];
    assert_eq!(ids, [5, 4]);
    send(&mut client);
    assert_eq!(client.read().unwrap()[3], 6, "without a next one it comes all the same");
}
