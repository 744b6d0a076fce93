use bytes::Bytes;
use milena_wire::varint::{self, zigzag64};

use crate::codec::Codec;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{
    CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, LOG_OVERHEAD, MAGIC, NONE, SIZE, TRANSACTIONAL, put_i16, put_i32,
    put_i64, put_u32, v2,
};
use crate::read::batch::{Batch, TimestampType};
use crate::write::append::AsRecord;
use crate::write::room::{Part, Room, Short};

/// Writes one record batch of magic 2.
///
/// Without compression the bytes are those that Kafka's own producer writes for the same records.
///
/// ```
/// use milena_records::{BatchBuilder, Codec, ErrorKind, Record};
///
/// let mut builder = BatchBuilder::new().codec(Codec::None).producer(4000, 0, 17).max_size(100);
/// builder.push(&Record::from_value("fits").with_timestamp(1_700_000_000_000))?;
///
/// let large = Record::from_value(vec![0; 64]);
/// assert_eq!(builder.push(&large).unwrap_err().kind(), ErrorKind::Full);
///
/// let batch = builder.build()?;
/// assert!(batch.len() <= 100);
/// # Ok::<(), milena_records::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BatchBuilder {
    base_offset: i64,
    partition_leader_epoch: i32,
    producer_id: i64,
    producer_epoch: i16,
    base_sequence: i32,
    attributes: i16,
    codec: Codec,
    level: Option<i32>,
    log_append_time: i64,
    delete_horizon: i64,
    last_offset: Option<i64>,
    max_size: usize,
    ratio: f32,
    /// Up to this size there is no need to look at the limit: 0 if compression is expected to make more of a byte.
    free: usize,
    /// Room for the header, then the records.
    buf: Room,
    count: i32,
    base_timestamp: Option<i64>,
    max_timestamp: i64,
    next_offset: i64,
}

impl Default for BatchBuilder {
    fn default() -> Self {
        Self {
            base_offset: 0,
            partition_leader_epoch: NONE.into(),
            producer_id: NONE.into(),
            producer_epoch: NONE.into(),
            base_sequence: NONE.into(),
            attributes: 0,
            codec: Codec::None,
            level: None,
            log_append_time: NONE.into(),
            delete_horizon: NONE.into(),
            last_offset: None,
            max_size: i32::MAX as usize,
            ratio: 1.0,
            free: i32::MAX as usize,
            buf: Room::new(v2::HEADER),
            count: 0,
            base_timestamp: None,
            max_timestamp: NONE.into(),
            next_offset: 0,
        }
    }
}

impl BatchBuilder {
    /// A batch at base offset 0, not compressed, of no producer, with CreateTime.
    pub fn new() -> Self {
        Self::default()
    }

    /// A builder without records, and everything else as in that batch: base offset, leader epoch, producer and its first
    /// sequence number, codec, kind of timestamps, and whether it is of a transaction or of control records.
    ///
    /// A message of magic 0 or 1 gives what it has: its offset, codec and kind of timestamps.
    ///
    /// ```
    /// use milena_records::{Batch, BatchBuilder, Codec, ReadOptions, Record};
    ///
    /// let mut builder = BatchBuilder::new().base_offset(40).producer(7, 0, 3).codec(Codec::Lz4);
    /// builder.push(&Record::new("k", "secret"))?;
    /// let batch = Batch::parse(builder.build()?, ReadOptions::default())?;
    ///
    /// let mut redacted = BatchBuilder::like(&batch)?;
    /// for record in batch.clone().into_records() {
    ///     redacted.push_at_offset(&Record { value: None, ..record? })?;
    /// }
    /// let redacted = Batch::parse(redacted.build()?, ReadOptions::default())?;
    /// assert_eq!((redacted.base_offset(), redacted.producer_id(), redacted.codec()?), (40, 7, Codec::Lz4));
    /// # Ok::<(), milena_records::Error>(())
    /// ```
    ///
    /// # Errors
    /// The batch names a codec that does not exist.
    pub fn like(batch: &Batch) -> Result<Self> {
        let mut builder = Self::new()
            .base_offset(batch.base_offset())
            .partition_leader_epoch(batch.partition_leader_epoch())
            .producer(batch.producer_id(), batch.producer_epoch(), batch.base_sequence())
            .transactional(batch.is_transactional())
            .control(batch.is_control())
            .codec(batch.codec()?);
        if batch.timestamp_type() == TimestampType::LogAppendTime {
            builder = builder.log_append_time(batch.max_timestamp());
        }
        if let Some(horizon) = batch.delete_horizon() {
            builder = builder.delete_horizon(horizon);
        }
        Ok(builder)
    }

