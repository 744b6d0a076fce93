use std::fmt;

/// The certificate that a server presents, and which clients it trusts. `Debug` does not show the key.
///
/// It exists in every build, as [`TlsConfig`](crate::TlsConfig).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ServerTlsConfig {
    /// The certificate chain as PEM, the server's own first.
    pub certificate_chain: String,
    /// Its private key as PEM.
    pub private_key: String,
    /// CA certificates as PEM: clients are asked for a certificate of one of them. `None` asks for none.
    pub client_ca: Option<String>,
    /// Whether a client without a certificate is refused; it counts only with `client_ca`.
    pub client_required: bool,
}

impl fmt::Debug for ServerTlsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTlsConfig")
            .field("certificate_chain", &self.certificate_chain)
            .field("private_key", &"***")
            .field("client_ca", &self.client_ca)
            .field("client_required", &self.client_required)
            .finish()
    }
}
