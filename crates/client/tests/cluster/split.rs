//! Batches that a broker refuses because of their records.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use milena_client::{Acks, Client, ClientConfig, Codec, Error, Header, Record};
use milena_messages::describe_configs::response::{DescribeConfigsResourceResult, DescribeConfigsResult};
use milena_messages::produce::response::{BatchIndexAndErrorMessage, PartitionProduceResponse, TopicProduceResponse};
use milena_messages::{
    ApiKey, Bytes, DescribeConfigsRequest, DescribeConfigsResponse, ErrorCode, ProduceRequest, ProduceResponse,
    VersionRange,
};
use milena_records::Batches;

use crate::broker::{Act, Broker, TOPIC, TOPIC_ID, respond_with, versions_with};

/// What one batch meets.
enum Verdict {
    Code(ErrorCode),
    /// These records of the batch are at fault.
    Named(ErrorCode, Vec<usize>),
    Silence,
    Close,
}

/// A log that keeps the values of the batches that it accepts. `None` accepts.
async fn judging(
    versions: VersionRange,
    judge: impl Fn(&Bytes, &[String]) -> Option<Verdict> + Send + 'static,
) -> (Broker, Arc<Mutex<Vec<String>>>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&log);
    let broker = Broker::with_versions(versions_with(ApiKey::PRODUCE, versions), move |_, request| {
        match request.api_key {
            ApiKey::PRODUCE => {}
            ApiKey::DESCRIBE_CONFIGS => return limit(200),
            _ => return Act::Silence,
        }
        let produce: ProduceRequest = request.decode().unwrap();
        let bytes = produce.topic_data[0].partition_data[0].records.clone().unwrap();
        let batch = Batches::new(bytes.clone()).next().unwrap().unwrap();
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        let values: Vec<String> = batch.records().map(|record| text(record.unwrap().value.unwrap())).collect();
        let mut partition = PartitionProduceResponse::default();
        match judge(&bytes, &values) {
            Some(Verdict::Silence) => return Act::Silence,
            Some(Verdict::Close) => return Act::HalfClose,
            Some(Verdict::Code(code)) => partition.error_code = code,
            Some(Verdict::Named(code, indexes)) => {
                partition.error_code = code;
                partition.record_errors = indexes
                    .iter()
                    .map(|index| BatchIndexAndErrorMessage {
                        batch_index: *index as i32,
                        batch_index_error_message: Some("no key".into()),
                        ..Default::default()
                    })
                    .collect();
            }
            None => {
                let mut log = kept.lock().unwrap();
                partition.base_offset = log.len() as i64;
                log.extend(values);
            }
        }
        let partition_responses = vec![partition];
        let topic =
            TopicProduceResponse { name: TOPIC.into(), topic_id: TOPIC_ID, partition_responses, ..Default::default() };
        respond_with::<ProduceRequest>(ProduceResponse { responses: vec![topic], ..Default::default() })
    })
    .await;
    (broker, log)
}

fn limit(bytes: usize) -> Act {
    let config = DescribeConfigsResourceResult {
        name: "max.message.bytes".into(),
        value: Some(bytes.to_string().as_str().into()),
        ..Default::default()
    };
    let result = DescribeConfigsResult { configs: vec![config], ..Default::default() };
    respond_with::<DescribeConfigsRequest>(DescribeConfigsResponse { results: vec![result], ..Default::default() })
}

fn records(values: &[&str]) -> Vec<Record> {
    values.iter().map(|value| Record::from_value(value.to_string()).with_timestamp(1)).collect()
}

const ALL: VersionRange = VersionRange::new(0, 13);

#[tokio::test]
async fn batches_have_at_most_the_configured_bytes() {
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&sizes);
    let (broker, log) = judging(ALL, move |bytes, _| {
        seen.lock().unwrap().push(bytes.len());
        None
    })
    .await;
    let client = Client::connect(ClientConfig { max_batch_bytes: 1000, ..broker.config() }).await.unwrap();
    let values: Vec<String> = (0..100).map(|number| format!("{number:050}")).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let report = client.produce_report(TOPIC, 0, Acks::All, Codec::None, records(&values)).await;
    assert_eq!((report.written(), report.failures().count()), (100, 0));
    assert_eq!(*log.lock().unwrap(), values);
    // The result of each record says where it went.
    for batch in report.batches() {
        assert_eq!(batch.result.as_ref().unwrap().base_offset, Some(batch.records.start as i64));
    }
    let sizes = sizes.lock().unwrap();
    assert!(sizes.iter().all(|size| *size <= 1000) && sizes.len() >= 6 && sizes.len() <= 12, "{sizes:?}");
}

