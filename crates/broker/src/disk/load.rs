//! Reads a log folder, of this broker or of Kafka.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use milena_messages::Uuid;
use milena_storage::{
    FileKind, FileState, Folder, LogContent, LogReader, PartitionName, read_epochs, read_offsets, read_producers,
    read_properties,
};

use super::files::{ENDINGS, path};
use super::metadata::{Metadata, SavedTopic};
use crate::storage::producer_state::Producers;
use crate::storage::segment::Segment;

pub(super) const METADATA_FOLDER: &str = "__cluster_metadata-0";
pub(super) const CLEAN_SHUTDOWN: &str = ".kafka_cleanshutdown";
pub(super) const LOG_START: &str = "log-start-offset-checkpoint";
pub(super) const CLEANER: &str = "cleaner-offset-checkpoint";
/// As many partitions as a topic may have here.
const MOST_PARTITIONS: i32 = 1_000_000;

/// What a folder holds.
#[derive(Debug, Default)]
pub(crate) struct Saved {
    /// `None` when the folder is new.
    pub(crate) cluster_id: Option<String>,
    pub(crate) topics: Vec<LoadedTopic>,
    pub(crate) next_producer_id: i64,
}

/// A topic with its logs.
#[derive(Debug)]
pub(crate) struct LoadedTopic {
    pub(crate) id: Uuid,
    pub(crate) topic: SavedTopic,
    /// Of each partition; `None` when it has no folder yet.
    pub(crate) logs: Vec<Option<LoadedLog>>,
}

/// The log of a partition.
#[derive(Debug, Default)]
pub(crate) struct LoadedLog {
    pub(crate) segments: Vec<Segment>,
    pub(crate) start_offset: i64,
    pub(crate) clean_until: Option<i64>,
    pub(crate) epochs: Vec<(i32, i64)>,
    /// Producers as of an offset; what comes later is in the batches.
    pub(crate) producers: Option<(i64, Producers)>,
}

fn invalid(path: &Path, message: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {message}", path.display()))
}

/// Reads a folder. With `repair` it belongs to this broker: the end of a log that was cut off goes, and what was under way
/// is finished. Otherwise nothing is changed. A folder that is not there is empty.
///
/// # Errors
/// A file cannot be read; a log is damaged before its end.
pub(crate) fn load(folder: &Path, repair: bool) -> io::Result<Saved> {
    let mut saved = Saved::default();
    if !folder.exists() {
        return Ok(saved);
    }
    let meta = folder.join("meta.properties");
    if meta.exists() {
        let (properties, _) = read_properties(&fs::read(&meta)?);
        saved.cluster_id = properties.into_iter().find(|(name, _)| name == "cluster.id").map(|(_, value)| value);
    }
    let metadata = metadata(&folder.join(METADATA_FOLDER))?;
    saved.next_producer_id = metadata.next_producer_id;
    let starts = offsets(&folder.join(LOG_START))?;
    let cleaned = offsets(&folder.join(CLEANER))?;
    let mut logs: BTreeMap<String, BTreeMap<i32, (Option<Uuid>, LoadedLog)>> = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let Some(partition) = PartitionName::parse(&name).filter(|_| path.is_dir() && name != METADATA_FOLDER) else {
            continue;
        };
        if name != partition.to_string() {
            // A folder that will be deleted, or that another one replaces.
            continue;
        }
        if partition.partition > MOST_PARTITIONS {
            return Err(invalid(&path, "the number of the partition is too large"));
        }
        let mut log = log(&path, repair)?;
        let first = log.segments.first().map_or(0, Segment::base_offset);
        let end = log.segments.last().map_or(0, Segment::end_offset);
        log.start_offset = starts.get(&name).copied().unwrap_or(first).clamp(first, end);
        log.clean_until = cleaned.get(&name).copied();
        let id = topic_id(&path)?;
        logs.entry(partition.topic).or_default().insert(partition.partition, (id, log));
    }
    let mut known: BTreeMap<String, (Uuid, SavedTopic)> =
        metadata.topics.into_iter().map(|(id, topic)| (topic.name.clone(), (id, topic))).collect();
    for (name, partitions) in logs {
        let found = known.remove(&name);
        if found.is_none() && repair {
            // Its deletion was under way.
            for index in partitions.keys() {
                fs::remove_dir_all(folder.join(format!("{name}-{index}")))?;
            }
            continue;
        }
        let id = partitions.values().find_map(|(id, _)| *id);
        let (id, mut topic) = found.unwrap_or_else(|| {
            let topic = SavedTopic { name: name.clone(), ..SavedTopic::default() };
            (id.unwrap_or_else(crate::cluster::random_uuid), topic)
        });
        let count = partitions.keys().next_back().map_or(0, |last| *last as usize + 1).max(topic.replicas.len());
        topic.replicas.resize(count, Vec::new());
        let mut all: Vec<Option<LoadedLog>> = (0..count).map(|_| None).collect();
        partitions.into_iter().for_each(|(index, (_, log))| all[index as usize] = Some(log));
        saved.topics.push(LoadedTopic { id, topic, logs: all });
    }
    // Topics without a folder yet: the process ended between the two.
    for (_, (id, topic)) in known.into_iter().filter(|_| repair) {
        let logs = topic.replicas.iter().map(|_| None).collect();
        saved.topics.push(LoadedTopic { id, topic, logs });
    }
    Ok(saved)
}

