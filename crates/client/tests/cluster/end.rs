//! A range ends because its position reached the end, or with an error.

use std::time::Duration;

use milena_client::{Client, ClientConfig, Error, Isolation, RangeOptions, Record, StallReason, Start, Stop};
use milena_messages::fetch::response::{FetchableTopicResponse, PartitionData};
use milena_messages::{ApiKey, Bytes, ErrorCode, FetchRequest, FetchResponse, VersionRange};
use milena_records::BatchBuilder;

use crate::broker::{Act, Broker, TOPIC, TOPIC_ID, ends, fetched, respond_with, versions_with};

fn batch(base: i64, values: &[&str]) -> Bytes {
    let mut builder = BatchBuilder::new().base_offset(base);
    for value in values {
        builder.push(&Record::from_value(value.to_string()).with_timestamp(1)).unwrap();
    }
    builder.build().unwrap()
}

/// Waits so long without progress that a few fetches fit in.
fn impatient() -> RangeOptions {
    let mut options = RangeOptions { patience: Some(Duration::from_millis(150)), ..RangeOptions::default() };
    options.fetch.max_wait = Duration::ZERO;
    options
}

/// Has offsets 0 to 9, and serves fetches by the script: nth, and offset.
async fn serving(script: impl Fn(usize, i64) -> Bytes + Send + 'static) -> Broker {
    serving_versions(ApiKey::FETCH.versions(), script).await
}

async fn serving_versions(versions: VersionRange, script: impl Fn(usize, i64) -> Bytes + Send + 'static) -> Broker {
    Broker::with_versions(versions_with(ApiKey::FETCH, versions), move |nth, request| match request.api_key {
        ApiKey::LIST_OFFSETS => ends(request, 0, 10),
        ApiKey::FETCH => {
            let asked: FetchRequest = request.decode().unwrap();
            fetched(10, script(nth, asked.topics[0].partitions[0].fetch_offset))
        }
        _ => Act::Silence,
    })
    .await
}

const ALL: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

#[tokio::test]
async fn many_empty_responses_below_the_end_are_waited_for() {
    let broker = serving(|nth, _| if nth < 7 { Bytes::new() } else { batch(0, &ALL) }).await;
    let mut options = impatient();
    options.patience = None;
    let mut reader = broker.client().await.fetch_range(TOPIC, 0, Start::EARLIEST, Stop::End, options).await.unwrap();
    assert_eq!(reader.read_all().await.unwrap().len(), 10);
}

#[tokio::test]
async fn responses_without_use_are_an_error_after_some_patience_and_never_an_end() {
    let half = batch(0, &ALL);
    let half = half.slice(..half.len() / 2);
    // The size limit of the request leaves room for the whole batch, so that a larger one does not help.
    for (reason, bytes) in [
        (StallReason::Empty, Bytes::new()),
        (StallReason::CutBatch, half),
        (StallReason::CutBatch, Bytes::from_static(&[7; 10])),
        (StallReason::OldRecords, batch(0, &["0", "1"])),
    ] {
        for stop in [Stop::End, Stop::Offset(9), Stop::Never] {
            let bytes = bytes.clone();
            let broker = serving(move |_, _| bytes.clone()).await;
            let client = broker.client().await;
            let mut reader = client.fetch_range(TOPIC, 0, Start::Offset(5), stop, impatient()).await.unwrap();
            let error = reader.next().await.unwrap_err();
            match error {
                Error::Stalled { position: 5, high_watermark: 10, reason: found, .. } if found == reason => {}
                other => panic!("{reason:?} with {stop:?}: {other:?}"),
            }
            // 10, 20, 40, 80, 160 ms of pauses at most.
            assert!(broker.seen(ApiKey::FETCH) <= 6, "{} fetches", broker.seen(ApiKey::FETCH));
        }
    }
}

#[tokio::test]
async fn garbage_is_an_error_again_and_again_with_pauses_between() {
    let mut garbage = batch(5, &["5", "6"]).to_vec();
    garbage[16] = 9; // the magic
    let garbage = Bytes::from(garbage);
    for skip_corrupt in [false, true] {
        let garbage = garbage.clone();
        let broker = serving(move |_, _| garbage.clone()).await;
        let client = broker.client().await;
        let options = RangeOptions { skip_corrupt, ..impatient() };
        let mut reader = client.fetch_range(TOPIC, 0, Start::Offset(5), Stop::Never, options).await.unwrap();
        let reading = async {
            loop {
                assert!(matches!(reader.next().await, Err(Error::Records { .. } | Error::Stalled { .. })));
            }
        };
        let _ = tokio::time::timeout(Duration::from_millis(300), reading).await;
        assert!(broker.seen(ApiKey::FETCH) < 20, "{} fetches", broker.seen(ApiKey::FETCH));
    }
}

#[tokio::test]
async fn waiting_at_the_end_does_not_spin_on_a_broker_that_does_not_wait() {
    let broker = serving(|_, _| Bytes::new()).await;
    let mut options = impatient();
    options.fetch.max_wait = Duration::from_millis(500);
    let client = broker.client().await;
    let mut reader = client.fetch_range(TOPIC, 0, Start::LATEST, Stop::Never, options).await.unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(300), reader.next()).await.is_err());
    assert!(broker.seen(ApiKey::FETCH) < 10, "{} fetches", broker.seen(ApiKey::FETCH));
}

