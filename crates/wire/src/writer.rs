use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};
use crate::fixed::{Fixed, MAX_FIXED_BYTES};
use crate::tag::{UnknownTag, UnknownTags};
use crate::uuid::Uuid;
use crate::{MAX_STRING_BYTES, varint};

/// Collects one message, or several after each other.
///
/// The `flexible` argument of the methods chooses the dialect, as in [`crate::Reader`]. A writer in segments
/// ([`Writer::in_segments`]) keeps large byte strings as they are, so that records go to a vectored write uncopied.
/// When a method fails, what was written before stays; the caller drops the writer or cuts it back with
/// [`Writer::truncate`].
#[derive(Debug)]
pub struct Writer {
    pub(crate) buf: Vec<u8>,
    /// Byte strings kept apart: each belongs in front of that position of `buf`.
    inserts: Vec<(usize, Bytes)>,
    inserted: usize,
    /// Byte strings from this length on are kept apart.
    keep_from: usize,
    segmented: bool,
}

/// Room that a writer begins with: most requests fit, and an allocation of this size costs no more than one of 8 bytes.
const FIRST_CAPACITY: usize = 512;

/// In a writer of one buffer, byte strings from this length on wait until the size of the whole is known. Then they are
/// copied once, and not again each time that the buffer grows.
const DEFER_FROM: usize = 4096;

