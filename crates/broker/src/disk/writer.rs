//! Writes the files of the data folder.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use milena_records::{BatchBuilder, BatchMut};
use milena_storage::{EpochEntry, OffsetOf, PartitionName, write_epochs, write_offsets, write_partition_metadata};

use super::files::{ENDINGS, indexes, path};
use super::load::{CLEAN_SHUTDOWN, CLEANER, LOG_START, METADATA_FOLDER, Saved};
use super::{Change, Job};
use crate::cluster::random_uuid;
use crate::storage::segment::Segment;
use crate::storage::transactions::Aborted;

/// Most files that are open at the same time.
const OPEN_FILES: usize = 128;
const RECOVERY_POINT: &str = "recovery-point-offset-checkpoint";
const REPLICATION: &str = "replication-offset-checkpoint";

/// The files of a data folder.
#[derive(Debug)]
pub(super) struct Writer {
    folder: PathBuf,
    /// The segments that are written to.
    open: HashMap<(Arc<str>, i64), File>,
    metadata: File,
    metadata_end: i64,
    starts: BTreeMap<String, i64>,
    cleaned: BTreeMap<String, i64>,
}

/// Says which file it is about.
trait In<T> {
    fn at(self, path: &Path) -> io::Result<T>;
}

impl<T> In<T> for io::Result<T> {
    fn at(self, path: &Path) -> io::Result<T> {
        self.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }
}

fn invalid(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

/// Writes a small file so that there is always the old one or the new one.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    let tmp = PathBuf::from(name);
    fs::write(&tmp, content).at(&tmp)?;
    fs::rename(&tmp, path).at(path)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).at(path),
        _ => Ok(()),
    }
}

impl Writer {
    pub(super) fn open(folder: &Path, cluster_id: &str, node_id: i32, saved: &Saved) -> io::Result<Self> {
        fs::create_dir_all(folder).at(folder)?;
        remove(&folder.join(CLEAN_SHUTDOWN))?;
        let meta = folder.join("meta.properties");
        if !meta.exists() {
            let directory = random_uuid();
            let text = format!("#\ncluster.id={cluster_id}\ndirectory.id={directory}\nnode.id={node_id}\nversion=1\n");
            replace(&meta, text.as_bytes())?;
        }
        let metadata_folder = folder.join(METADATA_FOLDER);
        fs::create_dir_all(&metadata_folder).at(&metadata_folder)?;
        let log = path(&metadata_folder, 0, "log", "");
        // It begins again with what is there: what changed and is gone does not pile up.
        let (mut changes, mut bytes, mut end) = (Vec::new(), Vec::new(), 0);
        saved.topics.iter().for_each(|topic| changes.extend(Change::topic(topic.id, &topic.topic)));
        changes.push(Change::producer_ids(saved.next_producer_id));
        for changes in changes.chunks(1000) {
            end = batch_of(changes, end, &mut bytes)?;
        }
        replace(&log, &bytes)?;
        let metadata = OpenOptions::new().append(true).open(&log).at(&log)?;
        let offsets = |offset: fn(&super::LoadedLog) -> Option<i64>| {
            let logs =
                saved.topics.iter().flat_map(|topic| (0..).zip(&topic.logs).map(move |(at, log)| (topic, at, log)));
            logs.filter_map(|(topic, at, log): (_, i32, _)| {
                Some((format!("{}-{at}", topic.topic.name), offset(log.as_ref()?)?))
            })
            .collect()
        };
        Ok(Self {
            folder: folder.to_owned(),
            open: HashMap::new(),
            metadata,
            metadata_end: end,
            starts: offsets(|log| Some(log.start_offset).filter(|start| *start > 0)),
            cleaned: offsets(|log| log.clean_until),
        })
    }

