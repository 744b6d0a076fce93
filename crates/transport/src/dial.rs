use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpStream, lookup_host};

use crate::address::Address;
use crate::race::first_of;
use crate::stream::Stream;
use crate::tls::Tls;

/// Why no connection came about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DialError {
    /// The host name has no address.
    #[error("{0}")]
    Resolve(String),
    /// The operating system refused.
    #[error("{message}")]
    Io {
        /// Its kind.
        kind: io::ErrorKind,
        /// Its text.
        message: String,
    },
    /// The connection stands, but no agreement on TLS was found.
    #[error("no TLS: {0}")]
    Tls(String),
}

impl From<io::Error> for DialError {
    fn from(error: io::Error) -> Self {
        Self::Io { kind: error.kind(), message: error.to_string() }
    }
}

/// Connects to the first address of the host that answers, in the order of the resolver; a slow one is not waited for
/// alone. With `tls`, the TLS handshake is done when this returns. Small writes are not held back (`TCP_NODELAY`).
///
/// # Errors
/// The host is not known, no address takes the connection, or TLS fails. Of several addresses the last one's error is
/// given.
pub async fn dial(address: &Address, tls: Option<&Tls>) -> Result<Stream, DialError> {
    let resolve = |error: io::Error| DialError::Resolve(error.to_string());
    let found: Vec<SocketAddr> = lookup_host((address.host(), address.port())).await.map_err(resolve)?.collect();
    let attempts = found.into_iter().map(|at| async move { TcpStream::connect(at).await.map_err(DialError::from) });
    let stream = match first_of(attempts).await {
        Ok(stream) => stream,
        Err(mut errors) => {
            return Err(errors.pop().unwrap_or_else(|| DialError::Resolve("the name has no address".to_owned())));
        }
    };
    stream.set_nodelay(true)?;
    match tls {
        None => Ok(Stream::Plain(stream)),
        Some(tls) => tls.handshake(address, stream).await,
    }
}
