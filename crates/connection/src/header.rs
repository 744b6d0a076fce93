use bytes::{Bytes, BytesMut};
use milena_messages::{ApiKey, ByteString, Message, Request, RequestHeader, Response, ResponseHeader, Struct as _};
use milena_wire::{Error, Reader, Writer, varint};

use crate::error::{ConnectionError, Result};

/// Byte strings from this length on leave uncopied, as segments of their own.
const KEEP_FROM: usize = 4096;

pub(crate) fn named(api: ApiKey, version: i16) -> String {
    format!("{api} version {version}")
}

/// A whole request frame: size, header, body. In segments to write one after the other; records are not copied.
///
/// # Errors
/// A value that the version cannot carry.
pub fn frame_request<R: Request>(
    request: &R,
    version: i16,
    correlation_id: i32,
    client_id: Option<&ByteString>,
) -> Result<Vec<Bytes>> {
    let header = RequestHeader {
        request_api_key: R::API_KEY,
        request_api_version: version,
        correlation_id,
        client_id: client_id.cloned(),
        ..Default::default()
    };
    frame(&header, R::API_KEY.request_header_version(version), request, version)
        .map_err(|error| ConnectionError::Encode { what: named(R::API_KEY, version), error })
}

/// A whole request frame in one piece, for a single write: size, header, body.
///
/// ```
/// use milena_connection::request_frame;
/// use milena_messages::ApiVersionsRequest;
///
/// let frame = request_frame(&ApiVersionsRequest::default(), 0, 1, None)?;
/// assert_eq!(frame[..], *b"\0\0\0\x0a\0\x12\0\0\0\0\0\x01\xff\xff");
/// # Ok::<(), milena_connection::ConnectionError>(())
/// ```
///
/// # Errors
/// As [`frame_request`].
pub fn request_frame<R: Request>(
    request: &R,
    version: i16,
    correlation_id: i32,
    client_id: Option<&ByteString>,
) -> Result<Bytes> {
    frame_request(request, version, correlation_id, client_id).map(joined)
}

/// A whole response frame in one piece, for a single write: size, header, body.
///
/// # Errors
/// As [`frame_response`].
pub fn response_frame<R: Response>(response: &R, version: i16, correlation_id: i32) -> Result<Bytes> {
    frame_response(response, version, correlation_id).map(joined)
}

/// A frame that was made elsewhere, with its size before it, in one piece for a single write.
///
/// # Errors
/// More bytes than an int32 counts.
pub fn with_size(frame: &[u8]) -> Result<Bytes> {
    let size = i32::try_from(frame.len()).map_err(|_| too_large(frame.len()))?;
    let mut whole = BytesMut::with_capacity(4 + frame.len());
    whole.extend_from_slice(&size.to_be_bytes());
    whole.extend_from_slice(frame);
    Ok(whole.freeze())
}

fn too_large(size: usize) -> ConnectionError {
    let error = Error::invalid(format!("a frame of {size} bytes does not fit an int32"));
    ConnectionError::Encode { what: "a frame".to_owned(), error }
}

/// Segments as one piece, without a copy when there is only one.
fn joined(segments: Vec<Bytes>) -> Bytes {
    match <[Bytes; 1]>::try_from(segments) {
        Ok([whole]) => whole,
        Err(segments) => segments.concat().into(),
    }
}

/// A whole response frame: size, header, body. In segments to write one after the other; records are not copied.
///
/// # Errors
/// A value that the version cannot carry.
pub fn frame_response<R: Response>(response: &R, version: i16, correlation_id: i32) -> Result<Vec<Bytes>> {
    let header = ResponseHeader { correlation_id, ..Default::default() };
    frame(&header, R::API_KEY.response_header_version(version), response, version)
        .map_err(|error| ConnectionError::Encode { what: named(R::API_KEY, version), error })
}

