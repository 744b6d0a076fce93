//! The requests that each user sends, and what they are about.
//!
//! Topics, groups and transactional ids are called `a..`, which permissions are mostly about, and `b..`; those that end
//! with 9 are not there. Kafka 4.4 never responds to a DescribeUserScramCredentials for all users of somebody who may not
//! send it, so that no user asks for all.
//!
//! `$topic:a1` stands for the id of a topic.

use serde_json::{Value, json};

/// What has to be done again before each request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Before {
    /// `$victim` is a new topic, which may be deleted.
    Victim,
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) api: &'static str,
    pub(super) versions: (i16, i16),
    pub(super) before: Option<Before>,
    body: fn() -> Value,
}

impl Case {
    /// The body, for all versions: fields that a version lacks are left out.
    pub(super) fn body(&self) -> Value {
        (self.body)()
    }
}

/// APIs that ask no authorizer.
pub(super) const EXEMPT: [&str; 5] =
    ["ApiVersions", "SaslHandshake", "SaslAuthenticate", "GetTelemetrySubscriptions", "PushTelemetry"];

/// Stands for the id of the producer of the transaction `a1`.
pub(super) const PRODUCER: &str = "$producer";

/// Stand for a topic that was just created, and its id.
pub(super) const VICTIM: &str = "$victim";
pub(super) const VICTIM_ID: &str = "$victim:id";

/// Ids of no topic.
const NO_ID: &str = "AAAAAAAAAAAAAAAAAAAAAQ";
const NO_ID_EITHER: &str = "AAAAAAAAAAAAAAAAAAAAAg";

/// The topics of a request, each with its name and its id.
fn topics(of: impl Fn(&str, &str) -> Value) -> Value {
    json!([of("a1", "$topic:a1"), of("b1", "$topic:b1"), of("a9", NO_ID), of("b9", NO_ID_EITHER)])
}

fn named(key: &str, more: Value) -> Value {
    topics(|name, _| with(json!({key: name}), &more))
}

fn with(mut value: Value, more: &Value) -> Value {
    if let (Some(value), Some(more)) = (value.as_object_mut(), more.as_object()) {
        value.extend(more.clone());
    }
    value
}

fn batch(more: Value) -> Value {
    json!({"batch": with(json!({"values": ["x"], "time": 0}), &more)})
}

fn produce(transactional_id: Value, batch: &Value) -> Value {
    let data =
        topics(|name, id| json!({"name": name, "topicId": id, "partitionData": [{"index": 0, "records": batch}]}));
    json!({"transactionalId": transactional_id, "acks": -1, "timeoutMs": 5000, "topicData": data})
}

fn fetch(replica: i32) -> Value {
    let partition = json!({"partition": 0, "currentLeaderEpoch": -1, "fetchOffset": 0, "lastFetchedEpoch": -1,
        "logStartOffset": -1, "partitionMaxBytes": 1});
    let topics = topics(|name, id| json!({"topic": name, "topicId": id, "partitions": [partition]}));
    json!({"replicaId": replica, "replicaState": {"replicaId": replica, "replicaEpoch": -1}, "maxWaitMs": 0, "minBytes": 0,
        "maxBytes": 1000, "sessionId": 0, "sessionEpoch": -1, "topics": topics})
}

fn metadata(topics: Value, create: bool) -> Value {
    json!({"topics": topics, "allowAutoTopicCreation": create, "includeTopicAuthorizedOperations": true,
        "includeClusterAuthorizedOperations": true})
}

