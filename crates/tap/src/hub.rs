//! Listeners: one to begin with, and one for each broker that a response names.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener as StdListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use milena_connection::fault::{Action, Decision, Faults, Random, RequestInfo, Statistic};
use milena_fault::Sessions;
use milena_messages::ApiKey;
use milena_transport::{Address, DialError, Stream, dial, first_of};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::timeout;

use crate::cap::Caps;
use crate::config::TapConfig;
use crate::event::{Event, Queue};
use crate::limit;
use crate::relay::Relay;

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) config: TapConfig,
    pub(crate) caps: Caps,
    faults: Option<Mutex<Injector>>,
    /// What is known of the sessions of each broker, when a rule needs it.
    sessions: Option<Mutex<HashMap<Address, Sessions>>>,
    /// Names of topics by their ids, when a rule names topics.
    topic_names: Option<Mutex<HashMap<String, String>>>,
    /// Requests of which was said that an error has no place in their responses.
    placeless: Mutex<HashSet<(ApiKey, i16)>>,
    pub(crate) queue: Option<Queue>,
    brokers: Mutex<Brokers>,
    connections: AtomicU64,
    permits: Arc<Semaphore>,
    pub(crate) stop: watch::Receiver<bool>,
    /// Dropped with the last task; that is how the end of all is noticed.
    alive: mpsc::Sender<()>,
}

/// Topics whose names are remembered.
const MAX_TOPICS: usize = 100_000;

/// The rules with what they need.
#[derive(Debug)]
struct Injector {
    faults: Faults,
    random: Random,
}

impl Injector {
    fn decide(&mut self, request: &RequestInfo<'_>) -> Option<Decision> {
        let Self { faults, random } = self;
        faults.decide(request, &mut || random.next_u64())
    }
}

#[derive(Debug, Default)]
struct Brokers {
    listeners: HashMap<Address, SocketAddr>,
    /// Where the tap listens. A cluster that advertises one of these already points its clients here.
    own: Vec<SocketAddr>,
    /// Hosts that were found to be this one, whatever they are called.
    own_hosts: HashSet<String>,
    /// The last port tried.
    port: u16,
    warned: bool,
}

/// Whether an address is one of those where the tap listens.
fn is_among(own: &[SocketAddr], address: SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    own.iter().any(|own| {
        own.port() == address.port() && (own.ip() == ip || (own.ip().is_unspecified() && is_of_this_host(ip)))
    })
}

/// Only addresses of this host can be bound.
fn is_of_this_host(ip: IpAddr) -> bool {
    StdListener::bind((ip, 0)).is_ok()
}

/// Which brokers a listener stands in for.
#[derive(Clone, Debug)]
pub(crate) enum Upstream {
    /// The one whose clients are sent to this listener.
    Broker(Address),
    /// Any of those to ask first.
    Bootstrap,
}

impl Hub {
    /// Opens the first listener.
    pub(crate) fn start(
        config: TapConfig,
        queue: Option<Queue>,
        stop: watch::Receiver<bool>,
        alive: mpsc::Sender<()>,
    ) -> io::Result<(Arc<Self>, SocketAddr)> {
        let listener = StdListener::bind((config.host.as_str(), config.port))?;
        let address = listener.local_addr()?;
        let faults: Faults = config.faults.iter().cloned().collect();
        let watches_sessions = config.faults.iter().any(|rule| {
            let apis = rule.apis();
            (matches!(rule.action(), Action::Error(_)) || rule.scope().names_partitions())
                && (apis.is_empty() || apis.iter().any(|api| Sessions::is_about(*api)))
        });
        let watches_topics = config.faults.iter().any(|rule| rule.scope().names_partitions());
        // Without a seed of its own, each run takes another.
        let seed = config.fault_seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
        let mut brokers = Brokers { port: config.port, ..Brokers::default() };
        brokers.own.push(address);
        if let [only] = config.bootstrap.as_slice() {
            brokers.listeners.insert(only.clone(), address);
        }
        let max_connections = config.max_connections.unwrap_or_else(limit::connections);
        let hub = Arc::new(Self {
            caps: config.caps.iter().cloned().collect(),
            faults: (!faults.is_empty()).then(|| Mutex::new(Injector { faults, random: Random::seeded(seed) })),
            sessions: watches_sessions.then(Mutex::default),
            topic_names: watches_topics.then(Mutex::default),
            placeless: Mutex::default(),
            queue,
            brokers: Mutex::new(brokers),
            connections: AtomicU64::new(0),
            permits: Arc::new(Semaphore::new(max_connections)),
            stop,
            alive,
            config,
        });
        hub.listen(listener, Upstream::Bootstrap)?;
        Ok((hub, address))
    }

