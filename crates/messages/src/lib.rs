//! Every message of Apache Kafka at every version ever released, as typed structs.
//!
//! One struct carries the union of all versions, and the version is an argument:
//!
//! ```
//! use milena_messages::fetch::request::{FetchPartition, FetchTopic};
//! use milena_messages::{FetchRequest, Message};
//!
//! let request = FetchRequest {
//!     max_wait_ms: 500,
//!     topics: vec![FetchTopic {
//!         topic: "letters".into(),
//!         partitions: vec![FetchPartition { fetch_offset: 7, ..Default::default() }],
//!         ..Default::default()
//!     }],
//!     ..Default::default()
//! };
//! let bytes = request.to_bytes(12)?;
//! assert_eq!(FetchRequest::from_bytes(bytes, 12)?, request);
//! # Ok::<(), milena_wire::Error>(())
//! ```
//!
//! Values are set up with struct update syntax, always ending in `..Default::default()`: the fields are then named once
//! and in one place, nothing has to be generated for it, and a field that Kafka adds later breaks no one.
//!
//! A field that a version lacks has to hold its default, or writing fails, unless Kafka calls it ignorable. Reading gives
//! absent fields their defaults. Tagged fields that no version defines survive a round trip.
//!
//! | room | what |
//! |---|---|
//! | [`fetch`], [`produce`], … one module per API | [`request`](fetch::request) and [`response`](fetch::response) with the structs inside |
//! | [`group_coordinator`], [`metadata`], … one module per family | records in Kafka's own topics and files |
//! | [`Message`], [`Request`], [`Response`], [`TypedRecord`], [`Struct`] | what they have in common |
//! | [`ApiKey`], [`ErrorCode`] | open numbers with names |
//! | [`Versioned`] | a message tied to one version, checked at compile time |
//! | [`visit_request`], [`visit_message`] | from a key or name to a type |
//!
//! The structs are generated from `spec/` by `cargo xtask gen` and checked in.

mod api_key;
mod codec;
mod dispatch;
mod display;
mod error_code;
#[rustfmt::skip]
mod generated;
mod versioned;

pub use api_key::{ApiKey, UnknownApi};
pub use codec::{Message, Request, Response, Struct, TypedRecord};
pub use dispatch::{MessageVisitor, RequestVisitor};
pub use display::DisplayMessage;
pub use error_code::{ErrorCode, UnknownErrorCode};
pub use generated::dispatch::{MESSAGE_VERSIONS, MESSAGES, visit_message, visit_request};
pub use generated::*;
pub use milena_wire::{ByteString, Bytes, Int32s, UnknownTags, Uuid, VersionRange};
pub use versioned::Versioned;
