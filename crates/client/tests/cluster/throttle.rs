//! Brokers that enforce quotas (KIP-219).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use milena_client::{
    Acks, Client, ClientConfig, Codec, FetchOptions, NewTopic, ObservedFrame, Observer, RangeOptions, Record, Start,
    Stop,
};
use milena_connection::IncomingRequest;
use milena_messages::create_topics::request::CreatableTopic;
use milena_messages::create_topics::response::CreatableTopicResult;
use milena_messages::produce::response::{PartitionProduceResponse, TopicProduceResponse};
use milena_messages::{
    ApiKey, CreateTopicsRequest, CreateTopicsResponse, ErrorCode, FetchRequest, FetchResponse, MetadataRequest,
    ProduceRequest, ProduceResponse,
};

use crate::broker::{Act, Broker, TOPIC, TOPIC_ID, ends, fetched, respond_with};

#[derive(Default)]
struct Throttles(Mutex<Vec<(ApiKey, Duration)>>);

impl Observer for Throttles {
    fn frame(&self, _: &ObservedFrame) {}

    fn throttled(&self, _: &str, api: ApiKey, time: Duration) {
        self.0.lock().unwrap().push((api, time));
    }
}

fn throttled_fetch(millis: i32) -> Act {
    respond_with::<FetchRequest>(FetchResponse { throttle_time_ms: millis, ..Default::default() })
}

#[tokio::test]
async fn a_throttled_fetch_without_topics_is_an_empty_response_and_reading_goes_on() {
    let broker = Broker::start(|nth, request| match (request.api_key, nth) {
        (ApiKey::LIST_OFFSETS, _) => ends(request, 0, 1),
        (ApiKey::FETCH, 0..3) => throttled_fetch(20),
        (ApiKey::FETCH, _) => {
            let record = Record::from_value("v").with_timestamp(1);
            fetched(1, milena_records::encode(&[record], Codec::None).unwrap())
        }
        _ => Act::Silence,
    })
    .await;
    let throttles = Arc::new(Throttles::default());
    let observer: Arc<dyn Observer> = Arc::clone(&throttles) as _;
    // Not long enough for any of the waits.
    let limit = Duration::from_millis(10);
    let config = ClientConfig { observer: Some(observer), ..broker.config() };
    let client = Client::connect(config).await.unwrap();
    let options = RangeOptions { patience: Some(limit), ..RangeOptions::default() };
    let mut reader = client.fetch_range(TOPIC, 0, Start::EARLIEST, Stop::End, options).await.unwrap();
    assert_eq!(reader.read_all().await.unwrap().len(), 1);
    assert_eq!(*throttles.0.lock().unwrap(), [(ApiKey::FETCH, Duration::from_millis(20)); 3]);
}

#[tokio::test]
async fn topics_that_a_quota_keeps_out_are_created_after_the_wait_and_the_others_once() {
    let broker = Broker::start(|_, request| match request.api_key {
        ApiKey::CREATE_TOPICS => {
            let asked: CreateTopicsRequest = request.decode().unwrap();
            let topic = |asked: &CreatableTopic| CreatableTopicResult {
                name: asked.name.clone(),
                // The quota admits one topic a time.
                error_code: match asked == &asked_first(request) {
                    true => ErrorCode::NONE,
                    false => ErrorCode::THROTTLING_QUOTA_EXCEEDED,
                },
                ..Default::default()
            };
            let topics = asked.topics.iter().map(topic).collect();
            respond_with::<CreateTopicsRequest>(CreateTopicsResponse {
                topics,
                throttle_time_ms: 20,
                ..Default::default()
            })
        }
        ApiKey::METADATA => {
            let asked: MetadataRequest = request.decode().unwrap();
            let name = asked.topics.and_then(|topics| topics.first().and_then(|topic| topic.name.clone()));
            Act::Metadata(Box::new(move |response| response.topics[0].name = name))
        }
        _ => Act::Silence,
    })
    .await;
    let client = broker.client().await;
    let topics = ["a", "b", "c"].map(|name| NewTopic::new(name, 1, 1));
    let outcomes = client.create_topics(&topics).await.unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.result.is_ok()), "{outcomes:?}");
    assert_eq!(outcomes.iter().map(|outcome| &*outcome.name).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(broker.seen(ApiKey::CREATE_TOPICS), 3);
}

fn asked_first(request: &IncomingRequest) -> CreatableTopic {
    request.decode::<CreateTopicsRequest>().unwrap().topics[0].clone()
}

#[tokio::test]
async fn a_fetch_reports_for_how_long_it_is_throttled() {
    let broker = Broker::start(|_, request| match request.api_key {
        ApiKey::FETCH => throttled_fetch(1),
        _ => Act::Silence,
    })
    .await;
    let fetched = broker.client().await.fetch(TOPIC, 0, 0, &FetchOptions::default()).await.unwrap();
    assert_eq!((fetched.high_watermark, fetched.throttle), (None, Duration::from_millis(1)));
    assert!(fetched.records.is_empty());
}

#[tokio::test]
async fn a_throttled_producer_does_not_run_out_of_time_while_it_waits() {
    let broker = Broker::start(|nth, request| match request.api_key {
        ApiKey::PRODUCE => {
            let partition = PartitionProduceResponse { base_offset: nth as i64, ..Default::default() };
            let topic = TopicProduceResponse {
                name: TOPIC.into(),
                topic_id: TOPIC_ID,
                partition_responses: vec![partition],
                ..Default::default()
            };
            let responses = vec![topic];
            respond_with::<ProduceRequest>(ProduceResponse { responses, throttle_time_ms: 700, ..Default::default() })
        }
        _ => Act::Silence,
    })
    .await;
    let limit = Duration::from_millis(500);
    let config = ClientConfig { deadline: limit, request_timeout: limit, max_batch_bytes: 1, ..broker.config() };
    let client = Client::connect(config).await.unwrap();
    let records = vec![Record::from_value("a"), Record::from_value("b"), Record::from_value("c")];
    client.produce(TOPIC, 0, Acks::All, Codec::None, records).await.unwrap();
    assert_eq!(broker.seen(ApiKey::PRODUCE), 3);
}
