//! The topics that there are, and how they are found.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use milena_messages::{ByteString, ErrorCode, Uuid};

use crate::cluster::topic_config::TopicConfig;
use crate::cluster::topic_name;
use crate::refusal::Refusal;
use crate::storage::partition::Partition;

/// A topic with its partitions.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: ByteString,
    pub(crate) id: Uuid,
    config: RwLock<Arc<TopicConfig>>,
    partitions: RwLock<Vec<Arc<Partition>>>,
}

impl Topic {
    pub(crate) fn new(name: ByteString, id: Uuid, config: Arc<TopicConfig>, partitions: Vec<Arc<Partition>>) -> Self {
        Self { name, id, config: RwLock::new(config), partitions: RwLock::new(partitions) }
    }

    /// Whether the topic is one that coordinators write.
    pub(crate) fn is_internal(&self) -> bool {
        is_internal(&self.name)
    }

    pub(crate) fn config(&self) -> Arc<TopicConfig> {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the settings; with `validate_only` only checks whether they could be changed.
    ///
    /// # Errors
    /// `change` refuses.
    pub(crate) fn alter_config(
        &self,
        validate_only: bool,
        change: impl FnOnce(&TopicConfig) -> Result<TopicConfig, Refusal>,
    ) -> Result<(), Refusal> {
        let mut config = self.config.write().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&config)?;
        if !validate_only {
            *config = Arc::new(changed);
            self.read().iter().for_each(|partition| partition.configure(config.clone()));
        }
        Ok(())
    }

    pub(crate) fn partition(&self, index: i32) -> Option<Arc<Partition>> {
        self.read().get(usize::try_from(index).ok()?).cloned()
    }

    /// All partitions in their order.
    pub(crate) fn partitions(&self) -> Vec<Arc<Partition>> {
        self.read().clone()
    }

