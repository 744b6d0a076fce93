//! Error responses for any Kafka request.
//!
//! An injector of errors in place of a broker has to put the code where clients look for it: in each partition of a
//! Produce response, in each group of an OffsetFetch response, or in the one place that a Heartbeat response has. Where that
//! is depends on the API, its version and the code. [`respond`] does it for all of them; the rules that say *which* request
//! fails are in `milena_connection::fault`.
//!
//! ```
//! use bytes::Bytes;
//! use milena_fault::{Injection, FaultedRequest, respond};
//! use milena_messages::{ApiKey, ErrorCode, HeartbeatRequest, Message as _};
//!
//! let body = HeartbeatRequest { group_id: "readers".into(), ..Default::default() }.to_bytes(1).unwrap();
//! let request = FaultedRequest { api: ApiKey::HEARTBEAT, version: 1, correlation_id: 7, body };
//! let Injection::Response(frame) = respond(&request, ErrorCode::REBALANCE_IN_PROGRESS, None) else { panic!() };
//! // Correlation id, throttle time, code.
//! assert_eq!(frame, Bytes::from_static(b"\0\0\0\x07\0\0\0\0\0\x1b"));
//! ```
//!
//! | item | what |
//! |---|---|
//! | [`respond`], [`FaultedRequest`], [`Injection`] | the error response to a request |
//! | [`respond_within`] | the same for some topics and partitions of a request |
//! | [`subject()`], [`TopicNames`] | what a request is about, for rules that name topics or groups |
//! | [`Distortion`] | a throttle time, garbled bytes, a response that ends too early |
//! | [`Patch`] | an error put into the response that a broker gave |
//! | [`Sessions`], [`Members`], [`Opening`] | which partitions a fetch session or share session has (KIP-227, KIP-932) |
//! | [`level`], [`Level`], [`has_place`], [`without_place`] | where a code stands |
//!
//! No input or output, no clock: bytes in, bytes out.

mod build;
mod distortion;
mod level;
mod patch;
mod respond;
mod session;
mod subject;
mod value;

pub use distortion::Distortion;
pub use level::{Level, level};
pub use patch::{Patch, Patched};
pub use respond::{FaultedRequest, Injection, has_place, respond, respond_within, without_place};
pub use session::{Members, Opening, Sessions};
pub use subject::{TopicNames, subject};
