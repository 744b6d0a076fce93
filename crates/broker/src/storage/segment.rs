//! A segment of a log: whole batches, one after the other, with a sparse index of them.
//!
//! Batches lie in chunks. Each chunk but the last one is full and never changes, so that readers share its memory. What a
//! segment needs besides the bytes of its batches is a few percent: the free part of the last chunk, which is a sixteenth
//! of the segment at most, and a mark of 24 bytes for each 4 KiB.

use bytes::Bytes;

use crate::storage::batch::LogBatch;

/// Least bytes between two marks of the index, as Kafka's `index.interval.bytes`.
const MARK_EVERY: u64 = 4096;
const SMALLEST_CHUNK: u64 = 1 << 10;
const LARGEST_CHUNK: u64 = 1 << 20;

/// A run of batches that does not change any more.
#[derive(Clone, Debug)]
struct Chunk {
    /// Where it begins in the segment.
    position: u64,
    bytes: Bytes,
}

/// A batch that the index knows.
#[derive(Clone, Copy, Debug)]
struct Mark {
    base_offset: i64,
    position: u64,
    /// The greatest timestamp of all batches before it in the segment.
    max_before: i64,
}

/// A segment.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    base_offset: i64,
    /// After the last batch.
    end_offset: i64,
    size: u64,
    /// -1 while no batch has a timestamp.
    max_timestamp: i64,
    /// The greatest timestamp of the first batch: the age of the segment counts from it.
    first_timestamp: Option<i64>,
    /// When its first and its last batch came, in milliseconds since 1970.
    created_ms: i64,
    modified_ms: i64,
    chunks: Vec<Chunk>,
    tail: Vec<u8>,
    tail_position: u64,
    marks: Vec<Mark>,
}

impl Segment {
    /// An empty segment that begins at this offset.
    pub(crate) fn new(base_offset: i64) -> Self {
        Self {
            base_offset,
            end_offset: base_offset,
            size: 0,
            max_timestamp: -1,
            first_timestamp: None,
            created_ms: 0,
            modified_ms: 0,
            chunks: Vec::new(),
            tail: Vec::new(),
            tail_position: 0,
            marks: Vec::new(),
        }
    }

    pub(crate) fn base_offset(&self) -> i64 {
        self.base_offset
    }

    /// The offset after the last batch.
    pub(crate) fn end_offset(&self) -> i64 {
        self.end_offset
    }

    /// Bytes of its batches.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// When the last batch came, in milliseconds since 1970.
    pub(crate) fn modified_ms(&self) -> i64 {
        self.modified_ms
    }

    /// Keeps the time of the segment that this one takes the place of.
    pub(crate) fn set_modified_ms(&mut self, modified_ms: i64) {
        self.modified_ms = modified_ms;
    }

    /// The greatest timestamp of its batches; -1 when none has one.
    pub(crate) fn max_timestamp(&self) -> i64 {
        self.max_timestamp
    }

    /// The greatest timestamp of the first batch.
    pub(crate) fn first_timestamp(&self) -> Option<i64> {
        self.first_timestamp
    }

    /// The time that retention counts from: the greatest timestamp, or else when the last batch came.
    pub(crate) fn largest_timestamp(&self) -> i64 {
        if self.max_timestamp >= 0 { self.max_timestamp } else { self.modified_ms }
    }

    /// How long the segment has been written to when a batch with this timestamp comes (Kafka's `timeWaitedForRoll`).
    pub(crate) fn age(&self, timestamp: i64, now_ms: i64) -> i64 {
        match self.first_timestamp.filter(|first| *first >= 0) {
            Some(first) => timestamp.saturating_sub(first),
            None => now_ms.saturating_sub(self.created_ms),
        }
    }

    /// Bytes of memory that it takes.
    pub(crate) fn memory(&self) -> u64 {
        let chunks = self.size - self.tail.len() as u64 + self.tail.capacity() as u64;
        let lists = self.chunks.capacity() * size_of::<Chunk>() + self.marks.capacity() * size_of::<Mark>();
        chunks + lists as u64 + size_of::<Self>() as u64
    }

