use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use milena_messages::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, ByteString, ErrorCode, Message as _, Request, Response,
};
use milena_wire::Reader;

use crate::error::{ConnectionError, Result};
use crate::frame::{DEFAULT_MAX_FRAME, FrameBuffer};
use crate::header::{frame_request, named, read_request_header, read_response_header, with_size};
use crate::versions::{ApiVersions, api_versions_response_version};

/// How a client presents itself, and what it takes.
#[derive(Clone, Debug)]
pub struct ClientConnectionConfig {
    /// Client id in the header of every request; shows in the broker's logs and quotas.
    pub client_id: Option<ByteString>,
    /// Name of the client library, sent in ApiVersions 3 and later (KIP-511): letters, digits, `-` and `.` only.
    pub software_name: ByteString,
    /// Its version, of the same letters.
    pub software_version: ByteString,
    /// Largest frame taken from the broker, in bytes.
    pub max_frame: usize,
}

impl Default for ClientConnectionConfig {
    fn default() -> Self {
        Self {
            client_id: Some(ByteString::from_static("milena")),
            software_name: ByteString::from_static("milena"),
            software_version: ByteString::from_static(env!("CARGO_PKG_VERSION")),
            max_frame: DEFAULT_MAX_FRAME,
        }
    }
}

/// The side of a connection that asks.
///
/// Requests may be pipelined; a broker responds in the order of the requests. Deadlines are durations since any moment
/// that the caller chose as its zero.
#[derive(Debug)]
pub struct ClientConnection {
    config: ClientConnectionConfig,
    frames: FrameBuffer,
    output: Vec<Bytes>,
    waiting: VecDeque<Waiting>,
    next_id: i32,
    versions: Option<ApiVersions>,
}

#[derive(Debug)]
struct Waiting {
    correlation_id: i32,
    api: ApiKey,
    version: i16,
    deadline: Option<Duration>,
    purpose: Purpose,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Purpose {
    /// The caller wants the response.
    Caller,
    /// The caller gave up; a late response is dropped.
    Cancelled,
    /// The connection itself asked which versions the broker speaks.
    Negotiation,
}

/// What happened on a connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ClientEvent {
    /// The broker said which versions it speaks.
    Negotiated(ApiVersions),
    /// A response to a request.
    Response(IncomingResponse),
}

/// The response to one request, its body not read yet.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IncomingResponse {
    /// The id that sending the request gave.
    pub correlation_id: i32,
    /// The API of the request.
    pub api_key: ApiKey,
    /// The version of the request, which is that of the response.
    pub api_version: i16,
    /// The body without its header.
    pub body: Bytes,
    /// The whole frame without its size, header and body, as it came: for proxies.
    pub frame: Bytes,
}

impl IncomingResponse {
    /// Reads the body as a response of type `R`. Bytes after it are ignored, as in Kafka.
    ///
    /// # Errors
    /// The request was of another API; the bytes are not what the protocol says.
    pub fn decode<R: Response>(&self) -> Result<R> {
        if self.api_key != R::API_KEY {
            return Err(ConnectionError::WrongApi { wanted: R::API_KEY, found: self.api_key });
        }
        R::from_bytes(self.body.clone(), self.api_version).map_err(|error| decode_error(self, error))
    }
}

fn decode_error(response: &IncomingResponse, error: milena_wire::Error) -> ConnectionError {
    ConnectionError::Decode {
        what: format!("the response to {}", named(response.api_key, response.api_version)),
        error,
    }
}

impl ClientConnection {
    /// A connection on which nothing was said yet.
    pub fn new(config: ClientConnectionConfig) -> Self {
        Self {
            frames: FrameBuffer::new(config.max_frame),
            config,
            output: Vec::new(),
            waiting: VecDeque::new(),
            next_id: 0,
            versions: None,
        }
    }

    /// Asks which versions the broker speaks; the response is [`ClientEvent::Negotiated`]. A broker that does not know the
    /// version of the question says so in the form of version 0, and is asked again with one that it knows (KIP-511).
    ///
    /// # Errors
    /// The software name or version is too long.
    pub fn negotiate(&mut self, deadline: Option<Duration>) -> Result<i32> {
        self.ask_versions(ApiKey::API_VERSIONS.versions().max(), deadline)
    }

    fn ask_versions(&mut self, version: i16, deadline: Option<Duration>) -> Result<i32> {
        let request = ApiVersionsRequest {
            client_software_name: self.config.software_name.clone(),
            client_software_version: self.config.software_version.clone(),
            ..Default::default()
        };
        self.enqueue(&request, version, deadline, Purpose::Negotiation)
    }

    /// What the broker said it speaks.
    pub fn versions(&self) -> Option<&ApiVersions> {
        self.versions.as_ref()
    }

    /// Takes the versions from elsewhere, for brokers before 0.10 that cannot be asked.
    pub fn assume_versions(&mut self, versions: ApiVersions) {
        self.versions = Some(versions);
    }

    /// The version at which [`ClientConnection::send`] speaks an API.
    ///
    /// # Errors
    /// The broker did not say yet what it speaks, or no version is common.
    pub fn version_of(&self, api: ApiKey) -> Result<i16> {
        self.versions.as_ref().ok_or(ConnectionError::NotNegotiated)?.pick(api)
    }

    /// Sends a request at the highest common version and gives its correlation id.
    ///
    /// # Errors
    /// As [`ClientConnection::version_of`] and [`ClientConnection::send_at`].
    pub fn send<R: Request>(&mut self, request: &R, deadline: Option<Duration>) -> Result<i32> {
        let version = self.version_of(R::API_KEY)?;
        self.send_at(request, version, deadline)
    }

