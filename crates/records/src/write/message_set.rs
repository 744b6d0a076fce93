use bytes::Bytes;

use crate::codec::Codec;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{LOG_APPEND_TIME, NONE, legacy};
use crate::write::append::AsRecord;
use crate::write::message::LegacyMessage;

/// Writes a message set of magic 0 or 1, plain or compressed inside of a wrapper: the formats of Kafka before 0.11.
///
/// ```
/// use milena_records::{Batches, Codec, MessageSetBuilder, Record};
///
/// let mut set = MessageSetBuilder::new(1)?.base_offset(100).codec(Codec::Gzip);
/// set.push(&Record::from_value("a").with_timestamp(5))?;
/// set.push(&Record::from_value("b").with_timestamp(7))?;
///
/// let wrapper = Batches::new(set.build()?).next().unwrap()?;
/// assert_eq!((wrapper.magic(), wrapper.last_offset(), wrapper.max_timestamp()), (1, 101, 7));
/// let offsets: Vec<i64> = wrapper.records().map(|record| record.unwrap().offset).collect();
/// assert_eq!(offsets, [100, 101]);
/// # Ok::<(), milena_records::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MessageSetBuilder {
    magic: i8,
    codec: Codec,
    level: Option<i32>,
    base_offset: i64,
    log_append_time: Option<i64>,
    max_size: usize,
    buf: Vec<u8>,
    count: usize,
    next_offset: i64,
    max_timestamp: i64,
}

impl MessageSetBuilder {
    /// A set at offset 0, not compressed, with CreateTime in magic 1.
    ///
    /// # Errors
    /// A magic other than 0 and 1.
    pub fn new(magic: i8) -> Result<Self> {
        if !(0..=1).contains(&magic) {
            return Err(Error::invalid(format!("message sets have magic 0 or 1, not {magic}")));
        }
        Ok(Self {
            magic,
            codec: Codec::None,
            level: None,
            base_offset: 0,
            log_append_time: None,
            max_size: i32::MAX as usize,
            buf: Vec::new(),
            count: 0,
            next_offset: 0,
            max_timestamp: NONE.into(),
        })
    }

    /// Offset of the first message. To be set before the first message.
    #[must_use]
    pub fn base_offset(mut self, offset: i64) -> Self {
        self.base_offset = offset;
        self.next_offset = offset;
        self
    }

    /// Compresses all messages into one wrapper. To be set before the first message.
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

    /// Marks the timestamps as the broker's: all messages have this one. Magic 0 has no timestamps.
    #[must_use]
    pub fn log_append_time(mut self, timestamp: i64) -> Self {
        self.log_append_time = Some(timestamp);
        self
    }

    /// Most bytes that the set may take before compression. The first message is always let in.
    #[must_use]
    pub fn max_size(mut self, bytes: usize) -> Self {
        self.max_size = bytes.min(i32::MAX as usize);
        self
    }

    /// Messages so far.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none yet.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Offset of the message that is appended next.
    pub fn next_offset(&self) -> i64 {
        self.next_offset
    }

    /// Bytes of the set before compression, the wrapper included if there will be one.
    pub fn uncompressed_size(&self) -> usize {
        self.buf.len() + self.wrapper_size()
    }

    fn wrapper_size(&self) -> usize {
        if self.codec == Codec::None { 0 } else { legacy::key(self.magic) + 8 }
    }

    /// Appends a message at the next offset; its own is not looked at.
    ///
    /// # Errors
    /// [`ErrorKind::Full`] when it does not fit below the size limit, and [`ErrorKind::InvalidValue`] for what the format
    /// cannot express, headers among that. The builder is as it was in either case.
    pub fn push(&mut self, record: &impl AsRecord) -> Result<()> {
        if record.headers().len() > 0 {
            return Err(Error::invalid(format!("magic {} has no headers", self.magic)));
        }
        self.append(self.next_offset, record)
    }

    /// Appends a message at its own offset, which has to be above that of the last one.
    ///
    /// # Errors
    /// As [`MessageSetBuilder::push`]; an offset that does not ascend.
    pub fn push_at_offset(&mut self, record: &impl AsRecord) -> Result<()> {
        if record.headers().len() > 0 {
            return Err(Error::invalid(format!("magic {} has no headers", self.magic)));
        }
        self.append(record.offset(), record)
    }

    /// Appends a message at this offset, without the headers of the record: old formats have none.
    ///
    /// # Errors
    /// As [`MessageSetBuilder::push_at_offset`], headers apart.
    pub fn append(&mut self, offset: i64, record: &impl AsRecord) -> Result<()> {
        if offset < self.next_offset {
            return Err(Error::invalid(format!("offset {offset}, the next is {}", self.next_offset)));
        }
        let Some(next_offset) = offset.checked_add(1) else {
            return Err(Error::invalid(format!("offset {offset}")));
        };
        let timestamp = self.log_append_time.unwrap_or(record.timestamp());
        if timestamp < NONE.into() {
            return Err(Error::invalid(format!("timestamp {timestamp}")));
        }
        // Inside of a wrapper magic 1 counts from the base offset.
        let relative = self.magic == 1 && self.codec != Codec::None;
        let message = LegacyMessage {
            magic: self.magic,
            attributes: self.attributes(Codec::None),
            offset: if relative { offset.wrapping_sub(self.base_offset) } else { offset },
            timestamp,
            key: record.key(),
            value: record.value(),
        };
        let size = self.uncompressed_size().saturating_add(message.size());
        if self.count > 0 && size > self.max_size {
            let message = format!("the set would take {size} bytes, the limit is {}", self.max_size);
            return Err(Error::new(ErrorKind::Full, message));
        }
        message.write(&mut self.buf)?;
        self.count += 1;
        self.next_offset = next_offset;
        self.max_timestamp = self.max_timestamp.max(timestamp);
        Ok(())
    }

    fn attributes(&self, codec: Codec) -> i8 {
        let log_append = self.magic == 1 && self.log_append_time.is_some();
        codec.id() as i8 | if log_append { LOG_APPEND_TIME as i8 } else { 0 }
    }

    /// The finished set; no bytes at all when there are no messages.
    ///
    /// # Errors
    /// A codec that this build or this format lacks, or a level that the codec lacks.
    pub fn build(self) -> Result<Bytes> {
        if self.codec == Codec::None || self.count == 0 {
            return Ok(self.buf.into());
        }
        if self.codec == Codec::Zstd {
            return Err(Error::invalid("zstd needs magic 2"));
        }
        let mut value = Vec::new();
        self.codec.compress_into(&self.buf, self.level, self.magic, &mut value)?;
        let mut out = Vec::new();
        let wrapper = LegacyMessage {
            magic: self.magic,
            attributes: self.attributes(self.codec),
            offset: self.next_offset - 1,
            timestamp: self.max_timestamp,
            key: None,
            value: Some(&value),
        };
        wrapper.write(&mut out)?;
        Ok(out.into())
    }
}
