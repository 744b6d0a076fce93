//! What all commands that talk to brokers share: options, the client, hints about its errors.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use milena_client::{
    Client, ClientConfig, ConnectCause, Error, HandshakeError, Misbehaviour, Observer, Origin, Report,
};
use milena_connection::{ConnectionError, Foreign};
use milena_messages::ErrorCode;
use milena_transport::Address;
use tokio::runtime::Runtime;

use crate::conversation::Conversation;
use crate::failure::{Failure, Result};
use crate::security::Security;

/// Where the cluster is, and how to talk to it.
#[derive(Args, Debug)]
pub(crate) struct Network {
    /// Brokers to connect to first; one that responds is enough, it names the others
    #[arg(long, short, value_name = "HOST:PORT", value_delimiter = ',', default_value = "localhost:9092")]
    bootstrap: Vec<String>,

    #[command(flatten)]
    manner: Manner,
}

/// How to talk to brokers: how long to try, how much to print, and whether over TLS.
#[derive(Args, Clone, Debug)]
pub(crate) struct Manner {
    /// Give up after this time, such as 500ms, 10s or 2m
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = positive_duration)]
    timeout: Duration,

    /// Print on stderr which frames are sent and received
    #[arg(long, short)]
    verbose: bool,

    #[command(flatten)]
    security: Security,
}

impl Network {
    /// A connection to the cluster.
    pub(crate) async fn connect(&self) -> Result<Client> {
        self.manner.connect(self.bootstrap.clone()).await
    }

    /// When to give up.
    pub(crate) fn timeout(&self) -> Duration {
        self.manner.timeout
    }

    /// A connection to the cluster, with a change to the configuration.
    pub(crate) async fn connect_with(&self, change: impl FnOnce(&mut ClientConfig)) -> Result<Client> {
        self.manner.connect_with(self.bootstrap.clone(), change).await
    }
}

impl Manner {
    /// A connection to a cluster.
    pub(crate) async fn connect(&self, bootstrap: Vec<String>) -> Result<Client> {
        self.connect_with(bootstrap, |_| ()).await
    }

    async fn connect_with(&self, bootstrap: Vec<String>, change: impl FnOnce(&mut ClientConfig)) -> Result<Client> {
        let observer = self.verbose.then(|| Arc::new(Conversation::to_stderr()) as Arc<dyn Observer>);
        if self.verbose {
            log_to_stderr();
        }
        let mut config = self.config(bootstrap, observer)?;
        change(&mut config);
        Ok(Client::connect(config).await?)
    }

    /// Whether to talk to brokers over TLS.
    pub(crate) fn wants_tls(&self) -> bool {
        self.security.is_wanted()
    }

    /// The configuration of a client.
    ///
    /// # Errors
    /// An address is not `host:port`; the files for TLS cannot be used.
    pub(crate) fn config(&self, bootstrap: Vec<String>, observer: Option<Arc<dyn Observer>>) -> Result<ClientConfig> {
        let bootstrap: Vec<String> = bootstrap.into_iter().map(with_port).collect();
        for address in &bootstrap {
            Address::parse(address).map_err(|error| Failure::usage(format!("--bootstrap: {error}")))?;
        }
        Ok(ClientConfig {
            bootstrap,
            connect_timeout: self.timeout,
            request_timeout: self.timeout,
            deadline: self.timeout,
            unknown_topic_grace: self.timeout.min(Duration::from_secs(1)),
            observer,
            tls: self.security.tls()?,
            ..ClientConfig::default()
        })
    }
}

/// The address with Kafka's usual port, if it has none.
pub(crate) fn with_port(address: String) -> String {
    let host_only = !address.contains(':') || address.ends_with(']');
    if host_only { format!("{address}:9092") } else { address }
}

/// Runs a future to its end, on this thread.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    runtime()?.block_on(work)
}

fn runtime() -> Result<Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::failed(format!("cannot start the runtime: {error}")))
}

/// Waits for Ctrl-C or SIGTERM.
#[cfg(unix)]
pub(crate) async fn stopped() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        result = tokio::signal::ctrl_c() => result,
        _ = terminate.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
pub(crate) async fn stopped() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}

/// Prints events of `tracing` on stderr, in colour only on a terminal. A subscriber that is set already stays.
fn log_to_stderr() {
    let colour = io::stderr().is_terminal();
    let _ = tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(colour).without_time().try_init();
}

/// A time in which something can happen.
fn positive_duration(text: &str) -> std::result::Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("it has to be more than 0".to_owned()),
        time => Ok(time),
    }
}

/// A number with a unit; seconds without one.
pub(crate) fn duration(text: &str) -> std::result::Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("there is no unit `{unit}`, only ms, s, m and h")),
    };
    let number: f64 = number.parse().map_err(|_| "a time is a number with a unit, such as 500ms or 10s".to_owned())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = Self::failed(Report(&error));
        match hint(&error) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// What to do about an error, where there is something to say.
fn hint(error: &Error) -> Option<&'static str> {
    match error {
        Error::Deadline { last, .. } => hint(last),
        Error::PartlyWritten { first, .. } => hint(first),
        Error::Unreachable(errors) => errors.first().and_then(hint),
        Error::Connect { origin, cause, .. } => connect_hint(*origin, cause),
        Error::Timeout { .. } => Some("the broker may be stopped or overloaded; --timeout waits longer"),
        Error::Misbehaved {
            cause: Misbehaviour::Protocol(ConnectionError::Foreign(Foreign::TlsAlert | Foreign::TlsHandshake)),
            ..
        } => Some(USE_TLS),
        Error::NoLeader { .. } => Some("`milena metadata` shows which brokers are alive and which hold its replicas"),
        Error::OffsetOutOfRange { .. } => Some("`milena offsets` shows which offsets there are"),
        Error::Broker { code, .. } if *code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => {
            Some("`milena topics list` shows the topics, `milena topics create` creates one")
        }
        _ => None,
    }
}

const USE_TLS: &str = "--tls connects with TLS";

/// What to do about a connection that was not made.
fn connect_hint(origin: Origin, cause: &ConnectCause) -> Option<&'static str> {
    match (origin, cause) {
        (_, ConnectCause::ClosedOnApiVersions) => Some(USE_TLS),
        (_, ConnectCause::Tls(HandshakeError::Certificate(_))) => {
            Some("--tls-ca trusts the CA certificates in a file, --tls-name sets the name that certificates must have")
        }
        (_, ConnectCause::Tls(_)) => Some("is this the TLS port of the broker?"),
        (_, ConnectCause::SilentOnApiVersions(_)) => {
            Some("is this the port of a Kafka broker, and the one without TLS? --timeout waits longer")
        }
        (Origin::Advertised(_), _) => {
            Some("clients must reach each broker at the address that it advertises: see its advertised.listeners")
        }
        (_, ConnectCause::Io(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
            Some("nothing listens there; `milena broker` starts a broker, --bootstrap names another address")
        }
        (_, ConnectCause::Resolve(_)) => Some("check the host in --bootstrap"),
        (_, ConnectCause::Timeout(_)) => Some("check the address in --bootstrap; --timeout waits longer"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert!(positive_duration("0s").is_err());
        for wrong in ["", "s", "10 parsecs", "-1s", "nan", "1e300s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_host_alone_has_the_usual_port() {
        assert_eq!(with_port("kafka".into()), "kafka:9092");
        assert_eq!(with_port("[::1]".into()), "[::1]:9092");
        assert_eq!(with_port("kafka:1".into()), "kafka:1");
    }
}