    /// Offset of the first record. To be set before the first record; a broker sets it again.
    #[must_use]
    pub fn base_offset(mut self, offset: i64) -> Self {
        self.base_offset = offset;
        self.next_offset = offset;
        self
    }

    /// Epoch of the partition's leader; -1 unless said otherwise, and what a producer sends.
    #[must_use]
    pub fn partition_leader_epoch(mut self, epoch: i32) -> Self {
        self.partition_leader_epoch = epoch;
        self
    }

    /// Id, epoch and first sequence number of an idempotent producer (KIP-98).
    #[must_use]
    pub fn producer(mut self, id: i64, epoch: i16, base_sequence: i32) -> Self {
        self.producer_id = id;
        self.producer_epoch = epoch;
        self.base_sequence = base_sequence;
        self
    }

    /// Whether the records belong to a transaction.
    #[must_use]
    pub fn transactional(self, yes: bool) -> Self {
        self.attribute(TRANSACTIONAL, yes)
    }

    /// Whether the records are control records.
    #[must_use]
    pub fn control(self, yes: bool) -> Self {
        self.attribute(CONTROL, yes)
    }

    /// Compresses with that codec, at its own level unless [`BatchBuilder::level`] says otherwise.
    #[must_use]
    pub fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// How hard to compress; see [`Codec`] for the levels there are.
    #[must_use]
    pub fn level(mut self, level: i32) -> Self {
        self.level = Some(level);
        self
    }

    /// Marks the timestamps as the broker's: all records have this one.
    #[must_use]
    pub fn log_append_time(mut self, timestamp: i64) -> Self {
        self.log_append_time = timestamp;
        self.attribute(LOG_APPEND_TIME, true)
    }

    /// When compaction may drop the tombstones (KIP-534), in milliseconds since 1970. To be set before the first record,
    /// because the timestamps are counted from it.
    #[must_use]
    pub fn delete_horizon(mut self, timestamp: i64) -> Self {
        self.delete_horizon = timestamp;
        self.base_timestamp = Some(timestamp);
        self.attribute(DELETE_HORIZON, true)
    }

    /// States a last offset beyond the last record, as compaction leaves it.
    #[must_use]
    pub fn last_offset(mut self, offset: i64) -> Self {
        self.last_offset = Some(offset);
        self
    }

    /// Most bytes that the batch may take, its header included. Compared with [`BatchBuilder::estimated_size`]; the
    /// first record is always let in, or a record above the limit would never find a place.
    #[must_use]
    pub fn max_size(mut self, bytes: usize) -> Self {
        self.max_size = bytes.min(i32::MAX as usize);
        self.free = if self.ratio > 1.0 { 0 } else { self.max_size };
        self
    }

    /// What compression is expected to make of a byte: 1 unless said otherwise, less when experience says so.
    #[must_use]
    pub fn compression_ratio(mut self, ratio: f32) -> Self {
        self.ratio = ratio;
        self.free = if ratio > 1.0 { 0 } else { self.max_size };
        self
    }

    fn attribute(mut self, bit: i16, on: bool) -> Self {
        self.attributes = if on { self.attributes | bit } else { self.attributes & !bit };
        self
    }

    /// Records so far.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are none yet.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Offset of the record that is appended next.
    pub fn next_offset(&self) -> i64 {
        self.next_offset
    }

    /// Bytes of the batch before compression.
    pub fn uncompressed_size(&self) -> usize {
        self.buf.len()
    }

    /// Bytes of the batch as far as one can tell before it is compressed.
    pub fn estimated_size(&self) -> usize {
        self.estimate(self.buf.len())
    }

    /// Makes room for so many records like the first one, within reason: beyond what brokers take by default the buffer
    /// grows as it is written to.
    fn expect(&mut self, records: usize) {
        const MOST: usize = 1024 * 1024;
        // The later ones have larger deltas.
        let each = self.buf.len() - v2::HEADER + 4;
        self.buf.reserve(each.saturating_mul(records).min(MOST));
    }

    fn estimate(&self, size: usize) -> usize {
        if self.codec == Codec::None {
            return size;
        }
        v2::HEADER + ((size - v2::HEADER) as f64 * f64::from(self.ratio)) as usize
    }

    /// Appends a record at the next offset; its own is not looked at.
    ///
    /// # Errors
    /// [`ErrorKind::Full`] when it does not fit below the size limit, and [`ErrorKind::InvalidValue`] for what the format
    /// cannot express. The builder is as it was in either case.
    pub fn push(&mut self, record: &impl AsRecord) -> Result<()> {
        self.append(self.next_offset, record)
    }

