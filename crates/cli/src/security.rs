use std::path::PathBuf;

use clap::Args;
use milena_client::{Tls, TlsConfig};

use crate::failure::{Failure, Result};

/// Whether to talk to brokers over TLS, and which brokers to trust. Any of these options turns TLS on.
#[derive(Args, Clone, Debug)]
pub(crate) struct Security {
    /// Connect with TLS; trust the CA certificates of the system unless --tls-ca is given
    #[arg(long, help_heading = "TLS")]
    tls: bool,

    /// Trust the CA certificates in this PEM file; implies --tls
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    tls_ca: Option<PathBuf>,

    /// Client certificate in PEM, for brokers that ask for one; implies --tls
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "TLS")]
    tls_cert: Option<PathBuf>,

    /// Private key of --tls-cert, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "TLS")]
    tls_key: Option<PathBuf>,

    /// Name that the certificates of brokers must have, if not their host; implies --tls
    #[arg(long, value_name = "HOST", help_heading = "TLS")]
    tls_name: Option<String>,

    /// Accept any certificate: others on the network can then read and change everything
    #[arg(long, conflicts_with = "tls_ca", help_heading = "TLS")]
    tls_no_verify: bool,
}

impl Security {
    /// Whether any of these options is given.
    pub(crate) fn is_wanted(&self) -> bool {
        self.tls
            || self.tls_no_verify
            || [&self.tls_ca, &self.tls_cert].iter().any(|file| file.is_some())
            || self.tls_name.is_some()
    }

    /// TLS as these options say; `None` for plain connections.
    ///
    /// # Errors
    /// A file that cannot be used.
    pub(crate) fn tls(&self) -> Result<Option<Tls>> {
        if !self.is_wanted() {
            return Ok(None);
        }
        if self.tls_no_verify {
            eprintln!("warning: --tls-no-verify: the identity of brokers is not checked; use this only for tests");
        }
        let config = TlsConfig {
            ca: self.tls_ca.clone(),
            identity: self.tls_cert.clone().zip(self.tls_key.clone()),
            server_name: self.tls_name.clone(),
            dangerously_unverified: self.tls_no_verify,
        };
        Tls::new(&config).map(Some).map_err(|error| Failure::failed(format!("TLS: {error}")))
    }
}
