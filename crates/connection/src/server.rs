use std::collections::VecDeque;

use bytes::{BufMut as _, Bytes, BytesMut};
use milena_messages::{ApiKey, ByteString, Request, Response, VersionRange};

use crate::error::{ConnectionError, Result};
use crate::frame::{DEFAULT_MAX_FRAME, FrameBuffer};
use crate::header::{frame_response, named, read_request_header};
use crate::versions::{ApiVersions, refuse_api_versions};

/// What a server takes.
#[derive(Clone, Debug)]
pub struct ServerConnectionConfig {
    /// Largest frame taken from a client, in bytes.
    pub max_frame: usize,
    /// The APIs and versions that are served; a request outside of it ends the connection, as in Kafka. `None` lets every
    /// request through, known or not: for proxies.
    pub served: Option<ApiVersions>,
    /// Whether the response to ApiVersions at a version that is not served lists the versions that are, as from Kafka 2.4 on
    /// (KIP-511). Without it clients have to try version 0.
    pub refusal_lists_versions: bool,
}

impl ServerConnectionConfig {
    /// A server of these APIs, with the default frame limit.
    pub fn serving(apis: impl IntoIterator<Item = (ApiKey, VersionRange)>) -> Self {
        Self { max_frame: DEFAULT_MAX_FRAME, served: Some(apis.into_iter().collect()), refusal_lists_versions: true }
    }

    /// Lets every request through, with the default frame limit.
    pub fn passing_all() -> Self {
        Self { max_frame: DEFAULT_MAX_FRAME, served: None, refusal_lists_versions: true }
    }
}

/// One request, its body not read yet.
#[derive(Clone, Debug)]
pub struct IncomingRequest {
    /// The API.
    pub api_key: ApiKey,
    /// The version, which is that of the response too.
    pub api_version: i16,
    /// The client's number for this request; it need not be unique.
    pub correlation_id: i32,
    /// How the client calls itself.
    pub client_id: Option<ByteString>,
    /// The body without its header.
    pub body: Bytes,
    /// The whole frame without its size, header and body, as it came: for proxies, and for tests of clients.
    pub frame: Bytes,
    ticket: u64,
}

impl IncomingRequest {
    /// Bytes of the frame without its size.
    pub fn frame_size(&self) -> usize {
        self.frame.len()
    }

    /// Reads the body as a request of type `R`. Bytes after it do not matter, as in Kafka: real clients send some.
    ///
    /// # Errors
    /// The request is of another API; the bytes are not what the protocol says.
    pub fn decode<R: Request>(&self) -> Result<R> {
        if self.api_key != R::API_KEY {
            return Err(ConnectionError::WrongApi { wanted: R::API_KEY, found: self.api_key });
        }
        R::from_bytes(self.body.clone(), self.api_version)
            .map_err(|error| ConnectionError::Decode { what: named(self.api_key, self.api_version), error })
    }
}

/// The side of a connection that responds.
///
/// Responses may be given in any order; they leave in the order of the requests, which is what clients rely on.
#[derive(Debug)]
pub struct ServerConnection {
    config: ServerConnectionConfig,
    frames: FrameBuffer,
    output: Vec<Bytes>,
    /// One slot for each request without a response on the wire, oldest first.
    slots: VecDeque<Option<Vec<Bytes>>>,
    /// The ticket of the oldest slot.
    first_ticket: u64,
}

impl ServerConnection {
    /// A connection on which nothing was said yet.
    pub fn new(config: ServerConnectionConfig) -> Self {
        Self {
            frames: FrameBuffer::new(config.max_frame),
            config,
            output: Vec::new(),
            slots: VecDeque::new(),
            first_ticket: 0,
        }
    }

