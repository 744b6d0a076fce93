use std::sync::{Arc, Mutex};
use std::time::Duration;

use milena_client::{
    Client, ClientConfig, ConnectCause, Error, FrameDirection, Misbehaviour, ObservedFrame, Observer, Target,
};
use milena_connection::{ConnectionError, Foreign};
use milena_messages::{ApiKey, HeartbeatRequest, HeartbeatResponse, MetadataRequest, VersionRange};

use crate::broker::{Act, Broker, nobody, not_a_broker, respond_with};

fn config(bootstrap: Vec<String>) -> ClientConfig {
    ClientConfig { bootstrap, ..ClientConfig::default() }
}

#[tokio::test]
async fn bootstrap_goes_on_to_the_address_that_responds() {
    let broker = Broker::start(|_, _| Act::Silence).await;
    let tls = not_a_broker(b"\x15\x03\x03\0\x02\x02\x46").await;
    let client = Client::connect(config(vec![nobody().await, tls, broker.address.clone()])).await.unwrap();
    let cluster = client.metadata(None).await.unwrap();
    assert_eq!(cluster.controller, Some(1));
    assert_eq!(cluster.topic("letters").unwrap().partitions.len(), 2);
}

#[tokio::test]
async fn a_list_with_commas_is_as_good_as_entries() {
    let broker = Broker::start(|_, _| Act::Silence).await;
    let list = format!("{}, {}", nobody().await, broker.address);
    let client = Client::connect(config(vec![list])).await.unwrap();
    assert_eq!(client.metadata(None).await.unwrap().controller, Some(1));
    let error = Client::connect(config(vec!["localhost:1,localhost".to_owned()])).await.unwrap_err();
    assert!(error.to_string().contains("`localhost`"), "{error}");
}

#[tokio::test]
async fn every_address_that_failed_is_listed_with_its_cause_in_one_line() {
    let (nobody, tls) = (nobody().await, not_a_broker(b"\x15\x03\x03\0\x02\x02\x46").await);
    let (http, old) = (not_a_broker(b"HTTP/1.1 400 Bad Request\r\n").await, not_a_broker(b"").await);
    let all = vec![nobody.clone(), tls.clone(), http.clone(), old.clone(), "no-such-host.invalid:1".to_owned()];
    let error = Client::connect(config(all)).await.unwrap_err();
    let Error::Unreachable(errors) = &error else { panic!("{error}") };
    assert!(matches!(&errors[0], Error::Connect { address, cause: ConnectCause::Io(_), .. } if **address == *nobody));
    let foreign = |error: &Error, wanted, at: &str| match error {
        Error::Misbehaved { address, cause: Misbehaviour::Protocol(ConnectionError::Foreign(found)), .. } => {
            (*found, &**address) == (wanted, at)
        }
        _ => false,
    };
    assert!(foreign(&errors[1], Foreign::TlsAlert, &tls), "{}", errors[1]);
    assert!(foreign(&errors[2], Foreign::Http, &http), "{}", errors[2]);
    assert!(
        matches!(&errors[3], Error::Connect { address, cause: ConnectCause::ClosedOnApiVersions, .. } if **address == *old),
        "{}",
        errors[3]
    );
    assert!(matches!(&errors[4], Error::Connect { cause: ConnectCause::Resolve(_), .. }), "{}", errors[4]);
    let text = error.to_string();
    assert!(!text.contains('\n') && [nobody, tls, http, old].iter().all(|address| text.contains(&**address)), "{text}");
}

#[tokio::test]
async fn text_that_is_not_an_address_is_refused() {
    for bootstrap in [vec![], vec!["localhost".to_owned()]] {
        let error = Client::connect(config(bootstrap)).await.unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{error}");
    }
}

