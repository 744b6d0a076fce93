//! An async Kafka client on tokio, without C.
//!
//! A [`Client`] is a handle to a cluster: it finds the brokers from a few bootstrap addresses, uses with each the
//! highest version that both sides have, follows partitions to their leaders, and reopens connections that are gone. It works with every broker from Kafka 0.10 on.
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
//! | item | what |
//! |---|---|
//! | [`Client`], [`ClientConfig`] | the handle, and how to reach a cluster |
//! | [`Client::send`], [`Client::send_at`], [`Client::versions`], [`Target`], [`CoordinatorKind`] | any request of any API, to the broker of your choice |
//! | [`Client::metadata`], [`Client::topic`], [`Cluster`], [`BrokerNode`], [`Topic`], [`Partition`] | brokers, topics and leaders |
//! | [`Client::create_topic`], [`Client::create_topics`], [`Client::delete_topics`], [`NewTopic`], [`TopicOutcome`] | topics |
//! | [`Client::produce`], [`Acks`], [`ProduceOutcome`] | records to one partition |
//! | [`Client::produce_report`], [`ProduceReport`], [`BatchReport`] | the same, with the result of each record |
//! | [`partition_for`] | the partition of a key, as Kafka's default partitioner chooses it |
//! | [`Client::fetch_range`], [`RangeReader`], [`RangeOptions`], [`Start`], [`Stop`] | records from one offset to another |
//! | [`Client::fetch`], [`FetchOptions`], [`Fetched`], [`Isolation`] | one Fetch, batches as they came |
//! | [`Client::offset`], [`Client::list_offsets`], [`OffsetSpec`], [`FoundOffset`] | offsets by end or time |
//! | [`Observer`], [`ObservedFrame`], [`FrameDirection`] | every frame as it passes, throttling, retries |
//! | [`Error`], [`Report`] | what went wrong, where, and whether it may pass |
//! | [`ConnectCause`], [`Origin`], [`CloseCause`], [`Misbehaviour`], [`StallReason`] | the causes below an error |
//! | [`Record`], [`Header`], [`Codec`] | from `milena-records` |
//! | [`Tls`], [`TlsConfig`], [`TlsError`], [`HandshakeError`] | from `milena-transport`; usable with the feature `tls` |
//!
//! # Time
//!
//! Three limits hold, all in [`ClientConfig`]: one for a connection, one for a request, one for a whole operation with its
//! retries. [`Client::send`] tries once; everything else tries again as long as the error may pass and the operation's time
//! lasts, and then reports the last attempt that had its full time. Every call ends by its limit, whatever the peer does.
//!
//! # Throttling
//!
//! A broker that enforces a quota responds with the time for which the client has to stay silent (KIP-219). The connection
//! then sends nothing for that time, which counts towards none of the limits above; [`ClientConfig::max_throttle`] bounds
//! it. [`Observer::throttled`] and an event of `tracing` show it.
//!
//! # Cancellation
//!
//! Every future may be dropped at any time. A request that was sent stays sent, and its response is ignored.

mod call;
mod client;
mod config;
mod coordinator;
mod core;
mod error;
mod fetch;
mod lookup;
mod metadata;
mod net;
mod observer;
mod offsets;
mod partition;
mod produce;
mod range;
mod timing;
mod topics;

pub use call::Target;
pub use client::Client;
pub use config::ClientConfig;
pub use coordinator::CoordinatorKind;
pub use error::{CloseCause, ConnectCause, Error, Misbehaviour, Origin, Result, StallReason};
pub use fetch::{FetchOptions, Fetched};
pub use metadata::{BrokerNode, Cluster, Partition, Topic};
pub use milena_records::{Codec, Header, Record};
pub use milena_transport::{HandshakeError, Tls, TlsConfig, TlsError};
pub use milena_wire::Report;
pub use observer::{FrameDirection, ObservedFrame, Observer};
pub use offsets::{FoundOffset, Isolation, OffsetSpec};
pub use partition::partition_for;
pub use produce::{Acks, BatchReport, ProduceOutcome, ProduceReport};
pub use range::{RangeOptions, RangeReader, Start, Stop};
pub use topics::{NewTopic, TopicOutcome};
