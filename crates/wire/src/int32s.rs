//! Arrays of int32, which are most of what some messages are made of.

use crate::Int32s;
use crate::error::{Error, Result, counted};
use crate::reader::{Reader, null_array};
use crate::writer::Writer;

impl Reader {
    /// An array of int32 that may not be null.
    #[inline(always)]
    pub fn int32s(&mut self, flexible: bool) -> Result<Int32s> {
        match self.few_int32s(flexible) {
            Some(values) => Ok(values),
            None => self.many_int32s(flexible).map(Int32s::from_vec),
        }
    }

    /// An array of int32 that may be null.
    #[inline]
    pub fn nullable_int32s(&mut self, flexible: bool) -> Result<Option<Int32s>> {
        match self.few_int32s(flexible) {
            Some(values) => Ok(Some(values)),
            None => Ok(self.nullable_many_int32s(flexible)?.map(Int32s::from_vec)),
        }
    }

    /// The usual replica list: a count of one byte, and no more values than fit inside. As many as fit are read in any
    /// case, without a loop, so this is not for the last bytes of the input. Inlined everywhere, because a value that
    /// travels through memory on its way into its struct costs more than all the rest of this.
    #[inline(always)]
    fn few_int32s(&mut self, flexible: bool) -> Option<Int32s> {
        let bytes = self.buf[self.pos..].first_chunk::<17>()?;
        let count = usize::from(bytes[0]).wrapping_sub(1);
        if count > 4 || !flexible {
            return None;
        }
        self.pos += 1 + count * 4;
        let mut values = [0; 4];
        for (value, bytes) in values.iter_mut().zip(bytes[1..].chunks_exact(4)) {
            *value = i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        Some(Int32s::from_buf_and_len(values, count))
    }

    #[inline(never)]
    fn many_int32s(&mut self, flexible: bool) -> Result<Vec<i32>> {
        let start = self.pos;
        self.nullable_many_int32s(flexible)?.ok_or_else(|| null_array(start))
    }

    #[inline(never)]
    fn nullable_many_int32s(&mut self, flexible: bool) -> Result<Option<Vec<i32>>> {
        let start = self.pos;
        let Some(count) = self.count(flexible, size_of::<i32>())? else {
            return Ok(None);
        };
        let Some(bytes) = self.buf[self.pos..].get(..count * 4) else {
            return Err(Error::malformed(
                start,
                format!("{count} int32, but {} left", counted(self.remaining(), "byte")),
            ));
        };
        self.pos += count * 4;
        Ok(Some(
            bytes.chunks_exact(4).map(|value| i32::from_be_bytes([value[0], value[1], value[2], value[3]])).collect(),
        ))
    }
}

impl Writer {
    /// An array of int32.
    ///
    /// # Errors
    /// As [`Writer::count`].
    #[inline]
    pub fn int32s(&mut self, array: &[i32], flexible: bool) -> Result<()> {
        if !flexible || array.len() > 3 {
            return self.many_int32s(array, flexible);
        }
        // The usual replica list goes out with its count in one piece of fixed size, of which the spare end is cut off.
        let value = |index: usize| u128::from(array.get(index).map_or(0, |value| *value as u32));
        let packed = (array.len() as u128 + 1) << 120 | value(0) << 88 | value(1) << 56 | value(2) << 24;
        let start = self.buf.len();
        self.buf.extend_from_slice(&packed.to_be_bytes());
        self.buf.truncate(start + 1 + 4 * array.len());
        Ok(())
    }

    #[inline(never)]
    fn many_int32s(&mut self, array: &[i32], flexible: bool) -> Result<()> {
        self.count(array.len(), flexible)?;
        self.buf.extend(array.iter().flat_map(|value| value.to_be_bytes()));
        Ok(())
    }

    /// An array of int32 or null.
    ///
    /// # Errors
    /// As [`Writer::count`].
    #[inline]
    pub fn nullable_int32s(&mut self, array: Option<&[i32]>, flexible: bool) -> Result<()> {
        match array {
            Some(array) => self.int32s(array, flexible)?,
            None => self.null(flexible),
        }
        Ok(())
    }
}
