use std::borrow::Cow;

use bytes::Bytes;

use crate::read::cursor::Cursor;
use crate::record::{Header, Record};

/// One record as it stands in its batch: nothing copied, nothing allocated.
#[derive(Clone, Copy, Debug)]
pub struct RecordRef<'a> {
    /// Offset in the partition.
    pub offset: i64,
    /// Milliseconds since 1970; -1 for none. With LogAppendTime it is that of the batch.
    pub timestamp: i64,
    /// The key; null and empty differ.
    pub key: Option<&'a [u8]>,
    /// The value; null and empty differ.
    pub value: Option<&'a [u8]>,
    pub(crate) headers: Headers<'a>,
    pub(crate) sequence: i32,
    /// What the slices are parts of.
    pub(crate) source: &'a Bytes,
}

impl<'a> RecordRef<'a> {
    /// The headers, in order and with their duplicates.
    pub fn headers(&self) -> Headers<'a> {
        self.headers
    }

    /// Sequence number of an idempotent producer (KIP-98): that of the batch plus the offset delta, going from 2147483647
    /// on to 0; -1 for none.
    pub fn sequence(&self) -> i32 {
        self.sequence
    }

    /// The record as a value that shares the memory of the batch, and keeps all of it alive.
    pub fn to_owned(&self) -> Record {
        let share = |part: &[u8]| self.source.slice_ref(part);
        Record {
            offset: self.offset,
            timestamp: self.timestamp,
            key: self.key.map(share),
            value: self.value.map(share),
            headers: self
                .headers
                .map(|header| Header { key: share(header.key), value: header.value.map(share) })
                .collect(),
        }
    }

    /// The record as a value of its own, in one allocation beside the list of headers: for what is kept longer than the request.
    pub fn to_detached(&self) -> Record {
        let parts = || {
            let headers = self.headers.flat_map(|header| [Some(header.key), header.value]);
            [self.key, self.value].into_iter().chain(headers).flatten()
        };
        let mut all = Vec::with_capacity(parts().map(<[u8]>::len).sum());
        parts().for_each(|part| all.extend_from_slice(part));
        let mut all = Bytes::from(all);
        let mut take = |part: &[u8]| all.split_to(part.len());
        Record {
            offset: self.offset,
            timestamp: self.timestamp,
            key: self.key.map(&mut take),
            value: self.value.map(&mut take),
            headers: self
                .headers
                .map(|header| Header { key: take(header.key), value: header.value.map(&mut take) })
                .collect(),
        }
    }
}

/// The headers of a record, read one by one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headers<'a> {
    /// Read once already, when the record was.
    pub(crate) bytes: &'a [u8],
    pub(crate) left: usize,
}

impl<'a> Headers<'a> {
    /// The value of the last header with that key: what a reader wants who expects one.
    pub fn last(self, key: &[u8]) -> Option<HeaderRef<'a>> {
        self.filter(|header| header.key == key).last()
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = HeaderRef<'a>;

    fn next(&mut self) -> Option<HeaderRef<'a>> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let mut cursor = Cursor::new(self.bytes);
        let header = cursor.header().ok()?;
        self.bytes = &self.bytes[cursor.pos..];
        Some(header)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Headers<'_> {}

/// One header as it stands in its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderRef<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The value; null and empty differ.
    pub value: Option<&'a [u8]>,
}

impl<'a> HeaderRef<'a> {
    /// The key as text, with U+FFFD for what is not UTF-8, as Java has it.
    pub fn key_str(&self) -> Cow<'a, str> {
        milena_wire::text_lossy(self.key)
    }
}
