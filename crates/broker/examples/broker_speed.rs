//! Measures the embedded broker: see `benches/README.md`.

use std::fs;
use std::time::{Duration, Instant};

use milena_broker::{Broker, BrokerCluster, BrokerConfig, ClusterConfig};
use milena_records::Record;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const USAGE: &str = "usage: broker_speed serve [NODES] | startup | idle | memory";

#[tokio::main]
async fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("serve") => serve(args.get(1).map_or(Ok(1), |nodes| nodes.parse())?).await,
        Some("startup") => startup().await,
        Some("idle") => idle().await,
        Some("memory") => memory().await,
        _ => Err(USAGE.into()),
    }
}

fn config(nodes: usize) -> ClusterConfig {
    let broker = BrokerConfig { requests_kept: 0, ..BrokerConfig::default() };
    ClusterConfig { nodes, broker, ..ClusterConfig::default() }
}

/// Runs until Ctrl-C; the first line says where.
async fn serve(nodes: usize) -> Outcome {
    let cluster = BrokerCluster::start(config(nodes)).await?;
    println!("{} {}", std::process::id(), cluster.bootstrap());
    tokio::signal::ctrl_c().await?;
    Ok(())
}

/// The median time until all nodes accept connections.
async fn startup() -> Outcome {
    for nodes in [1, 3, 100] {
        let mut times = Vec::new();
        for _ in 0..21 {
            let begun = Instant::now();
            let cluster = BrokerCluster::start(config(nodes)).await?;
            times.push(begun.elapsed());
            cluster.shutdown().await;
        }
        times.sort();
        println!("start of {nodes} nodes: {:.2} ms", times[10].as_secs_f64() * 1000.0);
    }
    // Many at once, as tests that run side by side.
    let begun = Instant::now();
    let mut brokers = Vec::new();
    for _ in 0..100 {
        brokers.push(Broker::start(BrokerConfig::default()).await?);
    }
    println!("start of 100 brokers of one node: {:.2} ms", begun.elapsed().as_secs_f64() * 1000.0);
    Ok(())
}

/// The CPU time that three nodes with 10,000 partitions take while nobody asks.
async fn idle() -> Outcome {
    let cluster = BrokerCluster::start(config(3)).await?;
    cluster.create_topic("many", 10_000, 3)?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = cpu_ticks()?;
    tokio::time::sleep(Duration::from_secs(10)).await;
    println!("CPU in 10 s without clients: {} ms", (cpu_ticks()? - before) * 10);
    Ok(())
}

/// The memory of records of 100 bytes, in batches of 100.
async fn memory() -> Outcome {
    const RECORDS: usize = 2_000_000;
    let cluster = BrokerCluster::start(config(1)).await?;
    cluster.create_topic("a", 1, 1)?;
    let batch: Vec<Record> = (0..100).map(|_| Record::from_value(vec![b'x'; 100])).collect();
    let size = milena_records::encode(&batch, milena_records::Codec::None)?.len();
    let before = resident()?;
    for _ in 0..RECORDS / batch.len() {
        cluster.append("a", 0, &batch)?;
    }
    let taken = resident()? - before;
    let stored = size * (RECORDS / batch.len());
    println!(
        "memory per record of 100 bytes: {:.1} bytes, its bytes in the log are {:.1}: {:+.1} %",
        taken as f64 / RECORDS as f64,
        stored as f64 / RECORDS as f64,
        (taken as f64 / stored as f64 - 1.0) * 100.0
    );
    Ok(())
}

/// User and system time of this process, in hundredths of a second.
fn cpu_ticks() -> Result<u64, Box<dyn std::error::Error>> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    Ok(fields[11].parse::<u64>()? + fields[12].parse::<u64>()?)
}

/// Bytes of this process in memory.
fn resident() -> Result<usize, Box<dyn std::error::Error>> {
    let status = fs::read_to_string("/proc/self/statm")?;
    let pages: usize = status.split_whitespace().nth(1).unwrap_or_default().parse()?;
    Ok(pages * 4096)
}
