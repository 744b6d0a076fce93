use std::sync::Arc;
use std::time::Duration;

use milena_connection::ConnectionError;
use milena_messages::{ApiKey, ErrorCode};
use milena_transport::DialError;

use super::cause::{CloseCause, ConnectCause, Misbehaviour, Origin, StallReason};
use super::text;

/// The result of a call to a cluster.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
///
/// `Display` is one line and names the broker and the API where there is one. It does not repeat the causes: print the chain
/// of [`source`](std::error::Error::source), or use [`Report`](crate::Report) for one line with everything.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No connection to a broker was made.
    #[error("cannot connect to {address}{origin}")]
    Connect {
        /// `host:port`.
        address: Arc<str>,
        /// Where the address comes from.
        origin: Origin,
        /// Why.
        #[source]
        cause: ConnectCause,
    },
    /// None of several addresses could be reached.
    #[error("no broker could be reached: {}", text::list(.0))]
    Unreachable(Vec<Error>),
    /// The connection ended while a request waited for its response.
    #[error("{address} closed the connection before it responded to {api}")]
    Closed {
        /// The broker.
        address: Arc<str>,
        /// The request.
        api: ApiKey,
        /// Whether a byte of the request was written, so that the broker may have acted on it.
        sent: bool,
        /// How it ended.
        #[source]
        cause: CloseCause,
    },
    /// No response in time.
    #[error("{address} did not respond to {api} within {after:?}")]
    Timeout {
        /// The broker.
        address: Arc<str>,
        /// The request.
        api: ApiKey,
        /// How long the response was waited for. Time for which the broker asked to wait does not count.
        after: Duration,
        /// Whether a byte of the request was written, so that the broker may have acted on it.
        sent: bool,
    },
    /// The peer broke the protocol, or speaks another one.
    #[error("{address} does not follow the Kafka protocol")]
    Misbehaved {
        /// The peer.
        address: Arc<str>,
        /// What it did.
        #[source]
        cause: Misbehaviour,
    },
    /// A request cannot be written at the version that is spoken.
    #[error("the {api} request cannot be sent to {address}")]
    Unwritable {
        /// The broker.
        address: Arc<str>,
        /// The request.
        api: ApiKey,
        /// Why.
        #[source]
        cause: ConnectionError,
    },
    /// The broker responded with an error code.
    #[error("{address} responded to {api}{} with {code}{}", text::subject(.topic, .partition), text::detail(.message))]
    Broker {
        /// The broker.
        address: Arc<str>,
        /// The request.
        api: ApiKey,
        /// The code in the response.
        code: ErrorCode,
        /// The topic, when the code is about one.
        topic: Option<Arc<str>>,
        /// The partition, when the code is about one.
        partition: Option<i32>,
        /// What the broker says beyond the code.
        message: Option<String>,
    },
    /// The topic has no such partition.
    #[error("{topic} has no partition {partition}, {}", text::partitions(*.count))]
    NoSuchPartition {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
        /// How many partitions the topic has.
        count: usize,
    },
    /// The partition has no leader now: a broker is down, or an election is under way.
    #[error("{topic}-{partition} has no leader now")]
    NoLeader {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
    },
    /// An offset that the partition does not have.
    #[error("offset {offset} of {topic}-{partition} is out of range: {}", text::range(*.earliest, *.latest))]
    OffsetOutOfRange {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
        /// The offset that was asked for.
        offset: i64,
        /// The oldest offset of the partition; `None` when it could not be looked up.
        earliest: Option<i64>,
        /// The offset of the next record; `None` when it could not be looked up.
        latest: Option<i64>,
    },
    /// One record is larger than a broker, a topic or this client accepts.
    #[error(
        "record {record} for {topic}-{partition} is too large: a batch of this record alone has {size} bytes{}",
        text::limit(*.limit, .setting)
    )]
    RecordTooLarge {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
        /// Index of the record in the call, from 0.
        record: usize,
        /// Bytes of a batch with this record alone, as sent.
        size: usize,
        /// Largest batch accepted, in bytes; `None` when it could not be looked up.
        limit: Option<usize>,
        /// The setting that limits it, such as `max.message.bytes` of the topic.
        setting: &'static str,
    },
    /// The broker refuses one record, and would do so again.
    #[error("the broker refuses record {record} for {topic}-{partition} with {code}{}", text::detail(.message))]
    RecordRefused {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
        /// Index of the record in the call, from 0.
        record: usize,
        /// The code in the response.
        code: ErrorCode,
        /// What the broker says beyond the code.
        message: Option<String>,
    },
    /// A record cannot be written in the format of the broker, such as headers before Kafka 0.11.
    #[error("record {record} cannot be written")]
    RecordInvalid {
        /// Index of the record in the call, from 0.
        record: usize,
        /// Why.
        #[source]
        cause: milena_records::Error,
    },
    /// Some records of a call were written and others were not.
    #[error("{written} of {records} records were written")]
    PartlyWritten {
        /// Records that were written.
        written: usize,
        /// Records in the call.
        records: usize,
        /// Why the first of the others was not.
        #[source]
        first: Box<Error>,
    },
    /// The broker, or the version of the API that it speaks, cannot do this.
    #[error("{address} cannot do this with {api}: {reason}")]
    Unsupported {
        /// The broker.
        address: Arc<str>,
        /// The request.
        api: ApiKey,
        /// What is missing.
        reason: String,
    },
    /// Records that came from the broker cannot be read.
    #[error("{topic}-{partition}, offsets {base_offset} to {last_offset}")]
    Records {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
        /// Offset of the first record of the batch, as far as its header can be trusted.
        base_offset: i64,
        /// Offset of the last record of the batch, as far as its header can be trusted.
        last_offset: i64,
        /// What is wrong, and at which byte of the batches in that response.
        #[source]
        cause: milena_records::Error,
    },
    /// Records that existed when reading began no longer do: the log was cut back by an unclean election, or the replicas
    /// do not catch up.
    #[error(
        "{topic}-{partition} has nothing at offset {position}: it ends at {high_watermark} now, and ended at {end} when \
         reading began"
    )]
    Truncated {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
        /// The offset of the next record to read.
        position: i64,
        /// Where the partition ends now.
        high_watermark: i64,
        /// Where it ended.
        end: i64,
    },
    /// A reader makes no progress although records should follow.
    #[error(
        "no progress in {topic}-{partition} at offset {position} for {after:?}: {reason}; the partition ends at \
         {high_watermark}"
    )]
    Stalled {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: i32,
        /// The offset of the next record to read.
        position: i64,
        /// Where the partition ends, as the broker says.
        high_watermark: i64,
        /// How long.
        after: Duration,
        /// What the broker sends instead.
        reason: StallReason,
    },
    /// The time for an operation ran out.
    #[error("gave up after {after:?} and {}", text::attempts(*attempts))]
    Deadline {
        /// How long it was tried.
        after: Duration,
        /// How many times.
        attempts: u32,
        /// The failure of the last attempt that had its full time.
        #[source]
        last: Box<Error>,
    },
    /// The caller asked for something that is not possible.
    #[error("{0}")]
    Invalid(String),
}

