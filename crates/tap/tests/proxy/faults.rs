//! What goes wrong on purpose.

use std::time::{Duration, Instant};

use milena_client::{Acks, Client, ClientConfig, Codec, NewTopic, Record};
use milena_connection::{frame_response, read_request_header};
use milena_messages::fetch::request::{FetchPartition, FetchTopic};
use milena_messages::metadata::request::MetadataRequestTopic;
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::{
    ApiKey, ApiVersionsRequest, Bytes, ErrorCode, FetchRequest, FetchResponse, HeartbeatRequest, Message as _,
    MetadataRequest, ProduceRequest,
};
use milena_tap::{Event, Tap, TapConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::setup::{Raw, broker, client, client_config, closed, exchange, frame, id, rest, tap, to};

#[tokio::test]
async fn an_error_goes_to_the_client_and_the_request_to_nobody() {
    let broker = broker().await;
    let (tap, watch) = tap(&broker, &["produce@1-2: error NOT_LEADER_OR_FOLLOWER"], &[]);
    let client = client(&tap).await;
    client.create_topic(NewTopic::new("letters", 1, 1)).await.unwrap();
    // The client looks the leader up again and tries again, twice.
    let outcome = client.produce("letters", 0, Acks::All, Codec::None, vec![Record::new("k", "v")]).await.unwrap();
    assert_eq!(outcome.base_offset, Some(0), "nothing was written before");
    let seen: Vec<_> = (0..3).map(|_| exchange(&watch, ApiKey::PRODUCE)).collect();
    let faults: Vec<_> = seen.iter().map(|exchange| exchange.fault.map(|fault| fault.to_string())).collect();
    let error = Some("error NOT_LEADER_OR_FOLLOWER".to_owned());
    assert_eq!(faults, [error.clone(), error, None]);
    assert!(seen.iter().all(|exchange| exchange.response.is_some()));
}

#[tokio::test]
async fn injected_responses_keep_their_place_among_those_of_the_broker() {
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
async fn a_delayed_response_comes_late_and_a_dropped_one_never() {
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
async fn a_cut_ends_the_connection_at_once_or_within_the_response() {
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
async fn an_error_for_a_client_that_wants_no_response_ends_the_connection() {
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
async fn an_error_that_has_no_place_in_the_response_leaves_the_request_alone() {
    let broker = broker().await;
    let (tap, watch) = tap(&broker, &["metadata v0: error NOT_CONTROLLER"], &[]);
    let metadata = Raw::to(&tap).await.ask(&MetadataRequest::default(), 0, 1).await;
    assert_eq!(metadata.brokers.len(), 1);
    assert_eq!(exchange(&watch, ApiKey::METADATA).fault, None);
    assert_eq!(ErrorCode::NOT_CONTROLLER.0, 41);
}

/// A Fetch of version 11 in a session.
fn fetch(session_id: i32, session_epoch: i32, partitions: &[i32]) -> FetchRequest {
    let partitions: Vec<_> =
        partitions.iter().map(|index| FetchPartition { partition: *index, ..Default::default() }).collect();
    let topic = FetchTopic { topic: "letters".into(), partitions, ..Default::default() };
    let topics = if topic.partitions.is_empty() { Vec::new() } else { vec![topic] };
    FetchRequest { max_wait_ms: 60_000, session_id, session_epoch, topics, ..Default::default() }
}

/// What failed, by partition.
fn failed(response: &FetchResponse) -> Vec<(i32, i16)> {
    let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
    partitions.map(|partition| (partition.partition_index, partition.error_code.0)).collect()
}

#[tokio::test]
async fn a_fetch_that_names_no_partitions_fails_for_those_of_its_session() {
    // A broker that opens session 77, and waits for records that nobody wants to see.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut raw = Raw(socket);
                while let Some(frame) = raw.read().await {
                    let (header, body) = read_request_header(frame).unwrap();
                    let request = FetchRequest::from_bytes(body, 11).unwrap();
                    assert_eq!(request.max_wait_ms, if request.session_epoch == 0 { 60_000 } else { 0 });
                    let response = FetchResponse { session_id: 77, ..Default::default() };
                    raw.send(&frame_response(&response, 11, header.correlation_id).unwrap().concat()).await;
                }
            });
        }
    });
    let faults = vec!["fetch@2-3: error NOT_LEADER_OR_FOLLOWER".parse().unwrap()];
    let (tap, watch) = Tap::watched(TapConfig { faults, ..to(&address) }, 1 << 20).unwrap();
    let mut client = Raw::to(&tap).await;
    let opened = client.ask(&fetch(0, 0, &[0, 1]), 11, 1).await;
    assert_eq!((opened.session_id, failed(&opened)), (77, vec![]));
    let response = client.ask(&fetch(77, 1, &[]), 11, 2).await;
    assert_eq!((response.error_code.0, response.session_id), (0, 77), "the session lives on");
    assert_eq!(failed(&response), [(0, 6), (1, 6)]);
    // A session outlasts its connection.
    let mut client = Raw::to(&tap).await;
    let response = client.ask(&fetch(77, 2, &[5]), 11, 3).await;
    assert_eq!(failed(&response), [(0, 6), (1, 6), (5, 6)]);
    let faults: Vec<_> = (0..3).map(|_| exchange(&watch, ApiKey::FETCH).fault.is_some()).collect();
    assert_eq!(faults, [false, true, true]);
}