fn frame<H: Message, B: Message>(header: &H, header_version: i16, body: &B, version: i16) -> Result<Vec<Bytes>, Error> {
    let mut writer = Writer::in_segments(KEEP_FROM);
    writer.i32(0);
    header.encode(&mut writer, header_version)?;
    body.encode(&mut writer, version)?;
    let size = i32::try_from(writer.len() - 4)
        .map_err(|_| Error::invalid(format!("a frame of {} bytes does not fit an int32", writer.len() - 4)))?;
    writer.patch_i32(0, size);
    Ok(writer.into_segments())
}

/// Splits a request frame, without its size, into header and body. The key and version may be unknown: the header is then
/// read in its newest form.
///
/// # Errors
/// The frame is too short for its header, or the header is not what the protocol says.
pub fn read_request_header(frame: Bytes) -> Result<(RequestHeader, Bytes)> {
    let decode = |error| ConnectionError::Decode { what: "the header of a request".to_owned(), error };
    let mut peek = Reader::new(frame.clone());
    let (key, version) = (|| Ok((peek.i16()?, peek.i16()?)))().map_err(decode)?;
    let mut reader = Reader::new(frame);
    let header_version = ApiKey(key).request_header_version(version);
    let header =
        RequestHeader::read(&mut reader, header_version).map_err(|error| decode(error.within(RequestHeader::NAME)))?;
    Ok((header, reader.rest()))
}

/// Where the body of a response begins in its frame, without its size: after the correlation id and the tagged fields of the
/// header. `None` when the frame ends before. For code that changes a response in place and needs nothing of its header.
pub fn response_body_start(frame: &[u8], api: ApiKey, version: i16) -> Option<usize> {
    let start = if frame.len() < 4 { return None } else { 4 };
    if api.response_header_version(version) >= 1 { tagged_fields_end(frame, start) } else { Some(start) }
}

/// Where the section of tagged fields ends that begins at `at`. `None` when the bytes end before.
pub fn tagged_fields_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let next = |at: &mut usize| {
        let (value, size) = varint::read_u32(bytes.get(*at..)?)?;
        *at += size;
        Some(value)
    };
    for _ in 0..next(&mut at)? {
        next(&mut at)?;
        let size = next(&mut at)? as usize;
        at = at.checked_add(size).filter(|at| *at <= bytes.len())?;
    }
    Some(at)
}

/// Splits a response frame, without its size, into header and body. A response does not name its API and version: they are
/// those of the request with the same correlation id.
///
/// A refused ApiVersions has its body in version 0 whatever version was asked: see
/// [`api_versions_response_version`](crate::api_versions_response_version).
///
/// # Errors
/// The frame is too short for its header, or the header is not what the protocol says.
pub fn read_response_header(frame: Bytes, api: ApiKey, version: i16) -> Result<(ResponseHeader, Bytes)> {
    let mut reader = Reader::new(frame);
    let header = ResponseHeader::read(&mut reader, api.response_header_version(version)).map_err(|error| {
        let what = format!("the header of a response to {}", named(api, version));
        ConnectionError::Decode { what, error: error.within(ResponseHeader::NAME) }
    })?;
    Ok((header, reader.rest()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_begins_after_the_tagged_fields_of_its_header() {
        // Correlation id, two tagged fields: tag 0 with 2 bytes, tag 300 with none.
        let flexible = b"\0\0\0\x01\x02\0\x02ab\xac\x02\0rest";
        assert_eq!(response_body_start(flexible, ApiKey::METADATA, 9), Some(12));
        assert_eq!(response_body_start(flexible, ApiKey::METADATA, 8), Some(4));
        // The header of an ApiVersions response never has tagged fields.
        assert_eq!(response_body_start(flexible, ApiKey::API_VERSIONS, 3), Some(4));
        for end in 0..12 {
            assert_eq!(response_body_start(&flexible[..end], ApiKey::METADATA, 9), None, "{end}");
        }
    }
}
