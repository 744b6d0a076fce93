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
use crate::dial::HandshakeError;
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
    /// A file that cannot be read or holds no certificate or key; a key that does not belong to the certificate; a system
    /// without CA certificates when no file is named; a server name that is not a name.
    pub fn new(config: &TlsConfig) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::new("TLS", error))?;
        let verifier: Arc<dyn ServerCertVerifier> = if config.dangerously_unverified {
            Arc::new(Unverified(provider.signature_verification_algorithms))
        } else {
            verifier(config.ca.as_deref(), provider)?
        };
        // rustls calls every verifier of one's own dangerous; ours skips checks only with `dangerously_unverified`.
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

    pub(crate) async fn handshake(&self, address: &Address, stream: TcpStream) -> Result<Stream, HandshakeError> {
        let name = match &self.server_name {
            Some(name) => name.clone(),
            None => ServerName::try_from(address.host().to_owned())
                .map_err(|_| HandshakeError::Name(address.host().to_owned()))?,
        };
        match self.connector.connect(name, stream).await {
            Ok(stream) => Ok(Stream::Tls(Box::new(stream.into()))),
            Err(error) => Err(classified(error)),
        }
    }
}

/// What a failed handshake most likely means.
pub(crate) fn classified(error: io::Error) -> HandshakeError {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match tls {
        Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)) => HandshakeError::NotTls,
        Some(Error::InvalidCertificate(_) | Error::NoCertificatesPresented) => {
            HandshakeError::Certificate(Arc::new(error))
        }
        Some(Error::AlertReceived(_)) => HandshakeError::Refused(Arc::new(error)),
        None if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => {
            HandshakeError::Closed
        }
        _ => HandshakeError::Other(Arc::new(error)),
    }
}

fn verifier(ca: Option<&Path>, provider: Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, TlsError> {
    let (what, found) = match ca {
        Some(ca) => (ca.display().to_string(), certificates(ca)?),
        None => ("system certificates".to_owned(), rustls_native_certs::load_native_certs().certs),
    };
    let mut roots = RootCertStore::empty();
    // Some systems have certificates that cannot be parsed; the others still count.
    let (added, _) = roots.add_parsable_certificates(found);
    if added == 0 {
        return Err(TlsError::new(what, "it has no usable CA certificate"));
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| TlsError::new(what, error))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let failed = |error: &dyn fmt::Display| TlsError::new(file.display(), error);
    let all: Vec<_> =
        CertificateDer::pem_file_iter(file).and_then(Iterator::collect).map_err(|error| failed(&error))?;
    if all.is_empty() { Err(failed(&"it has no certificate in PEM form")) } else { Ok(all) }
}

/// Accepts every certificate, but still checks that the peer has its key.
#[derive(Debug)]
struct Unverified(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for Unverified {
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
