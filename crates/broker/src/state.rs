use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use milena_messages::{ByteString, ErrorCode, Uuid};

use crate::config::BrokerConfig;
use crate::partition::Partition;
use crate::refusal::Refusal;
use crate::topic_config::TopicConfig;
use crate::topic_name;

/// Of every partition: the one node that could lead never changes.
pub(crate) const LEADER_EPOCH: i32 = 0;

/// A topic with its partitions.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: ByteString,
    pub(crate) id: Uuid,
    pub(crate) config: TopicConfig,
    pub(crate) partitions: Vec<Partition>,
}

impl Topic {
    pub(crate) fn partition(&self, index: i32) -> Option<&Partition> {
        self.partitions.get(usize::try_from(index).ok()?)
    }
}

/// How a request names a topic: Kafka went from names to ids (KIP-516).
#[derive(Clone, Copy, Debug)]
pub(crate) enum TopicRef<'a> {
    Name(&'a str),
    Id(Uuid),
}

impl TopicRef<'_> {
    /// The code for a topic that is not there.
    pub(crate) fn unknown(self) -> ErrorCode {
        match self {
            Self::Name(_) => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            Self::Id(_) => ErrorCode::UNKNOWN_TOPIC_ID,
        }
    }
}

#[derive(Debug, Default)]
struct Topics {
    by_name: BTreeMap<ByteString, Arc<Topic>>,
    by_id: HashMap<Uuid, Arc<Topic>>,
}

/// All that the connections share.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) config: BrokerConfig,
    pub(crate) cluster_id: ByteString,
    /// Where clients are told to connect to.
    pub(crate) host: ByteString,
    pub(crate) port: u16,
    topics: RwLock<Topics>,
    next_producer_id: AtomicI64,
}

impl State {
    pub(crate) fn new(config: BrokerConfig, host: &str, port: u16) -> Self {
        let cluster_id = config.cluster_id.clone().unwrap_or_else(|| random_uuid().to_string());
        Self {
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
        let topics = self.topics.read().unwrap_or_else(PoisonError::into_inner);
        match topic {
            TopicRef::Name(name) => topics.by_name.get(name).cloned(),
            TopicRef::Id(id) => topics.by_id.get(&id).cloned(),
        }
    }

    /// All topics by name.
    pub(crate) fn topics(&self) -> Vec<Arc<Topic>> {
        self.topics.read().unwrap_or_else(PoisonError::into_inner).by_name.values().cloned().collect()
    }

    /// The settings of a topic for which these were given.
    pub(crate) fn topic_config<'a>(
        &self,
        pairs: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Result<TopicConfig, Refusal> {
        TopicConfig::new(pairs, self.config.max_message_bytes)
    }

    /// Creates a topic; with `validate_only` only says whether that would go well.
    ///
    /// # Errors
    /// The name is no topic name, is in use, or cannot be told apart from one that is.
    pub(crate) fn create_topic(
        &self,
        name: &str,
        partitions: i32,
        config: TopicConfig,
        validate_only: bool,
    ) -> Result<Arc<Topic>, Refusal> {
        topic_name::check(name)?;
        let mut topics = self.topics.write().unwrap_or_else(PoisonError::into_inner);
        if topics.by_name.contains_key(name) {
            return Err(Refusal::new(ErrorCode::TOPIC_ALREADY_EXISTS, format!("Topic '{name}' already exists.")));
        }
        if let Some(other) = topics.by_name.keys().find(|other| topic_name::collide(name, other)) {
            let message = format!("Topic '{name}' collides with existing topic: {other}");
            return Err(Refusal::new(ErrorCode::INVALID_TOPIC_EXCEPTION, message));
        }
        let count = if validate_only { 0 } else { partitions };
        let topic = Arc::new(Topic {
            // A copy: the name that came in is a part of its request, which should not be kept for it.
            name: name.to_owned().into(),
            id: random_uuid(),
            config,
            partitions: (0..count).map(|_| Partition::default()).collect(),
        });
        if !validate_only {
            topics.by_name.insert(topic.name.clone(), topic.clone());
            topics.by_id.insert(topic.id, topic.clone());
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
        let topic = {
            let mut topics = self.topics.write().unwrap_or_else(PoisonError::into_inner);
            let topic = match topic {
                TopicRef::Name(name) => topics.by_name.get(name),
                TopicRef::Id(id) => topics.by_id.get(&id),
            }?
            .clone();
            topics.by_name.remove(&topic.name);
            topics.by_id.remove(&topic.id);
            topic
        };
        topic.partitions.iter().for_each(Partition::wake);
        Some(topic)
    }
}

/// A random id as Kafka makes them: version 4, and never with a dash in front, which command lines would take for an
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
