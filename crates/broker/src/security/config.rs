use std::fmt;
use std::time::Duration;

use crate::error::BrokerError;
use crate::security::protocol::{SaslMechanism, SecurityProtocol};

/// Who may connect to a broker, and how. With the default everybody can, without a login.
///
/// ```
/// use milena_broker::{BrokerConfig, SecurityConfig, SecurityProtocol, User};
///
/// let security = SecurityConfig {
///     protocol: SecurityProtocol::Plaintext,
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
        if let Some(protocol) = protocols.clone().find(|protocol| *protocol != SecurityProtocol::Plaintext) {
            return wrong("protocol", protocol.to_string(), "PLAINTEXT is the only one yet");
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
}
