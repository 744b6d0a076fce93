use std::io::{self, Read};
use std::ops::Range;

use bytes::Bytes;
use milena_records::{Batch, Codec, ReadOptions};

use crate::fault::Fault;
use crate::number::big_endian;
use crate::window::Window;

/// Offset and size in front of every entry, and the magic behind them.
const OVERHEAD: usize = 12;
const MAGIC: usize = 16;
/// The longest header, that of magic 2. As much is looked at behind a batch whose checksum is wrong.
const HEAD: usize = 61;
/// Bytes that may be compared with a checksum while searching, besides four for each byte that is passed over. It bounds
/// the time that made-up headers can cost.
const CREDIT: u64 = 64 << 20;
/// Bytes that are passed over before they are let go.
const LET_GO: usize = 64 << 10;

/// How to walk over a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// Most bytes of one batch; 128 MiB by default. A size above is taken for damage, so this bounds memory.
    pub max_batch: usize,
    /// How to read the records of the batches: [`ReadOptions::limit`] bounds what one decompresses to. Its `check_crc` is
    /// not looked at, since the walk compares the checksum of each batch.
    pub records: ReadOptions,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { max_batch: 128 << 20, records: ReadOptions::default() }
    }
}

/// What stands in a log, and where.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// Its bytes in the file.
    pub range: Range<u64>,
    /// What it is.
    pub content: Content,
}

/// What a part of a log is.
#[derive(Clone, Debug)]
pub enum Content {
    /// A batch whose header can be read.
    Batch {
        /// The batch; its place is that in the file.
        batch: Batch,
        /// Whether the checksum of the batch is right.
        crc_valid: bool,
    },
    /// Bytes that are no batch. The walk goes on where the next one begins.
    Damaged(Fault),
    /// Zeros up to the end: room that a broker has set aside.
    Zeros,
    /// The beginning of a batch, cut off where the file ends.
    CutOff {
        /// Bytes that the whole batch takes, when enough is there to say.
        expected: Option<u64>,
    },
}

/// Walks over a log segment or a KRaft snapshot, from batch to batch, of any mix of magic 0, 1 and 2.
///
/// A batch is held in memory and nothing else, so that memory does not grow with the file. Where a size or a magic cannot
/// be, or a checksum is wrong and no batch follows, the walk searches for the next batch whose checksum is right.
///
/// ```
/// use milena_storage::{Content, LogReader};
/// use milena_records::{Codec, Record, encode};
///
/// let mut file = encode(&[Record::new("k", "v")], Codec::Zstd)?.to_vec();
/// file.resize(file.len() + 4096, 0);
/// let mut log = LogReader::new(&file[..]);
///
/// let first = log.next().unwrap()?;
/// let Content::Batch { batch, crc_valid: true } = first.content else { panic!() };
/// assert_eq!(batch.records().next().unwrap()?.value, Some(&b"v"[..]));
/// assert!(matches!(log.next().unwrap()?.content, Content::Zeros));
/// assert!(log.next().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LogReader<R> {
    window: Window<R>,
    options: LogOptions,
    batches: usize,
    /// Behind the last batch, when there was one.
    next_offset: Option<i64>,
    credit: u64,
    done: bool,
}

/// Why there is no batch at a place.
enum Lost {
    CutOff(Option<u64>),
    Damaged(Fault),
}

impl<R: Read> LogReader<R> {
    /// Reads with the default options. No buffer is needed around `read`.
    pub fn new(read: R) -> Self {
        Self::with_options(read, LogOptions::default())
    }

    /// Reads with options of your own.
    pub fn with_options(read: R, options: LogOptions) -> Self {
        Self { window: Window::new(read), options, batches: 0, next_offset: None, credit: CREDIT, done: false }
    }

    fn step(&mut self) -> io::Result<Option<LogEntry>> {
        let held = self.window.fill(HEAD)?;
        if held == 0 {
            return Ok(None);
        }
        let start = self.window.position();
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
        let held = self.window.fill(total + HEAD)?;
        if held < total {
            return self.search(Lost::CutOff(Some(total as u64))).map(Some);
        }
        let range = start..start + total as u64;
        let bytes = self.window.take(total);
        let batch = match Batch::parse(bytes.clone(), self.records_options(bytes[MAGIC])) {
            Ok(batch) => batch.placed(self.batches, start as usize),
            Err(error) => {
                self.batches += 1;
                let mut fault = Fault::of_batch(&error, range.clone());
                fault.at = fault.at.map(|at| at + start);
                return Ok(Some(LogEntry { range, content: Content::Damaged(fault) }));
            }
        };
        let checked = batch.check_crc();
        if let Err(error) = &checked {
            // If what follows is no batch either, the size may be what is damaged.
            if !self.goes_on() && self.pay(total) {
                self.window.put_back(&bytes);
                return self.search(Lost::Damaged(Fault::of_batch(error, range))).map(Some);
            }
        }
        self.batches += 1;
        self.next_offset = Some(batch.next_offset());
        Ok(Some(LogEntry { range, content: Content::Batch { batch, crc_valid: checked.is_ok() } }))
    }

    /// The checksum of a batch is compared here; those of the messages in a wrapper are not.
    fn records_options(&self, magic: u8) -> ReadOptions {
        ReadOptions { check_crc: magic < 2, ..self.options.records }
    }

