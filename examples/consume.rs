//! Reads every record of a topic, partition by partition.
//!
//!     cargo run -p milena --features broker --example consume -- HOST:PORT TOPIC
//!
//! Without arguments it starts a broker of its own and writes something to read.

use milena::broker::{Broker, BrokerConfig};
use milena::client::{Acks, Client, ClientConfig, Codec, NewTopic, RangeOptions, Record, Start, Stop};

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
        client.create_topic(NewTopic::new(&topic, 1, 1)).await?;
        let records = vec![Record::new("vienna", "Dear Milena"), Record::tombstone("prague")];
        client.produce(&topic, 0, Acks::All, Codec::None, records).await?;
    }

    let mut count = 0;
    for partition in client.topic(&topic).await?.partitions {
        // Up to the end as it is now. The reader ends there, or says why it did not get there.
        let options = RangeOptions::default();
        let mut reader = client.fetch_range(&topic, partition.index, Start::EARLIEST, Stop::End, options).await?;
        while let Some(record) = reader.next().await? {
            println!("{topic}-{} @ {}: {:?} = {:?}", partition.index, record.offset, record.key, record.value);
            count += 1;
        }
    }
    println!("{count} records");
    Ok(())
}
