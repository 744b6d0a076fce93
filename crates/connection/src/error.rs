use milena_messages::{ApiKey, VersionRange};

use crate::foreign::Foreign;

/// The result of driving a connection.
pub type Result<T, E = ConnectionError> = std::result::Result<T, E>;

/// What went wrong on a connection. After an error of `poll` the connection is of no further use.
///
/// `Display` does not repeat the source: print the chain, or use `milena_wire::Report` for one line with everything.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The peer speaks something else.
    #[error("the peer does not speak Kafka: its first bytes are {0}; {hint}", hint = .0.hint())]
    Foreign(Foreign),
    /// A frame whose size cannot be.
    #[error("the peer sent a frame of {size} bytes, which cannot be; the stream is out of step or not Kafka's")]
    NegativeFrame {
        /// What stood in place of the size.
        size: i32,
    },
    /// A frame larger than this side takes.
    #[error("the peer sent a frame of {size} bytes, at most {limit} are taken")]
    FrameTooLarge {
        /// The size that the frame states.
        size: usize,
        /// The limit of this side.
        limit: usize,
    },
    /// A frame that is not what the protocol says.
    #[error("cannot read {what}")]
    Decode {
        /// `header of a request`, or API and version.
        what: String,
        /// Where and why.
        #[source]
        error: milena_wire::Error,
    },
    /// A message that cannot be written.
    #[error("cannot write {what}")]
    Encode {
        /// API and version.
        what: String,
        /// Where and why.
        #[source]
        error: milena_wire::Error,
    },
    /// A response to something that was not asked, or not next.
    #[error("the peer responded to correlation id {found}, but {}", match .expected {
        Some(id) => format!("{id} is the next one to get a response"),
        None => "nothing waits for a response".to_owned(),
    })]
    CorrelationId {
        /// The oldest id that waits for a response.
        expected: Option<i32>,
        /// The id in the response.
        found: i32,
    },
    /// A request at a version that is not served; as in Kafka the connection then closes without a response.
    #[error("{api} version {version} is not served here, {served} are")]
    NotServed {
        /// The API of the request.
        api: ApiKey,
        /// Its version.
        version: i16,
        /// What is served of this API.
        served: VersionRange,
    },
    /// No version of the API is in both ranges.
    #[error("no common version of {api}: this side speaks {ours}, the broker {theirs}")]
    NoCommonVersion {
        /// The API.
        api: ApiKey,
        /// What this side speaks.
        ours: VersionRange,
        /// What the broker speaks; none when it does not know the API.
        theirs: VersionRange,
    },
    /// The broker did not say which versions it speaks, or not yet.
    #[error("the broker has not said yet which versions it speaks")]
    NotNegotiated,
    /// The broker refused ApiVersions with this code.
    #[error("the broker refused to say which versions it speaks: {0}")]
    NegotiationRefused(milena_messages::ErrorCode),
    /// A response of one API was read, or written, as one of another.
    #[error("{found} is not {wanted}")]
    WrongApi {
        /// What the caller named.
        wanted: ApiKey,
        /// What it is.
        found: ApiKey,
    },
    /// A response to a request that does not wait for one.
    #[error("correlation id {0} waits for no response")]
    NoSuchRequest(i32),
}
