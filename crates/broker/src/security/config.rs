use std::fmt;
use std::time::Duration;

use crate::error::BrokerError;
use crate::security::delegation::DelegationTokenConfig;
use crate::security::protocol::{SaslMechanism, SecurityProtocol};
use crate::security::sasl::OAuthConfig;

/// Who may connect to a broker, and how. With the default everybody can, without a login.
///
/// ```
/// use milena_broker::{BrokerConfig, SecurityConfig, SecurityProtocol, User};
///
/// let security = SecurityConfig {
///     protocol: SecurityProtocol::SaslPlaintext,
///     users: vec![User::new("alice", "alice-secret")],
///     ..SecurityConfig::default()
/// };
/// let config = BrokerConfig { security, ..BrokerConfig::default() };
/// # let _ = config;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityConfig {
    /// What the first listener asks of clients, the one at [`BrokerConfig::port`](crate::BrokerConfig::port). Its name is
    /// that of the protocol. Default: [`SecurityProtocol::Plaintext`].
    pub protocol: SecurityProtocol,
    /// Further listeners of each node. Default: none.
    pub listeners: Vec<ListenerConfig>,
    /// Who can log in with a password. Clients add more users with AlterUserScramCredentials. Default: none.
    pub users: Vec<User>,
    /// How clients can log in. Default: all of [`SaslMechanism::ALL`].
    pub mechanisms: Vec<SaslMechanism>,
    /// Which JSON web tokens are accepted by OAUTHBEARER. Default: those without a signature, as in Kafka.
    pub oauth: OAuthConfig,
    /// Delegation tokens, which clients create and log in with by SCRAM. Default: none, as in Kafka.
    pub delegation_tokens: Option<DelegationTokenConfig>,
    /// The certificates of listeners with TLS. Default: `None`, a CA and certificates that are made at the start; see
    /// [`BrokerCluster::tls`](crate::BrokerCluster::tls).
    pub certificates: Option<Certificates>,
    /// Names and addresses of the generated certificate, besides `localhost`, the loopback addresses, and the hosts of the
    /// listeners. Default: none.
    pub certificate_names: Vec<String>,
    /// Whether listeners with TLS ask clients for a certificate. Kafka's `ssl.client.auth`. Default: [`ClientAuth::None`].
    pub client_auth: ClientAuth,
    /// How long a login is valid. Clients of KIP-368 log in again before, on the same connection; other connections are
    /// closed at their first request after it. Kafka's `connections.max.reauth.ms`. Default: `None`, for ever.
    pub max_reauth: Option<Duration>,
    /// How long a client waits for the response to a login that failed. Kafka's `connection.failed.authentication.delay.ms`.
    /// Default: 100 ms, as in Kafka.
    pub failed_login_delay: Duration,
    /// How long a client may take for the TLS handshake and the login together. Kafka has no such limit; there,
    /// `connections.max.idle.ms` ends a connection. Default: 60 seconds.
    pub login_timeout: Duration,
    /// Largest request in bytes before the login is complete. Kafka's `sasl.server.max.receive.size`. Default: 524,288.
    pub max_login_frame: usize,
}

impl Default for SecurityConfig {
    fn default() -> Self {
        Self {
            protocol: SecurityProtocol::Plaintext,
            listeners: Vec::new(),
            users: Vec::new(),
            mechanisms: SaslMechanism::ALL.to_vec(),
            oauth: OAuthConfig::default(),
            delegation_tokens: None,
            certificates: None,
            certificate_names: Vec::new(),
            client_auth: ClientAuth::None,
            max_reauth: None,
            failed_login_delay: Duration::from_millis(100),
            login_timeout: Duration::from_secs(60),
            max_login_frame: 524_288,
        }
    }
}

impl SecurityConfig {
    pub(crate) fn check(&self) -> Result<(), BrokerError> {
        let wrong = |setting, value: String, reason| Err(BrokerError::Config { setting, value, reason });
        let mut names = vec![self.protocol.name()];
        for listener in &self.listeners {
            if listener.name.is_empty() {
                return wrong("listeners", "\"\"".to_owned(), "a listener needs a name");
            }
            if names.contains(&&*listener.name) {
                return wrong("listeners", listener.name.clone(), "two listeners have this name");
            }
            names.push(&listener.name);
        }
        let protocols = self.listeners.iter().map(|listener| listener.protocol).chain([self.protocol]);
        if cfg!(not(feature = "tls")) && protocols.clone().any(SecurityProtocol::is_tls) {
            return wrong("protocol", "SSL".to_owned(), "this build has no TLS: turn on the feature `tls`");
        }
        if self.mechanisms.is_empty() && protocols.clone().any(SecurityProtocol::is_sasl) {
            return wrong("mechanisms", "empty".to_owned(), "a listener with login needs at least one");
        }
        if let Some(user) = self.users.iter().find(|user| user.name.is_empty() || user.password.0.is_empty()) {
            return wrong("users", format!("\"{}\"", user.name), "a user needs a name and a password");
        }
        if self.max_reauth.is_some_and(|time| time.is_zero()) {
            return wrong("max_reauth", "0".to_owned(), "at least 1 ms is expected");
        }
        Ok(())
    }
}

