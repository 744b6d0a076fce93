use std::fmt;
use std::path::Path;

/// What a file of a log folder is for, as its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FileKind {
    /// `meta.properties`: which node and cluster the folder belongs to.
    Meta,
    /// `partition.metadata`: the id of the topic.
    Partition,
    /// `quorum-state`: what a KRaft node has voted for.
    QuorumState,
    /// `leader-epoch-checkpoint`: where each leader began.
    LeaderEpochs,
    /// `recovery-point-offset-checkpoint` and the others of that form: an offset for each partition.
    Offsets,
    /// `.log`: batches.
    Log,
    /// `.index`: where in the log offsets are.
    OffsetIndex,
    /// `.timeindex`: at which offsets timestamps are.
    TimeIndex,
    /// `.txnindex`: transactions that were aborted.
    TxnIndex,
    /// `.snapshot`: the state of idempotent producers.
    ProducerSnapshot,
    /// `.checkpoint`: a snapshot of KRaft metadata, in the form of a log.
    KraftSnapshot,
}

impl FileKind {
    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Partition => "partition",
            Self::QuorumState => "quorumState",
            Self::LeaderEpochs => "leaderEpochs",
            Self::Offsets => "offsets",
            Self::Log => "log",
            Self::OffsetIndex => "index",
            Self::TimeIndex => "timeIndex",
            Self::TxnIndex => "txnIndex",
            Self::ProducerSnapshot => "producerSnapshot",
            Self::KraftSnapshot => "kraftSnapshot",
        }
    }
}

/// Whether a file belongs to its partition, as the end of its name says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FileState {
    /// It does.
    #[default]
    Live,
    /// `.deleted`: the broker will delete it.
    Deleted,
    /// `.cleaned`: compaction is writing it; a broker that starts deletes it.
    Cleaned,
    /// `.swap`: compaction has written it; it replaces live segments, which may already be gone.
    Swap,
    /// The name has no offset, unlike those that Kafka gives: somebody has renamed or copied the file.
    Renamed,
}

impl FileState {
    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Deleted => "deleted",
            Self::Cleaned => "cleaned",
            Self::Swap => "swap",
            Self::Renamed => "renamed",
        }
    }
}

/// What the name of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileName {
    /// What it is for.
    pub kind: FileKind,
    /// The offset in the name: the first of a segment, the end of a snapshot; 0 where there is none.
    pub offset: i64,
    /// Whether it belongs to the partition.
    pub state: FileState,
}

impl FileName {
    /// Looks at a name. `None` for a file that belongs to no log.
    pub fn parse(name: &str) -> Option<Self> {
        let (mut name, mut state) = (name, FileState::Live);
        let endings = [(".deleted", FileState::Deleted), (".swap", FileState::Swap), (".cleaned", FileState::Cleaned)];
        // The last one counts: a segment that is swapped in may be deleted before it gets its own name.
        for (ending, meaning) in endings {
            if let Some(rest) = name.strip_suffix(ending) {
                state = if state == FileState::Live { meaning } else { state };
                name = rest;
            }
        }
        let of = |kind| Some(Self { kind, offset: 0, state });
        match name {
            "meta.properties" => return of(FileKind::Meta),
            "partition.metadata" => return of(FileKind::Partition),
            "quorum-state" => return of(FileKind::QuorumState),
            "leader-epoch-checkpoint" => return of(FileKind::LeaderEpochs),
            "bootstrap.checkpoint" => return of(FileKind::KraftSnapshot),
            _ if name.ends_with("-offset-checkpoint") => return of(FileKind::Offsets),
            _ => {}
        }
        let (stem, ending) = name.rsplit_once('.')?;
        let kind = match ending {
            "log" => FileKind::Log,
            "index" => FileKind::OffsetIndex,
            "timeindex" => FileKind::TimeIndex,
            "txnindex" => FileKind::TxnIndex,
            "snapshot" => FileKind::ProducerSnapshot,
            "checkpoint" => FileKind::KraftSnapshot,
            _ => return None,
        };
        // Snapshots name an epoch too, and indexes of tiered storage an id.
        let digits = stem.split(['-', '_']).next().unwrap_or_default();
        let offset = digits.parse().ok().filter(|offset| *offset >= 0);
        let state = if offset.is_none() { FileState::Renamed } else { state };
        Some(Self { kind, offset: offset.unwrap_or(0), state })
    }
}

