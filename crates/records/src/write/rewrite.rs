use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::layout::{
    CODEC_BITS, LOG_APPEND_TIME, LOG_OVERHEAD, MAGIC, SIZE, i16_at, i32_at, i64_at, legacy, put_i16, put_i32, put_i64,
    put_u32, v2,
};
use crate::read::batch::{TimestampType, crc_of};

/// Changes the header of an entry where it stands, as a broker does on appending. The records are not touched.
///
/// The base offset and the leader epoch are not covered by the checksum, so setting them costs nothing; whatever else
/// changes makes the checksum be computed over the whole entry again, when there is a change.
///
/// ```
/// use milena_records::{Batch, BatchMut, Codec, ReadOptions, Record, TimestampType, encode};
///
/// let mut bytes = encode(&[Record::from_value("a"), Record::from_value("b")], Codec::None)?.to_vec();
/// let mut batch = BatchMut::new(&mut bytes)?;
/// batch.set_base_offset(500);
/// batch.set_partition_leader_epoch(3);
/// batch.set_timestamps(TimestampType::LogAppendTime, 1_700_000_000_000)?;
///
/// let batch = Batch::parse(bytes.into(), ReadOptions::default())?;
/// assert_eq!(batch.last_offset(), 501);
/// assert!(batch.records().all(|record| record.unwrap().timestamp == 1_700_000_000_000));
/// # Ok::<(), milena_records::Error>(())
/// ```
#[derive(Debug)]
pub struct BatchMut<'a> {
    entry: &'a mut [u8],
}

impl<'a> BatchMut<'a> {
    /// Takes bytes that are exactly one entry of any magic.
    ///
    /// # Errors
    /// Too few or too many bytes, or an unknown magic. The checksum is not looked at.
    pub fn new(entry: &'a mut [u8]) -> Result<Self> {
        let smallest = match entry.get(MAGIC) {
            Some(0) => LOG_OVERHEAD + legacy::MIN_SIZE_V0,
            Some(1) => LOG_OVERHEAD + legacy::MIN_SIZE_V1,
            Some(2) => v2::HEADER,
            Some(&magic) => {
                return Err(Error::malformed(MAGIC, format!("magic {magic} is unknown; expected 0, 1 or 2")));
            }
            None => return Err(Error::malformed(entry.len(), "batch cut off")),
        };
        if entry.len() < smallest || i64::from(i32_at(entry, SIZE)) + LOG_OVERHEAD as i64 != entry.len() as i64 {
            let message = format!("size {} in an entry of {} bytes", i32_at(entry, SIZE), entry.len());
            return Err(Error::malformed(SIZE, message));
        }
        Ok(Self { entry })
    }

    fn magic(&self) -> u8 {
        self.entry[MAGIC]
    }

    fn needs_v2(&self, what: &str) -> Result<()> {
        if self.magic() == 2 { Ok(()) } else { Err(Error::invalid(format!("magic {} has no {what}", self.magic()))) }
    }

    /// Sets the offset of the first record; in magic 0 and 1 that of the message, which for a wrapper is the last one in
    /// it. The offsets inside of a wrapper of magic 0 are absolute and cannot be changed here.
    pub fn set_base_offset(&mut self, offset: i64) {
        put_i64(self.entry, 0, offset);
    }

    /// Sets the offset of the last record, and with it all others.
    pub fn set_last_offset(&mut self, offset: i64) {
        let delta = if self.magic() == 2 { i32_at(self.entry, v2::LAST_OFFSET_DELTA) } else { 0 };
        self.set_base_offset(offset.wrapping_sub(delta.into()));
    }

    /// Sets the epoch of the partition's leader. Magic 0 and 1 have none, and stay as they are.
    pub fn set_partition_leader_epoch(&mut self, epoch: i32) {
        if self.magic() == 2 {
            put_i32(self.entry, v2::LEADER_EPOCH, epoch);
        }
    }

    /// Sets whose clock counts and the greatest timestamp, which with LogAppendTime is that of all records.
    ///
    /// # Errors
    /// Magic 0 has no timestamps.
    pub fn set_timestamps(&mut self, kind: TimestampType, max_timestamp: i64) -> Result<()> {
        if self.magic() == 0 || kind == TimestampType::None {
            return Err(Error::invalid("magic 0 has no timestamps, and the others have always one"));
        }
        let bit = if kind == TimestampType::LogAppendTime { LOG_APPEND_TIME } else { 0 };
        let timestamp_at = if self.magic() == 2 { v2::MAX_TIMESTAMP } else { legacy::TIMESTAMP };
        let attributes = self.attributes();
        let changed = attributes & !LOG_APPEND_TIME | bit;
        if changed != attributes || i64_at(self.entry, timestamp_at) != max_timestamp {
            self.put_attributes(changed);
            put_i64(self.entry, timestamp_at, max_timestamp);
            self.update_crc();
        }
        Ok(())
    }

    /// Sets id, epoch and first sequence number of the producer.
    ///
    /// # Errors
    /// Magic 0 and 1 have no producers.
    pub fn set_producer(&mut self, id: i64, epoch: i16, base_sequence: i32) -> Result<()> {
        self.needs_v2("producer")?;
        put_i64(self.entry, v2::PRODUCER_ID, id);
        put_i16(self.entry, v2::PRODUCER_EPOCH, epoch);
        put_i32(self.entry, v2::BASE_SEQUENCE, base_sequence);
        self.update_crc();
        Ok(())
    }

    /// The codec that the attributes name.
    pub fn codec(&self) -> Option<Codec> {
        Codec::from_id((self.attributes() & CODEC_BITS) as u8)
    }

    fn attributes(&self) -> i16 {
        if self.magic() == 2 { i16_at(self.entry, v2::ATTRIBUTES) } else { self.entry[legacy::ATTRIBUTES].into() }
    }

    fn put_attributes(&mut self, attributes: i16) {
        if self.magic() == 2 {
            put_i16(self.entry, v2::ATTRIBUTES, attributes);
        } else {
            self.entry[legacy::ATTRIBUTES] = attributes as u8;
        }
    }

    /// Computes the checksum again, after the bytes were changed in other ways.
    pub fn update_crc(&mut self) {
        let crc = crc_of(self.entry);
        put_u32(self.entry, if self.magic() == 2 { v2::CRC } else { legacy::CRC }, crc);
    }
}
