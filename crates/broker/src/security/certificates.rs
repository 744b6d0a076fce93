use std::fmt;

use milena_transport::ServerTlsConfig;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};

use crate::error::BrokerError;
use crate::security::config::{ClientAuth, SecurityConfig};

/// The certificates of a cluster with TLS: what clients have to trust, and certificates for clients.
///
/// ```
/// use milena_broker::{Broker, BrokerConfig, SecurityConfig, SecurityProtocol};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let security = SecurityConfig { protocol: SecurityProtocol::Ssl, ..SecurityConfig::default() };
/// let broker = Broker::start(BrokerConfig { security, ..BrokerConfig::default() }).await?;
/// let tls = broker.tls().expect("there is a listener with TLS");
/// assert!(tls.ca_pem().starts_with("-----BEGIN CERTIFICATE-----"));
/// // ... `ssl.ca.location` of a client is a file with that text; `ssl.certificate.location` one with this ...
/// let alice = tls.client("alice")?;
/// assert!(alice.certificate_pem().starts_with("-----BEGIN CERTIFICATE-----"));
/// # Ok::<(), milena_broker::BrokerError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BrokerTls {
    ca_pem: String,
    /// `None` with certificates of one's own.
    issuer: Option<CertifiedIssuer<'static, KeyPair>>,
    server: ServerTlsConfig,
}

impl fmt::Debug for BrokerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrokerTls").field("server", &self.server).finish_non_exhaustive()
    }
}

/// A certificate for a client, and its key. `Debug` does not show the key.
#[derive(Clone)]
pub struct ClientCertificate {
    certificate: String,
    key: String,
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificate").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

impl ClientCertificate {
    /// The certificate as PEM.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate
    }

    /// The private key as PEM.
    pub fn key_pem(&self) -> &str {
        &self.key
    }
}

impl BrokerTls {
    /// Takes the certificates of the configuration, or makes a CA and a certificate for these names.
    ///
    /// # Errors
    /// A name cannot be in a certificate.
    pub(crate) fn new(config: &SecurityConfig, names: Vec<String>) -> Result<Self, BrokerError> {
        let (ca_pem, issuer, chain, key) = match &config.certificates {
            Some(own) => (own.ca_pem.clone(), None, own.chain_pem.clone(), own.key_pem.0.clone()),
            None => {
                let (issuer, chain, key) = generate(names).map_err(tls_error)?;
                (issuer.pem(), Some(issuer), chain, key)
            }
        };
        let server = ServerTlsConfig {
            certificate_chain: chain,
            private_key: key,
            client_ca: (config.client_auth != ClientAuth::None).then(|| ca_pem.clone()),
            client_required: config.client_auth == ClientAuth::Required,
        };
        Ok(Self { ca_pem, issuer, server })
    }

    pub(crate) fn server(&self) -> &ServerTlsConfig {
        &self.server
    }

    /// The certificate of the CA that clients have to trust, as PEM.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// A certificate for a client, which is then `User:CN=name`, if the broker
    /// [asks for certificates](SecurityConfig::client_auth).
    ///
    /// # Errors
    /// The name cannot be in a certificate; the cluster has certificates of its own configuration, and so no key to sign
    /// others.
    pub fn client(&self, name: &str) -> Result<ClientCertificate, BrokerError> {
        let Some(issuer) = &self.issuer else {
            let reason = "only a generated CA can sign further certificates";
            return Err(BrokerError::Config { setting: "certificates", value: "Some".to_owned(), reason });
        };
        let make = || {
            let mut params = CertificateParams::new(Vec::new())?;
            params.distinguished_name.push(DnType::CommonName, name);
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            let key = KeyPair::generate()?;
            let certificate = params.signed_by(&key, issuer)?;
            Ok(ClientCertificate { certificate: certificate.pem(), key: key.serialize_pem() })
        };
        make().map_err(tls_error)
    }
}

type Generated = (CertifiedIssuer<'static, KeyPair>, String, String);

fn generate(names: Vec<String>) -> Result<Generated, rcgen::Error> {
    let mut ca = CertificateParams::new(Vec::new())?;
    ca.distinguished_name.push(DnType::CommonName, "milena broker CA");
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;
    let mut server = CertificateParams::new(names)?;
    server.distinguished_name.push(DnType::CommonName, "milena broker");
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = server.signed_by(&key, &issuer)?;
    Ok((issuer, certificate.pem(), key.serialize_pem()))
}

fn tls_error(error: rcgen::Error) -> BrokerError {
    BrokerError::Tls(error.to_string())
}
