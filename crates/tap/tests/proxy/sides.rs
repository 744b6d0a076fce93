//! Both sides misbehave, or go away.

use std::time::Duration;

use milena_messages::{ApiKey, ApiVersionsRequest, Bytes, MetadataRequest};
use milena_tap::{Event, Tap, TapConfig};
use milena_transport::{Tls, TlsConfig};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::setup::{PATIENCE, Raw, broker, closed, exchange, frame, id, raw, rest, tap, to};

#[tokio::test]
async fn tls_on_the_plain_port_and_other_strangers_are_named() {
    let broker = broker().await;
    let (tap, watch) = tap(&broker, &[], &[]);
    for (bytes, name) in [(&b"\x16\x03\x01\x02\0\x01"[..], "a TLS handshake"), (b"GET / HTTP/1.1\r\n\r\n", "HTTP")] {
        let mut client = Raw::to(&tap).await;
        client.send(bytes).await;
        assert_eq!(client.read().await, None);
        let why = closed(&watch);
        assert!(why.starts_with("the client does not follow the Kafka protocol: ") && why.contains(name), "{why}");
    }
}

#[tokio::test]
async fn a_broker_that_is_not_there_ends_the_connection_with_a_reason() {
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let (tap, watch) = Tap::watched(to(&nobody.to_string()), 1 << 20).unwrap();
    assert_eq!(Raw::to(&tap).await.read().await, None);
    assert!(closed(&watch).starts_with(&format!("cannot connect to {nobody}: ")));
}

#[tokio::test]
async fn a_broker_that_dies_takes_its_connections_with_it_and_is_found_again() {
    let broker = broker().await;
    let port = broker.address().port();
    let (tap, watch) = tap(&broker, &[], &[]);
    let mut client = Raw::to(&tap).await;
    client.ask(&ApiVersionsRequest::default(), 0, 1).await;
    broker.shutdown().await;
    assert_eq!(client.read().await, None);
    assert_eq!(Raw::to(&tap).await.read().await, None);
    let config = milena_broker::BrokerConfig { port, ..milena_broker::BrokerConfig::default() };
    let _again = milena_broker::Broker::start(config).await.unwrap();
    Raw::to(&tap).await.ask(&ApiVersionsRequest::default(), 0, 2).await;
    assert_eq!(id(&exchange(&watch, ApiKey::API_VERSIONS)), 1);
    assert_eq!(id(&exchange(&watch, ApiKey::API_VERSIONS)), 2);
}

#[tokio::test]
async fn a_client_that_goes_away_frees_its_connection_to_the_broker() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let tap = Tap::start(to(&listener.local_addr().unwrap().to_string())).unwrap();
    let mut client = Raw::to(&tap).await;
    client.send(&frame(&ApiVersionsRequest::default(), 0, 1)).await;
    let (mut broker, _) = listener.accept().await.unwrap();
    let mut head = [0; 4];
    broker.read_exact(&mut head).await.unwrap();
    drop(client);
    let mut left = Vec::new();
    timeout(PATIENCE, broker.read_to_end(&mut left)).await.expect("the end of the connection").unwrap();
}

#[tokio::test]
async fn a_client_that_does_not_read_stops_the_broker_and_not_the_others() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (written, mut most) = tokio::sync::watch::channel(0usize);
    tokio::spawn(async move {
        let mut first = true;
        while let Ok((mut socket, _)) = listener.accept().await {
            let (written, flood) = (written.clone(), std::mem::take(&mut first));
            tokio::spawn(async move {
                let answer = [&b"\0\x10\0\x04\0\0\0\x01"[..], &vec![7; 1 << 20]].concat();
                let _ = socket.read_u32().await;
                while socket.write_all(if flood { &answer } else { b"\0\0\0\x04\0\0\0\x01" }).await.is_ok() && flood {
                    written.send_modify(|written| *written += answer.len());
                }
            });
        }
    });
    let tap = Tap::start(to(&address)).unwrap();
    let mut slow = Raw::to(&tap).await;
    slow.send(&raw(ApiKey::HEARTBEAT, 0, 1, b"")).await;
    // The buffers of four sockets and of one connection fill up, and then nothing moves.
    while timeout(Duration::from_millis(500), most.changed()).await.is_ok() {}
    let stuck = *most.borrow();
    assert!((1..64 << 20).contains(&stuck), "{stuck} bytes are under way");
    let mut other = Raw::to(&tap).await;
    other.send(&raw(ApiKey::HEARTBEAT, 0, 1, b"")).await;
    assert_eq!(other.read().await, Some(Bytes::from_static(b"\0\0\0\x01")));
    // Who reads again gets everything from where it stopped.
    for _ in 0..2 * (stuck >> 20) {
        assert_eq!(slow.read().await.unwrap().len(), (1 << 20) + 4);
    }
}

#[tokio::test]
async fn a_watcher_that_does_not_look_loses_exchanges_and_nobody_waits_for_it() {
    let broker = broker().await;
    let (tap, watch) = Tap::watched(to(&broker.bootstrap()), 2000).unwrap();
    let mut client = Raw::to(&tap).await;
    for id in 0..200 {
        client.ask(&ApiVersionsRequest::default(), 0, id).await;
    }
    drop(client);
    tap.shutdown().await;
    let seen = rest(&watch).iter().filter(|event| matches!(event, Event::Exchange(_))).count();
    assert!(seen > 0 && watch.skipped() > 0, "{seen} seen, {} not", watch.skipped());
    assert_eq!(seen as u64 + watch.skipped(), 200);
}

#[tokio::test]
async fn the_cluster_may_speak_tls_while_clients_do_not() {
    let broker = broker().await;
    let plain = broker.bootstrap();
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let ca = std::env::temp_dir().join(format!("milena-tap-{}.pem", std::process::id()));
    std::fs::write(&ca, cert.pem()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], PrivateKeyDer::Pkcs8(signing_key.serialize_der().into()))
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, plain) = (acceptor.clone(), plain.clone());
            tokio::spawn(async move {
                let Ok(mut near) = acceptor.accept(socket).await else { return };
                let mut far = TcpStream::connect(plain).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    let tls = Tls::new(&TlsConfig { ca: Some(ca.clone()), ..TlsConfig::default() }).unwrap();
    let tap = Tap::start(TapConfig { tls: Some(tls), ..to(&address) }).unwrap();
    let metadata = Raw::to(&tap).await.ask(&MetadataRequest::default(), 12, 1).await;
    assert_eq!(metadata.brokers.len(), 1);
    assert_ne!(metadata.brokers[0].port, i32::from(broker.address().port()));
    // To a broker that speaks plain, TLS does not come about.
    let tls = Tls::new(&TlsConfig { ca: Some(ca.clone()), ..TlsConfig::default() }).unwrap();
    let (tap, watch) = Tap::watched(TapConfig { tls: Some(tls), ..to(&broker.bootstrap()) }, 1 << 20).unwrap();
    assert_eq!(Raw::to(&tap).await.read().await, None);
    let why = closed(&watch);
    assert!(why.contains("no TLS"), "{why}");
    std::fs::remove_file(ca).unwrap();
}

#[tokio::test]
async fn a_frame_above_the_limit_ends_the_connection() {
    let broker = broker().await;
    let (tap, watch) = Tap::watched(TapConfig { max_frame: 1000, ..to(&broker.bootstrap()) }, 1 << 20).unwrap();
    let mut client = Raw::to(&tap).await;
    client.0.write_all(b"\0\0\x04\0").await.unwrap();
    assert_eq!(client.read().await, None);
    assert!(closed(&watch).contains("1024 bytes, at most 1000"));
}
