use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error, InvalidMessage, RootCertStore, SignatureScheme,
};

use crate::address::Address;
use crate::dial::DialError;
use crate::stream::Stream;
use crate::tls_config::{TlsConfig, TlsError};

/// TLS for connections, version 1.2 and 1.3. Cheap to clone; the files were read when it was made.
#[derive(Clone)]
pub struct Tls {
    connector: TlsConnector,
    server_name: Option<ServerName<'static>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("server_name", &self.server_name).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// A file that cannot be read or holds no certificate or key; a key that is not that of the certificate; a system
    /// that trusts nobody when no CA is named; a server name that cannot be.
    pub fn new(config: &TlsConfig) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::new("TLS", error))?;
        let verifier: Arc<dyn ServerCertVerifier> = if config.dangerously_unverified {
            Arc::new(Anybody(provider.signature_verification_algorithms))
        } else {
            verifier(config.ca.as_deref(), provider)?
        };
        // What is named dangerous is our own verifier, which stands behind `dangerously_unverified` alone.
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let client = match &config.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificates(certificate)?;
                let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| TlsError::new(key.display(), error))?;
                builder.with_client_auth_cert(chain, secret).map_err(|error| {
                    TlsError::new(format!("{} with {}", certificate.display(), key.display()), error)
                })?
            }
        };
        let server_name = config.server_name.clone().map(|name| {
            ServerName::try_from(name.clone()).map_err(|error| TlsError::new(format!("server name `{name}`"), error))
        });
        Ok(Self { connector: TlsConnector::from(Arc::new(client)), server_name: server_name.transpose()? })
    }

    pub(crate) async fn handshake(&self, address: &Address, stream: TcpStream) -> Result<Stream, DialError> {
        let name = match &self.server_name {
            Some(name) => name.clone(),
            None => ServerName::try_from(address.host().to_owned()).map_err(|error| {
                DialError::Tls(format!("`{}` cannot stand in a certificate: {error}", address.host()))
            })?,
        };
        match self.connector.connect(name, stream).await {
            Ok(stream) => Ok(Stream::Tls(Box::new(stream))),
            Err(error) => Err(explained(&error)),
        }
    }
}

/// What a failed handshake most likely means.
fn explained(error: &io::Error) -> DialError {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    DialError::Tls(match tls {
        Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            "the peer does not speak TLS: this may be its plain port".to_owned()
        }
        Some(error) => error.to_string(),
        None if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => {
            "the peer closed the connection during the handshake; a plain port of Kafka does so".to_owned()
        }
        None => error.to_string(),
    })
}

fn verifier(ca: Option<&Path>, provider: Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, TlsError> {
    let (what, found) = match ca {
        Some(ca) => (ca.display().to_string(), certificates(ca)?),
        None => ("certificates of the system".to_owned(), rustls_native_certs::load_native_certs().certs),
    };
    let mut roots = RootCertStore::empty();
    // Systems keep certificates that nobody can read, and the others are good all the same.
    let (added, _) = roots.add_parsable_certificates(found);
    if added == 0 {
        return Err(TlsError::new(what, "no certificate of an authority that could be used"));
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| TlsError::new(what, error))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let failed = |error: &dyn fmt::Display| TlsError::new(file.display(), error);
    let all: Vec<_> =
        CertificateDer::pem_file_iter(file).and_then(Iterator::collect).map_err(|error| failed(&error))?;
    if all.is_empty() { Err(failed(&"no certificate as PEM")) } else { Ok(all) }
}

/// Believes anybody who can sign at all.
#[derive(Debug)]
struct Anybody(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        tokio_rustls::rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        tokio_rustls::rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
