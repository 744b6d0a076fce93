//! Where things stand in a frame without its size.

use milena_messages::ApiKey;
use milena_wire::varint;

/// Bytes of an int16.
pub(crate) fn i16_at(frame: &[u8], at: usize) -> Option<i16> {
    frame.get(at..)?.first_chunk().map(|bytes| i16::from_be_bytes(*bytes))
}

/// Bytes of an int32.
pub(crate) fn i32_at(frame: &[u8], at: usize) -> Option<i32> {
    frame.get(at..)?.first_chunk().map(|bytes| i32::from_be_bytes(*bytes))
}

/// Where the body of a response begins: after the correlation id and the tagged fields of the header.
pub(crate) fn response_body(api: ApiKey, version: i16, frame: &[u8]) -> Option<usize> {
    let tagged = api.response_header_version(version) >= 1;
    let start = if frame.len() < 4 { return None } else { 4 };
    if tagged { tags_end(frame, start) } else { Some(start) }
}

/// Where tagged fields that nobody looks at end.
pub(crate) fn tags_end(frame: &[u8], mut at: usize) -> Option<usize> {
    let next = |at: &mut usize| {
        let (value, size) = varint::read_u32(frame.get(*at..)?)?;
        *at += size;
        Some(value)
    };
    for _ in 0..next(&mut at)? {
        next(&mut at)?;
        let size = next(&mut at)? as usize;
        at = at.checked_add(size).filter(|at| *at <= frame.len())?;
    }
    Some(at)
}
