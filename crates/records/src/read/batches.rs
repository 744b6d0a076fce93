use bytes::Bytes;
use milena_wire::counted;

use crate::error::{BatchPlace, Error, ErrorKind, Result};
use crate::layout::{LOG_OVERHEAD, MAGIC, SIZE, i32_at, i64_at, legacy, v2};
use crate::options::ReadOptions;
use crate::read::batch::Batch;

/// The end of the input that is too short to be an entry: normal in responses of a broker, which cuts at a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Partial {
    /// Bytes there are.
    pub size: usize,
    /// Bytes that the whole entry takes, when enough is there to say.
    pub expected: Option<usize>,
}

/// Walks over a run of entries of any mix of formats, such as the `records` of a Fetch response or a log segment.
///
/// An entry is a record batch of magic 2, or one message of magic 0 or 1, which may be the wrapper of a compressed set.
/// Only the header is looked at here; nothing is copied, decompressed or checked against its checksum until the records
/// of a batch are asked for. Batches share the memory of the input.
///
/// A batch that cannot be opened is an error in its place, and the walk continues after it. An entry whose size or magic
/// makes no sense ([`ErrorKind::Framing`]) ends the walk.
///
/// ```
/// use milena_records::{Batches, Codec, Record, encode};
///
/// let bytes = encode(&[Record::from_value("a"), Record::from_value("b")], Codec::None)?;
/// let cut = bytes.slice(..bytes.len() - 1);
///
/// let mut values = Vec::new();
/// for batch in Batches::new(bytes) {
///     let batch = batch?;
///     for record in batch.records() {
///         values.push(record?.to_owned().value);
///     }
/// }
/// assert_eq!(values, [Some("a".into()), Some("b".into())]);
///
/// let mut batches = Batches::new(cut.clone());
/// assert!(batches.next().is_none());
/// assert_eq!(batches.partial().unwrap().size, cut.len());
/// # Ok::<(), milena_records::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Batches {
    buf: Bytes,
    pos: usize,
    index: usize,
    options: ReadOptions,
    partial: Option<Partial>,
    done: bool,
}

impl Batches {
    /// Walks over all of `buf` with the default [`ReadOptions`].
    pub fn new(buf: Bytes) -> Self {
        Self::with_options(buf, ReadOptions::default())
    }

    /// Walks with options of your own.
    pub fn with_options(buf: Bytes, options: ReadOptions) -> Self {
        Self { buf, pos: 0, index: 0, options, partial: None, done: false }
    }

    /// Bytes walked over so far: where the next entry begins.
    pub fn position(&self) -> usize {
        self.pos
    }

    /// Goes on at another byte, also when the walk has ended: after an entry with an invalid size, for someone who
    /// knows where the next one begins. What was skipped counts as one entry.
    pub fn skip_to(&mut self, position: usize) {
        self.pos = position.min(self.buf.len());
        self.index += 1;
        self.partial = None;
        self.done = false;
    }

    /// The entry that is cut off at the end, once the walk has come there.
    pub fn partial(&self) -> Option<Partial> {
        self.partial
    }

    fn end(&mut self, size: usize, expected: Option<usize>) -> Option<Result<Batch>> {
        self.done = true;
        if size > 0 {
            self.partial = Some(Partial { size, expected });
        }
        None
    }

    #[cold]
    fn framing(&mut self, at: usize, field: &'static str, message: String) -> Option<Result<Batch>> {
        self.done = true;
        let offset = i64_at(&self.buf, self.pos);
        let place =
            BatchPlace { index: self.index, base_offset: offset, last_offset: offset, range: self.pos..self.buf.len() };
        Some(Err(Error::new(ErrorKind::Framing, message).at(self.pos + at).in_field(field).in_batch(place)))
    }
}

impl Iterator for Batches {
    type Item = Result<Batch>;

    // Kafka's order of checks decides what is a tail and what is damage when both are there.
    fn next(&mut self) -> Option<Result<Batch>> {
        if self.done {
            return None;
        }
        let rest = &self.buf[self.pos..];
        let left = rest.len();
        if left < LOG_OVERHEAD {
            return self.end(left, None);
        }
        let size = i32_at(rest, SIZE);
        if size < legacy::MIN_SIZE_V0 as i32 {
            return self.framing(
                SIZE,
                "size",
                format!("entry of {}, the smallest has {}", counted(size, "byte"), legacy::MIN_SIZE_V0),
            );
        }
        let total = size as usize + LOG_OVERHEAD;
        if left <= MAGIC {
            return self.end(left, Some(total));
        }
        let magic = rest[MAGIC] as i8;
        if !(0..=2).contains(&magic) {
            return self.framing(MAGIC, "magic", format!("magic {magic} is unknown; expected 0, 1 or 2"));
        }
        if total > i32::MAX as usize {
            return self.framing(SIZE, "size", format!("entry of {size} bytes, more than an int32 can count"));
        }
        if left < total {
            return self.end(left, Some(total));
        }
        let (start, index) = (self.pos, self.index);
        self.pos += total;
        self.index += 1;
        let smallest = match magic {
            0 => LOG_OVERHEAD + legacy::MIN_SIZE_V0,
            1 => LOG_OVERHEAD + legacy::MIN_SIZE_V1,
            _ => v2::HEADER,
        };
        if total < smallest {
            let offset = i64_at(rest, 0);
            let place = BatchPlace { index, base_offset: offset, last_offset: offset, range: start..self.pos };
            let message = format!("entry of {}, with magic {magic} it takes {smallest}", counted(total, "byte"));
            return Some(Err(Error::malformed(start + SIZE, message).in_field("size").in_batch(place)));
        }
        Some(Ok(Batch::new(self.buf.slice(start..self.pos), index, start, self.options)))
    }
}

impl std::iter::FusedIterator for Batches {}
