//! The server's side of each SASL mechanism: tokens in, tokens out. No sockets and no clock: the time is an argument.

mod jwt;
mod oauth;
mod plain;
pub(crate) mod scram;

pub use self::jwt::{JwtKey, JwtKeyError, OAuthConfig};
use self::oauth::OAuth;
use self::plain::plain;
use self::scram::{Scram, ScramHash};
use crate::security::credentials::Credentials;
use crate::security::protocol::SaslMechanism;

/// Who a client has proved to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) name: String,
    /// Whether it logged in with a delegation token.
    pub(crate) by_token: bool,
    /// When what it logged in with expires, in milliseconds since 1970.
    pub(crate) expires_at: Option<i64>,
}

/// What a token of the client leads to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// This token goes to the client, which sends another one.
    Challenge(Vec<u8>),
    /// This token goes to the client, who is known now.
    Done(Vec<u8>, Identity),
}

/// Why a token is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rejected {
    /// The client gets this message.
    Message(String),
    /// The client gets a general message, which does not say whether there is such a user.
    Credentials,
    /// The connection is closed at once: Kafka fails with an exception of another kind.
    Broken(&'static str),
}

/// A login by one mechanism.
#[derive(Debug)]
pub(crate) enum Exchange {
    Plain,
    Scram(Scram),
    OAuth(OAuth),
}

impl Exchange {
    pub(crate) fn new(mechanism: SaslMechanism) -> Self {
        match mechanism {
            SaslMechanism::Plain => Self::Plain,
            SaslMechanism::ScramSha256 => Self::Scram(Scram::new(ScramHash::Sha256)),
            SaslMechanism::ScramSha512 => Self::Scram(Scram::new(ScramHash::Sha512)),
            SaslMechanism::OAuthBearer => Self::OAuth(OAuth::default()),
        }
    }

    /// Takes a token of the client.
    ///
    /// # Errors
    /// The token does not have the form of the mechanism, or proves nothing.
    pub(crate) fn evaluate(
        &mut self,
        token: &[u8],
        credentials: &Credentials,
        now_ms: i64,
    ) -> Result<Progress, Rejected> {
        match self {
            Self::Plain => plain(token, credentials),
            Self::Scram(scram) => scram.evaluate(token, credentials, now_ms),
            Self::OAuth(oauth) => oauth.evaluate(token, credentials.oauth(), now_ms),
        }
    }
}

/// A name as SCRAM and OAUTHBEARER write one: ASCII without `=` and `,`, which are `=3D` and `=2C`.
fn is_sasl_name(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('=') {
        if !(rest[at..].starts_with("=2C") || rest[at..].starts_with("=3D")) {
            return false;
        }
        rest = &rest[at + 3..];
    }
    !text.is_empty() && text.bytes().all(|byte| (1..0x80).contains(&byte) && byte != b',')
}
