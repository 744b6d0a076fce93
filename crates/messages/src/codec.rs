//! What messages have in common, and the names that generated code uses.

pub(crate) use milena_wire::{
    At, ByteString, Bytes, Error, Int32s, Reader, Result, UnknownTags, Uuid, VersionRange, Writer,
};

use crate::display::DisplayMessage;
pub(crate) use crate::{ApiKey, ErrorCode};

/// A message, or a struct inside of one: anything with fields.
pub trait Struct: Clone + std::fmt::Debug + Default + PartialEq {
    /// Reads the fields that `version` has. Whether the message has that version is not looked at.
    ///
    /// # Errors
    /// The bytes are not what the protocol says, or cost more than the reader allows.
    fn read(reader: &mut Reader, version: i16) -> Result<Self>;

    /// Writes the fields that `version` has. Whether the message has that version is not looked at.
    ///
    /// # Errors
    /// A value that `version` cannot carry. What was written before stays in the writer.
    fn write(&self, writer: &mut Writer, version: i16) -> Result<()>;
}

/// A whole message.
pub trait Message: Struct {
    /// Kafka's name, such as `FetchRequest`.
    const NAME: &'static str;
    /// Every version ever released.
    const VERSIONS: VersionRange;
    /// The versions with compact lengths and tagged fields (KIP-482).
    const FLEXIBLE: VersionRange;

    /// Reads the message. Bytes after it stay in the reader, as Kafka does not mind them.
    ///
    /// # Errors
    /// The message has no such version; malformed bytes; a limit of the reader. The error names byte and field.
    fn decode(reader: &mut Reader, version: i16) -> Result<Self> {
        check_version::<Self>(version)?;
        Self::read(reader, version).map_err(|error| error.within(Self::NAME))
    }

    /// Writes the message.
    ///
    /// # Errors
    /// The message has no such version; a value in a field that the version lacks; null where it may not stand; a string
    /// too long. The error names the field. What was written before stays in the writer.
    fn encode(&self, writer: &mut Writer, version: i16) -> Result<()> {
        check_version::<Self>(version)?;
        self.write(writer, version).map_err(|error| error.within(Self::NAME))
    }

    /// Reads the message from the front of `bytes`.
    ///
    /// # Errors
    /// As [`Message::decode`].
    fn from_bytes(bytes: Bytes, version: i16) -> Result<Self> {
        Self::decode(&mut Reader::new(bytes), version)
    }

    /// Reads the message from bytes that hold it and nothing after it.
    ///
    /// Peers may send bytes after a body, and Kafka ignores them: use [`Message::from_bytes`] for those. This is for tests,
    /// and for bytes whose message is a guess.
    ///
    /// ```
    /// use milena_messages::{HeartbeatResponse, Message};
    ///
    /// assert!(HeartbeatResponse::from_bytes_exact(b"\0\0"[..].into(), 0).is_ok());
    /// let error = HeartbeatResponse::from_bytes_exact(b"\0\0\0"[..].into(), 0).unwrap_err();
    /// assert_eq!(error.offset(), Some(2));
    /// ```
    ///
    /// # Errors
    /// As [`Message::decode`]; bytes after the message.
    fn from_bytes_exact(bytes: Bytes, version: i16) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let message = Self::decode(&mut reader, version)?;
        match reader.remaining() {
            0 => Ok(message),
            count => {
                let error = Error::malformed(reader.position(), format!("{count} bytes follow the message"));
                Err(error.within(Self::NAME))
            }
        }
    }

    /// The message as text, with the fields that `version` has and without empty lists of unknown tags.
    ///
    /// ```
    /// use milena_messages::{HeartbeatRequest, Message};
    ///
    /// let request = HeartbeatRequest { group_id: "readers".into(), member_id: "m".into(), ..Default::default() };
    /// assert_eq!(
    ///     request.display(0).to_string(),
    ///     r#"HeartbeatRequest v0 { group_id: "readers", generation_id: 0, member_id: "m" }"#
    /// );
    /// ```
    fn display(&self, version: i16) -> DisplayMessage<'_, Self> {
        DisplayMessage::new(self, version)
    }

    /// The message as bytes.
    ///
    /// # Errors
    /// As [`Message::encode`].
    fn to_bytes(&self, version: i16) -> Result<Bytes> {
        let mut writer = Writer::new();
        self.encode(&mut writer, version)?;
        Ok(writer.into_bytes())
    }

    /// Appends the message to `buf`, without an allocation when there is room.
    ///
    /// # Errors
    /// As [`Message::encode`]; `buf` is then as it was.
    fn append_to(&self, buf: &mut Vec<u8>, version: i16) -> Result<()> {
        let before = buf.len();
        let mut writer = Writer::over(std::mem::take(buf));
        let result = self.encode(&mut writer, version);
        *buf = writer.into_vec();
        if result.is_err() {
            buf.truncate(before);
        }
        result
    }
}

fn check_version<M: Message>(version: i16) -> Result<()> {
    if M::VERSIONS.contains(version) { Ok(()) } else { Err(Error::version(version, M::VERSIONS).within(M::NAME)) }
}

/// A message that is sent to a broker or controller.
pub trait Request: Message {
    /// The number in the request header.
    const API_KEY: ApiKey;
    /// The response.
    type Response: Response;

    /// Whether the broker responds to this request at all: it does not respond to a Produce with acks = 0.
    fn expects_response(&self) -> bool {
        true
    }
}

/// The response to a request.
pub trait Response: Message {
    /// The number in the header of the request.
    const API_KEY: ApiKey;

    /// Milliseconds for which the request was throttled by a quota (KIP-124, KIP-219); 0 when the response has no such
    /// field.
    fn throttle_time_ms(&self) -> i32 {
        0
    }
}

/// A record of a coordinator's topic, of the KRaft log or of the remote log metadata topic.
pub trait TypedRecord: Message {
    /// The number that stands in front of a key or metadata record. Each family counts on its own.
    const TYPE: i16;
}

pub(crate) fn read_nullable<S: Struct>(reader: &mut Reader, version: i16) -> Result<Option<S>> {
    if reader.present()? { S::read(reader, version).map(Some) } else { Ok(None) }
}

pub(crate) fn read_tagged_nullable<S: Struct>(reader: &mut Reader, version: i16) -> Result<Option<S>> {
    if reader.tagged_present()? { S::read(reader, version).map(Some) } else { Ok(None) }
}

pub(crate) fn write_nullable<S: Struct>(value: Option<&S>, writer: &mut Writer, version: i16) -> Result<()> {
    match value {
        Some(value) => {
            writer.i8(1);
            value.write(writer, version)
        }
        None => {
            writer.i8(-1);
            Ok(())
        }
    }
}

pub(crate) fn write_tagged_nullable<S: Struct>(value: Option<&S>, writer: &mut Writer, version: i16) -> Result<()> {
    writer.uvarint(u32::from(value.is_some()));
    value.map_or(Ok(()), |value| value.write(writer, version))
}
