//! A proxy between a client and a cluster that shows each request, and makes one of them fail.
//!
//!     cargo run -p milena --features broker,tap --example proxy

use std::time::Duration;

use milena::broker::{Broker, BrokerConfig};
use milena::client::{Acks, Client, ClientConfig, Codec, NewTopic, Record};
use milena::inspect::conversation::{FactReader, Line};
use milena::tap::{Event, Tap, TapConfig};
use milena::transport::Address;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let broker = Broker::start(BrokerConfig::default()).await?;
    let config = TapConfig {
        bootstrap: vec![Address::parse(&broker.bootstrap())?],
        faults: vec!["produce@1: error NOT_LEADER_OR_FOLLOWER".parse()?],
        ..TapConfig::default()
    };
    // At most 16 MiB of frames wait for the watcher; what it is too slow for is counted and left out.
    let (tap, watch) = Tap::watched(config, 16 << 20)?;
    let watcher = std::thread::spawn(move || {
        let (mut facts, mut requests) = (FactReader::default(), 0);
        while let Ok(event) = watch.next(Duration::MAX) {
            if let Event::Exchange(exchange) = event {
                // The line that `milena tap` prints.
                let line = Line::new(&exchange, &facts.read(&exchange));
                println!("{}", line.render(None, |_, text| text.to_owned()));
                requests += 1;
            }
        }
        requests
    });

    // The client only knows the tap, and so it does after it asked for the brokers' addresses.
    let config = ClientConfig { bootstrap: vec![tap.address().to_string()], ..ClientConfig::default() };
    let client = Client::connect(config).await?;
    client.create_topic(NewTopic::new("letters", 1, 1)).await?;
    // The first attempt gets the error, and the client tries again.
    client.produce("letters", 0, Acks::All, Codec::None, vec![Record::new("from", "Vienna")]).await?;

    tap.shutdown().await;
    let requests = watcher.join().map_err(|_| "the watcher panicked")?;
    assert!(requests > 2, "{requests} requests were seen");
    Ok(())
}
