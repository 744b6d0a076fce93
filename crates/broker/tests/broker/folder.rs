//! The data folder: what is in it, and what comes back from it.

use std::fs;
use std::path::{Path, PathBuf};

use milena_broker::{BrokerCluster, BrokerConfig, BrokerError, ClusterConfig, ClusterState};
use milena_messages::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::{Bytes, ErrorCode, InitProducerIdRequest, OffsetCommitRequest, ProduceRequest};
use milena_records::{BatchBuilder, Record};
use milena_storage::{Options, verify};

use super::client::Client;

const NOW: i64 = 1_700_000_000_000;

/// A folder of its own for each test, which is gone afterwards.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("milena-broker-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    async fn start(&self) -> Result<BrokerCluster, BrokerError> {
        let broker =
            BrokerConfig { virtual_clock: Some(NOW), data_dir: Some(self.0.clone()), ..BrokerConfig::default() };
        BrokerCluster::start(ClusterConfig { nodes: 1, racks: Vec::new(), broker }).await
    }

    /// Ends as a process ends that is killed: nothing is written that was not yet.
    async fn kill(cluster: BrokerCluster) {
        cluster.flush().await.unwrap();
        cluster.kill_node(1).await.unwrap();
        drop(cluster);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn record(key: &str, value: &str) -> Record {
    Record::new(key.to_owned(), value.to_owned()).with_timestamp(NOW)
}

/// All that has to be the same after a restart. Leader epochs grow.
fn facts(state: &ClusterState) -> Vec<String> {
    let topics = state.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|one| {
            let size = one.size_in_bytes;
            format!("{}..{} stable {} {size}", one.start_offset, one.end_offset, one.last_stable_offset)
        });
        format!("{} {} {:?}", topic.name, topic.id, partitions.collect::<Vec<_>>())
    });
    topics.chain(state.groups.iter().map(|group| format!("{group:?}"))).collect()
}

fn batch(builder: BatchBuilder, value: &str) -> Bytes {
    let mut builder = builder;
    builder.push(&record("k", value)).unwrap();
    builder.build().unwrap()
}

fn produce(client: &mut Client, transactional_id: Option<&str>, records: Bytes) -> (ErrorCode, i64) {
    let partition = PartitionProduceData { records: Some(records), ..Default::default() };
    let topic = TopicProduceData { name: "letters".into(), partition_data: vec![partition], ..Default::default() };
    let transactional_id = transactional_id.map(|id| id.to_owned().into());
    let request = ProduceRequest { transactional_id, acks: -1, topic_data: vec![topic], ..Default::default() };
    let response = client.call(&request, 12);
    let partition = &response.responses[0].partition_responses[0];
    (partition.error_code, partition.base_offset)
}

async fn fill(cluster: &BrokerCluster) -> (i64, i16) {
    let settings = [("internal.segment.bytes", "500"), ("cleanup.policy", "compact"), ("retention.ms", "-1")];
    cluster.create_topic_with("letters", 2, 1, &settings).unwrap();
    cluster.create_topic("gone", 1, 1).unwrap();
    cluster.append("gone", 0, &[record("a", "b")]).unwrap();
    cluster.delete_topic("gone").unwrap();
    let mut client = Client::new(cluster.address(1).unwrap());
    let init = InitProducerIdRequest {
        transactional_id: Some("t".into()),
        transaction_timeout_ms: 60_000,
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    };
    let producer = client.call(&init, 4);
    assert_eq!(producer.error_code, ErrorCode::NONE);
    let (id, epoch) = (producer.producer_id, producer.producer_epoch);
    for number in 0..30 {
        cluster.append("letters", 0, &[record(&format!("k{}", number % 3), &number.to_string())]).unwrap();
    }
    let in_transaction = BatchBuilder::new().producer(id, epoch, 0).transactional(true);
    assert_eq!(produce(&mut client, Some("t"), batch(in_transaction, "open")).0, ErrorCode::NONE);
    let partition = OffsetCommitRequestPartition { committed_offset: 7, ..Default::default() };
    let commit = OffsetCommitRequest {
        group_id: "readers".into(),
        generation_id_or_member_epoch: -1,
        topics: vec![OffsetCommitRequestTopic {
            name: "letters".into(),
            partitions: vec![partition],
            ..Default::default()
        }],
        ..Default::default()
    };
    assert_eq!(client.call(&commit, 8).topics[0].partitions[0].error_code, ErrorCode::NONE);
    (id, epoch)
}

