use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use bytes::Bytes;

use crate::fault::Fault;
use crate::folder::File;
use crate::item::Item;
use crate::log::LogOptions;
use crate::selection::Selection;

/// Files that are read whole may not be larger: snapshots of producers and text.
const MAX_WHOLE: u64 = 64 << 20;

/// What to read of log folders and files, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Which records are wanted. Index entries are selected by offset and time too.
    pub selection: Selection,
    /// Gives batches without their records. Their payload is compared with its checksum and not decompressed.
    pub headers_only: bool,
    /// Also gives the records of damaged batches that can still be read, as
    /// [`Mode::Tolerant`](milena_records::Mode::Tolerant) reads. Otherwise a batch with a wrong checksum has no records, and
    /// a malformed one has those before the fault.
    pub tolerant: bool,
    /// Ends at the first fault.
    pub strict: bool,
    /// Limits of memory.
    pub log: LogOptions,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Files.
    pub files: u64,
    /// Batches, selected or not.
    pub batches: u64,
    /// Records that were given, or in [`verify`](crate::verify), all of them.
    pub records: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Faults.
    pub faults: u64,
    /// The first of them.
    pub first_fault: Option<String>,
}

/// Receives each item. A fault that it returns counts as one of the file: the caller may understand more of the content
/// than this crate does. An error ends the walk.
pub type Visit<'a> = dyn FnMut(&Item) -> io::Result<Option<Fault>> + 'a;

/// Why a walk ends early.
pub(crate) type Step<T = ()> = Result<T, Stop>;

#[derive(Debug)]
pub(crate) enum Stop {
    /// A file cannot be read.
    Read(io::Error),
    /// The visitor failed.
    Visit(io::Error),
    /// Strict reading has met a fault.
    Strict,
}

impl Stop {
    pub(crate) fn in_file(self, path: &Path) -> Self {
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

/// Gives items to a visitor and counts them.
pub(crate) struct Walk<'a, 'v> {
    pub(crate) options: &'a Options,
    visit: &'a mut Visit<'v>,
    pub(crate) summary: Summary,
}

impl<'a, 'v> Walk<'a, 'v> {
    pub(crate) fn new(options: &'a Options, visit: &'a mut Visit<'v>) -> Self {
        Self { options, visit, summary: Summary::default() }
    }

    /// What was read, unless reading failed.
    pub(crate) fn finish(self, ended: Step) -> io::Result<Summary> {
        match ended {
            Ok(()) | Err(Stop::Strict) => Ok(self.summary),
            Err(Stop::Read(error) | Stop::Visit(error)) => Err(error),
        }
    }

    pub(crate) fn give(&mut self, item: &Item) -> Step {
        match (self.visit)(item).map_err(Stop::Visit)? {
            Some(fault) => self.fault(&fault),
            None => Ok(()),
        }
    }

    pub(crate) fn fault(&mut self, fault: &Fault) -> Step {
        self.summary.faults += 1;
        if self.summary.first_fault.is_none() {
            self.summary.first_fault = Some(fault.to_string());
        }
        (self.visit)(&Item::Fault(fault)).map_err(Stop::Visit)?;
        if self.options.strict { Err(Stop::Strict) } else { Ok(()) }
    }

    /// The next file begins.
    pub(crate) fn begin(&mut self, file: &File) -> Step {
        self.summary.files += 1;
        self.summary.bytes += file.size;
        self.give(&Item::File(file))
    }

    /// All of a small file; a fault when it is not small.
    pub(crate) fn whole(&mut self, file: &File) -> Step<Option<Bytes>> {
        let mut bytes = Vec::new();
        fs::File::open(&file.path)?.take(MAX_WHOLE + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= MAX_WHOLE {
            return Ok(Some(bytes.into()));
        }
        let message = format!("more than {MAX_WHOLE} bytes, which no such file has");
        self.fault(&Fault::new("limit_exceeded", 0..file.size, message))?;
        Ok(None)
    }
}
