//! Writes records to a topic.
//!
//!     cargo run -p milena --features broker --example produce -- HOST:PORT TOPIC
//!
//! Without arguments it starts a broker of its own, so that there is something to write to.

use milena::broker::{Broker, BrokerConfig};
use milena::client::{Acks, Client, ClientConfig, Codec, NewTopic, Record, partition_for};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let own = Broker::start(BrokerConfig::default()).await?;
    let (bootstrap, topic) = match (args.next(), args.next()) {
        (Some(bootstrap), Some(topic)) => (bootstrap, topic),
        _ => (own.bootstrap(), "letters".to_owned()),
    };
    let client =
        Client::connect(ClientConfig { bootstrap: vec![bootstrap.clone()], ..ClientConfig::default() }).await?;
    if bootstrap == own.bootstrap() {
        client.create_topic(NewTopic::new(&topic, 3, 1)).await?;
    }
    let partitions = client.topic(&topic).await?.partitions.len();

    for (key, text) in [("vienna", "Dear Milena"), ("prague", "Dear Franz"), ("vienna", "I am waiting")] {
        // A key stays in one partition, the one that Java's producer would choose too.
        let partition = partition_for(key.as_bytes(), partitions as i32);
        let record = Record::new(key, text).with_header("lang", "en");
        let written = client.produce(&topic, partition, Acks::All, Codec::Lz4, vec![record]).await?;
        println!("{key} -> {topic}-{partition} at offset {:?}", written.base_offset);
    }
    Ok(())
}
