use std::ops::Range;
use std::path::PathBuf;

use milena_messages::storage::producer_snapshot::ProducerEntry;
use milena_records::{Batch, RecordRef};
use serde_json::Value;

use super::fault::Fault;
use super::index::IndexEntry;
use super::name::{FileName, PartitionName};
use super::snapshot::Producers;
use super::text::{EpochEntry, OffsetOf};
use super::verify::Verified;
use crate::topic::TopicRecord;

/// A file that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    /// What its name says.
    pub name: FileName,
    /// The partition that it is of, by its folder.
    pub partition: Option<PartitionName>,
    /// Its bytes.
    pub size: u64,
}

/// One thing that was read, in the order of the files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Item<'a> {
    /// A file begins.
    File(&'a File),
    /// A batch; its records follow.
    Batch {
        /// The batch; its place is that in the file.
        batch: &'a Batch,
        /// Whether its checksum is right.
        crc_valid: bool,
    },
    /// A record of the last batch.
    Record {
        /// The batch.
        batch: &'a Batch,
        /// The record.
        record: &'a RecordRef<'a>,
        /// What it says, in one of Kafka's own topics.
        decoded: Option<&'a TopicRecord>,
    },
    /// What is not as it should be.
    Fault(&'a Fault),
    /// Zeros up to the end of the file: room that a broker has set aside.
    Zeros(Range<u64>),
    /// A batch that is cut off at the end of the file, as a broker may leave it when it is killed.
    CutOff {
        /// What is there.
        range: Range<u64>,
        /// Bytes that the whole batch takes, when enough is there to say.
        expected: Option<u64>,
    },
    /// An entry of an index.
    Index {
        /// Its bytes in the file.
        range: Range<u64>,
        /// The entry.
        entry: IndexEntry,
    },
    /// The head of a snapshot of producers, which follow.
    Producers(&'a Producers),
    /// A producer.
    Producer(&'a ProducerEntry),
    /// A line of a checkpoint of leader epochs.
    Epoch(EpochEntry),
    /// A line of a checkpoint of offsets.
    Offset(&'a OffsetOf),
    /// A line of `meta.properties` or `partition.metadata`.
    Property {
        /// The name.
        name: &'a str,
        /// The value.
        value: &'a str,
    },
    /// What stands in a `quorum-state`.
    QuorumState(&'a Value),
    /// A file was held against the others of its folder; its faults stand in front.
    Verified(&'a Verified),
}
