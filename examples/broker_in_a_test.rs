//! A broker in the process of a test: no installation, nothing left behind.
//!
//!     cargo run -p milena --features broker --example broker_in_a_test

use milena::broker::{Broker, BrokerConfig};
use milena::client::{Client, ClientConfig, NewTopic};
use milena::messages::ApiKey;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // It takes a free port; give its address to the client under test.
    let broker = Broker::start(BrokerConfig::default()).await?;
    let config = ClientConfig { bootstrap: vec![broker.bootstrap()], ..ClientConfig::default() };

    let client = Client::connect(config).await?;
    let topic = client.create_topic(NewTopic::new("letters", 3, 1)).await?;
    assert_eq!(topic.partitions.len(), 3);

    // What the client sent can be looked at, request by request.
    let requests = broker.requests();
    assert!(requests.iter().any(|request| request.api_key() == ApiKey::CREATE_TOPICS));
    for request in &requests {
        println!("{} version {}", request.api_key(), request.api_version());
    }
    broker.shutdown().await;
    Ok(())
}