/// Most room that is made for elements not seen yet: a first one that is much larger than all others costs no more.
const MOST_FORESEEN: usize = 64 * 1024;

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer {
    /// An empty writer of one contiguous buffer.
    pub fn new() -> Self {
        Self::with_capacity(FIRST_CAPACITY)
    }

    /// An empty writer with room for `capacity` bytes, large byte strings aside.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { keep_from: DEFER_FROM, ..Self::over(Vec::with_capacity(capacity)) }
    }

    /// A writer that appends to `buf` and allocates nothing while it has room. [`Writer::into_vec`] gives it back.
    ///
    /// ```
    /// use milena_wire::Writer;
    ///
    /// let mut buf = Vec::with_capacity(64);
    /// for number in 0..3 {
    ///     buf.clear();
    ///     let mut writer = Writer::over(buf);
    ///     writer.i16(number);
    ///     buf = writer.into_vec();
    ///     assert_eq!(buf, number.to_be_bytes());
    /// }
    /// ```
    pub fn over(buf: Vec<u8>) -> Self {
        Self { buf, inserts: Vec::new(), inserted: 0, keep_from: usize::MAX, segmented: false }
    }

    /// An empty writer that keeps byte strings of at least `keep_from` bytes as segments of their own.
    pub fn in_segments(keep_from: usize) -> Self {
        Self { keep_from: keep_from.max(1), segmented: true, ..Self::new() }
    }

    /// Bytes written so far.
    pub fn len(&self) -> usize {
        self.buf.len() + self.inserted
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Cuts back to a length that [`Writer::len`] gave before. Only for lengths at which no segment was open.
    pub fn truncate(&mut self, len: usize) {
        while self.len() > len {
            match self.inserts.last() {
                Some((pos, bytes)) if *pos + self.inserted > len => {
                    let (pos, size) = (*pos, bytes.len());
                    self.buf.truncate(pos);
                    self.inserted -= size;
                    self.inserts.pop();
                }
                _ => self.buf.truncate(len - self.inserted),
            }
        }
    }

    /// All of it as one buffer; copies only what was kept apart.
    pub fn into_bytes(self) -> Bytes {
        Bytes::from(self.into_vec())
    }

    /// As [`Writer::into_bytes`], as a vector: the one that was written to, unless something was kept apart.
    pub fn into_vec(self) -> Vec<u8> {
        if self.inserts.is_empty() {
            return self.buf;
        }
        let mut all = Vec::with_capacity(self.len());
        let mut from = 0;
        for (pos, bytes) in &self.inserts {
            all.extend_from_slice(&self.buf[from..*pos]);
            all.extend_from_slice(bytes);
            from = *pos;
        }
        all.extend_from_slice(&self.buf[from..]);
        all
    }

    /// All of it as segments to write one after the other, none of them empty: a single one unless the writer was made
    /// by [`Writer::in_segments`].
    pub fn into_segments(self) -> Vec<Bytes> {
        if !self.segmented || self.inserts.is_empty() {
            return if self.is_empty() { Vec::new() } else { vec![self.into_bytes()] };
        }
        let mut rest = Bytes::from(self.buf);
        let mut segments = Vec::with_capacity(2 * self.inserts.len() + 1);
        let mut from = 0;
        for (pos, bytes) in self.inserts {
            if pos > from {
                segments.push(rest.split_to(pos - from));
            }
            segments.push(bytes);
            from = pos;
        }
        if !rest.is_empty() {
            segments.push(rest);
        }
        segments
    }

    /// Overwrites an int32 written before, at a position inside of the part in front of the first kept segment.
    pub fn patch_i32(&mut self, position: usize, value: i32) {
        self.buf[position..position + 4].copy_from_slice(&value.to_be_bytes());
    }

    /// Bytes as they are, without a length.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.buf.extend_from_slice(bytes);
    }

    /// Several values of fixed width after each other.
    #[inline]
    pub fn fixed<F: Fixed>(&mut self, values: F) {
        let mut bytes = [0; MAX_FIXED_BYTES];
        values.put(&mut bytes);
        self.buf.extend_from_slice(&bytes[..F::SIZE]);
    }

    /// int8.
    #[inline]
    pub fn i8(&mut self, value: i8) {
        self.buf.push(value as u8);
    }

    /// int16.
    #[inline]
    pub fn i16(&mut self, value: i16) {
        self.raw(&value.to_be_bytes());
    }

    /// int32.
    #[inline]
    pub fn i32(&mut self, value: i32) {
        self.raw(&value.to_be_bytes());
    }

    /// int64.
    #[inline]
    pub fn i64(&mut self, value: i64) {
        self.raw(&value.to_be_bytes());
    }

    /// uint16.
    #[inline]
    pub fn u16(&mut self, value: u16) {
        self.raw(&value.to_be_bytes());
    }

    /// uint32.
    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.raw(&value.to_be_bytes());
    }

    /// float64.
    #[inline]
    pub fn f64(&mut self, value: f64) {
        self.raw(&value.to_be_bytes());
    }

    /// bool: 0 or 1.
    #[inline]
    pub fn bool(&mut self, value: bool) {
        self.buf.push(u8::from(value));
    }

    /// uuid.
    #[inline]
    pub fn uuid(&mut self, value: Uuid) {
        self.raw(value.as_bytes());
    }

    /// Unsigned varint.
    #[inline]
    pub fn uvarint(&mut self, value: u32) {
        if value < 0x80 {
            self.buf.push(value as u8);
        } else {
            self.long_uvarint(value);
        }
    }

    #[inline(never)]
    fn long_uvarint(&mut self, value: u32) {
        varint::write_u32(&mut self.buf, value);
    }

    /// Zigzag varint.
    pub fn varint(&mut self, value: i32) {
        self.uvarint(varint::zigzag32(value));
    }

    /// Zigzag varlong.
    pub fn varlong(&mut self, value: i64) {
        varint::write_u64(&mut self.buf, varint::zigzag64(value));
    }

    /// A string.
    ///
    /// # Errors
    /// Longer than [`MAX_STRING_BYTES`].
    #[inline]
    pub fn string(&mut self, text: &str, flexible: bool) -> Result<()> {
        if text.len() > MAX_STRING_BYTES {
            return Err(long_string(text.len()));
        }
        if flexible {
            self.uvarint(text.len() as u32 + 1);
        } else {
            self.i16(text.len() as i16);
        }
        self.raw(text.as_bytes());
        Ok(())
    }

    /// A string or null.
    ///
    /// # Errors
    /// As [`Writer::string`].
    #[inline]
    pub fn nullable_string(&mut self, text: Option<&str>, flexible: bool) -> Result<()> {
        match text {
            Some(text) => self.string(text, flexible)?,
            None if flexible => self.uvarint(0),
            None => self.i16(-1),
        }
        Ok(())
    }

    /// Bytes after their length.
    ///
    /// # Errors
    /// 2 GiB or longer.
    #[inline]
    pub fn bytes(&mut self, bytes: &Bytes, flexible: bool) -> Result<()> {
        self.count(bytes.len(), flexible)?;
        if bytes.len() < self.keep_from {
            self.raw(bytes);
        } else {
            self.keep(bytes);
        }
        Ok(())
    }

    #[inline(never)]
    fn keep(&mut self, bytes: &Bytes) {
        self.inserts.push((self.buf.len(), bytes.clone()));
        self.inserted += bytes.len();
    }

    /// Bytes or null.
    ///
    /// # Errors
    /// As [`Writer::bytes`].
    #[inline]
    pub fn nullable_bytes(&mut self, bytes: Option<&Bytes>, flexible: bool) -> Result<()> {
        match bytes {
            Some(bytes) => self.bytes(bytes, flexible)?,
            None => self.null(flexible),
        }
        Ok(())
    }

    /// The count in front of an array, or the length in front of bytes.
    ///
    /// # Errors
    /// Above what an int32 holds.
    #[inline]
    pub fn count(&mut self, count: usize, flexible: bool) -> Result<()> {
        if count >= i32::MAX as usize {
            return Err(large_count(count));
        }
        if flexible {
            self.uvarint(count as u32 + 1);
        } else {
            self.i32(count as i32);
        }
        Ok(())
    }

    /// A null array or null bytes.
    #[inline]
    pub fn null(&mut self, flexible: bool) {
        if flexible {
            self.uvarint(0);
        } else {
            self.i32(-1);
        }
    }

    /// An array, element by element.
    ///
    /// # Errors
    /// The first that an element gives.
    #[inline]
    pub fn array<T>(
        &mut self,
        array: &[T],
        flexible: bool,
        mut write: impl FnMut(&mut Self, &T) -> Result<()>,
    ) -> Result<()> {
        self.count(array.len(), flexible)?;
        let start = self.buf.len();
        let mut index = 0;
        #[expect(
            clippy::explicit_counter_loop,
            reason = "compiled for each type of element, a third less than `enumerate`"
        )]
        for element in array {
            if index == 1 {
                self.foresee(self.buf.len() - start, array.len() - 1);
            }
            if let Err(error) = write(self, element) {
                return Err(error.within_index(index));
            }
            index += 1;
        }
        Ok(())
    }

    /// Makes room for elements that are as large as the first one, so that the buffer need not grow step by step.
    #[inline(never)]
    fn foresee(&mut self, size: usize, elements: usize) {
        self.buf.reserve((size + size / 8).saturating_mul(elements).min(MOST_FORESEEN));
    }

    /// An array or null.
    ///
    /// # Errors
    /// As [`Writer::array`].
    #[inline]
    pub fn nullable_array<T>(
        &mut self,
        array: Option<&[T]>,
        flexible: bool,
        write: impl FnMut(&mut Self, &T) -> Result<()>,
    ) -> Result<()> {
        match array {
            Some(array) => self.array(array, flexible, write),
            None => {
                self.null(flexible);
                Ok(())
            }
        }
    }

    /// Begins the tagged fields of a struct in a flexible version: `known` of its own, and the unknown ones.
    #[inline]
    pub fn tags<'a>(&'a mut self, known: usize, unknown: &'a UnknownTags) -> TagWriter<'a> {
        self.uvarint((known + unknown.len()) as u32);
        TagWriter { writer: self, unknown: unknown.as_slice(), last: None }
    }

    /// Writes the tagged fields of a struct that defines none.
    ///
    /// # Errors
    /// There are unknown tags in a version that is not flexible, or they are not ascending.
    #[inline(always)]
    pub fn unknown_tags(&mut self, unknown: &UnknownTags, flexible: bool) -> Result<()> {
        if !unknown.is_empty() {
            return self.some_unknown_tags(unknown, flexible);
        }
        if flexible {
            self.buf.push(0);
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn some_unknown_tags(&mut self, unknown: &UnknownTags, flexible: bool) -> Result<()> {
        if flexible {
            return self.tags(0, unknown).finish();
        }
        Err(Error::new(ErrorKind::UnsupportedVersion, "tagged fields cannot be written: the version is not flexible"))
    }

    /// Begins a tag's value, the size of which is known afterwards only; one byte is set aside for it, which is enough
    /// for nearly every tagged field, and the value moves when it is not.
    fn begin_sized(&mut self) -> Open {
        let keep_from = std::mem::replace(&mut self.keep_from, usize::MAX);
        let start = self.buf.len();
        self.buf.push(0);
        Open { start, keep_from }
    }

    #[inline(never)]
    fn end_sized(&mut self, Open { start, keep_from }: Open) {
        self.keep_from = keep_from;
        let size = self.buf.len() - start - 1;
        if size < 0x80 {
            self.buf[start] = size as u8;
        } else {
            let mut prefix = Vec::with_capacity(varint::MAX_LEN_32);
            varint::write_u32(&mut prefix, size as u32);
            self.buf.splice(start..=start, prefix);
        }
    }
}

/// A value that has begun after the byte for its size.
struct Open {
    start: usize,
    /// What the writer kept apart before.
    keep_from: usize,
}

#[cold]
fn long_string(len: usize) -> Error {
    Error::invalid(format!("string of {len} bytes, at most {MAX_STRING_BYTES} are allowed"))
}

#[cold]
fn large_count(count: usize) -> Error {
    Error::invalid(format!("length {count} does not fit an int32"))
}

/// Writes the tagged fields of one struct in ascending order, the unknown ones between the known.
#[derive(Debug)]
pub struct TagWriter<'a> {
    writer: &'a mut Writer,
    unknown: &'a [UnknownTag],
    last: Option<u32>,
}

