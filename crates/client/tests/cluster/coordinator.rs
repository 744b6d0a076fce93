//! `Target::Coordinator`: looked up once, and again after the coordinator moved.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use milena_client::{CoordinatorKind, Error, Target};
use milena_messages::find_coordinator::response::Coordinator;
use milena_messages::{
    ApiKey, ErrorCode, FindCoordinatorRequest, FindCoordinatorResponse, HeartbeatRequest, HeartbeatResponse,
    VersionRange,
};

use crate::broker::{Act, Broker, respond_with, versions_with};

fn heartbeat(error_code: ErrorCode) -> Act {
    respond_with::<HeartbeatRequest>(HeartbeatResponse { error_code, ..Default::default() })
}

#[tokio::test]
async fn a_coordinator_is_looked_up_once_and_again_after_not_coordinator() {
    let second = Broker::start(|_, request| match request.api_key {
        ApiKey::HEARTBEAT => heartbeat(ErrorCode::NONE),
        _ => Act::Silence,
    })
    .await;
    let port_of = |address: &str| address.rsplit_once(':').unwrap().1.parse::<i32>().unwrap();
    for versions in [VersionRange::new(0, 3), VersionRange::new(0, 6)] {
        let own = Arc::new(AtomicI32::new(0));
        let (first_port, second_port) = (Arc::clone(&own), port_of(&second.address));
        let first =
            Broker::with_versions(versions_with(ApiKey::FIND_COORDINATOR, versions), move |nth, request| match request
                .api_key
            {
                ApiKey::FIND_COORDINATOR => {
                    let asked: FindCoordinatorRequest = request.decode().unwrap();
                    assert_eq!(asked.key_type, 0);
                    let port = if nth == 0 { first_port.load(Ordering::Relaxed) } else { second_port };
                    respond_with::<FindCoordinatorRequest>(if request.api_version < 4 {
                        assert_eq!(asked.key, "readers");
                        FindCoordinatorResponse { node_id: 1, host: "127.0.0.1".into(), port, ..Default::default() }
                    } else {
                        assert_eq!(asked.coordinator_keys, ["readers"]);
                        let (key, host) = ("readers".into(), "127.0.0.1".into());
                        let found = Coordinator { key, node_id: 1, host, port, ..Default::default() };
                        FindCoordinatorResponse { coordinators: vec![found], ..Default::default() }
                    })
                }
                ApiKey::HEARTBEAT if nth == 2 => heartbeat(ErrorCode::NOT_COORDINATOR),
                ApiKey::HEARTBEAT => heartbeat(ErrorCode::NONE),
                _ => Act::Silence,
            })
            .await;
        own.store(port_of(&first.address), Ordering::Relaxed);
        let client = first.client().await;
        let before = second.seen(ApiKey::HEARTBEAT);
        let to = || Target::Coordinator { kind: CoordinatorKind::Group, key: "readers".into() };
        let mut codes = Vec::new();
        for _ in 0..5 {
            codes.push(client.send(to(), &HeartbeatRequest::default()).await.unwrap().error_code);
        }
        let (none, moved) = (ErrorCode::NONE, ErrorCode::NOT_COORDINATOR);
        assert_eq!(codes, [none, none, moved, none, none]);
        assert_eq!(first.seen(ApiKey::FIND_COORDINATOR), 2);
        assert_eq!((first.seen(ApiKey::HEARTBEAT), second.seen(ApiKey::HEARTBEAT) - before), (3, 2));
    }
}

#[tokio::test]
async fn a_coordinator_that_is_not_available_is_an_error_of_find_coordinator() {
    let broker = Broker::start(|_, request| match request.api_key {
        ApiKey::FIND_COORDINATOR => {
            let code = ErrorCode::COORDINATOR_NOT_AVAILABLE;
            let found = Coordinator { key: "tx".into(), node_id: -1, port: -1, error_code: code, ..Default::default() };
            respond_with::<FindCoordinatorRequest>(FindCoordinatorResponse {
                coordinators: vec![found],
                ..Default::default()
            })
        }
        _ => Act::Silence,
    })
    .await;
    let client = broker.client().await;
    let to = Target::Coordinator { kind: CoordinatorKind::Transaction, key: "tx".into() };
    let error = client.send(to, &HeartbeatRequest::default()).await.unwrap_err();
    let Error::Broker { api, code, .. } = error else { panic!("{error:?}") };
    assert_eq!((api, code), (ApiKey::FIND_COORDINATOR, ErrorCode::COORDINATOR_NOT_AVAILABLE));
    assert_eq!(broker.seen(ApiKey::HEARTBEAT), 0);
}
