//! What all nodes of a cluster share: the nodes, topics and settings, and who leads what.

pub(crate) mod broker_setting;
mod changes;
pub(crate) mod features;
pub(crate) mod group_config;
pub(crate) mod node;
pub(crate) mod quotas;
pub(crate) mod resource_config;
pub(crate) mod running;
mod saved;
pub(crate) mod setting;
pub(crate) mod stored_config;
pub(crate) mod throttle;
pub(crate) mod topic_config;
pub(crate) mod topic_name;
pub(crate) mod topics;
pub(crate) mod upkeep;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use milena_messages::{ByteString, ErrorCode, Uuid};
use milena_transport::ServerTls;

use crate::clock::Clock;
use crate::cluster::features::Features;
use crate::cluster::node::Node;
use crate::cluster::quotas::Quotas;
use crate::cluster::stored_config::{ALL_BROKERS, StoredConfigs, Values};
use crate::cluster::topic_config::TopicConfig;
use crate::cluster::topics::Topics;
pub(crate) use crate::cluster::topics::{Topic, TopicRef};
use crate::cluster::upkeep::Upkeep;
use crate::config::BrokerConfig;
use crate::coordinator::Coordinator;
use crate::disk::{Change, Disk, Job};
use crate::fault::BrokerFaults;
use crate::group::GroupMachine;
use crate::net::received::Received;
use crate::net::unsent::Unsent;
use crate::net::work::Workers;
use crate::refusal::Refusal;
use crate::release::Release;
use crate::security::authorizer::Authorizer;
use crate::security::config::ListenerConfig;
use crate::security::credentials::Credentials;
use crate::security::login::Scene;
use crate::share::leader::ShareLeaders;
use crate::share::session::ShareSessions;
use crate::share::state::ShareMachine;
use crate::storage::leadership::{Leadership, NO_LEADER};
use crate::storage::memory::Memory;
use crate::storage::partition::Partition;
use crate::transaction::TransactionMachine;

/// Partitions of the topics of coordinators, as Kafka's `offsets.topic.num.partitions` and its siblings.
const INTERNAL_PARTITIONS: i32 = 50;
/// Most replicas of them.
const INTERNAL_REPLICAS: i16 = 3;

/// The topic of the share coordinator.
const SHARE_STATE_TOPIC: &str = "__share_group_state";
/// As many producer ids are noted at once.
const PRODUCER_ID_BLOCK: i64 = 1000;

/// All that the nodes and their connections share.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) config: BrokerConfig,
    /// What each node listens for; clients know the index of theirs.
    pub(crate) listeners: Vec<ListenerConfig>,
    /// For listeners with TLS; set before the first of them opens.
    pub(crate) tls: OnceLock<ServerTls>,
    /// What clients can log in with.
    pub(crate) credentials: Credentials,
    pub(crate) cluster_id: ByteString,
    pub(crate) clock: Clock,
    pub(crate) faults: BrokerFaults,
    /// Who may do what; everybody may do everything without one.
    pub(crate) authorizer: Option<Authorizer>,
    /// The release that the cluster acts as, with the APIs that it serves.
    pub(crate) release: Release,
    /// The requests received last.
    pub(crate) received: Received,
    /// The responses that clients have not read yet.
    pub(crate) unsent: Unsent,
    pub(crate) workers: Workers,
    nodes: RwLock<BTreeMap<i32, Arc<Node>>>,
    controller: AtomicI32,
    topics: RwLock<Topics>,
    stored_configs: Mutex<StoredConfigs>,
    quotas: Mutex<Quotas>,
    features: Mutex<Features>,
    pub(crate) groups: Arc<Coordinator<GroupMachine>>,
    pub(crate) transactions: Arc<Coordinator<TransactionMachine>>,
    pub(crate) upkeep: Upkeep,
    pub(crate) memory: Arc<Memory>,
    pub(crate) shares: Arc<Coordinator<ShareMachine>>,
    pub(crate) share_leaders: ShareLeaders,
    pub(crate) share_sessions: ShareSessions,
    /// The data folder; set before anything is in it.
    pub(crate) disk: OnceLock<Arc<Disk>>,
    next_producer_id: AtomicI64,
    /// Where the replicas of the next topic begin.
    next_first_replica: AtomicI32,
}

