use bytes::Bytes;
use milena_wire::{Error, Result};

use crate::message::Message;

/// Stands at the end of a set whose last entry was cut off, as brokers do at `max_bytes`. Ask for more bytes if it stands
/// alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartialMessage;

/// What a set holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageOrPartial {
    /// A whole message.
    Message(Message),
    /// The end of a set that was cut off.
    Partial(PartialMessage),
}

impl MessageOrPartial {
    /// The message, if it is one.
    pub fn message(&self) -> Option<&Message> {
        match self {
            Self::Message(message) => Some(message),
            Self::Partial(PartialMessage) => None,
        }
    }

    /// Whether it is the end of a set that was cut off.
    pub fn is_partial(&self) -> bool {
        matches!(self, Self::Partial(PartialMessage))
    }
}

/// An entry as [`MessageSet::decode`] gives it: kafka-python's triple.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageSetItem {
    /// As it stands in the entry; `None` for a partial message.
    pub offset: Option<i64>,
    /// Bytes of the message without offset and size; `None` for a partial message.
    pub size: Option<usize>,
    /// The message.
    pub message: MessageOrPartial,
}

/// A message out of a fetch, with its offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetAndMessage {
    /// As it stands in the entry, out of a compressed one in magic 1 relative; `None` for a partial message.
    pub offset: Option<i64>,
    /// The message.
    pub message: MessageOrPartial,
}

/// Message sets: entries of int64 offset, int32 size and message, one after the other without a count.
///
/// ```
/// use milena_legacy::{MessageSet, create_message};
///
/// let message = create_message(Some("value".into()), None).encode()?;
/// let set = MessageSet::encode([(7, message)], false)?;
/// let size = set.len();
/// assert_eq!(MessageSet::decode(set.clone(), Some(size))?[0].offset, Some(7));
/// assert!(MessageSet::decode(set.slice(..20), Some(20))?[0].message.is_partial());
/// # Ok::<(), milena_legacy::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MessageSet;

impl MessageSet {
    /// Bytes in front of each message: offset and size.
    pub const HEADER_SIZE: usize = 12;

    /// Writes entries of offset and encoded message, and with `prepend_size` their total size as an int32 in front.
    ///
    /// # Errors
    /// More bytes than an int32 counts.
    pub fn encode<M: AsRef<[u8]>>(items: impl IntoIterator<Item = (i64, M)>, prepend_size: bool) -> Result<Bytes> {
        let mut out = vec![0; if prepend_size { 4 } else { 0 }];
        let start = out.len();
        for (offset, message) in items {
            let message = message.as_ref();
            out.extend_from_slice(&offset.to_be_bytes());
            out.extend_from_slice(&size_of_part(message.len())?.to_be_bytes());
            out.extend_from_slice(message);
        }
        let size = size_of_part(out.len() - start)?;
        if prepend_size {
            out[..4].copy_from_slice(&size.to_be_bytes());
        }
        Ok(out.into())
    }

    /// Reads `bytes_to_read` bytes of `data`, or when that is `None` as many as an int32 in front of them says.
    ///
    /// What is cut off at the end becomes one partial message, also when there are fewer bytes than were to be read.
    ///
    /// # Errors
    /// An entry that is all there, but null or not a message of magic 0 or 1; with `None` a size that is cut off or
    /// negative. The error says at which byte of the set, and in which entry.
    pub fn decode(data: Bytes, bytes_to_read: Option<usize>) -> Result<Vec<MessageSetItem>> {
        let (data, wanted) = match bytes_to_read {
            Some(wanted) => (data.slice(..wanted.min(data.len())), wanted),
            None => {
                let Some(size) = data.first_chunk() else {
                    return Err(Error::malformed(0, "the size of the message set is cut off"));
                };
                let size = i32::from_be_bytes(*size);
                let Ok(wanted) = usize::try_from(size) else {
                    return Err(Error::malformed(0, format!("a message set of {size} bytes")));
                };
                (data.slice(4..wanted.saturating_add(4).min(data.len())), wanted)
            }
        };
        let mut items = Vec::new();
        let mut pos = 0;
        while pos < wanted {
            match entry(&data, pos).map_err(|error| error.within_index(items.len()).within("messages"))? {
                Some((offset, size, message)) => {
                    let message = MessageOrPartial::Message(message);
                    items.push(MessageSetItem { offset: Some(offset), size: Some(size), message });
                    pos += Self::HEADER_SIZE + size;
                }
                None => {
                    let message = MessageOrPartial::Partial(PartialMessage);
                    items.push(MessageSetItem { offset: None, size: None, message });
                    break;
                }
            }
        }
        Ok(items)
    }
}

fn size_of_part(len: usize) -> Result<i32> {
    i32::try_from(len).map_err(|_| Error::invalid(format!("{len} bytes do not fit an int32")))
}

/// Offset, size and message of the entry at `pos`; `None` when it is cut off.
fn entry(data: &Bytes, pos: usize) -> Result<Option<(i64, usize, Message)>> {
    let Some((offset, rest)) = data[pos..].split_first_chunk() else { return Ok(None) };
    let Some((size, rest)) = rest.split_first_chunk() else { return Ok(None) };
    let size = i32::from_be_bytes(*size);
    let Ok(size) = usize::try_from(size) else {
        return Err(Error::malformed(pos + 8, format!("a message of {size} bytes")).within("size"));
    };
    if size > rest.len() {
        return Ok(None);
    }
    let start = pos + MessageSet::HEADER_SIZE;
    let message = Message::decode(data.slice(start..start + size)).map_err(|error| error.shift(start))?;
    Ok(Some((i64::from_be_bytes(*offset), size, message)))
}

/// The messages of a set with the compressed ones opened, one level deep: what comes out of a fetch.
///
/// # Errors
/// As [`MessageSet::decode`] and [`Message::decompress`].
pub fn decode_message_set(raw_data: Bytes) -> Result<Vec<OffsetAndMessage>> {
    let size = raw_data.len();
    let mut out = Vec::new();
    let mut push = |item: MessageSetItem| out.push(OffsetAndMessage { offset: item.offset, message: item.message });
    for (index, item) in MessageSet::decode(raw_data, Some(size))?.into_iter().enumerate() {
        match item.message.message() {
            Some(message) if message.is_compressed() => {
                let inner = message.decompress().map_err(|error| error.within_index(index).within("messages"))?;
                inner.into_iter().for_each(&mut push);
            }
            _ => push(item),
        }
    }
    Ok(out)
}