#[tokio::test]
async fn a_metadata_error_leaves_the_brokers_in_the_response() {
    let broker = broker().await;
    let (tap, watch) = tap(&broker, &["metadata@2+: error TOPIC_AUTHORIZATION_FAILED"], &[]);
    let mut raw = Raw::to(&tap).await;
    let topic = MetadataRequestTopic { name: Some("letters".into()), ..Default::default() };
    let all = MetadataRequest { topics: Some(vec![topic]), allow_auto_topic_creation: true, ..Default::default() };
    raw.ask(&all, 12, 1).await;
    let failed = raw.ask(&all, 12, 2).await;
    assert_eq!((failed.brokers.len(), failed.topics[0].error_code.0), (1, 29));
    assert_ne!(failed.brokers[0].port, i32::from(broker.address().port()), "addresses are those of the tap");
    // Without topics nothing can fail, and nothing did.
    let none = MetadataRequest { topics: Some(Vec::new()), ..Default::default() };
    assert_eq!(raw.ask(&none, 12, 3).await.brokers.len(), 1);
    drop(raw);
    tap.shutdown().await;
    let events = rest(&watch);
    let faults: Vec<_> = events
        .iter()
        .filter_map(|event| if let Event::Exchange(exchange) = event { Some(exchange.fault.is_some()) } else { None })
        .collect();
    assert_eq!(faults, [false, true, false]);
    let warnings = events.iter().filter(|event| {
        matches!(event, Event::Warning(text) if text.contains("Metadata version 12") && text.contains("nothing that could fail"))
    });
    assert_eq!(warnings.count(), 1);
}

#[tokio::test]
async fn delays_of_pipelined_requests_run_at_the_same_time() {
    let broker = broker().await;
    let (tap, _watch) = tap(&broker, &["apiversions: delay 400ms", "metadata: delay 5s"], &[]);
    let (mut client, mut other) = (Raw::to(&tap).await, Raw::to(&tap).await);
    let start = Instant::now();
    other.send(&frame(&MetadataRequest::default(), 12, 1)).await;
    let all: Vec<u8> = (1..=20).flat_map(|id| frame(&ApiVersionsRequest::default(), 0, id)).collect();
    client.send(&all).await;
    let twenty = async {
        for id in 1..=20 {
            assert_eq!(client.read().await.unwrap()[..4], [0, 0, 0, id]);
            assert!(start.elapsed() >= Duration::from_millis(400));
        }
    };
    // One after the other, twenty delays would take longer than that of the other connection.
    tokio::select! {
        () = twenty => {}
        _ = other.read() => panic!("delays add up"),
    }
}

#[tokio::test]
async fn responses_in_front_of_a_delayed_one_do_not_wait_and_those_after_it_keep_their_order() {
    let broker = broker().await;
    let (tap, _watch) = tap(&broker, &["metadata@1: delay 300ms", "metadata@3: error 8"], &[]);
    let mut client = Raw::to(&tap).await;
    let versions = frame(&ApiVersionsRequest::default(), 0, 1);
    let rest: Vec<u8> = (2..=4).flat_map(|id| frame(&MetadataRequest::default(), 12, id)).collect();
    let start = Instant::now();
    client.send(&[versions, rest].concat()).await;
    for id in 1..=4 {
        assert_eq!(client.read().await.unwrap()[..4], [0, 0, 0, id]);
        if id > 1 {
            assert!(start.elapsed() >= Duration::from_millis(300));
        }
    }
    // A delayed response still arrives when the client has nothing more to say.
    client.send(&frame(&MetadataRequest::default(), 12, 5)).await;
    client.0.shutdown().await.unwrap();
    assert_eq!(client.read().await.unwrap()[..4], [0, 0, 0, 5]);
}

#[tokio::test]
async fn rules_are_counted_and_those_that_cannot_work_are_refused() {
    let broker = broker().await;
    let (tap, _watch) = tap(&broker, &["apiversions@2: drop", "fetch client=x: cut"], &[]);
    let mut client = Raw::to(&tap).await;
    client.ask(&ApiVersionsRequest::default(), 0, 1).await;
    let counts: Vec<_> =
        tap.fault_statistics().iter().map(|rule| (rule.rule.to_string(), rule.matched, rule.fired)).collect();
    assert_eq!(counts, [("apiversions@2: drop".to_owned(), 1, 0), ("fetch client=x: cut".to_owned(), 0, 0)]);
    for (rule, works) in [
        ("describelogdirs v0-2: error CLUSTER_AUTHORIZATION_FAILED", false),
        ("describelogdirs v0-3: error CLUSTER_AUTHORIZATION_FAILED", true),
        ("describelogdirs v0-2: error KAFKA_STORAGE_ERROR", true),
        ("metadata v9: error REBOOTSTRAP_REQUIRED", false),
        ("metadata: error REBOOTSTRAP_REQUIRED", true),
        ("*: error REBOOTSTRAP_REQUIRED", true),
        ("10000: error 3", true),
    ] {
        let started = Tap::start(TapConfig { faults: vec![rule.parse().unwrap()], ..to(&broker.bootstrap()) });
        assert_eq!(started.is_ok(), works, "{rule}");
        if let Err(error) = started {
            assert!(error.to_string().starts_with(&format!("fault `{rule}`: responses to ")), "{error}");
        }
    }
}

