use bytes::Bytes;
use milena_records::Codec;
use milena_wire::{Error, Result};

use crate::message::Message;

/// A value and a key, both of which may be null: what a compressed message is made of.
pub type Payload = (Option<Bytes>, Option<Bytes>);

/// No compression.
pub const CODEC_NONE: Codec = Codec::None;
/// gzip.
pub const CODEC_GZIP: Codec = Codec::Gzip;
/// Snappy in the framing of xerial's snappy-java.
pub const CODEC_SNAPPY: Codec = Codec::Snappy;
/// The codecs that [`create_message_set`] takes.
pub const ALL_CODECS: [Codec; 3] = [CODEC_NONE, CODEC_GZIP, CODEC_SNAPPY];

/// A message of magic 0 that is not compressed.
pub fn create_message(payload: Option<Bytes>, key: Option<Bytes>) -> Message {
    Message::new(payload, key)
}

/// A message of magic 0 that wraps messages of magic 0, all at offset 0, compressed by gzip. Level 9 unless said
/// otherwise, and 0 is 9 as well. `key` is that of the wrapper.
///
/// # Errors
/// A level above 9 or below -1; more bytes than an int32 counts; gzip was left out of the build.
pub fn create_gzip_message(payloads: &[Payload], key: Option<Bytes>, compresslevel: Option<i32>) -> Result<Message> {
    let level = compresslevel.filter(|&level| level != 0).unwrap_or(9);
    wrap(payloads, key, Codec::Gzip, Some(level))
}

/// A message of magic 0 that wraps messages of magic 0, all at offset 0, compressed by snappy in xerial's framing with
/// blocks of 32 KiB. `key` is that of the wrapper.
///
/// # Errors
/// More bytes than an int32 counts; snappy was left out of the build.
pub fn create_snappy_message(payloads: &[Payload], key: Option<Bytes>) -> Result<Message> {
    wrap(payloads, key, Codec::Snappy, None)
}

/// The messages one by one without a codec, or a single one that wraps them with a codec; `key` and `compresslevel` are
/// of meaning to the latter alone.
///
/// # Errors
/// A codec that is not among [`ALL_CODECS`]; else as [`create_gzip_message`].
pub fn create_message_set(
    messages: &[Payload],
    codec: Codec,
    key: Option<Bytes>,
    compresslevel: Option<i32>,
) -> Result<Vec<Message>> {
    match codec {
        Codec::None => Ok(messages.iter().map(|(value, key)| create_message(value.clone(), key.clone())).collect()),
        Codec::Gzip => Ok(vec![create_gzip_message(messages, key, compresslevel)?]),
        Codec::Snappy => Ok(vec![create_snappy_message(messages, key)?]),
        _ => Err(Error::invalid(format!("kafka-python makes no message sets with {codec}"))),
    }
}

fn wrap(payloads: &[Payload], key: Option<Bytes>, codec: Codec, level: Option<i32>) -> Result<Message> {
    let mut set = Vec::new();
    for (value, key) in payloads {
        create_message(value.clone(), key.clone()).entry(0, &mut set)?;
    }
    let value = codec.compress(&set, level)?;
    Ok(Message::new(Some(value.into()), key).with_attributes(codec.id() as i8))
}
