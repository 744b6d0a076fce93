//! Listeners with rules of their own, and logins.

use milena_broker::{BrokerCluster, BrokerConfig, ClusterConfig, ListenerConfig, SecurityConfig, SecurityProtocol};
use milena_messages::{FindCoordinatorRequest, MetadataRequest, MetadataResponse};

use super::client::Client;

fn config(security: SecurityConfig, nodes: usize) -> ClusterConfig {
    let broker = BrokerConfig { security, ..BrokerConfig::default() };
    ClusterConfig { nodes, broker, ..ClusterConfig::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_get_the_addresses_of_the_listener_that_they_came_by() {
    let outside = ListenerConfig {
        advertised_host: Some("kafka.test".to_owned()),
        advertised_port: Some(1000),
        ..ListenerConfig::new("OUTSIDE", SecurityProtocol::Plaintext)
    };
    let security = SecurityConfig {
        listeners: vec![ListenerConfig::new("INSIDE", SecurityProtocol::Plaintext), outside],
        ..SecurityConfig::default()
    };
    let cluster = BrokerCluster::start(config(security, 2)).await.unwrap();
    assert_eq!(cluster.bootstrap_of("PLAINTEXT").unwrap(), cluster.bootstrap());
    assert_eq!(cluster.bootstrap_of("OUTSIDE").unwrap(), "kafka.test:1000,kafka.test:1001");
    assert_eq!(cluster.bootstrap_of("NOWHERE"), None);
    for name in ["PLAINTEXT", "INSIDE"] {
        let bootstrap = cluster.bootstrap_of(name).unwrap();
        let mut client = Client::new(bootstrap.split(',').next().unwrap().parse().unwrap());
        let metadata: MetadataResponse = client.call(&MetadataRequest::default(), 9);
        let brokers: Vec<_> = metadata.brokers.iter().map(|node| format!("{}:{}", node.host, node.port)).collect();
        assert_eq!(brokers.join(","), bootstrap);
        let request = FindCoordinatorRequest { key: "g".into(), ..Default::default() };
        let found = client.call(&request, 3);
        assert!(bootstrap.contains(&format!("{}:{}", found.host, found.port)), "{found:?} of {bootstrap}");
    }
    // A node that comes back has all its ports.
    let before = cluster.bootstrap_of("INSIDE");
    cluster.kill_node(2).await.unwrap();
    assert_ne!(cluster.bootstrap_of("INSIDE"), before);
    cluster.start_node(2).await.unwrap();
    assert_eq!(cluster.bootstrap_of("INSIDE"), before);
    Client::new(before.unwrap().split(',').next_back().unwrap().parse().unwrap());
}
