use std::sync::Arc;

use milena_client::{Client, ClientConfig, ConnectCause, Error, HandshakeError, Report, Target, Tls, TlsConfig};
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::produce::response::{PartitionProduceResponse, TopicProduceResponse};
use milena_messages::{Bytes, ProduceRequest, ProduceResponse};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::broker::{Act, Broker, TOPIC, not_a_broker, respond_with};

/// A port that speaks TLS in front of the brokers, and the file with its CA certificate.
async fn in_front_of(broker: String, name: &str) -> (String, std::path::PathBuf) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let file = std::env::temp_dir().join(format!("milena-client-{name}-{}.pem", std::process::id()));
    std::fs::write(&file, cert.pem()).unwrap();
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
            let (acceptor, broker) = (acceptor.clone(), broker.clone());
            tokio::spawn(async move {
                let Ok(mut near) = acceptor.accept(socket).await else { return };
                let mut far = TcpStream::connect(broker).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    (address, file)
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_not_tried_again() {
    let broker = Broker::start(|_, _| Act::Silence).await;
    let (address, _) = in_front_of(broker.address.clone(), "untrusted").await;
    let (_, other) = in_front_of(broker.address.clone(), "other").await;
    let tls = Tls::new(&TlsConfig { ca: Some(other), ..TlsConfig::default() }).unwrap();
    let config = ClientConfig { bootstrap: vec![address], tls: Some(tls), ..ClientConfig::default() };
    let error = Client::connect(config).await.unwrap_err();
    match &error {
        Error::Connect { cause: ConnectCause::Tls(HandshakeError::Certificate(_)), .. } => {}
        other => panic!("{other:?}"),
    }
    assert!(!error.is_retriable());
    assert!(Report(&error).to_string().contains("invalid peer certificate"), "{}", Report(&error));
}

#[tokio::test]
async fn a_request_of_many_tls_records_goes_out_whole() {
    let broker = Broker::start(|_, request| {
        let Ok(request) = request.decode::<ProduceRequest>() else { return Act::Silence };
        let size = request.topic_data[0].partition_data[0].records.as_ref().unwrap().len();
        let partition = PartitionProduceResponse { base_offset: size as i64, ..Default::default() };
        let topic =
            TopicProduceResponse { name: TOPIC.into(), partition_responses: vec![partition], ..Default::default() };
        respond_with::<ProduceRequest>(ProduceResponse { responses: vec![topic], ..Default::default() })
    })
    .await;
    let (address, ca) = in_front_of(broker.address.clone(), "many").await;
    // The scripted broker says that it is at its plain port: only what goes over the first connection is inside of TLS.
    let tls = Tls::new(&TlsConfig { ca: Some(ca), ..TlsConfig::default() }).unwrap();
    let config = ClientConfig { bootstrap: vec![address.clone()], tls: Some(tls), ..ClientConfig::default() };
    let client = Client::connect(config).await.unwrap();
    let records = Bytes::from(vec![7; 3 << 20]);
    let size = records.len();
    let partition = PartitionProduceData { records: Some(records), ..Default::default() };
    let topic = TopicProduceData { name: TOPIC.into(), partition_data: vec![partition], ..Default::default() };
    let request = ProduceRequest { acks: -1, topic_data: vec![topic], ..Default::default() };
    let target = Target::Address(address.clone());
    let response = client.send_at(target, &request, 9).await.unwrap();
    assert_eq!(response.responses[0].partition_responses[0].base_offset, size as i64);

    let plain = Client::connect(ClientConfig { bootstrap: vec![address], ..ClientConfig::default() }).await;
    assert!(matches!(plain, Err(Error::Misbehaved { .. } | Error::Connect { .. })), "{plain:?}");
    let tls = Tls::new(&TlsConfig { dangerously_unverified: true, ..TlsConfig::default() }).unwrap();
    let config = ClientConfig { bootstrap: vec![not_a_broker(b"").await], tls: Some(tls), ..ClientConfig::default() };
    let error = Client::connect(config).await.unwrap_err();
    assert!(matches!(&error, Error::Connect { cause: ConnectCause::Tls(_), .. }), "{error}");
}
