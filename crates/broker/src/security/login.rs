//! The login of a connection: which requests are allowed when, as in Kafka's `SaslServerAuthenticator`. No sockets and no
//! clock.

use milena_connection::{ConnectionError, IncomingRequest, frame_response};
use milena_messages::{
    ApiKey, ApiVersionsRequest, ErrorCode, SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest,
    SaslHandshakeResponse,
};

use crate::handler::{Frame, has_valid_software_name};
use crate::security::config::SecurityConfig;
use crate::security::credentials::Credentials;
use crate::security::principal::Principal;
use crate::security::protocol::SaslMechanism;
use crate::security::sasl::{Exchange, Identity, Progress, Rejected};

/// How long a client waits between two logins on a connection, in milliseconds.
const MIN_REAUTH_INTERVAL_MS: i64 = 1000;
/// Java computes times in nanoseconds.
const NANOS_PER_MS: i64 = 1_000_000;
/// The mechanisms in the order in which Kafka lists them, which is that of a hash table.
const LISTED: [SaslMechanism; 4] =
    [SaslMechanism::Plain, SaslMechanism::ScramSha512, SaslMechanism::ScramSha256, SaslMechanism::OAuthBearer];

/// What a request or token leads to. `R` is what goes to the client.
#[derive(Debug)]
pub(crate) enum Step<R> {
    /// It has nothing to do with the login, and the client may send it.
    Pass,
    /// The client gets this, and goes on.
    Respond(R),
    /// The client gets this, and is known from now on.
    LoggedIn(R, Identity),
    /// The client gets this after a delay; then the connection is closed.
    Fail(Option<R>, String),
    /// The same with the error response of its API.
    Refuse(ErrorCode, String),
    /// The connection is closed at once.
    Close(String),
}

/// What a login depends on.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) config: &'a SecurityConfig,
    pub(crate) credentials: &'a Credentials,
    pub(crate) now_ms: i64,
}

/// The login of a connection, and the next ones on it (KIP-368).
#[derive(Debug)]
pub(crate) struct Login {
    phase: Phase,
    /// Who logged in before, and how.
    known: Option<(Principal, SaslMechanism)>,
    /// When requests are not allowed any more, in milliseconds since 1970.
    ends_at: Option<i64>,
    reauth_began: Option<i64>,
}

#[derive(Debug)]
enum Phase {
    /// ApiVersions or SaslHandshake is expected.
    Start,
    /// After ApiVersions, SaslHandshake is expected.
    Handshake,
    /// Tokens are expected, in SaslAuthenticate or, after SaslHandshake version 0, as they are.
    Tokens { raw: bool, mechanism: SaslMechanism, exchange: Exchange },
    /// The client wants another mechanism than before: its next frame ends the connection.
    OtherMechanism(String),
    /// The client has logged in.
    Done,
}

/// A token that was refused, and how the connection ends.
enum Failure {
    Fail(String),
    Close(String),
}

impl Login {
    pub(crate) fn new() -> Self {
        Self { phase: Phase::Start, known: None, ends_at: None, reauth_began: None }
    }

