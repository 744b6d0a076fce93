//! What passes, passes as it is, and nobody learns of a real address.

use std::collections::BTreeSet;

use milena_broker::{Broker, BrokerConfig};
use milena_client::{Acks, Codec, NewTopic, RangeOptions, Record, Start, Stop};
use milena_messages::{
    ApiKey, ApiVersionsRequest, DescribeClusterRequest, FindCoordinatorRequest, MetadataRequest, ProduceRequest,
};
use milena_tap::{Event, Tap, TapConfig};
use milena_transport::Address;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::setup::{Raw, broker, client, frame, raw, rest, tap, to};

#[tokio::test]
async fn a_client_works_by_way_of_the_proxy_and_never_sees_the_real_address() {
    // The address that is asked first is not the one that the broker names.
    let broker = Broker::start(BrokerConfig { advertised_host: Some("localhost".into()), ..BrokerConfig::default() });
    let broker = broker.await.unwrap();
    let real = broker.address().port();
    let (tap, watch) = Tap::watched(to(&format!("127.0.0.1:{real}")), 64 << 20).unwrap();
    let client = client(&tap).await;
    client.create_topic(NewTopic::new("letters", 2, 1)).await.unwrap();
    client.produce("letters", 1, Acks::All, Codec::Lz4, vec![Record::new("from", "Vienna")]).await.unwrap();
    let options = RangeOptions::default();
    let mut reader = client.fetch_range("letters", 1, Start::EARLIEST, Stop::End, options).await.unwrap();
    assert_eq!(reader.next().await.unwrap().unwrap().value.unwrap(), "Vienna");

    let cluster = client.metadata(None).await.unwrap();
    assert_eq!(cluster.brokers.len(), 1);
    assert_ne!(cluster.brokers[0].port, i32::from(real));
    for version in 0..=6 {
        let mut request = FindCoordinatorRequest::default();
        if version >= 4 {
            request.coordinator_keys = vec!["g".into()]
        } else {
            request.key = "g".into()
        }
        let found = Raw::to(&tap).await.ask(&request, version, 1).await;
        let port = if version >= 4 { found.coordinators[0].port } else { found.port };
        assert_eq!(port, cluster.brokers[0].port, "FindCoordinator version {version}");
    }
    for version in 0..=13 {
        let found = Raw::to(&tap).await.ask(&MetadataRequest::default(), version, 1).await;
        assert_eq!(found.brokers[0].port, cluster.brokers[0].port, "Metadata version {version}");
    }
    for version in 0..=2 {
        let found = Raw::to(&tap).await.ask(&DescribeClusterRequest::default(), version, 1).await;
        assert_eq!(found.brokers[0].port, cluster.brokers[0].port, "DescribeCluster version {version}");
    }
    drop(client);
    tap.shutdown().await;
    let events = rest(&watch);
    let listening: Vec<_> = events
        .iter()
        .filter_map(|event| if let Event::Listening { broker, at } = event { Some((broker, at)) } else { None })
        .collect();
    assert_eq!(listening.len(), 1);
    assert_eq!(listening[0].0.to_string(), format!("localhost:{real}"));
    assert_eq!(i32::from(listening[0].1.port()), cluster.brokers[0].port);
    let real = real.to_be_bytes();
    let mut answers = events
        .iter()
        .filter_map(|event| if let Event::Exchange(exchange) = event { exchange.response.clone() } else { None });
    assert!(answers.all(|answer| !answer.bytes.windows(4).any(|bytes| bytes == [0, 0, real[0], real[1]])));
}

/// Takes one connection, and gives what it heard up to some bytes, after saying some others.
async fn peer(heard: usize, says: Vec<u8>) -> (String, tokio::task::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let task = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut bytes = vec![0; heard];
        socket.read_exact(&mut bytes).await.unwrap();
        socket.write_all(&says).await.unwrap();
        bytes
    });
    (address, task)
}

