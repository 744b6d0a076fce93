use std::io::{self, Read};
use std::ops::Range;

use bytes::Bytes;
use milena_records::{Batch, ReadOptions};

use crate::fault::Fault;
use crate::head::{HEAD, Head, MAGIC};
use crate::resync::{Extent, Resync, lost};
use crate::window::Window;

/// How to walk over a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// Most bytes of one batch; 128 MiB by default. A larger size counts as damage, so this bounds memory.
    pub max_batch: usize,
    /// How to read the records of the batches: [`ReadOptions::limit`] bounds what one decompresses to. Its `check_crc` is
    /// ignored, since the walk compares the checksum of each batch.
    pub records: ReadOptions,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { max_batch: 128 << 20, records: ReadOptions::default() }
    }
}

/// A part of a log, and where it is.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// Its bytes in the file.
    pub range: Range<u64>,
    /// The first of them, at most 61, which is the longest header.
    pub head: Bytes,
    /// What it is.
    pub content: LogContent,
}

/// What a part of a log is.
#[derive(Clone, Debug)]
pub enum LogContent {
    /// A batch whose header can be read.
    Batch {
        /// The batch; its place is that in the file.
        batch: Batch,
        /// Whether the checksum of the batch is valid.
        crc_valid: bool,
    },
    /// Bytes that are not a batch. The walk continues where the next one begins.
    Damaged(Fault),
    /// Zeros up to the end: space that a broker has preallocated.
    Zeros,
    /// The beginning of a batch, cut off where the file ends.
    CutOff {
        /// Size of the whole batch, if enough of it is there to tell.
        expected: Option<u64>,
    },
}

/// Walks over a log segment or a KRaft snapshot, from batch to batch, of any mix of magic 0, 1 and 2.
///
/// One batch is held in memory at a time, so that memory does not grow with the file. Where a size or a magic is impossible
/// or a checksum is wrong, the walk looks for a batch with a right checksum (CRC-32C in magic 2, CRC-32 before), first inside
/// of the bytes that the damaged one claims. Bytes that only look like a batch never hide one that is right.
///
/// ```
/// use milena_storage::{LogContent, LogReader};
/// use milena_records::{Codec, Record, encode};
///
/// let mut file = encode(&[Record::new("k", "v")], Codec::Zstd)?.to_vec();
/// file.resize(file.len() + 4096, 0);
/// let mut log = LogReader::new(&file[..]);
///
/// let first = log.next().unwrap()?;
/// let LogContent::Batch { batch, crc_valid: true } = first.content else { panic!() };
/// assert_eq!(batch.records().next().unwrap()?.value, Some(&b"v"[..]));
/// assert!(matches!(log.next().unwrap()?.content, LogContent::Zeros));
/// assert!(log.next().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LogReader<R> {
    window: Window<R>,
    options: LogOptions,
    resync: Resync,
    batches: usize,
    /// The first bytes of the entry that is read.
    head: Bytes,
    /// After the last batch that was right.
    next_offset: Option<i64>,
    done: bool,
}

/// Why there is no batch at a place.
enum Lost {
    CutOff(Option<u64>),
    Damaged(Fault),
}

impl<R: Read> LogReader<R> {
    /// Reads with the default options. `read` needs no buffer around it.
    pub fn new(read: R) -> Self {
        Self::with_options(read, LogOptions::default())
    }

    /// Reads with the given options.
    pub fn with_options(read: R, options: LogOptions) -> Self {
        let resync = Resync::new(options.max_batch);
        Self {
            window: Window::new(read),
            options,
            resync,
            batches: 0,
            head: Bytes::new(),
            next_offset: None,
            done: false,
        }
    }