    /// Appends the bytes of a batch after `finish` has set what its header lacks.
    ///
    /// # Errors
    /// That of `finish`; nothing is appended then.
    pub(crate) fn append<E>(
        &mut self,
        batch: &[u8],
        now_ms: i64,
        finish: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let chunk = (self.size / 16).clamp(SMALLEST_CHUNK, LARGEST_CHUNK) as usize;
        if self.tail.capacity() - self.tail.len() < batch.len() {
            self.seal();
            self.tail = Vec::with_capacity(chunk.max(batch.len()));
        }
        let at = self.tail.len();
        self.tail.extend_from_slice(batch);
        if let Err(error) = finish(&mut self.tail[at..]) {
            self.tail.truncate(at);
            return Err(error);
        }
        let header = Header(&self.tail[at..]);
        let position = self.size;
        if self.marks.last().is_none_or(|last| position - last.position >= MARK_EVERY) {
            self.marks.push(Mark { base_offset: header.base_offset(), position, max_before: self.max_timestamp });
        }
        if position == 0 {
            self.first_timestamp = Some(header.max_timestamp());
            self.created_ms = now_ms;
        }
        self.size += batch.len() as u64;
        self.end_offset = header.last_offset() + 1;
        self.max_timestamp = self.max_timestamp.max(header.max_timestamp());
        self.modified_ms = now_ms;
        Ok(())
    }

    /// Makes the last chunk one that does not change any more, and gives back the memory that it does not need.
    pub(crate) fn seal(&mut self) {
        if !self.tail.is_empty() {
            let mut bytes = std::mem::take(&mut self.tail);
            bytes.shrink_to_fit();
            self.chunks.push(Chunk { position: self.tail_position, bytes: bytes.into() });
        }
        self.tail = Vec::new();
        self.tail_position = self.size;
    }

    /// The bytes from a position to the end of their chunk.
    fn rest(&self, position: u64) -> &[u8] {
        if position >= self.tail_position {
            return &self.tail[(position - self.tail_position) as usize..];
        }
        let chunk = &self.chunks[self.chunks.partition_point(|chunk| chunk.position <= position) - 1];
        &chunk.bytes[(position - chunk.position) as usize..]
    }

    /// The bytes between two positions. Those of one chunk are shared, others are copied.
    pub(crate) fn slices(&self, from: u64, to: u64, out: &mut Vec<Bytes>) {
        let first = self.chunks.partition_point(|chunk| chunk.position <= from).saturating_sub(1);
        for chunk in &self.chunks[first..] {
            let end = chunk.position + chunk.bytes.len() as u64;
            let (start, stop) = (from.max(chunk.position), to.min(end));
            if start < stop {
                let slice = (start - chunk.position) as usize..(stop - chunk.position) as usize;
                out.push(chunk.bytes.slice(slice));
            }
        }
        let (start, stop) = (from.max(self.tail_position), to.min(self.size));
        if start < stop {
            let slice = (start - self.tail_position) as usize..(stop - self.tail_position) as usize;
            out.push(Bytes::copy_from_slice(&self.tail[slice]));
        }
    }

    /// The last bytes of it, as many as were appended last.
    pub(crate) fn end_bytes(&self, size: usize) -> &[u8] {
        self.tail.get(self.tail.len().saturating_sub(size)..).unwrap_or_default()
    }

    /// The headers of the batches from a position on, which has to be that of a batch, each with its position and size.
    pub(crate) fn headers_from(&self, mut position: u64) -> impl Iterator<Item = (u64, Header<'_>)> {
        let mut rest: &[u8] = &[];
        std::iter::from_fn(move || {
            if position >= self.size {
                return None;
            }
            if rest.is_empty() {
                rest = self.rest(position);
            }
            let header = Header(rest);
            let at = position;
            position += header.size() as u64;
            rest = &rest[header.size()..];
            Some((at, header))
        })
    }

