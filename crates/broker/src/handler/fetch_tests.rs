use milena_messages::Uuid;
use milena_messages::fetch::request::FetchTopic;
use milena_records::{Batches, Record};

use super::*;
use crate::handler::tests::{append, append_records, create, state};

fn from(fetch_offset: i64) -> FetchRequest {
    let partition = FetchPartition { fetch_offset, partition_max_bytes: 1 << 20, ..Default::default() };
    let topic = FetchTopic { topic: "a".into(), partitions: vec![partition], ..Default::default() };
    FetchRequest { topics: vec![topic], ..Default::default() }
}

async fn only(state: &State, request: FetchRequest, version: i16) -> PartitionData {
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
async fn errors_are_told_at_once() {
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

#[tokio::test]
async fn a_session_that_was_never_opened_is_not_found() {
    let state = state();
    create(&state, "a", 1);
    let go_on = FetchRequest { session_id: 5, session_epoch: 1, ..from(0) };
    assert_eq!(handle(&state, go_on, 7).await.error_code, ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
    let open = FetchRequest { session_epoch: 0, ..from(0) };
    let response = handle(&state, open, 7).await;
    assert_eq!((response.error_code, response.session_id), (ErrorCode::NONE, 0));
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
