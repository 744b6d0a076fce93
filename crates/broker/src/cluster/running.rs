mod logs;
mod nodes;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use milena_messages::ErrorCode;
use milena_records::{Codec, Record, encode};
#[cfg(feature = "tls")]
use milena_transport::ServerTls;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::clock::{Clock, VirtualClock};
use crate::cluster::node::Node;
use crate::cluster::upkeep::keep_up;
use crate::cluster::{State, TopicRef};
#[cfg(feature = "tls")]
use crate::config::BrokerConfig;
use crate::config::ClusterConfig;
use crate::cost::Cost;
use crate::disk::{Saved, load};
use crate::error::BrokerError;
use crate::fault::BrokerFaults;
use crate::net::listener::listen;
use crate::net::received::ReceivedRequest;
use crate::net::sockets::Sockets;
use crate::refusal::Refusal;
use crate::release::Release;
use crate::security::acl::Acl;
use crate::security::authorizer::Authorizer;
#[cfg(feature = "tls")]
use crate::security::certificates::BrokerTls;
use crate::state::ClusterState;
use crate::storage::incoming;
use crate::storage::leadership::NO_LEADER;
use crate::storage::partition::Partition;

/// Appended records are checked as those of a Produce request of this version.
const OWN_PRODUCE_VERSION: i16 = 9;

/// What has a coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Coordinated<'a> {
    /// A group with this id.
    Group(&'a str),
    /// A producer with this transactional id.
    Transaction(&'a str),
}

/// A running cluster of brokers in this process. It stops when it is dropped.
///
/// Each node listens on a port of its own. All replicas of a partition share one log: what its leader appends, its other
/// replicas have at once, and nothing is lost when a node goes.
///
/// ```
/// use milena_broker::{BrokerCluster, ClusterConfig};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let cluster = BrokerCluster::start(ClusterConfig { nodes: 3, ..ClusterConfig::default() }).await?;
/// println!("bootstrap.servers={}", cluster.bootstrap());
/// cluster.create_topic("letters", 6, 3)?;
/// let first = cluster.leader("letters", 0).unwrap();
/// cluster.kill_node(first).await?;
/// assert_ne!(cluster.leader("letters", 0), Some(first));
/// cluster.start_node(first).await?;
/// cluster.shutdown().await;
/// # Ok::<(), milena_broker::BrokerError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BrokerCluster {
    state: Arc<State>,
    config: ClusterConfig,
    #[cfg(feature = "tls")]
    tls: Option<BrokerTls>,
    /// The nodes that are up.
    up: Mutex<BTreeMap<i32, Up>>,
    /// Held while nodes come and go.
    changes: tokio::sync::Mutex<()>,
}

