//! What the tests have in common: a broker, a proxy in front of it, and a client of a few lines.

use std::time::Duration;

use milena_broker::{Broker, BrokerConfig};
use milena_client::{Client, ClientConfig};
use milena_messages::{ApiKey, Bytes, Request, RequestHeader, Struct as _};
use milena_tap::{Event, Exchange, NoEvent, Tap, TapConfig, Watch};
use milena_transport::Address;
use milena_wire::Writer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn broker() -> Broker {
    Broker::start(BrokerConfig::default()).await.unwrap()
}

pub(crate) fn to(broker: &str) -> TapConfig {
    TapConfig { bootstrap: vec![Address::parse(broker).unwrap()], ..TapConfig::default() }
}

/// A proxy with faults and caps.
pub(crate) fn tap(broker: &Broker, faults: &[&str], caps: &[&str]) -> (Tap, Watch) {
    let config = TapConfig {
        faults: faults.iter().map(|fault| fault.parse().unwrap()).collect(),
        caps: caps.iter().map(|cap| cap.parse().unwrap()).collect(),
        ..to(&broker.bootstrap())
    };
    Tap::watched(config, 64 << 20).unwrap()
}

pub(crate) fn client_config(tap: &Tap) -> ClientConfig {
    ClientConfig { bootstrap: vec![tap.address().to_string()], ..ClientConfig::default() }
}

pub(crate) async fn client(tap: &Tap) -> Client {
    Client::connect(client_config(tap)).await.unwrap()
}

/// The next exchange of an API.
pub(crate) fn exchange(watch: &Watch, api: ApiKey) -> Box<Exchange> {
    loop {
        match watch.next(PATIENCE).unwrap() {
            Event::Exchange(exchange) if exchange.head().is_some_and(|head| head.api_key == api) => return exchange,
            _ => {}
        }
    }
}

/// The reason for which the next connection is closed that has one.
pub(crate) fn closed(watch: &Watch) -> String {
    loop {
        if let Event::Closed { why: Some(why), .. } = watch.next(PATIENCE).unwrap() {
            return why;
        }
    }
}

/// All events up to the end of the proxy.
pub(crate) fn rest(watch: &Watch) -> Vec<Event> {
    let mut all = Vec::new();
    loop {
        match watch.next(PATIENCE) {
            Ok(event) => all.push(event),
            Err(NoEvent::Ended) => return all,
            Err(NoEvent::Yet) => panic!("the proxy does not end"),
        }
    }
}

/// A request as bytes: size, header, body.
pub(crate) fn frame<R: Request>(request: &R, version: i16, correlation_id: i32) -> Vec<u8> {
    raw(R::API_KEY, version, correlation_id, &request.to_bytes(version).unwrap())
}

pub(crate) fn raw(api: ApiKey, version: i16, correlation_id: i32, body: &[u8]) -> Vec<u8> {
    let header = RequestHeader {
        request_api_key: api,
        request_api_version: version,
        correlation_id,
        client_id: Some("raw".into()),
        ..Default::default()
    };
    let mut writer = Writer::new();
    writer.i32(0);
    header.write(&mut writer, api.request_header_version(version)).unwrap();
    writer.raw(body);
    writer.patch_i32(0, writer.len() as i32 - 4);
    writer.into_bytes().to_vec()
}

/// Bytes in, bytes out.
pub(crate) struct Raw(pub(crate) TcpStream);

impl Raw {
    pub(crate) async fn to(tap: &Tap) -> Self {
        Self(TcpStream::connect(tap.address()).await.unwrap())
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    /// The next frame without its size; `None` at the end of the connection.
    pub(crate) async fn read(&mut self) -> Option<Bytes> {
        let size = self.0.read_u32().await.ok()?;
        let mut frame = vec![0; size as usize];
        self.0.read_exact(&mut frame).await.ok()?;
        Some(frame.into())
    }

    pub(crate) async fn ask<R: Request>(&mut self, request: &R, version: i16, correlation_id: i32) -> R::Response {
        use milena_messages::Message as _;
        self.send(&frame(request, version, correlation_id)).await;
        let response = self.read().await.expect("a response");
        assert_eq!(response[..4], correlation_id.to_be_bytes());
        let tagged = R::API_KEY.response_header_version(version) >= 1;
        R::Response::from_bytes(response.slice(if tagged { 5 } else { 4 }..), version).unwrap()
    }
}

/// The correlation id of a request that passed.
pub(crate) fn id(exchange: &Exchange) -> i32 {
    exchange.head().unwrap().correlation_id
}