fn commit(group: &str) -> Value {
    let partition = json!({"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""});
    let topics = topics(|name, id| json!({"name": name, "topicId": id, "partitions": [partition]}));
    json!({"groupId": group, "memberId": "", "generationIdOrMemberEpoch": -1, "retentionTimeMs": -1, "topics": topics})
}

fn commit_transaction(id: &str, producer: Value, group: &str, topics: &[&str]) -> Value {
    let partition = json!({"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""});
    let topics: Value = topics.iter().map(|name| json!({"name": name, "partitions": [partition]})).collect();
    json!({"transactionalId": id, "groupId": group, "producerId": producer, "producerEpoch": 0,
        "generationIdOrMemberEpoch": -1, "memberId": "", "topics": topics})
}

fn add_partitions(id: &str, topics: &[&str]) -> Value {
    let topics: Value = topics.iter().map(|name| json!({"name": name, "partitions": [0]})).collect();
    json!({"v3AndBelowTransactionalId": id, "v3AndBelowProducerId": PRODUCER, "v3AndBelowProducerEpoch": 0,
        "v3AndBelowTopics": topics, "transactions": [{"transactionalId": id, "producerId": PRODUCER,
        "producerEpoch": 0, "verifyOnly": true, "topics": topics}]})
}

fn offsets(topics: Value) -> Value {
    let group = |id: &str| json!({"groupId": id, "memberId": null, "memberEpoch": -1, "topics": topics});
    let one = topics
        .as_array()
        .filter(|topics| topics.iter().any(|topic| topic["topicId"].is_null()))
        .map(|_| topics.clone());
    json!({"groupId": "a1", "topics": one, "groups": [group("a1"), group("b1"), group("a9")], "requireStable": false})
}

/// Of several groups with ids of topics, or of one group.
fn all_offsets(ids: bool) -> Value {
    topics(|name, id| {
        let mut topic = json!({"name": name, "partitionIndexes": [0]});
        if ids {
            topic["topicId"] = id.into();
        }
        topic
    })
}

fn offset_delete(group: &str) -> Value {
    let topic = |name: &str| json!({"name": name, "partitions": [{"partitionIndex": 0}]});
    json!({"groupId": group, "topics": [topic("a2"), topic("b2"), topic("a9"), topic("b9")]})
}

fn coordinators(kind: i8, keys: &[&str]) -> Value {
    json!({"key": keys[0], "keyType": kind, "coordinatorKeys": keys})
}

fn member(group: &str, topics: Value) -> Value {
    json!({"groupId": group, "memberId": "AAAAAAAAAAAAAAAAAAAAAQ", "memberEpoch": 5, "rebalanceTimeoutMs": 5000,
        "subscribedTopicNames": topics, "topicPartitions": []})
}

fn share_member(group: &str, topics: Value) -> Value {
    json!({"groupId": group, "memberId": NO_ID, "memberEpoch": 5, "subscribedTopicNames": topics})
}

fn topology(group: &str) -> Value {
    json!({"groupId": group, "memberId": NO_ID, "topologyEpoch": 1,
        "topologyDescription": {"subtopologies": [], "globalStores": []}})
}

/// As AlterConfigs takes them, or with operations, as IncrementalAlterConfigs does.
fn settings(operations: bool) -> Value {
    let mut configs = json!([{"name": "retention.ms", "value": "1000"}]);
    if operations {
        configs[0]["configOperation"] = 0.into();
    }
    let resource =
        |kind: i8, name: &str, configs: &Value| json!({"resourceType": kind, "resourceName": name, "configs": configs});
    let none = json!([]);
    let resources = json!([
        resource(2, "a1", &configs),
        resource(2, "b1", &configs),
        resource(2, "a9", &configs),
        resource(2, "b9", &none),
        resource(4, "1", &none),
        resource(32, "a1", &none),
        resource(32, "b1", &none),
        resource(16, "a1", &none),
    ]);
    json!({"resources": resources, "validateOnly": true})
}

fn seen_settings() -> Value {
    let resource = |kind: i8, name: &str| json!({"resourceType": kind, "resourceName": name, "configurationKeys": ["retention.ms"]});
    json!({"resources": [resource(2, "a1"), resource(2, "b1"), resource(2, "a9"), resource(2, "b9"), resource(4, "1"),
        resource(4, ""), resource(8, "1"), resource(16, "a1"), resource(32, "a1"), resource(32, "b1")]})
}

fn filter(resource_type: i8, pattern: i8, name: Value, principal: Value) -> Value {
    json!({"resourceTypeFilter": resource_type, "resourceNameFilter": name, "patternTypeFilter": pattern,
        "principalFilter": principal, "hostFilter": null, "operation": 1, "permissionType": 1})
}

fn creation(resource_type: i8, name: &str, pattern: i8, operation: i8) -> Value {
    json!({"resourceType": resource_type, "resourceName": name, "resourcePatternType": pattern,
        "principal": "User:zz", "host": "*", "operation": operation, "permissionType": 3})
}

/// As requests to the super user's connection, in this order.
pub(super) fn preparation() -> Vec<(&'static str, i16, Value)> {
    let topic = |name: &str| json!({"name": name, "numPartitions": 2, "replicationFactor": 1});
    let ends = |name: &str| {
        let partition = |index: i32| json!({"partitionIndex": index, "timestamp": -1, "currentLeaderEpoch": 0});
        json!({"name": name, "partitions": [partition(0), partition(1)]})
    };
    let names = ["a1", "a2", "b1", "b2"];
    let mut all = vec![
        ("CreateTopics", 7, json!({"topics": (names.map(topic)), "timeoutMs": 9000})),
        ("ListOffsets", 4, json!({"replicaId": -1, "topics": (names.map(ends))})),
        ("FindCoordinator", 4, coordinators(0, &["a1", "b1"])),
        ("FindCoordinator", 4, coordinators(1, &["a1", "b1"])),
        (
            "InitProducerId",
            4,
            json!({"transactionalId": "b1", "transactionTimeoutMs": 900_000, "producerId": -1,
            "producerEpoch": -1}),
        ),
        // The last one is `$producer`.
        (
            "InitProducerId",
            4,
            json!({"transactionalId": "a1", "transactionTimeoutMs": 900_000, "producerId": -1,
            "producerEpoch": -1}),
        ),
        ("AddPartitionsToTxn", 3, add_partitions("a1", &["a1", "b1"])),
    ];
    for name in names {
        let data = json!([{"name": name, "partitionData": [{"index": 0, "records": batch(json!({}))}]}]);
        all.push(("Produce", 9, json!({"transactionalId": null, "acks": -1, "timeoutMs": 5000, "topicData": data})));
    }
    for group in ["a1", "b1"] {
        let partition = json!({"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""});
        let topics = names.map(|name| json!({"name": name, "partitions": [partition]}));
        all.push((
            "OffsetCommit",
            8,
            json!({"groupId": group, "memberId": "", "generationIdOrMemberEpoch": -1,
            "topics": topics}),
        ));
    }
    for (group, topics) in [("ac-1", json!(["a1"])), ("ac-2", json!(["a1", "b1"])), ("bc", json!(["b1"]))] {
        let join = json!({"groupId": group, "memberId": NO_ID, "memberEpoch": 0, "rebalanceTimeoutMs": 600_000,
            "subscribedTopicNames": topics, "topicPartitions": []});
        all.push(("ConsumerGroupHeartbeat", 1, join));
    }
    all
}

macro_rules! cases {
    ($($api:ident $min:literal - $max:literal $($before:ident)? => $body:expr;)*) => {
        /// All requests, each at all versions in its range that both brokers serve.
        pub(super) const CASES: &[Case] = &[$(Case {
            api: stringify!($api),
            versions: ($min, $max),
            before: before!($($before)?),
            body: || $body,
        }),*];
    };
}

macro_rules! before {
    () => {
        None
    };
    ($before:ident) => {
        Some(Before::$before)
    };
}

cases! {
    AddOffsetsToTxn 0-99 => json!({"transactionalId": "a1", "groupId": "a1", "producerId": PRODUCER, "producerEpoch": 0});
    AddOffsetsToTxn 0-99 => json!({"transactionalId": "a1", "groupId": "b1", "producerId": PRODUCER, "producerEpoch": 0});
    AddPartitionsToTxn 0-99 => add_partitions("a1", &["a1"]);
    AddPartitionsToTxn 0-99 => add_partitions("a1", &["a1", "b1", "a9", "__consumer_offsets"]);
    AddPartitionsToTxn 0-99 => add_partitions("b1", &["a1"]);
    AddRaftVoter 0-99 => json!({"clusterId": "other", "timeoutMs": 1000, "voterId": 99, "voterDirectoryId": NO_ID,
        "listeners": []});
    AlterClientQuotas 0-99 => json!({"entries": [{"entity": [{"entityType": "user", "entityName": "x"}],
        "ops": [{"key": "producer_byte_rate", "value": 1000.0, "remove": false}]}], "validateOnly": true});
    AlterConfigs 0-99 => settings(false);
    AlterPartitionReassignments 0-99 => json!({"timeoutMs": 5000, "topics": named("name",
        json!({"partitions": [{"partitionIndex": 0, "replicas": null}]}))});
    AlterReplicaLogDirs 0-99 => json!({"dirs": [{"path": "/nowhere", "topics": named("name", json!({"partitions": [0]}))}]});
    AlterShareGroupOffsets 0-99 => json!({"groupId": "a9", "topics": named("topicName",
        json!({"partitions": [{"partitionIndex": 0, "startOffset": 0}]}))});
    AlterUserScramCredentials 0-99 => json!({"deletions": [{"name": "x", "mechanism": 1}], "upsertions": []});
    ConsumerGroupDescribe 0-99 => json!({"groupIds": ["ac-1", "ac-2", "bc", "a9", "b9"], "includeAuthorizedOperations": true});
    ConsumerGroupHeartbeat 0-99 => member("ac-1", json!(["a1"]));
    ConsumerGroupHeartbeat 0-99 => member("ac-1", json!(["a1", "b1"]));
    ConsumerGroupHeartbeat 0-99 => member("ac-1", json!(null));
    ConsumerGroupHeartbeat 0-99 => member("bc", json!(["a1"]));
    CreateAcls 1-99 => json!({"creations": [creation(2, "zz", 3, 3), creation(4, "other", 3, 3), creation(2, "", 3, 3),
        creation(99, "t", 3, 3), creation(2, "t", 9, 3), creation(2, "t", 3, 99)]});
    CreateAcls 1-99 => json!({"creations": [creation(2, "zy", 3, 3), creation(1, "t", 3, 3)]});
    CreateAcls 1-99 => json!({"creations": [creation(2, "zy", 3, 3), creation(2, "t", 2, 3)]});
    CreateAcls 1-99 => json!({"creations": [creation(2, "zy", 3, 3), creation(2, "t", 3, 1)]});
    CreateAcls 1-99 => json!({"creations": [creation(0, "t", 3, 3)]});
    CreateAcls 1-99 => json!({"creations": [creation(2, "zz", 3, 99)]});
    CreateDelegationToken 1-99 => json!({"ownerPrincipalType": "User", "ownerPrincipalName": "a-owner", "renewers": [],
        "maxLifetimeMs": -1});
    CreatePartitions 0-99 => json!({"topics": named("name", json!({"count": 5, "assignments": null})), "timeoutMs": 5000,
        "validateOnly": true});
    CreateTopics 1-99 => {
        let topic = |name: &str| json!({"name": name, "numPartitions": 1, "replicationFactor": 1});
        json!({"topics": (["a-new", "b-new", "a1", "b1", "a#"].map(topic)), "timeoutMs": 5000, "validateOnly": true})
    };
    DeleteAcls 1-99 => json!({"filters": [filter(2, 3, json!("zz"), json!("User:zz")), filter(1, 1, json!(null), json!("User:no"))]});
    DeleteAcls 1-99 => json!({"filters": [filter(99, 1, json!(null), json!(null)), filter(2, 3, json!("no"), json!(null))]});
    DeleteAcls 1-99 => json!({"filters": [filter(0, 1, json!(null), json!(null))]});
    DeleteGroups 0-99 => json!({"groupsNames": ["a9", "b9"]});
    DeleteRecords 0-99 => json!({"topics": named("name", json!({"partitions": [{"partitionIndex": 0, "offset": 0}]})),
        "timeoutMs": 5000});
    DeleteShareGroupOffsets 0-99 => json!({"groupId": "a9", "topics": named("topicName", json!({}))});
    DeleteShareGroupState 0-99 => json!({"groupId": "a9", "topics": []});
    DeleteTopics 0-99 => json!({"topicNames": ["a9", "b9"], "timeoutMs": 5000, "topics": [
        {"name": "a9", "topicId": "AAAAAAAAAAAAAAAAAAAAAA"}, {"name": "b9", "topicId": "AAAAAAAAAAAAAAAAAAAAAA"},
        {"name": null, "topicId": NO_ID}]});
    DeleteTopics 0-99 Victim => json!({"topicNames": [VICTIM], "timeoutMs": 5000, "topics": [
        {"name": VICTIM, "topicId": "AAAAAAAAAAAAAAAAAAAAAA"}]});
    DeleteTopics 6-99 Victim => json!({"timeoutMs": 5000, "topics": [{"name": null, "topicId": VICTIM_ID}]});
    DescribeAcls 1-99 => filter(1, 2, json!("a1"), json!(null));
    DescribeAcls 1-99 => filter(2, 1, json!(null), json!("User:u2-3"));
    DescribeAcls 1-99 => filter(4, 3, json!(null), json!(null));
    DescribeAcls 1-99 => filter(99, 1, json!(null), json!(null));
    DescribeAcls 1-99 => filter(0, 1, json!(null), json!(null));
    DescribeClientQuotas 0-99 => json!({"components": [], "strict": false});
    DescribeCluster 0-99 => json!({"includeClusterAuthorizedOperations": true, "endpointType": 1});
    DescribeConfigs 1-99 => seen_settings();
    DescribeDelegationToken 1-99 => json!({"owners": null});
    DescribeGroups 0-99 => json!({"groups": ["a1", "b1", "a9", "b9"], "includeAuthorizedOperations": true});
    DescribeLogDirs 1-99 => json!({"topics": [{"topic": "a1", "partitions": [0]}, {"topic": "b1", "partitions": [0]}]});
    DescribeProducers 0-99 => json!({"topics": named("name", json!({"partitionIndexes": [0]}))});
    DescribeQuorum 0-99 => json!({"topics": [{"topicName": "__cluster_metadata", "partitions": [{"partitionIndex": 0}]}]});
    DescribeShareGroupOffsets 0-99 => {
        let group = |id: &str| json!({"groupId": id, "topics": named("topicName", json!({"partitions": [0]}))});
        json!({"groups": [group("a9"), group("b9")]})
    };
    DescribeTopicPartitions 0-99 => json!({"topics": named("name", json!({})), "responsePartitionLimit": 100});
    DescribeTopicPartitions 0-99 => json!({"topics": [], "responsePartitionLimit": 2000});
    DescribeTransactions 0-99 => json!({"transactionalIds": ["a1", "b1", "a9", "b9"]});
    DescribeUserScramCredentials 0-99 => json!({"users": [{"name": "x"}]});
    ElectLeaders 0-99 => json!({"electionType": 0, "topicPartitions": named("topic", json!({"partitions": [0]})),
        "timeoutMs": 5000});
    EndTxn 0-99 => json!({"transactionalId": "a9", "producerId": 77, "producerEpoch": 0, "committed": true});
    EndTxn 0-99 => json!({"transactionalId": "b9", "producerId": 77, "producerEpoch": 0, "committed": true});
    ExpireDelegationToken 1-99 => json!({"hmac": "AAAA", "expiryTimePeriodMs": -1});
    Fetch 4-99 => fetch(-1);
    Fetch 4-99 => fetch(2);
    FindCoordinator 0-99 => coordinators(0, &["a1", "b1"]);
    FindCoordinator 0-99 => coordinators(0, &["b1"]);
    FindCoordinator 1-99 => coordinators(1, &["a1", "b1"]);
    FindCoordinator 1-99 => coordinators(1, &["b1"]);
    FindCoordinator 6-99 => coordinators(2, &["a1"]);
    Heartbeat 0-99 => json!({"groupId": "a1", "generationId": 1, "memberId": "x"});
    Heartbeat 0-99 => json!({"groupId": "b1", "generationId": 1, "memberId": "x"});
    IncrementalAlterConfigs 0-99 => settings(true);
    IncrementalAlterConfigs 0-99 => json!({"resources": [{"resourceType": 8, "resourceName": "1", "configs": [{"name": "root",
        "configOperation": 0, "value": "INFO"}]}], "validateOnly": true});
    InitProducerId 0-99 => json!({"transactionalId": null, "transactionTimeoutMs": 1000, "producerId": -1, "producerEpoch": -1});
    InitProducerId 0-99 => json!({"transactionalId": "a1", "transactionTimeoutMs": 0, "producerId": -1, "producerEpoch": -1});
    InitProducerId 0-99 => json!({"transactionalId": "b1", "transactionTimeoutMs": 0, "producerId": -1, "producerEpoch": -1});
    InitializeShareGroupState 0-99 => json!({"groupId": "a9", "topics": []});
    JoinGroup 0-99 => json!({"groupId": "a1", "sessionTimeoutMs": 1, "rebalanceTimeoutMs": 1000, "memberId": "",
        "protocolType": "consumer", "protocols": [{"name": "range", "metadata": ""}]});
    LeaveGroup 0-99 => json!({"groupId": "a1", "memberId": "x", "members": [{"memberId": "x"}]});
    ListConfigResources 0-99 => json!({"resourceTypes": [16, 32]});
    ListGroups 0-99 => json!({"statesFilter": [], "typesFilter": []});
    ListOffsets 1-99 => json!({"replicaId": -1, "topics": named("name",
        json!({"partitions": [{"partitionIndex": 0, "timestamp": -2, "currentLeaderEpoch": -1}]}))});
    ListPartitionReassignments 0-99 => json!({"timeoutMs": 5000, "topics": null});
    ListPartitionReassignments 0-99 => json!({"timeoutMs": 5000, "topics": [{"name": "a1", "partitionIndexes": [0]}]});
    ListTransactions 0-99 => json!({"stateFilters": [], "producerIdFilters": []});
    Metadata 0-0 => json!({"topics": []});
    Metadata 1-99 => metadata(json!(null), false);
    Metadata 1-99 => metadata(json!([]), false);
    Metadata 0-99 => metadata(json!([{"name": "a1"}, {"name": "b1"}, {"name": "a#"}, {"name": "b#"}]), true);
    Metadata 4-99 => metadata(named("name", json!({})), false);
    Metadata 12-99 => metadata(topics(|_, id| json!({"topicId": id, "name": null})), false);
    OffsetCommit 2-99 => commit("a1");
    OffsetCommit 2-99 => commit("b1");
    OffsetDelete 0-99 => offset_delete("a1");
    OffsetDelete 0-99 => offset_delete("b1");
    OffsetFetch 1-7 => offsets(all_offsets(false));
    OffsetFetch 8-99 => offsets(all_offsets(true));
    OffsetFetch 2-99 => offsets(json!(null));
    OffsetForLeaderEpoch 2-99 => json!({"replicaId": -1, "topics": named("topic",
        json!({"partitions": [{"partition": 0, "currentLeaderEpoch": -1, "leaderEpoch": 0}]}))});
    Produce 3-99 => produce(json!(null), &batch(json!({})));
    Produce 3-99 => produce(json!("a1"), &batch(json!({"producerId": PRODUCER, "producerEpoch": 0, "baseSequence": 0,
        "transactional": true})));
    Produce 3-99 => produce(json!(null), &batch(json!({"producerId": PRODUCER, "producerEpoch": 0, "baseSequence": 0,
        "transactional": true})));
    ReadShareGroupState 0-99 => json!({"groupId": "a9", "topics": []});
    ReadShareGroupStateSummary 0-99 => json!({"groupId": "a9", "topics": []});
    RemoveRaftVoter 0-99 => json!({"clusterId": "other", "voterId": 99, "voterDirectoryId": NO_ID});
    RenewDelegationToken 1-99 => json!({"hmac": "AAAA", "renewPeriodMs": -1});
    ShareAcknowledge 1-99 => json!({"groupId": "as", "memberId": NO_ID, "shareSessionEpoch": 5, "topics": []});
    ShareAcknowledge 1-99 => json!({"groupId": "bs", "memberId": NO_ID, "shareSessionEpoch": 5, "topics": []});
    ShareFetch 1-99 => json!({"groupId": "as", "memberId": NO_ID, "shareSessionEpoch": 5, "maxWaitMs": 0, "minBytes": 0,
        "maxBytes": 100, "maxRecords": 1, "batchSize": 1, "topics": [], "forgottenTopicsData": []});
    ShareGroupDescribe 1-99 => json!({"groupIds": ["a9", "b9"], "includeAuthorizedOperations": true});
    ShareGroupHeartbeat 1-99 => share_member("as", json!(["a1"]));
    ShareGroupHeartbeat 1-99 => share_member("as", json!(["a1", "b1"]));
    ShareGroupHeartbeat 1-99 => share_member("bs", json!(["a1"]));
    StreamsGroupDescribe 0-99 => json!({"groupIds": ["a9", "b9"], "includeAuthorizedOperations": true});
    StreamsGroupHeartbeat 0-99 => json!({"groupId": "at", "memberId": NO_ID, "memberEpoch": 5, "topology": null});
    StreamsGroupHeartbeat 0-99 => json!({"groupId": "bt", "memberId": NO_ID, "memberEpoch": 5, "topology": null});
    StreamsGroupTopologyDescriptionUpdate 0-99 => topology("at");
    StreamsGroupTopologyDescriptionUpdate 0-99 => topology("bt");
    SyncGroup 0-99 => json!({"groupId": "a1", "generationId": 1, "memberId": "x", "protocolType": "consumer",
        "protocolName": "range", "assignments": []});
    TxnOffsetCommit 0-99 => commit_transaction("a1", json!(PRODUCER), "a1", &["a1", "b1", "a9"]);
    TxnOffsetCommit 0-99 => commit_transaction("a1", json!(PRODUCER), "b1", &["a1"]);
    TxnOffsetCommit 0-99 => commit_transaction("b1", json!(12345), "a1", &["a1"]);
    UnregisterBroker 0-99 => json!({"brokerId": 99});
    UnregisterController 0-99 => json!({"controllerId": 99});
    UpdateFeatures 0-99 => json!({"timeoutMs": 5000, "featureUpdates": [{"feature": "nope", "maxVersionLevel": 1,
        "allowDowngrade": false, "upgradeType": 1}], "validateOnly": true});
    WriteShareGroupState 0-99 => json!({"groupId": "a9", "topics": []});
    WriteTxnMarkers 0-99 => json!({"markers": [{"producerId": 77, "producerEpoch": 0, "transactionResult": false,
        "coordinatorEpoch": 0, "topics": [{"name": "a9", "partitionIndexes": [0]}]}]});
}

#[cfg(test)]
mod tests {
    use milena_schema::Spec;

    use super::*;

    #[test]
    fn every_request_is_one_of_an_api() {
        for case in CASES {
            let api = Spec::kafka().api_named(case.api);
            assert!(api.is_ok(), "{}", case.api);
            assert!(case.body().is_object(), "{}", case.api);
        }
    }
}
