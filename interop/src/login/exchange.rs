//! One connection, and what was sent and came back as text.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use milena_connection::{FrameBuffer, frame_request};
use milena_messages::{
    ApiKey, ApiVersionsRequest, Bytes, Message as _, MetadataRequest, Request, RequestHeader, SaslAuthenticateRequest,
    SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse, Struct as _,
};
use milena_wire::Writer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::proof::{Hash, proof};
use super::stage::REAUTH_MS;
use crate::error::{Context as _, Error, Result};

/// A broker that says nothing for this long is taken to wait for more.
const SILENCE: Duration = Duration::from_secs(5);

/// A connection, and its story so far.
pub(super) struct Exchange {
    stream: TcpStream,
    frames: FrameBuffer,
    correlation_id: i32,
    /// What happened, in the order of the steps.
    pub(super) story: Vec<String>,
}

impl Exchange {
    pub(super) async fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await.doing("connecting")?;
        stream.set_nodelay(true).doing("connecting")?;
        Ok(Self { stream, frames: FrameBuffer::new(1 << 20), correlation_id: 0, story: Vec::new() })
    }

    fn note(&mut self, text: impl Into<String>) {
        self.story.push(text.into());
    }

    /// Sends bytes as they are; a connection that was closed shows when it is read.
    pub(super) async fn bytes(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes).await;
    }

    async fn frame(&mut self) -> Result<Option<Bytes>> {
        loop {
            if let Some(frame) = self.frames.next_frame().map_err(|error| Error::Other(error.to_string()))? {
                return Ok(Some(frame));
            }
            match timeout(SILENCE, self.stream.read_buf(self.frames.input())).await {
                Err(_) => return Err(Error::Other("the broker says nothing".to_owned())),
                Ok(Ok(0) | Err(_)) => return Ok(None),
                Ok(Ok(_)) => {}
            }
        }
    }

    /// Notes a frame as text, or that the connection was closed.
    pub(super) async fn raw(&mut self, token: &[u8]) -> Result<()> {
        self.bytes(&[&(token.len() as u32).to_be_bytes(), token].concat()).await;
        let frame = self.frame().await?;
        self.note(frame.map_or("closed".to_owned(), |frame| format!("raw {}", frame.escape_ascii())));
        Ok(())
    }

    /// The body of the response to a request; `None` when the connection was closed.
    async fn body<R: Request>(&mut self, request: &R, version: i16) -> Result<Option<Bytes>> {
        self.correlation_id += 1;
        let frame = frame_request(request, version, self.correlation_id, None);
        let frame: Vec<u8> = frame.map_err(|error| Error::Other(error.to_string()))?.concat();
        self.bytes(&frame).await;
        let skip = if R::API_KEY.response_header_version(version) == 1 { 5 } else { 4 };
        Ok(self.frame().await?.map(|frame| frame.slice(skip.min(frame.len())..)))
    }

    /// Sends a request and reads its response; notes nothing.
    pub(super) async fn call<R: Request>(&mut self, request: &R, version: i16) -> Result<R::Response> {
        let closed = || Error::Other(format!("the broker closed the connection at {}", R::API_KEY));
        let body = self.body(request, version).await?.ok_or_else(closed)?;
        R::Response::from_bytes(body, version).map_err(|error| Error::Other(error.to_string()))
    }

    /// A request by its numbers, whose body nobody checks; notes the whole body of the response.
    pub(super) async fn odd(&mut self, api: ApiKey, version: i16, body: &[u8]) -> Result<()> {
        let mut writer = Writer::new();
        writer.i32(0);
        let header = RequestHeader { request_api_key: api, request_api_version: version, ..Default::default() };
        let written = header.write(&mut writer, api.request_header_version(version));
        written.map_err(|error| Error::Other(error.to_string()))?;
        writer.raw(body);
        writer.patch_i32(0, writer.len() as i32 - 4);
        self.bytes(&writer.into_bytes()).await;
        let frame = self.frame().await?;
        let text = |frame: Bytes| format!("{api} {}", frame.get(4..).unwrap_or_default().escape_ascii());
        self.note(frame.map_or("closed".to_owned(), text));
        Ok(())
    }

    /// Notes the error code of ApiVersions.
    pub(super) async fn versions(&mut self, version: i16, name: &str) -> Result<()> {
        let request = ApiVersionsRequest {
            client_software_name: if version >= 3 { name.into() } else { "".into() },
            client_software_version: if version >= 3 { name.into() } else { "".into() },
            ..Default::default()
        };
        let body = self.body(&request, version).await?;
        let code = |body: Bytes| format!("versions {:?}", body.first_chunk().map(|code| i16::from_be_bytes(*code)));
        self.note(body.map_or("closed".to_owned(), code));
        Ok(())
    }

    /// Notes how many brokers Metadata names.
    pub(super) async fn metadata(&mut self) -> Result<()> {
        let request = MetadataRequest { topics: Some(Vec::new()), ..Default::default() };
        let body = self.body(&request, 1).await?;
        let brokers = |body: Bytes| match body.first_chunk().map(|count| i32::from_be_bytes(*count)) {
            Some(1) => "metadata".to_owned(),
            _ => format!("metadata {}", body.escape_ascii()),
        };
        self.note(body.map_or("closed".to_owned(), brokers));
        Ok(())
    }

    pub(super) async fn handshake(&mut self, mechanism: &str, version: i16) -> Result<()> {
        let request = SaslHandshakeRequest { mechanism: mechanism.into() };
        let body = self.body(&request, version).await?;
        let text = match body {
            None => "closed".to_owned(),
            Some(body) => {
                let response = SaslHandshakeResponse::from_bytes(body, version);
                let response = response.map_err(|error| Error::Other(error.to_string()))?;
                format!("handshake {} {}", response.error_code, response.mechanisms.join(","))
            }
        };
        self.note(text);
        Ok(())
    }

    async fn authenticate(&mut self, token: &[u8], version: i16) -> Result<Option<SaslAuthenticateResponse>> {
        let request = SaslAuthenticateRequest { auth_bytes: token.to_vec().into(), ..Default::default() };
        let Some(body) = self.body(&request, version).await? else { return Ok(None) };
        let response = SaslAuthenticateResponse::from_bytes(body, version);
        response.map(Some).map_err(|error| Error::Other(error.to_string()))
    }

    /// Sends a token, and notes the response with its session.
    pub(super) async fn token(&mut self, token: &[u8], version: i16) -> Result<()> {
        let response = self.authenticate(token, version).await?;
        self.note(response.map_or("closed".to_owned(), |response| {
            let session = session(response.session_lifetime_ms);
            let message = response.error_message.unwrap_or_default();
            format!("{} {message} {} {session}", response.error_code, response.auth_bytes.escape_ascii())
        }));
        Ok(())
    }

    pub(super) async fn plain(&mut self, name: &str, password: &str) -> Result<()> {
        self.handshake("PLAIN", 1).await?;
        self.token(format!("\0{name}\0{password}").as_bytes(), 2).await
    }

    /// A login by SCRAM; `first` is the client's first message, and `change` may spoil its last one.
    pub(super) async fn scram(
        &mut self,
        hash: Hash,
        first: &str,
        password: &str,
        change: impl FnOnce(String, Vec<u8>) -> (String, Vec<u8>),
    ) -> Result<()> {
        self.handshake(hash.mechanism(), 1).await?;
        let Some(response) = self.authenticate(first.as_bytes(), 2).await? else {
            self.note("closed");
            return Ok(());
        };
        if !response.error_code.is_none() {
            self.note(format!("{} {}", response.error_code, response.error_message.unwrap_or_default()));
            return Ok(());
        }
        let server_first = String::from_utf8_lossy(&response.auth_bytes).into_owned();
        let bare = first.splitn(3, ',').nth(2).unwrap_or_default();
        let right = proof(hash, password, bare, &server_first)?;
        let (without, proof) = change(right.without, right.proof);
        let last = format!("{without},p={}", STANDARD.encode(proof));
        let response = self.authenticate(last.as_bytes(), 2).await?;
        self.note(response.map_or("closed".to_owned(), |response| {
            let verified = response.auth_bytes == right.verifier.as_bytes();
            let session = session(response.session_lifetime_ms);
            format!("{} {} {verified} {session}", response.error_code, response.error_message.unwrap_or_default())
        }));
        Ok(())
    }
}

/// The length of a session: that of the broker's settings as it is, others in tens of seconds.
fn session(lifetime_ms: i64) -> i64 {
    if lifetime_ms == REAUTH_MS as i64 { lifetime_ms } else { (lifetime_ms + 9999) / 10_000 }
}

/// An unsecured or badly signed JSON web token. `{in N}` in the claims is the time in N seconds.
pub(super) fn jwt(header: &str, claims: &str, signature: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    let mut text = String::new();
    let mut rest = claims;
    while let Some((front, back)) = rest.split_once("{in ") {
        let (seconds, after) = back.split_once('}').unwrap_or((back, ""));
        text.push_str(front);
        text.push_str(&(now + seconds.parse::<i64>().unwrap_or(0)).to_string());
        rest = after;
    }
    text.push_str(rest);
    format!("{}.{}.{signature}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(text))
}

/// The first message of OAUTHBEARER with a token.
pub(super) fn bearer(token: &str) -> Vec<u8> {
    format!("n,,\u{1}auth=Bearer {token}\u{1}\u{1}").into_bytes()
}
