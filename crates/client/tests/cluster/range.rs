use std::time::Duration;

use milena_client::{Error, Isolation, OffsetSpec, RangeOptions, RangeReader, Record, Start, Stop};
use milena_messages::fetch::response::{AbortedTransaction, FetchableTopicResponse, PartitionData};
use milena_messages::list_offsets::response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use milena_messages::{
    ApiKey, ErrorCode, FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse, VersionRange,
};
use milena_records::{BatchBuilder, Codec, Control, MessageSetBuilder};
use milena_wire::Bytes;

use crate::broker::{Act, Broker, TOPIC, TOPIC_ID, respond_with};

/// The batches of a log, with their first and last offset.
type Log = Vec<(i64, i64, Bytes)>;

fn batch(base: i64, values: &[&str], change: impl FnOnce(BatchBuilder) -> BatchBuilder) -> (i64, i64, Bytes) {
    let mut builder = change(BatchBuilder::new().base_offset(base));
    for value in values {
        builder.push(&Record::from_value(value.to_string()).with_timestamp(1)).unwrap();
    }
    let bytes = builder.build().unwrap();
    let delta = i32::from_be_bytes(bytes[23..27].try_into().unwrap());
    (base, base + i64::from(delta), bytes)
}

fn plain(builder: BatchBuilder) -> BatchBuilder {
    builder
}

fn marker(base: i64, producer: i64, control: Control<'_>) -> (i64, i64, Bytes) {
    let mut builder = BatchBuilder::new().base_offset(base).producer(producer, 0, -1).transactional(true).control(true);
    builder.push(&control.to_record().with_timestamp(1)).unwrap();
    (base, base, builder.build().unwrap())
}

/// Serves a log that begins at its first batch and ends at `end`.
async fn serving(log: Log, end: i64, aborted: Vec<(i64, i64)>) -> Broker {
    serving_at(18, log, end, aborted).await
}

async fn serving_at(fetch: i16, log: Log, end: i64, aborted: Vec<(i64, i64)>) -> Broker {
    let versions = move |api: ApiKey| match api {
        ApiKey::FETCH => (api, VersionRange::new(0, fetch)),
        api => (api, api.versions()),
    };
    let first = log.first().map_or(0, |batch| batch.0);
    Broker::with_versions(ApiKey::all().map(versions).collect(), move |_, request| match request.api_key {
        ApiKey::LIST_OFFSETS => {
            let asked: ListOffsetsRequest = request.decode().unwrap();
            let offset = if asked.topics[0].partitions[0].timestamp == -2 { first } else { end };
            let partition = ListOffsetsPartitionResponse { offset, ..Default::default() };
            let topic =
                ListOffsetsTopicResponse { name: TOPIC.into(), partitions: vec![partition], ..Default::default() };
            respond_with::<ListOffsetsRequest>(ListOffsetsResponse { topics: vec![topic], ..Default::default() })
        }
        ApiKey::FETCH => {
            let asked: FetchRequest = request.decode().unwrap();
            let asked = &asked.topics[0].partitions[0];
            let records: Vec<u8> =
                log.iter().filter(|batch| batch.1 >= asked.fetch_offset).flat_map(|batch| batch.2.to_vec()).collect();
            let whole = if fetch >= 3 { log.iter().map(|batch| batch.2.len()).max().unwrap_or(0) } else { 0 };
            let limit = whole.max(asked.partition_max_bytes as usize).min(records.len());
            let aborted = aborted.iter().map(|&(producer_id, first_offset)| AbortedTransaction {
                producer_id,
                first_offset,
                ..Default::default()
            });
            let out_of_range = asked.fetch_offset > end;
            let data = PartitionData {
                error_code: if out_of_range { ErrorCode::OFFSET_OUT_OF_RANGE } else { ErrorCode::NONE },
                high_watermark: end,
                records: Some(records[..limit].to_vec().into()),
                aborted_transactions: Some(aborted.collect()),
                ..Default::default()
            };
            let topic = FetchableTopicResponse {
                topic: TOPIC.into(),
                topic_id: TOPIC_ID,
                partitions: vec![data],
                ..Default::default()
            };
            respond_with::<FetchRequest>(FetchResponse { responses: vec![topic], ..Default::default() })
        }
        _ => Act::Silence,
    })
    .await
}

