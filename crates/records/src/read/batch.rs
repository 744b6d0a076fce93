use std::fmt;
use std::sync::OnceLock;

use bytes::Bytes;
use milena_wire::counted;

use crate::codec::Codec;
use crate::error::{BatchPlace, Error, ErrorKind, Result};
use crate::layout::{
    CODEC_BITS, CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, MAGIC, NONE, TRANSACTIONAL, i16_at, i32_at, i64_at, legacy,
    u32_at, v2,
};
use crate::options::ReadOptions;
use crate::read::batches::Batches;
use crate::read::payload::Payload;
use crate::read::records::{IntoRecords, Records};
use crate::view::RecordRef;

/// Whose clock the timestamps of a batch are from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimestampType {
    /// There are none: magic 0.
    None,
    /// The producer's.
    #[default]
    CreateTime,
    /// The broker's, one and the same for all records of the batch.
    LogAppendTime,
}

/// One entry: a record batch of magic 2, or a message of magic 0 or 1 with what it may wrap.
///
/// The header fields are read where they stand, in no time. A field that the format lacks is -1, false or `None`. The
/// records are decompressed when they are first asked for, once, and that copy is kept as long as the batch.
#[derive(Clone)]
pub struct Batch {
    pub(super) bytes: Bytes,
    index: usize,
    pub(super) start: usize,
    pub(super) options: ReadOptions,
    pub(super) payload: OnceLock<Result<Payload>>,
}

impl Batch {
    /// The caller has made sure that the whole header is there and the size is that of the bytes.
    pub(super) fn new(bytes: Bytes, index: usize, start: usize, options: ReadOptions) -> Self {
        Self { bytes, index, start, options, payload: OnceLock::new() }
    }

    /// Reads bytes that are exactly one entry.
    ///
    /// # Errors
    /// As the walk of [`Batches`]; fewer or more bytes than one entry takes.
    pub fn parse(bytes: Bytes, options: ReadOptions) -> Result<Self> {
        let total = bytes.len();
        let mut batches = Batches::with_options(bytes, options);
        match batches.next() {
            Some(Ok(_)) if batches.position() < total => Err(Error::malformed(
                batches.position(),
                format!("{} after the batch", counted(total - batches.position(), "byte")),
            )),
            Some(batch) => batch,
            None => Err(Error::malformed(0, format!("batch cut off after {}", counted(total, "byte")))),
        }
    }

    /// The same entry at another place, for readers that hold only a part of their input at a time: it is the `index`th
    /// entry and begins at byte `start`. [`Batch::place`] and errors name that place.
    pub fn placed(mut self, index: usize, start: usize) -> Self {
        // An error that is kept would name the old place.
        self.payload = OnceLock::new();
        self.index = index;
        self.start = start;
        self
    }

    /// The exact bytes of the whole entry, to pass on unchanged.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Bytes of the whole entry, its head of 12 included.
    pub fn size_in_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Where it is: index, offsets and byte range in the input.
    pub fn place(&self) -> BatchPlace {
        BatchPlace {
            index: self.index,
            base_offset: self.base_offset(),
            last_offset: self.last_offset(),
            range: self.start..self.start + self.bytes.len(),
        }
    }

    /// The format: 0, 1 or 2.
    #[inline]
    pub fn magic(&self) -> i8 {
        self.bytes[MAGIC] as i8
    }

    #[inline]
    fn is_v2(&self) -> bool {
        self.magic() == 2
    }

    /// Offset of the first record, or where it was before compaction.
    ///
    /// The wrapper of a compressed message set has the offset of its *last* message alone; the first is known when the
    /// messages are read.
    #[inline]
    pub fn base_offset(&self) -> i64 {
        i64_at(&self.bytes, 0)
    }

    /// Offset of the last record, or where it was before compaction.
    #[inline]
    pub fn last_offset(&self) -> i64 {
        self.base_offset().wrapping_add(self.last_offset_delta().into())
    }