    fn step(&mut self) -> io::Result<Option<LogEntry>> {
        let held = self.window.fill(HEAD)?;
        if held == 0 {
            return Ok(None);
        }
        let start = self.window.position();
        self.head = Bytes::copy_from_slice(&self.window.held()[..held.min(HEAD)]);
        let total = match Head::read(self.window.held(), self.options.max_batch) {
            Head::Whole(total) => total,
            Head::Short(expected) => return self.search(Lost::CutOff(expected)).map(Some),
            Head::Wrong { at, message } => {
                let mut fault = Fault::new("framing", start..start, message);
                fault.at = Some(start + at as u64);
                fault.path = format!("batches[{}]", self.batches);
                return self.search(Lost::Damaged(fault)).map(Some);
            }
        };
        if self.window.fill(total)? < total {
            return self.search(Lost::CutOff(Some(total as u64))).map(Some);
        }
        let range = start..start + total as u64;
        let bytes = self.window.take(total);
        let batch = Batch::parse(bytes.clone(), self.records_options(bytes[MAGIC]));
        let batch = batch.map(|batch| batch.placed(self.batches, start as usize));
        let fault = match &batch {
            Ok(batch) => batch.check_crc().err().map(|error| Fault::of_batch(&error, range.clone())),
            Err(error) => {
                let mut fault = Fault::of_batch(error, range.clone());
                fault.at = fault.at.map(|at| at + start);
                Some(fault)
            }
        };
        let content = match (batch, fault) {
            (Ok(batch), None) => {
                self.next_offset = Some(batch.next_offset());
                LogContent::Batch { batch, crc_valid: true }
            }
            (batch, Some(fault)) => {
                self.window.put_back(&bytes);
                match self.resync.extent(&mut self.window, total, self.next_offset)? {
                    Extent::Unknown => return self.search(Lost::Damaged(fault)).map(Some),
                    Extent::Before(size, found) => {
                        self.window.skip(size);
                        return Ok(Some(self.damaged(fault, start..start + size as u64, found)));
                    }
                    Extent::Claimed(found) => {
                        self.window.skip(total);
                        match batch {
                            Ok(batch) => LogContent::Batch { batch, crc_valid: false },
                            Err(_) => return Ok(Some(self.damaged(fault, range, found))),
                        }
                    }
                }
            }
            (Err(_), None) => return Ok(None),
        };
        self.batches += 1;
        Ok(Some(self.entry(range, content)))
    }

    /// The checksum of a batch is compared here; those of the messages in a wrapper are not.
    fn records_options(&self, magic: u8) -> ReadOptions {
        ReadOptions { check_crc: magic < 2, ..self.options.records }
    }

    /// Skips bytes that are not a batch, up to the next one or the end.
    fn search(&mut self, reason: Lost) -> io::Result<LogEntry> {
        let skipped = self.resync.search(&mut self.window)?;
        let range = skipped.range;
        let fault = match (reason, skipped.found) {
            (_, None) if skipped.are_zeros => return Ok(self.entry(range, LogContent::Zeros)),
            (Lost::CutOff(expected), None) => return Ok(self.entry(range, LogContent::CutOff { expected })),
            (Lost::CutOff(Some(expected)), Some(_)) => {
                let message = format!("entry of {expected} bytes, which the file does not have");
                Fault::new("framing", range.clone(), message)
            }
            (Lost::CutOff(None), Some(_)) => Fault::malformed(range.clone(), "no batch"),
            (Lost::Damaged(fault), _) => fault,
        };
        Ok(self.damaged(fault, range, skipped.found.flatten()))
    }

    /// Bytes that are not a batch. `found` is the first offset after them.
    fn damaged(&mut self, fault: Fault, range: Range<u64>, found: Option<i64>) -> LogEntry {
        self.batches += 1;
        let fault = Fault { range: range.clone(), lost: lost(self.next_offset, found), ..fault };
        self.entry(range, LogContent::Damaged(fault))
    }

    fn entry(&self, range: Range<u64>, content: LogContent) -> LogEntry {
        LogEntry { range, head: self.head.clone(), content }
    }
}

impl<R: Read> Iterator for LogReader<R> {
    type Item = io::Result<LogEntry>;

    fn next(&mut self) -> Option<io::Result<LogEntry>> {
        if self.done {
            return None;
        }
        let next = self.step().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}
