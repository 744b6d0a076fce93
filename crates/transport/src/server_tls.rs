use std::fmt;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::dial::HandshakeError;
use crate::server_tls_config::ServerTlsConfig;
use crate::stream::Stream;
use crate::tls::classified;
use crate::tls_config::TlsError;

/// TLS for connections that a server accepts, version 1.2 and 1.3. Cheap to clone.
#[derive(Clone)]
pub struct ServerTls(TlsAcceptor);

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerTls").finish_non_exhaustive()
    }
}

impl ServerTls {
    /// Reads certificates and key.
    ///
    /// # Errors
    /// Text that holds no certificate or key; a key that does not belong to the certificate.
    pub fn new(config: &ServerTlsConfig) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::new("TLS", error))?;
        let builder = match &config.client_ca {
            None => builder.with_no_client_auth(),
            Some(ca) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates("client CA", ca)? {
                    roots.add(certificate).map_err(|error| TlsError::new("client CA", error))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                let verifier = if config.client_required { verifier } else { verifier.allow_unauthenticated() }.build();
                builder.with_client_cert_verifier(verifier.map_err(|error| TlsError::new("client CA", error))?)
            }
        };
        let chain = certificates("certificate", &config.certificate_chain)?;
        let key = PrivateKeyDer::from_pem_slice(config.private_key.as_bytes())
            .map_err(|error| TlsError::new("private key", error))?;
        let server = builder.with_single_cert(chain, key).map_err(|error| TlsError::new("certificate", error))?;
        Ok(Self(TlsAcceptor::from(Arc::new(server))))
    }

    /// Does the handshake on a connection that was accepted. It has no time limit of its own.
    ///
    /// # Errors
    /// The client speaks no TLS, does not trust the certificate, or has none that is trusted here.
    pub async fn accept(&self, stream: TcpStream) -> Result<Stream, HandshakeError> {
        match self.0.accept(stream).await {
            Ok(stream) => Ok(Stream::Tls(Box::new(stream.into()))),
            Err(error) => Err(classified(error)),
        }
    }
}

fn certificates(what: &str, pem: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let all = read.map_err(|error| TlsError::new(what, error))?;
    if all.is_empty() { Err(TlsError::new(what, "it has no certificate in PEM form")) } else { Ok(all) }
}
