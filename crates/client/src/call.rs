//! Routing, retries, throttling, invalidation and the deadline of every call, in one place.

use std::sync::Arc;
use std::time::Duration;

use milena_messages::{ApiKey, ErrorCode, Request};
use milena_transport::Address;
use tokio::time::{Instant, sleep};

use crate::coordinator::{CoordinatorKind, coordinator_link};
use crate::core::Core;
use crate::error::{Error, Origin, Result};
use crate::metadata::{Leader, Lookup, Snapshot};
use crate::net::{Endpoint, Failure, Link, RECONNECTS};
use crate::timing::{Attempts, Limit};

/// Which broker a request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// Any broker.
    Any,
    /// The broker with that node id.
    Node(i32),
    /// The controller. With KRaft some broker that passes requests on.
    Controller,
    /// The leader of a partition.
    Leader {
        /// The topic.
        topic: String,
        /// The partition.
        partition: i32,
    },
    /// The coordinator of a group, a transactional id or a share partition, found with FindCoordinator. It is looked up
    /// once, and again after a response with NOT_COORDINATOR or COORDINATOR_NOT_AVAILABLE or a lost connection.
    Coordinator {
        /// What the key names.
        kind: CoordinatorKind,
        /// The group id or transactional id; for a share partition `group:topicId:partition`.
        key: String,
    },
    /// The broker at that `host:port`, whether or not the cluster names it.
    Address(String),
}

impl From<i32> for Target {
    fn from(node: i32) -> Self {
        Self::Node(node)
    }
}

/// Where a request goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Route<'a> {
    Target(&'a Target),
    At(&'a Endpoint),
}

/// A response, and where it came from.
#[derive(Debug)]
pub(crate) struct Reply<T> {
    pub(crate) address: Arc<str>,
    pub(crate) version: i16,
    pub(crate) throttle: Duration,
    /// `None` for a request that expects no response.
    pub(crate) body: Option<T>,
}

/// What an error code is about.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Subject<'a> {
    pub(crate) topic: Option<&'a str>,
    pub(crate) partition: Option<i32>,
    pub(crate) message: Option<&'a str>,
}

impl<'a> Subject<'a> {
    pub(crate) fn partition(topic: &'a str, partition: i32) -> Self {
        Self { topic: Some(topic), partition: Some(partition), message: None }
    }
}

impl<T> Reply<T> {
    /// The error that stands for a code in this response.
    pub(crate) fn error(&self, api: ApiKey, code: ErrorCode, subject: Subject<'_>) -> Error {
        Error::Broker {
            address: Arc::clone(&self.address),
            api,
            code,
            topic: subject.topic.map(Arc::from),
            partition: subject.partition,
            message: subject.message.map(str::to_owned),
        }
    }
}

/// An address that a caller wrote.
pub(crate) fn configured(text: &str) -> Result<Address> {
    Address::parse(text).map_err(|error| Error::Invalid(error.to_string()))
}

/// One call of the caller: one or more attempts until it succeeds, fails for good, or runs out of time.
///
/// ```text
/// loop {
///     let result = one_attempt(&mut operation).await;
///     if let Some(value) = operation.settle(result).await? { return Ok(value) }
/// }
/// ```
#[derive(Debug)]
pub(crate) struct Operation<'a> {
    core: &'a Core,
    topic: Option<&'a str>,
    /// Whether to try again although the broker may have acted on the request.
    repeats_unsure: bool,
    pub(crate) attempts: Attempts,
}

impl<'a> Operation<'a> {
    /// An operation that may be repeated, whatever became of an attempt.
    pub(crate) fn new(core: &'a Core) -> Self {
        Self { core, topic: None, repeats_unsure: true, attempts: Attempts::new(&core.config) }
    }

    /// What it is about: its leaders are looked up again after an error that shows that they moved.
    pub(crate) fn about(mut self, topic: &'a str) -> Self {
        self.topic = Some(topic);
        self
    }

    /// Gives up when the broker may have acted on the request.
    pub(crate) fn once_if_unsure(mut self) -> Self {
        self.repeats_unsure = false;
        self
    }

    /// Waits for a missing leader no longer than for an unknown topic.
    pub(crate) fn with_leader_grace(mut self) -> Self {
        self.attempts = self.attempts.with_leader_grace();
        self
    }