#[tokio::test]
async fn the_oldest_record_is_looked_up_again_when_it_was_deleted_before_it_was_read() {
    // Retention deletes up to 5 after the look-up.
    let broker = Broker::start(|nth, request| match request.api_key {
        ApiKey::LIST_OFFSETS => ends(request, if nth < 2 { 0 } else { 5 }, 10),
        ApiKey::FETCH => {
            let asked: FetchRequest = request.decode().unwrap();
            match asked.topics[0].partitions[0].fetch_offset {
                0..5 => out_of_range(),
                5 => fetched(10, batch(5, &ALL[5..])),
                offset => panic!("{offset}"),
            }
        }
        _ => Act::Silence,
    })
    .await;
    let client = broker.client().await;
    let mut reader = client.fetch_range(TOPIC, 0, Start::EARLIEST, Stop::End, impatient()).await.unwrap();
    assert_eq!(reader.read_all().await.unwrap().len(), 5);
    // A caller who names the offset gets the error.
    let mut reader = client.fetch_range(TOPIC, 0, Start::Offset(2), Stop::End, impatient()).await.unwrap();
    let error = reader.next().await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::OFFSET_OUT_OF_RANGE));
    assert_eq!(error.to_string(), "offset 2 of letters-0 is out of range: the partition has offsets 5 to 9");
}

fn out_of_range() -> Act {
    respond(PartitionData { error_code: ErrorCode::OFFSET_OUT_OF_RANGE, high_watermark: -1, ..Default::default() })
}

fn respond(data: PartitionData) -> Act {
    let topic = FetchableTopicResponse { topic_id: TOPIC_ID, partitions: vec![data], ..Default::default() };
    respond_with::<FetchRequest>(FetchResponse { responses: vec![topic], ..Default::default() })
}

#[tokio::test]
async fn reading_without_end_goes_on_after_an_outage() {
    // Everything fails for a while, longer than any call may take.
    let broker = Broker::start(|nth, request| match (request.api_key, nth) {
        (ApiKey::LIST_OFFSETS, _) => ends(request, 0, 10),
        (ApiKey::FETCH, 0) => fetched(10, batch(0, &ALL[..5])),
        (ApiKey::FETCH, 1..8) => Act::HalfClose,
        (ApiKey::FETCH, _) => fetched(10, batch(0, &ALL)),
        _ => Act::Silence,
    })
    .await;
    let config = ClientConfig { deadline: Duration::from_millis(60), ..broker.config() };
    let client = Client::connect(config).await.unwrap();
    let mut options = impatient();
    options.patience = None;
    let mut reader = client.fetch_range(TOPIC, 0, Start::EARLIEST, Stop::Never, options.clone()).await.unwrap();
    for offset in 0..10 {
        assert_eq!(reader.next().await.unwrap().unwrap().offset, offset);
    }
    assert!(broker.seen(ApiKey::FETCH) >= 9);

    // With an end, the same outage is an error.
    let broker = Broker::start(|_, request| match request.api_key {
        ApiKey::LIST_OFFSETS => ends(request, 0, 10),
        ApiKey::FETCH => Act::HalfClose,
        _ => Act::Silence,
    })
    .await;
    let config = ClientConfig { deadline: Duration::from_millis(60), ..broker.config() };
    let client = Client::connect(config).await.unwrap();
    let mut reader = client.fetch_range(TOPIC, 0, Start::EARLIEST, Stop::End, options).await.unwrap();
    let error = reader.next().await.unwrap_err();
    assert!(matches!(error, Error::Deadline { .. }) && error.is_retriable(), "{error:?}");
}

#[tokio::test]
async fn an_open_transaction_is_waited_for_like_the_end() {
    let broker = Broker::start(|_, request| match request.api_key {
        ApiKey::LIST_OFFSETS => ends(request, 0, 5),
        ApiKey::FETCH => {
            let data = PartitionData { high_watermark: 10, last_stable_offset: 5, ..Default::default() };
            respond(data)
        }
        _ => Act::Silence,
    })
    .await;
    let client = broker.client().await;
    let mut options = impatient();
    options.patience = Some(Duration::from_millis(20));
    options.fetch.isolation = Isolation::ReadCommitted;
    let mut reader = client.fetch_range(TOPIC, 0, Start::LATEST, Stop::Never, options).await.unwrap();
    assert_eq!(reader.position(), 5);
    let next = tokio::time::timeout(Duration::from_millis(200), reader.next()).await;
    assert!(next.is_err(), "{next:?}");
}

#[tokio::test]
async fn a_range_that_would_run_backwards_is_refused() {
    let broker = serving(|_, _| Bytes::new()).await;
    let client = broker.client().await;
    let error = client.fetch_range(TOPIC, 0, Start::Offset(5), Stop::Offset(4), impatient()).await.unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error}");
}

#[tokio::test]
async fn records_of_another_topic_are_not_taken() {
    let broker = Broker::start(|_, request| match request.api_key {
        ApiKey::LIST_OFFSETS => ends(request, 0, 10),
        ApiKey::FETCH => {
            let records = Some(batch(0, &ALL));
            let data = PartitionData { high_watermark: 10, records, ..Default::default() };
            let topic = FetchableTopicResponse {
                topic_id: milena_messages::Uuid::from_bytes([8; 16]),
                partitions: vec![data],
                ..Default::default()
            };
            respond_with::<FetchRequest>(FetchResponse { responses: vec![topic], ..Default::default() })
        }
        _ => Act::Silence,
    })
    .await;
    let client = broker.client().await;
    let mut reader = client.fetch_range(TOPIC, 0, Start::EARLIEST, Stop::End, impatient()).await.unwrap();
    let error = reader.next().await.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(cause, "the Fetch response does not name letters-0");
}
