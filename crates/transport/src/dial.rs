use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpStream, lookup_host};

use crate::address::Address;
use crate::race::first_of;
use crate::stream::Stream;
use crate::tls::Tls;

/// Why no connection was made.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DialError {
    /// The host name has no address.
    #[error("the host name cannot be resolved")]
    Resolve(#[source] Arc<io::Error>),
    /// The operating system refused the connection, or the network did.
    #[error(transparent)]
    Io(Arc<io::Error>),
    /// The TCP connection was made, but the TLS handshake failed.
    #[error("no TLS")]
    Tls(#[source] HandshakeError),
}

/// Why a TLS handshake failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The certificate of the peer is not valid here: unknown authority, another name, expired.
    #[error("the certificate of the peer is not accepted")]
    Certificate(#[source] Arc<io::Error>),
    /// The host cannot be a name in a certificate.
    #[error("`{0}` cannot be a name in a certificate")]
    Name(String),
    /// The peer responded with bytes that are not TLS.
    #[error("the peer does not speak TLS: this may be its plain port")]
    NotTls,
    /// The peer closed the connection during the handshake.
    #[error("the peer closed the connection during the handshake; a plain port of Kafka does so")]
    Closed,
    /// The peer refused with an alert of TLS, for example because it wants a client certificate.
    #[error("the peer refused the handshake")]
    Refused(#[source] Arc<io::Error>),
    /// Anything else.
    #[error(transparent)]
    Other(Arc<io::Error>),
}

impl HandshakeError {
    /// Whether the same handshake may succeed later. What depends on certificates and configuration does not change by
    /// itself; a connection that broke may have met a broker that was just starting.
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::Closed => true,
            Self::Other(error) => error.kind() != io::ErrorKind::InvalidData,
            Self::Certificate(_) | Self::Name(_) | Self::NotTls | Self::Refused(_) => false,
        }
    }
}

impl DialError {
    /// Whether the same attempt may succeed later.
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::Resolve(_) | Self::Io(_) => true,
            Self::Tls(error) => error.is_retriable(),
        }
    }
}

impl From<io::Error> for DialError {
    fn from(error: io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}

/// Connects to the first address of the host that accepts, in the order of the resolver; after 250 ms the next address
/// is tried as well. With `tls`, the TLS handshake is done when this returns. Small writes are sent at once (`TCP_NODELAY`).
///
/// # Errors
/// The host is not known, no address takes the connection, or TLS fails. Of several addresses the last one's error is
/// given.
pub async fn dial(address: &Address, tls: Option<&Tls>) -> Result<Stream, DialError> {
    let resolve = |error: io::Error| DialError::Resolve(Arc::new(error));
    let found: Vec<SocketAddr> = lookup_host((address.host(), address.port())).await.map_err(resolve)?.collect();
    let attempts = found.into_iter().map(|at| async move { TcpStream::connect(at).await.map_err(DialError::from) });
    let stream = match first_of(attempts).await {
        Ok(stream) => stream,
        Err(mut errors) => {
            let nothing = || resolve(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
            return Err(errors.pop().unwrap_or_else(nothing));
        }
    };
    stream.set_nodelay(true)?;
    match tls {
        None => Ok(Stream::Plain(stream)),
        Some(tls) => tls.handshake(address, stream).await.map_err(DialError::Tls),
    }
}
