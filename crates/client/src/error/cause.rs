//! The causes below an [`Error`](crate::Error).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use milena_connection::ConnectionError;
use milena_transport::{DialError, HandshakeError};

/// Where an address comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// The caller named it: as a bootstrap address or as [`Target::Address`](crate::Target::Address).
    Configured,
    /// The cluster advertises it for the broker with this node id.
    Advertised(i32),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configured => Ok(()),
            Self::Advertised(node) => write!(f, ", the address that the cluster advertises for node {node}"),
        }
    }
}

/// Why no connection was made.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectCause {
    /// The host name has no address.
    #[error("the host name cannot be resolved")]
    Resolve(#[source] Arc<std::io::Error>),
    /// The operating system refused the connection, or the network did.
    #[error(transparent)]
    Io(Arc<std::io::Error>),
    /// The TCP connection was made, but the TLS handshake failed.
    #[error("no TLS")]
    Tls(#[source] HandshakeError),
    /// The connection took too long.
    #[error("no connection within {0:?}")]
    Timeout(Duration),
    /// The peer accepted the connection and closed it at the ApiVersions request.
    #[error(
        "the peer closed the connection at the ApiVersions request; a port that expects TLS does so, and Kafka before 0.10, \
         which is not supported"
    )]
    ClosedOnApiVersions,
    /// The peer accepted the connection and sent nothing.
    #[error(
        "the peer accepted the connection but did not respond to ApiVersions within {0:?}; a stopped or overloaded broker \
         does so, and a port that is not Kafka's"
    )]
    SilentOnApiVersions(Duration),
}

impl ConnectCause {
    /// Whether the same attempt may succeed later.
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::Tls(error) => error.is_retriable(),
            Self::Resolve(_)
            | Self::Io(_)
            | Self::Timeout(_)
            | Self::ClosedOnApiVersions
            | Self::SilentOnApiVersions(_) => true,
        }
    }
}

impl From<DialError> for ConnectCause {
    fn from(error: DialError) -> Self {
        match error {
            DialError::Resolve(error) => Self::Resolve(error),
            DialError::Io(error) => Self::Io(error),
            DialError::Tls(error) => Self::Tls(error),
            other => Self::Io(Arc::new(std::io::Error::other(other))),
        }
    }
}

/// How a connection ended while a request waited for its response.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CloseCause {
    /// The broker ended the stream.
    #[error("the broker ended the stream")]
    Eof,
    /// The broker ended the stream, and had responded to nothing but ApiVersions.
    #[error("it has responded to nothing but ApiVersions; a port that expects SASL does so")]
    EofAtFirstRequest,
    /// The operating system reports an error.
    #[error(transparent)]
    Io(Arc<std::io::Error>),
    /// Another request on the same connection got no response in time, so that the connection was given up.
    #[error("the connection was given up after another request timed out")]
    GivenUp,
}

/// What a peer did that the protocol does not allow.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Misbehaviour {
    /// Bytes that are not what the protocol requires.
    #[error(transparent)]
    Protocol(ConnectionError),
    /// A FindCoordinator response without an error, and without an address that can be used.
    #[error("the FindCoordinator response names no usable address for {key}")]
    NoCoordinator {
        /// The key that was asked for.
        key: Arc<str>,
    },
    /// A response without the partition that was asked for.
    #[error("the {api} response does not name {topic}-{partition}")]
    MissingPartition {
        /// The API.
        api: milena_messages::ApiKey,
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
    },
}

/// Why a reader makes no progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StallReason {
    /// The responses are empty although there should be records: remote storage that is slow, or a broker that is not well.
    Empty,
    /// The responses contain only records before the position.
    OldRecords,
    /// The responses end inside of the first batch, although the size limit of the request would allow more.
    CutBatch,
}

impl fmt::Display for StallReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the broker sends empty responses",
            Self::OldRecords => "the broker sends only records before this offset",
            Self::CutBatch => "the broker sends only a part of the batch there",
        })
    }
}