async fn read(broker: &Broker, start: Start, stop: Stop, options: RangeOptions) -> RangeReader {
    broker.client().await.fetch_range(TOPIC, 0, start, stop, options).await.unwrap()
}

async fn values(reader: &mut RangeReader) -> Vec<(i64, String)> {
    let records = reader.read_all().await.unwrap();
    let text = |record: &Record| String::from_utf8(record.value.clone().unwrap().to_vec()).unwrap();
    records.iter().map(|record| (record.offset, text(record))).collect()
}

fn at(offset: i64, value: &str) -> (i64, String) {
    (offset, value.to_owned())
}

fn quick() -> RangeOptions {
    let mut options = RangeOptions::default();
    options.fetch.max_wait = Duration::ZERO;
    options
}

#[tokio::test]
async fn a_range_begins_and_stops_inside_of_batches() {
    let log = vec![batch(0, &["a", "b", "c"], plain), batch(3, &["d", "e", "f"], |b| b.codec(Codec::Lz4))];
    let broker = serving(log, 6, vec![]).await;
    let mut reader = read(&broker, Start::Offset(1), Stop::Offset(5), quick()).await;
    assert_eq!(values(&mut reader).await, [at(1, "b"), at(2, "c"), at(3, "d"), at(4, "e")]);
    assert!(reader.is_done() && reader.next().await.unwrap().is_none());
    let mut reader = read(&broker, Start::LATEST, Stop::End, quick()).await;
    assert_eq!(values(&mut reader).await, []);
    let mut reader = read(&broker, Start::At(OffsetSpec::Timestamp(9)), Stop::Offset(100), quick()).await;
    assert_eq!((values(&mut reader).await, reader.position()), (vec![], 6));
}

#[tokio::test]
async fn gaps_that_compaction_left_do_not_hold_up_the_end() {
    // Batches that lost all or the last of their records: Kafka's cleaner keeps the last offset of each.
    let log = vec![
        batch(4, &["a"], |b| b.last_offset(9)),
        batch(12, &[], |b| b.last_offset(15)),
        batch(20, &["b"], |b| b.last_offset(29)),
    ];
    let broker = serving(log, 30, vec![]).await;
    let mut reader = read(&broker, Start::EARLIEST, Stop::End, quick()).await;
    assert_eq!(values(&mut reader).await, [at(4, "a"), at(20, "b")]);
    assert_eq!((reader.position(), reader.end()), (30, Some(30)));
}

#[tokio::test]
async fn an_empty_topic_is_at_its_end() {
    let broker = serving(vec![], 0, vec![]).await;
    let mut reader = read(&broker, Start::EARLIEST, Stop::End, quick()).await;
    assert_eq!(values(&mut reader).await, []);
    assert_eq!(broker.seen(ApiKey::FETCH), 0);
}

#[tokio::test]
async fn control_records_are_left_out_and_aborted_ones_when_asked_for() {
    let of = |producer| move |b: BatchBuilder| b.producer(producer, 0, 0).transactional(true);
    let log = vec![
        batch(0, &["kept"], of(1)),
        batch(1, &["lost", "lost too"], of(2)),
        marker(3, 1, Control::Commit { coordinator_epoch: 0 }),
        batch(4, &["plain"], plain),
        marker(5, 2, Control::Abort { coordinator_epoch: 0 }),
        batch(6, &["second try"], of(2)),
        marker(7, 2, Control::Commit { coordinator_epoch: 0 }),
    ];
    let broker = serving(log, 8, vec![(2, 1)]).await;
    let mut options = quick();
    options.fetch.isolation = Isolation::ReadCommitted;
    let mut reader = read(&broker, Start::EARLIEST, Stop::End, options).await;
    assert_eq!(values(&mut reader).await, [at(0, "kept"), at(4, "plain"), at(6, "second try")]);
    assert_eq!(reader.position(), 8);
    let mut reader = read(&broker, Start::EARLIEST, Stop::End, quick()).await;
    assert_eq!(values(&mut reader).await.len(), 5);
}

