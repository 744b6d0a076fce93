//! What fault rules do to one request and its response.

use bytes::{Bytes, BytesMut};
use milena_connection::fault::{Scope, Subject};
use milena_connection::{ConnectionError, IncomingRequest, frame_response};
use milena_fault::{Distortion, FaultedRequest, Injection, Members, Patch, Patched, respond_within, subject};
use milena_messages::metadata::request::MetadataRequestTopic;
use milena_messages::metadata::response::MetadataResponseTopic;
use milena_messages::{
    ApiKey, ErrorCode, FetchRequest, FetchResponse, Message as _, MetadataRequest, MetadataResponse, ProduceRequest,
    Request, RequestVisitor, visit_request,
};
use tokio::time::Instant;

use crate::cluster::node::Node;
use crate::cluster::{State, TopicRef};
use crate::fetch_session::Key;
use crate::handler::Frame;

/// What happens to the response of a request that is handled.
pub(super) enum Fault {
    None,
    /// It is held back until then; `None` is for ever.
    Until(Option<Instant>),
    /// Only so many bytes of it are sent.
    CutAfter(usize),
    /// An error is put into it.
    Patch(Box<Patch>),
    /// Its bytes are changed.
    Distort(Distortion),
    /// It leaves after the next one.
    Late,
}

/// Whether a response is held back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hold {
    No,
    Until(Instant),
    Forever,
}

impl Fault {
    pub(super) fn hold(&self) -> Hold {
        match self {
            Self::Until(Some(until)) => Hold::Until(*until),
            Self::Until(None) => Hold::Forever,
            _ => Hold::No,
        }
    }

    /// The response as it is sent.
    pub(super) fn change(self, frame: Frame, request: &IncomingRequest) -> Frame {
        match self {
            Self::None | Self::Until(_) | Self::Late => frame,
            Self::Distort(distortion) => {
                let changed = distortion.apply(request.api_key, request.api_version, &joined(&frame).slice(4..));
                changed.map_or(frame, with_size)
            }
            Self::CutAfter(bytes) => first_bytes(frame, bytes),
            Self::Patch(patch) => {
                // The size in front is made again.
                match patch.apply(&joined(&frame).slice(4..)) {
                    Patched::Changed(changed) => with_size(changed),
                    Patched::Unchanged => frame,
                }
            }
        }
    }
}

fn joined(frame: &Frame) -> Bytes {
    let mut whole = BytesMut::with_capacity(frame.iter().map(Bytes::len).sum());
    frame.iter().for_each(|segment| whole.extend_from_slice(segment));
    whole.freeze()
}

/// How a request fails.
pub(super) enum Refused {
    /// By this response; it is not handled.
    Response(Frame),
    /// By the end of its connection: it wants no response.
    Close,
    /// It is handled, in this form, and the error is put into its response.
    Patch(IncomingRequest, Box<Patch>),
    /// Its version has no field for the code.
    NoPlace,
}

/// Makes a request fail with a code.
///
/// # Errors
/// A Produce or Fetch request cannot be read.
pub(super) fn refuse(
    request: &IncomingRequest,
    code: ErrorCode,
    scope: &Scope,
    (state, node): (&State, &Node),
) -> Result<Refused, ConnectionError> {
    let faulted = faulted(request);
    let members = members(request, node)?.map(|members| members.after(&faulted));
    Ok(match respond_within(&faulted, code, members.as_ref(), scope, &|id| name_of(state, id)) {
        Injection::Response(_) | Injection::Patch(_) if wants_none(request)? => Refused::Close,
        Injection::Response(frame) => Refused::Response(with_size(frame)),
        Injection::Patch(patch) => {
            let mut handled = request.clone();
            if let Some(body) = patch.request_body() {
                handled.body = body.clone();
            }
            Refused::Patch(handled, patch)
        }
        Injection::NoPlace => Refused::NoPlace,
    })
}

fn faulted(request: &IncomingRequest) -> FaultedRequest {
    FaultedRequest {
        api: request.api_key,
        version: request.api_version,
        correlation_id: request.correlation_id,
        body: request.body.clone(),
    }
}

/// What a request is about. Nothing, when it cannot be read: its handler will say so.
pub(super) fn subject_of(request: &IncomingRequest, (state, node): (&State, &Node)) -> Subject {
    let faulted = faulted(request);
    let members = members(request, node).ok().flatten().map(|members| members.after(&faulted));
    subject(&faulted, members.as_ref(), &|id| name_of(state, id))
}