    /// Appends a record at its own offset, which has to be above that of the last one.
    ///
    /// # Errors
    /// As [`BatchBuilder::push`]; an offset that does not ascend.
    pub fn push_at_offset(&mut self, record: &impl AsRecord) -> Result<()> {
        self.append(record.offset(), record)
    }

    #[inline]
    fn append(&mut self, offset: i64, record: &impl AsRecord) -> Result<()> {
        let timestamp = record.timestamp();
        // The next offset is never below the base offset, so the difference is one without sign.
        let delta = offset.wrapping_sub(self.base_offset) as u64;
        if offset < self.next_offset || delta > MAX_DELTA || offset == i64::MAX || timestamp < NONE.into() {
            return Err(self.refuse(offset, timestamp));
        }
        let base_timestamp = self.base_timestamp.unwrap_or(timestamp);
        let timestamp_delta = zigzag64(timestamp.wrapping_sub(base_timestamp));
        let delta = delta << 1;
        let (key, value) = (Part::new(record.key()), Part::new(record.value()));
        let short = if record.headers().len() == 0 { Short::new(timestamp_delta, delta, key, value) } else { None };
        if let Some(short) = short {
            self.check_size(short.size)?;
            self.buf.short(short, key.bytes, value.bytes);
        } else {
            self.append_long(timestamp_delta, delta, record)?;
        }
        self.count += 1;
        self.base_timestamp = Some(base_timestamp);
        self.max_timestamp = self.max_timestamp.max(timestamp);
        self.next_offset = offset + 1;
        Ok(())
    }

