//! The connection task against a scripted peer, over a pipe in memory and with the clock stopped.

use std::sync::Arc;
use std::time::Duration;

use milena_connection::{ServerConnection, ServerConnectionConfig};
use milena_messages::api_versions::response::ApiVersion;
use milena_messages::{
    ApiKey, ApiVersionsResponse, HeartbeatRequest, HeartbeatResponse, MetadataRequest, MetadataResponse, ProduceRequest,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::Instant;

use super::handshake::start;
use super::link::{Failure, Limit, Link, Sent};
use crate::config::ClientConfig;
use crate::error::{CloseCause, ConnectCause, Error, Origin};

struct Peer {
    stream: DuplexStream,
    machine: ServerConnection,
}

impl Peer {
    async fn request(&mut self) -> milena_connection::IncomingRequest {
        loop {
            if let Some(request) = self.machine.poll().unwrap() {
                return request;
            }
            assert_ne!(self.stream.read_buf(self.machine.input()).await.unwrap(), 0);
        }
    }

    async fn flush(&mut self) {
        for segment in self.machine.take_output() {
            self.stream.write_all(&segment).await.unwrap();
        }
    }

    async fn negotiate(&mut self) {
        let request = self.request().await;
        let all = ApiKey::all().map(|api_key| ApiVersion {
            api_key,
            min_version: api_key.versions().min(),
            max_version: api_key.versions().max(),
            ..Default::default()
        });
        let answer = ApiVersionsResponse { api_keys: all.collect(), ..Default::default() };
        self.machine.respond(&request, &answer).unwrap();
        self.flush().await;
    }
}

async fn pair(pipe: usize) -> (Link, Peer) {
    let (near, far) = duplex(pipe);
    let mut peer = Peer { stream: far, machine: ServerConnection::new(ServerConnectionConfig::passing_all()) };
    let (address, config) = (Arc::from("peer:9092"), ClientConfig::default());
    let (link, ()) = tokio::join!(start(near, &address, Origin::Configured, &config), peer.negotiate());
    (link.unwrap(), peer)
}

fn within(seconds: u64) -> Limit {
    let timeout = Duration::from_secs(seconds);
    Limit { timeout, deadline: Instant::now() + timeout }
}

fn error<T>(sent: Sent<T>) -> Error {
    match sent.result {
        Err(Failure::Error(error)) => error,
        Err(Failure::NotSent) => panic!("not sent"),
        Ok(_) => panic!("answered"),
    }
}

#[tokio::test(start_paused = true)]
async fn requests_are_pipelined_and_each_gets_its_own_response() {
    let (link, mut peer) = pair(1 << 16).await;
    let metadata = link.call(MetadataRequest::default(), 9, within(5));
    let heartbeat = link.call(HeartbeatRequest::default(), 4, within(5));
    let serve = async {
        let (first, second) = (peer.request().await, peer.request().await);
        assert_eq!((first.api_key, second.api_key), (ApiKey::METADATA, ApiKey::HEARTBEAT));
        let response = MetadataResponse { controller_id: 7, ..Default::default() };
        peer.machine.respond(&first, &response).unwrap();
        peer.machine.respond(&second, &HeartbeatResponse::default()).unwrap();
        peer.flush().await;
    };
    let (metadata, heartbeat, ()) = tokio::join!(metadata, heartbeat, serve);
    assert_eq!(metadata.result.unwrap().unwrap().controller_id, 7);
    assert!(heartbeat.result.unwrap().unwrap().error_code.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_silent_broker_times_out_and_gets_no_more_requests() {
    let (link, mut peer) = pair(1 << 16).await;
    let (answer, other) = tokio::join!(
        link.call(MetadataRequest::default(), 9, within(5)),
        link.call(HeartbeatRequest::default(), 4, within(60))
    );
    match error(answer) {
        Error::Timeout { address, api, after, sent: true } => {
            assert_eq!((&*address, api, after), ("peer:9092", ApiKey::METADATA, Duration::from_secs(5)));
        }
        other => panic!("{other}"),
    }
    assert!(!link.is_open());
    assert!(matches!(error(other), Error::Timeout { api: ApiKey::HEARTBEAT, .. }));
    let late = link.call(MetadataRequest::default(), 9, within(5)).await;
    assert!(matches!(late.result, Err(Failure::NotSent)));
    peer.request().await;
}

#[tokio::test(start_paused = true)]
async fn a_late_response_is_dropped_and_the_ones_after_it_arrive() {
    let (link, mut peer) = pair(1 << 16).await;
    let serve = async {
        let (first, second) = (peer.request().await, peer.request().await);
        tokio::time::sleep(Duration::from_secs(10)).await;
        peer.machine.respond(&first, &MetadataResponse::default()).unwrap();
        peer.machine.respond(&second, &HeartbeatResponse::default()).unwrap();
        peer.flush().await;
    };
    let (late, behind, ()) = tokio::join!(
        link.call(MetadataRequest::default(), 9, within(5)),
        link.call(HeartbeatRequest::default(), 4, within(60)),
        serve
    );
    assert!(matches!(error(late), Error::Timeout { .. }));
    assert!(behind.result.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_fails_all_that_wait_for_it() {
    let (link, mut peer) = pair(1 << 16).await;
    let serve = async {
        peer.request().await;
        peer.request().await;
        drop(peer);
    };
    let (first, second, ()) = tokio::join!(
        link.call(MetadataRequest::default(), 9, within(5)),
        link.call(HeartbeatRequest::default(), 4, within(5)),
        serve
    );
    for (result, api) in [(error(first), ApiKey::METADATA), (error(second), ApiKey::HEARTBEAT)] {
        match result {
            Error::Closed { api: found, sent: true, cause: CloseCause::EofAtFirstRequest, .. } if found == api => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(!link.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_request_without_response_returns_when_its_last_byte_is_with_the_socket() {
    let (link, mut peer) = pair(64).await;
    let records = milena_wire::Bytes::from(vec![0; 1000]);
    let data = milena_messages::produce::request::PartitionProduceData { records: Some(records), ..Default::default() };
    let topic =
        milena_messages::produce::request::TopicProduceData { partition_data: vec![data], ..Default::default() };
    let request = ProduceRequest { acks: 0, topic_data: vec![topic], ..Default::default() };

    let stuck = link.call(request.clone(), 3, within(5)).await;
    assert!(matches!(error(stuck), Error::Timeout { api: ApiKey::PRODUCE, .. }));

    let (link, mut other) = pair(64).await;
    let (sent, received) = tokio::join!(link.call(request, 3, within(5)), other.request());
    assert!(sent.result.unwrap().is_none());
    assert_eq!(received.api_key, ApiKey::PRODUCE);

    // The first connection was given up: what is left of it is the part that the pipe took, and the end.
    let mut rest = Vec::new();
    peer.stream.read_to_end(&mut rest).await.unwrap();
    assert!(rest.len() <= 64, "{}", rest.len());
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_before_the_handle_goes_still_leaves() {
    let (link, mut peer) = pair(64).await;
    let name = "x".repeat(1000);
    let request = milena_messages::HeartbeatRequest { group_id: name.as_str().into(), ..Default::default() };
    let call = tokio::spawn(async move { link.call(request, 4, within(5)).await.result.is_ok() });
    let received = peer.request().await;
    peer.machine.respond(&received, &HeartbeatResponse::default()).unwrap();
    peer.flush().await;
    assert!(call.await.unwrap());
    assert_eq!(peer.stream.read_buf(peer.machine.input()).await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_written_does_not_end_the_connection() {
    let (link, mut peer) = pair(1 << 16).await;
    let request = milena_messages::MetadataRequest { topics: None, ..Default::default() };
    let refused = error(link.call(request, 0, within(5)).await);
    assert!(matches!(refused, Error::Unwritable { api: ApiKey::METADATA, .. }), "{refused}");
    let serve = async {
        let request = peer.request().await;
        peer.machine.respond(&request, &MetadataResponse::default()).unwrap();
        peer.flush().await;
    };
    let (answer, ()) = tokio::join!(link.call(MetadataRequest::default(), 9, within(5)), serve);
    assert!(answer.result.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_closes_when_asked_for_versions_is_named() {
    let (near, far) = duplex(1 << 16);
    let mut far = far;
    let close = async move {
        far.read_u8().await.unwrap();
    };
    let (address, config) = (Arc::from("old:9092"), ClientConfig::default());
    let (link, ()) = tokio::join!(start(near, &address, Origin::Configured, &config), close);
    match link {
        Err(Error::Connect { cause: ConnectCause::ClosedOnApiVersions, .. }) => {}
        other => panic!("{other:?}"),
    }
}
