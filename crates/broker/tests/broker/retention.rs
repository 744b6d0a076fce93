//! Old records are deleted, by the clock and on demand.

use std::time::Duration;

use milena_broker::{BrokerCluster, BrokerConfig, ClusterConfig};
use milena_records::Record;

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
