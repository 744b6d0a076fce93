//! Old records are deleted and logs compacted, by the clock and on demand.

use std::time::Duration;

use milena_broker::{BrokerCluster, BrokerConfig, BrokerError, ClusterConfig};
use milena_messages::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use milena_messages::{ErrorCode, OffsetCommitRequest};
use milena_records::Record;

use super::client::Client;

const NOW: i64 = 1_700_000_000_000;
const DAY: Duration = Duration::from_secs(86_400);

async fn cluster() -> BrokerCluster {
    let broker = BrokerConfig { virtual_clock: Some(NOW), ..BrokerConfig::default() };
    BrokerCluster::start(ClusterConfig { nodes: 1, broker, ..ClusterConfig::default() }).await.unwrap()
}

/// First and next offset of the partition.
fn ends(cluster: &BrokerCluster, topic: &str) -> (i64, i64) {
    let state = cluster.state();
    let partition = &state.topic(topic).unwrap().partitions[0];
    (partition.start_offset, partition.end_offset)
}

fn append(cluster: &BrokerCluster, topic: &str, timestamp: i64) {
    cluster.append(topic, 0, &[Record::new("k", "v").with_timestamp(timestamp)]).unwrap();
}

#[tokio::test]
async fn records_are_deleted_when_they_are_old_enough_and_the_next_round_comes() {
    let cluster = cluster().await;
    cluster.create_topic_with("week", 1, 1, &[]).unwrap();
    cluster.create_topic_with("hour", 1, 1, &[("retention.ms", "3600000")]).unwrap();
    cluster.create_topic_with("ever", 1, 1, &[("retention.ms", "-1")]).unwrap();
    cluster.create_topic_with("compacted", 1, 1, &[("cleanup.policy", "compact"), ("retention.ms", "1")]).unwrap();
    for topic in ["week", "hour", "ever", "compacted"] {
        append(&cluster, topic, NOW);
    }
    cluster.advance(Duration::from_secs(3600)).unwrap();
    assert_eq!(ends(&cluster, "hour"), (0, 1));
    // Older than an hour by now, and the rounds are five minutes apart.
    cluster.advance(Duration::from_secs(299)).unwrap();
    assert_eq!(ends(&cluster, "hour"), (0, 1));
    cluster.advance(Duration::from_secs(1)).unwrap();
    assert_eq!(ends(&cluster, "hour"), (1, 1));
    assert_eq!(ends(&cluster, "week"), (0, 1));
    cluster.advance(DAY * 7).unwrap();
    assert_eq!([ends(&cluster, "week"), ends(&cluster, "ever"), ends(&cluster, "compacted")], [(1, 1), (0, 1), (0, 1)]);
}

#[tokio::test]
async fn retention_on_demand_counts_by_the_timestamps_of_the_records() {
    let cluster = cluster().await;
    cluster.create_topic("letters", 1, 1).unwrap();
    append(&cluster, "letters", NOW - 8 * 86_400_000);
    cluster.roll_segments("letters").unwrap();
    append(&cluster, "letters", NOW);
    assert_eq!(ends(&cluster, "letters"), (0, 2));
    assert_eq!(cluster.apply_retention(), 1);
    assert_eq!(ends(&cluster, "letters"), (1, 2));
    assert_eq!(cluster.apply_retention(), 0);
    append(&cluster, "letters", NOW);
    assert_eq!(ends(&cluster, "letters"), (1, 3));
    assert!(cluster.roll_segments("missing").is_err());
}