    /// Ends an attempt: gives its value, or waits until the next attempt.
    ///
    /// # Errors
    /// The error, when it does not pass or the time is over.
    pub(crate) async fn settle<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        let error = match result {
            Ok(value) => return Ok(Some(value)),
            Err(error) => error,
        };
        invalidate(self.core, &error, self.topic);
        if !self.repeats_unsure && error.possibly_written() {
            return Err(error);
        }
        let observer = self.core.config.observer.as_ref();
        let shown = observer.map(|_| error.clone());
        let pause = self.attempts.next_pause(error)?;
        if let (Some(observer), Some(error)) = (observer, shown) {
            observer.retrying(&error, pause);
        }
        sleep(pause).await;
        Ok(None)
    }

    /// Sends a request once.
    pub(crate) async fn send<R>(
        &mut self,
        route: Route<'_>,
        version: impl Fn(&Link) -> Result<i16>,
        make: impl Fn(&Link, i16) -> Result<R>,
    ) -> Result<Reply<R::Response>>
    where
        R: Request + Send + 'static,
        R::Response: Send,
    {
        self.send_waiting(route, Duration::ZERO, version, make).await
    }

    /// Sends a request once, to a broker that may take some time on top of the time for a response.
    pub(crate) async fn send_waiting<R>(
        &mut self,
        route: Route<'_>,
        wait: Duration,
        version: impl Fn(&Link) -> Result<i16>,
        make: impl Fn(&Link, i16) -> Result<R>,
    ) -> Result<Reply<R::Response>>
    where
        R: Request + Send + 'static,
        R::Response: Send,
    {
        let mut limit = self.attempts.limit();
        limit.timeout += wait;
        limit.deadline += wait;
        let (result, muted) = send_once(self.core, route, limit, version, make).await;
        self.attempts.extend(muted);
        result
    }

    /// The leader of a partition: as far as it is known, else looked up once.
    ///
    /// # Errors
    /// No such partition, at once; no leader; the topic's error.
    pub(crate) async fn leader(&mut self, topic: &str, partition: i32) -> Result<Leader> {
        match self.core.metadata.cache.look_up(topic, partition) {
            Lookup::Leader(leader) => return Ok(leader),
            Lookup::NoPartition(count) if partition < 0 => {
                return Err(Error::NoSuchPartition { topic: topic.into(), partition, count });
            }
            _ => {}
        }
        let snapshot = self.refresh(&[topic]).await?;
        match self.core.metadata.cache.look_up(topic, partition) {
            Lookup::Leader(leader) => Ok(leader),
            Lookup::Unknown | Lookup::NoPartition(_) | Lookup::NoLeader => Err(snapshot.no_leader(topic, partition)),
        }
    }

    /// Refreshes what is known of topics, together with other callers.
    pub(crate) async fn refresh(&mut self, topics: &[&str]) -> Result<Arc<Snapshot>> {
        let (result, muted) = self.core.metadata.refresh(&self.core.pool, topics, self.attempts.limit()).await;
        self.attempts.extend(muted);
        result
    }

    /// Asks for metadata, for this caller alone.
    pub(crate) async fn fetch_metadata(&mut self, topics: Option<&[&str]>) -> Result<Arc<Snapshot>> {
        let (result, muted) = self.core.metadata.fetch(&self.core.pool, topics, self.attempts.limit()).await;
        self.attempts.extend(muted);
        result
    }
}

/// Forgets what an error shows to be out of date.
pub(crate) fn invalidate(core: &Core, error: &Error, topic: Option<&str>) {
    let (moved, unknown) = (error.needs_refresh(), error.is_unknown_topic());
    if let Some(topic) = topic.filter(|_| moved || unknown) {
        core.metadata.cache.doubt_topic(topic);
    }
    if moved {
        core.metadata.cache.forget_controller();
    }
    if moved || unknown {
        core.metadata.rotate();
    }
}

/// Sends a request once, to the broker that the route leads to. A connection that ends before a byte of the request was
/// written is replaced. Also gives the time for which brokers asked to wait.
pub(crate) async fn send_once<R>(
    core: &Core,
    route: Route<'_>,
    limit: Limit,
    version: impl Fn(&Link) -> Result<i16>,
    make: impl Fn(&Link, i16) -> Result<R>,
) -> (Result<Reply<R::Response>>, Duration)
where
    R: Request + Send + 'static,
    R::Response: Send,
{
    let (mut muted, mut left) = (Duration::ZERO, RECONNECTS);
    loop {
        let prepared = async {
            let link = link_to(core, route, limit).await?;
            let version = version(&link)?;
            let request = make(&link, version)?;
            Ok((link, version, request))
        };
        let (link, version, request) = match prepared.await {
            Ok(prepared) => prepared,
            Err(error) => return (Err(error), muted),
        };
        let address = Arc::clone(link.address());
        let sent = link.call(request, version, Limit { deadline: limit.deadline + muted, ..limit }).await;
        muted += sent.muted;
        let result = match sent.result {
            Ok(body) => Ok(Reply { address, version, throttle: sent.throttle, body }),
            Err(Failure::Error(error)) => Err(error),
            Err(Failure::NotSent) if left > 0 && Instant::now() < limit.deadline + muted => {
                left -= 1;
                continue;
            }
            Err(Failure::NotSent) => Err(link.not_sent(R::API_KEY)),
        };
        return (result, muted);
    }
}

/// A connection to a broker, opened when there is none.
pub(crate) async fn link_to(core: &Core, route: Route<'_>, limit: Limit) -> Result<Link> {
    let deadline = limit.deadline;
    let target = match route {
        Route::At(endpoint) => return core.pool.link(endpoint, deadline).await,
        Route::Target(target) => target,
    };
    let (cache, pool) = (&core.metadata.cache, &core.pool);
    match target {
        Target::Any => core.metadata.any_link(pool, deadline).await,
        Target::Address(text) => {
            let endpoint = Endpoint { address: configured(text)?, origin: Origin::Configured };
            pool.link(&endpoint, deadline).await
        }
        Target::Coordinator { kind, key } => coordinator_link(core, *kind, key, limit).await,
        Target::Leader { topic, partition } => {
            let mut operation = Operation::new(core);
            operation.attempts.end_at(deadline);
            let leader = operation.leader(topic, *partition).await?;
            pool.link(&leader.endpoint, deadline).await
        }
        Target::Node(id) => {
            if cache.broker(*id).is_none() {
                core.metadata.refresh(pool, &[], limit).await.0?;
            }
            match cache.broker(*id) {
                Some(endpoint) => pool.link(&endpoint, deadline).await,
                None => Err(Error::Invalid(format!("the cluster has no broker with node id {id}"))),
            }
        }
        Target::Controller => {
            if cache.controller().is_none() {
                core.metadata.refresh(pool, &[], limit).await.0?;
            }
            match cache.controller() {
                Some(endpoint) => pool.link(&endpoint, deadline).await,
                // Before 0.10 no response names it.
                None => core.metadata.any_link(pool, deadline).await,
            }
        }
    }
}