fn assert_verified(folder: &Path) {
    let mut faults = Vec::new();
    let summary = verify(folder, &Options::default(), &mut |item| {
        if let milena_storage::Item::Fault(fault) = item {
            faults.push(fault.to_string());
        }
        Ok(None)
    });
    assert_eq!((summary.unwrap().faults, faults), (0, vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_goes_on_where_the_one_before_was_stopped_or_killed() {
    for is_killed in [false, true] {
        let place = Place::new(if is_killed { "killed" } else { "stopped" });
        let cluster = place.start().await.unwrap();
        let (id, epoch) = fill(&cluster).await;
        assert!(cluster.compact() > 0);
        let (before, cluster_id) = (facts(&cluster.state()), cluster.cluster_id().to_owned());
        let transaction = cluster.state().transaction("t").unwrap().clone();
        if is_killed {
            Place::kill(cluster).await
        } else {
            cluster.shutdown().await
        }
        assert!(!place.0.join("gone-0").exists());

        let cluster = place.start().await.unwrap();
        assert_eq!(cluster.cluster_id(), cluster_id);
        assert_eq!(facts(&cluster.state()), before);
        assert_eq!(cluster.state().transaction("t").unwrap(), &transaction);
        assert!(cluster.state().topic("gone").is_none());
        // The producer is known: its batch is the same, and the next one follows.
        let mut client = Client::new(cluster.address(1).unwrap());
        let next = |sequence| BatchBuilder::new().producer(id, epoch, sequence).transactional(true);
        let repeated = produce(&mut client, Some("t"), batch(next(0), "open"));
        assert_eq!(repeated, (ErrorCode::NONE, 30));
        assert_eq!(produce(&mut client, Some("t"), batch(next(2), "gap")).0, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
        assert_eq!(produce(&mut client, Some("t"), batch(next(1), "more")), (ErrorCode::NONE, 31));
        // A producer id is given out once.
        let fresh =
            InitProducerIdRequest { transactional_id: None, producer_id: -1, producer_epoch: -1, ..Default::default() };
        assert!(client.call(&fresh, 4).producer_id > id);
        cluster.shutdown().await;
        assert_verified(&place.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_log_that_was_cut_off_goes_and_the_rest_stays() {
    let place = Place::new("cut");
    let cluster = place.start().await.unwrap();
    cluster.create_topic("letters", 1, 1).unwrap();
    cluster.append("letters", 0, &[record("a", "1")]).unwrap();
    cluster.append("letters", 0, &[record("b", "2")]).unwrap();
    Place::kill(cluster).await;
    let log = place.0.join("letters-0/00000000000000000000.log");
    let whole = fs::read(&log).unwrap();
    for (bytes, end) in [(&whole[..whole.len() - 3], 1), (&[&whole[..], &[0; 40]].concat()[..], 2)] {
        fs::write(&log, bytes).unwrap();
        let cluster = place.start().await.unwrap();
        assert_eq!(cluster.state().topic("letters").unwrap().partitions[0].end_offset, end);
        Place::kill(cluster).await;
        assert_eq!(fs::read(&log).unwrap(), whole[..whole.len() / 2 * end as usize]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_before_the_end_and_folders_that_cannot_be_written_are_errors() {
    let place = Place::new("damaged");
    let cluster = place.start().await.unwrap();
    cluster.create_topic("letters", 1, 1).unwrap();
    cluster.append("letters", 0, &[record("a", "1")]).unwrap();
    cluster.roll_segments("letters").unwrap();
    cluster.append("letters", 0, &[record("b", "2")]).unwrap();
    cluster.shutdown().await;
    let log = place.0.join("letters-0/00000000000000000000.log");
    let mut bytes = fs::read(&log).unwrap();
    bytes[69] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let error = place.start().await.unwrap_err();
    let BrokerError::Folder { source, .. } = &error else { panic!("{error}") };
    assert!(source.to_string().ends_with("at byte 0, and there are later segments"), "{source}");
    // Nothing was cut off for it.
    assert_eq!(fs::read(&log).unwrap(), bytes);

    let file = Place::new("file");
    fs::write(&file.0, "no folder").unwrap();
    assert!(matches!(file.start().await, Err(BrokerError::Folder { .. })));
    fs::remove_file(&file.0).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_folder_seeds_another_broker_and_stays_as_it_is() {
    let place = Place::new("seed");
    let cluster = place.start().await.unwrap();
    fill(&cluster).await;
    let topics = |mut state: ClusterState| {
        state.groups.clear();
        facts(&state)
    };
    let before = topics(cluster.state());
    cluster.shutdown().await;
    let files = |folder: &Path| {
        let mut all: Vec<_> = fs::read_dir(folder.join("letters-0"))
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap()))
            .collect();
        all.sort();
        all
    };
    let kept = files(&place.0);
    let copy = Place::new("seeded");
    let broker =
        BrokerConfig { seed_dir: Some(place.0.clone()), data_dir: Some(copy.0.clone()), ..BrokerConfig::default() };
    let seeded = BrokerCluster::start(ClusterConfig { nodes: 1, racks: Vec::new(), broker }).await.unwrap();
    assert_eq!(topics(seeded.state()), before);
    seeded.append("letters", 1, &[record("a", "b")]).unwrap();
    seeded.shutdown().await;
    assert_eq!(files(&place.0), kept);
    assert_verified(&copy.0);
    let again = copy.start().await.unwrap();
    assert_eq!(again.state().topic("letters").unwrap().partitions[1].end_offset, 1);
    let missing = BrokerConfig { seed_dir: Some("/nowhere".into()), ..BrokerConfig::default() };
    let missing = BrokerCluster::start(ClusterConfig { nodes: 1, racks: Vec::new(), broker: missing }).await;
    assert!(matches!(missing, Err(BrokerError::Folder { .. })));
}