fn topic_id(folder: &Path) -> io::Result<Option<Uuid>> {
    let path = folder.join("partition.metadata");
    if !path.exists() {
        return Ok(None);
    }
    let (properties, _) = read_properties(&fs::read(&path)?);
    let id = properties.iter().find(|(name, _)| name == "topic_id");
    id.map(|(_, id)| id.parse().map_err(|error| invalid(&path, error))).transpose()
}

fn offsets(path: &Path) -> io::Result<BTreeMap<String, i64>> {
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let (offsets, faults) = read_offsets(&fs::read(path)?);
    match faults.first() {
        Some(fault) => Err(invalid(path, fault)),
        None => Ok(offsets.into_iter().map(|one| (format!("{}-{}", one.topic, one.partition), one.offset)).collect()),
    }
}

/// Replays a metadata log, from the last snapshot on.
fn metadata(folder: &Path) -> io::Result<Metadata> {
    let mut metadata = Metadata::default();
    if !folder.exists() {
        return Ok(metadata);
    }
    let files = Folder::read(folder)?.files;
    let of = |kind| files.iter().filter(move |file| file.name.kind == kind && file.name.state == FileState::Live);
    let snapshot = of(FileKind::KraftSnapshot).max_by_key(|file| file.name.offset);
    let from = snapshot.map_or(0, |file| file.name.offset);
    for file in snapshot.into_iter().chain(of(FileKind::Log)) {
        let from = if file.name.kind == FileKind::Log { from } else { 0 };
        for entry in LogReader::new(fs::File::open(&file.path)?) {
            // The end may be cut off.
            let LogContent::Batch { batch, crc_valid: true } = entry?.content else { break };
            if batch.is_control() {
                continue;
            }
            for record in batch.records() {
                let record = record.map_err(|error| invalid(&file.path, error))?;
                if let Some(value) = record.value.filter(|_| record.offset >= from) {
                    let value = Bytes::copy_from_slice(value);
                    metadata.replay(&value).map_err(|error| invalid(&file.path, error))?;
                }
            }
        }
    }
    Ok(metadata)
}

