//! Leaders that are missing, moved or wrong, and who gets the blame.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use milena_client::{
    Acks, Client, ClientConfig, Codec, ConnectCause, Error, Isolation, OffsetSpec, Origin, Record, Report,
};
use milena_messages::produce::response::{PartitionProduceResponse, TopicProduceResponse};
use milena_messages::{ApiKey, ErrorCode, HeartbeatRequest, ProduceRequest, ProduceResponse};

use crate::broker::{Act, Broker, TOPIC, TOPIC_ID, ends, nobody, respond_with};

fn written() -> Act {
    let partition_responses = vec![PartitionProduceResponse::default()];
    let topic =
        TopicProduceResponse { name: TOPIC.into(), topic_id: TOPIC_ID, partition_responses, ..Default::default() };
    respond_with::<ProduceRequest>(ProduceResponse { responses: vec![topic], ..Default::default() })
}

fn brief(broker: &Broker) -> ClientConfig {
    ClientConfig {
        deadline: Duration::from_secs(5),
        unknown_topic_grace: Duration::from_millis(100),
        ..broker.config()
    }
}

#[tokio::test]
async fn a_partition_without_leader_does_not_hold_up_the_others() {
    let broker = Broker::start(|_, request| match request.api_key {
        ApiKey::METADATA => Act::Metadata(Box::new(|response| {
            let partition = &mut response.topics[0].partitions[1];
            (partition.leader_id, partition.error_code) = (-1, ErrorCode::LEADER_NOT_AVAILABLE);
        })),
        ApiKey::LIST_OFFSETS => ends(request, 3, 9),
        _ => Act::Silence,
    })
    .await;
    let client = Client::connect(brief(&broker)).await.unwrap();
    let wanted = [(TOPIC, 1, OffsetSpec::Latest), (TOPIC, 0, OffsetSpec::Earliest), (TOPIC, 0, OffsetSpec::Latest)];
    let found = client.list_offsets(&wanted, Isolation::ReadUncommitted).await;
    assert!(matches!(&found[0], Err(Error::NoLeader { partition: 1, .. })), "{found:?}");
    let offset = |index: usize| found[index].as_ref().unwrap().unwrap().offset;
    assert_eq!((offset(1), offset(2)), (3, 9));
    // Healthy partitions are asked once, however long the other is waited for.
    assert_eq!(broker.seen(ApiKey::LIST_OFFSETS), 2);

    let topic = client.topic(TOPIC).await.unwrap();
    assert_eq!(topic.partitions.iter().map(|partition| partition.leader).collect::<Vec<_>>(), [Some(1), None]);
}

#[tokio::test]
async fn a_partition_that_does_not_exist_is_refused_after_one_look_up_and_the_count_is_named() {
    let broker = Broker::start(|_, request| match request.api_key {
        ApiKey::PRODUCE => written(),
        _ => Act::Silence,
    })
    .await;
    for partition in [-1, 99] {
        let client = broker.client().await;
        let before = broker.seen(ApiKey::METADATA);
        let wanted = format!("letters has no partition {partition}, it has 2 partitions: 0 to 1");
        let produced = client.produce(TOPIC, partition, Acks::All, Codec::None, vec![Record::from_value("v")]).await;
        assert_eq!(produced.unwrap_err().to_string(), wanted);
        let fetched = client.fetch(TOPIC, partition, 0, &Default::default()).await;
        assert_eq!(fetched.unwrap_err().to_string(), wanted);
        let listed = client.offset(TOPIC, partition, OffsetSpec::Latest).await.unwrap_err();
        assert_eq!(listed.to_string(), wanted);
        assert!(!listed.is_retriable());
        assert!(broker.seen(ApiKey::METADATA) - before <= 3);
    }
    assert_eq!((broker.seen(ApiKey::PRODUCE), broker.seen(ApiKey::FETCH)), (0, 0));
}