/// The listeners of a node that is up; they end when this is dropped.
#[derive(Debug)]
struct Up {
    /// Of each listener, the first one in front.
    addresses: Vec<SocketAddr>,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl BrokerCluster {
    /// Starts a cluster on the current tokio runtime; all nodes accept connections when this returns.
    ///
    /// # Errors
    /// A node cannot listen on its address; a setting is invalid.
    pub async fn start(config: ClusterConfig) -> Result<Self, BrokerError> {
        config.check()?;
        let clock = match config.broker.virtual_clock {
            Some(now_ms) => Clock::Virtual(Arc::new(VirtualClock::new(now_ms))),
            None => Clock::System,
        };
        let faults = BrokerFaults::new(&config.broker.faults, config.broker.fault_seed)?;
        let release = Release::named(config.broker.kafka_version.as_deref())?;
        let mut broker = config.broker.clone();
        let (saved, seed) = (read(broker.data_dir.as_ref(), true).await?, read(broker.seed_dir.as_ref(), false).await?);
        if let Some(cluster_id) = saved.as_ref().and_then(|saved| saved.cluster_id.clone()) {
            if broker.cluster_id.as_ref().is_some_and(|wanted| *wanted != cluster_id) {
                let reason = "the data folder is that of another cluster";
                return Err(BrokerError::Config {
                    setting: "cluster_id",
                    value: broker.cluster_id.unwrap_or_default(),
                    reason,
                });
            }
            broker.cluster_id = Some(cluster_id);
        }
        let state = Arc::new(State::new(broker, release, clock, faults));
        let folder_error = |folder: &Option<PathBuf>, source| BrokerError::Folder {
            folder: folder.clone().unwrap_or_default(),
            source,
        };
        if let (Some(folder), Some(saved)) = (&config.broker.data_dir, &saved) {
            state.open_folder(folder, saved).map_err(|error| folder_error(&config.broker.data_dir, error))?;
        }
        if let Some(seed) = &seed {
            state.restore(seed, true).map_err(|error| folder_error(&config.broker.seed_dir, error))?;
        }
        let nodes = config.nodes;
        #[cfg(feature = "tls")]
        let tls = tls(&config.broker, &state)?;
        if matches!(state.clock, Clock::System) {
            tokio::spawn(keep_up(Arc::downgrade(&state)));
        }
        let cluster = Self {
            state,
            config,
            #[cfg(feature = "tls")]
            tls,
            up: Mutex::default(),
            changes: tokio::sync::Mutex::default(),
        };
        for _ in 0..nodes {
            cluster.add_node().await?;
        }
        Ok(cluster)
    }

    /// `host:port` of the first listener of each node that is up, with commas between, for `bootstrap.servers` of clients; one entry of
    /// `ClientConfig::bootstrap` of `milena-client` can hold it.
    pub fn bootstrap(&self) -> String {
        self.bootstrap_by(0)
    }

    /// The same for another listener; `None` when there is none of this name.
    pub fn bootstrap_of(&self, listener: &str) -> Option<String> {
        let index = self.state.listeners.iter().position(|found| found.name == listener)?;
        Some(self.bootstrap_by(index))
    }

    fn bootstrap_by(&self, listener: usize) -> String {
        let all: Vec<String> = self.state.alive().iter().map(|node| node.endpoint_of(listener).to_string()).collect();
        all.join(",")
    }

    /// The certificates of the listeners with TLS; `None` when there is no such listener.
    #[cfg(feature = "tls")]
    pub fn tls(&self) -> Option<&BrokerTls> {
        self.tls.as_ref()
    }

    /// Id of the cluster.
    pub fn cluster_id(&self) -> &str {
        &self.state.cluster_id
    }

    /// Ids of all nodes, up or not.
    pub fn node_ids(&self) -> Vec<i32> {
        self.state.nodes().iter().map(|node| node.id).collect()
    }

    /// The address that the first listener of a node has; `None` when the node is not up.
    pub fn address(&self, node: i32) -> Option<SocketAddr> {
        self.up().get(&node).and_then(|up| up.addresses.first().copied())
    }

    /// The node that is the controller; `None` while no node is up.
    pub fn controller(&self) -> Option<i32> {
        Some(self.state.controller()).filter(|node| *node != NO_LEADER)
    }

    /// The node that leads a partition; `None` when none does, or there is no such partition.
    pub fn leader(&self, topic: &str, partition: i32) -> Option<i32> {
        let partition = self.state.topic(TopicRef::Name(topic))?.partition(partition)?;
        Some(partition.leadership().leader).filter(|node| *node != NO_LEADER)
    }

    /// All ACLs, sorted by type and name of their resources; none without an authorizer.
    ///
    /// ```
    /// use milena_broker::{AclConfig, BrokerCluster, BrokerConfig, ClusterConfig};
    ///
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let broker = BrokerConfig { acls: Some(AclConfig::default()), ..BrokerConfig::default() };
    /// let cluster = BrokerCluster::start(ClusterConfig { nodes: 1, broker, ..ClusterConfig::default() }).await?;
    /// let acl = "allow User:alice read topic:letters".parse()?;
    /// cluster.add_acl(&acl)?;
    /// assert_eq!(cluster.acls(), [acl.clone()]);
    /// assert!(cluster.remove_acl(&acl));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn acls(&self) -> Vec<Acl> {
        self.state.authorizer.as_ref().map(Authorizer::all).unwrap_or_default()
    }

