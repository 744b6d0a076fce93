//! What keeps logs small, on demand.

use milena_messages::ErrorCode;

use crate::cluster::TopicRef;
use crate::cluster::running::{BrokerCluster, refused};
use crate::error::BrokerError;

impl BrokerCluster {
    /// Deletes the segments that the settings of their topics do not keep, as Kafka does every few minutes: those before the
    /// first offset in any topic, and where `cleanup.policy` has `delete`, the oldest ones above `retention.bytes` and those
    /// whose records are all older than `retention.ms`. The first offset of the partition moves with them. Gives how many
    /// segments were deleted.
    pub fn apply_retention(&self) -> usize {
        self.state.apply_retention()
    }

    /// Compacts the topics whose `cleanup.policy` has `compact`, as Kafka's cleaner does, whatever
    /// `min.cleanable.dirty.ratio` says: of the records with the same key the last one stays. The segment that is written to,
    /// open transactions and records younger than `min.compaction.lag.ms` stay as they are;
    /// [`roll_segments`](Self::roll_segments) begins a new segment. Tombstones stay for `delete.retention.ms` after the first
    /// pass that sees them, and go in a later one. Gives how many partitions were compacted.
    pub fn compact(&self) -> usize {
        self.state.compact(true)
    }

    /// Begins a new segment in each partition of a topic, whatever `segment.bytes` and `segment.ms` say, so that the records
    /// so far can be deleted or compacted: compaction leaves the segment alone that is written to.
    ///
    /// # Errors
    /// There is no such topic.
    pub fn roll_segments(&self, topic: &str) -> Result<(), BrokerError> {
        let found = self.state.topic(TopicRef::Name(topic));
        let unknown = || refused(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, format!("there is no topic {topic}"));
        found.ok_or_else(unknown)?.partitions().iter().for_each(|partition| _ = partition.roll());
        Ok(())
    }
}
