//! What goes wrong on purpose.

use std::time::{Duration, Instant};

use milena_client::{Acks, Client, ClientConfig, Codec, NewTopic, Record};
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::{ApiKey, ApiVersionsRequest, Bytes, ErrorCode, MetadataRequest, ProduceRequest};
use tokio::io::AsyncReadExt as _;

use crate::setup::{Raw, broker, client, client_config, closed, exchange, frame, id, tap};

#[tokio::test]
async fn an_error_goes_to_the_client_and_the_request_to_nobody() {
    let broker = broker().await;
    let (tap, watch) = tap(&broker, &["produce@1-2: error NOT_LEADER_OR_FOLLOWER"], &[]);
    let client = client(&tap).await;
    client.create_topic(NewTopic::new("letters", 1, 1)).await.unwrap();
    // The client looks the leader up anew and tries again, twice.
    let outcome = client.produce("letters", 0, Acks::All, Codec::None, vec![Record::new("k", "v")]).await.unwrap();
    assert_eq!(outcome.base_offset, Some(0), "nothing was written before");
    let seen: Vec<_> = (0..3).map(|_| exchange(&watch, ApiKey::PRODUCE)).collect();
    let faults: Vec<_> = seen.iter().map(|exchange| exchange.fault.map(|fault| fault.to_string())).collect();
    let error = Some("error NOT_LEADER_OR_FOLLOWER".to_owned());
    assert_eq!(faults, [error.clone(), error, None]);
    assert!(seen.iter().all(|exchange| exchange.response.is_some()));
}

#[tokio::test]
async fn answers_of_this_side_keep_their_place_among_those_of_the_broker() {
    let broker = broker().await;
    let (tap, _watch) = tap(&broker, &["metadata@2: error BROKER_NOT_AVAILABLE", "metadata@4: error 8"], &[]);
    let mut client = Raw::to(&tap).await;
    let all: Vec<u8> = (1..=5).flat_map(|id| frame(&MetadataRequest::default(), 13, id)).collect();
    client.send(&all).await;
    for id in 1..=5 {
        assert_eq!(client.read().await.unwrap()[..4], [0, 0, 0, id]);
    }
}

#[tokio::test]
async fn a_delayed_answer_comes_late_and_a_dropped_one_never() {
    let broker = broker().await;
    let (tap, watch) = tap(&broker, &["apiversions@1: delay 300ms", "apiversions@2: drop"], &[]);
    let mut client = Raw::to(&tap).await;
    let start = Instant::now();
    client.ask(&ApiVersionsRequest::default(), 0, 1).await;
    assert!(start.elapsed() >= Duration::from_millis(300));
    client.send(&frame(&ApiVersionsRequest::default(), 0, 2)).await;
    client.ask(&ApiVersionsRequest::default(), 0, 3).await;
    let seen: Vec<_> = (0..3).map(|_| exchange(&watch, ApiKey::API_VERSIONS)).collect();
    assert!(seen[0].latency().unwrap() >= Duration::from_millis(300));
    assert_eq!((id(&seen[1]), &seen[1].response), (2, &None));
    assert_eq!(id(&seen[2]), 3);
}

#[tokio::test]
async fn a_cut_ends_the_connection_at_once_or_within_the_answer() {
    let broker = broker().await;
    let (tap, watch) = tap(&broker, &["apiversions@1: cut", "apiversions@2: cut after 10 bytes"], &[]);
    let mut client = Raw::to(&tap).await;
    client.send(&frame(&ApiVersionsRequest::default(), 0, 1)).await;
    assert_eq!(client.read().await, None);
    assert_eq!(closed(&watch), "cut by a fault");

    let mut client = Raw::to(&tap).await;
    client.send(&frame(&ApiVersionsRequest::default(), 0, 2)).await;
    let mut bytes = Vec::new();
    client.0.read_to_end(&mut bytes).await.unwrap();
    // Size, correlation id, error code.
    assert_eq!((bytes.len(), &bytes[4..]), (10, &[0, 0, 0, 2, 0, 0][..]));
}

#[tokio::test]
async fn an_error_for_who_wants_no_answer_is_the_end_of_the_connection() {
    let broker = broker().await;
    let (tap, watch) = tap(&broker, &["produce: error NOT_ENOUGH_REPLICAS"], &[]);
    let mut client = Raw::to(&tap).await;
    let partition_data = vec![PartitionProduceData { records: Some(Bytes::new()), ..Default::default() }];
    let topic = TopicProduceData { name: "letters".into(), partition_data, ..Default::default() };
    client.send(&frame(&ProduceRequest { acks: 0, topic_data: vec![topic], ..Default::default() }, 7, 1)).await;
    assert_eq!(client.read().await, None);
    assert_eq!(closed(&watch), "cut by a fault");
}

#[tokio::test]
async fn a_capped_client_speaks_the_old_version_and_a_request_above_it_is_refused() {
    let broker = broker().await;
    let (tap, watch) = tap(&broker, &[], &["produce=3", "apiversions=2", "metadata=-1"]);
    let mut raw = Raw::to(&tap).await;
    let refused = raw.ask(&ApiVersionsRequest::default(), 2, 1).await;
    let of = |api| refused.api_keys.iter().find(|entry| entry.api_key == api).map(|entry| entry.max_version);
    assert_eq!((of(ApiKey::PRODUCE), of(ApiKey::API_VERSIONS), of(ApiKey::METADATA)), (Some(3), Some(2), None));
    raw.send(&frame(&ProduceRequest { acks: 1, ..Default::default() }, 4, 2)).await;
    assert_eq!(raw.read().await, None);
    assert_eq!(closed(&watch), "Produce version 4 is above the cap");
    // A whole client falls back to what is left, and misses what is not.
    let config = ClientConfig { deadline: Duration::from_millis(300), ..client_config(&tap) };
    let client = Client::connect(config).await.unwrap();
    let error = client.metadata(None).await.unwrap_err();
    assert!(error.to_string().contains("does not know this API"), "{error}");
}

#[tokio::test]
async fn an_error_that_has_no_place_in_the_answer_leaves_the_request_alone() {
    let broker = broker().await;
    let (tap, watch) = tap(&broker, &["metadata v0: error NOT_CONTROLLER"], &[]);
    let metadata = Raw::to(&tap).await.ask(&MetadataRequest::default(), 0, 1).await;
    assert_eq!(metadata.brokers.len(), 1);
    assert_eq!(exchange(&watch, ApiKey::METADATA).fault, None);
    assert_eq!(ErrorCode::NOT_CONTROLLER.0, 41);
}
