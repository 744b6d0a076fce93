//! A client and a server machine talking to each other, and to peers that misbehave.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its peers has failed")]

use std::time::Duration;

use milena_connection::{
    ApiVersions, ClientConnection, ClientConnectionConfig, ClientEvent, ConnectionError, Foreign, ServerConnection,
    ServerConnectionConfig,
};
use milena_messages::{
    ApiKey, ApiVersionsResponse, ErrorCode, MetadataRequest, MetadataResponse, ProduceRequest, VersionRange,
};
use milena_wire::Report;
use proptest::prelude::*;

const METADATA: (ApiKey, VersionRange) = (ApiKey::METADATA, VersionRange::new(0, 12));

fn server(api_versions: i16) -> ServerConnection {
    ServerConnection::new(ServerConnectionConfig::serving([
        METADATA,
        (ApiKey::PRODUCE, VersionRange::new(3, 9)),
        (ApiKey::API_VERSIONS, VersionRange::new(0, api_versions)),
    ]))
}

fn to_server(client: &mut ClientConnection, server: &mut ServerConnection) {
    client.take_output().iter().for_each(|segment| server.receive(segment));
}

fn to_client(server: &mut ServerConnection, client: &mut ClientConnection) {
    server.take_output().iter().for_each(|segment| client.receive(segment));
}

fn negotiate(client: &mut ClientConnection, server: &mut ServerConnection) -> (usize, ApiVersions) {
    client.negotiate(None).unwrap();
    for rounds in 1..5 {
        to_server(client, server);
        if let Some(request) = server.poll().unwrap() {
            let served: ApiVersions = [METADATA, (ApiKey::API_VERSIONS, VersionRange::new(0, 2))].into_iter().collect();
            let response = ApiVersionsResponse { api_keys: (&served).into(), ..Default::default() };
            server.respond(&request, &response).unwrap();
        }
        to_client(server, client);
        if let Some(ClientEvent::Negotiated(versions)) = client.poll().unwrap() {
            return (rounds, versions);
        }
    }
    panic!("no agreement after four rounds");
}

#[test]
fn a_broker_that_knows_the_version_needs_one_round() {
    let mut client = ClientConnection::new(ClientConnectionConfig::default());
    let (rounds, versions) = negotiate(&mut client, &mut server(5));
    assert_eq!(rounds, 1);
    assert_eq!(versions.pick(ApiKey::METADATA), Ok(12));
    assert_eq!(client.version_of(ApiKey::METADATA), Ok(12));
    let error = client.version_of(ApiKey::FETCH).unwrap_err();
    assert_eq!(error.to_string(), "no common version of Fetch: this side speaks 0-18, the broker none");
}

#[test]
fn an_older_broker_is_asked_again_with_a_version_that_it_knows() {
    let mut client = ClientConnection::new(ClientConnectionConfig::default());
    assert_eq!(negotiate(&mut client, &mut server(2)).0, 2);
    assert_eq!(client.versions().unwrap().of(ApiKey::METADATA), VersionRange::new(0, 12));
}

#[test]
fn the_refusal_has_the_bytes_of_kip_511() {
    // ApiVersions version 99, correlation id 7, client id "x", no tags, a body that nobody reads.
    let mut server = server(4);
    server.receive(&[0, 0, 0, 14, 0, 18, 0, 99, 0, 0, 0, 7, 0, 1, b'x', 0, 0xff, 0xff]);
    assert!(server.poll().unwrap().is_none());
    // Correlation id, error 35, one entry: key 18 from 0 to 4, and nothing after it.
    let expected = [0, 0, 0, 16, 0, 0, 0, 7, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 4];
    assert_eq!(server.take_output().concat(), expected);
    assert_eq!(server.unanswered(), 0);
}

