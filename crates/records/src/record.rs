use std::borrow::Cow;

use bytes::Bytes;

/// One record that owns what it holds, or shares it with the batch that it was read from.
///
/// ```
/// use milena_records::Record;
///
/// let record = Record::new("key", "value").with_timestamp(1_700_000_000_000).with_header("trace", "7f");
/// assert_eq!(record.key.as_deref(), Some(&b"key"[..]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Offset in the partition. Builders that count offsets themselves do not look at it.
    pub offset: i64,
    /// Milliseconds since 1970; -1 for none.
    pub timestamp: i64,
    /// The key; null and empty differ.
    pub key: Option<Bytes>,
    /// The value; null is a tombstone, and differs from empty.
    pub value: Option<Bytes>,
    /// Headers (KIP-82), in order and with their duplicates. Magic 0 and 1 have none.
    pub headers: Vec<Header>,
}

impl Record {
    /// A record with key and value.
    pub fn new(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Self { key: Some(key.into()), value: Some(value.into()), ..Self::default() }
    }

    /// A record with copies of a key and a value that are borrowed.
    ///
    /// ```
    /// use milena_records::Record;
    ///
    /// let line = String::from("vienna:prague");
    /// let (key, value) = line.as_bytes().split_at(6);
    /// assert_eq!(Record::copy_from(key, &value[1..]), Record::new("vienna", "prague"));
    /// ```
    pub fn copy_from(key: &[u8], value: &[u8]) -> Self {
        Self::new(Bytes::copy_from_slice(key), Bytes::copy_from_slice(value))
    }

    /// A tombstone: a record with a key and a null value, which deletes the key where topics are compacted.
    pub fn tombstone(key: impl Into<Bytes>) -> Self {
        Self { key: Some(key.into()), ..Self::default() }
    }

    /// A record with a value and no key.
    pub fn from_value(value: impl Into<Bytes>) -> Self {
        Self { value: Some(value.into()), ..Self::default() }
    }

    /// The same record at that time, in milliseconds since 1970.
    #[must_use]
    pub fn with_timestamp(mut self, timestamp: i64) -> Self {
        self.timestamp = timestamp;
        self
    }

    /// The same record at that offset.
    #[must_use]
    pub fn with_offset(mut self, offset: i64) -> Self {
        self.offset = offset;
        self
    }

    /// The same record with one more header.
    #[must_use]
    pub fn with_header(mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        self.headers.push(Header { key: key.into(), value: Some(value.into()) });
        self
    }
}

impl Default for Record {
    /// Null key, null value, no headers, no timestamp, offset 0.
    fn default() -> Self {
        Self { offset: 0, timestamp: -1, key: None, value: None, headers: Vec::new() }
    }
}

/// One header of a [`Record`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Header {
    /// The key. Kafka writes UTF-8 and reads anything.
    pub key: Bytes,
    /// The value; null and empty differ.
    pub value: Option<Bytes>,
}

impl Header {
    /// A header with a value.
    pub fn new(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Self { key: key.into(), value: Some(value.into()) }
    }

    /// The key as text, with U+FFFD for what is not UTF-8, as Java has it.
    pub fn key_str(&self) -> Cow<'_, str> {
        milena_wire::text_lossy(&self.key)
    }
}
