use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use milena_messages::metadata::request::MetadataRequestTopic;
use milena_messages::{ApiKey, ByteString, ErrorCode, MetadataRequest};
use milena_transport::{Address, first_of};
use tokio::time::{Instant, timeout_at};

use super::cache::Cache;
use super::cluster::{Cluster, Topic};
use crate::error::{Error, Origin, Result};
use crate::net::{Endpoint, Failure, Link, Pool, RECONNECTS};
use crate::timing::{Limit, rounded};

/// A Metadata response.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) address: Arc<str>,
    pub(crate) cluster: Cluster,
}

/// The cache of metadata, and how it is refreshed: callers that miss something at the same time share one request, and an
/// attempt that failed moves the next request to another broker.
#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) cache: Cache,
    bootstrap: Vec<Endpoint>,
    rotation: Mutex<Rotation>,
    wanted: Mutex<Wanted>,
    /// Held during a request; the last one that was done for others.
    gate: tokio::sync::Mutex<Option<Done>>,
}

#[derive(Debug, Default)]
struct Rotation {
    last: Option<Arc<str>>,
    advance: bool,
}

#[derive(Debug, Default)]
struct Wanted {
    /// Number of the next request.
    next: u64,
    topics: BTreeSet<String>,
}

#[derive(Debug)]
struct Done {
    number: u64,
    topics: BTreeSet<String>,
    result: Result<Arc<Snapshot>>,
}

impl Metadata {
    pub(crate) fn new(bootstrap: Vec<Address>) -> Self {
        let endpoint = |address| Endpoint { address, origin: Origin::Configured };
        Self {
            cache: Cache::default(),
            bootstrap: bootstrap.into_iter().map(endpoint).collect(),
            rotation: Mutex::default(),
            wanted: Mutex::default(),
            gate: tokio::sync::Mutex::default(),
        }
    }

    /// An attempt failed: the next question about the cluster goes to another broker.
    pub(crate) fn rotate(&self) {
        self.rotation.lock().unwrap_or_else(PoisonError::into_inner).advance = true;
    }

    /// Known brokers and bootstrap addresses, beginning with the one to ask.
    fn candidates(&self) -> Vec<Endpoint> {
        let mut all = self.cache.brokers();
        for endpoint in &self.bootstrap {
            if all.iter().all(|known| known.address.text() != endpoint.address.text()) {
                all.push(endpoint.clone());
            }
        }
        let mut rotation = self.rotation.lock().unwrap_or_else(PoisonError::into_inner);
        let position = rotation.last.as_ref().and_then(|last| all.iter().position(|one| one.address.text() == last));
        let first = position.unwrap_or(0) + usize::from(std::mem::take(&mut rotation.advance) && position.is_some());
        let count = all.len().max(1);
        all.rotate_left(first % count);
        all
    }

    /// A connection to the broker that is to be asked, or to the next one that can be reached.
    pub(crate) async fn any_link(&self, pool: &Arc<Pool>, deadline: Instant) -> Result<Link> {
        let candidates = self.candidates();
        let open = candidates.first().and_then(|first| pool.open_link(&first.address));
        let link = match open {
            Some(link) => link,
            None => {
                let attempts = candidates.into_iter().map(|endpoint| {
                    let pool = Arc::clone(pool);
                    async move { pool.link(&endpoint, deadline).await }
                });
                first_of(attempts).await.map_err(unreachable)?
            }
        };
        self.rotation.lock().unwrap_or_else(PoisonError::into_inner).last = Some(Arc::clone(link.address()));
        Ok(link)
    }

    /// Refreshes what is known of some topics, and of the brokers. Callers that come while a request is under way share
    /// the next one. Also gives the time for which a broker asked to wait.
    pub(crate) async fn refresh(
        &self,
        pool: &Arc<Pool>,
        topics: &[&str],
        limit: Limit,
    ) -> (Result<Arc<Snapshot>>, Duration) {
        let names = || topics.iter().map(|&topic| topic.to_owned());
        let ticket = {
            let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            wanted.topics.extend(names());
            wanted.next
        };
        let asked = Instant::now();
        let Ok(mut gate) = timeout_at(limit.deadline, self.gate.lock()).await else {
            let last = self.rotation.lock().unwrap_or_else(PoisonError::into_inner).last.clone();
            let (address, after) = (last.unwrap_or_else(|| "the cluster".into()), rounded(asked.elapsed()));
            let error = Error::Timeout { address, api: ApiKey::METADATA, after, sent: false };
            return (Err(error), Duration::ZERO);
        };
        if let Some(done) = gate.as_ref().filter(|done| done.number >= ticket) {
            if topics.iter().all(|&topic| done.topics.contains(topic)) {
                return (done.result.clone(), Duration::ZERO);
            }
        }
        let (number, topics) = {
            let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            wanted.topics.extend(names());
            wanted.next += 1;
            (wanted.next - 1, std::mem::take(&mut wanted.topics))
        };
        let list: Vec<&str> = topics.iter().map(String::as_str).collect();
        let (result, muted) = self.fetch(pool, Some(&list), limit).await;
        *gate = Some(Done { number, topics, result: result.clone() });
        (result, muted)
    }