    pub(crate) fn partition_count(&self) -> usize {
        self.read().len()
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<Arc<Partition>>> {
        self.partitions.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The topics that coordinators write. Kafka calls the first two internal; clients see its flag of them.
const INTERNAL: &[&str] = &["__consumer_offsets", "__transaction_state", "__share_group_state"];

/// Whether topics of this name are for coordinators, even when there is none.
pub(crate) fn is_internal(name: &str) -> bool {
    INTERNAL.contains(&name)
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
pub(crate) struct Topics {
    by_name: BTreeMap<ByteString, Arc<Topic>>,
    by_id: HashMap<Uuid, Arc<Topic>>,
    /// The name by what metrics make of it: two names must not become one there.
    by_metric: HashMap<String, ByteString>,
    partitions: usize,
    /// Grows with each topic that comes, goes, or gets partitions.
    version: i64,
}

impl Topics {
    pub(crate) fn find(&self, topic: TopicRef<'_>) -> Option<&Arc<Topic>> {
        match topic {
            TopicRef::Name(name) => self.by_name.get(name),
            TopicRef::Id(id) => self.by_id.get(&id),
        }
    }

    /// A number that grows with each topic that comes, goes, or gets partitions.
    pub(crate) fn version(&self) -> i64 {
        self.version
    }

    /// The number of topics.
    pub(crate) fn count(&self) -> usize {
        self.by_name.len()
    }

    /// The names of all topics.
    pub(crate) fn names(&self) -> Vec<ByteString> {
        self.by_name.keys().cloned().collect()
    }

    /// All topics by name.
    pub(crate) fn all(&self) -> Vec<Arc<Topic>> {
        self.by_name.values().cloned().collect()
    }

    /// Checks whether a topic can be created, in a time that does not grow with the number of topics.
    ///
    /// # Errors
    /// The name is no topic name, is in use, or looks like another one in metrics; there would be too many partitions.
    pub(crate) fn check(&self, name: &str, partitions: usize, max_partitions: usize) -> Result<(), Refusal> {
        topic_name::check(name)?;
        if self.by_name.contains_key(name) {
            return Err(Refusal::new(ErrorCode::TOPIC_ALREADY_EXISTS, format!("Topic '{name}' already exists.")));
        }
        if let Some(other) = self.by_metric.get(&topic_name::in_metrics(name)) {
            let message = format!("Topic '{name}' collides with existing topic: {other}");
            return Err(Refusal::new(ErrorCode::INVALID_TOPIC_EXCEPTION, message));
        }
        self.check_more(name, partitions, max_partitions)
    }

    /// Checks whether a topic may have that many partitions more.
    ///
    /// # Errors
    /// There would be too many.
    pub(crate) fn check_more(&self, name: &str, partitions: usize, max_partitions: usize) -> Result<(), Refusal> {
        if self.partitions.saturating_add(partitions) > max_partitions {
            let message = format!(
                "This broker has {} partitions of at most {max_partitions}; topic '{name}' would add {partitions}.",
                self.partitions
            );
            return Err(Refusal::new(ErrorCode::POLICY_VIOLATION, message));
        }
        Ok(())
    }

    /// Adds a topic that was checked.
    pub(crate) fn insert(&mut self, topic: Arc<Topic>) {
        self.version += 1;
        self.partitions += topic.partition_count();
        self.by_metric.insert(topic_name::in_metrics(&topic.name), topic.name.clone());
        self.by_id.insert(topic.id, topic.clone());
        self.by_name.insert(topic.name.clone(), topic);
    }

    /// Adds partitions to a topic that is here.
    pub(crate) fn grow(&mut self, topic: &Topic, partitions: Vec<Arc<Partition>>) {
        self.version += 1;
        self.partitions += partitions.len();
        topic.partitions.write().unwrap_or_else(PoisonError::into_inner).extend(partitions);
    }

    /// Takes a topic out; `None` when it is not there.
    pub(crate) fn remove(&mut self, topic: TopicRef<'_>) -> Option<Arc<Topic>> {
        let topic = self.find(topic)?.clone();
        self.version += 1;
        self.partitions -= topic.partition_count();
        self.by_metric.remove(&topic_name::in_metrics(&topic.name));
        self.by_id.remove(&topic.id);
        self.by_name.remove(&topic.name);
        Some(topic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str, id: u8, partitions: usize) -> Arc<Topic> {
        let config = Arc::new(TopicConfig::new([], 1).unwrap());
        let partitions = (0..partitions).map(|_| Arc::default()).collect();
        Arc::new(Topic::new(name.into(), Uuid::from_bytes([id; 16]), config, partitions))
    }

    #[test]
    fn names_that_are_one_in_metrics_collide_until_the_topic_is_gone() {
        let mut topics = Topics::default();
        topics.insert(topic("a.b", 1, 1));
        let code = |topics: &Topics, name| topics.check(name, 1, 10).map_err(|refusal| refusal.code);
        assert_eq!(code(&topics, "a_b"), Err(ErrorCode::INVALID_TOPIC_EXCEPTION));
        assert_eq!(code(&topics, "a.b"), Err(ErrorCode::TOPIC_ALREADY_EXISTS));
        assert_eq!(code(&topics, "a-b"), Ok(()));
        topics.remove(TopicRef::Name("a.b")).unwrap();
        assert_eq!(code(&topics, "a_b"), Ok(()));
        assert!(topics.find(TopicRef::Id(Uuid::from_bytes([1; 16]))).is_none());
    }

    #[test]
    fn partitions_are_counted_over_all_topics() {
        let mut topics = Topics::default();
        topics.insert(topic("a", 1, 6));
        assert_eq!(topics.check("b", 5, 10).unwrap_err().code, ErrorCode::POLICY_VIOLATION);
        assert_eq!(topics.check("b", 4, 10), Ok(()));
        assert_eq!(topics.check("b", usize::MAX, 10).unwrap_err().code, ErrorCode::POLICY_VIOLATION);
        topics.remove(TopicRef::Id(Uuid::from_bytes([1; 16]))).unwrap();
        assert_eq!(topics.check("b", 10, 10), Ok(()));
    }
}
