//! Both brokers, with the same listeners and users.

use std::path::{Path, PathBuf};
use std::time::Duration;

use milena_broker::{
    Broker, BrokerConfig, ClientAuth, DelegationTokenConfig, ListenerConfig, SaslMechanism, SecurityConfig,
    SecurityProtocol, User,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::management;
use crate::error::{Context, Error, Result};
use crate::kafka::KafkaServer;
use crate::place;

/// The listeners with their protocols. `REAUTH` ends sessions after [`REAUTH_MS`].
pub(super) const LISTENERS: [(&str, SecurityProtocol); 5] = [
    ("PLAIN", SecurityProtocol::Plaintext),
    ("LOGIN", SecurityProtocol::SaslPlaintext),
    ("TLS", SecurityProtocol::Ssl),
    ("LOGINTLS", SecurityProtocol::SaslSsl),
    ("REAUTH", SecurityProtocol::SaslPlaintext),
];
pub(super) const REAUTH_MS: u64 = 3000;

/// Those who log in by password.
pub(super) const USERS: [(&str, &str); 2] = [("alice", "alice-secret"), ("bob", "bob-secret")];

/// A broker that runs.
pub(super) struct Stage {
    pub(super) name: &'static str,
    /// Certificates for clients: `ca.pem`, and `client.pem` with `client.key` of `CN=alice`.
    pub(super) folder: PathBuf,
    running: Running,
}

enum Running {
    Kafka(KafkaServer),
    /// The second one is for the listener `REAUTH`: sessions end everywhere or nowhere in a broker of ours.
    Embedded(Box<[Broker; 2]>),
}

impl Stage {
    /// Apache Kafka 4.4.
    pub(super) async fn kafka() -> Result<Self> {
        let folder = folder("kafka")?;
        let made = certificates(&folder);
        made.map_err(|error| Error::Other(error.to_string()))?;
        let lines = settings(&folder);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let listeners = LISTENERS.map(|(name, protocol)| (name, protocol.name()));
        let kafka = KafkaServer::start_with_listeners(&listeners, &lines)?;
        let stage = Self { name: "kafka", folder, running: Running::Kafka(kafka) };
        management::add_scram_users(&stage.address("PLAIN")?).await?;
        Ok(stage)
    }

    /// The embedded broker.
    pub(super) async fn embedded() -> Result<Self> {
        let users = USERS.map(|(name, password)| User::new(name, password).only_by(SaslMechanism::Plain));
        let listener = |(name, protocol): &(&str, SecurityProtocol)| ListenerConfig::new(name, *protocol);
        let security = SecurityConfig {
            listeners: LISTENERS.iter().map(listener).collect(),
            users: users.to_vec(),
            client_auth: ClientAuth::Requested,
            delegation_tokens: Some(DelegationTokenConfig::new("hush")),
            ..SecurityConfig::default()
        };
        let reauth = SecurityConfig { max_reauth: Some(Duration::from_millis(REAUTH_MS)), ..security.clone() };
        let start = async |security| {
            let started = Broker::start(BrokerConfig { security, ..BrokerConfig::default() }).await;
            started.map_err(|error| Error::Other(error.to_string()))
        };
        let (broker, reauth) = (start(security).await?, start(reauth).await?);
        let folder = folder("embedded")?;
        let tls = broker.tls().ok_or_else(|| Error::Other("no TLS".to_owned()))?;
        let alice = tls.client("alice").map_err(|error| Error::Other(error.to_string()))?;
        write(&folder, "ca.pem", tls.ca_pem())?;
        write(&folder, "client.pem", alice.certificate_pem())?;
        write(&folder, "client.key", alice.key_pem())?;
        let stage = Self { name: "embedded", folder, running: Running::Embedded(Box::new([broker, reauth])) };
        for listener in ["PLAIN", "REAUTH-PLAIN"] {
            management::add_scram_users(&stage.address(listener)?).await?;
        }
        Ok(stage)
    }

    /// Where a listener is.
    pub(super) fn address(&self, listener: &str) -> Result<String> {
        match &self.running {
            Running::Kafka(kafka) => kafka.listener(listener),
            Running::Embedded(brokers) => {
                let [broker, reauth] = &**brokers;
                let found = match listener {
                    "REAUTH" => reauth.cluster().bootstrap_of("REAUTH"),
                    "REAUTH-PLAIN" => reauth.cluster().bootstrap_of("PLAIN"),
                    other => broker.cluster().bootstrap_of(other),
                };
                found.ok_or_else(|| Error::Other(format!("there is no listener {listener}")))
            }
        }
    }

    pub(super) fn log(&self) -> String {
        match &self.running {
            Running::Kafka(kafka) => kafka.log(),
            Running::Embedded(_) => String::new(),
        }
    }
}

fn folder(name: &str) -> Result<PathBuf> {
    let folder = place::cache().join("login").join(name);
    std::fs::create_dir_all(&folder).on(&folder)?;
    Ok(folder)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    std::fs::write(&path, text).on(&path)
}

/// A CA, a certificate for Kafka, and one for a client.
fn certificates(folder: &Path) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut ca = CertificateParams::new(Vec::new())?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.distinguished_name.push(DnType::CommonName, "CA");
    let issuer = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;
    let mut server = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()])?;
    server.distinguished_name.push(DnType::CommonName, "localhost");
    let key = KeyPair::generate()?;
    let all = [key.serialize_pem(), server.signed_by(&key, &issuer)?.pem()].concat();
    let mut client = CertificateParams::new(Vec::new())?;
    client.distinguished_name.push(DnType::CommonName, "alice");
    let client_key = KeyPair::generate()?;
    write(folder, "ca.pem", &issuer.pem())?;
    write(folder, "server.pem", &all)?;
    write(folder, "client.pem", &client.signed_by(&client_key, &issuer)?.pem())?;
    write(folder, "client.key", &client_key.serialize_pem())?;
    Ok(())
}

/// The lines of `server.properties` about logins.
fn settings(folder: &Path) -> Vec<String> {
    let file = |name: &str| folder.join(name).display().to_string().replace('\\', "/");
    let mut lines = vec![
        "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER".to_owned(),
        format!("listener.name.reauth.connections.max.reauth.ms={REAUTH_MS}"),
        "delegation.token.secret.key=hush".to_owned(),
        "ssl.client.auth=requested".to_owned(),
        "ssl.keystore.type=PEM".to_owned(),
        format!("ssl.keystore.location={}", file("server.pem")),
        "ssl.truststore.type=PEM".to_owned(),
        format!("ssl.truststore.location={}", file("ca.pem")),
    ];
    let module = "org.apache.kafka.common.security";
    let users: Vec<String> = USERS.iter().map(|(name, password)| format!("user_{name}=\"{password}\"")).collect();
    for (listener, _) in LISTENERS.iter().filter(|(_, protocol)| protocol.is_sasl()) {
        let prefix = format!("listener.name.{}", listener.to_lowercase());
        let mut add = |mechanism: &str, module: &str, options: &str| {
            lines.push(format!("{prefix}.{mechanism}.sasl.jaas.config={module} required {options};"));
        };
        add("plain", &format!("{module}.plain.PlainLoginModule"), &users.join(" "));
        add("scram-sha-256", &format!("{module}.scram.ScramLoginModule"), "");
        add("scram-sha-512", &format!("{module}.scram.ScramLoginModule"), "");
        let claim = "unsecuredLoginStringClaim_sub=\"admin\"";
        add("oauthbearer", &format!("{module}.oauthbearer.OAuthBearerLoginModule"), claim);
    }
    lines
}
