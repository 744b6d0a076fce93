//! Dialling servers of rustls with certificates made for the test.

#![cfg(feature = "tls")]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use milena_transport::{Address, DialError, HandshakeError, Stream, Tls, TlsConfig, dial};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("milena-transport-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Certificate and key, as PEM.
    fn issue(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

/// A server that says how many certificates the client showed, and then what it hears.
async fn server(authority: &Authority, name: &str, asks: bool) -> Address {
    let (certificate, key) = authority.issue(name);
    let builder = ServerConfig::builder_with_provider(Arc::new(tokio_rustls::rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.0.pem().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let builder = match asks {
        true => builder.with_client_cert_verifier(
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap(),
        ),
        false => builder.with_no_client_auth(),
    };
    let config = builder
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        )
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(socket).await else { continue };
            let shown = stream.get_ref().1.peer_certificates().map_or(0, <[_]>::len);
            let _ = stream.write_u8(u8::try_from(shown).unwrap()).await;
            let mut heard = [0; 5];
            let _ = stream.read_exact(&mut heard).await;
            let _ = stream.write_all(&heard).await;
            let _ = stream.shutdown().await;
        }
    });
    Address::parse(&address.to_string()).unwrap()
}

async fn talk(mut stream: Stream) -> u8 {
    let shown = stream.read_u8().await.unwrap();
    stream.write_all(b"hello").await.unwrap();
    stream.flush().await.unwrap();
    let mut heard = [0; 5];
    stream.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"hello");
    shown
}

async fn refusal(address: &Address, tls: &Tls) -> HandshakeError {
    match dial(address, Some(tls)).await {
        Err(DialError::Tls(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// The text of the rustls error below a certificate that was refused.
fn certificate_fault(error: HandshakeError) -> String {
    assert!(!error.is_retriable(), "{error}");
    match error {
        HandshakeError::Certificate(cause) => cause.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_server_is_trusted_for_its_authority_and_its_name() {
    let (folder, authority, other) = (Folder::new(), Authority::new(), Authority::new());
    let ca = folder.file("ca.pem", &authority.0.pem());
    let by_address = server(&authority, "127.0.0.1", false).await;
    let tls = Tls::new(&TlsConfig { ca: Some(ca.clone()), ..TlsConfig::default() }).unwrap();
    assert_eq!(talk(dial(&by_address, Some(&tls)).await.unwrap()).await, 0);

    let by_name = server(&authority, "kafka.test", false).await;
    let why = certificate_fault(refusal(&by_name, &tls).await);
    assert!(why.contains("not valid for name"), "{why}");
    let config = TlsConfig { ca: Some(ca), server_name: Some("kafka.test".to_owned()), ..TlsConfig::default() };
    assert_eq!(talk(dial(&by_name, Some(&Tls::new(&config).unwrap())).await.unwrap()).await, 0);

    let stranger = folder.file("other.pem", &other.0.pem());
    let tls = Tls::new(&TlsConfig { ca: Some(stranger.clone()), ..TlsConfig::default() }).unwrap();
    let why = certificate_fault(refusal(&by_address, &tls).await);
    assert!(why.contains("invalid peer certificate"), "{why}");
    let config = TlsConfig { ca: Some(stranger), dangerously_unverified: true, ..TlsConfig::default() };
    assert_eq!(talk(dial(&by_name, Some(&Tls::new(&config).unwrap())).await.unwrap()).await, 0);
}

#[tokio::test]
async fn a_client_certificate_is_shown_to_a_server_that_asks() {
    let (folder, authority) = (Folder::new(), Authority::new());
    let ca = Some(folder.file("ca.pem", &authority.0.pem()));
    let (certificate, key) = authority.issue("alice");
    let identity = Some((folder.file("client.pem", &certificate), folder.file("client.key", &key)));
    let address = server(&authority, "127.0.0.1", true).await;
    let tls = Tls::new(&TlsConfig { ca, identity, ..TlsConfig::default() }).unwrap();
    assert_eq!(talk(dial(&address, Some(&tls)).await.unwrap()).await, 1);
}

#[tokio::test]
async fn a_plain_port_is_named_when_it_responds_and_when_it_closes() {
    let (folder, authority) = (Folder::new(), Authority::new());
    let ca = Some(folder.file("ca.pem", &authority.0.pem()));
    let tls = Tls::new(&TlsConfig { ca, ..TlsConfig::default() }).unwrap();
    for (answer, retriable) in [(&b"\0\0\0\x04\0\0\0\0"[..], false), (b"", true)] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = Address::parse(&listener.local_addr().unwrap().to_string()).unwrap();
        let peer = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let _ = socket.read_u8().await;
            let _ = socket.write_all(answer).await;
        });
        let why = refusal(&address, &tls).await;
        assert!(matches!(why, HandshakeError::NotTls | HandshakeError::Closed), "{why:?}");
        assert!(why.to_string().contains("plain port") && why.is_retriable() == retriable, "{why}");
        peer.await.unwrap();
    }
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let (folder, authority) = (Folder::new(), Authority::new());
    let (certificate, _) = authority.issue("alice");
    let (_, strange_key) = authority.issue("bob");
    let ca = folder.file("ca.pem", &authority.0.pem());
    let empty = folder.file("empty.pem", "nothing here\n");
    let certificate = folder.file("client.pem", &certificate);
    let strange_key = folder.file("strange.key", &strange_key);
    let error = |config: TlsConfig| Tls::new(&config).unwrap_err().to_string();
    let name = |path: &PathBuf| path.display().to_string();

    let missing = folder.0.join("missing.pem");
    let text = error(TlsConfig { ca: Some(missing.clone()), ..TlsConfig::default() });
    assert!(text.starts_with(&name(&missing)), "{text}");
    let text = error(TlsConfig { ca: Some(empty.clone()), ..TlsConfig::default() });
    assert!(text.starts_with(&name(&empty)), "{text}");
    let identity = Some((certificate.clone(), strange_key.clone()));
    let text = error(TlsConfig { ca: Some(ca.clone()), identity, ..TlsConfig::default() });
    assert!(text.contains(&name(&certificate)) && text.contains(&name(&strange_key)), "{text}");
    let text = error(TlsConfig { ca: Some(ca), server_name: Some("a b".to_owned()), ..TlsConfig::default() });
    assert!(text.contains("`a b`"), "{text}");
}
