use std::fmt;
use std::str::FromStr;

/// What a listener asks of clients: Kafka's security protocols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SecurityProtocol {
    /// No encryption and no login: every client is `User:ANONYMOUS`.
    #[default]
    Plaintext,
    /// TLS. A client with a certificate is known by its subject, such as `User:CN=alice`, others are `User:ANONYMOUS`.
    Ssl,
    /// A login by SASL, without encryption.
    SaslPlaintext,
    /// A login by SASL inside of TLS.
    SaslSsl,
}

impl SecurityProtocol {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Plaintext, Self::Ssl, Self::SaslPlaintext, Self::SaslSsl];

    /// The name in settings of Kafka, such as `SASL_SSL`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plaintext => "PLAINTEXT",
            Self::Ssl => "SSL",
            Self::SaslPlaintext => "SASL_PLAINTEXT",
            Self::SaslSsl => "SASL_SSL",
        }
    }

    /// Whether connections are encrypted.
    pub fn is_tls(self) -> bool {
        matches!(self, Self::Ssl | Self::SaslSsl)
    }

    /// Whether clients log in.
    pub fn is_sasl(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }
}

impl fmt::Display for SecurityProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SecurityProtocol {
    type Err = SecurityNameError;

    /// Reads a name in any case; `-` counts as `_`.
    fn from_str(text: &str) -> Result<Self, SecurityNameError> {
        let wanted = text.replace('-', "_");
        let found = Self::ALL.into_iter().find(|protocol| protocol.name().eq_ignore_ascii_case(&wanted));
        found.ok_or_else(|| SecurityNameError::new("security protocol", text, &Self::ALL.map(Self::name)))
    }
}

/// How clients log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SaslMechanism {
    /// Name and password as they are (RFC 4616).
    Plain,
    /// A proof that the client knows the password, with SHA-256 (RFC 7677).
    ScramSha256,
    /// The same with SHA-512.
    ScramSha512,
    /// A JSON web token (RFC 7628, KIP-255).
    OAuthBearer,
}

impl SaslMechanism {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Plain, Self::ScramSha256, Self::ScramSha512, Self::OAuthBearer];

    /// The name in SaslHandshake, such as `SCRAM-SHA-256`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
            Self::OAuthBearer => "OAUTHBEARER",
        }
    }

    /// The mechanism with exactly this name, as SaslHandshake has it.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mechanism| mechanism.name() == name)
    }
}

impl fmt::Display for SaslMechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SaslMechanism {
    type Err = SecurityNameError;

    /// Reads a name in any case.
    fn from_str(text: &str) -> Result<Self, SecurityNameError> {
        let found = Self::ALL.into_iter().find(|mechanism| mechanism.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| SecurityNameError::new("SASL mechanism", text, &Self::ALL.map(Self::name)))
    }
}

/// Text that is no [`SecurityProtocol`] or [`SaslMechanism`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {what}; there are {known}")]
pub struct SecurityNameError {
    what: &'static str,
    text: String,
    known: String,
}

impl SecurityNameError {
    fn new(what: &'static str, text: &str, known: &[&str]) -> Self {
        Self { what, text: text.to_owned(), known: known.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_any_case() {
        for protocol in SecurityProtocol::ALL {
            assert_eq!(protocol.name().to_lowercase().parse(), Ok(protocol));
        }
        assert_eq!("sasl-ssl".parse(), Ok(SecurityProtocol::SaslSsl));
        assert_eq!("scram-sha-512".parse(), Ok(SaslMechanism::ScramSha512));
        assert_eq!(
            "TLS".parse::<SecurityProtocol>().unwrap_err().to_string(),
            "`TLS` is no security protocol; there are PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"
        );
    }
}