impl State {
    pub(crate) fn new(config: BrokerConfig, release: Release, clock: Clock, faults: BrokerFaults) -> Self {
        let cluster_id = config.cluster_id.clone().unwrap_or_else(|| random_uuid().to_string());
        let memory = Arc::new(Memory::new(config.max_log_bytes));
        let upkeep = Upkeep::new(clock.now_ms(), config.retention_check_interval, config.cleaner_backoff);
        Self {
            received: Received::new(config.requests_kept, config.request_bytes_kept),
            unsent: Unsent::default(),
            workers: Workers::default(),
            listeners: config.listeners(),
            authorizer: config.acls.as_ref().map(Authorizer::new),
            tls: OnceLock::new(),
            credentials: Credentials::new(&config.security),
            config,
            cluster_id: cluster_id.into(),
            clock,
            faults,
            release,
            nodes: RwLock::default(),
            controller: AtomicI32::new(NO_LEADER),
            topics: RwLock::default(),
            stored_configs: Mutex::default(),
            quotas: Mutex::default(),
            features: Mutex::default(),
            groups: Arc::new(Coordinator::new("__consumer_offsets")),
            transactions: Arc::new(Coordinator::new("__transaction_state")),
            upkeep,
            memory,
            shares: Arc::new(Coordinator::new(SHARE_STATE_TOPIC)),
            share_leaders: ShareLeaders::default(),
            share_sessions: ShareSessions::default(),
            disk: OnceLock::new(),
            next_producer_id: AtomicI64::new(0),
            next_first_replica: AtomicI32::new(0),
        }
    }

    /// A random id as Java writes one, for the ids of members.
    pub(crate) fn random_id(&self) -> String {
        let hex: String = random_uuid().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    }

