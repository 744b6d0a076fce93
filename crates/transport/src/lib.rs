//! Connections of Kafka over tokio: TCP, and TLS by rustls.
//!
//! ```no_run
//! use milena_transport::{Address, Tls, TlsConfig, dial};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let tls = Tls::new(&TlsConfig { ca: Some("ca.pem".into()), ..TlsConfig::default() })?;
//! let stream = dial(&Address::parse("kafka-1:9093")?, Some(&tls)).await?;
//! # drop(stream);
//! # Ok(())
//! # }
//! ```
//!
//! | item | what |
//! |---|---|
//! | [`Address`] | host and port, with IPv6 in brackets |
//! | [`dial`], [`DialError`], [`HandshakeError`] | a connection, on the first address of the host that accepts |
//! | [`Stream`] | the connection, plain or TLS |
//! | [`Tls`], [`TlsConfig`], [`TlsError`] | which brokers to trust, and how to identify this side |
//! | [`ServerTls`], [`ServerTlsConfig`] | the same for the side that accepts connections |
//! | [`Segments`] | vectored output, without copying payloads together |
//! | [`MemoryNetwork`], [`MemoryListener`] | connections within a process, without sockets |
//! | [`first_of`] | attempts in parallel until one succeeds |
//!
//! Nothing here has a time limit of its own: callers add theirs, for example with `tokio::time::timeout`.

mod address;
mod dial;
mod memory;
mod race;
mod segments;
#[cfg(feature = "tls")]
mod server_tls;
mod server_tls_config;
mod stream;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;
mod tls_config;

pub use address::{Address, AddressError};
pub use dial::{DialError, HandshakeError, dial};
pub use memory::{MemoryListener, MemoryNetwork};
pub use race::first_of;
pub use segments::Segments;
#[cfg(feature = "tls")]
pub use server_tls::ServerTls;
pub use server_tls_config::ServerTlsConfig;
pub use stream::Stream;
#[cfg(not(feature = "tls"))]
pub use tls::ServerTls;
pub use tls::Tls;
pub use tls_config::{TlsConfig, TlsError};
