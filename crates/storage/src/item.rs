use std::ops::Range;

use bytes::Bytes;
use milena_messages::storage::producer_snapshot::ProducerEntry;
use milena_records::{Batch, RecordRef};

use crate::checkpoint::{EpochEntry, OffsetOf};
use crate::fault::Fault;
use crate::folder::File;
use crate::index::IndexEntry;
use crate::snapshot::Producers;

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
    },
    /// Something that is not as Kafka writes it.
    Fault(&'a Fault),
    /// Zeros up to the end of the file: space that a broker has preallocated.
    Zeros(Range<u64>),
    /// A batch that is cut off at the end of the file, as a broker may leave it when it is killed.
    CutOff {
        /// The bytes that are there.
        range: Range<u64>,
        /// Size of the whole batch, if enough of it is there to tell.
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
    /// The content of a `quorum-state`, which is JSON.
    QuorumState(&'a Bytes),
    /// A file was checked against the others of its folder; its faults were given before.
    Verified(&'a Verified),
    /// A file was not read, for this reason.
    Skipped(Skipped),
}

/// Why a file is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Skipped {
    /// The broker will delete it (`.deleted`), or all of its folder (`-delete`).
    Deleted,
    /// Compaction has not finished it (`.cleaned`).
    Cleaned,
    /// The broker has deleted or renamed it since the folder was listed.
    Gone,
}

impl Skipped {
    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Cleaned => "cleaned",
            Self::Gone => "gone",
        }
    }
}

/// The result of checking a file against the others of its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Batches of a log, entries of an index, producers of a snapshot, lines of a text.
    pub entries: u64,
    /// Records of a log.
    pub records: u64,
    /// The offsets in a log, from the first record up to what follows the last.
    pub offsets: Option<Range<i64>>,
    /// Faults.
    pub faults: u64,
}