impl TagWriter<'_> {
    /// Writes a known tag if it is `present`; tags must come in ascending order.
    ///
    /// # Errors
    /// What the value gives; unknown tags that are not ascending, or that have the number of a known one.
    #[inline]
    pub fn field(&mut self, tag: u32, present: bool, write: impl FnOnce(&mut Writer) -> Result<()>) -> Result<()> {
        if let Some(sized) = self.begin(tag, present)? {
            write(self.writer)?;
            self.writer.end_sized(sized);
        }
        Ok(())
    }

    /// All of a field that does not depend on its type.
    #[inline(never)]
    fn begin(&mut self, tag: u32, present: bool) -> Result<Option<Open>> {
        self.unknown_below(tag)?;
        if self.unknown.first().is_some_and(|unknown| unknown.tag == tag) {
            return Err(Error::invalid(format!("tag {tag} is kept as unknown, but the message defines it")));
        }
        self.last = Some(tag);
        Ok(present.then(|| {
            self.writer.uvarint(tag);
            self.writer.begin_sized()
        }))
    }

    fn unknown_below(&mut self, end: u32) -> Result<()> {
        while let Some((first, rest)) = self.unknown.split_first() {
            if first.tag >= end {
                break;
            }
            self.put(first)?;
            self.unknown = rest;
        }
        Ok(())
    }

    fn put(&mut self, unknown: &UnknownTag) -> Result<()> {
        if self.last.is_some_and(|last| last >= unknown.tag) {
            return Err(Error::invalid(format!("unknown tag {} is not in ascending order", unknown.tag)));
        }
        // A tag is an int32 in Kafka, which reads larger ones as negative numbers, and writes neither those nor the last.
        if unknown.tag >= i32::MAX as u32 {
            return Err(Error::invalid(format!("unknown tag {} is above {}", unknown.tag, i32::MAX - 1)));
        }
        self.last = Some(unknown.tag);
        self.writer.uvarint(unknown.tag);
        self.writer.uvarint(unknown.data.len() as u32);
        self.writer.raw(&unknown.data);
        Ok(())
    }

    /// Writes the unknown tags after the last known one.
    ///
    /// # Errors
    /// Unknown tags that are not ascending.
    pub fn finish(mut self) -> Result<()> {
        for unknown in std::mem::take(&mut self.unknown) {
            self.put(unknown)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
