use std::ops::Range;

use bytes::Bytes;
use milena_records::{Batch, RecordRef};

/// Which records are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Their offsets.
    pub offsets: Range<i64>,
    /// Their timestamps, in milliseconds since 1970.
    pub time: Range<i64>,
    /// Their key; `None` for any.
    pub key: Option<Bytes>,
}

impl Default for Selection {
    /// All of them.
    fn default() -> Self {
        Self { offsets: ALL, time: ALL, key: None }
    }
}

const ALL: Range<i64> = i64::MIN..i64::MAX;

impl Selection {
    /// Whether the record is one of them.
    pub fn holds(&self, record: &RecordRef) -> bool {
        self.offsets.contains(&record.offset)
            && self.holds_time(record.timestamp)
            && self.key.as_ref().is_none_or(|key| record.key == Some(key))
    }

    /// Whether a batch can have one of them, by its header alone.
    pub fn may_be_in(&self, batch: &Batch) -> bool {
        // The wrapper of a message set says where it ends, not where it begins.
        let begins_before = batch.count().is_none() || batch.base_offset() < self.offsets.end;
        let ends_behind = batch.last_offset() >= self.offsets.start;
        begins_before && ends_behind && batch.max_timestamp() >= self.time.start
    }

    /// Whether an offset is one of those.
    pub fn holds_offset(&self, offset: i64) -> bool {
        self.offsets.contains(&offset)
    }

    /// Whether a time is one of those.
    pub fn holds_time(&self, timestamp: i64) -> bool {
        self.time.contains(&timestamp)
    }
}