    /// Last offset less base offset, as the header has it; 0 in magic 0 and 1.
    #[inline]
    pub fn last_offset_delta(&self) -> i32 {
        if self.is_v2() { i32_at(&self.bytes, v2::LAST_OFFSET_DELTA) } else { 0 }
    }

    /// The offset to continue with after this batch.
    #[inline]
    pub fn next_offset(&self) -> i64 {
        self.last_offset().wrapping_add(1)
    }

    /// Epoch of the leader that appended the batch; -1 for none.
    pub fn partition_leader_epoch(&self) -> i32 {
        if self.is_v2() { i32_at(&self.bytes, v2::LEADER_EPOCH) } else { NONE.into() }
    }

    /// The checksum as stated: CRC-32C in magic 2, CRC-32 before.
    pub fn crc(&self) -> u32 {
        u32_at(&self.bytes, if self.is_v2() { v2::CRC } else { legacy::CRC })
    }

    /// The checksum as it should be.
    pub fn computed_crc(&self) -> u32 {
        crc_of(&self.bytes)
    }

    /// Compares the checksum. For the wrapper of a message set this covers the wrapper with all that is in it; the
    /// messages inside have checksums of their own besides.
    ///
    /// # Errors
    /// [`ErrorKind::BadCrc`].
    pub fn check_crc(&self) -> Result<()> {
        let (stated, computed) = (self.crc(), self.computed_crc());
        if stated == computed {
            return Ok(());
        }
        let at = self.start + if self.is_v2() { v2::CRC } else { legacy::CRC };
        let message = format!("checksum is {stated:#010x}, the bytes give {computed:#010x}");
        Err(Error::new(ErrorKind::BadCrc, message).at(at).in_field("crc").in_batch(self.place()))
    }

    /// The attribute bits as they are.
    #[inline]
    pub fn attributes(&self) -> i16 {
        if self.is_v2() { i16_at(&self.bytes, v2::ATTRIBUTES) } else { i16::from(self.bytes[legacy::ATTRIBUTES] as i8) }
    }

    /// How the records are compressed.
    ///
    /// # Errors
    /// The attributes name none of the codecs there are.
    pub fn codec(&self) -> Result<Codec> {
        let id = (self.attributes() & CODEC_BITS) as u8;
        Codec::from_id(id).ok_or_else(|| {
            let at = if self.is_v2() { v2::ATTRIBUTES } else { legacy::ATTRIBUTES };
            Error::malformed(self.start + at, format!("codec {id} is unknown; expected 0 to 4"))
                .in_field("attributes")
                .in_batch(self.place())
        })
    }

    /// Whether the attributes say that the records are compressed, by whatever codec.
    #[inline]
    pub fn is_compressed(&self) -> bool {
        self.attributes() & CODEC_BITS != 0
    }

    /// Whose clock the timestamps are from.
    #[inline]
    pub fn timestamp_type(&self) -> TimestampType {
        match (self.magic(), self.attributes() & LOG_APPEND_TIME) {
            (0, _) => TimestampType::None,
            (_, 0) => TimestampType::CreateTime,
            _ => TimestampType::LogAppendTime,
        }
    }

    /// Whether the records belong to a transaction (KIP-98).
    pub fn is_transactional(&self) -> bool {
        self.is_v2() && self.attributes() & TRANSACTIONAL != 0
    }

    /// Whether the records are for the protocol itself and not for applications (KIP-98).
    pub fn is_control(&self) -> bool {
        self.is_v2() && self.attributes() & CONTROL != 0
    }

    /// When compaction may drop the tombstones of this batch (KIP-534), in milliseconds since 1970.
    pub fn delete_horizon(&self) -> Option<i64> {
        (self.is_v2() && self.attributes() & DELETE_HORIZON != 0).then(|| self.base_timestamp())
    }

