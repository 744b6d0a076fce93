//! Runs a broker until Ctrl-C; prints where it is. An argument, `host:port`, says where to listen.

use milena_broker::{Broker, BrokerConfig};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut config = BrokerConfig::default();
    if let Some(address) = std::env::args().nth(1) {
        let (host, port) = address.rsplit_once(':').ok_or("host:port is expected")?;
        config.host = host.to_owned();
        config.port = port.parse()?;
    }
    let broker = Broker::start(config).await?;
    println!("{}", broker.bootstrap());
    tokio::signal::ctrl_c().await?;
    broker.shutdown().await;
    Ok(())
}
