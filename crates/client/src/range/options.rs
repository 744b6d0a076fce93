use std::time::Duration;

use milena_records::ReadOptions;

use crate::fetch::FetchOptions;
use crate::offsets::OffsetSpec;

/// Where reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// At this offset, or the next one that exists. An offset that the partition does not have is an error.
    Offset(i64),
    /// At an offset to be looked up; a timestamp that no record has reached means the end.
    At(OffsetSpec),
}

impl Start {
    /// At the oldest record.
    pub const EARLIEST: Self = Self::At(OffsetSpec::Earliest);
    /// At the end.
    pub const LATEST: Self = Self::At(OffsetSpec::Latest);
}

/// Where reading stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    /// At the end as it is when reading begins.
    End,
    /// Before this offset, or at the end if that comes first.
    Offset(i64),
    /// Not at all: waits for new records.
    Never,
}

/// How to read a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeOptions {
    /// How each Fetch is done.
    pub fetch: FetchOptions,
    /// How batches are read.
    pub read: ReadOptions,
    /// Whether to leave out what cannot be read, and go on after it. What was left out is in [`RangeReader::skipped`](crate::RangeReader::skipped).
    pub skip_corrupt: bool,
    /// How long to go on without any progress: while brokers cannot be reached, and while their responses are empty
    /// although records should follow, as with remote storage that is slow. `None`, the default, is one minute of empty
    /// responses for a range with an end, and no limit at all with [`Stop::Never`].
    pub patience: Option<Duration>,
}
