use milena_messages::metadata::response::{MetadataResponsePartition, MetadataResponseTopic};
use milena_messages::{ErrorCode, MetadataResponse, Uuid};

/// A cluster as one of its brokers sees it, which may be out of date.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cluster {
    /// Id of the cluster; `None` when the broker does not know it, as before 0.10.1.
    pub cluster_id: Option<String>,
    /// Node id of the controller; `None` when there is none or, before 0.10, when no response names it. With KRaft it is some
    /// broker that passes requests on.
    pub controller: Option<i32>,
    /// The brokers that are alive.
    pub brokers: Vec<BrokerNode>,
    /// The topics asked for, those that do not exist included with their error.
    pub topics: Vec<Topic>,
}

/// One broker.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokerNode {
    /// Node id.
    pub id: i32,
    /// Host, as advertised.
    pub host: String,
    /// Port, as advertised.
    pub port: i32,
    /// Rack, when one is configured.
    pub rack: Option<String>,
}

/// One topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Name.
    pub name: String,
    /// Id (KIP-516); `None` before Metadata 10, and when the broker gave none.
    pub id: Option<Uuid>,
    /// Whether the topic belongs to the brokers, as `__consumer_offsets` does.
    pub internal: bool,
    /// [`ErrorCode::NONE`], or why there is nothing to see.
    pub error: ErrorCode,
    /// The partitions, in the order of their numbers.
    pub partitions: Vec<Partition>,
}

/// One partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Number, from 0.
    pub index: i32,
    /// Node id of the leader; `None` when there is none now.
    pub leader: Option<i32>,
    /// Epoch of that leader (KIP-320); `None` before Metadata 7.
    pub leader_epoch: Option<i32>,
    /// Node ids of the replicas, the preferred leader first.
    pub replicas: Vec<i32>,
    /// Node ids of the replicas in sync.
    pub in_sync: Vec<i32>,
    /// Node ids of the replicas that are not there.
    pub offline: Vec<i32>,
    /// [`ErrorCode::NONE`], or what is wrong.
    pub error: ErrorCode,
}

impl Cluster {
    /// The topic of that name.
    pub fn topic(&self, name: &str) -> Option<&Topic> {
        self.topics.iter().find(|topic| topic.name == name)
    }

    /// The broker of that id.
    pub fn broker(&self, id: i32) -> Option<&BrokerNode> {
        self.brokers.iter().find(|broker| broker.id == id)
    }
}

fn id(number: i32) -> Option<i32> {
    (number >= 0).then_some(number)
}

impl From<MetadataResponse> for Cluster {
    fn from(response: MetadataResponse) -> Self {
        let broker = |broker: milena_messages::metadata::response::MetadataResponseBroker| BrokerNode {
            id: broker.node_id,
            host: broker.host.to_string(),
            port: broker.port,
            rack: broker.rack.map(String::from),
        };
        Self {
            cluster_id: response.cluster_id.map(String::from),
            controller: id(response.controller_id),
            brokers: response.brokers.into_iter().map(broker).collect(),
            topics: response.topics.into_iter().map(Topic::from).collect(),
        }
    }
}

impl From<MetadataResponseTopic> for Topic {
    fn from(topic: MetadataResponseTopic) -> Self {
        let mut partitions: Vec<Partition> = topic.partitions.into_iter().map(Partition::from).collect();
        partitions.sort_by_key(|partition| partition.index);
        Self {
            name: topic.name.map(String::from).unwrap_or_default(),
            id: (!topic.topic_id.is_zero()).then_some(topic.topic_id),
            internal: topic.is_internal,
            error: topic.error_code,
            partitions,
        }
    }
}

impl From<MetadataResponsePartition> for Partition {
    fn from(partition: MetadataResponsePartition) -> Self {
        Self {
            index: partition.partition_index,
            leader: id(partition.leader_id),
            leader_epoch: id(partition.leader_epoch),
            replicas: partition.replica_nodes.to_vec(),
            in_sync: partition.isr_nodes.to_vec(),
            offline: partition.offline_replicas.to_vec(),
            error: partition.error_code,
        }
    }
}