#[tokio::test]
async fn a_batch_too_large_for_the_topic_is_halved_and_a_record_too_large_does_not_lose_the_others() {
    let too_large =
        |bytes: &Bytes, _: &[String]| (bytes.len() > 200).then_some(Verdict::Code(ErrorCode::MESSAGE_TOO_LARGE));
    let (broker, log) = judging(ALL, too_large).await;
    let client = broker.client().await;
    let giant = "g".repeat(300);
    let mut values = vec!["v"; 50];
    values[17] = &giant;
    let report = client.produce_report(TOPIC, 0, Acks::All, Codec::None, records(&values)).await;
    assert_eq!(report.written(), 49);
    assert_eq!(*log.lock().unwrap(), vec!["v"; 49]);
    let [(range, error)] = &report.failures().collect::<Vec<_>>()[..] else { panic!("{report:?}") };
    assert_eq!(*range, 17..18);
    // 61 bytes of header; length 2, attributes, timestamp and offset 3, no key 1, length of value 2, value, no headers 1.
    let size = 61 + 2 + 3 + 1 + 2 + 300 + 1;
    match error {
        Error::RecordTooLarge { record: 17, size: found, limit: Some(200), .. } => assert_eq!(*found, size),
        other => panic!("{other:?}"),
    }
    assert_eq!(
        error.to_string(),
        format!(
            "record 17 for letters-0 is too large: a batch of this record alone has {size} bytes, max.message.bytes of the \
             topic allows 200"
        )
    );
    assert!(error.is_record_fault() && !error.possibly_written() && report.of(17).unwrap().is_err());
    match report.into_result() {
        Err(Error::PartlyWritten { written: 49, records: 50, .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn records_that_the_broker_names_are_left_out_and_the_rest_is_written() {
    // Named from Produce 8 on; before that only the batch is refused.
    for version in [8, 7] {
        let judge = move |_: &Bytes, values: &[String]| {
            let bad: Vec<usize> = (0..values.len()).filter(|&index| values[index] == "bad").collect();
            match (bad.is_empty(), version) {
                (true, _) => None,
                (false, 8) => Some(Verdict::Named(ErrorCode::INVALID_RECORD, bad)),
                (false, _) => Some(Verdict::Code(ErrorCode::INVALID_RECORD)),
            }
        };
        let (broker, log) = judging(VersionRange::new(0, version), judge).await;
        let client = broker.client().await;
        let all = records(&["a", "bad", "b", "c", "bad"]);
        let report = client.produce_report(TOPIC, 0, Acks::All, Codec::Lz4, all).await;
        assert_eq!(*log.lock().unwrap(), ["a", "b", "c"]);
        let failed: Vec<_> = report.failures().map(|(range, error)| (range.start, error.to_string())).collect();
        let text = |record| match version {
            8 => format!("the broker refuses record {record} for letters-0 with INVALID_RECORD: no key"),
            _ => format!("the broker refuses record {record} for letters-0 with INVALID_RECORD"),
        };
        assert_eq!(failed, [(1, text(1)), (4, text(4))]);
    }
}

#[tokio::test]
async fn a_record_that_cannot_be_written_in_the_old_format_does_not_lose_the_others() {
    let (broker, log) = judging(VersionRange::new(0, 2), |_, _| None).await;
    let mut all = records(&["a", "b", "c"]);
    all[1].headers.push(Header::new("h", "1"));
    let report = broker.client().await.produce_report(TOPIC, 0, Acks::All, Codec::None, all).await;
    assert_eq!(*log.lock().unwrap(), ["a", "c"]);
    assert!(matches!(report.of(1), Some(Err(Error::RecordInvalid { record: 1, .. }))), "{report:?}");
}

#[tokio::test]
async fn records_in_doubt_are_reported_and_the_ones_after_them_are_written() {
    let judge = |_: &Bytes, values: &[String]| match values[0].as_str() {
        "lost" => Some(Verdict::Close),
        "late" => Some(Verdict::Code(ErrorCode::REQUEST_TIMED_OUT)),
        _ => None,
    };
    let (broker, log) = judging(ALL, judge).await;
    let config = ClientConfig { max_batch_bytes: 1, ..broker.config() };
    let client = Client::connect(config).await.unwrap();
    let all = records(&["a", "lost", "b", "late", "c"]);
    let report = client.produce_report(TOPIC, 0, Acks::All, Codec::None, all).await;
    assert_eq!(*log.lock().unwrap(), ["a", "b", "c"]);
    let doubts: Vec<_> = report.failures().map(|(range, error)| (range, error.possibly_written())).collect();
    assert_eq!(doubts, [(1..2, true), (3..4, true)]);
}

#[tokio::test]
async fn an_error_that_concerns_every_record_ends_the_call_and_nothing_is_in_doubt() {
    let judge = |_: &Bytes, _: &[String]| Some(Verdict::Code(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
    let (broker, _) = judging(ALL, judge).await;
    let client = Client::connect(ClientConfig { max_batch_bytes: 1, ..broker.config() }).await.unwrap();
    let report = client.produce_report(TOPIC, 0, Acks::All, Codec::None, records(&["a", "b", "c"])).await;
    assert_eq!(broker.seen(ApiKey::PRODUCE), 1);
    let failures: Vec<_> = report.failures().map(|(range, error)| (range, error.possibly_written())).collect();
    assert_eq!(failures, [(0..1, false), (1..2, false), (2..3, false)]);
}

#[tokio::test]
async fn a_silent_leader_leaves_the_first_batch_in_doubt_and_the_rest_unsent() {
    let (broker, _) = judging(ALL, |_, _| Some(Verdict::Silence)).await;
    let limit = Duration::from_millis(100);
    let config = ClientConfig { max_batch_bytes: 1, deadline: limit, request_timeout: limit, ..broker.config() };
    let client = Client::connect(config).await.unwrap();
    let report = client.produce_report(TOPIC, 0, Acks::All, Codec::None, records(&["a", "b"])).await;
    let doubts: Vec<_> = report.failures().map(|(_, error)| error.possibly_written()).collect();
    assert_eq!(doubts, [true, false], "{report:?}");
}

#[tokio::test]
async fn a_request_larger_than_a_broker_reads_is_refused_before_it_is_sent() {
    let (broker, log) = judging(ALL, |_, _| None).await;
    let config = ClientConfig { max_batch_bytes: 1 << 20, max_request_bytes: 2000, ..broker.config() };
    let client = Client::connect(config).await.unwrap();
    let giant = "g".repeat(3000);
    let report = client.produce_report(TOPIC, 0, Acks::All, Codec::None, records(&["a", &giant, "b"])).await;
    assert_eq!(*log.lock().unwrap(), ["a", "b"]);
    assert!(matches!(report.of(1), Some(Err(Error::RecordTooLarge { record: 1, .. }))), "{report:?}");
}

#[tokio::test]
async fn no_timestamp_stays_no_timestamp_when_asked_for() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&times);
    let (broker, _) = judging(ALL, move |bytes, _| {
        let batch = Batches::new(bytes.clone()).next().unwrap().unwrap();
        seen.lock().unwrap().extend(batch.records().map(|record| record.unwrap().timestamp));
        None
    })
    .await;
    for stamp_records in [false, true] {
        let client = Client::connect(ClientConfig { stamp_records, ..broker.config() }).await.unwrap();
        let all = vec![Record::from_value("a"), Record::from_value("b").with_timestamp(5)];
        client.produce(TOPIC, 0, Acks::All, Codec::None, all).await.unwrap();
    }
    let times = times.lock().unwrap();
    assert_eq!((&times[..2], times[3]), (&[-1, 5][..], 5));
    assert!(times[2] > 1_600_000_000_000);
}
