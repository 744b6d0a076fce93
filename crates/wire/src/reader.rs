use bytes::Bytes;
use bytestring::ByteString;

use crate::error::{Error, ErrorKind, Result, counted};
use crate::fixed::Fixed;
use crate::lossy::text_lossy;
use crate::tag::{UnknownTag, UnknownTags};
use crate::uuid::Uuid;
use crate::{MAX_STRING_BYTES, varint};

/// How much memory a message may cost its reader.
///
/// Counts are checked against the bytes that remain before anything is reserved. On top of that, the memory of all array
/// elements together is charged against a budget that grows with the input, because an element that takes one byte on
/// the wire can take a hundred in memory. Strings and bytes are slices of the input and cost nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory per byte of input that array elements may take.
    pub memory_per_byte: usize,
    /// Bytes of memory that they may take in any case.
    pub memory_floor: usize,
}

impl Default for Limits {
    /// 16 bytes for each byte of input, and 64 KiB in any case.
    fn default() -> Self {
        Self { memory_per_byte: 16, memory_floor: 64 * 1024 }
    }
}

/// A cursor over one message.
///
/// The `flexible` argument of the methods chooses the dialect: `true` for versions with compact lengths (KIP-482).
/// Strings and bytes are slices that share the input's memory; nothing is copied.
#[derive(Clone, Debug)]
pub struct Reader {
    pub(crate) buf: Bytes,
    pub(crate) pos: usize,
    budget: usize,
}

/// Elements of an array that are read before anyone looks whether reading failed.
///
/// An iterator of known length lets elements be built where they stay. One that could end early would have each built
/// elsewhere, kept there for the case that the vector grows and that fails, and moved.
const CHUNK: usize = 64;

macro_rules! fixed {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name(&mut self) -> Result<$type> {
            match self.buf[self.pos..].first_chunk() {
                Some(bytes) => {
                    self.pos += size_of::<$type>();
                    Ok(<$type>::from_be_bytes(*bytes))
                }
                None => Err(self.cut_off(size_of::<$type>())),
            }
        }
    )*};
}

impl Reader {
    /// A reader over all of `buf` with the default [`Limits`].
    pub fn new(buf: Bytes) -> Self {
        Self::with_limits(buf, Limits::default())
    }

    /// A reader with limits of your own.
    pub fn with_limits(buf: Bytes, limits: Limits) -> Self {
        let budget = buf.len().saturating_mul(limits.memory_per_byte).saturating_add(limits.memory_floor);
        Self { buf, pos: 0, budget }
    }

    /// Bytes read so far.
    #[inline]
    pub fn position(&self) -> usize {
        self.pos
    }