#[tokio::test]
async fn compaction_leaves_the_last_record_of_each_key() {
    let cluster = cluster().await;
    let settings =
        [("cleanup.policy", "compact"), ("delete.retention.ms", "60000"), ("min.cleanable.dirty.ratio", "0.4")];
    cluster.create_topic_with("letters", 1, 1, &settings).unwrap();
    let append = |key: &'static str, value: Option<&'static str>| {
        let record = Record { key: Some(key.into()), value: value.map(Into::into), ..Record::default() };
        cluster.append("letters", 0, &[record.with_timestamp(NOW)]).unwrap();
    };
    let size = || cluster.state().topic("letters").unwrap().partitions[0].size_in_bytes;
    append("a", Some("1"));
    let one = size();
    append("a", Some("2"));
    append("b", None);
    // The segment that is written to stays as it is.
    assert_eq!((cluster.compact(), size() > 2 * one), (0, true));
    cluster.roll_segments("letters").unwrap();
    append("a", Some("3"));
    let before = size();
    // By the clock. The last record is in the segment that is written to, and counts for nothing yet.
    cluster.advance(Duration::from_secs(15)).unwrap();
    let compacted = size();
    assert!(compacted + one / 2 < before, "{compacted} bytes of {before}, a batch has {one}");
    assert_eq!(ends(&cluster, "letters"), (0, 4));
    // The tombstone goes with the first pass after its time.
    cluster.advance(Duration::from_secs(59)).unwrap();
    assert_eq!((cluster.compact(), size()), (1, compacted));
    cluster.advance(Duration::from_secs(1)).unwrap();
    cluster.compact();
    assert!(size() < compacted);
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_that_nobody_needs_expire_with_their_group() {
    let cluster = cluster().await;
    let mut client = Client::new(cluster.address(1).unwrap());
    cluster.create_topic("a", 1, 1).unwrap();
    let partition = OffsetCommitRequestPartition { committed_offset: 7, ..Default::default() };
    let commit = OffsetCommitRequest {
        group_id: "readers".into(),
        generation_id_or_member_epoch: -1,
        topics: vec![OffsetCommitRequestTopic { name: "a".into(), partitions: vec![partition], ..Default::default() }],
        ..Default::default()
    };
    assert_eq!(client.call(&commit, 8).topics[0].partitions[0].error_code, ErrorCode::NONE);
    cluster.advance(DAY * 7 - Duration::from_secs(1)).unwrap();
    assert_eq!(cluster.state().group("readers").unwrap().offsets[0].offset, 7);
    // The rounds are ten minutes apart.
    cluster.advance(Duration::from_secs(600)).unwrap();
    assert!(cluster.state().groups.is_empty());
}

#[tokio::test]
async fn at_the_limit_of_memory_old_records_go_first_and_then_producers_are_refused() {
    let broker = BrokerConfig { virtual_clock: Some(NOW), max_log_bytes: 1_000_000, ..BrokerConfig::default() };
    let cluster = BrokerCluster::start(ClusterConfig { nodes: 1, broker, ..ClusterConfig::default() }).await.unwrap();
    let settings = [("segment.bytes", "1048576"), ("retention.ms", "1000")];
    cluster.create_topic_with("short", 1, 1, &settings).unwrap();
    cluster.create_topic_with("long", 1, 1, &[]).unwrap();
    let record = |timestamp| Record::from_value(vec![7; 100_000]).with_timestamp(timestamp);
    for _ in 0..5 {
        cluster.append("short", 0, &[record(NOW - 2000)]).unwrap();
        cluster.append("long", 0, &[record(NOW)]).unwrap_or_default();
    }
    // There was no room for one of them, and all that was too old went for it.
    assert!(ends(&cluster, "short").0 > 0);
    let refused = (0..20).find_map(|_| cluster.append("long", 0, &[record(NOW)]).err()).unwrap();
    let BrokerError::Refused { code, message } = refused else { panic!("{refused}") };
    assert_eq!(code, ErrorCode::KAFKA_STORAGE_ERROR);
    assert!(message.ends_with("the limit is 1000000"), "{message}");
    // What fits is still taken, and coordinators go on.
    let (_, end) = ends(&cluster, "long");
    assert!((8..10).contains(&end), "{end}");
    cluster.append("long", 0, &[Record::from_value("x")]).unwrap();
}
