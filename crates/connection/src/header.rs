use bytes::Bytes;
use milena_messages::{ApiKey, ByteString, Message, Request, RequestHeader, Response, ResponseHeader, Struct as _};
use milena_wire::{Error, Reader, Writer};

use crate::error::{ConnectionError, Result};

/// Byte strings from this length on leave uncopied, as segments of their own.
const KEEP_FROM: usize = 4096;

pub(crate) fn named(api: ApiKey, version: i16) -> String {
    format!("{api} version {version}")
}

/// A whole frame of a request: size, header, body. In segments to write one behind the other; records are not copied.
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

/// A whole frame of a response: size, header, body. In segments to write one behind the other; records are not copied.
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

/// The header of a request and the body behind it, out of a frame without its size. The key and version may be unknown:
/// the header is then taken in its newest form.
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

/// Reads the tagged fields behind the correlation id of a response.
pub(crate) fn skip_response_header_tags(reader: &mut Reader, api: ApiKey, version: i16) -> Result<()> {
    if api.response_header_version(version) >= 1 {
        reader.unknown_tags(true).map_err(|error| ConnectionError::Decode {
            what: format!("the header of an answer to {}", named(api, version)),
            error,
        })?;
    }
    Ok(())
}
