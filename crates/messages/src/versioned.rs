use std::ops::{Deref, DerefMut};

use milena_wire::{Bytes, Reader, Result, Writer};

use crate::codec::Message;

/// A message tied to one version, such as `Versioned<FetchRequest, 6>`.
///
/// A version that the message does not have is refused at compile time.
///
/// ```
/// use milena_messages::{MetadataRequest, Versioned};
///
/// type MetadataRequestV1 = Versioned<MetadataRequest, 1>;
///
/// let all_topics = MetadataRequestV1::new(MetadataRequest { topics: None, ..Default::default() });
/// assert_eq!(&all_topics.to_bytes()?[..], &[0xff, 0xff, 0xff, 0xff]);
/// # Ok::<(), milena_wire::Error>(())
/// ```
///
/// ```compile_fail
/// # use milena_messages::{MetadataRequest, Versioned};
/// let _ = Versioned::<MetadataRequest, 99>::new(MetadataRequest::default());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Versioned<M, const VERSION: i16>(M);

impl<M: Message, const VERSION: i16> Versioned<M, VERSION> {
    /// The version.
    pub const VERSION: i16 = {
        assert!(M::VERSIONS.contains(VERSION), "the message has no such version");
        VERSION
    };

    /// Ties the message to the version.
    pub fn new(message: M) -> Self {
        const { assert!(M::VERSIONS.contains(VERSION), "the message has no such version") };
        Self(message)
    }

    /// The message alone.
    pub fn into_inner(self) -> M {
        self.0
    }

    /// Reads it; see [`Message::decode`].
    ///
    /// # Errors
    /// As [`Message::decode`].
    pub fn decode(reader: &mut Reader) -> Result<Self> {
        M::decode(reader, Self::VERSION).map(Self)
    }

    /// Writes it; see [`Message::encode`].
    ///
    /// # Errors
    /// As [`Message::encode`].
    pub fn encode(&self, writer: &mut Writer) -> Result<()> {
        self.0.encode(writer, Self::VERSION)
    }

    /// Reads it from the front of `bytes`.
    ///
    /// # Errors
    /// As [`Message::decode`].
    pub fn from_bytes(bytes: Bytes) -> Result<Self> {
        Self::decode(&mut Reader::new(bytes))
    }

    /// It as bytes.
    ///
    /// # Errors
    /// As [`Message::encode`].
    pub fn to_bytes(&self) -> Result<Bytes> {
        self.0.to_bytes(Self::VERSION)
    }
}

impl<M, const VERSION: i16> Deref for Versioned<M, VERSION> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.0
    }
}

impl<M, const VERSION: i16> DerefMut for Versioned<M, VERSION> {
    fn deref_mut(&mut self) -> &mut M {
        &mut self.0
    }
}