    /// Bytes that came from the client; copies them.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.frames.receive(bytes);
    }

    /// The input buffer with room at its end, to read a socket into without a copy.
    pub fn input(&mut self) -> &mut BytesMut {
        self.frames.input()
    }

    /// Bytes of the client that are not part of a request handed out yet.
    pub fn buffered(&self) -> usize {
        self.frames.buffered()
    }

    /// Changes the limit of frames that come from now on, such as when a client has logged in.
    pub fn set_max_frame(&mut self, max_frame: usize) {
        self.config.max_frame = max_frame;
        self.frames.set_max_frame(max_frame);
    }

    /// The next whole frame as it is, without its size, in place of [`poll`](Self::poll): the raw tokens that follow
    /// SaslHandshake version 0.
    ///
    /// # Errors
    /// The size of the frame is not possible.
    pub fn poll_raw(&mut self) -> Result<Option<Bytes>> {
        self.frames.next_frame()
    }

    /// Sends a frame that responds to none of the requests, with its size: a raw token. All requests before must have their
    /// response.
    pub fn send_raw(&mut self, frame: &[u8]) {
        let mut framed = BytesMut::with_capacity(4 + frame.len());
        framed.put_i32(frame.len() as i32);
        framed.put_slice(frame);
        self.output.push(framed.freeze());
    }

    /// Bytes for the client, in segments to write one after the other.
    pub fn take_output(&mut self) -> Vec<Bytes> {
        std::mem::take(&mut self.output)
    }

    /// How many requests were handed out and have no response yet.
    pub fn unanswered(&self) -> usize {
        self.slots.len()
    }

    /// The next whole request; `None` until more bytes come.
    ///
    /// ApiVersions at a version that is not served gets its response here, in the format of version 0 with error 35 and the range
    /// that is served (KIP-511).
    ///
    /// # Errors
    /// The client misbehaved or asked for what is not served; the connection has to be closed.
    pub fn poll(&mut self) -> Result<Option<IncomingRequest>> {
        while let Some(frame) = self.frames.next_frame()? {
            let (header, body) = read_request_header(frame.clone())?;
            let request = IncomingRequest {
                api_key: header.request_api_key,
                api_version: header.request_api_version,
                correlation_id: header.correlation_id,
                client_id: header.client_id,
                body,
                frame,
                ticket: self.first_ticket + self.slots.len() as u64,
            };
            let Some(served) = &self.config.served else {
                self.slots.push_back(None);
                return Ok(Some(request));
            };
            let (api, version) = (request.api_key, request.api_version);
            let versions = served.of(api);
            if versions.contains(version) {
                self.slots.push_back(None);
                return Ok(Some(request));
            }
            if api != ApiKey::API_VERSIONS {
                return Err(ConnectionError::NotServed { api, version, served: versions });
            }
            self.slots.push_back(None);
            let listed = if self.config.refusal_lists_versions { versions } else { VersionRange::NONE };
            self.fill(&request, vec![refuse_api_versions(request.correlation_id, listed)?])?;
        }
        Ok(None)
    }

    /// Responds to a request.
    ///
    /// # Errors
    /// The response is of another API, or has a value that the version cannot carry, or the request has a response already.
    /// Nothing is sent then, and the request can still get a response.
    pub fn respond<R: Response>(&mut self, request: &IncomingRequest, response: &R) -> Result<()> {
        if request.api_key != R::API_KEY {
            return Err(ConnectionError::WrongApi { wanted: R::API_KEY, found: request.api_key });
        }
        let frame = frame_response(response, request.api_version, request.correlation_id)?;
        self.fill(request, frame)
    }

    /// Responds to a request with a frame made elsewhere, its size included.
    ///
    /// # Errors
    /// The request has a response already.
    pub fn respond_raw(&mut self, request: &IncomingRequest, frame: Vec<Bytes>) -> Result<()> {
        self.fill(request, frame)
    }

    /// Leaves a request without a response, as a Produce with acks = 0 wants it.
    ///
    /// # Errors
    /// The request has a response already.
    pub fn respond_nothing(&mut self, request: &IncomingRequest) -> Result<()> {
        self.fill(request, Vec::new())
    }

    fn fill(&mut self, request: &IncomingRequest, frame: Vec<Bytes>) -> Result<()> {
        let slot = request.ticket.checked_sub(self.first_ticket).and_then(|index| self.slots.get_mut(index as usize));
        match slot {
            Some(slot @ None) => *slot = Some(frame),
            _ => return Err(ConnectionError::NoSuchRequest(request.correlation_id)),
        }
        while let Some(Some(frame)) = self.slots.front_mut() {
            self.output.append(frame);
            self.slots.pop_front();
            self.first_ticket += 1;
        }
        Ok(())
    }
}