    /// The position of the first batch that ends at or after the offset; the size of the segment when there is none.
    pub(crate) fn position_of(&self, offset: i64) -> u64 {
        let after = self.marks.partition_point(|mark| mark.base_offset <= offset);
        let from = after.checked_sub(1).map_or(0, |at| self.marks[at].position);
        let found = self.headers_from(from).find(|(_, header)| header.last_offset() >= offset);
        found.map_or(self.size, |(position, _)| position)
    }

    /// The first batch from an offset on with a greatest timestamp at or after the time.
    pub(crate) fn at_time(&self, timestamp: i64, offset: i64) -> Option<LogBatch> {
        let after = self.marks.partition_point(|mark| mark.max_before < timestamp);
        let from = after.checked_sub(1).map_or(0, |at| self.marks[at].position);
        let from = from.max(self.position_of(offset));
        let (position, header) = self.headers_from(from).find(|(_, header)| header.max_timestamp() >= timestamp)?;
        let size = header.size() as u64;
        self.batch(position, size)
    }

    fn batch(&self, position: u64, size: u64) -> Option<LogBatch> {
        let mut bytes = Vec::with_capacity(1);
        self.slices(position, position + size, &mut bytes);
        bytes.pop().map(LogBatch::of)
    }

    /// All batches, oldest first. Their memory is shared as far as they lie in full chunks.
    pub(crate) fn batches(&self) -> impl Iterator<Item = LogBatch> {
        let mut pieces = Vec::new();
        self.slices(0, self.size, &mut pieces);
        pieces.into_iter().flat_map(split)
    }

    /// Removes the batches from this offset on.
    pub(crate) fn truncate_to(&mut self, offset: i64, now_ms: i64) {
        if self.end_offset <= offset {
            return;
        }
        let kept: Vec<LogBatch> = self.batches().take_while(|batch| batch.last_offset < offset).collect();
        let mut shorter = Self::new(self.base_offset);
        for batch in &kept {
            let done: Result<_, std::convert::Infallible> = shorter.append(&batch.bytes, now_ms, |_| Ok(()));
            match done {
                Ok(_) => {}
                Err(never) => match never {},
            }
        }
        shorter.created_ms = self.created_ms;
        *self = shorter;
    }
}

/// Batches that lie one after the other.
pub(crate) fn split(mut run: Bytes) -> impl Iterator<Item = LogBatch> {
    std::iter::from_fn(move || {
        (!run.is_empty()).then(|| {
            let size = Header(&run).size();
            LogBatch::of(run.split_to(size))
        })
    })
}

/// The beginning of a batch of magic 2 that is in a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header<'a>(pub(crate) &'a [u8]);

impl Header<'_> {
    fn i64_at(self, at: usize) -> i64 {
        self.0.get(at..).and_then(|rest| rest.first_chunk()).map_or(-1, |bytes| i64::from_be_bytes(*bytes))
    }

    fn i32_at(self, at: usize) -> i32 {
        self.0.get(at..).and_then(|rest| rest.first_chunk()).map_or(-1, |bytes| i32::from_be_bytes(*bytes))
    }

    fn i16_at(self, at: usize) -> i16 {
        self.0.get(at..).and_then(|rest| rest.first_chunk()).map_or(-1, |bytes| i16::from_be_bytes(*bytes))
    }

    pub(crate) fn base_offset(self) -> i64 {
        self.i64_at(0)
    }

    /// Bytes of the whole batch.
    pub(crate) fn size(self) -> usize {
        12 + self.i32_at(8).max(0) as usize
    }

    pub(crate) fn leader_epoch(self) -> i32 {
        self.i32_at(12)
    }

    pub(crate) fn attributes(self) -> i16 {
        self.i16_at(21)
    }

    pub(crate) fn last_offset(self) -> i64 {
        self.base_offset() + i64::from(self.i32_at(23))
    }

    pub(crate) fn max_timestamp(self) -> i64 {
        self.i64_at(35)
    }

    pub(crate) fn producer_id(self) -> i64 {
        self.i64_at(43)
    }

    pub(crate) fn producer_epoch(self) -> i16 {
        self.i16_at(51)
    }

    pub(crate) fn base_sequence(self) -> i32 {
        self.i32_at(53)
    }
}