    /// Bytes not read yet. Kafka does not mind bytes after a message, so a caller who does has to ask.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.buf.len() - self.pos
    }

    /// Everything not read yet, which is read by this.
    pub fn rest(&mut self) -> Bytes {
        let rest = self.buf.slice(self.pos..);
        self.pos = self.buf.len();
        rest
    }

    #[cold]
    fn cut_off(&self, wanted: usize) -> Error {
        Error::malformed(self.pos, format!("{} expected, {} left", counted(wanted, "byte"), self.remaining()))
    }

    #[cold]
    fn error(&self, message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
        Error::malformed(self.pos, message)
    }

    fixed! {
        /// int8.
        i8: i8;
        /// int16, big-endian.
        i16: i16;
        /// int32, big-endian.
        i32: i32;
        /// int64, big-endian.
        i64: i64;
        /// uint16, big-endian.
        u16: u16;
        /// uint32, big-endian.
        u32: u32;
        /// float64, IEEE 754, big-endian.
        f64: f64;
    }

    /// Several values of fixed width after each other. `names` are those of the fields, for errors.
    #[inline]
    pub fn fixed<F: Fixed, const N: usize>(&mut self, names: [&'static str; N]) -> Result<F> {
        match self.buf[self.pos..].get(..F::SIZE) {
            Some(bytes) => {
                self.pos += F::SIZE;
                Ok(F::take(bytes))
            }
            None => Err(self.fixed_cut_off(F::SIZES, &names)),
        }
    }

    /// The error that reading the values one by one would have given.
    #[cold]
    #[inline(never)]
    fn fixed_cut_off(&mut self, sizes: &[usize], names: &[&'static str]) -> Error {
        for (&size, &name) in sizes.iter().zip(names) {
            if size > self.remaining() {
                return self.cut_off(size).within(name);
            }
            self.pos += size;
        }
        self.cut_off(1)
    }

    /// bool: one byte, any but 0 is true.
    #[inline]
    pub fn bool(&mut self) -> Result<bool> {
        Ok(self.i8()? != 0)
    }

    /// uuid: 16 bytes.
    #[inline]
    pub fn uuid(&mut self) -> Result<Uuid> {
        match self.buf[self.pos..].first_chunk() {
            Some(bytes) => {
                self.pos += 16;
                Ok(Uuid::from_bytes(*bytes))
            }
            None => Err(self.cut_off(16)),
        }
    }

    /// Unsigned varint of up to 5 bytes. Bits above the 32nd are dropped, as Kafka drops them.
    #[inline]
    pub fn uvarint(&mut self) -> Result<u32> {
        match self.buf[self.pos..].first() {
            Some(&byte) if byte < 0x80 => {
                self.pos += 1;
                Ok(u32::from(byte))
            }
            _ => self.long_uvarint(),
        }
    }

    #[inline(never)]
    fn long_uvarint(&mut self) -> Result<u32> {
        match varint::read_u32(&self.buf[self.pos..]) {
            Some((value, size)) => {
                self.pos += size;
                Ok(value)
            }
            None => Err(self.bad_varint(5)),
        }
    }

    /// Zigzag varint of up to 5 bytes.
    pub fn varint(&mut self) -> Result<i32> {
        self.uvarint().map(varint::unzigzag32)
    }

    /// Zigzag varlong of up to 10 bytes.
    pub fn varlong(&mut self) -> Result<i64> {
        match varint::read_u64(&self.buf[self.pos..]) {
            Some((value, size)) => {
                self.pos += size;
                Ok(varint::unzigzag64(value))
            }
            None => Err(self.bad_varint(10)),
        }
    }

    #[cold]
    fn bad_varint(&self, width: usize) -> Error {
        if self.remaining() < width {
            self.error("varint cut off")
        } else {
            self.error(format!("varint longer than {width} bytes"))
        }
    }

    /// A length or count: -1 and all below mean null.
    #[inline]
    fn length(&mut self, flexible: bool) -> Result<i32> {
        if flexible { Ok((self.uvarint()? as i32).wrapping_sub(1)) } else { self.i32() }
    }

    #[inline]
    fn string_length(&mut self, flexible: bool) -> Result<i32> {
        if flexible { Ok((self.uvarint()? as i32).wrapping_sub(1)) } else { self.i16().map(i32::from) }
    }

    #[inline]
    fn take(&mut self, start: usize, len: i32) -> Result<Bytes> {
        let len = len as usize;
        if len > self.remaining() {
            return Err(self.too_long(start, len));
        }
        let bytes = self.buf.slice(self.pos..self.pos + len);
        self.pos += len;
        Ok(bytes)
    }

    #[cold]
    fn too_long(&self, start: usize, len: usize) -> Error {
        Error::malformed(start, format!("length {len}, but {} left", counted(self.remaining(), "byte")))
    }

    #[inline]
    fn take_string(&mut self, start: usize, len: i32) -> Result<ByteString> {
        if len == 0 { Ok(ByteString::new()) } else { self.take_text(start, len) }
    }

    #[inline(never)]
    fn take_text(&mut self, start: usize, len: i32) -> Result<ByteString> {
        if len as usize > MAX_STRING_BYTES {
            return Err(too_long_text(start, len));
        }
        let bytes = self.take(start, len)?;
        Ok(ByteString::try_from(bytes).unwrap_or_else(|_| {
            // Java replaces what is not UTF-8 and goes on; real clients rely on brokers doing so.
            let bytes = &self.buf[self.pos - len as usize..self.pos];
            ByteString::from(text_lossy(bytes).into_owned())
        }))
    }

    /// A string that may not be null.
    #[inline]
    pub fn string(&mut self, flexible: bool) -> Result<ByteString> {
        let start = self.pos;
        match self.string_length(flexible)? {
            len if len < 0 => Err(Error::malformed(start, "null string where null is not allowed")),
            len => self.take_string(start, len),
        }
    }

    /// A string that may be null.
    #[inline]
    pub fn nullable_string(&mut self, flexible: bool) -> Result<Option<ByteString>> {
        let start = self.pos;
        match self.string_length(flexible)? {
            len if len < 0 => Ok(None),
            len => self.take_string(start, len).map(Some),
        }
    }

    /// Bytes that may not be null.
    #[inline(always)]
    pub fn bytes(&mut self, flexible: bool) -> Result<Bytes> {
        let start = self.pos;
        match self.length(flexible)? {
            len if len < 0 => Err(Error::malformed(start, "null bytes where null is not allowed")),
            len => self.take(start, len),
        }
    }

    /// Bytes that may be null.
    #[inline(always)]
    pub fn nullable_bytes(&mut self, flexible: bool) -> Result<Option<Bytes>> {
        let start = self.pos;
        match self.length(flexible)? {
            len if len < 0 => Ok(None),
            len => self.take(start, len).map(Some),
        }
    }

    /// Steps over so many bytes.
    #[inline]
    pub fn skip(&mut self, count: usize) -> Result<()> {
        if count > self.remaining() {
            return Err(self.cut_off(count));
        }
        self.pos += count;
        Ok(())
    }

    /// Steps over a string that may not be null, without a look at its text.
    #[inline]
    pub fn skip_string(&mut self, flexible: bool) -> Result<()> {
        let start = self.pos;
        match self.string_length(flexible)? {
            len if len < 0 => Err(Error::malformed(start, "null string where null is not allowed")),
            len => self.skip_text(start, len),
        }
    }

    /// Steps over a string that may be null.
    #[inline]
    pub fn skip_nullable_string(&mut self, flexible: bool) -> Result<()> {
        let start = self.pos;
        let len = self.string_length(flexible)?;
        self.skip_text(start, len.max(0))
    }

    #[inline]
    fn skip_text(&mut self, start: usize, len: i32) -> Result<()> {
        if len as usize > MAX_STRING_BYTES {
            return Err(too_long_text(start, len));
        }
        self.skip_length(start, len)
    }

    /// Steps over bytes that may not be null.
    #[inline]
    pub fn skip_bytes(&mut self, flexible: bool) -> Result<()> {
        let start = self.pos;
        match self.length(flexible)? {
            len if len < 0 => Err(Error::malformed(start, "null bytes where null is not allowed")),
            len => self.skip_length(start, len),
        }
    }

    /// Steps over bytes that may be null.
    #[inline]
    pub fn skip_nullable_bytes(&mut self, flexible: bool) -> Result<()> {
        let start = self.pos;
        let len = self.length(flexible)?;
        self.skip_length(start, len.max(0))
    }

    #[inline]
    fn skip_length(&mut self, start: usize, len: i32) -> Result<()> {
        let len = len as usize;
        if len > self.remaining() {
            return Err(self.too_long(start, len));
        }
        self.pos += len;
        Ok(())
    }

    /// The count of an array, `None` for null. `memory` is the size of one element in memory; the count is checked
    /// against the bytes that remain and charged against the budget before anything is reserved.
    #[inline]
    pub fn count(&mut self, flexible: bool, memory: usize) -> Result<Option<usize>> {
        let start = self.pos;
        let count = self.length(flexible)?;
        if count < 0 {
            return Ok(None);
        }
        let count = count as usize;
        if count > self.remaining() {
            return Err(self.too_many(start, count));
        }
        self.charge(start, count, memory)?;
        Ok(Some(count))
    }

    #[cold]
    fn too_many(&self, start: usize, count: usize) -> Error {
        let (array, left) = (counted(count, "element"), counted(self.remaining(), "byte"));
        Error::malformed(start, format!("array of {array}, but {left} left"))
    }

    #[inline]
    fn charge(&mut self, start: usize, count: usize, memory: usize) -> Result<()> {
        match self.budget.checked_sub(count.saturating_mul(memory)) {
            Some(budget) => {
                self.budget = budget;
                Ok(())
            }
            None => Err(self.too_dear(start, count, memory)),
        }
    }

    #[cold]
    fn too_dear(&self, start: usize, count: usize, memory: usize) -> Error {
        let (array, each, rest) = (counted(count, "element"), counted(memory, "byte"), counted(self.budget, "byte"));
        let message = format!("{array} of {each}, more than the {rest} this message may still cost");
        Error::new(ErrorKind::LimitExceeded, message).with_offset(start)
    }

    /// An array that may not be null.
    #[inline]
    pub fn array<T: Default>(&mut self, flexible: bool, read: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let start = self.pos;
        match self.nullable_array(flexible, read)? {
            Some(array) => Ok(array),
            None => Err(null_array(start)),
        }
    }

    /// An array that may be null.
    #[inline]
    pub fn nullable_array<T: Default>(
        &mut self,
        flexible: bool,
        read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Option<Vec<T>>> {
        // Null and empty ones are read without a call: in some messages nearly all are.
        if let (true, Some(&count @ (0 | 1))) = (flexible, self.buf[self.pos..].first()) {
            self.pos += 1;
            return Ok((count == 1).then(Vec::new));
        }
        self.some_array(flexible, read)
    }

    #[inline(never)]
    fn array_count(&mut self, flexible: bool, memory: usize) -> Result<Option<usize>> {
        self.count(flexible, memory)
    }

    #[inline(never)]
    fn some_array<T: Default>(
        &mut self,
        flexible: bool,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Option<Vec<T>>> {
        let Some(count) = self.array_count(flexible, size_of::<T>())? else {
            return Ok(None);
        };
        let mut array = Vec::with_capacity(count);
        let mut failure = None;
        while array.len() < count {
            let first = array.len();
            array.extend((first..count.min(first + CHUNK)).map(|index| {
                if failure.is_none() {
                    match read(self) {
                        Ok(element) => return element,
                        Err(error) => failure = Some(error.within_index(index)),
                    }
                }
                T::default()
            }));
            if let Some(error) = failure {
                return Err(error);
            }
        }
        Ok(Some(array))
    }

    /// The marker in front of a struct that may be null: int8, below 0 is null.
    pub fn present(&mut self) -> Result<bool> {
        Ok(self.i8()? >= 0)
    }

    /// The marker in front of a *tagged* struct that may be null: unsigned varint, 0 is null, and so is what Java's int
    /// takes for negative.
    pub fn tagged_present(&mut self) -> Result<bool> {
        Ok(self.uvarint()? as i32 > 0)
    }

    /// Reads the tagged fields at the end of a struct of a flexible version.
    ///
    /// `known` is called with each tag; it reads the value and says `true`, or says `false` without reading, in which
    /// case the value is kept as unknown. As in Kafka the size that the peer states for a known tag is not looked at.
    #[inline]
    pub fn tags(&mut self, mut known: impl FnMut(&mut Self, u32) -> Result<bool>) -> Result<UnknownTags> {
        if self.buf[self.pos..].first() == Some(&0) {
            self.pos += 1;
            return Ok(UnknownTags::default());
        }
        // What does not depend on the struct is compiled once; a closure called through a pointer would keep all that it
        // captures in memory.
        let mut unknown = UnknownTags::default();
        for _ in 0..self.tag_count()? {
            let (tag, size_at, size) = self.tag()?;
            if !known(self, tag)? {
                self.unknown_tag(&mut unknown, tag, size_at, size)?;
            }
        }
        Ok(unknown)
    }

    #[inline(never)]
    fn tag_count(&mut self) -> Result<u32> {
        let start = self.pos;
        let count = self.uvarint()?;
        if count as usize > self.remaining() {
            let message = format!("{}, but {} left", counted(count, "tagged field"), counted(self.remaining(), "byte"));
            return Err(Error::malformed(start, message));
        }
        Ok(count)
    }

    /// The number of a tagged field, where its size stands, and that size.
    #[inline(never)]
    fn tag(&mut self) -> Result<(u32, usize, u32)> {
        let tag = self.uvarint()?;
        let size_at = self.pos;
        Ok((tag, size_at, self.uvarint()?))
    }

    #[inline(never)]
    fn unknown_tag(&mut self, unknown: &mut UnknownTags, tag: u32, size_at: usize, size: u32) -> Result<()> {
        // Three times its size: as the list grows it is copied into one of twice the length.
        self.charge(size_at, 1, 3 * size_of::<UnknownTag>())?;
        if size > i32::MAX as u32 {
            return Err(Error::malformed(size_at, format!("tag {tag} has a negative size")));
        }
        let data = self.take(size_at, size as i32)?;
        unknown.push(tag, data);
        Ok(())
    }

    /// Reads the tagged fields of a struct that defines none; nothing at all when the version is not flexible.
    #[inline(always)]
    pub fn unknown_tags(&mut self, flexible: bool) -> Result<UnknownTags> {
        if !flexible {
            return Ok(UnknownTags::default());
        }
        if self.buf[self.pos..].first() == Some(&0) {
            self.pos += 1;
            return Ok(UnknownTags::default());
        }
        self.some_unknown_tags()
    }

    #[cold]
    #[inline(never)]
    fn some_unknown_tags(&mut self) -> Result<UnknownTags> {
        self.tags(|_, _| Ok(false))
    }
}

#[cold]
fn too_long_text(start: usize, len: i32) -> Error {
    Error::malformed(start, format!("string of {len} bytes, at most {MAX_STRING_BYTES} are allowed"))
}

#[cold]
pub(crate) fn null_array(start: usize) -> Error {
    Error::malformed(start, "null array where null is not allowed")
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