    /// Asks some broker once, and keeps what it says. All topics with `None`.
    pub(crate) async fn fetch(
        &self,
        pool: &Arc<Pool>,
        topics: Option<&[&str]>,
        limit: Limit,
    ) -> (Result<Arc<Snapshot>>, Duration) {
        let mut muted = Duration::ZERO;
        let result = self.fetch_once(pool, topics, limit, &mut muted).await;
        if result.is_err() {
            self.rotate();
        }
        (result.map(Arc::new), muted)
    }

    async fn fetch_once(
        &self,
        pool: &Arc<Pool>,
        topics: Option<&[&str]>,
        limit: Limit,
        muted: &mut Duration,
    ) -> Result<Snapshot> {
        let mut left = RECONNECTS;
        let (link, response) = loop {
            let link = self.any_link(pool, limit.deadline).await?;
            let version = link.version_of(ApiKey::METADATA)?;
            let sent = link.call(request(topics, version), version, limit).await;
            *muted += sent.muted;
            match sent.result {
                Ok(response) => break (link, response.unwrap_or_default()),
                Err(Failure::Error(error)) => return Err(error),
                Err(Failure::NotSent) if left == 0 => return Err(link.not_sent(ApiKey::METADATA)),
                // The connection is no longer open, so that the next one is another.
                Err(Failure::NotSent) => left -= 1,
            }
        };
        let address = Arc::clone(link.address());
        if !response.error_code.is_none() {
            let (api, code) = (ApiKey::METADATA, response.error_code);
            return Err(Error::Broker { address, api, code, topic: None, partition: None, message: None });
        }
        let mut cluster = Cluster::from(response);
        self.cache.learn(&cluster, topics.is_none());
        // Before version 1 no topic cannot be asked for, and gives all.
        if topics.is_some_and(<[&str]>::is_empty) {
            cluster.topics.clear();
        }
        Ok(Snapshot { address, cluster })
    }
}

fn unreachable(mut errors: Vec<Error>) -> Error {
    match errors.pop() {
        Some(only) if errors.is_empty() => only,
        Some(last) => {
            errors.push(last);
            Error::Unreachable(errors)
        }
        None => Error::Unreachable(errors),
    }
}

impl Snapshot {
    /// The code that stands for a topic: its own, or that it is missing.
    pub(crate) fn topic_code(&self, topic: &str) -> ErrorCode {
        self.cluster.topic(topic).map_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, |topic| topic.error)
    }

    /// The topic, if it exists.
    pub(crate) fn found(&self, topic: &str) -> Result<Topic> {
        match (self.cluster.topic(topic), self.topic_code(topic)) {
            (Some(found), ErrorCode::NONE) => Ok(found.clone()),
            (_, code) => Err(self.error(code, topic, None)),
        }
    }

    /// Why a partition cannot be routed to, after this response.
    pub(crate) fn no_leader(&self, topic: &str, partition: i32) -> Error {
        let known = match self.found(topic) {
            Ok(topic) => topic.partitions,
            Err(error) => return error,
        };
        match known.iter().any(|known| known.index == partition) {
            true => Error::NoLeader { topic: topic.into(), partition },
            false => Error::NoSuchPartition { topic: topic.into(), partition, count: known.len() },
        }
    }

    /// What is wrong with a topic or partition.
    pub(crate) fn error(&self, code: ErrorCode, topic: &str, partition: Option<i32>) -> Error {
        let (address, api) = (Arc::clone(&self.address), ApiKey::METADATA);
        Error::Broker { address, api, code, topic: Some(topic.into()), partition, message: None }
    }
}

fn request(topics: Option<&[&str]>, version: i16) -> MetadataRequest {
    let topic = |name: &&str| MetadataRequestTopic { name: Some(ByteString::from(*name)), ..Default::default() };
    let topics = topics.map(|topics| topics.iter().map(topic).collect());
    MetadataRequest {
        topics: if version == 0 { Some(topics.unwrap_or_default()) } else { topics },
        // Before version 4 only the broker decides.
        allow_auto_topic_creation: version < 4,
        ..Default::default()
    }
}