    /// What logins depend on, now.
    pub(crate) fn scene(&self) -> Scene<'_> {
        Scene { config: &self.config.security, credentials: &self.credentials, now_ms: self.now_ms() }
    }

    /// Milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// The node with this id, up or not.
    pub(crate) fn node(&self, id: i32) -> Option<Arc<Node>> {
        self.nodes.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    /// All nodes by id, up or not.
    pub(crate) fn nodes(&self) -> Vec<Arc<Node>> {
        self.nodes.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// The nodes that are up, by id.
    pub(crate) fn alive(&self) -> Vec<Arc<Node>> {
        self.nodes().into_iter().filter(|node| node.is_alive()).collect()
    }

    fn is_up(&self, node: i32) -> bool {
        self.node(node).is_some_and(|node| node.is_alive())
    }

    /// The node that clients see as the controller; [`NO_LEADER`] while none is up.
    pub(crate) fn controller(&self) -> i32 {
        self.controller.load(Ordering::Acquire)
    }

    /// Adds a node that is up.
    pub(crate) fn add_node(&self, node: Arc<Node>) {
        let id = node.id;
        self.nodes.write().unwrap_or_else(PoisonError::into_inner).insert(id, node);
        self.node_up(id);
    }

    /// A node came up: it is in sync for its partitions again.
    pub(crate) fn node_up(&self, id: i32) {
        if let Some(node) = self.node(id) {
            node.set_alive(true);
        }
        self.elect_controller();
        let change = |leadership: &mut Leadership| leadership.node_up(id, |node| self.is_up(node));
        self.each_partition(|partition| _ = partition.elect(change));
    }

    /// A node went down: others lead its partitions.
    pub(crate) fn node_down(&self, id: i32) {
        if let Some(node) = self.node(id) {
            node.set_alive(false);
            node.fetch_sessions.clear();
        }
        self.elect_controller();
        let change = |leadership: &mut Leadership| leadership.node_down(id, |node| self.is_up(node));
        self.each_partition(|partition| _ = partition.elect(change));
    }

    /// The cluster forgets a node, which counts as down until it starts again. False when it did not know the node.
    pub(crate) fn unregister(&self, id: i32) -> bool {
        let known = self.node(id).is_some_and(|node| node.unregister());
        if known {
            self.node_down(id);
        }
        known
    }

    fn elect_controller(&self) {
        if !self.is_up(self.controller()) {
            let first = self.alive().first().map_or(NO_LEADER, |node| node.id);
            self.controller.store(first, Ordering::Release);
        }
    }

    fn each_partition(&self, act: impl Fn(&Partition)) {
        for topic in self.topics() {
            topic.partitions().iter().for_each(|partition| act(partition));
        }
    }

    /// An id that no producer had before.
    pub(crate) fn new_producer_id(&self) -> i64 {
        let id = self.next_producer_id.fetch_add(1, Ordering::Relaxed);
        // As Kafka does, a block of ids is noted before the first of them is given out.
        if id % PRODUCER_ID_BLOCK == 0 {
            if let Some(disk) = self.disk.get() {
                disk.send(Job::Metadata(vec![Change::producer_ids(id + PRODUCER_ID_BLOCK)]));
            }
        }
        id
    }

    pub(crate) fn topic(&self, topic: TopicRef<'_>) -> Option<Arc<Topic>> {
        self.topics.read().unwrap_or_else(PoisonError::into_inner).find(topic).cloned()
    }

    /// All topics by name.
    pub(crate) fn topics(&self) -> Vec<Arc<Topic>> {
        self.topics.read().unwrap_or_else(PoisonError::into_inner).all()
    }

    /// A number that grows with each topic that comes, goes, or gets partitions.
    pub(crate) fn topics_version(&self) -> i64 {
        self.topics.read().unwrap_or_else(PoisonError::into_inner).version()
    }

    /// The number of topics.
    pub(crate) fn topic_count(&self) -> usize {
        self.topics.read().unwrap_or_else(PoisonError::into_inner).count()
    }

    /// The names of all topics.
    pub(crate) fn topic_names(&self) -> Vec<ByteString> {
        self.topics.read().unwrap_or_else(PoisonError::into_inner).names()
    }

    /// The settings of a topic for which these were given.
    pub(crate) fn topic_config<'a>(
        &self,
        pairs: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Result<TopicConfig, Refusal> {
        TopicConfig::with_defaults(pairs, &self.broker_defaults())
    }

    /// The settings that clients stored for others than topics.
    pub(crate) fn stored_configs(&self) -> MutexGuard<'_, StoredConfigs> {
        self.stored_configs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The quotas of users, clients and addresses.
    pub(crate) fn quotas(&self) -> MutexGuard<'_, Quotas> {
        self.quotas.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The features of the cluster.
    pub(crate) fn features(&self) -> MutexGuard<'_, Features> {
        self.features.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The settings of all brokers that topics fall back on.
    fn broker_defaults(&self) -> Values {
        let mut defaults = Values::from([("message.max.bytes".to_owned(), self.config.max_message_bytes.to_string())]);
        let stored = self.stored_configs();
        let set = stored.brokers.get(ALL_BROKERS).into_iter().flatten();
        defaults.extend(set.map(|(name, value)| (name.clone(), value.clone())));
        defaults
    }

    /// Changes the settings of a topic; with `validate_only` only checks whether they could be changed.
    ///
    /// # Errors
    /// There is no such topic; `change` refuses, or gives settings that topics do not take.
    pub(crate) fn alter_topic(
        &self,
        name: &str,
        validate_only: bool,
        change: impl FnOnce(&Values) -> Result<Values, Refusal>,
    ) -> Result<(), Refusal> {
        let unknown =
            || Refusal::new(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, format!("The topic '{name}' does not exist."));
        let defaults = self.broker_defaults();
        let config = |set: Values| {
            TopicConfig::with_defaults(set.iter().map(|(name, value)| (&**name, Some(&**value))), &defaults)
        };
        let Some(topic) = self.topic(TopicRef::Name(name)) else {
            // Kafka looks at the settings first.
            return change(&Values::new()).and_then(config).and_then(|_| Err(unknown()));
        };
        let before = topic.config();
        topic.alter_config(validate_only, |before| config(change(before.all_own())?))?;
        self.keep_settings(&topic, before.all_own());
        Ok(())
    }

    /// Applies what brokers have in common to all topics again.
    pub(crate) fn broker_defaults_changed(&self) {
        for topic in self.topics() {
            // What a topic has set itself may conflict with the new default: the topic keeps what was in force.
            let _ = self.alter_topic(&topic.name, false, |set| Ok(set.clone()));
        }
    }

    /// Places replicas of so many partitions on the nodes that are up, in turn.
    ///
    /// # Errors
    /// There are fewer nodes than replicas.
    pub(crate) fn place(&self, partitions: i32, replication_factor: i16) -> Result<Vec<Vec<i32>>, Refusal> {
        let nodes: Vec<i32> = self.alive().iter().map(|node| node.id).collect();
        let factor = usize::try_from(replication_factor).unwrap_or(0);
        if factor == 0 || factor > nodes.len() {
            let message = format!(
                "Unable to replicate the partition {replication_factor} time(s): The target replication factor of \
                 {replication_factor} cannot be reached because only {} broker(s) are registered or some \
                 brokers have all their log directories cordoned.",
                nodes.len()
            );
            return Err(Refusal::new(ErrorCode::INVALID_REPLICATION_FACTOR, message));
        }
        let count = usize::try_from(partitions).unwrap_or(0);
        let first = self.next_first_replica.fetch_add(1, Ordering::Relaxed) as usize;
        let replicas =
            |partition: usize| (0..factor).map(|replica| nodes[(first + partition + replica) % nodes.len()]).collect();
        Ok((0..count).map(replicas).collect())
    }

    /// Creates a topic with these replicas of each partition; with `validate_only` only checks whether it could be
    /// created.
    ///
    /// # Errors
    /// As [`Topics::check`].
    pub(crate) fn create_topic(
        &self,
        name: &str,
        replicas: Vec<Vec<i32>>,
        config: TopicConfig,
        validate_only: bool,
    ) -> Result<Arc<Topic>, Refusal> {
        let mut topics = self.topics.write().unwrap_or_else(PoisonError::into_inner);
        topics.check(name, replicas.len(), self.config.max_partitions)?;
        let replicas = if validate_only { Vec::new() } else { replicas };
        let config = Arc::new(config);
        let leadership = |replicas| Leadership::new(replicas, |node| self.is_up(node));
        let partition = |replicas| Arc::new(Partition::new(leadership(replicas), config.clone(), self.memory.clone()));
        let saved_replicas = if self.disk.get().is_some() { replicas.clone() } else { Vec::new() };
        let partitions = replicas.into_iter().map(partition).collect();
        // A copy: the name that came in is a part of its request, which should not be kept for it.
        let topic = Arc::new(Topic::new(name.to_owned().into(), random_uuid(), config.clone(), partitions));
        if !validate_only {
            topics.insert(topic.clone());
            self.keep_topic(&topic, saved_replicas);
        }
        Ok(topic)
    }

    /// Checks that a topic of this name can be created.
    ///
    /// # Errors
    /// Such names are not allowed; there is such a topic.
    pub(crate) fn check_name(&self, name: &str) -> Result<(), Refusal> {
        self.topics.read().unwrap_or_else(PoisonError::into_inner).check(name, 0, usize::MAX)
    }

    /// Creates the topic of a coordinator, with Kafka's settings for it.
    pub(crate) fn create_internal(&self, name: &str) -> Result<Arc<Topic>, Refusal> {
        // The share coordinator deletes what it no longer needs by itself.
        let kept = match name {
            SHARE_STATE_TOPIC => [("cleanup.policy", Some("delete")), ("retention.ms", Some("-1"))],
            _ => [("cleanup.policy", Some("compact")), ("segment.bytes", Some("104857600"))],
        };
        let config = self.topic_config(kept.into_iter().chain([("segment.bytes", Some("104857600"))]))?;
        let factor = i16::try_from(self.alive().len()).unwrap_or(i16::MAX).min(INTERNAL_REPLICAS);
        let replicas = self.place(INTERNAL_PARTITIONS, factor)?;
        match self.create_topic(name, replicas, config, false) {
            Err(refusal) if refusal.code == ErrorCode::TOPIC_ALREADY_EXISTS => {
                self.topic(TopicRef::Name(name)).ok_or(refusal)
            }
            other => other,
        }
    }

    /// Creates a topic because somebody asked for it.
    pub(crate) fn auto_create(&self, name: &str) -> Result<Arc<Topic>, Refusal> {
        let config = self.topic_config([])?;
        let replicas = self.place(self.config.default_partitions, self.config.default_replication_factor)?;
        match self.create_topic(name, replicas, config, false) {
            // Another connection was faster.
            Err(refusal) if refusal.code == ErrorCode::TOPIC_ALREADY_EXISTS => {
                self.topic(TopicRef::Name(name)).ok_or(refusal)
            }
            other => other,
        }
    }

    /// Deletes a topic; `None` when it is not there.
    pub(crate) fn delete_topic(self: &Arc<Self>, topic: TopicRef<'_>) -> Option<Arc<Topic>> {
        let topic = {
            let mut topics = self.topics.write().unwrap_or_else(PoisonError::into_inner);
            let topic = topics.remove(topic)?;
            // Before another topic can have the name, and with it the folders.
            if let Some(disk) = self.disk.get() {
                disk.send(Job::Metadata(vec![Change::remove(topic.id)]));
            }
            topic.partitions().iter().for_each(|partition| partition.delete());
            topic
        };
        topic.partitions().iter().for_each(|partition| partition.wake());
        self.share_topic_deleted(topic.id);
        self.groups.on_all(self, |machine, _, effects| machine.forget_topic(&topic.name, effects));
        Some(topic)
    }
}

/// A random id as Kafka makes them: version 4, and never with a leading dash, which command lines would take for an
/// option.
pub(crate) fn random_uuid() -> Uuid {
    loop {
        // Each of these states has keys of its own from the system's random numbers.
        let half = || RandomState::new().hash_one(0u8).to_be_bytes();
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&half());
        bytes[8..].copy_from_slice(&half());
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let id = Uuid::from_bytes(bytes);
        if !id.to_string().starts_with('-') {
            return id;
        }
    }
}