    /// Whether the client has logged in, and is not about to do it again.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done)
    }

    /// Whether the next frame is a token without a header.
    pub(crate) fn expects_raw(&self) -> bool {
        matches!(self.phase, Phase::Tokens { raw: true, .. } | Phase::OtherMechanism(_))
    }

    /// Takes a request.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn request(
        &mut self,
        request: &IncomingRequest,
        scene: Scene<'_>,
    ) -> Result<Step<Frame>, ConnectionError> {
        let api = request.api_key;
        match self.phase {
            Phase::Done => {
                let since = self.reauth_began.map(|began| scene.now_ms.saturating_sub(began));
                let may_again = self.ends_at.is_some() && since.is_none_or(|since| since >= MIN_REAUTH_INTERVAL_MS);
                if api == ApiKey::SASL_HANDSHAKE && may_again {
                    self.reauth_began = Some(scene.now_ms);
                    return self.handshake(request, scene);
                }
                if self.ends_at.is_some_and(|ends| ends < scene.now_ms) {
                    return Ok(Step::Close(format!("{api} after the session of the login had ended")));
                }
                Ok(Step::Pass)
            }
            Phase::Start if api == ApiKey::API_VERSIONS => {
                // After a request that is refused the client may ask again.
                if has_valid_software_name(&request.decode::<ApiVersionsRequest>()?, request.api_version) {
                    self.phase = Phase::Handshake;
                }
                Ok(Step::Pass)
            }
            Phase::Start | Phase::Handshake if api == ApiKey::SASL_HANDSHAKE => self.handshake(request, scene),
            Phase::Start | Phase::Handshake => Ok(Step::Close(format!("{api} before the login"))),
            Phase::Tokens { .. } if api == ApiKey::SASL_AUTHENTICATE => self.authenticate(request, scene),
            Phase::Tokens { .. } => Ok(Step::Refuse(ErrorCode::ILLEGAL_SASL_STATE, format!("{api} during the login"))),
            Phase::OtherMechanism(_) => Ok(Step::Close("a request in place of a token".to_owned())),
        }
    }

    /// Takes a token without a header.
    pub(crate) fn raw(&mut self, token: &[u8], scene: Scene<'_>) -> Step<Vec<u8>> {
        if let Phase::OtherMechanism(why) = &self.phase {
            return Step::Fail(None, why.clone());
        }
        match self.token(token, scene) {
            Ok((token, None, _)) => Step::Respond(token),
            Ok((token, Some(identity), _)) => Step::LoggedIn(token, identity),
            Err(Failure::Fail(why)) => Step::Fail(None, why),
            Err(Failure::Close(why)) => Step::Close(why),
        }
    }

    fn handshake(&mut self, request: &IncomingRequest, scene: Scene<'_>) -> Result<Step<Frame>, ConnectionError> {
        let wanted = request.decode::<SaslHandshakeRequest>()?.mechanism;
        let found = SaslMechanism::of_name(&wanted).filter(|wanted| scene.config.mechanisms.contains(wanted));
        let enabled = LISTED.iter().filter(|mechanism| scene.config.mechanisms.contains(mechanism));
        let response = SaslHandshakeResponse {
            error_code: if found.is_some() { ErrorCode::NONE } else { ErrorCode::UNSUPPORTED_SASL_MECHANISM },
            mechanisms: enabled.map(|mechanism| mechanism.name().into()).collect(),
        };
        let frame = frame_response(&response, request.api_version, request.correlation_id)?;
        let Some(mechanism) = found else {
            let why = "a mechanism that is not enabled".to_owned();
            return Ok(if self.known.is_some() { Step::Close(why) } else { Step::Fail(Some(frame), why) });
        };
        self.phase = match &self.known {
            Some((_, before)) if *before != mechanism => Phase::OtherMechanism(format!(
                "SASL mechanism '{mechanism}' requested by client is not supported for re-authentication of mechanism \
                 '{before}'"
            )),
            _ => Phase::Tokens { raw: request.api_version == 0, mechanism, exchange: Exchange::new(mechanism) },
        };
        Ok(Step::Respond(frame))
    }

    fn authenticate(&mut self, request: &IncomingRequest, scene: Scene<'_>) -> Result<Step<Frame>, ConnectionError> {
        let auth = request.decode::<SaslAuthenticateRequest>()?;
        let frame =
            |response: &SaslAuthenticateResponse| frame_response(response, request.api_version, request.correlation_id);
        Ok(match self.token(&auth.auth_bytes, scene) {
            Ok((token, identity, session_lifetime_ms)) => {
                let auth_bytes = token.into();
                let response = SaslAuthenticateResponse { auth_bytes, session_lifetime_ms, ..Default::default() };
                match identity {
                    None => Step::Respond(frame(&response)?),
                    Some(identity) => Step::LoggedIn(frame(&response)?, identity),
                }
            }
            Err(Failure::Fail(why)) => {
                let response = SaslAuthenticateResponse {
                    error_code: ErrorCode::SASL_AUTHENTICATION_FAILED,
                    error_message: Some(why.as_str().into()),
                    ..Default::default()
                };
                Step::Fail(Some(frame(&response)?), why)
            }
            Err(Failure::Close(why)) => Step::Close(why),
        })
    }

    /// The token for the client, who it is when the login is complete, and for how many milliseconds; 0 is for ever.
    fn token(&mut self, token: &[u8], scene: Scene<'_>) -> Result<(Vec<u8>, Option<Identity>, i64), Failure> {
        let Phase::Tokens { mechanism, exchange, .. } = &mut self.phase else {
            return Err(Failure::Close("a token where none is expected".to_owned()));
        };
        let mechanism = *mechanism;
        let (token, identity) = match exchange.evaluate(token, scene.credentials, scene.now_ms) {
            Ok(Progress::Challenge(token)) => return Ok((token, None, 0)),
            Ok(Progress::Done(token, identity)) => (token, identity),
            Err(Rejected::Message(why)) => return Err(Failure::Fail(why)),
            Err(Rejected::Credentials) => {
                let what = if self.known.is_some() { "re-authentication" } else { "authentication" };
                return Err(Failure::Fail(format!(
                    "Authentication failed during {what} due to invalid credentials with SASL mechanism {mechanism}"
                )));
            }
            Err(Rejected::Broken(why)) => return Err(Failure::Close(why.to_owned())),
        };
        let principal = Principal::user(&identity.name);
        if let Some((before, _)) = self.known.as_ref().filter(|(before, _)| *before != principal) {
            let text = |principal: &Principal| format!("{}.{}", principal.principal_type(), principal.name());
            let (before, now) = (text(before), text(&principal));
            return Err(Failure::Fail(format!(
                "Cannot change principals during re-authentication from {before}: {now}"
            )));
        }
        let lifetime = self.begin_session(&identity, scene)?;
        self.known = Some((principal, mechanism));
        self.phase = Phase::Done;
        Ok((token, Some(identity), lifetime))
    }

    /// Notes when the session ends; gives its milliseconds, 0 without an end.
    fn begin_session(&mut self, identity: &Identity, scene: Scene<'_>) -> Result<i64, Failure> {
        let left = identity.expires_at.map(|at| at.saturating_sub(scene.now_ms));
        let most = scene.config.max_reauth.map(|time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
        let Some(lifetime) = [left, most].into_iter().flatten().min().map(|lifetime| lifetime.max(0)) else {
            self.ends_at = None;
            return Ok(0);
        };
        if lifetime.checked_mul(NANOS_PER_MS).is_none() {
            return Err(Failure::Close("a credential that is valid for more than 292 years".to_owned()));
        }
        // What has expired already allows no request, even while the clock stands still.
        self.ends_at = Some(scene.now_ms.saturating_add(lifetime) - i64::from(lifetime == 0));
        Ok(lifetime)
    }
}
