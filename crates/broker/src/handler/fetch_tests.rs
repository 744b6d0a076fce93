use bytes::Bytes;
use milena_records::{Batches, Codec, Record, encode};

use super::*;
use crate::config::BrokerConfig;
use crate::handler::tests::{Fixture, append, append_records, create, state, state_with};

fn from(fetch_offset: i64) -> FetchRequest {
    let partition = FetchPartition { fetch_offset, partition_max_bytes: 1 << 20, ..Default::default() };
    let topic = FetchTopic { topic: "a".into(), partitions: vec![partition], ..Default::default() };
    FetchRequest { topics: vec![topic], ..Default::default() }
}

/// The response, after the wait if there is one.
async fn handle(state: &Fixture, request: FetchRequest, version: i16) -> FetchResponse {
    let mut outcome = super::handle(&state.at(version), request, &mut Cost::full(0));
    if let Outcome::Later(later) = outcome {
        outcome = later.await;
    }
    let Outcome::Response(response) = outcome else { panic!("a response was expected") };
    response
}

async fn only(state: &Fixture, request: FetchRequest, version: i16) -> PartitionData {
    handle(state, request, version).await.responses.remove(0).partitions.remove(0)
}

fn offsets(data: &PartitionData) -> Vec<i64> {
    let batches = Batches::new(data.records.clone().unwrap());
    batches.flat_map(|batch| batch.unwrap().into_records().map(|record| record.unwrap().offset)).collect()
}

#[tokio::test]
async fn the_batch_that_holds_the_offset_comes_whole() {
    let state = state();
    create(&state, "a", 1);
    append(&state, "a", &["x", "y"]);
    append(&state, "a", &["z"]);
    let data = only(&state, from(1), 12).await;
    assert_eq!(offsets(&data), [0, 1, 2]);
    assert_eq!((data.high_watermark, data.last_stable_offset, data.log_start_offset), (3, 3, 0));
    assert_eq!(only(&state, from(3), 12).await.records, Some(Bytes::new()));
}

#[tokio::test]
async fn limits_count_for_each_partition_and_for_all_but_not_for_the_first_batch() {
    let state = state();
    create(&state, "a", 2);
    append(&state, "a", &["x"]);
    append(&state, "a", &["y"]);
    let size = only(&state, from(1), 4).await.records.unwrap().len() as i32;
    let mut request = from(0);
    request.topics[0].partitions[0].partition_max_bytes = 1;
    assert_eq!(offsets(&only(&state, request, 4).await), [0]);
    let mut request = from(0);
    request.max_bytes = 2 * size - 1;
    assert_eq!(offsets(&only(&state, request.clone(), 4).await), [0]);
    request.max_bytes = 2 * size;
    assert_eq!(offsets(&only(&state, request, 4).await), [0, 1]);
}

#[tokio::test]
async fn the_first_batch_rule_helps_one_partition_only() {
    let state = state();
    create(&state, "a", 1);
    create(&state, "b", 1);
    append(&state, "a", &["x"]);
    append(&state, "b", &["x"]);
    let mut request = from(0);
    request.max_bytes = 1;
    let mut second = request.topics[0].clone();
    second.topic = "b".into();
    request.topics.push(second);
    let response = handle(&state, request, 7).await;
    let lengths: Vec<_> =
        response.responses.iter().map(|topic| topic.partitions[0].records.as_ref().unwrap().is_empty()).collect();
    assert_eq!(lengths, [false, true]);
}

#[tokio::test]
async fn before_version_3_a_batch_above_the_limit_is_cut() {
    let state = state();
    create(&state, "a", 1);
    append(&state, "a", &["x"]);
    let mut request = from(0);
    request.topics[0].partitions[0].partition_max_bytes = 20;
    let data = only(&state, request, 2).await;
    assert_eq!(data.records.as_ref().unwrap().len(), 20);
    assert!(Batches::new(data.records.unwrap()).next().is_none());
}

#[tokio::test]
async fn old_versions_get_message_sets() {
    let state = state();
    create(&state, "a", 1);
    append_records(&state, "a", &[Record::new("k", "v").with_timestamp(5), Record::new("k", "w")], Codec::Gzip);
    for (version, magic) in [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2)] {
        let data = only(&state, from(0), version).await;
        let first = Batches::new(data.records.clone().unwrap()).next().unwrap().unwrap();
        assert_eq!(first.magic(), magic, "version {version}");
        assert_eq!(offsets(&data), [0, 1], "version {version}");
    }
}