    /// Sends a request at a version and gives its correlation id. A Produce with acks = 0 gets no response.
    ///
    /// # Errors
    /// A value that the version cannot carry. Nothing is sent then.
    pub fn send_at<R: Request>(&mut self, request: &R, version: i16, deadline: Option<Duration>) -> Result<i32> {
        self.enqueue(request, version, deadline, Purpose::Caller)
    }

    /// Sends a frame that was made elsewhere, given without its size, and gives the correlation id that it carries. The
    /// bytes go out as they are: the id stays, and a request that is in flight should not have the same one.
    ///
    /// `expects_response` is false for a Produce with acks = 0, which gets no response.
    ///
    /// # Errors
    /// A frame whose header cannot be read. Nothing is sent then.
    pub fn send_raw(&mut self, frame: &[u8], expects_response: bool, deadline: Option<Duration>) -> Result<i32> {
        let whole = with_size(frame)?;
        let (header, _) = read_request_header(whole.slice(4..))?;
        self.output.push(whole);
        if expects_response {
            self.waiting.push_back(Waiting {
                correlation_id: header.correlation_id,
                api: header.request_api_key,
                version: header.request_api_version,
                deadline,
                purpose: Purpose::Caller,
            });
        }
        Ok(header.correlation_id)
    }

    fn enqueue<R: Request>(
        &mut self,
        request: &R,
        version: i16,
        deadline: Option<Duration>,
        purpose: Purpose,
    ) -> Result<i32> {
        let correlation_id = self.next_id;
        self.output.extend(frame_request(request, version, correlation_id, self.config.client_id.as_ref())?);
        self.next_id = if correlation_id == i32::MAX { 0 } else { correlation_id + 1 };
        if request.expects_response() {
            self.waiting.push_back(Waiting { correlation_id, api: R::API_KEY, version, deadline, purpose });
        }
        Ok(correlation_id)
    }

    /// Gives up on a request: its response will be dropped when it comes. Gives whether it was waited for.
    pub fn cancel(&mut self, correlation_id: i32) -> bool {
        match self.waiting.iter_mut().find(|waiting| waiting.correlation_id == correlation_id) {
            Some(waiting) => {
                waiting.deadline = None;
                std::mem::replace(&mut waiting.purpose, Purpose::Cancelled) != Purpose::Cancelled
            }
            None => false,
        }
    }

    /// The earliest deadline of all requests that wait.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.waiting.iter().filter_map(|waiting| waiting.deadline).min()
    }

    /// Gives up on every request whose deadline is at or before `now`, and gives their correlation ids.
    pub fn expire(&mut self, now: Duration) -> Vec<i32> {
        let mut expired = Vec::new();
        for waiting in &mut self.waiting {
            if waiting.deadline.is_some_and(|deadline| deadline <= now) {
                waiting.deadline = None;
                waiting.purpose = Purpose::Cancelled;
                expired.push(waiting.correlation_id);
            }
        }
        expired
    }

    /// How many requests wait for a response, cancelled ones included.
    pub fn in_flight(&self) -> usize {
        self.waiting.len()
    }

    /// Bytes that came from the broker; copies them.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.frames.receive(bytes);
    }

    /// The input buffer with room at its end, to read a socket into without a copy.
    pub fn input(&mut self) -> &mut BytesMut {
        self.frames.input()
    }

    /// Bytes for the broker, in segments to write one after the other.
    pub fn take_output(&mut self) -> Vec<Bytes> {
        std::mem::take(&mut self.output)
    }

    /// The next thing that happened; `None` until more bytes come.
    ///
    /// # Errors
    /// The broker misbehaved; the connection has to be closed.
    pub fn poll(&mut self) -> Result<Option<ClientEvent>> {
        while let Some(frame) = self.frames.next_frame()? {
            if let Some(event) = self.frame(frame)? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn frame(&mut self, frame: Bytes) -> Result<Option<ClientEvent>> {
        let found = Reader::new(frame.clone())
            .i32()
            .map_err(|error| ConnectionError::Decode { what: "the header of a response".to_owned(), error })?;
        let waiting = match self.waiting.front() {
            Some(next) if next.correlation_id == found => self.waiting.pop_front(),
            _ => None,
        };
        let Some(waiting) = waiting else {
            let expected = self.waiting.front().map(|next| next.correlation_id);
            return Err(ConnectionError::CorrelationId { expected, found });
        };
        let (api_key, api_version) = (waiting.api, waiting.version);
        let (_, body) = read_response_header(frame.clone(), api_key, api_version)?;
        let response = IncomingResponse { correlation_id: found, api_key, api_version, body, frame };
        match waiting.purpose {
            Purpose::Caller => Ok(Some(ClientEvent::Response(response))),
            Purpose::Cancelled => Ok(None),
            Purpose::Negotiation => self.negotiated(&response, waiting.deadline),
        }
    }

    fn negotiated(&mut self, incoming: &IncomingResponse, deadline: Option<Duration>) -> Result<Option<ClientEvent>> {
        let version = api_versions_response_version(&incoming.body, incoming.api_version);
        let response = ApiVersionsResponse::from_bytes(incoming.body.clone(), version)
            .map_err(|error| decode_error(incoming, error))?;
        let versions = ApiVersions::from(&response);
        match response.error_code {
            ErrorCode::NONE => {
                self.versions = Some(versions.clone());
                Ok(Some(ClientEvent::Negotiated(versions)))
            }
            ErrorCode::UNSUPPORTED_VERSION if incoming.api_version > 0 => {
                let theirs = versions.of(ApiKey::API_VERSIONS);
                let next = if theirs.is_empty() { 0 } else { theirs.max().min(incoming.api_version - 1) };
                self.ask_versions(next.max(0), deadline)?;
                Ok(None)
            }
            code => Err(ConnectionError::NegotiationRefused(code)),
        }
    }
}