#[tokio::test]
async fn an_address_that_the_cluster_advertises_is_named_as_such() {
    let gone = nobody().await;
    let (host, port) = gone.rsplit_once(':').unwrap();
    let (host, port) = (host.to_owned(), port.parse::<i32>().unwrap());
    let broker = Broker::start(move |_, request| match request.api_key {
        ApiKey::METADATA => {
            let host = host.clone();
            Act::Metadata(Box::new(move |response| {
                response.brokers[0].host = host.as_str().into();
                response.brokers[0].port = port;
            }))
        }
        _ => Act::Silence,
    })
    .await;
    let config = ClientConfig { deadline: Duration::from_millis(200), ..broker.config() };
    let client = Client::connect(config).await.unwrap();
    let error = client.fetch(TOPIC, 0, 0, &Default::default()).await.unwrap_err();
    let Error::Deadline { last, .. } = &error else { panic!("{error:?}") };
    match &**last {
        Error::Connect { address, origin: Origin::Advertised(1), cause: ConnectCause::Io(_) } if **address == *gone => {
        }
        other => panic!("{other:?}"),
    }
    let text = Report(&error).to_string();
    let wanted = format!(": cannot connect to {gone}, the address that the cluster advertises for node 1: ");
    assert!(text.contains(&wanted), "{text}");
}

#[tokio::test]
async fn metadata_is_asked_of_another_broker_after_a_failed_attempt() {
    // The first broker is stale: it says that a dead node leads, again and again. The second one knows.
    let gone = nobody().await;
    let gone_port: i32 = gone.rsplit_once(':').unwrap().1.parse().unwrap();
    let leader = Broker::start(|_, request| match request.api_key {
        ApiKey::PRODUCE => written(),
        _ => Act::Silence,
    })
    .await;
    let leader_port: i32 = leader.address.rsplit_once(':').unwrap().1.parse().unwrap();
    let stale = Broker::start(move |_, request| match request.api_key {
        ApiKey::METADATA => Act::Metadata(Box::new(move |response| {
            let mut dead = response.brokers[0].clone();
            (dead.node_id, dead.port) = (2, gone_port);
            let mut other = response.brokers[0].clone();
            (other.node_id, other.port) = (3, leader_port);
            response.brokers.extend([dead, other]);
            response.topics[0].partitions.iter_mut().for_each(|partition| partition.leader_id = 2);
        })),
        _ => Act::Silence,
    })
    .await;
    let client = Client::connect(brief(&stale)).await.unwrap();
    client.produce(TOPIC, 0, Acks::All, Codec::None, vec![Record::from_value("v")]).await.unwrap();
    assert_eq!(leader.seen(ApiKey::PRODUCE), 1);
}

#[tokio::test]
async fn callers_that_miss_the_same_topic_share_one_request() {
    let broker = Broker::start(|_, request| match request.api_key {
        ApiKey::PRODUCE => written(),
        _ => Act::Silence,
    })
    .await;
    let client = broker.client().await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let client = client.clone();
        calls.spawn(async move {
            client.produce(TOPIC, 0, Acks::All, Codec::None, vec![Record::from_value("v")]).await.unwrap();
        });
    }
    while let Some(call) = calls.join_next().await {
        call.unwrap();
    }
    assert_eq!(broker.seen(ApiKey::PRODUCE), 50);
    assert!(broker.seen(ApiKey::METADATA) <= 2, "{}", broker.seen(ApiKey::METADATA));
}

#[tokio::test]
async fn an_unanswered_produce_that_is_refused_does_not_fail_the_next_call() {
    let refused = Arc::new(Mutex::new(0));
    let count = Arc::clone(&refused);
    let broker = Broker::start(move |nth, request| match (request.api_key, nth) {
        // As Kafka does: it closes the connection, since there is no response to put the error into.
        (ApiKey::PRODUCE, _) => {
            *count.lock().unwrap() += 1;
            Act::HalfClose
        }
        (ApiKey::HEARTBEAT, _) => respond_with::<HeartbeatRequest>(Default::default()),
        _ => Act::Silence,
    })
    .await;
    let client = broker.client().await;
    for _ in 0..10 {
        client.produce(TOPIC, 0, Acks::None, Codec::None, vec![Record::from_value("v")]).await.unwrap();
        client.send(1, &HeartbeatRequest::default()).await.unwrap();
    }
    assert_eq!(*refused.lock().unwrap(), 10);
}
