/// What a batch is built in. Short fields are appended as whole words, of which the rest is cut off again: that costs
/// less than to copy a number of bytes that is not known beforehand.
#[derive(Clone, Debug)]
pub(super) struct Room {
    buf: Vec<u8>,
}

/// The words reach at most so far past the end of a record.
const SLACK: usize = 16;

impl Room {
    /// `used` bytes of zeros.
    pub(super) fn new(used: usize) -> Self {
        Self { buf: vec![0; used] }
    }

    /// Bytes written.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.buf.len()
    }

    /// The bytes written.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buf
    }

    /// Takes memory for `more` bytes at once.
    pub(super) fn reserve(&mut self, more: usize) {
        self.buf.reserve_exact(more.saturating_add(SLACK));
    }

    /// Forgets what is after the first `size` bytes, and keeps the memory.
    pub(super) fn truncate(&mut self, size: usize) {
        self.buf.truncate(size);
    }

    /// The bytes written, as a vector of their own.
    pub(super) fn into_vec(self) -> Vec<u8> {
        self.buf
    }

    /// Appends a record of that form, without headers.
    #[inline(always)]
    pub(super) fn short(&mut self, record: Short, key: &[u8], value: &[u8]) {
        self.buf.reserve(record.size + SLACK);
        self.word(record.head);
        match (key.first_chunk::<8>(), key.last_chunk::<8>()) {
            // Two words that overlap cost less than the call of a copying function.
            (Some(first), Some(last)) if key.len() <= 16 => {
                let end = self.buf.len() + key.len();
                self.buf.extend_from_slice(first);
                self.buf.truncate(end - 8);
                let last = u128::from(u64::from_le_bytes(*last)) | u128::from(record.value_length.bytes) << 64;
                self.buf.extend_from_slice(&last.to_le_bytes());
                self.buf.truncate(end + record.value_length.bits as usize / 8);
            }
            _ => {
                self.buf.extend_from_slice(key);
                self.word(record.value_length);
            }
        }
        self.buf.extend_from_slice(value);
        // The number of headers.
        self.buf.push(0);
    }

    #[inline(always)]
    fn word(&mut self, word: Word) {
        let end = self.buf.len() + word.bits as usize / 8;
        self.buf.extend_from_slice(&word.bytes.to_le_bytes());
        self.buf.truncate(end);
    }

    /// Where a record of that many bytes is to be appended.
    pub(super) fn record(&mut self, size: usize) -> &mut Vec<u8> {
        self.buf.reserve(size);
        &mut self.buf
    }
}

/// A key or a value.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    /// In zigzag form; that of -1 for null.
    pub(super) length: u64,
    pub(super) bytes: &'a [u8],
}

impl<'a> Part<'a> {
    #[inline(always)]
    pub(super) fn new(part: Option<&'a [u8]>) -> Self {
        match part {
            Some(bytes) => Self { length: (bytes.len() as u64) << 1, bytes },
            None => Self { length: 1, bytes: &[] },
        }
    }
}

/// Above all numbers of one or two bytes.
const SHORT: u64 = 0x4000;

/// Up to eight bytes, the first one lowest.
#[derive(Clone, Copy)]
struct Word {
    bytes: u64,
    bits: u32,
}

impl Word {
    /// A number of one or two bytes as it is written.
    #[inline(always)]
    fn short(number: u64) -> Self {
        // 1 from 0x80 on.
        let more = (number + 0x3f80) >> 14;
        // The upper seven bits move up by one; what is left free says that there is more.
        Self { bytes: number + (number & 0x3f80) + (more << 7), bits: 8 + 8 * more as u32 }
    }

    #[inline(always)]
    fn then(self, next: Self) -> Self {
        Self { bytes: self.bytes | next.bytes << self.bits, bits: self.bits + next.bits }
    }
}

/// A record as nearly all are: a key of less than 64 bytes, numbers of at most two bytes, no headers. Size and bytes of its
/// numbers come from one look at each.
#[derive(Clone, Copy)]
pub(super) struct Short {
    /// Length, attributes, the two deltas, and the length of the key: eight bytes at most.
    head: Word,
    value_length: Word,
    /// Bytes of the whole record.
    pub(super) size: usize,
}

impl Short {
    /// `None` for a record that is not of that form.
    #[inline(always)]
    pub(super) fn new(timestamp_delta: u64, offset_delta: u64, key: Part<'_>, value: Part<'_>) -> Option<Self> {
        if timestamp_delta | offset_delta | value.length >= SHORT || key.length >= 0x80 {
            return None;
        }
        let attributes = Word { bytes: 0, bits: 8 };
        let numbers = attributes
            .then(Word::short(timestamp_delta))
            .then(Word::short(offset_delta))
            .then(Word { bytes: key.length, bits: 8 });
        let value_length = Word::short(value.length);
        let body = (numbers.bits + value_length.bits) as usize / 8 + key.bytes.len() + value.bytes.len() + 1;
        let length = (body as u64) << 1;
        if length >= SHORT {
            return None;
        }
        let length = Word::short(length);
        Some(Self { head: length.then(numbers), value_length, size: body + length.bits as usize / 8 })
    }
}
