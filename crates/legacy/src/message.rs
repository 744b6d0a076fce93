use bytes::Bytes;
use milena_records::{Codec, ReadOptions, TimestampType};
use milena_wire::{At, Error, Reader, Result};

use crate::message_set::{MessageSet, MessageSetItem};

/// Offset and size in front of the message, which `milena-records` writes along with it.
const ENTRY_HEAD: usize = 12;

/// A message of magic 0 or 1, without the offset and size that stand in front of it in a set.
///
/// ```
/// use milena_legacy::Message;
///
/// let bytes = Message::new(Some("value".into()), None).with_timestamp(1_500_000_000_000).encode()?;
/// let message = Message::decode(bytes)?;
/// assert_eq!((message.magic(), message.timestamp()), (1, Some(1_500_000_000_000)));
/// assert!(message.validate_crc());
/// # Ok::<(), milena_legacy::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Message {
    attributes: i8,
    /// Some in magic 1, and none in magic 0.
    timestamp: Option<i64>,
    key: Option<Bytes>,
    value: Option<Bytes>,
    /// None = the right one.
    crc: Option<i32>,
    /// What the checksum of a decoded message covers.
    covered: Option<Bytes>,
}

impl Message {
    /// Attribute bits of the codec.
    pub const CODEC_MASK: i8 = 0x07;
    /// The codec bits of gzip.
    pub const CODEC_GZIP: i8 = 0x01;
    /// The codec bits of snappy.
    pub const CODEC_SNAPPY: i8 = 0x02;
    /// The codec bits of LZ4.
    pub const CODEC_LZ4: i8 = 0x03;
    /// Attribute bit of LogAppendTime.
    pub const TIMESTAMP_TYPE_MASK: i8 = 0x08;
    /// Bytes of a message of magic 1 beside key and value.
    pub const HEADER_SIZE: usize = 22;

    /// A message of magic 0 without attributes. `None` is null; a null value deletes the key where topics are compacted.
    pub fn new(value: Option<Bytes>, key: Option<Bytes>) -> Self {
        Self { attributes: 0, timestamp: None, key, value, crc: None, covered: None }
    }

    /// The same in magic 1, with a timestamp in milliseconds since 1970. The checksum follows.
    #[must_use]
    pub fn with_timestamp(self, timestamp: i64) -> Self {
        Self { timestamp: Some(timestamp), crc: None, covered: None, ..self }
    }

    /// The same with these attribute bits, any of them. The checksum follows; the value stays as it is.
    #[must_use]
    pub fn with_attributes(self, attributes: i8) -> Self {
        Self { attributes, crc: None, covered: None, ..self }
    }

    /// The same with that checksum, right or wrong, for [`Message::crc`], [`Message::validate_crc`] and
    /// [`Message::encode_with_crc`].
    #[must_use]
    pub fn with_crc(self, crc: i32) -> Self {
        Self { crc: Some(crc), ..self }
    }

    /// The CRC-32 that the message states, as the signed number that kafka-python shows.
    pub fn crc(&self) -> i32 {
        self.crc.unwrap_or_else(|| self.computed_crc())
    }

    /// The format: 0 or 1.
    pub fn magic(&self) -> i8 {
        i8::from(self.timestamp.is_some())
    }

    /// The attribute bits.
    pub fn attributes(&self) -> i8 {
        self.attributes
    }

    /// Milliseconds since 1970; `None` in magic 0.
    pub fn timestamp(&self) -> Option<i64> {
        self.timestamp
    }

    /// The key; `None` is null.
    pub fn key(&self) -> Option<&Bytes> {
        self.key.as_ref()
    }

    /// The value; `None` is null. That of a compressed message is the compressed set.
    pub fn value(&self) -> Option<&Bytes> {
        self.value.as_ref()
    }

    /// Whose clock the timestamp is from: kafka-python's `None`, 0 and 1 are `None`, `CreateTime` and `LogAppendTime`.
    pub fn timestamp_type(&self) -> TimestampType {
        match (self.timestamp, self.attributes & Self::TIMESTAMP_TYPE_MASK) {
            (None, _) => TimestampType::None,
            (Some(_), 0) => TimestampType::CreateTime,
            (Some(_), _) => TimestampType::LogAppendTime,
        }
    }

    /// Whether the stated checksum is that of the bytes. A decoded message is compared with the bytes that it came from, all of
    /// them, even those after the value.
    pub fn validate_crc(&self) -> bool {
        self.crc.is_none_or(|crc| crc == self.computed_crc())
    }

    /// Whether the attributes name a codec, be it one that exists or not.
    pub fn is_compressed(&self) -> bool {
        self.attributes & Self::CODEC_MASK != 0
    }