    /// Adds an ACL; one that is there already stays once.
    ///
    /// # Errors
    /// There is no authorizer, as [`BrokerConfig::acls`](crate::BrokerConfig::acls) is `None`; there are too many ACLs.
    pub fn add_acl(&self, acl: &Acl) -> Result<(), BrokerError> {
        let disabled = || Refusal::new(ErrorCode::SECURITY_DISABLED, "No Authorizer is configured.");
        let authorizer = self.state.authorizer.as_ref().ok_or_else(disabled);
        authorizer
            .and_then(|authorizer| authorizer.add(vec![acl.clone()]))
            .map_err(|refusal| refused(refusal.code, refusal.message.into_owned()))
    }

    /// Deletes an ACL; false when it was not there.
    pub fn remove_acl(&self, acl: &Acl) -> bool {
        self.state.authorizer.as_ref().is_some_and(|authorizer| authorizer.remove(acl))
    }

    /// Creates a topic.
    ///
    /// # Errors
    /// The name is no topic name or is in use; there would be no partition, or too many; there are fewer nodes than
    /// replicas.
    pub fn create_topic(&self, name: &str, partitions: i32, replication_factor: i16) -> Result<(), BrokerError> {
        self.create_topic_with(name, partitions, replication_factor, &[])
    }

    /// Creates a topic with settings of its own, such as `("cleanup.policy", "compact")`.
    ///
    /// # Errors
    /// As [`create_topic`](Self::create_topic); there is no such setting, or it does not take the value.
    pub fn create_topic_with(
        &self,
        name: &str,
        partitions: i32,
        replication_factor: i16,
        settings: &[(&str, &str)],
    ) -> Result<(), BrokerError> {
        let max_partitions = self.state.config.max_partitions;
        if usize::try_from(partitions).map_or(true, |count| count == 0 || count > max_partitions) {
            let message =
                format!("topic '{name}' cannot have {partitions} partitions; 1 to {max_partitions} are possible");
            return Err(refused(ErrorCode::INVALID_PARTITIONS, message));
        }
        let create = || {
            let config = self.state.topic_config(settings.iter().map(|(key, value)| (*key, Some(*value))))?;
            let replicas = self.state.place(partitions, replication_factor)?;
            self.state.create_topic(name, replicas, config, false)
        };
        create().map(|_| ()).map_err(|refusal| refused(refusal.code, refusal.message.into_owned()))
    }

