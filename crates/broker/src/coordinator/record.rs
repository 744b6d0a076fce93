//! Records of coordinators, in Kafka's own format: a key that begins with its type, a value that begins with its version.

use bytes::{BufMut, Bytes, BytesMut};
use milena_messages::{Message, TypedRecord};
use milena_records::Record;
use milena_wire::Error;

/// One change of a coordinator's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CoordinatorRecord {
    pub(crate) key: Bytes,
    /// `None` deletes what the key names.
    pub(crate) value: Option<Bytes>,
}

/// Version of all keys; what grows is their number.
const KEY_VERSION: i16 = 0;

/// What a record takes in a batch besides key and value: lengths, offset, time and no headers.
const OVERHEAD: usize = 10;

impl CoordinatorRecord {
    /// A record that sets a value, written at this version of the value.
    ///
    /// # Errors
    /// The value has what its version cannot carry.
    pub(crate) fn new<K: TypedRecord, V: Message>(key: &K, value: &V, version: i16) -> Result<Self, Error> {
        Ok(Self {
            key: prefixed(K::TYPE, key.to_bytes(KEY_VERSION)?),
            value: Some(prefixed(version, value.to_bytes(version)?)),
        })
    }

    /// A record that deletes what the key names.
    ///
    /// # Errors
    /// None for keys of Kafka.
    pub(crate) fn tombstone<K: TypedRecord>(key: &K) -> Result<Self, Error> {
        Ok(Self { key: prefixed(K::TYPE, key.to_bytes(KEY_VERSION)?), value: None })
    }

    /// About the bytes that it takes in a batch.
    pub(crate) fn size(&self) -> usize {
        self.key.len() + self.value.as_ref().map_or(0, Bytes::len) + OVERHEAD
    }

    /// The type in front of the key, and the rest of it; `None` when the key is too short.
    pub(crate) fn key_type(&self) -> Option<(i16, Bytes)> {
        split(&self.key)
    }

    /// The version in front of the value, and the rest of it.
    pub(crate) fn value_version(&self) -> Option<(i16, Bytes)> {
        split(self.value.as_ref()?)
    }

    /// The key as that of a type, whose number the caller has looked at.
    ///
    /// # Errors
    /// The bytes are no such key.
    pub(crate) fn read_key<K: TypedRecord>(&self) -> Result<K, Error> {
        K::from_bytes(self.key_type().map(|(_, body)| body).unwrap_or_default(), KEY_VERSION)
    }

    /// The value at the version that it says it has.
    ///
    /// # Errors
    /// The bytes are no such value.
    pub(crate) fn read_value<V: Message>(&self) -> Result<V, Error> {
        let (version, body) = self.value_version().unwrap_or((-1, Bytes::new()));
        V::from_bytes(body, version)
    }

    pub(super) fn to_record(&self, timestamp: i64) -> Record {
        Record { timestamp, key: Some(self.key.clone()), value: self.value.clone(), ..Record::default() }
    }
}

fn prefixed(number: i16, body: Bytes) -> Bytes {
    let mut all = BytesMut::with_capacity(2 + body.len());
    all.put_i16(number);
    all.extend_from_slice(&body);
    all.freeze()
}

fn split(bytes: &Bytes) -> Option<(i16, Bytes)> {
    let number = bytes.first_chunk::<2>()?;
    Some((i16::from_be_bytes(*number), bytes.slice(2..)))
}
