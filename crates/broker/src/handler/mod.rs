//! What the broker serves: one module per API, named as its spec file, and the table of all of them.

mod api_versions;
mod create_topics;
mod delete_topics;
mod describe_cluster;
mod describe_configs;
mod each_once;
mod fetch;
mod find_coordinator;
mod init_producer_id;
mod list_offsets;
mod metadata;
mod offset_for_leader_epoch;
mod produce;
#[cfg(test)]
pub(crate) mod tests;

use bytes::Bytes;
use milena_connection::{ConnectionError, IncomingRequest, frame_response};
use milena_messages::{ApiKey, FetchRequest, Request, VersionRange};

use crate::cost::Cost;
use crate::state::State;

/// What comes of a request.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome<R> {
    Response(R),
    /// The client wants no response.
    Nothing,
    /// An error that the client learns of only when its connection is closed.
    Close(String),
    /// There is no response yet: wait for news, then [`finish`].
    Wait(Box<fetch::Waiting>),
}

impl<R> From<R> for Outcome<R> {
    fn from(response: R) -> Self {
        Self::Response(response)
    }
}

/// The frame of a response, in segments to write one after the other.
pub(crate) type Frame = Vec<Bytes>;

fn frame<R: Request>(
    request: &IncomingRequest,
    outcome: Outcome<R::Response>,
) -> Result<Outcome<Frame>, ConnectionError> {
    Ok(match outcome {
        Outcome::Response(response) => {
            Outcome::Response(frame_response(&response, request.api_version, request.correlation_id)?)
        }
        Outcome::Nothing => Outcome::Nothing,
        Outcome::Close(why) => Outcome::Close(why),
        Outcome::Wait(waiting) => Outcome::Wait(waiting),
    })
}

/// The response to a request that waited.
///
/// # Errors
/// The response has a value that its version cannot carry.
pub(crate) fn finish(
    state: &State,
    request: &IncomingRequest,
    waiting: &fetch::Waiting,
    cost: &mut Cost,
) -> Result<Outcome<Frame>, ConnectionError> {
    let response = waiting.finish(state, cost);
    if cost.needs_full() { Ok(Outcome::Nothing) } else { frame::<FetchRequest>(request, response.into()) }
}

macro_rules! apis {
    (|$state:ident, $request:ident, $version:ident, $cost:ident| { $($api:ident $min:literal - $max:literal $type:ident => $handle:expr;)* }) => {
        /// The APIs served, with their versions: what ApiVersions lists, and no other request comes here.
        pub(crate) const SERVED: &[(ApiKey, VersionRange)] =
            &[$((ApiKey::$api, VersionRange::new($min, $max))),*];

        /// Reads a request, handles it and writes the response. When `cost` needs a full budget afterwards, nothing was
        /// changed and the outcome means nothing.
        ///
        /// # Errors
        /// The request cannot be read; the connection has to be closed.
        pub(crate) fn handle(
            $state: &State,
            incoming: &IncomingRequest,
            $cost: &mut Cost,
        ) -> Result<Outcome<Frame>, ConnectionError> {
            let $version = incoming.api_version;
            match incoming.api_key {
                $(ApiKey::$api => {
                    let $request = incoming.decode::<milena_messages::$type>()?;
                    let outcome = $handle.into();
                    if $cost.needs_full() {
                        return Ok(Outcome::Nothing);
                    }
                    frame::<milena_messages::$type>(incoming, outcome)
                })*
                api => Err(ConnectionError::NotServed { api, version: $version, served: VersionRange::NONE }),
            }
        }
    };
}

// Left out on purpose: InitProducerId 6, which Kafka marks as unstable.
apis! { |state, request, version, cost| {
    PRODUCE 0-13 ProduceRequest => produce::handle(state, request, version, cost);
    FETCH 0-18 FetchRequest => fetch::handle(state, request, version, cost);
    LIST_OFFSETS 0-11 ListOffsetsRequest => list_offsets::handle(state, request, version, cost);
    METADATA 0-13 MetadataRequest => metadata::handle(state, request, version);
    FIND_COORDINATOR 0-6 FindCoordinatorRequest => find_coordinator::handle(state, request, version);
    API_VERSIONS 0-5 ApiVersionsRequest => api_versions::handle(state, request, version);
    CREATE_TOPICS 0-7 CreateTopicsRequest => create_topics::handle(state, request);
    DELETE_TOPICS 0-6 DeleteTopicsRequest => delete_topics::handle(state, request, version);
    INIT_PRODUCER_ID 0-5 InitProducerIdRequest => init_producer_id::handle(state, request);
    OFFSET_FOR_LEADER_EPOCH 0-4 OffsetForLeaderEpochRequest => offset_for_leader_epoch::handle(state, request);
    DESCRIBE_CONFIGS 0-4 DescribeConfigsRequest => describe_configs::handle(state, request, version, cost);
    DESCRIBE_CLUSTER 0-2 DescribeClusterRequest => describe_cluster::handle(state, request);
} }