#[tokio::test]
async fn zstd_needs_version_10() {
    let state = state();
    create(&state, "a", 1);
    append_records(&state, "a", &[Record::new("k", "v")], Codec::Zstd);
    for version in [0, 3, 4, 9] {
        let data = only(&state, from(0), version).await;
        assert_eq!(data.error_code, ErrorCode::UNSUPPORTED_COMPRESSION_TYPE, "version {version}");
    }
    assert_eq!(offsets(&only(&state, from(0), 10).await), [0]);
}

#[tokio::test]
async fn errors_are_reported_at_once() {
    let state = state();
    let id = create(&state, "a", 1).id;
    let patient = |mut request: FetchRequest| {
        (request.max_wait_ms, request.min_bytes) = (60_000, 1);
        request
    };
    let code = async |request, version| only(&state, patient(request), version).await.error_code;
    assert_eq!(code(from(1), 4).await, ErrorCode::OFFSET_OUT_OF_RANGE);
    assert_eq!(code(from(-1), 4).await, ErrorCode::OFFSET_OUT_OF_RANGE);
    let mut request = from(0);
    request.topics[0].partitions[0].partition = 1;
    assert_eq!(code(request.clone(), 4).await, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    request.topics[0].topic_id = id;
    assert_eq!(code(request.clone(), 13).await, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    request.topics[0].topic_id = Uuid::from_bytes([7; 16]);
    assert_eq!(code(request, 13).await, ErrorCode::UNKNOWN_TOPIC_ID);
    let mut request = from(0);
    request.topics[0].partitions[0].current_leader_epoch = 1;
    assert_eq!(code(request, 9).await, ErrorCode::UNKNOWN_LEADER_EPOCH);
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_enough_bytes_or_with_the_time() {
    let state = Arc::new(state());
    create(&state, "a", 1);
    let size = append(&state, "a", &["x"]) as i32;
    let wait_for = |min_bytes| {
        let state = state.clone();
        let request = FetchRequest { max_wait_ms: 5000, min_bytes, ..from(0) };
        tokio::spawn(async move {
            let begin = Instant::now();
            let data = only(&state, request, 11).await;
            (offsets(&data), begin.elapsed().as_millis())
        })
    };
    assert_eq!(wait_for(size).await.unwrap(), (vec![0], 0));
    assert_eq!(wait_for(size + 1).await.unwrap().0, [0]);
    let two = wait_for(2 * size);
    tokio::time::sleep(Duration::from_millis(100)).await;
    append(&state, "a", &["y"]);
    assert_eq!(two.await.unwrap(), (vec![0, 1], 100));
    assert_eq!(wait_for(3 * size).await.unwrap(), (vec![0, 1], 5000));
}

#[tokio::test(start_paused = true)]
async fn deleting_a_topic_ends_the_wait_for_it() {
    let state = Arc::new(state());
    create(&state, "a", 1);
    let waiting = {
        let state = state.clone();
        let request = FetchRequest { max_wait_ms: 5000, min_bytes: 1, ..from(0) };
        tokio::spawn(async move { only(&state, request, 11).await.error_code })
    };
    tokio::time::sleep(Duration::from_millis(100)).await;
    state.delete_topic(TopicRef::Name("a"));
    assert_eq!(waiting.await.unwrap(), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}

fn request(lists: &[(&str, &[i32])]) -> FetchRequest {
    let partition =
        |index: &i32| FetchPartition { partition: *index, partition_max_bytes: i32::MAX, ..Default::default() };
    let topic = |(name, indexes): &(&str, &[i32])| FetchTopic {
        topic: (*name).into(),
        partitions: indexes.iter().map(partition).collect(),
        ..Default::default()
    };
    FetchRequest { topics: lists.iter().map(topic).collect(), max_bytes: i32::MAX, ..Default::default() }
}

fn bytes(response: &FetchResponse) -> Vec<usize> {
    let partitions = response.responses.iter().flat_map(|topic| &topic.partitions);
    partitions.map(|data| data.records.as_ref().unwrap().len()).collect()
}

#[tokio::test]
async fn a_partition_that_is_listed_60000_times_is_read_once() {
    let state = state();
    create(&state, "a", 1);
    let size = append(&state, "a", &["x"]);
    for version in [4, 11, 12] {
        let response = handle(&state, request(&[("a", &[0; 60_000])]), version).await;
        assert_eq!(bytes(&response), [size], "version {version}");
    }
    // Also when it waits.
    let request = FetchRequest { max_wait_ms: 1, min_bytes: i32::MAX, ..request(&[("a", &[0; 60_000])]) };
    assert_eq!(bytes(&handle(&state, request, 11).await), [size]);
}

/// A topic with a batch of a million bytes in each partition.
fn large(state: &State, partitions: i32) -> usize {
    let topic = create(state, "a", partitions);
    let bytes = encode(&[Record::from_value(vec![0; 1_000_000])], Codec::None).unwrap();
    let size = bytes.len();
    for partition in topic.partitions() {
        let checked =
            crate::storage::incoming::check(Some(bytes.clone()), 9, &topic.config(), 0, &mut Cost::full(0)).unwrap();
        for batch in checked {
            partition.append(1, batch, 0).unwrap();
        }
    }
    size
}

#[tokio::test]
async fn the_broker_limits_the_whole_response_at_all_versions() {
    let config = BrokerConfig { fetch_max_bytes: 3_500_000, ..Default::default() };
    let state = state_with(config);
    let size = large(&state, 8);
    for version in 0..=12 {
        let response = handle(&state, request(&[("a", &[0, 1, 2, 3, 4, 5, 6, 7])]), version).await;
        let bytes = bytes(&response);
        assert!(bytes.iter().sum::<usize>() <= 3_500_000, "version {version}: {bytes:?}");
        assert!(bytes[..3].iter().all(|found| *found > size - 100), "version {version}: {bytes:?}");
        assert_eq!(bytes[4..], [0; 4], "version {version}");
        // Without room there is no error either.
        assert!(response.responses[0].partitions.iter().all(|data| data.error_code.is_none()));
    }
}

#[tokio::test]
async fn responses_are_small_while_clients_do_not_read() {
    let state = state();
    let size = large(&state, 4);
    let all = request(&[("a", &[0, 1, 2, 3])]);
    let held = state.unsent.hold(256 << 20);
    assert_eq!(bytes(&handle(&state, all.clone(), 12).await), [size, 0, 0, 0]);
    drop(held);
    assert_eq!(bytes(&handle(&state, all, 12).await), [size; 4]);
}

#[tokio::test]
async fn a_bomb_is_converted_for_old_versions_up_to_the_limit_of_the_request() {
    let state = state();
    create(&state, "a", 1);
    let records: Vec<_> = (0..5000).map(|_| Record::from_value(vec![0; 1000])).collect();
    let stored = append_records(&state, "a", &records, Codec::Gzip);
    assert!(stored < 100_000);
    for version in 0..=3 {
        let mut request = request(&[("a", &[0])]);
        request.topics[0].partitions[0].partition_max_bytes = 200_000;
        let data = only(&state, request, version).await;
        let found = data.records.as_ref().unwrap().len();
        assert!((190_000..=200_000).contains(&found), "version {version}: {found}");
        // The client goes on in the middle of the batch.
        let next = offsets(&data).last().unwrap() + 1;
        let data = only(&state, from(next), version).await;
        assert_eq!(offsets(&data)[0], next);
    }
}

#[tokio::test(start_paused = true)]
async fn a_waiting_fetch_looks_only_at_what_changed() {
    let state = Arc::new(state());
    let topic = create(&state, "a", 3);
    let waiting = {
        let state = state.clone();
        let request = FetchRequest { max_wait_ms: 5000, min_bytes: 150, ..request(&[("a", &[0, 1, 2])]) };
        tokio::spawn(async move { bytes(&handle(&state, request, 11).await) })
    };
    let batch = encode(&[Record::from_value("x")], Codec::None).unwrap();
    for index in [2, 0, 2] {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!waiting.is_finished());
        let checked =
            crate::storage::incoming::check(Some(batch.clone()), 9, &topic.config(), 0, &mut Cost::full(0)).unwrap();
        for batch in checked {
            topic.partition(index).unwrap().append(1, batch, 0).unwrap();
        }
    }
    let size = batch.len();
    assert_eq!(waiting.await.unwrap(), [size, 0, 2 * size]);
}
