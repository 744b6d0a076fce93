//! A first look at the cluster.

use milena_broker::{Broker, BrokerConfig};
use milena_connection::{frame_response, read_request_header};
use milena_messages::metadata::response::MetadataResponseBroker;
use milena_messages::{ApiVersionsRequest, MetadataRequest, MetadataResponse};
use milena_tap::{ProbeError, Tap, TapConfig};
use tokio::net::TcpListener;

use crate::setup::{Raw, broker, closed, to};

fn brokers(all: &[(i32, &str, i32)]) -> MetadataResponse {
    let broker = |(node_id, host, port): &(i32, &str, i32)| MetadataResponseBroker {
        node_id: *node_id,
        host: (*host).into(),
        port: *port,
        ..Default::default()
    };
    MetadataResponse { brokers: all.iter().map(broker).collect(), ..Default::default() }
}

/// Responds to Metadata at version `speaks`, and ends the connection at any other request. `bootstrap.servers` of it.
async fn cluster(speaks: i16, response: MetadataResponse) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let response = response.clone();
            tokio::spawn(async move {
                let mut raw = Raw(socket);
                while let Some(frame) = raw.read().await {
                    let (header, _) = read_request_header(frame).unwrap();
                    if header.request_api_version != speaks {
                        return;
                    }
                    raw.send(&frame_response(&response, speaks, header.correlation_id).unwrap().concat()).await;
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn ports_follow_the_order_of_node_ids() {
    let named = [(9, "kafka-9", 9092), (2, "kafka-2", 9092), (5, "kafka-5", 9092)];
    // Kafka before 0.10 speaks version 0 alone.
    for version in [0, 1] {
        let address = cluster(version, brokers(&named)).await;
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let tap = Tap::start(TapConfig { port: free, ..to(&address) }).unwrap();
        let nodes = tap.probe().await.unwrap();
        assert_eq!(nodes.iter().map(|node| node.id).collect::<Vec<_>>(), [2, 5, 9]);
        let ports: Vec<u16> = nodes.iter().map(|node| node.local.as_ref().unwrap().port()).collect();
        assert!(free < ports[0] && ports[0] < ports[1] && ports[1] < ports[2], "{ports:?} above {free}");
    }
    // Without a probe, the first response opens the listeners in the same order.
    let address = cluster(1, brokers(&named)).await;
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let tap = Tap::start(TapConfig { port: free, ..to(&address) }).unwrap();
    let seen = Raw::to(&tap).await.ask(&MetadataRequest::default(), 1, 1).await;
    let port = |id| seen.brokers.iter().find(|broker| broker.node_id == id).unwrap().port;
    assert!(port(2) < port(5) && port(5) < port(9));
}

#[tokio::test]
async fn a_dead_bootstrap_is_noticed_before_any_client_comes() {
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let tap = Tap::start(to(&nobody.to_string())).unwrap();
    let error = tap.probe().await.unwrap_err();
    assert!(matches!(&error, ProbeError::Unreachable(why) if why.contains(&nobody.to_string())), "{error}");
}

#[tokio::test]
async fn a_cluster_that_says_nothing_before_authentication_is_no_error() {
    let address = cluster(-1, brokers(&[])).await;
    let tap = Tap::start(to(&address)).unwrap();
    assert_eq!(tap.probe().await.unwrap(), []);
}

#[tokio::test]
async fn a_tap_that_would_connect_to_itself_says_so() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    for bootstrap in [format!("127.0.0.1:{free}"), format!("localhost:{free}")] {
        let (tap, watch) = Tap::watched(TapConfig { port: free, ..to(&bootstrap) }, 1 << 20).unwrap();
        let error = tap.probe().await.unwrap_err();
        assert!(matches!(&error, ProbeError::Itself(why) if why.contains("is where this tap listens")), "{error}");
        // Without a probe a client's connection ends, and does not go in circles.
        assert_eq!(Raw::to(&tap).await.read().await, None);
        assert!(closed(&watch).contains("is where this tap listens"));
        tap.shutdown().await;
    }
    // Of several brokers one is advertised where the tap listens: its clients would end up at any of them.
    for host in ["localhost", "127.0.0.1"] {
        let address = cluster(1, brokers(&[(1, host, i32::from(free)), (2, "kafka-2", 9092)])).await;
        let tap = Tap::start(TapConfig { port: free, ..to(&address) }).unwrap();
        let error = tap.probe().await.unwrap_err();
        assert!(matches!(&error, ProbeError::Itself(why) if why.contains("broker 1")), "{error}");
        tap.shutdown().await;
    }
}

#[tokio::test]
async fn a_single_broker_may_advertise_the_tap_by_any_name() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let advertised_host = Some("localhost".to_owned());
    let config = BrokerConfig { advertised_host, advertised_port: Some(free), ..BrokerConfig::default() };
    let broker = Broker::start(config).await.unwrap();
    let tap = Tap::start(TapConfig { port: free, ..to(&broker.address().to_string()) }).unwrap();
    assert_eq!(tap.probe().await.unwrap()[0].local, None);
    let metadata = Raw::to(&tap).await.ask(&MetadataRequest::default(), 12, 1).await;
    assert_eq!((&*metadata.brokers[0].host, metadata.brokers[0].port), ("localhost", i32::from(free)));
    assert!(!Raw::to(&tap).await.ask(&ApiVersionsRequest::default(), 0, 2).await.api_keys.is_empty());
}

#[tokio::test]
async fn connections_above_the_limit_are_refused_and_those_below_served() {
    let broker = broker().await;
    let tap = Tap::start(TapConfig { max_connections: Some(1), ..to(&broker.bootstrap()) }).unwrap();
    let mut first = Raw::to(&tap).await;
    first.ask(&ApiVersionsRequest::default(), 0, 1).await;
    assert_eq!(Raw::to(&tap).await.read().await, None);
    first.ask(&ApiVersionsRequest::default(), 0, 2).await;
}
