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

/// A record that sets a value, written at this version of the value. Every field that coordinators fill has its place in the
/// version that they name, so that nothing can fail.
pub(crate) fn set<K: TypedRecord, V: Message>(key: &K, value: &V, version: i16) -> CoordinatorRecord {
    CoordinatorRecord { value: Some(written(version, value, version)), ..remove(key) }
}

/// A record that deletes what the key names.
pub(crate) fn remove<K: TypedRecord>(key: &K) -> CoordinatorRecord {
    CoordinatorRecord { key: written(K::TYPE, key, KEY_VERSION), value: None }
}

fn written<M: Message>(number: i16, message: &M, version: i16) -> Bytes {
    let body = message.to_bytes(version);
    prefixed(number, body.unwrap_or_else(|error| unreachable!("a record of a coordinator: {error}")))
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
