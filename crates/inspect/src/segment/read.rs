use std::io;
use std::ops::Range;
use std::path::Path;

use milena_storage::{Fault, File, FileKind, Item, Options, Summary};

use super::quorum::quorum_state_json;
use crate::topic::{RecordContent, TopicReader, TopicRecord};

/// Receives each item, and what it says if it is a record of one of Kafka's own topics. An error ends the walk.
type Visit<'a> = dyn FnMut(&Item, Option<&TopicRecord>) -> io::Result<()> + 'a;

/// Reads a file, the folder of a partition or a whole log folder as [`milena_storage::read`] does, with the meaning of the
/// records of Kafka's own topics. Records without a known meaning are faults.
///
/// # Errors
/// A path that does not exist or cannot be read; a folder without files of a log; an error of `visit`.
pub fn read(path: &Path, options: &Options, visit: &mut Visit) -> io::Result<Summary> {
    let mut meaning = Meaning::default();
    milena_storage::read(path, options, &mut |item| meaning.item(item, visit))
}

/// Reads a log from anywhere, such as a pipe, as [`milena_storage::read_log`] does.
///
/// # Errors
/// Those of `input` and `visit`.
pub fn read_log(input: impl io::Read, options: &Options, visit: &mut Visit) -> io::Result<Summary> {
    let mut meaning = Meaning::default();
    milena_storage::read_log(input, options, &mut |item| meaning.item(item, visit))
}

/// Checks the files of each partition against each other as [`milena_storage::verify`] does, and the state of a quorum
/// against its layout.
///
/// # Errors
/// As for [`read`].
pub fn verify(path: &Path, options: &Options, visit: &mut Visit) -> io::Result<Summary> {
    milena_storage::verify(path, options, &mut |item| match item {
        Item::QuorumState(text) => Ok(quorum_state_json(text).err().map(|fault| *fault)),
        item => visit(item, None).map(|()| None),
    })
}

/// Knows what the records of the current file mean.
#[derive(Default)]
struct Meaning {
    /// Of the file that is read, when it belongs to one of Kafka's own topics.
    topic: Option<TopicReader>,
}

impl Meaning {
    fn item(&mut self, item: &Item, visit: &mut Visit) -> io::Result<Option<Fault>> {
        match item {
            Item::File(file) => self.topic = reader(file),
            Item::QuorumState(text) => {
                if let Err(fault) = quorum_state_json(text) {
                    return Ok(Some(*fault));
                }
            }
            Item::Record { batch, record } if !batch.is_control() => {
                if let Some(topic) = self.topic {
                    let decoded = topic.decode(record.key, record.value);
                    visit(item, Some(&decoded))?;
                    let range = batch.place().range;
                    let range = range.start as u64..range.end as u64;
                    return Ok((!decoded.is_understood()).then(|| not_understood(&decoded, record.offset, range)));
                }
            }
            _ => {}
        }
        visit(item, None).map(|()| None)
    }
}

/// The reader for records that mean something to Kafka itself.
fn reader(file: &File) -> Option<TopicReader> {
    match (&file.partition, file.name.kind) {
        (Some(partition), _) => TopicReader::for_topic(&partition.topic),
        (None, FileKind::KraftSnapshot) => TopicReader::for_topic("__cluster_metadata"),
        (None, _) => None,
    }
}

/// A key or value of one of Kafka's own topics whose type is unknown or whose bytes do not fit its type.
fn not_understood(record: &TopicRecord, offset: i64, range: Range<u64>) -> Fault {
    let parts = [("key", &record.key), ("value", &record.value)].into_iter().filter_map(|(name, part)| match part {
        RecordContent::Raw { why, .. } => Some(format!("{name}: {why}")),
        _ => None,
    });
    Fault::new("not_understood", range, format!("offset {offset}: {}", parts.collect::<Vec<_>>().join("; ")))
}