    fn computed_crc(&self) -> i32 {
        if let Some(covered) = &self.covered {
            return crc32fast::hash(covered) as i32;
        }
        let mut crc = crc32fast::Hasher::new();
        crc.update(&[self.magic() as u8, self.attributes as u8]);
        if let Some(timestamp) = self.timestamp {
            crc.update(&timestamp.to_be_bytes());
        }
        for part in [&self.key, &self.value] {
            crc.update(&part.as_ref().map_or(-1, |part| part.len() as i32).to_be_bytes());
            crc.update(part.as_deref().unwrap_or_default());
        }
        crc.finalize() as i32
    }

    /// The whole entry of a set, with the right checksum.
    pub(crate) fn entry(&self, offset: i64, out: &mut Vec<u8>) -> Result<()> {
        let message = milena_records::LegacyMessage {
            magic: self.magic(),
            attributes: self.attributes,
            offset,
            timestamp: self.timestamp.unwrap_or(-1),
            key: self.key.as_deref(),
            value: self.value.as_deref(),
        };
        Ok(message.write(out)?)
    }

    /// The bytes of the message, with the right checksum whatever [`Message::crc`] says.
    ///
    /// # Errors
    /// More bytes than an int32 counts.
    pub fn encode(&self) -> Result<Bytes> {
        let mut out = Vec::new();
        self.entry(0, &mut out)?;
        Ok(Bytes::from(out).slice(ENTRY_HEAD..))
    }

    /// The bytes of the message with the checksum that [`Message::crc`] gives: `encode(recalc_crc=False)` of kafka-python.
    ///
    /// # Errors
    /// As [`Message::encode`].
    pub fn encode_with_crc(&self) -> Result<Bytes> {
        let mut out = Vec::new();
        self.entry(0, &mut out)?;
        out[ENTRY_HEAD..ENTRY_HEAD + 4].copy_from_slice(&self.crc().to_be_bytes());
        Ok(Bytes::from(out).slice(ENTRY_HEAD..))
    }

    /// Reads a message. Key and value share the memory of `data`; bytes after the value matter for the checksum alone,
    /// which is not compared here: [`Message::validate_crc`] does that.
    ///
    /// # Errors
    /// The bytes end early, or the magic is neither 0 nor 1.
    pub fn decode(data: Bytes) -> Result<Self> {
        let mut reader = Reader::new(data);
        let crc = reader.i32().at("crc")?;
        let covered = reader.clone().rest();
        let magic = reader.i8().at("magic")?;
        if !(0..=1).contains(&magic) {
            return Err(Error::malformed(4, format!("messages have magic 0 or 1, not {magic}")).within("magic"));
        }
        let attributes = reader.i8().at("attributes")?;
        let timestamp = if magic == 1 { Some(reader.i64().at("timestamp")?) } else { None };
        let key = reader.nullable_bytes(false).at("key")?;
        let value = reader.nullable_bytes(false).at("value")?;
        Ok(Self { attributes, timestamp, key, value, crc: Some(crc), covered: Some(covered) })
    }

    /// The set inside of a compressed message: offsets as they stand there, which in magic 1 are relative; a cut-off tail
    /// as a partial message; further compression left as it is.
    ///
    /// # Errors
    /// Not compressed, or by no codec of magic 0 and 1 or one that was left out of the build; no value; damaged bytes;
    /// more than 128 MiB come out.
    pub fn decompress(&self) -> Result<Vec<MessageSetItem>> {
        let id = self.attributes & Self::CODEC_MASK;
        let codec = match Codec::from_id(id as u8) {
            Some(Codec::None) => return Err(Error::invalid("the message is not compressed")),
            Some(codec) if codec != Codec::Zstd => codec,
            _ => {
                return Err(
                    Error::malformed(5, format!("magic {} has no codec {id}", self.magic())).within("attributes")
                );
            }
        };
        let Some(value) = &self.value else {
            return Err(Error::new(milena_wire::ErrorKind::Malformed, "a compressed message without a value"));
        };
        let inner = codec.decompress_message(value, ReadOptions::default().limit, self.magic());
        let inner = Bytes::from(inner.map_err(|error| Error::from(error).within("value"))?);
        let size = inner.len();
        MessageSet::decode(inner, Some(size)).map_err(|error| error.within("value"))
    }
}

/// Equal are messages whose fields are, the stated checksum among them, as in kafka-python.
impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        (self.attributes, self.timestamp, &self.key, &self.value, self.crc())
            == (other.attributes, other.timestamp, &other.key, &other.value, other.crc())
    }
}

impl Eq for Message {}
