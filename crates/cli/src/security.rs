use std::path::PathBuf;

use clap::Args;
use milena_client::{Tls, TlsConfig};

use crate::failure::{Failure, Result};

/// Whether brokers are spoken to inside of TLS, and whom to believe. Any of these turns TLS on.
#[derive(Args, Clone, Debug)]
pub(crate) struct Security {
    /// Speak TLS to the brokers; those are believed whom the system trusts
    #[arg(long, help_heading = "TLS")]
    tls: bool,

    /// Believe brokers that a certificate of this file vouches for (PEM); implies --tls
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    tls_ca: Option<PathBuf>,

    /// Show this certificate to brokers that ask for one (PEM); implies --tls
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "TLS")]
    tls_cert: Option<PathBuf>,

    /// The private key of --tls-cert (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "TLS")]
    tls_key: Option<PathBuf>,

    /// The name that the brokers' certificates have to show, if not the host; implies --tls
    #[arg(long, value_name = "HOST", help_heading = "TLS")]
    tls_name: Option<String>,

    /// Believe any broker, whoever it is: everything can be read and changed on the way
    #[arg(long, conflicts_with = "tls_ca", help_heading = "TLS")]
    tls_no_verify: bool,
}

impl Security {
    /// Whether any of it was asked for.
    pub(crate) fn is_wanted(&self) -> bool {
        self.tls
            || self.tls_no_verify
            || [&self.tls_ca, &self.tls_cert].iter().any(|file| file.is_some())
            || self.tls_name.is_some()
    }

    /// TLS as asked for; `None` for plain connections.
    ///
    /// # Errors
    /// A file that cannot be used.
    pub(crate) fn tls(&self) -> Result<Option<Tls>> {
        if !self.is_wanted() {
            return Ok(None);
        }
        if self.tls_no_verify {
            eprintln!("warning: --tls-no-verify: nobody checks who the brokers are; do not use this but for tests");
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
