use bytes::Bytes;
use milena::connection::{
    ClientConnection, ClientConnectionConfig, ClientEvent, ConnectionError, ServerConnection, ServerConnectionConfig,
    frame_request, frame_response,
};
use milena::messages::{
    ApiKey, FetchRequest, FetchResponse, Message, MetadataRequest, MetadataResponse, Request, RequestHeader,
    RequestVisitor, VersionRange, visit_request,
};
use milena::wire::{Limits, Reader};

const MAX_FRAME: usize = 1 << 16;

/// Both machines, fed with the same bytes in one piece and in many: how they are cut makes no difference. The first byte
/// chooses how the machines are set up, the second how many cuts follow, a byte each.
pub fn connection(data: &[u8]) {
    let [mode, cuts, rest @ ..] = data else { return };
    let (cuts, stream) = rest.split_at(usize::from(*cuts).min(rest.len()));
    assert_eq!(serve(*mode, &[], stream), serve(*mode, cuts, stream));
    assert_eq!(ask(*mode, &[], stream), ask(*mode, cuts, stream));
}

/// The pieces of a stream: as long as the cuts say, and then the rest.
fn pieces<'a>(cuts: &'a [u8], mut stream: &'a [u8]) -> impl Iterator<Item = (bool, &'a [u8])> {
    cuts.iter().map(|cut| usize::from(*cut)).chain([usize::MAX]).map(move |cut| {
        let (piece, rest) = stream.split_at(cut.min(stream.len()));
        stream = rest;
        (cut % 2 == 0, piece)
    })
}

/// What a server tells: each request or error, and the bytes that it writes.
fn serve(mode: u8, cuts: &[u8], stream: &[u8]) -> (Vec<String>, Vec<u8>) {
    let served = [(ApiKey::METADATA, VersionRange::new(0, 12)), (ApiKey::API_VERSIONS, VersionRange::new(0, 2))];
    let config =
        if mode & 1 == 0 { ServerConnectionConfig::passing_all() } else { ServerConnectionConfig::serving(served) };
    let mut server = ServerConnection::new(ServerConnectionConfig { max_frame: MAX_FRAME, ..config });
    let mut requests = Vec::new();
    let mut seen = Vec::new();
    'pieces: for (copied, piece) in pieces(cuts, stream) {
        if copied {
            server.receive(piece);
        } else {
            server.input().extend_from_slice(piece);
        }
        loop {
            match server.poll() {
                Ok(Some(request)) => {
                    assert!(request.body.len() + 8 <= request.frame_size() && request.frame_size() <= MAX_FRAME);
                    let _ = request.decode::<MetadataRequest>();
                    let _ = request.decode::<FetchRequest>();
                    seen.push(format!("{request:?}"));
                    requests.push(request);
                }
                Ok(None) => break,
                Err(error) => {
                    seen.push(error.to_string());
                    break 'pieces;
                }
            }
        }
    }
    assert!(requests.len() <= server.unanswered());
    for (index, request) in requests.iter().enumerate().rev() {
        let answer = Bytes::copy_from_slice(&index.to_be_bytes());
        assert_eq!(server.respond_raw(request, vec![answer]), Ok(()));
        assert!(matches!(server.respond_nothing(request), Err(ConnectionError::NoSuchRequest(_))));
    }
    assert_eq!(server.unanswered(), 0);
    (seen, server.take_output().concat())
}