/// A partition, as the name of its folder says.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartitionName {
    /// The topic.
    pub topic: String,
    /// Which one of the topic, from 0.
    pub partition: i32,
}

impl PartitionName {
    /// Reads `letters-3`. Folders that will be deleted, or that another one will replace
    /// (`letters-3.0f6f45c3…-delete`, `-future`, `-stray`), name their partition too.
    pub fn parse(name: &str) -> Option<Self> {
        let moved = name.rsplit_once('.').filter(|(_, end)| {
            let id = ["-delete", "-future", "-stray"].iter().find_map(|ending| end.strip_suffix(ending));
            id.is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
        });
        let name = moved.map_or(name, |(name, _)| name);
        let (topic, number) = name.rsplit_once('-')?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let partition = number.parse().ok().filter(|_| is_number && !topic.is_empty())?;
        Some(Self { topic: topic.to_owned(), partition })
    }

    /// The partition of a file, by the folder that it lies in.
    pub fn of_file(path: &Path) -> Option<Self> {
        let absolute;
        let folder = match path.parent()? {
            // A name alone lies where we are.
            folder if folder.as_os_str().is_empty() || folder.ends_with(".") => {
                absolute = std::path::absolute(path).ok()?;
                absolute.parent()?
            }
            folder => folder,
        };
        Self::parse(folder.file_name()?.to_str()?)
    }
}

impl fmt::Display for PartitionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

#[cfg(test)]
mod tests {
    use crate::*;

    #[test]
    fn names_say_what_files_are_for() {
        for (name, kind, offset) in [
            ("00000000000000000291.log", FileKind::Log, 291),
            ("00000000000000000291.index.deleted", FileKind::OffsetIndex, 291),
            ("00000000000000000000.timeindex.swap", FileKind::TimeIndex, 0),
            ("00000000000000000007.txnindex.cleaned", FileKind::TxnIndex, 7),
            ("00000000000000002101.snapshot", FileKind::ProducerSnapshot, 2101),
            ("00000000000000000048-0000000001.checkpoint", FileKind::KraftSnapshot, 48),
            ("48_f0k-fplFZdkrZyfeJjUN8w.index", FileKind::OffsetIndex, 48),
            ("bootstrap.checkpoint", FileKind::KraftSnapshot, 0),
            ("leader-epoch-checkpoint", FileKind::LeaderEpochs, 0),
            ("cleaner-offset-checkpoint", FileKind::Offsets, 0),
            ("quorum-state", FileKind::QuorumState, 0),
            ("copy-of-a-segment.log", FileKind::Log, 0),
        ] {
            let found = FileName::parse(name).map(|found| (found.kind, found.offset));
            assert_eq!(found, Some((kind, offset)), "{name}");
        }
        for (name, state) in [
            ("00000000000000000291.log", FileState::Live),
            ("00000000000000000291.log.deleted", FileState::Deleted),
            ("00000000000000000291.index.swap", FileState::Swap),
            ("00000000000000000291.timeindex.cleaned", FileState::Cleaned),
            ("00000000000000000291.log.swap.deleted", FileState::Deleted),
            ("copy-of-a-segment.log", FileState::Renamed),
            ("00000000000000000048-0000000001.checkpoint.deleted", FileState::Deleted),
        ] {
            assert_eq!(FileName::parse(name).unwrap().state, state, "{name}");
        }
        for name in [".lock", "server.properties", "README", "log", ""] {
            assert_eq!(FileName::parse(name), None, "{name}");
        }
    }

    #[test]
    fn folders_name_their_partition() {
        for (name, topic, partition) in [
            ("letters-3", "letters", 3),
            ("__consumer_offsets-49", "__consumer_offsets", 49),
            ("a-b.c-0", "a-b.c", 0),
            ("gone-0.0f6f45c322e14ff98c1dc4a5ed522522-delete", "gone", 0),
            ("moved-7.0f6f45c322e14ff98c1dc4a5ed522522-future", "moved", 7),
        ] {
            assert_eq!(PartitionName::parse(name), Some(PartitionName { topic: topic.into(), partition }), "{name}");
        }
        for name in ["letters", "letters-", "-3", "letters-+3", "letters-x", "letters-99999999999", ""] {
            assert_eq!(PartitionName::parse(name), None, "{name}");
        }
    }
}
