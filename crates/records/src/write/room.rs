use milena_wire::varint;

/// What a batch is built in: a buffer whose first `used` bytes count. What is after them is room to write to without a
/// look at the capacity for every byte; it may hold anything.
#[derive(Clone, Debug)]
pub(super) struct Room {
    buf: Vec<u8>,
    used: usize,
}

/// Short fields are moved as whole words, so there is always that much more than a record needs.
const SLACK: usize = 16;
/// Zeroed at a time: the cache still has it when it is written to.
const STEP: usize = 4096;

impl Room {
    /// `used` bytes of zeros.
    pub(super) fn new(used: usize) -> Self {
        Self { buf: vec![0; used], used }
    }

    /// Bytes in use.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// The bytes in use.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buf[..self.used]
    }

    /// The bytes in use.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buf[..self.used]
    }

    /// Takes memory for `more` bytes at once.
    pub(super) fn reserve(&mut self, more: usize) {
        let room = self.buf.len() - self.used;
        self.buf.reserve_exact(more.saturating_add(SLACK).saturating_sub(room));
    }

    /// The next `size` bytes, to be written.
    #[inline]
    pub(super) fn fill(&mut self, size: usize) -> Fill<'_> {
        if self.buf.len() - self.used < size + SLACK {
            self.grow(size);
        }
        let start = self.used;
        self.used += size;
        Fill { room: &mut self.buf[start..], pos: 0 }
    }

    #[cold]
    fn grow(&mut self, size: usize) {
        let step = self.used.clamp(256, STEP);
        self.buf.resize(self.used + size.max(step) + SLACK, 0);
    }

    /// Forgets what is after the first `used` bytes, and keeps the memory.
    pub(super) fn truncate(&mut self, used: usize) {
        self.used = self.used.min(used);
    }

    /// The bytes in use, as a vector of their own.
    pub(super) fn into_vec(mut self) -> Vec<u8> {
        self.buf.truncate(self.used);
        self.buf
    }
}

/// Room for a record of known size.
pub(super) struct Fill<'a> {
    room: &'a mut [u8],
    pos: usize,
}

impl Fill<'_> {
    /// Bytes written.
    pub(super) fn pos(&self) -> usize {
        self.pos
    }

    /// What a record begins with: its length, no attributes, and the two deltas. Short ones, as nearly all are, go into
    /// one word.
    #[inline(always)]
    pub(super) fn head(&mut self, length: u64, timestamp_delta: u64, offset_delta: u64) {
        if length | timestamp_delta | offset_delta < SHORT {
            let (mut word, mut bits) = short(length);
            bits += 8;
            for number in [timestamp_delta, offset_delta] {
                let (code, size) = short(number);
                word |= code << bits;
                bits += size;
            }
            self.room[self.pos..self.pos + 8].copy_from_slice(&word.to_le_bytes());
            self.pos += bits as usize / 8;
        } else {
            for number in [length, 0, timestamp_delta, offset_delta] {
                self.pos = put_long(self.room, self.pos, number);
            }
        }
    }

    /// An unsigned number.
    #[inline(always)]
    pub(super) fn number(&mut self, number: u64) {
        if number < 0x80 {
            self.room[self.pos] = number as u8;
            self.pos += 1;
        } else if number < SHORT {
            self.room[self.pos..self.pos + 2].copy_from_slice(&[number as u8 | 0x80, (number >> 7) as u8]);
            self.pos += 2;
        } else {
            self.pos = put_long(self.room, self.pos, number);
        }
    }

    /// Bytes after their length.
    #[inline(always)]
    pub(super) fn part(&mut self, part: Part<'_>) {
        self.number(part.length);
        let (bytes, size) = (part.bytes, part.bytes.len());
        match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            // Keys are short, and two words that overlap cost less than the call of a copying function.
            (Some(first), Some(last)) if size <= 16 => {
                let room = &mut self.room[self.pos..self.pos + size];
                room[..8].copy_from_slice(first);
                room[size - 8..].copy_from_slice(last);
            }
            _ => self.room[self.pos..self.pos + size].copy_from_slice(bytes),
        }
        self.pos += size;
    }
}

/// Writes a number of any size at `pos`, and says where it ends. By value, so that a [`Fill`] can live in registers.
#[cold]
fn put_long(room: &mut [u8], mut pos: usize, mut number: u64) -> usize {
    while number >= 0x80 {
        room[pos] = number as u8 | 0x80;
        pos += 1;
        number >>= 7;
    }
    room[pos] = number as u8;
    pos + 1
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

/// A short number as it is written, and how many bits that takes.
#[inline(always)]
fn short(number: u64) -> (u64, u32) {
    let more = number >= 0x80;
    // The lower seven bits, the bit that says that there is more, the upper seven bits.
    (number & 0x7f | u64::from(more) << 7 | number >> 7 << 8, if more { 16 } else { 8 })
}

/// Bytes that these unsigned numbers take.
#[inline(always)]
pub(super) fn sizes<const N: usize>(numbers: [u64; N]) -> usize {
    if numbers.iter().fold(0, |all, number| all | number) < SHORT {
        N + numbers.iter().map(|number| usize::from(*number >= 0x80)).sum::<usize>()
    } else {
        numbers.iter().map(|number| varint::size_u64(*number)).sum()
    }
}