#[tokio::test]
async fn a_batch_above_the_limit_comes_with_a_larger_one() {
    let large = "x".repeat(1000);
    let mut set = MessageSetBuilder::new(1).unwrap();
    set.push(&Record::from_value(large.clone()).with_timestamp(1)).unwrap();
    for (fetch, bytes) in [(18, batch(0, &[&large], plain).2), (2, set.build().unwrap())] {
        let broker = serving_at(fetch, vec![(0, 0, bytes)], 1, vec![]).await;
        let mut options = quick();
        options.fetch.max_bytes = 10;
        let mut reader = read(&broker, Start::EARLIEST, Stop::End, options).await;
        assert_eq!(values(&mut reader).await, [at(0, &large)]);
        // 10 bytes do not show how much is wanted; 20 do.
        assert_eq!(broker.seen(ApiKey::FETCH), if fetch == 2 { 3 } else { 1 });
    }
}

#[tokio::test]
async fn a_damaged_batch_is_an_error_with_its_offsets_or_skipped() {
    let mut log = vec![batch(0, &["a", "b"], plain), batch(2, &["c", "d"], plain), batch(4, &["e"], plain)];
    let mut damaged = log[1].2.to_vec();
    *damaged.last_mut().unwrap() ^= 1;
    log[1].2 = damaged.into();
    let broker = serving(log, 5, vec![]).await;

    let mut reader = read(&broker, Start::EARLIEST, Stop::End, quick()).await;
    for _ in 0..2 {
        reader.next().await.unwrap().unwrap();
    }
    for _ in 0..2 {
        let error = reader.next().await.unwrap_err();
        assert!(matches!(error, Error::Records { base_offset: 2, last_offset: 3, .. }), "{error}");
        assert_eq!(error.to_string(), "letters-0, offsets 2 to 3");
    }

    let mut reader = read(&broker, Start::EARLIEST, Stop::End, RangeOptions { skip_corrupt: true, ..quick() }).await;
    assert_eq!(values(&mut reader).await, [at(0, "a"), at(1, "b"), at(4, "e")]);
    assert_eq!(reader.skipped().len(), 1);
}

#[tokio::test]
async fn offsets_out_of_range_and_records_that_are_gone_are_named() {
    let broker = serving(vec![batch(0, &["a"], plain)], 1, vec![]).await;
    for stop in [Stop::Never, Stop::End] {
        let error = broker.client().await.fetch_range(TOPIC, 0, Start::Offset(7), stop, quick()).await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::OFFSET_OUT_OF_RANGE));
        assert_eq!(error.to_string(), "offset 7 of letters-0 is out of range: the partition has offsets 0 to 0");
    }

    // Says that it reaches to 9 first, and to 0 ever after.
    let broker = Broker::start(|_, request| match request.api_key {
        ApiKey::LIST_OFFSETS => {
            let partition = ListOffsetsPartitionResponse { offset: 9, ..Default::default() };
            let topic =
                ListOffsetsTopicResponse { name: TOPIC.into(), partitions: vec![partition], ..Default::default() };
            respond_with::<ListOffsetsRequest>(ListOffsetsResponse { topics: vec![topic], ..Default::default() })
        }
        ApiKey::FETCH => {
            let topic = FetchableTopicResponse {
                topic_id: TOPIC_ID,
                partitions: vec![Default::default()],
                ..Default::default()
            };
            respond_with::<FetchRequest>(FetchResponse { responses: vec![topic], ..Default::default() })
        }
        _ => Act::Silence,
    })
    .await;
    let options = RangeOptions { patience: Some(Duration::from_millis(100)), ..quick() };
    let mut reader = read(&broker, Start::Offset(3), Stop::End, options).await;
    let error = reader.next().await.unwrap_err();
    assert!(matches!(error, Error::Truncated { position: 3, high_watermark: 0, end: 9, .. }), "{error}");
}