    /// Appends a record of any form.
    #[inline(never)]
    fn append_long(&mut self, timestamp_delta: u64, delta: u64, record: &impl AsRecord) -> Result<()> {
        let (key, value, headers) = (Part::new(record.key()), Part::new(record.value()), record.headers());
        let numbers = sizes([timestamp_delta, delta, key.length, value.length]);
        // Headers may share their memory, so that all together can be more than there is memory.
        let body =
            (1 + numbers + key.bytes.len()).saturating_add(value.bytes.len()).saturating_add(headers_size(record));
        let length = (body as u64) << 1;
        let size = sizes([length]).saturating_add(body);
        self.check_size(size)?;
        let out = self.buf.record(size);
        for number in [length, 0, timestamp_delta, delta] {
            varint::write_u64(out, number);
        }
        let mut part = |part: Part<'_>| {
            varint::write_u64(out, part.length);
            out.extend_from_slice(part.bytes);
        };
        part(key);
        part(value);
        part(Part { length: (headers.len() as u64) << 1, bytes: &[] });
        for (key, value) in headers {
            part(Part::new(Some(key)));
            part(Part::new(value));
        }
        Ok(())
    }

    #[cold]
    fn refuse(&self, offset: i64, timestamp: i64) -> Error {
        Error::invalid(if offset < self.next_offset {
            format!("offset {offset}, the next is {}", self.next_offset)
        } else if timestamp < NONE.into() {
            format!("timestamp {timestamp}")
        } else {
            format!("offset {offset} is too far from the base offset {}", self.base_offset)
        })
    }

    /// Whether a record of that size has a place.
    #[inline(always)]
    fn check_size(&self, record: usize) -> Result<()> {
        let size = self.buf.len().saturating_add(record);
        if size > self.free { self.check_large(size) } else { Ok(()) }
    }

    /// Whether a batch of that size before compression is one that may be.
    #[cold]
    fn check_large(&self, size: usize) -> Result<()> {
        if size > i32::MAX as usize {
            return Err(Error::invalid(format!("a batch of {size} bytes is larger than 2 GiB")));
        }
        if self.count == 0 || self.estimate(size) <= self.max_size {
            return Ok(());
        }
        let message = format!("the batch would take {size} bytes before compression, the limit is {}", self.max_size);
        Err(Error::new(ErrorKind::Full, message))
    }

    /// The finished batch. A builder without records gives a batch without records, as compaction leaves them.
    ///
    /// # Errors
    /// A codec that this build lacks, or a level that the codec lacks.
    pub fn build(mut self) -> Result<Bytes> {
        if self.codec == Codec::None {
            let mut batch = std::mem::replace(&mut self.buf, Room::new(0)).into_vec();
            self.finish(&mut batch)?;
            return Ok(batch.into());
        }
        let mut out = Vec::new();
        self.build_into(&mut out)?;
        Ok(out.into())
    }

    /// Appends the finished batch to `out`, and empties the builder for the next one: it goes on with the next offset and
    /// sequence number, all settings and its buffer kept.
    ///
    /// # Errors
    /// As [`BatchBuilder::build`]; nothing is appended then.
    pub fn build_into(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if self.codec == Codec::None {
            let start = out.len();
            out.extend_from_slice(self.buf.bytes());
            if let Err(error) = self.finish(&mut out[start..]) {
                out.truncate(start);
                return Err(error);
            }
            self.reset();
            return Ok(());
        }
        let start = out.len();
        out.resize(start + v2::HEADER, 0);
        let result = self
            .codec
            .compress_into(&self.buf.bytes()[v2::HEADER..], self.level, 2, out)
            .and_then(|()| self.finish(&mut out[start..]));
        if let Err(error) = result {
            out.truncate(start);
            return Err(error);
        }
        self.reset();
        Ok(())
    }

    fn reset(&mut self) {
        if self.base_sequence >= 0 {
            let records = self.next_offset.wrapping_sub(self.base_offset) as i32;
            self.base_sequence = crate::read::batch::increment_sequence(self.base_sequence, records);
        }
        self.base_offset = self.next_offset;
        self.buf.truncate(v2::HEADER);
        self.count = 0;
        self.base_timestamp = (self.attributes & DELETE_HORIZON != 0).then_some(self.delete_horizon);
        self.max_timestamp = NONE.into();
        self.last_offset = None;
    }

    /// Fills in the header in front of the finished records.
    fn finish(&self, batch: &mut [u8]) -> Result<()> {
        let last_offset =
            self.last_offset.unwrap_or(self.next_offset.wrapping_sub(1)).max(self.next_offset.wrapping_sub(1));
        let delta = last_offset.checked_sub(self.base_offset).and_then(|delta| i32::try_from(delta).ok());
        let (Some(delta), Ok(size)) = (delta, i32::try_from(batch.len() - LOG_OVERHEAD)) else {
            return Err(Error::invalid("a batch of more than 2 GiB or 2^31 offsets"));
        };
        let log_append = self.attributes & LOG_APPEND_TIME != 0;
        put_i64(batch, 0, self.base_offset);
        put_i32(batch, SIZE, size);
        put_i32(batch, v2::LEADER_EPOCH, self.partition_leader_epoch);
        batch[MAGIC] = 2;
        put_i16(batch, v2::ATTRIBUTES, self.attributes | i16::from(self.codec.id()));
        put_i32(batch, v2::LAST_OFFSET_DELTA, delta);
        put_i64(batch, v2::BASE_TIMESTAMP, self.base_timestamp.unwrap_or(NONE.into()));
        put_i64(batch, v2::MAX_TIMESTAMP, if log_append { self.log_append_time } else { self.max_timestamp });
        put_i64(batch, v2::PRODUCER_ID, self.producer_id);
        put_i16(batch, v2::PRODUCER_EPOCH, self.producer_epoch);
        put_i32(batch, v2::BASE_SEQUENCE, self.base_sequence);
        put_i32(batch, v2::COUNT, self.count);
        let crc = crate::read::batch::crc_of(batch);
        put_u32(batch, v2::CRC, crc);
        Ok(())
    }
}

/// Bytes that these unsigned numbers take.
#[inline]
fn sizes<const N: usize>(numbers: [u64; N]) -> usize {
    numbers.iter().map(|number| varint::size_u64(*number)).sum()
}

/// Largest distance from the base offset.
const MAX_DELTA: u64 = i32::MAX as u64;

/// Bytes of the headers and their number.
#[inline]
fn headers_size(record: &impl AsRecord) -> usize {
    let headers = record.headers();
    let count = sizes([(headers.len() as u64) << 1]);
    let parts = headers.flat_map(|(key, value)| [Part::new(Some(key)), Part::new(value)]);
    parts.fold(count, |all, part| all.saturating_add(sizes([part.length])).saturating_add(part.bytes.len()))
}

/// One batch of magic 2 of these records, at offsets from 0 on: what a producer sends.
///
/// # Errors
/// As [`BatchBuilder::push`] and [`BatchBuilder::build`].
pub fn encode<'a, R: AsRecord + 'a>(records: impl IntoIterator<Item = &'a R>, codec: Codec) -> Result<Bytes> {
    let records = records.into_iter();
    let expected = records.size_hint().0;
    let mut builder = BatchBuilder::new().codec(codec);
    for record in records {
        let index = builder.len();
        builder.push(record).map_err(|error| error.in_record(index))?;
        if index == 0 {
            builder.expect(expected);
        }
    }
    builder.build()
}