    pub(super) fn run(&mut self, job: Job) -> io::Result<()> {
        match job {
            Job::Create { folder, topic_id } => {
                let path = self.folder.join(&*folder);
                fs::create_dir_all(&path).at(&path)?;
                replace(&path.join("partition.metadata"), write_partition_metadata(topic_id).as_bytes())
            }
            Job::Append { folder, segment, bytes } => self.append(&folder, segment, &bytes),
            Job::Finish { folder, segment, aborted, producers: (offset, producers) } => {
                self.open.remove(&(folder.clone(), segment.base_offset()));
                self.write_indexes(&folder, &segment, &aborted, "")?;
                let path = self.folder.join(&*folder);
                self.drop_old_snapshots(&path, offset)?;
                replace(&path.join(format!("{offset:020}.snapshot")), &producers)
            }
            Job::Replace { folder, old, new, aborted } => self.replace_segments(&folder, &old, &new, &aborted),
            Job::Remove { folder, segments } => {
                for segment in segments {
                    self.remove_segment(&folder, segment)?;
                }
                Ok(())
            }
            Job::Epochs { folder, epochs } => {
                let entry = |(epoch, start_offset): (i32, i64)| EpochEntry { epoch, start_offset };
                let text = write_epochs(&epochs.into_iter().map(entry).collect::<Vec<_>>());
                replace(&self.folder.join(&*folder).join("leader-epoch-checkpoint"), text.as_bytes())
            }
            Job::Start { folder, offset } => {
                self.starts.insert(folder.to_string(), offset);
                checkpoint(&self.folder.join(LOG_START), &self.starts)
            }
            Job::Clean { folder, offset } => {
                self.cleaned.insert(folder.to_string(), offset);
                checkpoint(&self.folder.join(CLEANER), &self.cleaned)
            }
            Job::Delete { folder } => {
                self.open.retain(|(of, _), _| *of != folder);
                let path = self.folder.join(&*folder);
                fs::remove_dir_all(&path).at(&path)?;
                if self.starts.remove(&*folder).is_some() {
                    checkpoint(&self.folder.join(LOG_START), &self.starts)?;
                }
                match self.cleaned.remove(&*folder) {
                    Some(_) => checkpoint(&self.folder.join(CLEANER), &self.cleaned),
                    None => Ok(()),
                }
            }
            Job::Metadata(changes) => {
                let mut bytes = Vec::new();
                self.metadata_end = batch_of(&changes, self.metadata_end, &mut bytes)?;
                self.metadata.write_all(&bytes).at(&self.folder.join(METADATA_FOLDER))
            }
            Job::Close { ends } => {
                for ((folder, segment), file) in self.open.drain() {
                    file.sync_data().at(&path(&self.folder.join(&*folder), segment, "log", ""))?;
                }
                self.metadata.sync_data().at(&self.folder.join(METADATA_FOLDER))?;
                let ends = ends.into_iter().map(|(folder, end)| (folder.to_string(), end)).collect();
                checkpoint(&self.folder.join(RECOVERY_POINT), &ends)?;
                checkpoint(&self.folder.join(REPLICATION), &ends)?;
                replace(&self.folder.join(CLEAN_SHUTDOWN), br#"{"version":0,"brokerEpoch":-1}"#)
            }
        }
    }

    fn append(&mut self, folder: &Arc<str>, segment: i64, bytes: &[u8]) -> io::Result<()> {
        let key = (folder.clone(), segment);
        let path = path(&self.folder.join(&**folder), segment, "log", "");
        if !self.open.contains_key(&key) {
            if self.open.len() >= OPEN_FILES {
                self.open.clear();
            }
            let file = OpenOptions::new().create(true).append(true).open(&path).at(&path)?;
            self.open.insert(key.clone(), file);
        }
        match self.open.get_mut(&key) {
            Some(file) => file.write_all(bytes).at(&path),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn write_indexes(&self, folder: &str, segment: &Segment, aborted: &[Aborted], state: &str) -> io::Result<()> {
        let folder = self.folder.join(folder);
        let all = indexes(segment, aborted).map_err(invalid)?;
        for (ending, content) in ENDINGS[1..].iter().zip(all) {
            let path = path(&folder, segment.base_offset(), ending, state);
            // Kafka has no index of aborted transactions where there are none.
            if *ending == "txnindex" && content.is_empty() {
                remove(&path)?;
            } else {
                fs::write(&path, content).at(&path)?;
            }
        }
        Ok(())
    }

    fn remove_segment(&mut self, folder: &Arc<str>, segment: i64) -> io::Result<()> {
        self.open.remove(&(folder.clone(), segment));
        let folder = self.folder.join(&**folder);
        // The log at last: as long as it is there, the segment is.
        ENDINGS.iter().rev().try_for_each(|ending| remove(&path(&folder, segment, ending, "")))
    }

    /// A snapshot of producers is of use only until there is a newer one. Two stay, as in Kafka.
    fn drop_old_snapshots(&self, folder: &Path, newest: i64) -> io::Result<()> {
        let mut all: Vec<i64> = Vec::new();
        for entry in fs::read_dir(folder).at(folder)? {
            let name = entry?.file_name();
            let offset =
                name.to_str().and_then(|name| name.strip_suffix(".snapshot")).and_then(|at| at.parse::<i64>().ok());
            all.extend(offset.filter(|offset| *offset != newest));
        }
        all.sort_unstable();
        all.pop();
        all.into_iter().try_for_each(|offset| remove(&folder.join(format!("{offset:020}.snapshot"))))
    }

    /// Each new segment takes the place of the old ones from its base offset to that of the next one. After a crash in the
    /// middle the files say how far it had come, by their names, as in Kafka.
    fn replace_segments(
        &mut self,
        folder: &Arc<str>,
        old: &[i64],
        new: &[Segment],
        aborted: &[Aborted],
    ) -> io::Result<()> {
        let place = self.folder.join(&**folder);
        for (at, segment) in new.iter().enumerate() {
            let base = segment.base_offset();
            let end = new.get(at + 1).map_or(i64::MAX, Segment::base_offset);
            let mut pieces = Vec::new();
            segment.slices(0, segment.size(), &mut pieces);
            let log = path(&place, base, "log", ".cleaned");
            let mut file = File::create(&log).at(&log)?;
            for piece in pieces {
                file.write_all(&piece).at(&log)?;
            }
            file.sync_data().at(&log)?;
            self.write_indexes(folder, segment, aborted, ".cleaned")?;
            // The log at last: a swap counts when its log has that name.
            for ending in ENDINGS.iter().rev() {
                rename(&path(&place, base, ending, ".cleaned"), &path(&place, base, ending, ".swap"))?;
            }
            for gone in old.iter().filter(|gone| (base..end).contains(*gone)) {
                self.remove_segment(folder, *gone)?;
            }
            for ending in ENDINGS.iter().rev() {
                rename(&path(&place, base, ending, ".swap"), &path(&place, base, ending, ""))?;
            }
        }
        let first = new.first().map_or(i64::MAX, Segment::base_offset);
        old.iter().filter(|gone| **gone < first).try_for_each(|gone| self.remove_segment(folder, *gone))
    }
}

/// A missing index of aborted transactions is not renamed.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    if from.exists() { fs::rename(from, to).at(from) } else { Ok(()) }
}

fn checkpoint(path: &Path, offsets: &BTreeMap<String, i64>) -> io::Result<()> {
    let entry = |(folder, offset): (&String, &i64)| {
        let PartitionName { topic, partition } = PartitionName::parse(folder)?;
        Some(OffsetOf { topic, partition, offset: *offset })
    };
    replace(path, write_offsets(&offsets.iter().filter_map(entry).collect::<Vec<_>>()).as_bytes())
}

/// Appends a batch of the metadata log; gives the offset after it.
fn batch_of(changes: &[Change], base_offset: i64, out: &mut Vec<u8>) -> io::Result<i64> {
    let mut builder = BatchBuilder::new();
    for change in changes {
        let record = change.to_record(crate::clock::Clock::System.now_ms()).map_err(invalid)?;
        builder.push(&record).map_err(invalid)?;
    }
    if changes.is_empty() {
        return Ok(base_offset);
    }
    let mut bytes = builder.build().map_err(invalid)?.to_vec();
    let mut header = BatchMut::new(&mut bytes).map_err(invalid)?;
    header.set_base_offset(base_offset);
    header.set_partition_leader_epoch(1);
    out.extend_from_slice(&bytes);
    Ok(base_offset + changes.len() as i64)
}
