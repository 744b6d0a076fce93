use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use milena_messages::{ErrorCode, Uuid};
use milena_transport::Address;

use crate::cluster::{Cluster, Topic};

/// What is known of the cluster. Topics are kept from one answer to the next, brokers are those of the last one.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    brokers: HashMap<i32, Address>,
    controller: Option<i32>,
    topics: HashMap<String, Topic>,
}

/// Where a partition is led.
#[derive(Clone, Debug)]
pub(crate) struct Leader {
    /// Address of the leading broker.
    pub(crate) address: Address,
    /// Its epoch; -1 when it is not known.
    pub(crate) epoch: i32,
    /// The topic's id; `None` when the cluster gave none.
    pub(crate) topic_id: Option<Uuid>,
}

impl Cache {
    fn lock(&self) -> MutexGuard<'_, Known> {
        // Nothing here panics half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over an answer; `all` when it names every topic there is.
    pub(crate) fn learn(&self, cluster: &Cluster, all: bool) {
        let mut known = self.lock();
        if !cluster.brokers.is_empty() {
            let address =
                |broker: &crate::cluster::BrokerNode| Some((broker.id, Address::new(&broker.host, broker.port).ok()?));
            known.brokers = cluster.brokers.iter().filter_map(address).collect();
        }
        known.controller = cluster.controller;
        if all {
            known.topics.retain(|name, _| cluster.topic(name).is_some());
        }
        for topic in &cluster.topics {
            match known.topics.get(&topic.name) {
                _ if topic.error != ErrorCode::NONE => {
                    known.topics.remove(&topic.name);
                }
                Some(before) => {
                    let merged = newer(before, topic);
                    known.topics.insert(topic.name.clone(), merged);
                }
                None => {
                    known.topics.insert(topic.name.clone(), topic.clone());
                }
            }
        }
    }

    /// The leader of a partition; the code says what is missing, [`ErrorCode::NONE`] that nothing is known yet.
    pub(crate) fn leader(&self, topic: &str, partition: i32) -> Result<Leader, ErrorCode> {
        let known = self.lock();
        let topic = known.topics.get(topic).ok_or(ErrorCode::NONE)?;
        let found = topic.partitions.iter().find(|known| known.index == partition);
        let found = found.ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        let address = found.leader.and_then(|id| known.brokers.get(&id)).ok_or(ErrorCode::LEADER_NOT_AVAILABLE)?;
        Ok(Leader { address: address.clone(), epoch: found.leader_epoch.unwrap_or(-1), topic_id: topic.id })
    }

    /// The address of a broker.
    pub(crate) fn broker(&self, id: i32) -> Option<Address> {
        self.lock().brokers.get(&id).cloned()
    }

    /// The address of the controller.
    pub(crate) fn controller(&self) -> Option<Address> {
        let known = self.lock();
        known.brokers.get(&known.controller?).cloned()
    }

    /// The addresses of all brokers.
    pub(crate) fn brokers(&self) -> Vec<Address> {
        self.lock().brokers.values().cloned().collect()
    }

    /// Looks a topic up anew when it is needed again.
    pub(crate) fn forget_topic(&self, topic: &str) {
        self.lock().topics.remove(topic);
    }

    /// Looks the controller up anew when it is needed again.
    pub(crate) fn forget_controller(&self) {
        self.lock().controller = None;
    }
}

/// The later answer, except where a broker that lags behind names a leader of an earlier epoch.
fn newer(before: &Topic, after: &Topic) -> Topic {
    let mut merged = after.clone();
    if before.id != after.id {
        return merged;
    }
    for partition in &mut merged.partitions {
        let known = before.partitions.iter().find(|known| known.index == partition.index);
        if let Some(known) = known.filter(|known| known.leader_epoch > partition.leader_epoch) {
            *partition = known.clone();
        }
    }
    merged
}
