use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use milena_messages::{ByteString, ErrorCode, Uuid};

use crate::config::BrokerConfig;
use crate::partition::Partition;
use crate::received::Received;
use crate::refusal::Refusal;
use crate::topic_config::TopicConfig;
use crate::topics::Topics;
pub(crate) use crate::topics::{Topic, TopicRef};
use crate::unsent::Unsent;
use crate::work::Workers;

/// All that the connections share.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) config: BrokerConfig,
    pub(crate) cluster_id: ByteString,
    /// Where clients are told to connect to.
    pub(crate) host: ByteString,
    pub(crate) port: u16,
    /// The requests received last.
    pub(crate) received: Received,
    /// The responses that clients have not read yet.
    pub(crate) unsent: Unsent,
    pub(crate) workers: Workers,
    topics: RwLock<Topics>,
    next_producer_id: AtomicI64,
}

impl State {
    pub(crate) fn new(config: BrokerConfig, host: &str, port: u16) -> Self {
        let cluster_id = config.cluster_id.clone().unwrap_or_else(|| random_uuid().to_string());
        Self {
            received: Received::new(config.requests_kept, config.request_bytes_kept),
            unsent: Unsent::default(),
            workers: Workers::default(),
            config,
            cluster_id: cluster_id.into(),
            host: host.into(),
            port,
            topics: RwLock::default(),
            next_producer_id: AtomicI64::new(0),
        }
    }

    pub(crate) fn node_id(&self) -> i32 {
        self.config.node_id
    }

    pub(crate) fn rack(&self) -> Option<ByteString> {
        self.config.rack.as_deref().map(Into::into)
    }

    /// Milliseconds since 1970.
    pub(crate) fn now_ms(&self) -> i64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
    }

    /// An id that no producer had before.
    pub(crate) fn new_producer_id(&self) -> i64 {
        self.next_producer_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn topic(&self, topic: TopicRef<'_>) -> Option<Arc<Topic>> {
        self.topics.read().unwrap_or_else(PoisonError::into_inner).find(topic).cloned()
    }

    /// All topics by name.
    pub(crate) fn topics(&self) -> Vec<Arc<Topic>> {
        self.topics.read().unwrap_or_else(PoisonError::into_inner).all()
    }

    /// The settings of a topic for which these were given.
    pub(crate) fn topic_config<'a>(
        &self,
        pairs: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Result<TopicConfig, Refusal> {
        TopicConfig::new(pairs, self.config.max_message_bytes)
    }

    /// Creates a topic; with `validate_only` only checks whether it could be created.
    ///
    /// # Errors
    /// As [`Topics::check`].
    pub(crate) fn create_topic(
        &self,
        name: &str,
        partitions: i32,
        config: TopicConfig,
        validate_only: bool,
    ) -> Result<Arc<Topic>, Refusal> {
        let mut topics = self.topics.write().unwrap_or_else(PoisonError::into_inner);
        let count = usize::try_from(partitions).unwrap_or(0);
        topics.check(name, count, self.config.max_partitions)?;
        let count = if validate_only { 0 } else { count };
        let topic = Arc::new(Topic {
            // A copy: the name that came in is a part of its request, which should not be kept for it.
            name: name.to_owned().into(),
            id: random_uuid(),
            config,
            partitions: (0..count).map(|_| Partition::default()).collect(),
        });
        if !validate_only {
            topics.insert(topic.clone());
        }
        Ok(topic)
    }

    /// Creates a topic because somebody asked for it.
    pub(crate) fn auto_create(&self, name: &str) -> Result<Arc<Topic>, Refusal> {
        let config = self.topic_config([])?;
        match self.create_topic(name, self.config.default_partitions, config, false) {
            // Another connection was faster.
            Err(refusal) if refusal.code == ErrorCode::TOPIC_ALREADY_EXISTS => {
                self.topic(TopicRef::Name(name)).ok_or(refusal)
            }
            other => other,
        }
    }

    /// Deletes a topic; `None` when it is not there.
    pub(crate) fn delete_topic(&self, topic: TopicRef<'_>) -> Option<Arc<Topic>> {
        let topic = self.topics.write().unwrap_or_else(PoisonError::into_inner).remove(topic)?;
        topic.partitions.iter().for_each(Partition::wake);
        Some(topic)
    }
}

/// A random id as Kafka makes them: version 4, and never with a leading dash, which command lines would take for an
/// option.
fn random_uuid() -> Uuid {
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
