//! Client and broker in one simulation: no sockets between them, a paused clock of tokio, and the broker's virtual clock.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::time::Duration;

use milena_broker::{BrokerCluster, BrokerConfig, ClusterConfig};
use milena_client::{Acks, Client, ClientConfig, Codec, RangeOptions, Record, Start, Stop};
use milena_transport::MemoryNetwork;
use tokio::time::Instant;

/// What happened, as far as clients and the broker tell.
#[derive(Debug, PartialEq)]
struct Seen {
    requests: Vec<(String, i16, i32, i32)>,
    offsets: Vec<i64>,
    timestamps: Vec<i64>,
    took: Duration,
}

/// A producer whose leader dies, while requests are delayed and fail by chance.
async fn simulate(seed: u64) -> Seen {
    let network = MemoryNetwork::new();
    let broker = BrokerConfig {
        network: Some(network.clone()),
        virtual_clock: Some(1_700_000_000_000),
        fault_seed: Some(seed),
        faults: [
            "produce@40%: error NOT_LEADER_OR_FOLLOWER",
            "metadata@30%: delay 5s",
            "produce@10%: cut after 20 bytes",
        ]
        .map(|rule| rule.parse().unwrap())
        .into(),
        ..BrokerConfig::default()
    };
    let begun = Instant::now();
    let cluster = BrokerCluster::start(ClusterConfig { nodes: 3, broker, ..ClusterConfig::default() }).await.unwrap();
    cluster.create_topic_with("letters", 1, 3, &[("message.timestamp.type", "LogAppendTime")]).unwrap();
    let config = ClientConfig {
        bootstrap: vec![cluster.bootstrap()],
        network: Some(network),
        resend_unanswered: true,
        ..ClientConfig::default()
    };
    let client = Client::connect(config).await.unwrap();
    let mut offsets = Vec::new();
    for number in 0..20 {
        if number == 10 {
            cluster.kill_node(cluster.leader("letters", 0).unwrap()).await.unwrap();
        }
        cluster.advance(Duration::from_secs(60)).unwrap();
        let record = Record::from_value(format!("letter {number}"));
        let done = client.produce("letters", 0, Acks::All, Codec::None, vec![record]).await.unwrap();
        offsets.push(done.base_offset.unwrap());
    }
    cluster.faults().clear();
    let range = client.fetch_range("letters", 0, Start::EARLIEST, Stop::End, RangeOptions::default()).await;
    let mut reader = range.unwrap();
    let mut timestamps = Vec::new();
    while let Some(record) = reader.next().await.unwrap() {
        timestamps.push(record.timestamp);
    }
    let requests = cluster.requests();
    let request = |request: &milena_broker::ReceivedRequest| {
        (request.api_key().to_string(), request.api_version(), request.correlation_id(), request.node_id())
    };
    Seen { requests: requests.iter().map(request).collect(), offsets, timestamps, took: begun.elapsed() }
}

#[tokio::test(start_paused = true)]
async fn a_simulation_is_the_same_each_time() {
    let mut differ = false;
    for seed in 0..3 {
        let first = simulate(seed).await;
        assert_eq!(simulate(seed).await, first, "seed {seed}");
        assert!(first.offsets.is_sorted() && first.offsets.len() == 20, "{first:?}");
        assert_eq!(first.timestamps[0], 1_700_000_060_000, "the broker's clock stamps");
        assert_eq!(*first.timestamps.last().unwrap(), 1_700_000_000_000 + 20 * 60_000);
        differ |= simulate(seed + 100).await.requests != first.requests;
    }
    assert!(differ, "the seed decides what happens");
}
