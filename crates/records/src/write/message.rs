use crate::error::{Error, Result};
use crate::layout::{LOG_OVERHEAD, MAGIC, legacy, put_u32};
use crate::read::batch::crc_of;

/// One message of magic 0 or 1 with all of its fields to choose, attributes included: for tests, and for code that speaks
/// to brokers before 0.11 message by message. [`MessageSetBuilder`](crate::MessageSetBuilder) fills them in for itself.
///
/// ```
/// use milena_records::LegacyMessage;
///
/// let mut bytes = Vec::new();
/// LegacyMessage { value: Some(b"hello"), ..LegacyMessage::default() }.write(&mut bytes)?;
/// assert_eq!(bytes.len(), 12 + 14 + 5);
/// # Ok::<(), milena_records::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LegacyMessage<'a> {
    /// The format: 0 or 1.
    pub magic: i8,
    /// The attribute bits.
    pub attributes: i8,
    /// The offset; a producer may leave it at 0.
    pub offset: i64,
    /// Milliseconds since 1970, in magic 1 alone.
    pub timestamp: i64,
    /// The key or null.
    pub key: Option<&'a [u8]>,
    /// The value or null.
    pub value: Option<&'a [u8]>,
}

impl LegacyMessage<'_> {
    /// Bytes that the entry takes, offset and size included.
    pub fn size(&self) -> usize {
        let part = |part: Option<&[u8]>| part.map_or(0, <[u8]>::len);
        let fixed = legacy::key(self.magic) + 8;
        fixed.saturating_add(part(self.key)).saturating_add(part(self.value))
    }

    /// Appends the entry, with its checksum.
    ///
    /// # Errors
    /// A magic other than 0 and 1, or more bytes than an int32 counts. Nothing is appended then.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        if !(0..=1).contains(&self.magic) {
            return Err(Error::invalid(format!("messages have magic 0 or 1, not {}", self.magic)));
        }
        let size = match i32::try_from(self.size() - LOG_OVERHEAD) {
            Ok(size) => size,
            Err(_) => return Err(Error::invalid(format!("a message of {} bytes", self.size()))),
        };
        let start = out.len();
        out.reserve(self.size());
        out.extend_from_slice(&self.offset.to_be_bytes());
        out.extend_from_slice(&size.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&[self.magic as u8, self.attributes as u8]);
        if self.magic == 1 {
            out.extend_from_slice(&self.timestamp.to_be_bytes());
        }
        for part in [self.key, self.value] {
            out.extend_from_slice(&part.map_or(-1, |part| part.len() as i32).to_be_bytes());
            out.extend_from_slice(part.unwrap_or_default());
        }
        debug_assert_eq!(out[start + MAGIC], self.magic as u8);
        let crc = crc_of(&out[start..]);
        put_u32(out, start + legacy::CRC, crc);
        Ok(())
    }
}
