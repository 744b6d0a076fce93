//! Frames as bytes, for proxies and for tests of clients.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use bytes::Bytes;
use milena_connection::{
    ClientConnection, ClientConnectionConfig, ClientEvent, ConnectionError, IncomingRequest, ServerConnection,
    ServerConnectionConfig, frame_request, read_request_header, read_response_header, refuse_api_versions,
    request_frame, response_frame, with_size,
};
use milena_messages::{
    ApiKey, ApiVersionsResponse, ErrorCode, Message, MetadataRequest, MetadataResponse, ProduceRequest, VersionRange,
};

/// A response header of version 1 with a tagged field 9 of two bytes, and an empty body: laid out by hand.
const FLEXIBLE: &[u8] = b"\0\0\0\x05\x01\x09\x02ab";

fn server() -> ServerConnection {
    ServerConnection::new(ServerConnectionConfig::passing_all())
}

fn client() -> ClientConnection {
    ClientConnection::new(ClientConnectionConfig::default())
}

fn received(server: &mut ServerConnection, bytes: &[u8]) -> IncomingRequest {
    server.receive(bytes);
    server.poll().unwrap().unwrap()
}

#[test]
fn a_proxy_of_raw_frames_passes_every_byte() {
    let (mut app, mut front, mut back, mut broker) = (client(), server(), client(), server());
    let id = app.send_at(&MetadataRequest::default(), 12, None).unwrap();
    let sent = app.take_output().concat();

    let request = received(&mut front, &sent);
    assert_eq!(request.frame, sent[4..]);
    assert_eq!(request.frame_size(), sent.len() - 4);
    assert_eq!(back.send_raw(&request.frame, true, None).unwrap(), id);
    let passed = back.take_output().concat();
    assert_eq!(passed, sent);

    let seen = received(&mut broker, &passed);
    let response = MetadataResponse { controller_id: 3, ..Default::default() };
    broker.respond(&seen, &response).unwrap();
    let answered = broker.take_output().concat();
    back.receive(&answered);
    let Some(ClientEvent::Response(back)) = back.poll().unwrap() else { panic!("no response") };
    assert_eq!(back.frame, answered[4..]);
    front.respond_raw(&request, vec![with_size(&back.frame).unwrap()]).unwrap();
    let returned = front.take_output().concat();
    assert_eq!(returned, answered);
    app.receive(&returned);
    let Some(ClientEvent::Response(response)) = app.poll().unwrap() else { panic!("no response") };
    let response: MetadataResponse = response.decode().unwrap();
    assert_eq!(response.controller_id, 3);
}

#[test]
fn response_headers_have_tagged_fields_where_the_version_is_flexible() {
    let (header, body) = read_response_header(Bytes::from_static(FLEXIBLE), ApiKey::METADATA, 12).unwrap();
    assert_eq!((header.correlation_id, header.unknown_tagged_fields.len(), body.len()), (5, 1, 0));
    let (header, body) = read_response_header(Bytes::from_static(FLEXIBLE), ApiKey::METADATA, 8).unwrap();
    assert_eq!((header.correlation_id, &body[..]), (5, &FLEXIBLE[4..]));
    // ApiVersions keeps the old header in every version.
    let (_, body) = read_response_header(Bytes::from_static(FLEXIBLE), ApiKey::API_VERSIONS, 4).unwrap();
    assert_eq!(body, FLEXIBLE[4..]);
    let error = read_response_header(Bytes::from_static(b"\0\0\0"), ApiKey::FETCH, 4).unwrap_err();
    assert!(error.to_string().starts_with("cannot read the header of a response to Fetch version 4"), "{error}");
}

#[test]
fn a_frame_in_one_piece_is_its_segments_joined() {
    let records = Some(Bytes::from(vec![7; 100_000]));
    let partition_data =
        vec![milena_messages::produce::request::PartitionProduceData { records, ..Default::default() }];
    let topic = milena_messages::produce::request::TopicProduceData { partition_data, ..Default::default() };
    let request = ProduceRequest { acks: 1, topic_data: vec![topic], ..Default::default() };
    let segments = frame_request(&request, 9, 1, None).unwrap();
    assert!(segments.len() > 1);
    assert_eq!(request_frame(&request, 9, 1, None).unwrap(), segments.concat());
    assert_eq!(with_size(&segments.concat()[4..]).unwrap(), segments.concat());
    let response = response_frame(&MetadataResponse::default(), 0, 77).unwrap();
    assert_eq!(response[..8], [0, 0, 0, 12, 0, 0, 0, 77]);
}

#[test]
fn raw_frames_without_a_readable_header_are_not_sent() {
    let mut client = client();
    assert!(matches!(client.send_raw(b"\0\x03\0", true, None), Err(ConnectionError::Decode { .. })));
    assert!(client.take_output().is_empty());
    assert_eq!(client.in_flight(), 0);
}

#[test]
fn a_raw_frame_that_gets_no_response_is_not_waited_for() {
    let request = ProduceRequest { acks: 0, ..Default::default() };
    let frame = request_frame(&request, 3, 9, None).unwrap();
    let mut client = client();
    assert_eq!(client.send_raw(&frame[4..], false, None).unwrap(), 9);
    assert_eq!((client.in_flight(), client.take_output().concat()), (0, frame.to_vec()));
}

#[test]
fn a_refusal_of_api_versions_has_the_form_of_version_0() {
    // KIP-511: error 35, one entry with the key 18 and the range.
    let frame = refuse_api_versions(6, VersionRange::new(0, 3)).unwrap();
    assert_eq!(frame[..], *b"\0\0\0\x10\0\0\0\x06\0\x23\0\0\0\x01\0\x12\0\0\0\x03");
    let unknown = refuse_api_versions(6, VersionRange::NONE).unwrap();
    let response = ApiVersionsResponse::from_bytes(unknown.slice(8..), 0).unwrap();
    assert_eq!((response.error_code, response.api_keys.len()), (ErrorCode::UNSUPPORTED_VERSION, 0));
}

#[test]
fn the_header_of_a_request_leaves_its_body() {
    let frame = request_frame(&MetadataRequest { topics: None, ..Default::default() }, 1, 4, None).unwrap();
    let (header, body) = read_request_header(frame.slice(4..)).unwrap();
    assert_eq!((header.request_api_key, header.correlation_id, &body[..]), (ApiKey::METADATA, 4, &[0xff; 4][..]));
}

#[test]
fn raw_tokens_follow_a_request_and_the_limit_changes() {
    let mut server = server();
    server.set_max_frame(20);
    server.receive(b"\0\0\0\x02hi\0\0\0\x15");
    assert_eq!(server.poll_raw().unwrap().unwrap(), "hi");
    assert_eq!(server.poll_raw(), Err(ConnectionError::FrameTooLarge { size: 21, limit: 20 }));
    server.set_max_frame(21);
    assert_eq!(server.poll_raw(), Ok(None));
    server.send_raw(b"");
    server.send_raw(b"ab");
    assert_eq!(server.take_output().concat(), b"\0\0\0\0\0\0\0\x02ab");
}
