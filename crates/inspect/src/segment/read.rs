use std::fs;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;
use milena_records::{Batch, ErrorKind, Mode, ReadOptions};

use super::fault::Fault;
use super::folder;
use super::index::{IndexEntry, IndexKind, IndexPart, IndexReader};
use super::item::{File, Item};
use super::log::{Content, LogOptions, LogReader};
use super::name::FileKind;
use super::selection::Selection;
use super::snapshot::read_producers;
use super::text::{read_epochs, read_offsets, read_properties, read_quorum_state};
use super::verify;
use crate::topic::{self, Reader, TopicRecord};

/// Files that are read at once may not be larger: snapshots of producers and text.
pub(super) const MAX_WHOLE: u64 = 64 << 20;

/// What to read of log folders and files, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SegmentOptions {
    /// Which records are wanted. Entries of indexes are taken by offset and time too.
    pub selection: Selection,
    /// Gives batches alone. Their payload is compared with its checksum and not decompressed.
    pub headers_only: bool,
    /// Gives what can be made out of damaged batches too, as [`Mode::Tolerant`] reads. Otherwise a batch whose checksum is
    /// wrong has no records, and one that is malformed those in front of the fault.
    pub tolerant: bool,
    /// Ends at the first fault.
    pub strict: bool,
    /// Holds the files of a partition against each other and gives faults alone, with an [`Item::Verified`] for each file.
    pub verify: bool,
    /// Limits of memory.
    pub log: LogOptions,
}

/// What there was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Files.
    pub files: u64,
    /// Batches, selected or not.
    pub batches: u64,
    /// Records that were given.
    pub records: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Things that are not as they should be.
    pub faults: u64,
    /// The first of them.
    pub first_fault: Option<String>,
}

/// Why reading ends: because something failed, or because strict reading has met a fault.
pub(super) type Step<T = ()> = Result<T, Stop>;

#[derive(Debug)]
pub(super) enum Stop {
    /// A file cannot be read.
    Read(io::Error),
    /// Whoever is shown the items wants no more.
    Visit(io::Error),
    Strict,
}

impl Stop {
    pub(super) fn in_file(self, path: &Path) -> Self {
        match self {
            Self::Read(error) => {
                Self::Read(io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display())))
            }
            other => other,
        }
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// Reads a file of a log folder, the folder of a partition, or a whole log folder, and gives what is there item by item.
/// A file whose name says nothing is taken for a log.
///
/// Memory is bounded by the largest batch and what it decompresses to; see [`LogOptions`]. In a whole folder the files are
/// in the order of partitions and offsets, and files that belong to no log are passed over.
///
/// # Errors
/// A path that is not there or cannot be read; a folder without files of a log; what `visit` gives. What is wrong with the
/// content of files is no error but an [`Item::Fault`].
pub fn read(
    path: &Path,
    options: &SegmentOptions,
    visit: &mut dyn FnMut(&Item) -> io::Result<()>,
) -> io::Result<Summary> {
    let mut walk = Walk { options, visit, summary: Summary::default(), topic: None };
    let ended = match (folder::list(path)?, options.verify) {
        (folders, true) => folders.iter().try_for_each(|files| verify::folder(&mut walk, files)),
        (folders, false) => folders.iter().flatten().try_for_each(|file| walk.file(file)),
    };
    match ended {
        Ok(()) | Err(Stop::Strict) => Ok(walk.summary),
        Err(Stop::Read(error) | Stop::Visit(error)) => Err(error),
    }
}

/// Reads a log from anywhere, such as a pipe.
///
/// # Errors
/// What `input` and `visit` give.
pub fn read_log(
    input: impl io::Read,
    options: &SegmentOptions,
    visit: &mut dyn FnMut(&Item) -> io::Result<()>,
) -> io::Result<Summary> {
    let mut walk = Walk { options, visit, summary: Summary { files: 1, ..Summary::default() }, topic: None };
    match walk.log(input) {
        Ok(()) | Err(Stop::Strict) => Ok(walk.summary),
        Err(Stop::Read(error) | Stop::Visit(error)) => Err(error),
    }
}

pub(super) struct Walk<'a> {
    pub(super) options: &'a SegmentOptions,
    visit: &'a mut dyn FnMut(&Item) -> io::Result<()>,
    pub(super) summary: Summary,
    /// Of the file that is read, when it is one of Kafka's own topics.
    topic: Option<Reader>,
}

