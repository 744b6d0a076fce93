//! Kafka's wire protocol: every API at every version ever released, every record format, and what stands on them.
//!
//! This crate is one dependency for all the others; each module is a crate that can also be used alone.
//!
//! | module | feature | what |
//! |---|---|---|
//! | `wire` | | bytes to primitive values and back: cursors, varints, tagged fields, errors with offset and path |
//! | `messages` | | a typed struct for each message; the version is an argument |
//! | `connection` | | client and server connections without I/O: frames, headers, correlation, negotiation |
//! | `records` | `records` | record batches and message sets, with the codecs |
//! | `client` | `client` | an async client on tokio |
//! | `broker` | `broker` | an embedded broker for tests |
//! | `tap` | `tap` | a proxy between clients and a cluster, with faults on demand |
//! | `inspect` | `inspect` | any Kafka bytes made readable |
//! | `storage` | `storage` | a broker's log folders: segments, indexes, snapshots, checkpoints |
//! | `schema` | `schema` | the protocol as data, and a codec between JSON and bytes |
//! | `transport` | `transport` | TCP and TLS connections on tokio |
//! | `legacy` | `legacy` | the vocabulary of kafka-python's old client |
//!
//! `records`, `client`, the codecs `gzip`, `snappy`, `lz4` and `zstd`, and `tls` are on by default. `zstd` is the C library
//! and `tls` uses ring, which is C in part; without default features, `zstd-pure` gives a build without C.
//!
//! A message at a version, to bytes and back:
//!
//! ```
//! use milena::messages::metadata::request::MetadataRequestTopic;
//! use milena::messages::{Message, MetadataRequest};
//!
//! let topic = MetadataRequestTopic { name: Some("letters".into()), ..Default::default() };
//! let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
//!
//! let bytes = request.to_bytes(12)?;
//! assert_eq!(MetadataRequest::from_bytes(bytes, 12)?, request);
//! # Ok::<(), milena::wire::Error>(())
//! ```
#![cfg_attr(
    feature = "client",
    doc = r#"
Produce and read back:

```no_run
use milena::client::{Acks, Client, ClientConfig, Codec, RangeOptions, Record, Start, Stop};

# async fn program() -> milena::client::Result<()> {
let client = Client::connect(ClientConfig { bootstrap: vec!["localhost:9092".into()], ..Default::default() }).await?;
client.produce("letters", 0, Acks::All, Codec::Zstd, vec![Record::new("from", "Milena")]).await?;

let mut reader = client.fetch_range("letters", 0, Start::EARLIEST, Stop::End, RangeOptions::default()).await?;
while let Some(record) = reader.next().await? {
    println!("{}: {:?}", record.offset, record.value);
}
# Ok(())
# }
```"#
)]
#![cfg_attr(
    all(feature = "client", feature = "broker"),
    doc = r#"
A test that needs no installation:

```
use milena::broker::{Broker, BrokerConfig};
use milena::client::{Client, ClientConfig, NewTopic};

# tokio::runtime::Runtime::new()?.block_on(async {
let broker = Broker::start(BrokerConfig::default()).await?;
let client = Client::connect(ClientConfig { bootstrap: vec![broker.bootstrap()], ..Default::default() }).await?;
let topic = client.create_topic(NewTopic::new("letters", 3, 1)).await?;
assert_eq!(topic.partitions.len(), 3);
# Ok::<(), Box<dyn std::error::Error>>(())
# })?;
# Ok::<(), Box<dyn std::error::Error>>(())
```"#
)]

// Modules of their own, not renamed crates: rustc would suggest paths such as `milena::milena_messages`, which do not exist.
#[cfg(feature = "broker")]
/// An embedded broker for tests, on tokio.
pub mod broker {
    #[doc(inline)]
    pub use milena_broker::*;
}
#[cfg(feature = "client")]
/// An async client on tokio.
pub mod client {
    #[doc(inline)]
    pub use milena_client::*;
}
/// Client and server connections without I/O.
pub mod connection {
    #[doc(inline)]
    pub use milena_connection::*;
}
#[cfg(feature = "inspect")]
/// Any Kafka bytes made readable, offline.
pub mod inspect {
    #[doc(inline)]
    pub use milena_inspect::*;
}
#[cfg(feature = "legacy")]
/// The vocabulary of kafka-python's old client.
pub mod legacy {
    #[doc(inline)]
    pub use milena_legacy::*;
}
/// A typed struct for each message; the version is an argument.
pub mod messages {
    #[doc(inline)]
    pub use milena_messages::*;
}
#[cfg(feature = "records")]
/// Record batches and message sets, with the codecs.
pub mod records {
    #[doc(inline)]
    pub use milena_records::*;
}
#[cfg(feature = "schema")]
/// The protocol as data, and a codec between JSON and bytes.
pub mod schema {
    #[doc(inline)]
    pub use milena_schema::*;
}
#[cfg(feature = "storage")]
/// A broker's log folders: segments, indexes, snapshots, checkpoints.
pub mod storage {
    #[doc(inline)]
    pub use milena_storage::*;
}
#[cfg(feature = "tap")]
/// A proxy between clients and a cluster, on tokio.
pub mod tap {
    #[doc(inline)]
    pub use milena_tap::*;
}
#[cfg(feature = "transport")]
/// Connections on tokio: TCP and TLS.
pub mod transport {
    #[doc(inline)]
    pub use milena_transport::*;
}
/// Bytes to primitive values and back.
pub mod wire {
    #[doc(inline)]
    pub use milena_wire::*;
}

/// The program in the README has to compile.
#[cfg(all(doctest, feature = "client"))]
#[doc = include_str!("../README.md")]
struct Readme;