/// What a client tells that has asked a few things.
fn ask(mode: u8, cuts: &[u8], stream: &[u8]) -> (Vec<String>, Vec<u8>) {
    let mut client =
        ClientConnection::new(ClientConnectionConfig { max_frame: MAX_FRAME, ..ClientConnectionConfig::default() });
    if mode & 2 != 0 {
        client.negotiate(None).expect("any client may ask");
    }
    for version in 0..i16::from(mode >> 2 & 7) {
        let topics = Some(Vec::new());
        let request = MetadataRequest { topics, ..Default::default() };
        client.send_at(&request, version * 2, None).expect("a request of any version");
    }
    if mode & 0x20 != 0 {
        client.cancel(2);
    }
    let mut seen = Vec::new();
    'pieces: for (copied, piece) in pieces(cuts, stream) {
        if copied {
            client.receive(piece);
        } else {
            client.input().extend_from_slice(piece);
        }
        loop {
            match client.poll() {
                Ok(Some(event)) => {
                    seen.push(format!("{event:?}"));
                    if let ClientEvent::Response(answer) = event {
                        let _ = answer.decode::<MetadataResponse>();
                        assert!(matches!(answer.decode::<FetchResponse>(), Err(ConnectionError::WrongApi { .. })));
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    seen.push(error.to_string());
                    break 'pieces;
                }
            }
        }
    }
    let _ = (client.version_of(ApiKey::FETCH), client.version_of(ApiKey::METADATA));
    (seen, client.take_output().concat())
}

/// A frame of any API and version, its first bytes being the header: the header is that of the codec, and a body that
/// can be read goes through both machines unchanged, as a request and as a response.
pub fn headers(data: &[u8]) {
    let mut server = ServerConnection::new(ServerConnectionConfig::passing_all());
    let Ok(size) = i32::try_from(data.len()) else { return };
    server.receive(&size.to_be_bytes());
    server.receive(data);
    let Ok(Some(request)) = server.poll() else { return };

    let version = request.api_key.request_header_version(request.api_version);
    let mut reader = Reader::new(Bytes::copy_from_slice(data));
    let header = RequestHeader::decode(&mut reader, version).expect("the server read it");
    assert_eq!((header.request_api_key, header.request_api_version), (request.api_key, request.api_version));
    assert_eq!((header.correlation_id, header.client_id), (request.correlation_id, request.client_id.clone()));
    assert_eq!(reader.rest(), request.body);
    assert_eq!(request.frame_size(), data.len());

    let trip = Trip { body: request.body, version: request.api_version, correlation_id: request.correlation_id };
    let known = visit_request(request.api_key, trip);
    assert_eq!(known.is_some(), request.api_key.name().is_some());
}

struct Trip {
    body: Bytes,
    version: i16,
    correlation_id: i32,
}

impl RequestVisitor for Trip {
    type Output = ();

    fn visit<R: Request>(self) {
        let limits = Limits { memory_per_byte: 64, ..Limits::default() };
        if let Ok(request) = R::decode(&mut Reader::with_limits(self.body.clone(), limits), self.version) {
            self.request(&request);
        }
        if let Ok(answer) = R::Response::decode(&mut Reader::with_limits(self.body.clone(), limits), self.version) {
            self.answer::<R>(&answer);
        }
    }
}

impl Trip {
    fn request<R: Request>(&self, request: &R) {
        let Ok(segments) = frame_request(request, self.version, self.correlation_id, None) else { return };
        let mut server = ServerConnection::new(ServerConnectionConfig::passing_all());
        segments.iter().for_each(|segment| server.receive(segment));
        let came = server.poll().expect("a frame").expect("a whole frame");
        let seen = (came.api_key, came.api_version, came.correlation_id);
        assert_eq!(seen, (R::API_KEY, self.version, self.correlation_id));
        assert_eq!(Ok(came.body), request.to_bytes(self.version));
    }

    fn answer<R: Request>(&self, answer: &R::Response) {
        let mut client = ClientConnection::new(ClientConnectionConfig::default());
        // Some defaults are no valid requests, and some requests wait for nothing.
        let Ok(id) = client.send_at(&R::default(), self.version, None) else { return };
        let Ok(segments) = frame_response(answer, self.version, id) else { return };
        if client.in_flight() == 0 {
            return;
        }
        segments.iter().for_each(|segment| client.receive(segment));
        let Ok(Some(ClientEvent::Response(came))) = client.poll() else { panic!("a whole response") };
        assert_eq!((came.api_key, came.api_version, came.correlation_id), (R::API_KEY, self.version, id));
        assert_eq!(Ok(came.body), answer.to_bytes(self.version));
    }
}
