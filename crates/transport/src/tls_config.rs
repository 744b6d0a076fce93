use std::fmt;
use std::path::PathBuf;

/// Which certificates to trust, and which to present.
///
/// It exists in every build, so that programs need not change with the feature `tls`; a build without it refuses to make
/// a [`Tls`](crate::Tls) of it.
///
/// ```
/// use milena_transport::TlsConfig;
///
/// let config = TlsConfig { ca: Some("ca.pem".into()), ..TlsConfig::default() };
/// # let _ = config;
/// ```
#[derive(Clone, Debug, Default)]
pub struct TlsConfig {
    /// PEM file with the CA certificates to trust. `None` trusts those of the system.
    pub ca: Option<PathBuf>,
    /// PEM files with this side's certificate chain and its private key, for brokers that ask for a certificate.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name that the brokers' certificates must have, when it is not the host that is dialled.
    pub server_name: Option<String>,
    /// Accepts any certificate: anybody in between can read and change the traffic. For tests only.
    pub dangerously_unverified: bool,
}

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct TlsError {
    what: String,
    why: String,
}

impl TlsError {
    pub(crate) fn new(what: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self { what: what.to_string(), why: why.to_string() }
    }
}
