use std::fs;
use std::io;
use std::path::Path;

use milena_records::{Batch, ErrorKind, Mode, ReadOptions};

use crate::checkpoint::{read_epochs, read_offsets};
use crate::fault::Fault;
use crate::folder::{File, list};
use crate::index::{IndexEntry, IndexKind, IndexPart, IndexReader};
use crate::item::Item;
use crate::log::{LogContent, LogReader};
use crate::name::FileKind;
use crate::property::read_properties;
use crate::selection::Selection;
use crate::snapshot::read_producers;
use crate::walk::{Options, Step, Summary, Visit, Walk};

/// Reads a file of a log folder, the folder of a partition, or a whole log folder, and gives what is there item by item.
/// A file whose name says nothing counts as a log.
///
/// Memory is bounded by the largest batch and what it decompresses to; see [`LogOptions`](crate::LogOptions). The files of
/// a whole folder come in the order of partitions and offsets; files that belong to no log are skipped.
///
/// # Errors
/// A path that does not exist or cannot be read; a folder without files of a log; an error of `visit`. Wrong content of
/// files is not an error but an [`Item::Fault`].
pub fn read(path: &Path, options: &Options, visit: &mut Visit) -> io::Result<Summary> {
    let folders = list(path)?;
    let mut walk = Walk::new(options, visit);
    let ended = folders.iter().flat_map(|folder| &folder.files).try_for_each(|file| walk.file(file));
    walk.finish(ended)
}

/// Reads a log from anywhere, such as a pipe.
///
/// # Errors
/// Those of `input` and `visit`.
pub fn read_log(input: impl io::Read, options: &Options, visit: &mut Visit) -> io::Result<Summary> {
    let mut walk = Walk::new(options, visit);
    walk.summary.files = 1;
    let ended = walk.log(input);
    walk.finish(ended)
}

impl Walk<'_, '_> {
    fn file(&mut self, file: &File) -> Step {
        if self.is_passed_over(file) {
            return Ok(());
        }
        self.begin(file)?;
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

    /// A selection of records leaves out everything else.
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
                LogContent::Batch { batch, crc_valid } => self.batch(&batch, crc_valid)?,
                LogContent::Damaged(fault) => self.fault(&fault)?,
                LogContent::Zeros => self.give(&Item::Zeros(entry.range))?,
                LogContent::CutOff { expected } => self.give(&Item::CutOff { range: entry.range, expected })?,
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
        // The checksum of the batch was reported above.
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
        match self.whole(file)? {
            Some(bytes) => self.give(&Item::QuorumState(&bytes)),
            None => Ok(()),
        }
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
        walk.give(&Item::Record { batch, record: &record })?;
    }
    Ok(None)
}
