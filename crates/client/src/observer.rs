use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use milena_connection::{FrameBuffer, api_versions_response_version};

use milena_messages::{ApiKey, Message as _, RequestHeader};
use milena_wire::Reader;

use crate::error::Error;

/// Sees every frame that a client sends and receives, on every connection, in the order of the wire.
///
/// It is called from the tasks that own the sockets and holds them up while it runs.
pub trait Observer: Send + Sync {
    /// A whole frame was handed to the socket, or came out of it.
    fn frame(&self, frame: &ObservedFrame);

    /// A broker throttles this client (KIP-219): nothing is sent on the connection for that time, which is at most
    /// [`ClientConfig::max_throttle`](crate::ClientConfig::max_throttle).
    fn throttled(&self, address: &str, api: ApiKey, time: Duration) {
        let _ = (address, api, time);
    }

    /// An attempt failed and is repeated after a pause.
    fn retrying(&self, error: &Error, pause: Duration) {
        let _ = (error, pause);
    }
}

/// Requests in flight at most; far more than a broker takes.
const MOST_ASKED: usize = 1 << 16;

/// Which way a frame went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameDirection {
    /// To the broker: a request.
    Sent,
    /// From the broker: a response.
    Received,
}

/// One frame.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ObservedFrame {
    /// Which way it went.
    pub direction: FrameDirection,
    /// The broker, as `host:port`.
    pub address: Arc<str>,
    /// The API.
    pub api_key: ApiKey,
    /// The version of the body. It is that of the request, but 0 in the response of a broker that does not know the version
    /// of ApiVersions it was asked with (KIP-511).
    pub api_version: i16,
    /// The number that ties a response to its request, on one connection.
    pub correlation_id: i32,
    /// Bytes on the wire: size field, header and body.
    pub size: usize,
    /// The body without its header.
    pub body: Bytes,
}

/// What one connection reports to an [`Observer`], if there is one.
#[derive(Debug, Default)]
pub(crate) struct Watch(Option<Box<FrameCutter>>);

impl Watch {
    pub(crate) fn new(observer: Option<&Arc<dyn Observer>>, address: &Arc<str>, max_frame: usize) -> Self {
        Self(observer.map(|observer| Box::new(FrameCutter::new(Arc::clone(observer), Arc::clone(address), max_frame))))
    }

    /// Segments of whole frames that leave.
    pub(crate) fn sent(&mut self, segments: &[Bytes]) {
        if let Some(cutter) = &mut self.0 {
            cutter.sent(segments);
        }
    }

    /// Bytes that arrived, in pieces of any size.
    pub(crate) fn received(&mut self, bytes: &[u8]) {
        if let Some(cutter) = &mut self.0 {
            cutter.received(bytes);
        }
    }

    pub(crate) fn throttled(&self, api: ApiKey, time: Duration) {
        if let Some(cutter) = &self.0 {
            cutter.observer.throttled(&cutter.address, api, time);
        }
    }
}

/// Takes frames out of both directions of one connection.
struct FrameCutter {
    observer: Arc<dyn Observer>,
    address: Arc<str>,
    sent: FrameBuffer,
    received: FrameBuffer,
    /// Requests without response so far, those that never get one included.
    asked: VecDeque<(i32, ApiKey, i16)>,
}

impl FrameCutter {
    fn new(observer: Arc<dyn Observer>, address: Arc<str>, max_frame: usize) -> Self {
        Self {
            observer,
            address,
            sent: FrameBuffer::new(i32::MAX as usize),
            received: FrameBuffer::new(max_frame),
            asked: VecDeque::new(),
        }
    }

    /// Whole frames that leave.
    fn sent(&mut self, segments: &[Bytes]) {
        segments.iter().for_each(|segment| self.sent.receive(segment));
        while let Ok(Some(frame)) = self.sent.next_frame() {
            let size = frame.len() + 4;
            let Some(&[a, b, c, d, ..]) = frame.first_chunk::<8>() else { continue };
            let (api_key, version) = (ApiKey(i16::from_be_bytes([a, b])), i16::from_be_bytes([c, d]));
            let mut reader = Reader::new(frame);
            let header = RequestHeader::decode(&mut reader, api_key.request_header_version(version));
            let Ok(header) = header else { continue };
            self.asked.push_back((header.correlation_id, api_key, version));
            // Requests without response, one after the other, would stay for ever.
            if self.asked.len() > MOST_ASKED {
                self.asked.pop_front();
            }
            self.tell(FrameDirection::Sent, api_key, version, header.correlation_id, size, reader.rest());
        }
    }

    /// Bytes that came, in pieces of any size. What is wrong with them is for the connection to say.
    fn received(&mut self, bytes: &[u8]) {
        self.received.receive(bytes);
        while let Ok(Some(frame)) = self.received.next_frame() {
            let size = frame.len() + 4;
            let Some(id) = frame.first_chunk().map(|id| i32::from_be_bytes(*id)) else { continue };
            let Some(position) = self.asked.iter().position(|(asked, ..)| *asked == id) else { continue };
            let Some((_, api_key, version)) = self.asked.drain(..=position).next_back() else { continue };
            let mut reader = Reader::new(frame.slice(4..));
            let tagged = api_key.response_header_version(version) >= 1;
            if reader.unknown_tags(tagged).is_err() {
                continue;
            }
            let body = reader.rest();
            let version = match api_key {
                ApiKey::API_VERSIONS => api_versions_response_version(&body, version),
                _ => version,
            };
            self.tell(FrameDirection::Received, api_key, version, id, size, body);
        }
    }

    fn tell(&self, direction: FrameDirection, api_key: ApiKey, api_version: i16, id: i32, size: usize, body: Bytes) {
        let address = Arc::clone(&self.address);
        self.observer.frame(&ObservedFrame {
            direction,
            address,
            api_key,
            api_version,
            correlation_id: id,
            size,
            body,
        });
    }
}

impl fmt::Debug for FrameCutter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameCutter").field("address", &self.address).finish_non_exhaustive()
    }
}
