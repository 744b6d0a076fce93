//! Where things stand in a frame without its size.

/// Bytes of an int16.
pub(crate) fn i16_at(frame: &[u8], at: usize) -> Option<i16> {
    frame.get(at..)?.first_chunk().map(|bytes| i16::from_be_bytes(*bytes))
}

/// Bytes of an int32.
pub(crate) fn i32_at(frame: &[u8], at: usize) -> Option<i32> {
    frame.get(at..)?.first_chunk().map(|bytes| i32::from_be_bytes(*bytes))
}
