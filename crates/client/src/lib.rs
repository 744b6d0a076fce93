//! An async Kafka client on tokio, without C.
//!
//! A [`Client`] is a handle to a cluster: it finds the brokers from a few bootstrap addresses, speaks to each at the
//! highest version that both sides have, follows partitions to their leaders, and opens connections again when they are
//! gone. It works with every broker from Kafka 0.10 on.
//!
//! ```no_run
//! use milena_client::{Acks, Client, ClientConfig, Codec, NewTopic, RangeOptions, Record, Start, Stop};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> milena_client::Result<()> {
//! let config = ClientConfig { bootstrap: vec!["localhost:9092".to_owned()], ..ClientConfig::default() };
//! let client = Client::connect(config).await?;
//! client.create_topic(NewTopic::new("letters", 1, 1)).await?;
//!
//! let records = vec![Record::new("from", "Vienna"), Record::new("to", "Prague").with_header("stamp", "red")];
//! let outcome = client.produce("letters", 0, Acks::All, Codec::Lz4, records).await?;
//! println!("written at offset {:?}", outcome.base_offset);
//!
//! let mut reader = client.fetch_range("letters", 0, Start::EARLIEST, Stop::End, RangeOptions::default()).await?;
//! while let Some(record) = reader.next().await? {
//!     println!("{} {:?} {:?}", record.offset, record.key, record.value);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | room | what |
//! |---|---|
//! | [`Client`], [`ClientConfig`] | the handle, and how to reach a cluster |
//! | [`Client::send`], [`Client::send_at`], [`Client::versions`], [`Target`] | any request of any API, to the broker of your choice |
//! | [`Client::metadata`], [`Cluster`], [`Broker`], [`Topic`], [`Partition`] | who is there and who leads what |
//! | [`Client::create_topic`], [`Client::create_topics`], [`Client::delete_topics`], [`NewTopic`], [`TopicOutcome`] | topics |
//! | [`Client::produce`], [`Acks`], [`ProduceOutcome`] | one batch to one partition |
//! | [`partition_for`] | the partition of a key, as Kafka's default partitioner chooses it |
//! | [`Client::fetch_range`], [`RangeReader`], [`RangeOptions`], [`Start`], [`Stop`] | records from one offset to another |
//! | [`Client::fetch`], [`FetchOptions`], [`Fetched`], [`Isolation`] | one Fetch, batches as they came |
//! | [`Client::offset`], [`Client::list_offsets`], [`OffsetSpec`], [`FoundOffset`] | offsets by end or time |
//! | [`Observer`], [`ObservedFrame`], [`FrameDirection`] | every frame as it passes |
//! | [`Error`], [`ConnectCause`] | what went wrong, where, and whether it may pass |
//! | [`Record`], [`Header`], [`Codec`] | from `milena-records` |
//! | [`Tls`], `TlsConfig`, `TlsError` | from `milena-transport`, with the feature `tls` |
//!
//! # Time
//!
//! Three limits hold, all in [`ClientConfig`]: one for a connection, one for a request, one for a whole operation with
//! its repetitions. [`Client::send`] tries once; everything else tries again as long as the error may pass and the
//! operation's time lasts, and then says what the last attempt ran into.
//!
//! # Cancellation
//!
//! Every future may be dropped at any time. A request that was sent stays sent, and its answer is dropped when it comes.

mod attempts;
mod cache;
mod client;
mod cluster;
mod config;
mod error;
mod fetch;
mod link;
mod metadata;
mod observer;
mod offsets;
mod partition;
mod produce;
mod range;
mod topics;

pub use client::{Client, Target};
pub use cluster::{BrokerNode, Cluster, Partition, Topic};
pub use config::ClientConfig;
pub use error::{ConnectCause, Error, Result};
pub use fetch::{FetchOptions, Fetched};
pub use milena_records::{Codec, Header, Record};
pub use milena_transport::{Tls, TlsConfig, TlsError};
pub use observer::{FrameDirection, ObservedFrame, Observer};
pub use offsets::{FoundOffset, Isolation, OffsetSpec};
pub use partition::partition_for;
pub use produce::{Acks, ProduceOutcome};
pub use range::{RangeOptions, RangeReader, Start, Stop};
pub use topics::{NewTopic, TopicOutcome};
