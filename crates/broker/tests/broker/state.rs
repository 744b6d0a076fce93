//! The state of a cluster as plain values, compared with what clients did over sockets.

use milena_broker::{Broker, BrokerCluster, BrokerConfig, BrokerError, ClusterConfig};
use milena_messages::add_partitions_to_txn::request::AddPartitionsToTxnTopic;
use milena_messages::join_group::request::JoinGroupRequestProtocol;
use milena_messages::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use milena_messages::sync_group::request::SyncGroupRequestAssignment;
use milena_messages::{
    AddPartitionsToTxnRequest, Bytes, ErrorCode, InitProducerIdRequest, Int32s, JoinGroupRequest, OffsetCommitRequest,
    SyncGroupRequest,
};
use milena_records::Record;

use super::client::Client;

/// What the Java client writes for partitions 0 and 2 of `a`: version, one topic, no user data.
const ASSIGNMENT: &[u8] = b"\0\x01\0\0\0\x01\0\x01a\0\0\0\x02\0\0\0\0\0\0\0\x02\xff\xff\xff\xff";

#[tokio::test(flavor = "multi_thread")]
async fn topics_show_their_leaders_and_offsets() {
    let cluster = BrokerCluster::start(ClusterConfig { nodes: 3, ..ClusterConfig::default() }).await.unwrap();
    cluster.create_topic_with("a", 2, 3, &[("cleanup.policy", "compact")]).unwrap();
    let records = ["x", "y"].map(|text| Record::new(text, text));
    assert_eq!(cluster.append("a", 1, &records).unwrap(), 0);
    assert_eq!(cluster.append("a", 1, &records[..1]).unwrap(), 2);
    let leader = cluster.leader("a", 1).unwrap();
    cluster.kill_node(leader).await.unwrap();

    let state = cluster.state();
    let topic = state.topic("a").unwrap();
    let partition = &topic.partitions[1];
    assert_eq!((topic.partitions.len(), topic.partitions[0].end_offset), (2, 0));
    assert_eq!((partition.start_offset, partition.end_offset, partition.last_stable_offset), (0, 3, 3));
    assert_eq!((partition.leader, partition.leader_epoch), (cluster.leader("a", 1), 1));
    assert!(partition.replicas.contains(&leader) && !partition.in_sync.contains(&leader));
    let up: Vec<_> = state.nodes.iter().filter(|node| node.is_up).map(|node| node.endpoint.clone()).collect();
    assert_eq!(up.join(","), cluster.bootstrap());
    assert_eq!(state.controller, cluster.controller());
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_show_their_members_and_offsets() {
    let broker = Broker::start(BrokerConfig::default()).await.unwrap();
    broker.cluster().create_topic("a", 3, 1).unwrap();
    assert!(broker.state().groups.is_empty());
    let mut client = Client::new(broker.address());
    let join = JoinGroupRequest {
        group_id: "readers".into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 10_000,
        protocol_type: "consumer".into(),
        protocols: vec![JoinGroupRequestProtocol { name: "range".into(), ..Default::default() }],
        ..Default::default()
    };
    let member_id = client.call(&join, 3).member_id;
    assert_eq!(broker.state().group("readers").unwrap().state, "CompletingRebalance");
    let assignment = SyncGroupRequestAssignment {
        member_id: member_id.clone(),
        assignment: Bytes::from_static(ASSIGNMENT),
        ..Default::default()
    };
    let sync = SyncGroupRequest {
        group_id: "readers".into(),
        generation_id: 1,
        member_id: member_id.clone(),
        assignments: vec![assignment],
        ..Default::default()
    };
    assert_eq!(client.call(&sync, 3).error_code, ErrorCode::NONE);
    let partition = OffsetCommitRequestPartition { partition_index: 2, committed_offset: 7, ..Default::default() };
    let commit = OffsetCommitRequest {
        group_id: "readers".into(),
        generation_id_or_member_epoch: 1,
        member_id: member_id.clone(),
        topics: vec![OffsetCommitRequestTopic { name: "a".into(), partitions: vec![partition], ..Default::default() }],
        ..Default::default()
    };
    assert_eq!(client.call(&commit, 8).topics[0].partitions[0].error_code, ErrorCode::NONE);

    let state = broker.state();
    let group = state.group("readers").unwrap();
    assert_eq!((&*group.group_type, &*group.state, &*group.protocol), ("classic", "Stable", "range"));
    let [member] = &group.members[..] else { panic!("{group:?}") };
    assert_eq!((&*member.id, &*member.client_id, &*member.client_host), (&*member_id, "sockets", "/127.0.0.1"));
    assert_eq!(member.partitions().unwrap(), [("a".to_owned(), vec![0, 2])]);
    let [offset] = &group.offsets[..] else { panic!("{group:?}") };
    assert_eq!((&*offset.topic, offset.partition, offset.offset, offset.leader_epoch), ("a", 2, 7, None));
    assert!(state.topic("__consumer_offsets").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_show_where_they_are() {
    let broker = Broker::start(BrokerConfig::default()).await.unwrap();
    broker.cluster().create_topic("a", 1, 1).unwrap();
    let mut client = Client::new(broker.address());
    let init = InitProducerIdRequest {
        transactional_id: Some("t".into()),
        transaction_timeout_ms: 9_000,
        ..Default::default()
    };
    let producer = client.call(&init, 4);
    let transaction = broker.state().transaction("t").unwrap().clone();
    assert_eq!((&*transaction.state, transaction.timeout_ms, transaction.started_at_ms), ("Empty", 9_000, None));
    let add = AddPartitionsToTxnRequest {
        v3_and_below_transactional_id: "t".into(),
        v3_and_below_producer_id: producer.producer_id,
        v3_and_below_producer_epoch: producer.producer_epoch,
        v3_and_below_topics: vec![AddPartitionsToTxnTopic {
            name: "a".into(),
            partitions: Int32s::from_slice(&[0]),
            ..Default::default()
        }],
        ..Default::default()
    };
    client.call(&add, 3);
    let state = broker.state();
    let transaction = state.transaction("t").unwrap();
    assert_eq!((&*transaction.state, &transaction.partitions[..]), ("Ongoing", &[("a".to_owned(), 0)][..]));
    assert_eq!((transaction.producer_id, transaction.producer_epoch), (producer.producer_id, producer.producer_epoch));
    assert!(transaction.started_at_ms.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_created_or_appended_says_why() {
    let broker = Broker::start(BrokerConfig::default()).await.unwrap();
    let cluster = broker.cluster();
    let code = |result: Result<(), BrokerError>| match result {
        Err(BrokerError::Refused { code, .. }) => code,
        other => panic!("{other:?}"),
    };
    for partitions in [i32::MIN, 0, 100_001, i32::MAX] {
        assert_eq!(code(cluster.create_topic("a", partitions, 1)), ErrorCode::INVALID_PARTITIONS, "{partitions}");
    }
    assert_eq!(code(cluster.create_topic("a", 1, 2)), ErrorCode::INVALID_REPLICATION_FACTOR);
    assert_eq!(code(cluster.create_topic_with("a", 1, 1, &[("no.such", "1")])), ErrorCode::INVALID_CONFIG);
    cluster.create_topic_with("a", 1, 1, &[("max.message.bytes", "100")]).unwrap();
    let append = |partition, records: &[Record]| code(cluster.append("a", partition, records).map(|_| ()));
    assert_eq!(append(1, &[Record::from_value("x")]), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(append(0, &[Record::from_value(vec![0; 200])]), ErrorCode::MESSAGE_TOO_LARGE);
    assert_eq!(append(0, &[]), ErrorCode::INVALID_RECORD);
    assert!(broker.state().topic("a").unwrap().partitions[0].end_offset == 0);
}