impl Walk<'_> {
    pub(super) fn give(&mut self, item: &Item) -> Step {
        (self.visit)(item).map_err(Stop::Visit)
    }

    pub(super) fn fault(&mut self, fault: &Fault) -> Step {
        self.summary.faults += 1;
        if self.summary.first_fault.is_none() {
            self.summary.first_fault = Some(fault.to_string());
        }
        self.give(&Item::Fault(fault))?;
        if self.options.strict { Err(Stop::Strict) } else { Ok(()) }
    }

    pub(super) fn file(&mut self, file: &File) -> Step {
        if self.is_passed_over(file) {
            return Ok(());
        }
        self.summary.files += 1;
        self.summary.bytes += file.size;
        self.give(&Item::File(file))?;
        self.topic = reader(file);
        self.content(file).map_err(|stop| stop.in_file(&file.path))
    }

    fn content(&mut self, file: &File) -> Step {
        match file.name.kind {
            FileKind::Log | FileKind::KraftSnapshot => self.log(fs::File::open(&file.path)?),
            FileKind::OffsetIndex => self.index(file, IndexKind::Offset),
            FileKind::TimeIndex => self.index(file, IndexKind::Time),
            FileKind::TxnIndex => self.index(file, IndexKind::Txn),
            FileKind::ProducerSnapshot => self.producers(file),
            FileKind::LeaderEpochs => self.epochs(file),
            FileKind::Offsets => self.offsets(file),
            FileKind::Meta | FileKind::Partition => self.properties(file),
            FileKind::QuorumState => self.quorum_state(file),
        }
    }

    /// Who asks for records of some kind asks for nothing else.
    fn is_passed_over(&self, file: &File) -> bool {
        let wants_all = self.options.selection == Selection::default() && !self.options.headers_only;
        let is_log = matches!(file.name.kind, FileKind::Log | FileKind::KraftSnapshot);
        let is_index = matches!(file.name.kind, FileKind::OffsetIndex | FileKind::TimeIndex | FileKind::TxnIndex);
        let wants_indexes = self.options.selection.key.is_none() && !self.options.headers_only;
        !(wants_all || is_log || is_index && wants_indexes)
    }

    fn log(&mut self, input: impl io::Read) -> Step {
        for entry in LogReader::with_options(input, self.options.log) {
            let entry = entry?;
            match entry.content {
                Content::Batch { batch, crc_valid } => self.batch(&batch, crc_valid)?,
                Content::Damaged(fault) => self.fault(&fault)?,
                Content::Zeros => self.give(&Item::Zeros(entry.range))?,
                Content::CutOff { expected } => self.give(&Item::CutOff { range: entry.range, expected })?,
            }
        }
        Ok(())
    }

    fn batch(&mut self, batch: &Batch, crc_valid: bool) -> Step {
        self.summary.batches += 1;
        let selection = &self.options.selection;
        if !selection.may_be_in(batch) {
            return Ok(());
        }
        let range = batch.place().range;
        let range = range.start as u64..range.end as u64;
        let head = Item::Batch { batch, crc_valid };
        let mut is_shown = selection.key.is_none();
        if is_shown {
            self.give(&head)?;
        }
        if let (false, Err(error)) = (crc_valid, batch.check_crc()) {
            if !is_shown {
                is_shown = true;
                self.give(&head)?;
            }
            self.fault(&Fault::of_batch(&error, range.clone()))?;
        }
        if self.options.headers_only || !crc_valid && !self.options.tolerant {
            return Ok(());
        }
        let mut given = 0;
        let ended = records(self, batch, &head, &mut is_shown, 0, &mut given)?;
        let Some(error) = ended else { return Ok(()) };
        // That of the batch has been told.
        if error.kind() != ErrorKind::BadCrc || error.record().is_some() {
            if !is_shown {
                is_shown = true;
                self.give(&head)?;
            }
            self.fault(&Fault::of_batch(&error, range))?;
        }
        if self.options.tolerant {
            // What strict reading refuses may be readable all the same.
            let place = batch.place();
            let options = ReadOptions { mode: Mode::Tolerant, check_crc: false, ..self.options.log.records };
            if let Ok(again) = Batch::parse(batch.bytes().clone(), options) {
                let again = again.placed(place.index, place.range.start);
                let skip = given;
                records(self, &again, &head, &mut is_shown, skip, &mut given)?;
            }
        }
        Ok(())
    }

    fn index(&mut self, file: &File, kind: IndexKind) -> Step {
        let selection = &self.options.selection;
        for part in IndexReader::new(fs::File::open(&file.path)?, kind, file.name.offset) {
            let (range, part) = part?;
            match part {
                IndexPart::Entry(entry) => {
                    let is_wanted = match &entry {
                        IndexEntry::Offset(entry) => selection.holds_offset(entry.offset),
                        IndexEntry::Time(entry) => {
                            selection.holds_offset(entry.offset) && selection.holds_time(entry.timestamp)
                        }
                        IndexEntry::Aborted(aborted) => {
                            aborted.first_offset < selection.offsets.end
                                && aborted.last_offset >= selection.offsets.start
                        }
                    };
                    if is_wanted {
                        self.give(&Item::Index { range, entry })?;
                    }
                }
                IndexPart::Zeros => self.give(&Item::Zeros(range))?,
                IndexPart::Damaged(fault) => self.fault(&fault)?,
            }
        }
        Ok(())
    }

    /// All of a small file; a fault when it is none.
    pub(super) fn whole(&mut self, file: &File) -> Step<Option<Bytes>> {
        let mut bytes = Vec::new();
        fs::File::open(&file.path)?.take(MAX_WHOLE + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= MAX_WHOLE {
            return Ok(Some(bytes.into()));
        }
        let message = format!("more than {MAX_WHOLE} bytes, which no such file has");
        self.fault(&Fault::new("limit_exceeded", 0..file.size, message))?;
        Ok(None)
    }

    fn producers(&mut self, file: &File) -> Step {
        let Some(bytes) = self.whole(file)? else { return Ok(()) };
        match read_producers(&bytes) {
            Ok(producers) => {
                self.give(&Item::Producers(&producers))?;
                if !producers.crc_valid {
                    self.fault(&Fault::new("bad_crc", 0..file.size, "the checksum does not match the bytes"))?;
                }
                producers.entries.iter().try_for_each(|entry| self.give(&Item::Producer(entry)))
            }
            Err(fault) => self.fault(&fault),
        }
    }

    fn epochs(&mut self, file: &File) -> Step {
        let Some(bytes) = self.whole(file)? else { return Ok(()) };
        let (epochs, faults) = read_epochs(&bytes);
        epochs.iter().try_for_each(|epoch| self.give(&Item::Epoch(*epoch)))?;
        faults.iter().try_for_each(|fault| self.fault(fault))
    }

    fn offsets(&mut self, file: &File) -> Step {
        let Some(bytes) = self.whole(file)? else { return Ok(()) };
        let (offsets, faults) = read_offsets(&bytes);
        offsets.iter().try_for_each(|offset| self.give(&Item::Offset(offset)))?;
        faults.iter().try_for_each(|fault| self.fault(fault))
    }

    fn properties(&mut self, file: &File) -> Step {
        let Some(bytes) = self.whole(file)? else { return Ok(()) };
        let (properties, faults) = read_properties(&bytes);
        properties.iter().try_for_each(|(name, value)| self.give(&Item::Property { name, value }))?;
        faults.iter().try_for_each(|fault| self.fault(fault))
    }

    fn quorum_state(&mut self, file: &File) -> Step {
        let Some(bytes) = self.whole(file)? else { return Ok(()) };
        match read_quorum_state(&bytes) {
            Ok(state) => self.give(&Item::QuorumState(&state)),
            Err(fault) => self.fault(&fault),
        }
    }
}