/// The log of one partition.
fn log(folder: &Path, repair: bool) -> io::Result<LoadedLog> {
    if repair {
        finish_swaps(folder)?;
    }
    let files = Folder::read(folder)?.files;
    let of = |kind| files.iter().filter(move |file| file.name.kind == kind && file.name.state == FileState::Live);
    let mut log = LoadedLog::default();
    // Empty files at the end hold nothing that could be lost.
    let last = of(FileKind::Log).filter(|file| file.size > 0).map(|file| file.name.offset).max();
    for file in of(FileKind::Log) {
        let modified = fs::metadata(&file.path)?.modified()?.duration_since(UNIX_EPOCH);
        let modified = modified.map_or(0, |since| since.as_millis() as i64);
        let mut segment = Segment::new(file.name.offset);
        let mut size = 0;
        for entry in LogReader::new(fs::File::open(&file.path)?) {
            let entry = entry?;
            let why = match entry.content {
                LogContent::Batch { batch, crc_valid: true } if batch.magic() < 2 => {
                    let message = format!("a message of magic {}; only record batches can be opened", batch.magic());
                    return Err(invalid(&file.path, message));
                }
                LogContent::Batch { batch, crc_valid: true } if batch.base_offset() >= segment.end_offset() => {
                    let done: Result<(), std::convert::Infallible> =
                        segment.append(batch.bytes(), modified, |_| Ok(()));
                    match done {
                        Ok(()) => size = entry.range.end,
                        Err(never) => match never {},
                    }
                    continue;
                }
                LogContent::Batch { .. } => "a batch whose checksum or offset is wrong".to_owned(),
                LogContent::Damaged(fault) => fault.to_string(),
                LogContent::Zeros => "zeros".to_owned(),
                LogContent::CutOff { .. } => "a batch that is cut off".to_owned(),
            };
            if last.is_some_and(|last| file.name.offset < last) {
                return Err(invalid(&file.path, format!("{why} at byte {size}, and there are later segments")));
            }
            let dropped = file.size - size;
            tracing::warn!(file = %file.path.display(), at = size, dropped, why, "the end of a log is cut off");
            if repair {
                OpenOptions::new().write(true).open(&file.path)?.set_len(size)?;
            }
            break;
        }
        log.segments.push(segment);
    }
    // A segment that follows must not lie before the end of the last one.
    if let Some(pair) = log.segments.windows(2).find(|pair| pair[0].end_offset() > pair[1].base_offset()) {
        return Err(invalid(folder, format!("segments overlap at offset {}", pair[1].base_offset())));
    }
    let count = log.segments.len();
    log.segments.iter_mut().take(count.saturating_sub(1)).for_each(Segment::seal);
    let end = log.segments.last().map_or(0, Segment::end_offset);
    log.epochs = epochs(folder, &log.segments, end)?;
    let snapshots = of(FileKind::ProducerSnapshot).filter(|file| file.name.offset <= end);
    if let Some(file) = snapshots.max_by_key(|file| file.name.offset) {
        let read = read_producers(&fs::read(&file.path)?.into()).map_err(|fault| invalid(&file.path, fault))?;
        if read.crc_valid {
            log.producers = Some((file.name.offset, Producers::from_snapshot(&read.entries)));
        } else {
            tracing::warn!(file = %file.path.display(), "a snapshot of producers with a wrong checksum is ignored");
        }
    }
    Ok(log)
}

/// The epochs of the checkpoint, as far as the log goes, and those of later batches.
fn epochs(folder: &Path, segments: &[Segment], end: i64) -> io::Result<Vec<(i32, i64)>> {
    let path = folder.join("leader-epoch-checkpoint");
    let mut epochs: Vec<(i32, i64)> = Vec::new();
    if path.exists() {
        let (entries, faults) = read_epochs(&fs::read(&path)?);
        if let Some(fault) = faults.first() {
            return Err(invalid(&path, fault));
        }
        epochs.extend(entries.iter().map(|entry| (entry.epoch, entry.start_offset)).filter(|(_, start)| *start <= end));
    }
    for header in segments.iter().flat_map(|segment| segment.headers_from(0)).map(|(_, header)| header) {
        if epochs.last().is_none_or(|(last, _)| *last < header.leader_epoch()) {
            epochs.push((header.leader_epoch(), header.base_offset()));
        }
    }
    Ok(epochs)
}

/// Finishes what compaction was doing when the process ended: half-written segments go, and those that were complete take
/// their place.
fn finish_swaps(folder: &Path) -> io::Result<()> {
    let files = Folder::read(folder)?.files;
    for file in &files {
        if matches!(file.name.state, FileState::Cleaned | FileState::Deleted) {
            fs::remove_file(&file.path)?;
        }
    }
    let is_swap = |kind: FileKind| {
        move |file: &&milena_storage::File| file.name.kind == kind && file.name.state == FileState::Swap
    };
    for swap in files.iter().filter(is_swap(FileKind::Log)) {
        let mut end = swap.name.offset;
        for entry in LogReader::new(fs::File::open(&swap.path)?) {
            if let LogContent::Batch { batch, .. } = entry?.content {
                end = batch.next_offset();
            }
        }
        // An old segment with the same base offset is replaced by the rename itself.
        let replaced = |file: &&milena_storage::File| {
            file.name.state == FileState::Live
                && file.name.kind == FileKind::Log
                && (swap.name.offset..end).contains(&file.name.offset)
        };
        for old in files.iter().filter(replaced) {
            for ending in ENDINGS {
                let path = path(folder, old.name.offset, ending, "");
                if path.exists() {
                    fs::remove_file(path)?;
                }
            }
        }
        fs::rename(&swap.path, path(folder, swap.name.offset, "log", ""))?;
    }
    // Indexes that were not renamed with their log are made again when they are needed.
    for file in files.iter().filter(|file| file.name.state == FileState::Swap && file.name.kind != FileKind::Log) {
        if file.path.exists() {
            fs::remove_file(&file.path)?;
        }
    }
    Ok(())
}
