//! Listeners, TLS and logins of the broker.

#[cfg(feature = "tls")]
use std::path::Path;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use milena_broker::{
    BrokerCluster, ClientAuth, DelegationTokenConfig, ListenerConfig, SaslMechanism, SecurityConfig, SecurityProtocol,
    User,
};

use crate::failure::{Failure, Result};

#[derive(Args, Debug)]
pub(super) struct Security {
    /// Let a user log in, as name:password or name:password:mechanism; all clients have to log in then
    #[arg(long, value_name = "USER")]
    user: Vec<NewUser>,

    /// Encrypt connections
    #[arg(long, requires = "certificates")]
    tls: bool,

    /// Write ca.pem, the certificate that clients have to trust, into this folder
    #[arg(long, value_name = "DIR")]
    certificates: Option<PathBuf>,

    /// Ask clients for a certificate; client.pem and client.key in the folder of --certificates are one
    #[arg(long, value_name = "WHETHER", value_enum, requires = "tls")]
    client_auth: Option<ClientCertificates>,

    /// Another listener of each node, as name=protocol:port, such as inside=sasl_plaintext:9095; port 0 takes free ones
    #[arg(long, value_name = "LISTENER")]
    listener: Vec<NewListener>,

    /// Mechanism that clients can log in by; all of them unless given
    #[arg(long, value_name = "NAME")]
    mechanism: Vec<SaslMechanism>,

    /// End a login after so many milliseconds, unless the client logs in again
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    max_reauth: Option<u64>,

    /// Let clients create delegation tokens, signed with this secret
    #[arg(long, value_name = "SECRET")]
    token_secret: Option<String>,
}

/// Whether a client has to present a certificate.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ClientCertificates {
    /// It can
    Requested,
    /// It must
    Required,
}

impl Security {
    /// What the broker starts with.
    pub(super) fn config(&self) -> SecurityConfig {
        let logins = !self.user.is_empty() || !self.mechanism.is_empty();
        let protocol = match (self.tls, logins) {
            (false, false) => SecurityProtocol::Plaintext,
            (true, false) => SecurityProtocol::Ssl,
            (false, true) => SecurityProtocol::SaslPlaintext,
            (true, true) => SecurityProtocol::SaslSsl,
        };
        let default = SecurityConfig::default();
        SecurityConfig {
            protocol,
            listeners: self.listener.iter().map(|listener| listener.0.clone()).collect(),
            users: self.user.iter().map(|user| user.0.clone()).collect(),
            mechanisms: if self.mechanism.is_empty() { default.mechanisms } else { self.mechanism.clone() },
            client_auth: match self.client_auth {
                None => ClientAuth::None,
                Some(ClientCertificates::Requested) => ClientAuth::Requested,
                Some(ClientCertificates::Required) => ClientAuth::Required,
            },
            max_reauth: self.max_reauth.map(Duration::from_millis),
            delegation_tokens: self.token_secret.as_deref().map(DelegationTokenConfig::new),
            ..default
        }
    }

    /// Writes the certificates that clients need.
    ///
    /// # Errors
    /// The folder or a file cannot be written.
    #[cfg(feature = "tls")]
    pub(super) fn write_certificates(&self, cluster: &BrokerCluster) -> Result {
        let (Some(folder), Some(tls)) = (&self.certificates, cluster.tls()) else { return Ok(()) };
        std::fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
        write(folder, "ca.pem", tls.ca_pem())?;
        if self.client_auth.is_some() {
            let client = tls.client("client").map_err(Failure::failed)?;
            write(folder, "client.pem", client.certificate_pem())?;
            write(folder, "client.key", client.key_pem())?;
        }
        Ok(())
    }

    #[cfg(not(feature = "tls"))]
    pub(super) fn write_certificates(&self, _: &BrokerCluster) -> Result {
        Ok(())
    }

    /// The names of all listeners, the first one in front.
    pub(super) fn listener_names(&self) -> Vec<String> {
        let config = self.config();
        let first = config.protocol.name().to_owned();
        std::iter::once(first).chain(config.listeners.into_iter().map(|listener| listener.name)).collect()
    }
}

#[cfg(feature = "tls")]
fn write(folder: &Path, name: &str, text: &str) -> Result {
    let path = folder.join(name);
    std::fs::write(&path, text).map_err(|error| unwritten(&path, &error))
}

#[cfg(feature = "tls")]
fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("{}: {error}", path.display()))
}

/// A user as an option describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NewUser(User);

impl FromStr for NewUser {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let (name, rest) = text.split_once(':').ok_or("a user is name:password or name:password:mechanism")?;
        // Colons may be part of the password.
        let mechanism = rest.rsplit_once(':').and_then(|(front, last)| Some((front, last.parse().ok()?)));
        let (password, mechanism) = mechanism.map_or((rest, None), |(front, mechanism)| (front, Some(mechanism)));
        if name.is_empty() || password.is_empty() {
            return Err("a user needs a name and a password");
        }
        if mechanism == Some(SaslMechanism::OAuthBearer) {
            return Err("OAUTHBEARER has no passwords; clients log in with a token");
        }
        let user = User::new(name, password);
        Ok(Self(mechanism.map_or(user.clone(), |mechanism| user.only_by(mechanism))))
    }
}

/// A listener as an option describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NewListener(ListenerConfig);

impl FromStr for NewListener {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let split = || {
            let (name, rest) = text.split_once('=')?;
            let (protocol, port) = rest.rsplit_once(':')?;
            Some((name, protocol, port))
        };
        let (name, protocol, port) = split().ok_or("a listener is name=protocol:port")?;
        let protocol = protocol.parse().map_err(|error: milena_broker::SecurityNameError| error.to_string())?;
        let port = port.parse().map_err(|_| format!("`{port}` is not a port"))?;
        Ok(Self(ListenerConfig { port, ..ListenerConfig::new(name, protocol) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_a_password_and_perhaps_a_mechanism() {
        let read = |text: &str| text.parse::<NewUser>().map(|user| user.0);
        assert_eq!(read("alice:secret"), Ok(User::new("alice", "secret")));
        assert_eq!(read("alice:a:b"), Ok(User::new("alice", "a:b")));
        let only = User::new("alice", "a:b").only_by(SaslMechanism::ScramSha512);
        assert_eq!(read("alice:a:b:scram-sha-512"), Ok(only));
        for bad in ["alice", "alice:", ":secret", "", "alice:secret:oauthbearer"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_listener_has_a_name_a_protocol_and_a_port() {
        let read = |text: &str| text.parse::<NewListener>().map(|listener| listener.0);
        let inside = ListenerConfig { port: 9095, ..ListenerConfig::new("inside", SecurityProtocol::SaslSsl) };
        assert_eq!(read("inside=sasl_ssl:9095"), Ok(inside));
        assert_eq!(read("inside"), Err("a listener is name=protocol:port".to_owned()));
        assert_eq!(read("inside=ssl:x"), Err("`x` is not a port".to_owned()));
        assert!(read("inside=tls:1").unwrap_err().starts_with("`tls` is no security protocol"));
    }
}