/// The name of a topic with this id.
fn name_of(state: &State, id: &str) -> Option<String> {
    Some(state.topic(TopicRef::Id(id.parse().ok()?))?.name.to_string())
}

/// The partitions of the fetch session that a request goes on with.
fn members(request: &IncomingRequest, node: &Node) -> Result<Option<Members>, ConnectionError> {
    if request.api_key != ApiKey::FETCH {
        return Ok(None);
    }
    let fetch = request.decode::<FetchRequest>()?;
    if fetch.session_epoch <= 0 {
        return Ok(None);
    }
    let keys = node.fetch_sessions.members(fetch.session_id);
    let by_id = matches!(keys.first(), Some(Key::Id(..)));
    let partitions = keys.into_iter().map(|key| match key {
        Key::Id(id, partition) => (id.to_string(), partition),
        Key::Name(name, partition) => (name.to_string(), partition),
    });
    Ok(Some(Members::of_fetch(by_id, partitions)))
}

/// The session in a Fetch response as it is sent; `None` when it has none.
pub(super) fn session_in(frame: &Frame, version: i16) -> Option<i32> {
    let header = 8 + usize::from(ApiKey::FETCH.response_header_version(version) >= 1);
    let whole: Vec<u8> = frame.iter().flatten().skip(header).copied().collect();
    FetchResponse::from_bytes(whole.into(), version).ok().map(|response| response.session_id).filter(|id| *id != 0)
}

/// The error response of a request that is not handled, or its response without any content where it has no field for the
/// code; `None` when the client wants none.
pub(super) fn refused_frame(request: &IncomingRequest, code: ErrorCode, here: (&State, &Node)) -> Option<Frame> {
    struct Empty<'a>(&'a IncomingRequest);

    impl RequestVisitor for Empty<'_> {
        type Output = Option<Frame>;

        fn visit<R: Request>(self) -> Option<Frame> {
            frame_response(&R::Response::default(), self.0.api_version, self.0.correlation_id).ok()
        }
    }

    if wants_none(request).ok()? {
        return None;
    }
    if request.api_key == ApiKey::METADATA {
        return refused_metadata(request, code);
    }
    match refuse(request, code, &Scope::default(), here).ok()? {
        Refused::Response(frame) => Some(frame),
        Refused::Close => None,
        Refused::Patch(..) | Refused::NoPlace => visit_request(request.api_key, Empty(request))?,
    }
}

/// The error is that of each topic, and no broker is named.
fn refused_metadata(request: &IncomingRequest, error_code: ErrorCode) -> Option<Frame> {
    let asked = request.decode::<MetadataRequest>().ok()?;
    let topic = |topic: MetadataRequestTopic| MetadataResponseTopic {
        error_code,
        name: topic.name,
        topic_id: topic.topic_id,
        ..Default::default()
    };
    let topics = asked.topics.into_iter().flatten().map(topic).collect();
    let response = MetadataResponse { topics, ..Default::default() };
    frame_response(&response, request.api_version, request.correlation_id).ok()
}

/// Whether it is a Produce request with acks=0.
fn wants_none(request: &IncomingRequest) -> Result<bool, ConnectionError> {
    Ok(request.api_key == ApiKey::PRODUCE && request.decode::<ProduceRequest>()?.acks == 0)
}

fn with_size(frame: Bytes) -> Frame {
    let size = u32::try_from(frame.len()).unwrap_or(u32::MAX);
    vec![Bytes::copy_from_slice(&size.to_be_bytes()), frame]
}

fn first_bytes(frame: Frame, mut bytes: usize) -> Frame {
    let mut first = Frame::new();
    for mut segment in frame {
        segment.truncate(bytes);
        bytes -= segment.len();
        if !segment.is_empty() {
            first.push(segment);
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_may_end_within_a_segment_and_after_the_last_one() {
        let frame = || vec![Bytes::from_static(b"abc"), Bytes::from_static(b"de")];
        assert_eq!(first_bytes(frame(), 4), ["abc", "d"]);
        assert_eq!(first_bytes(frame(), 3), ["abc"]);
        assert!(first_bytes(frame(), 0).is_empty());
        assert_eq!(first_bytes(frame(), usize::MAX), ["abc", "de"]);
    }
}