/// The reader for records that mean something to Kafka itself.
fn reader(file: &File) -> Option<Reader> {
    match (&file.partition, file.name.kind) {
        (Some(partition), _) => Reader::for_topic(&partition.topic),
        (None, FileKind::KraftSnapshot) => Reader::for_topic("__cluster_metadata"),
        (None, _) => None,
    }
}

/// Gives the records of a batch but for the first `skip`, and the error that ends them.
fn records(
    walk: &mut Walk,
    batch: &Batch,
    head: &Item,
    is_shown: &mut bool,
    skip: usize,
    read: &mut usize,
) -> Step<Option<milena_records::Error>> {
    for record in batch.records().skip(skip) {
        let record = match record {
            Ok(record) => record,
            Err(error) => return Ok(Some(error)),
        };
        *read += 1;
        if !walk.options.selection.holds(&record) {
            continue;
        }
        if !*is_shown {
            *is_shown = true;
            walk.give(head)?;
        }
        walk.summary.records += 1;
        let decoded = match walk.topic {
            Some(topic) if !batch.is_control() => Some(topic.decode(record.key, record.value)),
            _ => None,
        };
        walk.give(&Item::Record { batch, record: &record, decoded: decoded.as_ref() })?;
        if let Some(decoded) = decoded.filter(|decoded| !decoded.is_understood()) {
            let range = batch.place().range;
            walk.fault(&not_understood(&decoded, record.offset, range.start as u64..range.end as u64))?;
        }
    }
    Ok(None)
}

/// A key or a value of one of Kafka's own topics that is of no known type, or not what its type says.
fn not_understood(record: &TopicRecord, offset: i64, range: Range<u64>) -> Fault {
    let parts = [("key", &record.key), ("value", &record.value)].into_iter().filter_map(|(name, part)| match part {
        topic::Content::Raw { why, .. } => Some(format!("{name}: {why}")),
        _ => None,
    });
    Fault::new("not_understood", range, format!("offset {offset}: {}", parts.collect::<Vec<_>>().join("; ")))
}