    /// Deletes a topic with its records.
    ///
    /// # Errors
    /// There is no such topic, or it is one of a coordinator.
    pub fn delete_topic(&self, name: &str) -> Result<(), BrokerError> {
        if self.state.topic(TopicRef::Name(name)).is_some_and(|topic| topic.is_internal()) {
            return Err(refused(ErrorCode::INVALID_TOPIC_EXCEPTION, format!("{name} is a topic of coordinators")));
        }
        match self.state.delete_topic(TopicRef::Name(name)) {
            Some(_) => Ok(()),
            None => Err(refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, format!("there is no topic {name}"))),
        }
    }

    /// Appends records to a partition as one batch, and gives the offset of the first one: data to begin a test with.
    /// Records without a timestamp get the time of the cluster's clock.
    ///
    /// # Errors
    /// There is no such partition, or nobody leads it; there are no records, or a producer could not write them: they are
    /// too large for one batch of this topic, or lack the key that a compacted topic needs.
    pub fn append(&self, topic: &str, partition: i32, records: &[Record]) -> Result<i64, BrokerError> {
        let unknown = || refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, format!("there is no {topic}-{partition}"));
        let found = self.state.topic(TopicRef::Name(topic)).ok_or_else(unknown)?;
        let log = found.partition(partition).ok_or_else(unknown)?;
        let now_ms = self.state.now_ms();
        let stamped = records.iter().map(|record| Record {
            timestamp: if record.timestamp < 0 { now_ms } else { record.timestamp },
            ..record.clone()
        });
        let stamped: Vec<Record> = stamped.collect();
        let encoded =
            encode(&stamped, Codec::None).map_err(|error| refused(ErrorCode::INVALID_RECORD, error.to_string()))?;
        let mut cost = Cost::full(encoded.len());
        let batches = incoming::check(Some(encoded), OWN_PRODUCE_VERSION, &found.config(), now_ms, &mut cost);
        let mut batches =
            batches.map_err(|rejected| refused(rejected.refusal.code, rejected.refusal.message.into_owned()))?;
        let Some(batch) = batches.pop() else {
            return Err(refused(ErrorCode::INVALID_RECORD, "a batch needs at least one record".to_owned()));
        };
        self.state.make_room(batch.bytes.len() as u64);
        let leader = log.leadership().leader;
        if leader == NO_LEADER {
            return Err(refused(ErrorCode::LEADER_NOT_AVAILABLE, format!("no node leads {topic}-{partition}")));
        }
        let appended = log.append(leader, batch, now_ms);
        Ok(appended.map_err(|refusal| refused(refusal.code, refusal.message.into_owned()))?.base_offset)
    }

    /// Makes another replica the leader of a partition, with the next leader epoch.
    ///
    /// # Errors
    /// There is no such partition; the node has no replica of it, is not in sync, or is not up.
    pub fn move_leader(&self, topic: &str, partition: i32, node: i32) -> Result<(), BrokerError> {
        let found = self.state.topic(TopicRef::Name(topic)).and_then(|topic| topic.partition(partition));
        let unknown = || refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, format!("there is no {topic}-{partition}"));
        let found = found.ok_or_else(unknown)?;
        self.check_alive(node)?;
        let led = found.elect(|leadership| leadership.lead(node));
        led.map_err(|code| refused(code, format!("node {node} cannot lead {topic}-{partition}")))
    }

    /// Makes a node the coordinator of a group or a transactional id.
    ///
    /// A coordinator leads the partition of an internal topic, so that other groups move with this one. A node without a
    /// replica of that partition gets one.
    ///
    /// # Errors
    /// The node is unknown or not up.
    pub fn move_coordinator(&self, of: Coordinated<'_>, node: i32) -> Result<(), BrokerError> {
        self.check_alive(node)?;
        let partition = self.coordinator_partition(of)?;
        let replicas = partition.leadership().replicas;
        if !replicas.contains(&node) {
            let mut replicas = replicas;
            replicas.pop();
            replicas.insert(0, node);
            let moved = self.state.reassign(&partition, &replicas, true);
            moved.map_err(|refusal| refused(refusal.code, refusal.message.into_owned()))?;
        }
        let led = partition.elect(|leadership| leadership.lead(node));
        led.map_err(|code| refused(code, format!("node {node} cannot be the coordinator")))
    }

    /// The node that coordinates a group or a transactional id; `None` while no node can.
    ///
    /// # Errors
    /// The internal topic cannot be created.
    pub fn coordinator(&self, of: Coordinated<'_>) -> Result<Option<i32>, BrokerError> {
        let leader = self.coordinator_partition(of)?.leadership().leader;
        Ok(Some(leader).filter(|node| *node != NO_LEADER))
    }

    fn coordinator_partition(&self, of: Coordinated<'_>) -> Result<Arc<Partition>, BrokerError> {
        let found = match of {
            Coordinated::Group(id) => self.state.groups.partition(&self.state, id),
            Coordinated::Transaction(id) => self.state.transactions.partition(&self.state, id),
        };
        let (_, partition) = found.map_err(|code| refused(code, "there is no coordinator".to_owned()))?;
        Ok(partition)
    }

    fn check_alive(&self, node: i32) -> Result<(), BrokerError> {
        match self.state.node(node) {
            Some(found) if found.is_alive() => Ok(()),
            _ => Err(self.not_up(node)),
        }
    }

    /// Cuts the end of a partition off, as an unclean election does: records from this offset on are gone, and the next
    /// leader epoch begins there (KIP-320). Clients that read further learn of it.
    ///
    /// # Errors
    /// There is no such partition.
    pub fn truncate(&self, topic: &str, partition: i32, offset: i64) -> Result<(), BrokerError> {
        let found = self.state.topic(TopicRef::Name(topic)).and_then(|topic| topic.partition(partition));
        let unknown = || refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, format!("there is no {topic}-{partition}"));
        found.ok_or_else(unknown)?.truncate(offset, self.state.now_ms());
        Ok(())
    }

    /// Moves a [virtual clock](BrokerConfig::virtual_clock) forward. What is due meanwhile has happened when this returns:
    /// sessions end, rebalances go on, transactions are aborted, old segments are deleted, logs are compacted.
    ///
    /// # Errors
    /// The cluster runs by the clock of the system.
    pub fn advance(&self, by: Duration) -> Result<(), BrokerError> {
        let Clock::Virtual(clock) = &self.state.clock else {
            let reason = "the cluster runs by the clock of the system";
            return Err(BrokerError::Config { setting: "virtual_clock", value: "None".to_owned(), reason });
        };
        let by_ms = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        let until = self.state.now_ms().saturating_add(by_ms);
        let (groups, transactions) = (&self.state.groups, &self.state.transactions);
        loop {
            let shares = self.state.share_leaders.next_deadline();
            let next = [groups.next_deadline(), transactions.next_deadline(), shares, self.state.upkeep_deadline()];
            let next = next.into_iter().flatten().min();
            let next = next.filter(|time| *time <= until);
            clock.set(next.unwrap_or(until));
            groups.tick_due(&self.state);
            transactions.tick_due(&self.state);
            self.state.share_tick_due();
            self.state.upkeep_due();
            if next.is_none() {
                return Ok(());
            }
        }
    }

    /// What the clock of the cluster shows, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.state.now_ms()
    }

    /// The last requests that the nodes received, oldest first. See [`Broker::requests`](crate::Broker::requests).
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.state.received.all()
    }

    /// Waits until this is true of a request that the nodes received, and gives that request. Each request is passed once,
    /// in the order of arrival: first those that [`requests`](Self::requests) has, then each new one. See
    /// [`Broker::wait_until`](crate::Broker::wait_until).
    ///
    /// # Errors
    /// [`BrokerError::Timeout`] when there was no such request within the time.
    pub async fn wait_until(
        &self,
        wanted: impl FnMut(&ReceivedRequest) -> bool,
        within: Duration,
    ) -> Result<ReceivedRequest, BrokerError> {
        self.state.received.wait_until(wanted, within).await
    }

    /// What the cluster holds now: nodes, topics with their partitions, groups with their members, transactions.
    pub fn state(&self) -> ClusterState {
        self.state.snapshot()
    }

    /// The fault rules, to add and remove while clients work.
    pub fn faults(&self) -> &BrokerFaults {
        &self.state.faults
    }

    /// Stops all nodes. They accept no more connections; a request that waits for records is dropped, others get their
    /// response; after a second all connections are closed. The ports are free when this returns.
    pub async fn shutdown(self) {
        let all = std::mem::take(&mut *self.up());
        for up in all.values() {
            up.stop.send_replace(true);
        }
        for mut up in all.into_values() {
            ended(&mut up.tasks).await;
        }
        let state = self.state;
        // It waits for the disk.
        if tokio::task::spawn_blocking(move || state.close_folder()).await.is_err() {
            tracing::error!("the data folder was not closed");
        }
    }

    /// Waits until all that was done so far is in the files of the [data folder](crate::BrokerConfig::data_dir). Clients need
    /// no such call: their responses wait for it. Without a data folder it returns at once.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub async fn flush(&self) -> Result<(), BrokerError> {
        match self.state.disk.get() {
            None => Ok(()),
            Some(disk) => disk.settled().await.map_err(|message| refused(ErrorCode::KAFKA_STORAGE_ERROR, message)),
        }
    }

    /// Why nothing can be done with a node that is not up.
    fn not_up(&self, node: i32) -> BrokerError {
        let reason = match self.state.node(node) {
            Some(found) if found.is_isolated() => "it is isolated",
            Some(_) => "it is not up",
            None => "there is no such node",
        };
        BrokerError::Node { node, reason }
    }

    fn listen(&self, node: Arc<Node>, sockets: Sockets) {
        let addresses = sockets.addresses();
        node.set_ports(addresses.iter().map(SocketAddr::port).collect());
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        for (index, socket) in sockets.into_iter().enumerate() {
            let (listener, address, endpoint) = (&self.state.listeners[index].name, socket.address, &socket.endpoint);
            tracing::info!(node = node.id, %listener, %address, advertised = %endpoint, "broker started");
            let network =
                self.config.broker.network.as_ref().filter(|_| !self.state.listeners[index].protocol.is_tls());
            let memory = network.map(|network| network.listen(&endpoint.to_string()));
            let here = (self.state.clone(), node.clone());
            tasks.spawn(listen(socket.socket, memory, index, here, stopped.clone()));
        }
        self.up().insert(node.id, Up { addresses, stop, tasks });
    }

    fn take(&self, node: i32) -> Result<Up, BrokerError> {
        let up = self.up().remove(&node).ok_or_else(|| self.not_up(node))?;
        if let Some(node) = self.state.node(node) {
            node.set_isolated(false);
        }
        Ok(up)
    }

    /// A node that has a listener.
    fn running(&self, node: i32) -> Result<Arc<Node>, BrokerError> {
        match self.state.node(node) {
            Some(found) if self.address(node).is_some() => Ok(found),
            _ => Err(self.not_up(node)),
        }
    }

    fn up(&self) -> MutexGuard<'_, BTreeMap<i32, Up>> {
        self.up.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a log folder, on a thread that may wait for the disk.
