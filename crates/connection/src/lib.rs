//! Kafka connections without I/O: bytes in, events out; requests in, bytes out.
//!
//! [`ClientConnection`] and [`ServerConnection`] know frames, headers, correlation ids and version negotiation, and
//! nothing of sockets, clocks or runtimes. The owner of the socket moves the bytes; deadlines are values that the caller
//! compares with its own clock. How the input is cut into pieces makes no difference.
//!
//! ```
//! use milena_connection::{ClientConnectionConfig, ClientConnection, ClientEvent, ServerConnectionConfig, ServerConnection};
//! use milena_messages::{ApiKey, MetadataRequest, MetadataResponse, VersionRange};
//!
//! let mut client = ClientConnection::new(ClientConnectionConfig::default());
//! let mut server = ServerConnection::new(ServerConnectionConfig::serving([(ApiKey::METADATA, VersionRange::new(0, 12))]));
//!
//! let sent = client.send_at(&MetadataRequest::default(), 12, None)?;
//! for segment in client.take_output() {
//!     server.receive(&segment);
//! }
//!
//! let request = server.poll()?.expect("a whole request came in");
//! assert_eq!(request.api_key, ApiKey::METADATA);
//! server.respond(&request, &MetadataResponse::default())?;
//! for segment in server.take_output() {
//!     client.receive(&segment);
//! }
//!
//! let Some(ClientEvent::Response(response)) = client.poll()? else { panic!("a whole response came in") };
//! assert_eq!(response.correlation_id, sent);
//! assert_eq!(response.decode::<MetadataResponse>()?.controller_id, -1);
//! # Ok::<(), milena_connection::ConnectionError>(())
//! ```
//!
//! | room | what |
//! |---|---|
//! | [`ClientConnection`], [`ClientEvent`], [`IncomingResponse`] | the side that asks |
//! | [`ServerConnection`], [`IncomingRequest`] | the side that responds |
//! | [`FrameBuffer`] | length-prefixed frames out of a stream of bytes |
//! | [`frame_request`], [`frame_response`], [`read_request_header`] | one frame at a time |
//! | [`ApiVersions`] | what a broker speaks, and the version to speak with it |
//! | [`fault`] | rules that say which requests go wrong, and how |
//! | [`ConnectionError`], [`Foreign`] | what went wrong, and which other protocol it was |

mod client;
mod error;
pub mod fault;
mod foreign;
mod frame;
mod header;
mod server;
mod versions;

pub use client::{ClientConnection, ClientConnectionConfig, ClientEvent, IncomingResponse};
pub use error::{ConnectionError, Result};
pub use foreign::Foreign;
pub use frame::{DEFAULT_MAX_FRAME, FrameBuffer};
pub use header::{
    frame_request, frame_response, read_request_header, read_response_header, request_frame, response_body_start,
    response_frame, tagged_fields_end, with_size,
};
pub use server::{IncomingRequest, ServerConnection, ServerConnectionConfig};
pub use versions::{ApiVersions, api_versions_response_version, refuse_api_versions};