impl Error {
    /// Whether the same call may succeed later: the network failed, or the broker reports a passing condition.
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::Closed { .. } | Self::Timeout { .. } | Self::NoLeader { .. } | Self::Stalled { .. } => true,
            Self::Connect { cause, .. } => cause.is_retriable(),
            Self::Unreachable(all) => all.iter().any(Self::is_retriable),
            Self::Broker { code, .. } => code.is_retriable(),
            Self::Deadline { last, .. } => last.is_retriable(),
            Self::PartlyWritten { first, .. } => first.is_retriable(),
            Self::Misbehaved { .. }
            | Self::Unwritable { .. }
            | Self::NoSuchPartition { .. }
            | Self::OffsetOutOfRange { .. }
            | Self::RecordTooLarge { .. }
            | Self::RecordRefused { .. }
            | Self::RecordInvalid { .. }
            | Self::Unsupported { .. }
            | Self::Records { .. }
            | Self::Truncated { .. }
            | Self::Invalid(_) => false,
        }
    }

    /// The error code of the broker, or the one that stands for this error in Kafka.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Broker { code, .. } | Self::RecordRefused { code, .. } => Some(*code),
            Self::Deadline { last, .. } => last.code(),
            Self::PartlyWritten { first, .. } => first.code(),
            Self::NoSuchPartition { .. } => Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
            Self::NoLeader { .. } => Some(ErrorCode::LEADER_NOT_AVAILABLE),
            Self::OffsetOutOfRange { .. } => Some(ErrorCode::OFFSET_OUT_OF_RANGE),
            Self::RecordTooLarge { .. } => Some(ErrorCode::MESSAGE_TOO_LARGE),
            _ => None,
        }
    }

    /// Whether the broker may have acted on a request that changes something, although no response confirms it. For a
    /// Produce: whether the records of the failed batch may be in the log.
    pub fn possibly_written(&self) -> bool {
        match self {
            Self::Closed { api, sent, .. } | Self::Timeout { api, sent, .. } => *sent && !text::only_reads(*api),
            Self::Broker { api, code, .. } => {
                let after = [ErrorCode::REQUEST_TIMED_OUT, ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND];
                after.contains(code) && !text::only_reads(*api)
            }
            Self::Misbehaved { cause: Misbehaviour::MissingPartition { api, .. }, .. } => !text::only_reads(*api),
            Self::Deadline { last, .. } => last.possibly_written(),
            Self::PartlyWritten { .. } => true,
            _ => false,
        }
    }

    /// Whether one record is at fault, so that every other record can still be written.
    pub fn is_record_fault(&self) -> bool {
        matches!(self, Self::RecordTooLarge { .. } | Self::RecordRefused { .. } | Self::RecordInvalid { .. })
    }

    /// Whether what is known of leaders and controller may be out of date.
    pub(crate) fn needs_refresh(&self) -> bool {
        match self {
            Self::Connect { .. }
            | Self::Closed { .. }
            | Self::Timeout { .. }
            | Self::Unreachable(_)
            | Self::NoLeader { .. } => true,
            Self::Broker { code, .. } => code.needs_refresh() || *code == ErrorCode::NOT_CONTROLLER,
            _ => false,
        }
    }

    /// Whether the broker knows no such topic.
    pub(crate) fn is_unknown_topic(&self) -> bool {
        match self {
            Self::Broker { code, .. } => {
                matches!(*code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION | ErrorCode::UNKNOWN_TOPIC_ID)
            }
            _ => false,
        }
    }

    /// Whether brokers cannot be reached or partitions have no leader: what a reader without an end waits for.
    pub(crate) fn is_outage(&self) -> bool {
        match self {
            Self::Deadline { last, .. } => last.is_outage(),
            error => error.is_retriable() && !error.is_unknown_topic(),
        }
    }

    /// An error of the machine. It says who is at fault.
    pub(crate) fn machine(address: &Arc<str>, api: ApiKey, cause: ConnectionError) -> Self {
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
            ConnectionError::Encode { .. } => Self::Unwritable { address, api, cause },
            cause => Self::Misbehaved { address, cause: Misbehaviour::Protocol(cause) },
        }
    }

    /// A failure to dial.
    pub(crate) fn dial(address: &Arc<str>, origin: Origin, error: DialError) -> Self {
        Self::Connect { address: Arc::clone(address), origin, cause: error.into() }
    }

    /// A response that leaves out a partition.
    pub(crate) fn missing(address: &Arc<str>, api: ApiKey, topic: &str, partition: i32) -> Self {
        let cause = Misbehaviour::MissingPartition { api, topic: topic.into(), partition };
        Self::Misbehaved { address: Arc::clone(address), cause }
    }
}
