//! A proxy between Kafka clients and a cluster that shows what passes, and can break it on purpose.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use milena_tap::{Event, Tap, TapConfig};
//! use milena_transport::Address;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = TapConfig { bootstrap: vec![Address::parse("kafka-1:9092")?], ..TapConfig::default() };
//! let (tap, watch) = Tap::watched(config, 64 << 20)?;
//! println!("bootstrap.servers={}", tap.address());
//! // On a thread of its own, which may be slow.
//! let watcher = std::thread::spawn(move || {
//!     while let Ok(event) = watch.next(Duration::MAX) {
//!         if let Event::Exchange(exchange) = event {
//!             println!("{:?} {:?}", exchange.head(), exchange.latency());
//!         }
//!     }
//! });
//! # tokio::time::sleep(Duration::from_secs(60)).await;
//! tap.shutdown().await;
//! # let _ = watcher.join();
//! # Ok(())
//! # }
//! ```
//!
//! | item | what |
//! |---|---|
//! | [`Tap`], [`TapConfig`] | the proxy and its setup |
//! | [`Tap::probe`], [`Node`], [`ProbeError`] | a first look at the cluster |
//! | [`Watch`], [`Event`], [`Exchange`] | what happens at it |
//! | [`milena_inspect::conversation`] | what an [`Exchange`] is about, as JSON, and without secrets |
//! | [`PcapngWriter`](milena_inspect::capture::PcapngWriter) | for Wireshark |
//! | [`Cap`] | versions and features that clients do not get to see |
//! | [`fault`](milena_connection::fault), [`milena_fault`] | rules for requests that go wrong on purpose, and error responses |
//! | [`raise_open_file_limit`] | room for more connections |
//! | [`LEFT_ALONE`], [`REQUESTS_WITH_HOSTS`] | hosts that stay as they are |
//!
//! # What passes
//!
//! Frames pass unchanged, byte for byte, whatever is in them: unknown APIs, versions and tagged fields, bytes after a
//! message. The tap changes only hosts and ports of nodes in responses, to those of its listener for the node, and the lengths
//! around them. Which fields those are comes from the spec; a test checks that none is missing. Faults and caps change what
//! they say they change.
//!
//! # What it costs
//!
//! A frame is read to its end before it goes on, and its bytes are not copied; those of a small one are, for the watcher.
//! Each side is read only as fast as the other one takes: a connection holds no more than one frame of each direction and what
//! came with it in one read, and up to 16 MiB of responses that a fault delays.

mod cap;
mod config;
mod endpoint;
mod event;
mod header;
mod hub;
mod limit;
mod patch;
mod probe;
mod relay;
mod tap;

pub use cap::{Cap, CapError};
pub use config::TapConfig;
pub use endpoint::{LEFT_ALONE, REQUESTS_WITH_HOSTS};
pub use event::{Event, NoEvent, Watch};
pub use limit::raise_open_file_limit;
pub use milena_inspect::conversation::Exchange;
pub use probe::{Node, ProbeError};
pub use tap::{Tap, TapError};