    fn listen(self: &Arc<Self>, listener: StdListener, upstream: Upstream) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        tokio::spawn(Arc::clone(self).accept(listener, upstream));
        Ok(())
    }

    async fn accept(self: Arc<Self>, listener: TcpListener, upstream: Upstream) {
        let _alive = self.alive.clone();
        let mut stop = self.stop.clone();
        loop {
            let accepted = tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return,
                accepted = listener.accept() => accepted,
            };
            match (accepted, Arc::clone(&self.permits).try_acquire_owned()) {
                (Ok((socket, client)), Ok(permit)) => {
                    let (hub, upstream, alive) = (Arc::clone(&self), upstream.clone(), self.alive.clone());
                    tokio::spawn(async move {
                        hub.serve(socket, client, upstream).await;
                        drop((permit, alive));
                    });
                }
                (Ok((_, client)), Err(_)) => self.warn(format!("{client} is refused: too many connections")),
                (Err(error), _) => {
                    // Such as no more file descriptors: it passes, but not within microseconds.
                    self.warn(format!("cannot take a connection: {error}"));
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    async fn serve(self: Arc<Self>, socket: TcpStream, client: SocketAddr, upstream: Upstream) {
        let connection = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        let mut stop = self.stop.clone();
        let why = tokio::select! {
            _ = stop.wait_for(|stop| *stop) => None,
            why = self.relay(connection, socket, client, upstream) => why,
        };
        self.tell(Event::Closed { connection, why });
    }

    async fn relay(
        self: &Arc<Self>,
        connection: u64,
        socket: TcpStream,
        client: SocketAddr,
        upstream: Upstream,
    ) -> Option<String> {
        // Frames are whole when they are written: holding back their last bytes would only delay them.
        let _ = socket.set_nodelay(true);
        let reached = socket.local_addr().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |address| address.ip());
        match timeout(self.config.connect_timeout, self.dial(upstream)).await {
            Err(_) => Some(format!("no broker took the connection within {:?}", self.config.connect_timeout)),
            Ok(Err(why)) => Some(why),
            Ok(Ok((broker, stream))) => {
                self.tell(Event::Opened { connection, client, broker: broker.clone() });
                Relay::new(Arc::clone(self), connection, client, reached, broker).run(socket, stream).await
            }
        }
    }

    /// Connects to a broker, or to the first of those to ask first that takes a connection.
    pub(crate) async fn dial(&self, upstream: Upstream) -> Result<(Address, Stream), String> {
        let addresses = match upstream {
            Upstream::Broker(address) => vec![address],
            Upstream::Bootstrap => self.config.bootstrap.clone(),
        };
        let own = self.brokers().own.clone();
        let attempts = addresses.into_iter().map(|address| {
            let (tls, own) = (self.config.tls.clone(), own.clone());
            async move {
                let failed = |error: DialError| format!("cannot connect to {address}: {}", milena_wire::Report(&error));
                let stream = dial(&address, tls.as_ref()).await.map_err(failed)?;
                match stream.tcp().peer_addr() {
                    Ok(peer) if is_among(&own, peer) => Err(itself(&address)),
                    _ => Ok((address.clone(), stream)),
                }
            }
        });
        first_of(attempts).await.map_err(|errors| errors.join("; "))
    }

    /// Where clients reach a broker by way of the tap. Opens a listener when there is none. `None` when there is no need, or
    /// no way.
    pub(crate) fn local(self: &Arc<Self>, host: &str, port: i32, reached: IpAddr) -> Option<(String, u16)> {
        let broker = Address::new(host, port).ok()?;
        let mut brokers = self.brokers();
        if self.is_own(&brokers, &broker) {
            return None;
        }
        let at = match brokers.listeners.get(&broker) {
            Some(at) => *at,
            None => match self.open(&mut brokers, &broker) {
                Ok(at) => {
                    brokers.listeners.insert(broker.clone(), at);
                    brokers.own.push(at);
                    self.tell(Event::Listening { broker, at });
                    at
                }
                Err(why) => {
                    if !std::mem::replace(&mut brokers.warned, true) {
                        self.warn(format!("no listener for {broker}, clients will go there by themselves: {why}"));
                    }
                    return None;
                }
            },
        };
        Some((self.host(reached), at.port()))
    }

    /// Whether a broker is advertised at an address where the tap listens. Names are not looked up here.
    fn is_own(&self, brokers: &Brokers, broker: &Address) -> bool {
        let (host, port) = (broker.host(), broker.port());
        if !brokers.own.iter().any(|own| own.port() == port) {
            return false;
        }
        let ips = match host.parse::<IpAddr>() {
            Ok(ip) => vec![ip],
            Err(_) if host == "localhost" => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            Err(_) => Vec::new(),
        };
        host == self.config.host
            || self.config.advertised_host.as_deref() == Some(host)
            || brokers.own_hosts.contains(host)
            || ips.into_iter().any(|ip| is_among(&brokers.own, SocketAddr::new(ip, port)))
    }

    /// The same, with names looked up. What is found is remembered.
    pub(crate) async fn advertises_us(&self, broker: &Address) -> bool {
        if self.is_own(&self.brokers(), broker) {
            return true;
        }
        let Ok(addresses) = tokio::net::lookup_host((broker.host(), broker.port())).await else { return false };
        let mut brokers = self.brokers();
        let own = addresses.into_iter().any(|address| is_among(&brokers.own, address));
        if own {
            brokers.own_hosts.insert(broker.host().to_owned());
        }
        own
    }

    /// The host that clients get.
    fn host(&self, reached: IpAddr) -> String {
        match &self.config.advertised_host {
            Some(host) => host.clone(),
            None if self.config.host.parse().is_ok_and(|ip: IpAddr| ip.is_unspecified()) => {
                reached.to_canonical().to_string()
            }
            None => self.config.host.clone(),
        }
    }

    fn open(self: &Arc<Self>, brokers: &mut Brokers, broker: &Address) -> Result<SocketAddr, String> {
        if brokers.listeners.len() >= self.config.max_brokers {
            return Err(format!("{} brokers have one", brokers.listeners.len()));
        }
        let listener = self.next_listener(brokers).map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        self.listen(listener, Upstream::Broker(broker.clone())).map_err(|error| error.to_string())?;
        Ok(address)
    }

    /// On the next free port above, or on any.
    fn next_listener(&self, brokers: &mut Brokers) -> io::Result<StdListener> {
        let host = self.config.host.as_str();
        while brokers.port != 0 {
            brokers.port = brokers.port.checked_add(1).unwrap_or(0);
            match StdListener::bind((host, brokers.port)) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                bound if brokers.port != 0 => return bound,
                _ => {}
            }
        }
        StdListener::bind((host, 0))
    }

    fn brokers(&self) -> MutexGuard<'_, Brokers> {
        lock(&self.brokers)
    }

    /// What goes wrong with a request on purpose.
    pub(crate) fn fault(&self, request: &RequestInfo<'_>) -> Option<Decision> {
        lock(self.faults.as_ref()?).decide(request)
    }

    /// The rules with their counts.
    pub(crate) fn fault_statistics(&self) -> Vec<Statistic> {
        self.faults.as_ref().map_or_else(Vec::new, |faults| lock(faults).faults.statistics().cloned().collect())
    }

    /// Does something with the sessions of a broker, when they are watched.
    pub(crate) fn with_sessions<T>(&self, broker: &Address, act: impl FnOnce(&mut Sessions) -> T) -> Option<T> {
        let mut all = lock(self.sessions.as_ref()?);
        if !all.contains_key(broker) {
            all.insert(broker.clone(), Sessions::default());
        }
        all.get_mut(broker).map(act)
    }

    /// Whether a rule names topics, so that names have to be known for ids.
    pub(crate) fn watches_topics(&self) -> bool {
        self.topic_names.is_some()
    }

    /// Notes the names of topics by their ids.
    pub(crate) fn learn_topics(&self, topics: impl IntoIterator<Item = (String, String)>) {
        if let Some(names) = &self.topic_names {
            let mut names = lock(names);
            for (id, name) in topics {
                if names.len() < MAX_TOPICS || names.contains_key(&id) {
                    names.insert(id, name);
                }
            }
        }
    }

    /// The name of a topic whose id was in a Metadata response.
    pub(crate) fn topic_name(&self, id: &str) -> Option<String> {
        lock(self.topic_names.as_ref()?).get(id).cloned()
    }

    /// Says once for each version of an API that an error found no place in a response.
    pub(crate) fn no_place(&self, api: ApiKey, version: i16, why: &str) {
        if lock(&self.placeless).insert((api, version)) {
            self.warn(format!("no error for {api} version {version}: {why}; the response passes unchanged"));
        }
    }

    pub(crate) fn tell(&self, event: Event) {
        match &event {
            Event::Listening { broker, at } => tracing::info!(%broker, %at, "listening for a broker"),
            Event::Opened { connection, client, broker } => tracing::debug!(connection, %client, %broker, "connected"),
            Event::Closed { connection, why: Some(why) } => tracing::warn!(connection, why, "connection closed"),
            Event::Closed { connection, why: None } => tracing::debug!(connection, "disconnected"),
            Event::Warning(what) => tracing::warn!("{what}"),
            Event::Exchange(_) => {}
        }
        if let Some(queue) = &self.queue {
            queue.put(event, None);
        }
    }

    pub(crate) fn warn(&self, what: String) {
        self.tell(Event::Warning(what));
    }
}

/// Why a connection to an address would go in circles.
pub(crate) fn itself(address: &Address) -> String {
    format!("{address} is where this tap listens, so that it would connect to itself; let it listen at another port")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
