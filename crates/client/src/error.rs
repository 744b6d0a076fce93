use std::sync::Arc;
use std::time::Duration;

use milena_connection::ConnectionError;
use milena_messages::{ApiKey, ErrorCode};
use milena_transport::DialError;

/// The result of asking a cluster for something.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. Every text is one line, and names the address and the API where there is one.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No connection to a broker came about.
    #[error("cannot connect to {address}: {cause}")]
    Connect {
        /// `host:port` as configured, or as the cluster advertises it.
        address: Arc<str>,
        /// Why.
        #[source]
        cause: ConnectCause,
    },
    /// None of several addresses could be reached.
    #[error("no broker could be reached: {}", list(.0))]
    Unreachable(Vec<Error>),
    /// The connection ended while a request waited for its answer. Whether the broker acted on the request is not known.
    #[error("{address} closed the connection before it answered {api}{}", because(.cause))]
    Closed {
        /// The broker.
        address: Arc<str>,
        /// The request.
        api: ApiKey,
        /// What the operating system says, when it says more than that the stream ended.
        cause: Option<String>,
    },
    /// No answer in time. Whether the broker acted on the request is not known.
    #[error("{address} did not answer {api} within {after:?}")]
    Timeout {
        /// The broker.
        address: Arc<str>,
        /// The request.
        api: ApiKey,
        /// How long it was waited for.
        after: Duration,
    },
    /// The peer misbehaved, or a request cannot be written.
    #[error("{address}: {cause}")]
    Connection {
        /// The broker.
        address: Arc<str>,
        /// What the protocol machine says.
        #[source]
        cause: ConnectionError,
    },
    /// The broker answered with an error.
    #[error("{address} answered {api}{} with {code}{}", about(.topic, .partition), because(.message))]
    Broker {
        /// The broker.
        address: Arc<str>,
        /// The request.
        api: ApiKey,
        /// The code of the answer.
        code: ErrorCode,
        /// The topic, when the code is about one.
        topic: Option<Arc<str>>,
        /// The partition, when the code is about one.
        partition: Option<i32>,
        /// What the broker says beyond the code.
        message: Option<String>,
    },
    /// The broker, or the version of the API that it speaks, cannot do this.
    #[error("{address} cannot do this by {api}: {reason}")]
    Unsupported {
        /// The broker.
        address: Arc<str>,
        /// The request.
        api: ApiKey,
        /// What is missing.
        reason: String,
    },
    /// Records that came from the broker cannot be read.
    #[error("{topic}-{partition}, offsets {base_offset} to {last_offset}: {cause}")]
    Records {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
        /// Offset of the first record of the batch, as far as its header can be trusted.
        base_offset: i64,
        /// Offset of the last record of the batch, as far as its header can be trusted.
        last_offset: i64,
        /// What is wrong, and at which byte of the batches of that answer.
        #[source]
        cause: milena_records::Error,
    },
    /// Records that were there when reading began are no longer to be had: the log was cut back by an unclean election, or
    /// the replicas do not catch up.
    #[error(
        "{topic}-{partition} gives nothing at offset {position}: it reaches to {high_watermark}, and reached to {end} when \
         reading began"
    )]
    Truncated {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
        /// The offset wanted next.
        position: i64,
        /// Where the partition ends now.
        high_watermark: i64,
        /// Where it ended.
        end: i64,
    },
    /// The time for an operation ran out; the last attempt says why.
    #[error("gave up after {after:?} and {attempts} attempts: {last}")]
    Deadline {
        /// How long it was tried.
        after: Duration,
        /// How many times.
        attempts: u32,
        /// What went wrong the last time.
        #[source]
        last: Box<Error>,
    },
    /// The caller asked for something that cannot be.
    #[error("{0}")]
    Invalid(String),
}

