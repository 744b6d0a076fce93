//! Topics and their settings, as records of Kafka's metadata log.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use milena_messages::{
    ConfigRecord, Int32s, Message, PartitionRecord, ProducerIdsRecord, RemoveTopicRecord, TopicRecord, TypedRecord,
    Uuid,
};
use milena_records::Record;
use milena_wire::varint;

/// Kafka's type of resource for topics.
const TOPIC: i8 = 2;
/// The version of the frame around each record.
const FRAME: u64 = 1;

/// Something that changes.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Topic(TopicRecord),
    Partition(PartitionRecord),
    Config(ConfigRecord),
    RemoveTopic(RemoveTopicRecord),
    ProducerIds(ProducerIdsRecord),
}

impl Change {
    /// A topic with its partitions and all its settings.
    pub(crate) fn topic(id: Uuid, topic: &SavedTopic) -> Vec<Self> {
        let mut all =
            vec![Self::Topic(TopicRecord { name: topic.name.clone().into(), topic_id: id, ..Default::default() })];
        all.extend((0..).zip(&topic.replicas).map(|(index, replicas)| Self::partition(id, index, replicas)));
        all.extend(topic.settings.iter().map(|(name, value)| Self::setting(&topic.name, name, Some(value))));
        all
    }

    /// The replicas of a partition. Leader and epoch are not kept here: the epoch is in the folder of the partition.
    pub(crate) fn partition(topic_id: Uuid, partition_id: i32, replicas: &[i32]) -> Self {
        Self::Partition(PartitionRecord {
            partition_id,
            topic_id,
            replicas: Int32s::from_slice(replicas),
            isr: Int32s::from_slice(replicas),
            leader: replicas.first().copied().unwrap_or(-1),
            ..Default::default()
        })
    }

    /// A setting of a topic; without a value it is removed.
    pub(crate) fn setting(topic: &str, name: &str, value: Option<&str>) -> Self {
        Self::Config(ConfigRecord {
            resource_type: TOPIC,
            resource_name: topic.to_owned().into(),
            name: name.to_owned().into(),
            value: value.map(|value| value.to_owned().into()),
            ..Default::default()
        })
    }

    /// A topic is gone.
    pub(crate) fn remove(topic_id: Uuid) -> Self {
        Self::RemoveTopic(RemoveTopicRecord { topic_id, ..Default::default() })
    }

    /// Producer ids below this one are given out.
    pub(crate) fn producer_ids(next_producer_id: i64) -> Self {
        Self::ProducerIds(ProducerIdsRecord { next_producer_id, ..Default::default() })
    }

    /// The record in the log.
    ///
    /// # Errors
    /// A name that no record can hold.
    pub(super) fn to_record(&self, timestamp: i64) -> milena_wire::Result<Record> {
        let value = match self {
            Self::Topic(record) => framed(record),
            Self::Partition(record) => framed(record),
            Self::Config(record) => framed(record),
            Self::RemoveTopic(record) => framed(record),
            Self::ProducerIds(record) => framed(record),
        };
        Ok(Record { timestamp, value: Some(value?), ..Record::default() })
    }
}

/// Kafka writes the type and the version of a record in front of it, as varints.
fn framed<T: TypedRecord>(record: &T) -> milena_wire::Result<Bytes> {
    let version = 0;
    let mut all = Vec::new();
    varint::write_u64(&mut all, FRAME);
    varint::write_u64(&mut all, T::TYPE as u64);
    varint::write_u64(&mut all, version as u64);
    let mut bytes = BytesMut::from(&all[..]);
    bytes.extend_from_slice(&record.to_bytes(version)?);
    Ok(bytes.freeze())
}

/// What a metadata log says of a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SavedTopic {
    pub(crate) name: String,
    /// Of each partition.
    pub(crate) replicas: Vec<Vec<i32>>,
    pub(crate) settings: BTreeMap<String, String>,
}

/// What a metadata log says.
#[derive(Clone, Debug, Default)]
pub(super) struct Metadata {
    pub(super) topics: BTreeMap<Uuid, SavedTopic>,
    pub(super) next_producer_id: i64,
}

impl Metadata {
    /// Applies a record. Those that this broker does not keep are left out.
    ///
    /// # Errors
    /// The record cannot be read.
    pub(super) fn replay(&mut self, value: &Bytes) -> Result<(), String> {
        let mut rest = value.clone();
        let mut number = || {
            let (number, size) = varint::read_u64(&rest).ok_or("a metadata record is cut off")?;
            rest = rest.slice(size..);
            Ok::<_, String>(number)
        };
        let (frame, kind, version) = (number()?, number()? as i16, number()? as i16);
        if frame != FRAME {
            return Err(format!("a metadata record has frame version {frame}, there is {FRAME}"));
        }
        let failed = |error: milena_wire::Error| error.to_string();
        match kind {
            TopicRecord::TYPE => {
                let record = TopicRecord::from_bytes(rest, version).map_err(failed)?;
                let topic = SavedTopic { name: record.name.to_string(), ..SavedTopic::default() };
                self.topics.insert(record.topic_id, topic);
            }
            PartitionRecord::TYPE => {
                let record = PartitionRecord::from_bytes(rest, version).map_err(failed)?;
                let index = usize::try_from(record.partition_id).map_err(|error| error.to_string())?;
                if let Some(topic) = self.topics.get_mut(&record.topic_id) {
                    if index >= topic.replicas.len() {
                        topic.replicas.resize(index + 1, Vec::new());
                    }
                    topic.replicas[index] = record.replicas.to_vec();
                }
            }
            ConfigRecord::TYPE => {
                let record = ConfigRecord::from_bytes(rest, version).map_err(failed)?;
                let topic = self.topics.values_mut().find(|topic| topic.name == *record.resource_name);
                if let Some(topic) = topic.filter(|_| record.resource_type == TOPIC) {
                    let name = record.name.to_string();
                    match record.value {
                        Some(value) => _ = topic.settings.insert(name, value.to_string()),
                        None => _ = topic.settings.remove(&name),
                    }
                }
            }
            RemoveTopicRecord::TYPE => {
                let record = RemoveTopicRecord::from_bytes(rest, version).map_err(failed)?;
                self.topics.remove(&record.topic_id);
            }
            ProducerIdsRecord::TYPE => {
                let record = ProducerIdsRecord::from_bytes(rest, version).map_err(failed)?;
                self.next_producer_id = record.next_producer_id;
            }
            _ => {}
        }
        Ok(())
    }
}
