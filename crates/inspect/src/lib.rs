//! Any Kafka bytes made readable, offline.
//!
//! What a frame, a record, a log segment or a capture of a network holds, with the range of bytes each thing came from,
//! for the command line, the tap, and third-party tools. Nothing here opens a socket; input comes as bytes or as
//! [`std::io::Read`].
//!
//! ```
//! use std::time::Duration;
//!
//! use milena_inspect::conversation::{Conversation, Direction, FactReader};
//!
//! // Heartbeat version 0 of correlation id 7, without the size in front, and its response: error 27.
//! let request = b"\0\x0c\0\0\0\0\0\x07\xff\xff\0\x07readers\0\0\0\x03\0\x01m";
//! let response = b"\0\0\0\x07\0\x1b";
//!
//! let mut conversation = Conversation::new();
//! assert!(conversation.feed(Direction::Request, Duration::ZERO, request[..].into()).is_none());
//! let exchange = conversation.feed(Direction::Response, Duration::from_millis(3), response[..].into()).unwrap();
//!
//! assert_eq!(exchange.head().unwrap().api_key.name(), Some("Heartbeat"));
//! assert_eq!(exchange.latency(), Some(Duration::from_millis(3)));
//! assert_eq!(exchange.request_json()?["groupId"], "readers");
//! let facts = FactReader::default().read(&exchange);
//! assert_eq!(facts.errors[0].name(), Some("REBALANCE_IN_PROGRESS"));
//! # Ok::<(), milena_inspect::Unreadable>(())
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`conversation`] | the frames of one connection, each request with its response; their topics, errors and records |
//! | [`stream`] | frames in bytes of unknown origin, and what they may be |
//! | [`capture`] | pcap and pcapng files: packets to connections to exchanges, and back |
//! | [`trace`] | frames in a file, a line of JSON for each |
//! | [`topic`] | the records of Kafka's own topics |
//! | [`blob`] | what members of a group send each other through the broker |
//! | [`secret`] | messages without passwords, tokens and keys |
//! | [`record`] | batches and records as JSON |
//! | [`segment`] | log folders as JSON, with the meaning of the records of internal topics; files: `milena_storage` |
//! | [`entity`] | error codes, topics and the like inside of a message |
//! | [`text`] | bytes as text: hex, base64 or strings |
//! | [`time`] | times as text, to the microsecond |
//! | [`short`] | untrusted text, made safe for a terminal |
//! | [`Part`], [`Unreadable`] | a message within bytes, and why it cannot be read |

pub mod blob;
pub mod capture;
mod control;
pub mod conversation;
pub mod entity;
mod member;
mod part;
pub mod record;
pub mod secret;
pub mod segment;
mod short;
pub mod stream;
pub mod text;
pub mod time;
pub mod topic;
pub mod trace;

pub use part::{Part, Unreadable};
pub use short::short;