#[test]
fn a_broker_that_refuses_every_version_ends_in_an_error() {
    let mut client = ClientConnection::new(ClientConnectionConfig::default());
    client.negotiate(None).unwrap();
    for id in 0..2u8 {
        client.take_output();
        client.receive(&[0, 0, 0, 10, 0, 0, 0, id, 0, 35, 0, 0, 0, 0]);
        match client.poll() {
            Ok(None) if id == 0 => {}
            Err(error) if id == 1 => {
                assert_eq!(error, ConnectionError::NegotiationRefused(ErrorCode::UNSUPPORTED_VERSION));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn produce_without_acks_waits_for_nothing() {
    let mut client = ClientConnection::new(ClientConnectionConfig::default());
    let request = |acks| ProduceRequest { acks, ..Default::default() };
    client.send_at(&request(0), 9, None).unwrap();
    assert_eq!(client.in_flight(), 0);
    client.send_at(&request(1), 9, None).unwrap();
    assert_eq!(client.in_flight(), 1);
}

#[test]
fn responses_leave_in_the_order_of_the_requests() {
    let mut client = ClientConnection::new(ClientConnectionConfig::default());
    let mut server = server(4);
    for _ in 0..3 {
        client.send_at(&MetadataRequest::default(), 5, None).unwrap();
    }
    to_server(&mut client, &mut server);
    let requests: Vec<_> = std::iter::from_fn(|| server.poll().unwrap()).collect();
    for (request, controller_id) in [(&requests[2], 2), (&requests[0], 0), (&requests[1], 1)] {
        let response = MetadataResponse { controller_id, ..Default::default() };
        server.respond(request, &response).unwrap();
        assert_eq!(server.respond_nothing(request), Err(ConnectionError::NoSuchRequest(request.correlation_id)));
    }
    to_client(&mut server, &mut client);
    for id in 0..3 {
        let Some(ClientEvent::Response(answer)) = client.poll().unwrap() else { panic!("response {id} is missing") };
        assert_eq!(answer.decode::<MetadataResponse>().unwrap().controller_id, id);
    }
}

#[test]
fn a_response_out_of_order_names_both_ids() {
    let mut client = ClientConnection::new(ClientConnectionConfig::default());
    client.receive(&[0, 0, 0, 4, 0, 0, 0, 9]);
    assert_eq!(client.poll().unwrap_err(), ConnectionError::CorrelationId { expected: None, found: 9 });

    let mut client = ClientConnection::new(ClientConnectionConfig::default());
    client.send_at(&MetadataRequest::default(), 1, None).unwrap();
    client.send_at(&MetadataRequest::default(), 1, None).unwrap();
    client.receive(&[0, 0, 0, 4, 0, 0, 0, 1]);
    let error = client.poll().unwrap_err();
    assert_eq!(error.to_string(), "the peer responded to correlation id 1, but 0 is the next one to get a response");
}

#[test]
fn late_responses_to_cancelled_requests_are_dropped() {
    let mut client = ClientConnection::new(ClientConnectionConfig::default());
    let second = Duration::from_secs(1);
    let expired = client.send_at(&MetadataRequest::default(), 0, Some(second)).unwrap();
    let cancelled = client.send_at(&MetadataRequest::default(), 0, Some(2 * second)).unwrap();
    let wanted = client.send_at(&MetadataRequest::default(), 0, None).unwrap();
    assert_eq!(client.next_deadline(), Some(second));
    assert_eq!(client.expire(second), [expired]);
    assert!(client.cancel(cancelled));
    assert!(!client.cancel(cancelled));
    assert_eq!(client.next_deadline(), None);
    for id in 0..3u8 {
        // Correlation id, no brokers, no topics.
        client.receive(&[0, 0, 0, 12, 0, 0, 0, id, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
    let Some(ClientEvent::Response(answer)) = client.poll().unwrap() else { panic!("the third response is missing") };
    assert_eq!(answer.correlation_id, wanted);
    assert!(client.poll().unwrap().is_none());
}

#[test]
fn other_protocols_are_named_on_both_sides() {
    let mut server = server(4);
    server.receive(b"GET / HTTP/1.1\r\n");
    assert_eq!(server.poll().unwrap_err(), ConnectionError::Foreign(Foreign::Http));
    let mut client = ClientConnection::new(ClientConnectionConfig::default());
    client.receive(&[0x15, 3, 3, 0, 2, 2, 10]);
    let text = client.poll().unwrap_err().to_string();
    assert!(text.contains("a TLS alert") && text.contains("TLS on"), "{text}");
}

#[test]
fn a_version_that_is_not_served_ends_the_connection() {
    let mut client = ClientConnection::new(ClientConnectionConfig::default());
    let mut server = server(4);
    client.send_at(&MetadataRequest::default(), 13, None).unwrap();
    to_server(&mut client, &mut server);
    let error = server.poll().unwrap_err();
    assert_eq!(error.to_string(), "Metadata version 13 is not served here, 0-12 are");
}

#[test]
fn a_proxy_sees_unknown_keys_and_bytes_after_the_body() {
    let mut server = ServerConnection::new(ServerConnectionConfig::passing_all());
    // Key 10000 version 3: header 2 with client id null and no tags, then three bytes.
    server.receive(&[0, 0, 0, 14, 0x27, 0x10, 0, 3, 0, 0, 0, 1, 0xff, 0xff, 0, 1, 2, 3]);
    let request = server.poll().unwrap().unwrap();
    assert_eq!((request.api_key, request.api_version, &request.body[..]), (ApiKey(10_000), 3, &[1, 2, 3][..]));
    server.receive(&[0, 0, 0, 12, 0, 3, 0, 0, 0, 0, 0, 2, 0xff, 0xff, 9, 9]);
    assert!(server.poll().unwrap().unwrap().decode::<MetadataRequest>().is_err());
}

#[test]
fn a_cut_header_is_an_error_with_its_place() {
    let mut server = ServerConnection::new(ServerConnectionConfig::passing_all());
    server.receive(&[0, 0, 0, 6, 0, 3, 0, 1, 0, 0]);
    let error = server.poll().unwrap_err();
    assert_eq!(error.to_string(), "cannot read the header of a request");
    assert_eq!(
        Report(&error).to_string(),
        "cannot read the header of a request: RequestHeader.correlationId: 4 bytes expected, 2 left (at byte 4)"
    );
}

proptest! {
    #[test]
    fn how_the_input_is_cut_makes_no_difference(
        cuts in proptest::collection::vec(1usize..40, 0..60),
        versions in proptest::collection::vec(0i16..=12, 1..6),
    ) {
        let mut client = ClientConnection::new(ClientConnectionConfig::default());
        for version in &versions {
            let topics = if *version == 0 { Some(Vec::new()) } else { None };
            client.send_at(&MetadataRequest { topics, ..Default::default() }, *version, None).unwrap();
        }
        let bytes = client.take_output().concat();
        let mut whole = server(4);
        whole.receive(&bytes);
        let expected: Vec<_> =
            std::iter::from_fn(|| whole.poll().unwrap()).map(|r| (r.correlation_id, r.api_version, r.body)).collect();
        prop_assert_eq!(expected.len(), versions.len());

        let mut pieces = server(4);
        let mut seen = Vec::new();
        let mut rest = &bytes[..];
        for cut in cuts.into_iter().chain([usize::MAX]) {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            rest = after;
            pieces.receive(piece);
            while let Some(r) = pieces.poll().unwrap() {
                seen.push((r.correlation_id, r.api_version, r.body));
            }
        }
        prop_assert_eq!(seen, expected);
    }
}
