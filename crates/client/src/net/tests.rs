//! The connection task against a scripted peer, over a pipe in memory and with the clock stopped.

use std::sync::Arc;
use std::time::Duration;

use milena_connection::{ServerConnection, ServerConnectionConfig};
use milena_messages::api_versions::response::ApiVersion;
use milena_messages::{
    ApiKey, ApiVersionsResponse, FetchRequest, FetchResponse, HeartbeatRequest, HeartbeatResponse, MetadataRequest,
    MetadataResponse, ProduceRequest,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::Instant;

use super::handshake::start;
use super::link::{Failure, Link, Sent};
use crate::config::ClientConfig;
use crate::error::{CloseCause, ConnectCause, Error, Origin};
use crate::timing::Limit;

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
        let response = ApiVersionsResponse { api_keys: all.collect(), ..Default::default() };
        self.machine.respond(&request, &response).unwrap();
        self.flush().await;
    }
}

async fn pair(pipe: usize) -> (Link, Peer) {
    let (near, far) = duplex(pipe);
    connected(near, far).await
}

async fn connected<S: AsyncRead + AsyncWrite + Send + 'static>(near: S, far: DuplexStream) -> (Link, Peer) {
    let mut peer = Peer { stream: far, machine: ServerConnection::new(ServerConnectionConfig::passing_all()) };
    let max_throttle = Duration::from_secs(60);
    let (address, config) = (Arc::from("peer:9092"), ClientConfig { max_throttle, ..ClientConfig::default() });
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
        Ok(_) => panic!("a response"),
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
    let (late, other) = tokio::join!(
        link.call(MetadataRequest::default(), 9, within(5)),
        link.call(HeartbeatRequest::default(), 4, within(60))
    );
    match error(late) {
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
    let (late, after, ()) = tokio::join!(
        link.call(MetadataRequest::default(), 9, within(5)),
        link.call(HeartbeatRequest::default(), 4, within(60)),
        serve
    );
    assert!(matches!(error(late), Error::Timeout { .. }));
    assert!(after.result.unwrap().is_some());
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
    let (next, ()) = tokio::join!(link.call(MetadataRequest::default(), 9, within(5)), serve);
    assert!(next.result.unwrap().is_some());
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

fn produce(acks: i16, bytes: usize) -> ProduceRequest {
    let records = milena_wire::Bytes::from(vec![0; bytes]);
    let data = milena_messages::produce::request::PartitionProduceData { records: Some(records), ..Default::default() };
    let topic =
        milena_messages::produce::request::TopicProduceData { partition_data: vec![data], ..Default::default() };
    ProduceRequest { acks, topic_data: vec![topic], ..Default::default() }
}

fn throttled(seconds: i32) -> MetadataResponse {
    MetadataResponse { throttle_time_ms: seconds * 1000, ..Default::default() }
}

#[tokio::test(start_paused = true)]
async fn a_throttled_connection_is_silent_as_long_as_asked_and_timeouts_start_after_that() {
    let (link, mut peer) = pair(1 << 16).await;
    let start = Instant::now();
    let calls = async {
        let first = link.call(MetadataRequest::default(), 9, within(5)).await;
        assert_eq!((first.throttle, start.elapsed()), (Duration::from_secs(20), Duration::ZERO));
        first.result.unwrap();
        // Nobody responds to this one.
        let second = link.call(HeartbeatRequest::default(), 4, within(5)).await;
        assert_eq!(second.muted, Duration::from_secs(20));
        assert_eq!(start.elapsed(), Duration::from_secs(25));
        error(second)
    };
    let serve = async {
        let request = peer.request().await;
        peer.machine.respond(&request, &throttled(20)).unwrap();
        peer.flush().await;
        peer.request().await;
        assert_eq!(start.elapsed(), Duration::from_secs(20));
        peer
    };
    let (late, _peer) = tokio::join!(calls, serve);
    assert!(matches!(late, Error::Timeout { after, .. } if after == Duration::from_secs(5)), "{late}");
}

#[tokio::test(start_paused = true)]
async fn requests_that_a_throttling_broker_reads_later_do_not_time_out_meanwhile() {
    let (link, mut peer) = pair(1 << 16).await;
    let serve = async {
        let (first, second) = (peer.request().await, peer.request().await);
        peer.machine.respond(&first, &throttled(20)).unwrap();
        peer.flush().await;
        tokio::time::sleep(Duration::from_secs(21)).await;
        peer.machine.respond(&second, &HeartbeatResponse::default()).unwrap();
        peer.flush().await;
    };
    let (first, second, ()) = tokio::join!(
        link.call(MetadataRequest::default(), 9, within(5)),
        link.call(HeartbeatRequest::default(), 4, within(5)),
        serve
    );
    first.result.unwrap();
    assert_eq!(second.muted, Duration::from_secs(20));
    second.result.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_absurd_throttle_time_is_honoured_up_to_the_limit() {
    let (link, mut peer) = pair(1 << 16).await;
    let serve = async {
        let request = peer.request().await;
        peer.machine.respond(&request, &throttled(i32::MAX / 1000)).unwrap();
        peer.flush().await;
        peer.request().await;
        peer
    };
    let calls = async {
        link.call(MetadataRequest::default(), 9, within(5)).await.result.unwrap();
        let start = Instant::now();
        let late = link.call(HeartbeatRequest::default(), 4, within(5)).await;
        assert_eq!(start.elapsed(), Duration::from_secs(65));
        error(late)
    };
    let (late, _peer) = tokio::join!(calls, serve);
    assert!(matches!(late, Error::Timeout { .. }), "{late}");
}

#[tokio::test(start_paused = true)]
async fn a_version_in_which_the_broker_itself_waited_is_not_waited_for_again() {
    for (version, wait) in [(7, 0), (8, 20)] {
        let (link, mut peer) = pair(1 << 16).await;
        let serve = async {
            let request = peer.request().await;
            let response = FetchResponse { throttle_time_ms: 20_000, ..Default::default() };
            peer.machine.respond(&request, &response).unwrap();
            peer.flush().await;
            let start = Instant::now();
            peer.request().await;
            assert_eq!(start.elapsed(), Duration::from_secs(wait), "Fetch {version}");
            peer
        };
        let calls = async {
            link.call(FetchRequest::default(), version, within(5)).await.result.unwrap();
            link.call(HeartbeatRequest::default(), 4, within(5)).await
        };
        let (_, _peer) = tokio::join!(calls, serve);
    }
}

/// A stream that shows whether it still exists.
struct Counted(DuplexStream, #[expect(dead_code, reason = "counts by being held")] Arc<()>);

impl AsyncRead for Counted {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        buf: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::pin::Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        buf: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        std::pin::Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::pin::Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::pin::Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[tokio::test(start_paused = true)]
async fn every_request_to_a_peer_that_does_not_read_ends_in_time_and_nothing_is_left() {
    let token = Arc::new(());
    let (near, far) = duplex(1 << 16);
    let (link, peer) = connected(Counted(near, Arc::clone(&token)), far).await;
    let start = Instant::now();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let link = link.clone();
        calls.spawn(async move { link.call(produce(-1, 900_000), 9, within(5)).await });
    }
    let mut sent_count = 0;
    while let Some(call) = calls.join_next().await {
        match call.unwrap().result {
            Err(Failure::Error(Error::Timeout { after, sent, .. })) => {
                assert_eq!(after, Duration::from_secs(5));
                sent_count += usize::from(sent);
            }
            // A request that was never begun may get this at the moment when the connection is given up.
            Err(Failure::NotSent) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(start.elapsed(), Duration::from_secs(5));
    }
    // The pipe has room for the beginning of one request.
    assert_eq!(sent_count, 1);
    assert!(!link.is_open());
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(Arc::strong_count(&token), 1, "the task and its stream are gone although a handle is left");
    drop(peer);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_after_the_last_handle_is_dropped_even_if_the_peer_does_not_read() {
    let token = Arc::new(());
    let (near, far) = duplex(1 << 10);
    let (link, _peer) = connected(Counted(near, Arc::clone(&token)), far).await;
    let call = tokio::spawn(async move { link.call(produce(-1, 9_000_000), 9, within(3600)).await.result.is_ok() });
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(Arc::strong_count(&token), 2);
    call.abort();
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(Arc::strong_count(&token), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_after_one_without_response_is_not_lost_with_it() {
    let (link, mut peer) = pair(1 << 16).await;
    link.call(produce(0, 10), 3, within(5)).await.result.unwrap();
    let serve = async {
        assert_eq!(peer.request().await.api_key, ApiKey::PRODUCE);
        // What comes next is a question whether the broker goes on, and not yet the request.
        assert_eq!(peer.request().await.api_key, ApiKey::API_VERSIONS);
        drop(peer);
    };
    let (next, ()) = tokio::join!(link.call(MetadataRequest::default(), 9, within(5)), serve);
    assert!(matches!(next.result, Err(Failure::NotSent)), "{next:?}");
}