/// Why no connection came about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectCause {
    /// The host name has no address.
    #[error("{0}")]
    Resolve(String),
    /// The operating system refused.
    #[error("{message}")]
    Io {
        /// Its kind.
        kind: std::io::ErrorKind,
        /// Its text.
        message: String,
    },
    /// The connection stands, but no agreement on TLS was found.
    #[error("no TLS: {0}")]
    Tls(String),
    /// The connection took too long.
    #[error("no connection within {0:?}")]
    Timeout(Duration),
    /// The peer accepted the connection and closed it when it was asked for its versions.
    #[error("the peer closed the connection when asked for its versions: {OLD}; a port that wants TLS may do so too")]
    ClosedOnApiVersions,
    /// The peer accepted the connection and did not answer in time when it was asked for its versions.
    #[error("the peer did not say within {0:?} which versions it speaks: {OLD}")]
    SilentOnApiVersions(Duration),
}

impl From<DialError> for ConnectCause {
    fn from(error: DialError) -> Self {
        match error {
            DialError::Resolve(why) => Self::Resolve(why),
            DialError::Io { kind, message } => Self::Io { kind, message },
            DialError::Tls(why) => Self::Tls(why),
            error => Self::Io { kind: std::io::ErrorKind::Other, message: error.to_string() },
        }
    }
}

/// What brokers without ApiVersions are.
const OLD: &str = "Kafka before 0.10 does not know ApiVersions, and cannot be spoken to yet";

impl Error {
    /// Whether trying the same again can help: the network failed, or the broker says that its trouble will pass.
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Closed { .. } | Self::Timeout { .. } => true,
            Self::Unreachable(all) => all.iter().any(Self::is_retriable),
            Self::Broker { code, .. } => code.is_retriable(),
            Self::Deadline { last, .. } => last.is_retriable(),
            Self::Connection { .. }
            | Self::Unsupported { .. }
            | Self::Records { .. }
            | Self::Invalid(_)
            | Self::Truncated { .. } => false,
        }
    }

    /// The error code of the broker, when it gave one.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Broker { code, .. } => Some(*code),
            Self::Deadline { last, .. } => last.code(),
            _ => None,
        }
    }

    /// Whether the request may have been acted on although no answer says so.
    pub(crate) fn is_uncertain(&self) -> bool {
        match self {
            Self::Closed { .. } | Self::Timeout { .. } => true,
            Self::Broker { code, .. } => {
                matches!(*code, ErrorCode::REQUEST_TIMED_OUT | ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND)
            }
            _ => false,
        }
    }

    /// Whether what is known of leaders and controller may be out of date.
    pub(crate) fn needs_refresh(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Closed { .. } | Self::Timeout { .. } | Self::Unreachable(_) => true,
            Self::Broker { code, .. } => code.needs_refresh() || *code == ErrorCode::NOT_CONTROLLER,
            _ => false,
        }
    }

    /// Whether the broker knows no such topic.
    pub(crate) fn is_unknown_topic(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION | ErrorCode::UNKNOWN_TOPIC_ID))
    }

    /// An io error while connecting.
    pub(crate) fn connect_io(address: &Arc<str>, error: &std::io::Error) -> Self {
        let cause = ConnectCause::Io { kind: error.kind(), message: error.to_string() };
        Self::Connect { address: Arc::clone(address), cause }
    }

    /// An error while dialling.
    pub(crate) fn dial(address: &Arc<str>, error: DialError) -> Self {
        Self::Connect { address: Arc::clone(address), cause: error.into() }
    }

    /// An error of the machine; a version that is not there becomes [`Error::Unsupported`].
    pub(crate) fn machine(address: &Arc<str>, cause: ConnectionError) -> Self {
        let address = Arc::clone(address);
        match cause {
            ConnectionError::NoCommonVersion { api, ours, theirs } => {
                let reason = if theirs.is_empty() {
                    "the broker does not know this API".to_owned()
                } else {
                    format!("no common version, this side speaks {ours}, the broker {theirs}")
                };
                Self::Unsupported { address, api, reason }
            }
            cause => Self::Connection { address, cause },
        }
    }
}

fn list(errors: &[Error]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

fn because(message: &Option<String>) -> String {
    message.as_ref().map(|message| format!(": {message}")).unwrap_or_default()
}

fn about(topic: &Option<Arc<str>>, partition: &Option<i32>) -> String {
    match (topic, partition) {
        (Some(topic), Some(partition)) => format!(" for {topic}-{partition}"),
        (Some(topic), None) => format!(" for {topic}"),
        _ => String::new(),
    }
}