async fn read(folder: Option<&PathBuf>, repair: bool) -> Result<Option<Saved>, BrokerError> {
    let Some(folder) = folder.cloned() else { return Ok(None) };
    let path = folder.clone();
    let loaded = tokio::task::spawn_blocking(move || {
        if !repair && !path.is_dir() {
            return Err(std::io::Error::new(std::io::ErrorKind::NotFound, "there is no such folder"));
        }
        load(&path, repair)
    });
    let loaded = loaded.await.map_err(std::io::Error::other).and_then(|loaded| loaded);
    loaded.map(Some).map_err(|source| BrokerError::Folder { folder, source })
}

fn refused(code: ErrorCode, message: String) -> BrokerError {
    BrokerError::Refused { code, message }
}

/// Waits for the listeners of a node. They end by themselves, or were ended with their runtime.
async fn ended(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}

/// Makes the certificates, if a listener needs them.
#[cfg(feature = "tls")]
fn tls(config: &BrokerConfig, state: &State) -> Result<Option<BrokerTls>, BrokerError> {
    if !state.listeners.iter().any(|listener| listener.protocol.is_tls()) {
        return Ok(None);
    }
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let hosts = state.listeners.iter().flat_map(|listener| [&listener.host, &listener.advertised_host]);
    names.extend(hosts.flatten().chain(&config.security.certificate_names).cloned());
    names.sort_unstable();
    names.dedup();
    let tls = BrokerTls::new(&config.security, names)?;
    let server = ServerTls::new(tls.server()).map_err(|error| BrokerError::Tls(error.to_string()))?;
    // The state is new.
    let _ = state.tls.set(server);
    Ok(Some(tls))
}