#[tokio::test]
async fn an_unknown_api_is_counted_dropped_and_delayed_as_any_other() {
    let broker = broker().await;
    let (tap, watch) = tap(&broker, &["10000: drop"], &[]);
    let mut client = Raw::to(&tap).await;
    // A header without tagged fields, and a body.
    client.send(b"\0\0\0\x10\x27\x10\0\x02\0\0\0\x07\0\x03raw\x09\x09\x09").await;
    client.ask(&ApiVersionsRequest::default(), 0, 8).await;
    let unknown = exchange(&watch, ApiKey(10_000));
    let head = unknown.head().unwrap();
    assert_eq!((head.api_version, head.correlation_id, head.client_id.as_deref()), (2, 7, Some("raw")));
    assert_eq!(unknown.fault.unwrap().to_string(), "drop");
}

#[tokio::test]
async fn an_error_of_one_partition_leaves_the_others_of_its_request_alone() {
    let broker = broker().await;
    let (tap, _watch) = tap(&broker, &["produce topic=let* partition=1: error NOT_LEADER_OR_FOLLOWER"], &[]);
    let other = Client::connect(ClientConfig { bootstrap: vec![broker.bootstrap()], ..ClientConfig::default() }).await;
    let other = other.unwrap();
    other.create_topic(NewTopic::new("letters", 3, 1)).await.unwrap();
    let records = Some(milena_records::encode(&[Record::from_value("x")], Codec::None).unwrap());
    let partition = |index| PartitionProduceData { index, records: records.clone(), ..Default::default() };
    let data = TopicProduceData {
        name: "letters".into(),
        partition_data: vec![partition(0), partition(1)],
        ..Default::default()
    };
    let mut client = Raw::to(&tap).await;
    let mut request = ProduceRequest { acks: -1, topic_data: vec![data], ..Default::default() };
    let mut codes = Vec::new();
    // Version 13 names the topic by its id, which the tap learns from the Metadata.
    for (id, version) in [(1, 9), (3, 13)] {
        let named = MetadataRequestTopic { name: Some("letters".into()), ..Default::default() };
        let metadata = client.ask(&MetadataRequest { topics: Some(vec![named]), ..Default::default() }, 12, id).await;
        request.topic_data[0].topic_id = metadata.topics[0].topic_id;
        if version == 13 {
            request.topic_data[0].name = "".into();
        }
        let response = client.ask(&request, version, id + 1).await;
        let mut found: Vec<_> = response.responses.iter().flat_map(|topic| &topic.partition_responses).collect();
        found.sort_unstable_by_key(|one| one.index);
        codes.push(found.iter().map(|one| one.error_code.0).collect::<Vec<_>>());
    }
    assert_eq!(codes, [[0, 6], [0, 6]]);
    let ends: Vec<i64> = broker.state().topic("letters").unwrap().partitions.iter().map(|one| one.end_offset).collect();
    assert_eq!(ends, [2, 0, 0]);
}

#[tokio::test]
async fn responses_are_throttled_garbled_short_and_out_of_order() {
    let broker = broker().await;
    let rules = [
        "heartbeat@1: throttle 1500ms",
        "heartbeat@2: garble 3 bytes",
        "heartbeat@3: short by 2 bytes",
        "heartbeat@4: reorder",
        "heartbeat@6: reorder",
    ];
    let (tap, _watch) = tap(&broker, &rules, &[]);
    let mut client = Raw::to(&tap).await;
    let beat = |id| frame(&HeartbeatRequest { group_id: "g".into(), ..Default::default() }, 3, id);
    client.send(&beat(1)).await;
    let right = client.read().await.unwrap();
    assert_eq!((right.len(), &right[4..8]), (10, &1500_i32.to_be_bytes()[..]));
    client.send(&beat(2)).await;
    let garbled = client.read().await.unwrap();
    let mut expected = right.to_vec();
    (expected[3], expected[6], expected[7]) = (2, 0, 0);
    assert_eq!(garbled[..4], expected[..4]);
    assert_eq!(garbled.iter().zip(&expected).filter(|(one, other)| one != other).count(), 3);
    client.send(&beat(3)).await;
    assert_eq!(client.read().await.unwrap().len(), 8);
    client.send(&[beat(4), beat(5)].concat()).await;
    let ids = [client.read().await.unwrap()[3], client.read().await.unwrap()[3]];
    assert_eq!(ids, [5, 4]);
    client.send(&beat(6)).await;
    assert_eq!(client.read().await.unwrap()[3], 6, "without a next one it comes all the same");
}