#[tokio::test]
async fn a_half_closed_connection_fails_its_requests_and_is_opened_again() {
    let broker = Broker::start(|nth, request| match (request.api_key, nth) {
        (ApiKey::HEARTBEAT, 0) => Act::HalfClose,
        (ApiKey::HEARTBEAT, _) => respond_with::<HeartbeatRequest>(HeartbeatResponse::default()),
        _ => Act::Silence,
    })
    .await;
    let client = broker.client().await;
    let error = client.send(1, &HeartbeatRequest::default()).await.unwrap_err();
    assert!(matches!(&error, Error::Closed { api: ApiKey::HEARTBEAT, .. }), "{error}");
    assert!(error.is_retriable());
    client.send(1, &HeartbeatRequest::default()).await.unwrap();
    assert_eq!(broker.seen(ApiKey::API_VERSIONS), 2);
}

#[tokio::test]
async fn a_broker_that_does_not_respond_is_named_with_api_and_time() {
    let broker = Broker::start(|_, _| Act::Silence).await;
    let limit = Duration::from_millis(50);
    let client = Client::connect(ClientConfig { request_timeout: limit, ..broker.config() }).await.unwrap();
    let error = client.send(Target::Any, &HeartbeatRequest::default()).await.unwrap_err();
    assert_eq!(error.to_string(), format!("{} did not respond to Heartbeat within 50ms", broker.address));
}

#[tokio::test]
async fn an_unknown_node_and_an_unsupported_api_are_named() {
    let versions = vec![(ApiKey::API_VERSIONS, VersionRange::new(0, 4)), (ApiKey::METADATA, VersionRange::new(0, 12))];
    let broker = Broker::with_versions(versions, |_, _| Act::Silence).await;
    let client = broker.client().await;
    let error = client.send(9, &MetadataRequest::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "the cluster has no broker with node id 9");
    let error = client.send(Target::Any, &HeartbeatRequest::default()).await.unwrap_err();
    let wanted = format!("{} cannot do this with Heartbeat: the broker does not know this API", broker.address);
    assert_eq!(error.to_string(), wanted);
    assert_eq!(client.versions(1).await.unwrap().pick(ApiKey::METADATA).unwrap(), 12);
}

#[derive(Default)]
struct Notes(Mutex<Vec<ObservedFrame>>);

impl Observer for Notes {
    fn frame(&self, frame: &ObservedFrame) {
        self.0.lock().unwrap().push(frame.clone());
    }
}

#[tokio::test]
async fn an_observer_sees_every_frame_in_order_and_a_response_at_the_version_it_came_in() {
    // ApiVersions 5 is refused in the form of version 0, and asked again at 2.
    let versions = vec![(ApiKey::API_VERSIONS, VersionRange::new(0, 2)), (ApiKey::METADATA, VersionRange::new(0, 9))];
    let broker = Broker::with_versions(versions, |_, _| Act::Silence).await;
    let notes = Arc::new(Notes::default());
    let observer: Arc<dyn Observer> = Arc::clone(&notes) as _;
    let client = Client::connect(ClientConfig { observer: Some(observer), ..broker.config() }).await.unwrap();
    client.metadata(None).await.unwrap();
    let frames = notes.0.lock().unwrap();
    let seen: Vec<_> =
        frames.iter().map(|frame| (frame.direction, frame.api_key, frame.api_version, frame.correlation_id)).collect();
    assert_eq!(
        seen,
        [
            (FrameDirection::Sent, ApiKey::API_VERSIONS, 5, 0),
            (FrameDirection::Received, ApiKey::API_VERSIONS, 0, 0),
            (FrameDirection::Sent, ApiKey::API_VERSIONS, 2, 1),
            (FrameDirection::Received, ApiKey::API_VERSIONS, 2, 1),
            (FrameDirection::Sent, ApiKey::METADATA, 9, 2),
            (FrameDirection::Received, ApiKey::METADATA, 9, 2),
        ]
    );
    // size, API key, version, correlation id, client id, tags; then null topics, two flags, tags.
    let request = &frames[4];
    assert_eq!((request.size, &request.body[..]), (4 + 8 + 2 + 6 + 1 + 5, &[0, 0, 0, 0, 0][..]));
    assert!(frames.iter().all(|frame| *frame.address == *broker.address));
}
