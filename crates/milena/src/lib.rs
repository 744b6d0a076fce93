//! Kafka's wire protocol: every API at every version ever released, every record format, and what stands on them.
//!
//! This crate is one dependency for all the others; each room below is a crate that can also be used alone.
//!
//! | room | feature | what |
//! |---|---|---|
//! | [`wire`] | | bytes to primitive values and back: cursors, varints, tagged fields, errors with offset and path |
//! | [`messages`] | | a typed struct for each message; the version is an argument |
//! | [`connection`] | | client and server connections without I/O: frames, headers, correlation, negotiation |
#![cfg_attr(
    feature = "records",
    doc = "| [`records`] | `records` | record batches and message sets, with the codecs |"
)]
#![cfg_attr(
    not(feature = "records"),
    doc = "| `records` | `records` | record batches and message sets, with the codecs |"
)]
#![cfg_attr(feature = "client", doc = "| [`client`] | `client` | an async client on tokio |")]
#![cfg_attr(not(feature = "client"), doc = "| `client` | `client` | an async client on tokio |")]
#![cfg_attr(feature = "broker", doc = "| [`broker`] | `broker` | an embedded broker for tests |")]
#![cfg_attr(not(feature = "broker"), doc = "| `broker` | `broker` | an embedded broker for tests |")]
#![cfg_attr(feature = "storage", doc = "| [`storage`] | `storage` | log folders: segments, indexes, checkpoints |")]
#![cfg_attr(not(feature = "storage"), doc = "| `storage` | `storage` | log folders: segments, indexes, checkpoints |")]
#![cfg_attr(
    feature = "schema",
    doc = "| [`schema`] | `schema` | the protocol as text, and a codec between JSON and bytes |"
)]
#![cfg_attr(
    not(feature = "schema"),
    doc = "| `schema` | `schema` | the protocol as text, and a codec between JSON and bytes |"
)]
#![cfg_attr(feature = "legacy", doc = "| [`legacy`] | `legacy` | the vocabulary of kafka-python's old client |")]
#![cfg_attr(not(feature = "legacy"), doc = "| `legacy` | `legacy` | the vocabulary of kafka-python's old client |")]
//!
//! `records` and `client` are there unless default features are turned off.
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

#[cfg(feature = "broker")]
pub use milena_broker as broker;
#[cfg(feature = "client")]
pub use milena_client as client;
pub use milena_connection as connection;
#[cfg(feature = "legacy")]
pub use milena_legacy as legacy;
pub use milena_messages as messages;
#[cfg(feature = "records")]
pub use milena_records as records;
#[cfg(feature = "schema")]
pub use milena_schema as schema;
#[cfg(feature = "storage")]
pub use milena_storage as storage;
pub use milena_wire as wire;

/// The program in the README has to compile.
#[cfg(all(doctest, feature = "client"))]
#[doc = include_str!("../README.md")]
struct Readme;
