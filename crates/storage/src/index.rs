use std::fmt;
use std::io::{self, Read};
use std::ops::Range;

use milena_messages::{AbortedTxn, Message as _};

use crate::fault::Fault;
use crate::number::big_endian;
use crate::window::Window;

/// An entry of a `.index` file: the batch with an offset, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetEntry {
    /// The offset; the file has it relative to that of the segment.
    pub offset: i64,
    /// Byte of the segment's log.
    pub position: u32,
}

/// An entry of a `.timeindex` file: no record up to an offset is younger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeEntry {
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// The offset of that record or of its batch; the file has it relative to that of the segment.
    pub offset: i64,
}

/// An entry of an index of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexEntry {
    /// Out of a `.index`.
    Offset(OffsetEntry),
    /// Out of a `.timeindex` (KIP-33).
    Time(TimeEntry),
    /// Out of a `.txnindex` (KIP-98).
    Aborted(AbortedTxn),
}

impl IndexEntry {
    /// Appends the entry as the index of the segment that begins at `base_offset` has it.
    ///
    /// # Errors
    /// An offset or position that such an index cannot hold.
    pub fn push(&self, base_offset: i64, out: &mut Vec<u8>) -> Result<(), OutOfSegment> {
        let relative = |offset: i64| {
            let relative = offset.checked_sub(base_offset).and_then(|relative| i32::try_from(relative).ok());
            relative.filter(|relative| *relative >= 0).ok_or(OutOfSegment { number: offset, base_offset })
        };
        match self {
            Self::Offset(entry) => {
                let position = i32::try_from(entry.position);
                let position = position.map_err(|_| OutOfSegment { number: entry.position.into(), base_offset })?;
                out.extend_from_slice(&relative(entry.offset)?.to_be_bytes());
                out.extend_from_slice(&position.to_be_bytes());
            }
            Self::Time(entry) => {
                let relative = relative(entry.offset)?;
                out.extend_from_slice(&entry.timestamp.to_be_bytes());
                out.extend_from_slice(&relative.to_be_bytes());
            }
            Self::Aborted(aborted) => {
                out.extend_from_slice(&0_i16.to_be_bytes());
                for number in
                    [aborted.producer_id, aborted.first_offset, aborted.last_offset, aborted.last_stable_offset]
                {
                    out.extend_from_slice(&number.to_be_bytes());
                }
            }
        }
        Ok(())
    }
}

/// An offset or position that the index of a segment cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfSegment {
    /// The offset or position.
    pub number: i64,
    /// Where the segment begins.
    pub base_offset: i64,
}

impl fmt::Display for OutOfSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, base_offset } = self;
        write!(f, "{number} does not fit in the index of a segment that begins at offset {base_offset}")
    }
}

impl std::error::Error for OutOfSegment {}

/// Which index it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// `.index`, 8 bytes an entry.
    Offset,
    /// `.timeindex`, 12 bytes an entry.
    Time,
    /// `.txnindex`, 34 bytes an entry.
    Txn,
}

impl IndexKind {
    fn width(self) -> usize {
        match self {
            Self::Offset => 8,
            Self::Time => 12,
            Self::Txn => 34,
        }
    }
}

/// A part of an index.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexPart {
    /// An entry.
    Entry(IndexEntry),
    /// Zeros up to the end: space that a broker has preallocated.
    Zeros,
    /// Bytes that are not an entry.
    Damaged(Fault),
}

/// Reads the entries of an index, of any length, in constant memory.
///
/// ```
/// use milena_storage::{IndexEntry, IndexKind, IndexPart, IndexReader, OffsetEntry};
///
/// // The segment begins at offset 291.
/// let file = [&[0, 0, 0, 108, 0, 0, 0x20, 0xed][..], &[0; 64]].concat();
/// let mut index = IndexReader::new(&file[..], IndexKind::Offset, 291);
/// let (range, part) = index.next().unwrap()?;
/// assert_eq!(range, 0..8);
/// assert_eq!(part, IndexPart::Entry(IndexEntry::Offset(OffsetEntry { offset: 399, position: 8429 })));
/// assert_eq!(index.next().unwrap()?, (8..72, IndexPart::Zeros));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct IndexReader<R> {
    window: Window<R>,
    kind: IndexKind,
    base_offset: i64,
    done: bool,
}

impl<R: Read> IndexReader<R> {
    /// Reads the index of the segment that begins at `base_offset`. No buffer is needed around `read`.
    pub fn new(read: R, kind: IndexKind, base_offset: i64) -> Self {
        Self { window: Window::new(read), kind, base_offset, done: false }
    }

    fn step(&mut self) -> io::Result<Option<(Range<u64>, IndexPart)>> {
        let width = self.kind.width();
        let start = self.window.position();
        let held = self.window.fill(width)?;
        if held == 0 {
            return Ok(None);
        }
        let mut zeros = 0;
        // An entry of zeros is none: the first batch of a segment gets no entry, and an abort comes after its records.
        while self.window.held().iter().take(width).all(|byte| *byte == 0) {
            let size = self.window.fill(width)?.min(width);
            if size == 0 {
                break;
            }
            zeros += size as u64;
            self.window.skip(size);
            self.window.fill(width)?;
        }
        if zeros > 0 {
            let range = start..start + zeros;
            let part = match self.window.held().is_empty() {
                true => IndexPart::Zeros,
                false => IndexPart::Damaged(Fault::malformed(range.clone(), "zeros before entries")),
            };
            return Ok(Some((range, part)));
        }
        let size = held.min(width);
        let bytes = self.window.take(size);
        let range = start..start + size as u64;
        if size < width {
            let message = format!("an entry that is cut off: {size} bytes of {width}");
            return Ok(Some((range.clone(), IndexPart::Damaged(Fault::malformed(range, message)))));
        }
        let relative = |at| i64::from(big_endian(&bytes[at..at + 4]) as i32);
        let offset = |at| self.base_offset.saturating_add(relative(at));
        let is_negative = |at: usize| bytes[at] >= 0x80;
        let fault = |message: String| IndexPart::Damaged(Fault::malformed(range.clone(), message));
        let part = match self.kind {
            IndexKind::Offset if is_negative(0) || is_negative(4) => {
                fault(format!("an entry with a negative number: offset {}, position {}", relative(0), relative(4)))
            }
            IndexKind::Time if is_negative(8) => fault(format!("an entry with a negative offset: {}", relative(8))),
            IndexKind::Offset => {
                let position = big_endian(&bytes[4..8]) as u32;
                IndexPart::Entry(IndexEntry::Offset(OffsetEntry { offset: offset(0), position }))
            }
            IndexKind::Time => {
                let timestamp = big_endian(&bytes[..8]) as i64;
                IndexPart::Entry(IndexEntry::Time(TimeEntry { timestamp, offset: offset(8) }))
            }
            IndexKind::Txn => {
                let version = big_endian(&bytes[..2]) as i16;
                match AbortedTxn::from_bytes(bytes.slice(2..), version) {
                    Ok(aborted) => IndexPart::Entry(IndexEntry::Aborted(aborted)),
                    Err(error) => fault(error.to_string()),
                }
            }
        };
        Ok(Some((range, part)))
    }
}

impl<R: Read> Iterator for IndexReader<R> {
    /// The bytes in the file, and what they are.
    type Item = io::Result<(Range<u64>, IndexPart)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.step().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}
