use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::checkpoint::{EpochEntry, read_epochs, read_offsets};
use crate::folder::{File, Folder};
use crate::name::{FileKind, FileState, PartitionName};

/// Checkpoints are read up to this size.
const MOST: u64 = 64 << 20;

/// Topics that Kafka itself compacts.
const COMPACTED: [&str; 3] = ["__consumer_offsets", "__transaction_state", "__share_group_state"];

/// What the checkpoints say of a partition: that of its folder, and those of the log folder around it. What is wrong with
/// them is reported when they are read as files.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    /// Where each leader began, if there is a checkpoint of that.
    pub(super) epochs: Option<Vec<EpochEntry>>,
    /// The first offset that consumers can read, if it is known. Segments may begin before it (KIP-107).
    pub(super) log_start: Option<i64>,
    /// The offset up to which the partition has been compacted, if it is known.
    pub(super) cleaned_to: Option<i64>,
    /// Whether the partition is compacted, as far as checkpoints and the name of the topic tell.
    pub(super) is_compacted: bool,
}

impl Checkpoints {
    pub(super) fn read(folder: &Folder) -> Self {
        let live = |kind: FileKind| {
            folder.files.iter().find(move |file| file.name.kind == kind && file.name.state == FileState::Live)
        };
        let epochs = live(FileKind::LeaderEpochs).and_then(|file| bytes(&file.path)).map(|text| read_epochs(&text).0);
        let Some(partition) = folder.files.iter().find_map(|file| file.partition.clone()) else {
            return Self { epochs, ..Self::default() };
        };
        let around = around(folder);
        let offset = |name: &str| {
            let path = around.as_ref()?.join(name);
            Some(find(&bytes(&path)?, &partition))
        };
        let log_start = match offset("log-start-offset-checkpoint") {
            Some(Some(offset)) => Some(offset),
            // Kafka lists only those that differ from the first segment, and is up to date only when it has stopped.
            Some(None) if around.as_ref().is_some_and(|around| around.join(".kafka_cleanshutdown").exists()) => {
                live(FileKind::Log).map(|file| file.name.offset)
            }
            _ => None,
        };
        let cleaned_to = offset("cleaner-offset-checkpoint").flatten();
        let is_compacted = cleaned_to.is_some() || COMPACTED.contains(&partition.topic.as_str());
        Self { epochs, log_start, cleaned_to, is_compacted }
    }

    /// What is wrong with the leader epoch of a batch, if anything is.
    pub(super) fn wrong_epoch(&self, epoch: i32, offset: i64) -> Option<String> {
        let epochs = self.epochs.as_ref()?;
        if epoch < 0 {
            return None;
        }
        match (epochs.iter().rev().find(|entry| entry.start_offset <= offset), epochs.first()) {
            (Some(entry), _) if entry.epoch == epoch => None,
            (Some(entry), _) => {
                Some(format!("leader epoch {epoch}, the checkpoint says {} at offset {offset}", entry.epoch))
            }
            // When the log start moves up, so does the first entry, and segments keep what is before it (KIP-107).
            (None, Some(first)) if self.log_start.is_none_or(|start| offset < start) && epoch <= first.epoch => None,
            _ => Some(format!("leader epoch {epoch}, the checkpoint has none at offset {offset}")),
        }
    }
}

/// The folder in which that of a partition lies.
fn around(folder: &Folder) -> Option<PathBuf> {
    let path = if folder.path.is_file() { folder.path.parent()? } else { &folder.path };
    fs::canonicalize(path).ok()?.parent().map(Path::to_owned)
}

fn find(checkpoint: &[u8], partition: &PartitionName) -> Option<i64> {
    let (offsets, _) = read_offsets(checkpoint);
    let found = offsets.iter().find(|of| of.topic == partition.topic && of.partition == partition.partition);
    found.map(|of| of.offset)
}

fn bytes(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MOST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The live logs of a folder.
pub(super) fn live_logs(folder: &Folder) -> impl DoubleEndedIterator<Item = &File> {
    folder.files.iter().filter(|file| file.name.kind == FileKind::Log && file.name.state == FileState::Live)
}
