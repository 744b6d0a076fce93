use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use milena_messages::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, ByteString, Bytes, Message, MetadataRequest, Request,
    RequestHeader, ResponseHeader,
};
use milena_wire::{Reader, Writer};

/// Far above any real response, far below what would hurt.
const MAX_RESPONSE: usize = 1 << 20;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Asks the broker at `address` what it serves, in a version of ApiVersions that it knows, over a plain blocking socket.
///
/// By hand, below every client: what starts the broker should not hang on the code that the broker is started to test.
pub(crate) fn api_versions(address: SocketAddr, version: i16, patience: Duration) -> Result<ApiVersionsResponse> {
    let mut request = ApiVersionsRequest::default();
    // The fields came with version 3.
    if version >= 3 {
        request.client_software_name = "milena-interop".into();
        request.client_software_version = env!("CARGO_PKG_VERSION").into();
    }
    let response = ask(address, &request, version, patience)?;
    response.error_code.ok()?;
    Ok(response)
}

/// How many brokers there are as far as that one knows. None until the controller has heard of the first, which in old
/// releases is some time after it has begun to respond; topics cannot be created before.
pub(crate) fn brokers(address: SocketAddr, patience: Duration) -> Result<usize> {
    // Version 1 is in every release that knows ApiVersions; an empty list asks for no topic.
    let request = MetadataRequest { topics: Some(Vec::new()), ..Default::default() };
    Ok(ask(address, &request, 1, patience)?.brokers.len())
}

fn ask<R: Request>(address: SocketAddr, request: &R, version: i16, patience: Duration) -> Result<R::Response> {
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    stream.write_all(&frame(request, version)?)?;
    response(&mut stream, R::API_KEY, version)
}

fn frame<R: Request>(request: &R, version: i16) -> Result<Bytes> {
    let header = RequestHeader {
        request_api_key: R::API_KEY,
        request_api_version: version,
        correlation_id: 1,
        client_id: Some(ByteString::from("milena-interop")),
        ..Default::default()
    };
    let mut writer = Writer::new();
    writer.i32(0);
    header.encode(&mut writer, R::API_KEY.request_header_version(version))?;
    request.encode(&mut writer, version)?;
    let len = i32::try_from(writer.len() - 4)?;
    writer.patch_i32(0, len);
    Ok(writer.into_bytes())
}

fn response<M: Message>(stream: &mut impl Read, key: ApiKey, version: i16) -> Result<M> {
    let mut len = [0; 4];
    stream.read_exact(&mut len)?;
    let len = usize::try_from(i32::from_be_bytes(len)).unwrap_or(usize::MAX);
    if len > MAX_RESPONSE {
        return Err(format!("a response that starts with {len} is not Kafka's").into());
    }
    let mut frame = vec![0; len];
    stream.read_exact(&mut frame)?;
    let mut reader = Reader::new(frame.into());
    let header = ResponseHeader::decode(&mut reader, key.response_header_version(version))?;
    if header.correlation_id != 1 {
        return Err(format!("the response is to request {}, not to 1", header.correlation_id).into());
    }
    Ok(M::decode(&mut reader, version)?)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_request_is_what_kafka_reads() {
        let named = ApiVersionsRequest {
            client_software_name: "milena-interop".into(),
            client_software_version: "1".into(),
            ..Default::default()
        };
        let bytes = frame(&named, 3).unwrap();
        assert_eq!(usize::try_from(i32::from_be_bytes(bytes[..4].try_into().unwrap())).unwrap(), bytes.len() - 4);
        // Key 18, version 3, correlation id 1, a client id of 14 letters with a 16-bit length, no tagged fields.
        assert_eq!(&bytes[4..14], &[0, 18, 0, 3, 0, 0, 0, 1, 0, 14]);
        assert_eq!(&bytes[14..28], b"milena-interop");
        assert_eq!(bytes[28], 0);
        // A compact string of 14 letters.
        assert_eq!(bytes[29], 15);
        // Version 0: the header ends with the client id, and there is no body.
        let bytes = frame(&ApiVersionsRequest::default(), 0).unwrap();
        assert_eq!(&bytes[..12], &[0, 0, 0, 24, 0, 18, 0, 0, 0, 0, 0, 1]);
        assert_eq!(bytes.len(), 28);
    }

    #[test]
    fn a_response_is_read_and_another_protocol_is_not() {
        // Length, correlation id 1, no error, one API (18, 0 to 4, no tags), no delay, no tags.
        let good = [0, 0, 0, 19, 0, 0, 0, 1, 0, 0, 2, 0, 18, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0];
        let read = |mut bytes: &[u8]| response::<ApiVersionsResponse>(&mut bytes, ApiKey::API_VERSIONS, 3);
        let response = read(&good).unwrap();
        assert_eq!(response.api_keys.len(), 1);
        let error = read(b"HTTP/1.1 400 Bad Request\r\n").unwrap_err().to_string();
        assert!(error.ends_with("is not Kafka's"), "{error}");
        assert!(read(&good[..22]).is_err());
    }

    #[test]
    fn a_listener_that_says_nothing_costs_no_more_than_the_patience() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert!(api_versions(address, 3, Duration::from_millis(50)).is_err());
    }
}
