use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use milena_messages::{ErrorCode, Uuid};
use milena_transport::Address;

use super::cluster::{BrokerNode, Cluster, Topic};
use crate::coordinator::CoordinatorKind;
use crate::error::Origin;
use crate::net::Endpoint;

/// How many coordinators are kept.
const MAX_COORDINATORS: usize = 10_000;

/// What is known of the cluster. Topics are kept from one response to the next, brokers are those of the last one.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    brokers: HashMap<i32, Endpoint>,
    controller: Option<i32>,
    topics: HashMap<String, Entry>,
    coordinators: HashMap<(CoordinatorKind, String), Endpoint>,
}

#[derive(Debug)]
struct Entry {
    topic: Topic,
    /// Something showed that it is out of date. It is kept for its epochs.
    stale: bool,
}

/// The leader of a partition.
#[derive(Clone, Debug)]
pub(crate) struct Leader {
    /// The leading broker.
    pub(crate) endpoint: Endpoint,
    /// Its epoch; -1 when it is not known.
    pub(crate) epoch: i32,
    /// The topic's id; `None` when the cluster gave none.
    pub(crate) topic_id: Option<Uuid>,
}

/// What is known of a partition.
#[derive(Clone, Debug)]
pub(crate) enum Lookup {
    Leader(Leader),
    /// The topic is not known, or only from a time that is over.
    Unknown,
    /// The topic has this many partitions, and this one is not among them.
    NoPartition(usize),
    NoLeader,
}

impl Cache {
    fn lock(&self) -> MutexGuard<'_, Known> {
        // Nothing here panics half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over a response; `all` when it names every topic there is.
    pub(crate) fn learn(&self, cluster: &Cluster, all: bool) {
        let mut known = self.lock();
        if !cluster.brokers.is_empty() {
            let endpoint = |broker: &BrokerNode| {
                let address = Address::new(&broker.host, broker.port).ok()?;
                Some((broker.id, Endpoint { address, origin: Origin::Advertised(broker.id) }))
            };
            known.brokers = cluster.brokers.iter().filter_map(endpoint).collect();
        }
        known.controller = cluster.controller;
        if all {
            known.topics.retain(|name, _| cluster.topic(name).is_some());
        }
        for topic in &cluster.topics {
            if topic.error != ErrorCode::NONE {
                known.topics.remove(&topic.name);
                continue;
            }
            let merged = match known.topics.get(&topic.name) {
                Some(before) => newer(&before.topic, topic),
                None => topic.clone(),
            };
            known.topics.insert(topic.name.clone(), Entry { topic: merged, stale: false });
        }
    }

    /// What is known of a partition.
    pub(crate) fn look_up(&self, topic: &str, partition: i32) -> Lookup {
        let known = self.lock();
        let Some(entry) = known.topics.get(topic).filter(|entry| !entry.stale) else { return Lookup::Unknown };
        let topic = &entry.topic;
        let Some(found) = topic.partitions.iter().find(|known| known.index == partition) else {
            return Lookup::NoPartition(topic.partitions.len());
        };
        match found.leader.and_then(|id| known.brokers.get(&id)) {
            Some(endpoint) => Lookup::Leader(Leader {
                endpoint: endpoint.clone(),
                epoch: found.leader_epoch.unwrap_or(-1),
                topic_id: topic.id,
            }),
            None => Lookup::NoLeader,
        }
    }

    /// The address of a broker.
    pub(crate) fn broker(&self, id: i32) -> Option<Endpoint> {
        self.lock().brokers.get(&id).cloned()
    }

    /// The address of the controller.
    pub(crate) fn controller(&self) -> Option<Endpoint> {
        let known = self.lock();
        known.brokers.get(&known.controller?).cloned()
    }

    /// The addresses of all brokers, in the order of their ids.
    pub(crate) fn brokers(&self) -> Vec<Endpoint> {
        let known = self.lock();
        let mut ids: Vec<i32> = known.brokers.keys().copied().collect();
        ids.sort_unstable();
        ids.iter().filter_map(|id| known.brokers.get(id).cloned()).collect()
    }

    /// Looks a topic up again when it is needed again. The first time its epochs are kept, so that a broker that is out of date
    /// does not bring back an earlier leader; the second time nothing is.
    pub(crate) fn doubt_topic(&self, topic: &str) {
        let mut known = self.lock();
        match known.topics.get_mut(topic) {
            Some(entry) if !entry.stale => entry.stale = true,
            _ => {
                known.topics.remove(topic);
            }
        }
    }

    /// Forgets a topic that was deleted.
    pub(crate) fn forget_topic(&self, topic: &str) {
        self.lock().topics.remove(topic);
    }

    /// The address of a coordinator.
    pub(crate) fn coordinator(&self, kind: CoordinatorKind, key: &str) -> Option<Endpoint> {
        self.lock().coordinators.get(&(kind, key.to_owned())).cloned()
    }

    pub(crate) fn learn_coordinator(&self, kind: CoordinatorKind, key: &str, endpoint: Endpoint) {
        let mut known = self.lock();
        // A program may use any number of keys.
        if known.coordinators.len() >= MAX_COORDINATORS {
            known.coordinators.clear();
        }
        known.coordinators.insert((kind, key.to_owned()), endpoint);
    }

    /// Looks a coordinator up again when it is needed again.
    pub(crate) fn forget_coordinator(&self, kind: CoordinatorKind, key: &str) {
        self.lock().coordinators.remove(&(kind, key.to_owned()));
    }

    /// Looks the controller up again when it is needed again.
    pub(crate) fn forget_controller(&self) {
        self.lock().controller = None;
    }
}

/// The later response, except where a broker that is out of date names a leader of an earlier epoch.
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
