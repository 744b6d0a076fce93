use milena_wire::{counted, varint};

use crate::error::{Error, Result};
use crate::view::HeaderRef;

/// Reads the varint-framed insides of a record batch of magic 2.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) pos: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, pos: 0 }
    }

    #[inline]
    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.pos
    }

    #[inline]
    pub(crate) fn i8(&mut self) -> Result<i8> {
        match self.bytes.get(self.pos) {
            Some(&byte) => {
                self.pos += 1;
                Ok(byte as i8)
            }
            None => Err(Error::malformed(self.pos, "cut off")),
        }
    }

    /// Zigzag, up to 5 bytes. Spare bits of the fifth are dropped, as in Kafka.
    #[inline(always)]
    pub(crate) fn varint(&mut self) -> Result<i32> {
        match varint::read_u32(&self.bytes[self.pos..]) {
            Some((value, size)) => {
                self.pos += size;
                Ok(varint::unzigzag32(value))
            }
            None => Err(self.bad_varint(varint::MAX_LEN_32)),
        }
    }

    /// Zigzag, up to 10 bytes.
    #[inline(always)]
    pub(crate) fn varlong(&mut self) -> Result<i64> {
        match varint::read_u64(&self.bytes[self.pos..]) {
            Some((value, size)) => {
                self.pos += size;
                Ok(varint::unzigzag64(value))
            }
            None => Err(self.bad_varint(varint::MAX_LEN_64)),
        }
    }

    #[cold]
    fn bad_varint(&self, width: usize) -> Error {
        if self.remaining() < width {
            Error::malformed(self.pos, "varint cut off")
        } else {
            Error::malformed(self.pos, format!("varint longer than {width} bytes"))
        }
    }

    /// Bytes after their length; any length below 0 is null, as in Kafka.
    #[inline(always)]
    pub(crate) fn nullable(&mut self, field: &'static str) -> Result<Option<&'a [u8]>> {
        let at = self.pos;
        let length = self.varint().map_err(|error| error.in_field(field))?;
        if length < 0 {
            return Ok(None);
        }
        match self.bytes[self.pos..].get(..length as usize) {
            Some(bytes) => {
                self.pos += length as usize;
                Ok(Some(bytes))
            }
            None => Err(self.too_long(at, length).in_field(field)),
        }
    }

    #[cold]
    fn too_long(&self, at: usize, length: i32) -> Error {
        Error::malformed(at, format!("length {length}, but {} left", counted(self.remaining(), "byte")))
    }

    pub(crate) fn header(&mut self) -> Result<HeaderRef<'a>> {
        let at = self.pos;
        match self.nullable("headers")? {
            Some(key) => Ok(HeaderRef { key, value: self.nullable("headers")? }),
            None => Err(Error::malformed(at, "header key is null").in_field("headers")),
        }
    }
}