    /// Whether the bytes to come can be a batch, the end, or room set aside.
    fn goes_on(&self) -> bool {
        let held = self.window.held();
        let head = held.get(..HEAD).unwrap_or(held);
        head.iter().all(|byte| *byte == 0) || is_plausible(head, self.options.max_batch)
    }

    /// Whether there is credit left for so many bytes.
    fn pay(&mut self, bytes: usize) -> bool {
        let left = self.credit.checked_sub(bytes as u64);
        self.credit = left.unwrap_or(self.credit);
        left.is_some()
    }

    /// Passes over bytes that are no batch, up to the next one or the end.
    fn search(&mut self, lost: Lost) -> io::Result<LogEntry> {
        let start = self.window.position();
        let (mut at, mut zeros) = (0, true);
        let found = loop {
            let held = self.window.fill(at + HEAD)?;
            let Some(byte) = self.window.held().get(at) else { break None };
            zeros &= *byte == 0;
            at += 1;
            self.credit = self.credit.saturating_add(4);
            if held > at + MAGIC && self.is_batch(at)? {
                break self.window.held().get(at..at + 8).map(|offset| big_endian(offset) as i64);
            }
            if at >= LET_GO {
                self.window.skip(at);
                at = 0;
            }
        };
        self.window.skip(at);
        let range = start..self.window.position();
        let content = match (lost, found) {
            (_, None) if zeros => Content::Zeros,
            (Lost::CutOff(expected), None) => Content::CutOff { expected },
            (Lost::CutOff(Some(expected)), Some(_)) => {
                let message = format!("entry of {expected} bytes, which the file does not have");
                Content::Damaged(self.damage(Fault::new("framing", range.clone(), message), &range, found))
            }
            (Lost::CutOff(None), Some(_)) => {
                Content::Damaged(self.damage(Fault::malformed(range.clone(), "no batch"), &range, found))
            }
            (Lost::Damaged(fault), found) => Content::Damaged(self.damage(fault, &range, found)),
        };
        if matches!(content, Content::Damaged(_)) {
            self.batches += 1;
        }
        Ok(LogEntry { range, content })
    }

    fn damage(&self, fault: Fault, range: &Range<u64>, found: Option<i64>) -> Fault {
        let lost = match (self.next_offset, found) {
            (Some(from), Some(to)) if from < to => Some(from..to),
            _ => None,
        };
        Fault { range: range.clone(), lost, ..fault }
    }

    /// Whether a batch with a right checksum begins there.
    fn is_batch(&mut self, at: usize) -> io::Result<bool> {
        let Some(head) = self.window.held().get(at..) else { return Ok(false) };
        let head = head.get(..HEAD).unwrap_or(head);
        if !is_plausible(head, self.options.max_batch) {
            return Ok(false);
        }
        let Head::Whole(total) = Head::read(head, self.options.max_batch) else { return Ok(false) };
        if !self.pay(total) || self.window.fill(at + total)? < at + total {
            return Ok(false);
        }
        let bytes = Bytes::copy_from_slice(&self.window.held()[at..at + total]);
        Ok(Batch::parse(bytes, ReadOptions::default()).is_ok_and(|batch| batch.check_crc().is_ok()))
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

/// The first bytes of an entry.
enum Head {
    /// They say that it takes so many bytes.
    Whole(usize),
    /// There are too few to say, but for the size perhaps.
    Short(Option<u64>),
    /// They cannot be.
    Wrong { at: usize, message: String },
}

impl Head {
    fn read(bytes: &[u8], max_batch: usize) -> Self {
        let Some(size) = bytes.get(8..OVERHEAD) else { return Self::Short(None) };
        let size = big_endian(size) as i32;
        let smallest = 14;
        if size < smallest {
            return Self::Wrong { at: 8, message: format!("entry of {size} bytes, the smallest has {smallest}") };
        }
        let total = size as usize + OVERHEAD;
        let Some(magic) = bytes.get(MAGIC) else { return Self::Short(Some(total as u64)) };
        if *magic > 2 {
            return Self::Wrong { at: MAGIC, message: format!("magic {}, there are 0, 1 and 2", *magic as i8) };
        }
        if total > max_batch {
            return Self::Wrong {
                at: 8,
                message: format!("entry of {size} bytes, more than the limit of {max_batch}"),
            };
        }
        Self::Whole(total)
    }
}

/// Whether bytes look like the header of a batch: more than is asked of one that stands where it should.
fn is_plausible(head: &[u8], max_batch: usize) -> bool {
    let number = |range: Range<usize>| head.get(range).map(big_endian);
    let Head::Whole(total) = Head::read(head, max_batch) else {
        // An end that is cut off is plausible.
        return head.len() <= MAGIC && head.first().is_none_or(|byte| *byte < 0x80);
    };
    if head[0] >= 0x80 {
        return false;
    }
    match head[MAGIC] {
        2 => {
            let (Some(attributes), Some(delta), Some(count)) = (number(21..23), number(23..27), number(57..61)) else {
                return total >= HEAD;
            };
            let codec = Codec::from_id((attributes & 7) as u8);
            let (delta, count) = (delta as i32, count as i32);
            total >= HEAD && attributes < 0x80 && codec.is_some() && delta >= 0 && count >= 0
        }
        _ => number(17..18).is_none_or(|attributes| attributes < 0x10),
    }
}