    /// What the timestamps of the records are counted from; the timestamp of the message in magic 1.
    #[inline]
    pub fn base_timestamp(&self) -> i64 {
        match self.magic() {
            0 => NONE.into(),
            1 => i64_at(&self.bytes, legacy::TIMESTAMP),
            _ => i64_at(&self.bytes, v2::BASE_TIMESTAMP),
        }
    }

    /// The greatest timestamp, or that of the broker; the timestamp of the message in magic 1.
    #[inline]
    pub fn max_timestamp(&self) -> i64 {
        if self.is_v2() { i64_at(&self.bytes, v2::MAX_TIMESTAMP) } else { self.base_timestamp() }
    }

    /// Id of an idempotent producer; -1 for none.
    pub fn producer_id(&self) -> i64 {
        if self.is_v2() { i64_at(&self.bytes, v2::PRODUCER_ID) } else { NONE.into() }
    }

    /// Epoch of an idempotent producer; -1 for none.
    pub fn producer_epoch(&self) -> i16 {
        if self.is_v2() { i16_at(&self.bytes, v2::PRODUCER_EPOCH) } else { NONE.into() }
    }

    /// Sequence number of the first record; -1 for none.
    #[inline]
    pub fn base_sequence(&self) -> i32 {
        if self.is_v2() { i32_at(&self.bytes, v2::BASE_SEQUENCE) } else { NONE.into() }
    }

    /// Sequence number of the last record; -1 for none.
    pub fn last_sequence(&self) -> i32 {
        match self.base_sequence() {
            -1 => -1,
            base => increment_sequence(base, self.last_offset_delta()),
        }
    }

    /// Records in the batch, as the header states it; `None` in magic 0 and 1, where one has to read them to know.
    #[inline]
    pub fn count(&self) -> Option<i32> {
        self.is_v2().then(|| i32_at(&self.bytes, v2::COUNT))
    }

    /// The records one by one. The first error ends it. [`ReadOptions`] decide about checksums and limits.
    pub fn records(&self) -> Records<'_> {
        Records::new(self)
    }

    /// The records one by one as owned values that share the memory of the batch.
    pub fn into_records(self) -> IntoRecords {
        IntoRecords::new(self)
    }

    /// Decompresses the records, if that has not happened yet, and gives how many bytes they take then. 0 for a batch that
    /// is not compressed.
    ///
    /// # Errors
    /// As [`Batch::records`] before its first record.
    pub fn decompressed_size(&self) -> Result<usize> {
        match self.payload() {
            Ok(payload) if payload.decompressed => Ok(payload.data.len()),
            Ok(_) => Ok(0),
            Err(error) => Err(error.clone()),
        }
    }

    /// The message of magic 0 or 1 as it stands: a wrapper is not opened, its value is the compressed set. `None` in
    /// magic 2.
    ///
    /// # Errors
    /// The lengths inside do not fit the message.
    pub fn message(&self) -> Option<Result<RecordRef<'_>>> {
        (!self.is_v2()).then(|| super::legacy::outer(self))
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("magic", &self.magic())
            .field("base_offset", &self.base_offset())
            .field("last_offset", &self.last_offset())
            .field("attributes", &self.attributes())
            .field("count", &self.count())
            .field("size_in_bytes", &self.size_in_bytes())
            .finish_non_exhaustive()
    }
}

/// Equal bytes are equal batches, wherever they were found.
impl PartialEq for Batch {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Batch {}

/// The checksum of a whole entry of any magic.
pub(crate) fn crc_of(entry: &[u8]) -> u32 {
    if entry[MAGIC] == 2 { crc32c::crc32c(&entry[v2::ATTRIBUTES..]) } else { crc32fast::hash(&entry[MAGIC..]) }
}

/// Sequence numbers go from 2147483647 on to 0.
pub(crate) fn increment_sequence(sequence: i32, by: i32) -> i32 {
    if sequence > i32::MAX.wrapping_sub(by) {
        by.wrapping_sub(i32::MAX.wrapping_sub(sequence)).wrapping_sub(1)
    } else {
        sequence.wrapping_add(by)
    }
}