#[tokio::test]
async fn what_nobody_knows_passes_byte_by_byte_in_both_directions() {
    let mut asked = raw(ApiKey(12_345), 3, 7, b"what nobody knows");
    asked.extend(raw(ApiKey::METADATA, 99, 8, b"a version to come"));
    asked.extend(raw(ApiKey::HEARTBEAT, 3, 9, b"not a heartbeat"));
    // Unknown header tags, a body of nothing known, a response to nothing that was asked.
    let mut answered = b"\0\0\0\x08\0\0\0\x07anew".to_vec();
    answered.extend(b"\0\0\0\x05\0\0\0\x08\x01");
    answered.extend(b"\0\0\0\x06\0\0\x99\x99??");
    answered.extend(b"\0\0\0\x04\0\0\0\x09");
    let (address, heard) = peer(asked.len(), answered.clone()).await;
    let tap = Tap::start(to(&address)).unwrap();
    let mut client = Raw::to(&tap).await;
    for byte in &asked {
        client.send(&[*byte]).await;
    }
    assert_eq!(heard.await.unwrap(), asked);
    let mut bytes = Vec::new();
    client.0.read_to_end(&mut bytes).await.unwrap();
    assert_eq!(bytes, answered);
}

#[tokio::test]
async fn the_last_token_of_gssapi_has_no_response_and_unknown_apis_keep_their_names() {
    let token = |bytes: &[u8]| [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat();
    let handshake = raw(ApiKey::SASL_HANDSHAKE, 0, 1, b"\0\x06GSSAPI");
    let unknown = raw(ApiKey(10_000), 2, 3, b"a body");
    let asked =
        [handshake, token(b"\x60first"), token(b"\x05\x04last"), frame(&MetadataRequest::default(), 0, 2), unknown]
            .concat();
    let mut answers = b"\0\0\0\x12\0\0\0\x01\0\0\0\0\0\x01\0\x06GSSAPI".to_vec();
    answers.extend(token(b"\x60challenge"));
    answers.extend(b"\0\0\0\x0c\0\0\0\x02\0\0\0\0\0\0\0\0");
    answers.extend(b"\0\0\0\x06\0\0\0\x03??");
    let (address, heard) = peer(asked.len(), answers).await;
    let (tap, watch) = Tap::watched(to(&address), 1 << 20).unwrap();
    let mut client = Raw::to(&tap).await;
    client.send(&asked).await;
    for size in [18, 10, 12, 6] {
        assert_eq!(client.read().await.unwrap().len(), size);
    }
    assert_eq!(heard.await.unwrap(), asked);
    tap.shutdown().await;
    // What gets no response may be shown before what came with it in one read.
    let seen: BTreeSet<String> = rest(&watch)
        .into_iter()
        .filter_map(|event| if let Event::Exchange(exchange) = event { Some(exchange) } else { None })
        .map(|exchange| {
            let name = match exchange.head() {
                Some(head) => format!("{} v{} of {:?}", head.api_key, head.api_version, head.client_id.as_deref()),
                None => "token".to_owned(),
            };
            format!("{name}, {:?}", exchange.response.map(|response| response.bytes.len()))
        })
        .collect();
    let expected = [
        r#"SaslHandshake v0 of Some("raw"), Some(18)"#,
        "token, Some(10)",
        "token, None",
        r#"Metadata v0 of Some("raw"), Some(12)"#,
        r#"10000 v2 of Some("raw"), Some(6)"#,
    ];
    assert_eq!(seen, expected.map(str::to_owned).into());
}

#[tokio::test]
async fn raw_sasl_tokens_pass_and_later_requests_are_recognised() {
    let handshake = raw(ApiKey::SASL_HANDSHAKE, 0, 1, b"\0\x05PLAIN");
    let token = b"\0\0\0\x0d\0alice\0secret".to_vec();
    let metadata = frame(&MetadataRequest::default(), 0, 2);
    let asked = [handshake, token, metadata].concat();
    // The response to the handshake, an empty token, and the response to Metadata with one broker, kafka:9092.
    let mut answers = b"\0\0\0\x11\0\0\0\x01\0\0\0\0\0\x01\0\x05PLAIN".to_vec();
    answers.extend(b"\0\0\0\0");
    answers.extend(b"\0\0\0\x1b\0\0\0\x02\0\0\0\x01\0\0\0\x05\0\x05kafka\0\0\x23\x84\0\0\0\0");
    let (address, heard) = peer(asked.len(), answers).await;
    let (tap, watch) = Tap::watched(to(&address), 1 << 20).unwrap();
    let mut client = Raw::to(&tap).await;
    client.send(&asked).await;
    assert_eq!(client.read().await.unwrap().len(), 17);
    assert_eq!(client.read().await.unwrap(), "");
    let metadata = client.read().await.unwrap();
    assert!(metadata.windows(9).any(|bytes| bytes == b"127.0.0.1"), "{metadata:?}");
    assert_eq!(heard.await.unwrap(), asked);
    tap.shutdown().await;
    let seen: Vec<_> = rest(&watch)
        .into_iter()
        .inspect(|event| match event {
            Event::Exchange(token) if token.head().is_none() => {
                assert_eq!(token.request.as_ref().unwrap().bytes, "\0alice\0secret");
                assert_eq!(token.clone().without_secrets().request.unwrap().bytes, "*************");
            }
            _ => {}
        })
        .filter_map(|event| {
            if let Event::Exchange(exchange) = event { Some(exchange.head().map(|head| head.api_key)) } else { None }
        })
        .collect();
    assert_eq!(seen, [Some(ApiKey::SASL_HANDSHAKE), None, Some(ApiKey::METADATA)]);
}

#[tokio::test]
async fn a_produce_with_acks_0_gets_no_response_and_the_next_request_its_own() {
    let broker = broker().await;
    let (tap, _watch) = tap(&broker, &[], &[]);
    let mut client = Raw::to(&tap).await;
    client.send(&frame(&ProduceRequest { acks: 0, ..Default::default() }, 7, 1)).await;
    let answer = client.ask(&ApiVersionsRequest::default(), 0, 2).await;
    assert!(!answer.api_keys.is_empty());
}

#[tokio::test]
async fn a_version_of_api_versions_that_the_broker_lacks_gets_the_version_0_response() {
    let broker = broker().await;
    let (tap, _watch) = tap(&broker, &[], &["produce=5"]);
    let mut client = Raw::to(&tap).await;
    client.send(&raw(ApiKey::API_VERSIONS, 120, 1, b"")).await;
    // Error 35 and the one range there is.
    assert_eq!(client.read().await.unwrap(), &b"\0\0\0\x01\0\x23\0\0\0\x01\0\x12\0\0\0\x05"[..]);
}

#[tokio::test]
async fn listeners_for_brokers_take_the_ports_above() {
    let answer =
        b"\0\0\0\x2e\0\0\0\x01\0\0\0\x02\0\0\0\x05\0\x05kafka\0\0\x23\x84\0\0\0\x06\0\x06kafka2\0\0\x23\x84\0\0\0\0";
    let mut answer = answer.to_vec();
    answer[3] = u8::try_from(answer.len() - 4).unwrap();
    let asked = frame(&MetadataRequest::default(), 0, 1);
    let (address, _heard) = peer(asked.len(), answer).await;
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let tap = Tap::start(TapConfig { port: free, ..to(&address) }).unwrap();
    let metadata = Raw::to(&tap).await.ask(&MetadataRequest::default(), 0, 1).await;
    let ports: Vec<i32> = metadata.brokers.iter().map(|broker| broker.port).collect();
    assert!(ports[0] > i32::from(free) && ports[1] > ports[0], "{ports:?} above {free}");
    assert!(metadata.brokers.iter().all(|broker| broker.host == "127.0.0.1"));
    assert_eq!(Address::new("127.0.0.1", ports[0]).unwrap().port(), u16::try_from(ports[0]).unwrap());
}