/// A listener of each node beside the first one.
///
/// ```
/// use milena_broker::{ListenerConfig, SecurityProtocol};
///
/// let listener = ListenerConfig { port: 9093, ..ListenerConfig::new("INTERNAL", SecurityProtocol::SaslPlaintext) };
/// # let _ = listener;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerConfig {
    /// Its name, such as `INTERNAL`, by which [`BrokerCluster::bootstrap_of`](crate::BrokerCluster::bootstrap_of) finds it.
    pub name: String,
    /// What it asks of clients.
    pub protocol: SecurityProtocol,
    /// Address or name to listen on. Default: that of the first listener.
    pub host: Option<String>,
    /// Port of the first node; each further node has the next one. Default: 0, which takes a free port for each.
    pub port: u16,
    /// Host that clients connect to. Default: as for the first listener.
    pub advertised_host: Option<String>,
    /// Port that clients of the first node connect to; each further node has the next one. Default: the port that the
    /// listener has.
    pub advertised_port: Option<u16>,
}

impl ListenerConfig {
    /// A listener on free ports.
    pub fn new(name: &str, protocol: SecurityProtocol) -> Self {
        Self { name: name.to_owned(), protocol, host: None, port: 0, advertised_host: None, advertised_port: None }
    }
}

/// Whether a client of TLS presents a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientAuth {
    /// It is not asked for one.
    #[default]
    None,
    /// It can. Without one it is `User:ANONYMOUS`.
    Requested,
    /// It must.
    Required,
}

/// Certificates of one's own, as PEM. `Debug` does not show the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificates {
    pub(crate) chain_pem: String,
    pub(crate) key_pem: Secret,
    pub(crate) ca_pem: String,
}

impl Certificates {
    /// The chain and key of the brokers, and the CA certificates that signed it, which also vouch for clients.
    pub fn new(chain_pem: &str, key_pem: &str, ca_pem: &str) -> Self {
        Self { chain_pem: chain_pem.to_owned(), key_pem: Secret(key_pem.to_owned()), ca_pem: ca_pem.to_owned() }
    }
}

/// Somebody who can log in with a password, by PLAIN and SCRAM. `Debug` does not show the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub(crate) name: String,
    pub(crate) password: Secret,
    pub(crate) mechanism: Option<SaslMechanism>,
}

impl User {
    /// A user of every mechanism with passwords.
    pub fn new(name: &str, password: &str) -> Self {
        Self { name: name.to_owned(), password: Secret(password.to_owned()), mechanism: None }
    }

    /// The same user, who can log in by this mechanism only.
    #[must_use]
    pub fn only_by(self, mechanism: SaslMechanism) -> Self {
        Self { mechanism: Some(mechanism), ..self }
    }

    /// The name, which becomes that of the principal.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Text that `Debug` does not show.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_password() {
        let config = SecurityConfig { users: vec![User::new("alice", "hush")], ..SecurityConfig::default() };
        let text = format!("{config:?}");
        assert!(text.contains("alice") && !text.contains("hush"), "{text}");
    }

    #[test]
    fn settings_that_cannot_work_are_refused() {
        let sasl = || SecurityConfig { protocol: SecurityProtocol::SaslPlaintext, ..SecurityConfig::default() };
        let text = |config: SecurityConfig| config.check().unwrap_err().to_string();
        let twice = vec![ListenerConfig::new("SASL_PLAINTEXT", SecurityProtocol::Ssl)];
        assert_eq!(
            text(SecurityConfig { listeners: twice, ..sasl() }),
            "listeners cannot be SASL_PLAINTEXT: two listeners have this name"
        );
        assert_eq!(
            text(SecurityConfig { mechanisms: Vec::new(), ..sasl() }),
            "mechanisms cannot be empty: a listener with login needs at least one"
        );
        assert_eq!(
            text(SecurityConfig { users: vec![User::new("alice", "")], ..sasl() }),
            "users cannot be \"alice\": a user needs a name and a password"
        );
    }
}
