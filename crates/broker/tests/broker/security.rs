//! Listeners with rules of their own, and logins.

use std::io::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milena_broker::{
    Broker, BrokerCluster, BrokerConfig, ClusterConfig, DelegationTokenConfig, ListenerConfig, Principal,
    SaslMechanism, SecurityConfig, SecurityProtocol, User,
};
use milena_messages::alter_user_scram_credentials::request::{ScramCredentialDeletion, ScramCredentialUpsertion};
use milena_messages::{
    AlterUserScramCredentialsRequest, ApiKey, ApiVersionsRequest, ApiVersionsResponse, CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest, DescribeDelegationTokenResponse, ErrorCode, ExpireDelegationTokenRequest,
    FindCoordinatorRequest, MetadataRequest, MetadataResponse, RenewDelegationTokenRequest, SaslAuthenticateRequest,
    SaslAuthenticateResponse, SaslHandshakeRequest,
};

use super::client::Client;

fn config(security: SecurityConfig, nodes: usize) -> ClusterConfig {
    let broker = BrokerConfig { security, ..BrokerConfig::default() };
    ClusterConfig { nodes, broker, ..ClusterConfig::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_get_the_addresses_of_the_listener_that_they_came_by() {
    let outside = ListenerConfig {
        advertised_host: Some("kafka.test".to_owned()),
        advertised_port: Some(1000),
        ..ListenerConfig::new("OUTSIDE", SecurityProtocol::Plaintext)
    };
    let security = SecurityConfig {
        listeners: vec![ListenerConfig::new("INSIDE", SecurityProtocol::Plaintext), outside],
        ..SecurityConfig::default()
    };
    let cluster = BrokerCluster::start(config(security, 2)).await.unwrap();
    assert_eq!(cluster.bootstrap_of("PLAINTEXT").unwrap(), cluster.bootstrap());
    assert_eq!(cluster.bootstrap_of("OUTSIDE").unwrap(), "kafka.test:1000,kafka.test:1001");
    assert_eq!(cluster.bootstrap_of("NOWHERE"), None);
    for name in ["PLAINTEXT", "INSIDE"] {
        let bootstrap = cluster.bootstrap_of(name).unwrap();
        let mut client = Client::new(bootstrap.split(',').next().unwrap().parse().unwrap());
        let metadata: MetadataResponse = client.call(&MetadataRequest::default(), 9);
        let brokers: Vec<_> = metadata.brokers.iter().map(|node| format!("{}:{}", node.host, node.port)).collect();
        assert_eq!(brokers.join(","), bootstrap);
        let request = FindCoordinatorRequest { key: "g".into(), ..Default::default() };
        let found = client.call(&request, 3);
        assert!(bootstrap.contains(&format!("{}:{}", found.host, found.port)), "{found:?} of {bootstrap}");
    }
    // A node that comes back has all its ports.
    let before = cluster.bootstrap_of("INSIDE");
    cluster.kill_node(2).await.unwrap();
    assert_ne!(cluster.bootstrap_of("INSIDE"), before);
    cluster.start_node(2).await.unwrap();
    assert_eq!(cluster.bootstrap_of("INSIDE"), before);
    Client::new(before.unwrap().split(',').next_back().unwrap().parse().unwrap());
}

fn sasl(users: Vec<User>) -> SecurityConfig {
    SecurityConfig {
        protocol: SecurityProtocol::SaslPlaintext,
        users,
        failed_login_delay: Duration::ZERO,
        ..SecurityConfig::default()
    }
}

async fn start(security: SecurityConfig) -> Broker {
    Broker::start(BrokerConfig { security, ..BrokerConfig::default() }).await.unwrap()
}

fn handshake(client: &mut Client, mechanism: &str, version: i16) -> ErrorCode {
    let request = SaslHandshakeRequest { mechanism: mechanism.into() };
    client.call(&request, version).error_code
}

fn authenticate(client: &mut Client, token: &str, version: i16) -> SaslAuthenticateResponse {
    client.call(&SaslAuthenticateRequest { auth_bytes: token.to_owned().into(), ..Default::default() }, version)
}

/// A login by PLAIN: the code, the message, and the lifetime of the session.
fn plain(client: &mut Client, name: &str, password: &str) -> (ErrorCode, String, i64) {
    assert_eq!(handshake(client, "PLAIN", 1), ErrorCode::NONE);
    let response = authenticate(client, &format!("\0{name}\0{password}"), 2);
    let message = response.error_message.map(|text| text.to_string()).unwrap_or_default();
    (response.error_code, message, response.session_lifetime_ms)
}

fn is_served(client: &mut Client) -> bool {
    client.send(&MetadataRequest::default(), 9);
    client.read().is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_served_before_a_login() {
    let broker = start(sasl(vec![User::new("alice", "secret")])).await;
    let mut client = Client::new(broker.address());
    assert!(!is_served(&mut client));

    let mut client = Client::new(broker.address());
    let versions: ApiVersionsResponse = client.call(&ApiVersionsRequest::default(), 0);
    assert_eq!(versions.error_code, ErrorCode::NONE);
    let (code, message, _) = plain(&mut client, "alice", "wrong");
    assert_eq!(code, ErrorCode::SASL_AUTHENTICATION_FAILED);
    assert_eq!(message, "Authentication failed: Invalid username or password");
    assert!(client.read().is_none());

    let mut client = Client::new(broker.address());
    assert_eq!(plain(&mut client, "alice", "secret"), (ErrorCode::NONE, String::new(), 0));
    assert!(is_served(&mut client));
    assert_eq!(handshake(&mut client, "PLAIN", 1), ErrorCode::ILLEGAL_SASL_STATE);

    let of_alice = broker.requests().into_iter().filter(|request| request.principal() == &Principal::user("alice"));
    assert_eq!(
        of_alice.map(|request| request.api_key()).collect::<Vec<_>>(),
        [ApiKey::METADATA, ApiKey::SASL_HANDSHAKE]
    );
    // Passwords are not kept.
    let tokens = broker.requests().into_iter().filter(|request| request.api_key() == ApiKey::SASL_AUTHENTICATE);
    let tokens: Vec<_> =
        tokens.map(|request| request.decode::<SaslAuthenticateRequest>().unwrap().auth_bytes).collect();
    assert_eq!(tokens, ["", ""]);
    assert!(!format!("{:?} {broker:?}", broker.requests()).contains("secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_without_a_header_follow_handshake_0() {
    let broker = start(sasl(vec![User::new("alice", "secret")])).await;
    let mut client = Client::new(broker.address());
    assert_eq!(handshake(&mut client, "PLAIN", 0), ErrorCode::NONE);
    client.write_raw(b"\0alice\0secret");
    assert_eq!(client.read().unwrap(), "");
    assert!(is_served(&mut client));
    let mut client = Client::new(broker.address());
    handshake(&mut client, "PLAIN", 0);
    client.write_raw(b"\0alice\0wrong");
    assert!(client.read().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_are_small_and_logins_are_short_for_strangers() {
    let broker = start(sasl(Vec::new())).await;
    let mut large = Client::new(broker.address());
    large.socket.write_all(&524_289u32.to_be_bytes()).unwrap();
    assert!(large.read().is_none());
    let broker = start(SecurityConfig { login_timeout: Duration::from_millis(50), ..sasl(Vec::new()) }).await;
    assert!(Client::new(broker.address()).read().is_none(), "the login takes too long");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_unless_the_same_client_logs_in_again() {
    let users = vec![User::new("alice", "secret"), User::new("bob", "secret")];
    let security = SecurityConfig { max_reauth: Some(Duration::from_secs(60)), ..sasl(users) };
    let config = BrokerConfig { security, virtual_clock: Some(1_700_000_000_000), ..BrokerConfig::default() };
    let broker = Broker::start(config).await.unwrap();
    let advance = |seconds| broker.cluster().advance(Duration::from_secs(seconds)).unwrap();
    let login = || {
        let mut client = Client::new(broker.address());
        assert_eq!(plain(&mut client, "alice", "secret"), (ErrorCode::NONE, String::new(), 60_000));
        client
    };
    let (mut good, mut idle, mut other, mut another) = (login(), login(), login(), login());
    advance(50);
    assert_eq!(plain(&mut good, "alice", "secret").2, 60_000);
    assert_eq!(handshake(&mut good, "PLAIN", 1), ErrorCode::ILLEGAL_SASL_STATE, "within a second");
    let (code, message, _) = plain(&mut other, "bob", "secret");
    assert_eq!(code, ErrorCode::SASL_AUTHENTICATION_FAILED);
    assert_eq!(message, "Cannot change principals during re-authentication from User.alice: User.bob");
    assert!(other.read().is_none());
    assert_eq!(handshake(&mut another, "SCRAM-SHA-256", 1), ErrorCode::NONE);
    another.write_raw(b"n,,n=alice,r=x");
    assert!(another.read().is_none(), "another mechanism");
    advance(10);
    assert!(is_served(&mut idle), "60 seconds are not over yet");
    advance(1);
    assert!(is_served(&mut good));
    assert!(!is_served(&mut idle));
}

/// What a SCRAM client sends last, from the first messages of both sides: computed by hand with a second implementation.
fn scram_proof(hash: &str, password: &str, first_bare: &str, server_first: &str) -> String {
    let part = |key: &str| server_first.split(',').find_map(|part| part.strip_prefix(key)).unwrap();
    let (algorithm, digest): (_, &ring::digest::Algorithm) = match hash {
        "SCRAM-SHA-256" => (ring::pbkdf2::PBKDF2_HMAC_SHA256, &ring::digest::SHA256),
        _ => (ring::pbkdf2::PBKDF2_HMAC_SHA512, &ring::digest::SHA512),
    };
    let mac = if hash == "SCRAM-SHA-256" { ring::hmac::HMAC_SHA256 } else { ring::hmac::HMAC_SHA512 };
    let sign = |key: &[u8], text: &[u8]| ring::hmac::sign(&ring::hmac::Key::new(mac, key), text).as_ref().to_vec();
    let mut salted = vec![0; digest.output_len()];
    let iterations = part("i=").parse().unwrap();
    ring::pbkdf2::derive(
        algorithm,
        iterations,
        &STANDARD.decode(part("s=")).unwrap(),
        password.as_bytes(),
        &mut salted,
    );
    let client_key = sign(&salted, b"Client Key");
    let stored_key = ring::digest::digest(digest, &client_key);
    let last = format!("c=biws,r={}", part("r="));
    let signature = sign(stored_key.as_ref(), format!("{first_bare},{server_first},{last}").as_bytes());
    let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
    format!("{last},p={}", STANDARD.encode(proof))
}

/// A login by SCRAM: the code and the lifetime of the session.
fn scram(client: &mut Client, mechanism: &str, name: &str, password: &str, extension: &str) -> (ErrorCode, i64) {
    assert_eq!(handshake(client, mechanism, 1), ErrorCode::NONE);
    let bare = format!("n={name},r=clientnonce{extension}");
    let first = authenticate(client, &format!("n,,{bare}"), 2);
    if first.error_code != ErrorCode::NONE {
        return (first.error_code, 0);
    }
    let server_first = String::from_utf8(first.auth_bytes.to_vec()).unwrap();
    let last = authenticate(client, &scram_proof(mechanism, password, &bare, &server_first), 2);
    (last.error_code, last.session_lifetime_ms)
}

#[tokio::test(flavor = "multi_thread")]
async fn scram_users_log_in_change_and_go() {
    let only = User::new("carol", "secret").only_by(SaslMechanism::ScramSha512);
    let broker = start(sasl(vec![User::new("alice", "secret"), only])).await;
    let login = |mechanism: &str, name: &str, password: &str| {
        scram(&mut Client::new(broker.address()), mechanism, name, password, "").0
    };
    for (mechanism, name, password, code) in [
        ("SCRAM-SHA-256", "alice", "secret", ErrorCode::NONE),
        ("SCRAM-SHA-512", "alice", "secret", ErrorCode::NONE),
        ("SCRAM-SHA-512", "carol", "secret", ErrorCode::NONE),
        ("SCRAM-SHA-256", "carol", "secret", ErrorCode::SASL_AUTHENTICATION_FAILED),
        ("SCRAM-SHA-256", "alice", "wrong", ErrorCode::SASL_AUTHENTICATION_FAILED),
        ("SCRAM-SHA-256", "nobody", "secret", ErrorCode::SASL_AUTHENTICATION_FAILED),
    ] {
        assert_eq!(login(mechanism, name, password), code, "{mechanism} {name} {password}");
    }
    let mut admin = Client::new(broker.address());
    plain(&mut admin, "alice", "secret");
    let mut salted = vec![0; 32];
    let iterations = std::num::NonZeroU32::new(8192).unwrap();
    ring::pbkdf2::derive(ring::pbkdf2::PBKDF2_HMAC_SHA256, iterations, b"salt", b"new", &mut salted);
    let upsertion = ScramCredentialUpsertion {
        name: "bob".into(),
        mechanism: 1,
        iterations: 8192,
        salt: "salt".into(),
        salted_password: salted.into(),
        ..Default::default()
    };
    let request = AlterUserScramCredentialsRequest { upsertions: vec![upsertion], ..Default::default() };
    assert_eq!(admin.call(&request, 0).results[0].error_code, ErrorCode::NONE);
    assert_eq!(login("SCRAM-SHA-256", "bob", "new"), ErrorCode::NONE);
    let deletion = ScramCredentialDeletion { name: "bob".into(), mechanism: 1, ..Default::default() };
    let request = AlterUserScramCredentialsRequest { deletions: vec![deletion], ..Default::default() };
    assert_eq!(admin.call(&request, 0).results[0].error_code, ErrorCode::NONE);
    assert_eq!(login("SCRAM-SHA-256", "bob", "new"), ErrorCode::SASL_AUTHENTICATION_FAILED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delegation_token_stands_for_its_owner_until_it_expires() {
    let security = SecurityConfig {
        delegation_tokens: Some(DelegationTokenConfig::new("hush")),
        ..sasl(vec![User::new("alice", "secret"), User::new("bob", "secret")])
    };
    let config = BrokerConfig { security, virtual_clock: Some(1_700_000_000_000), ..BrokerConfig::default() };
    let broker = Broker::start(config).await.unwrap();
    let mut alice = Client::new(broker.address());
    plain(&mut alice, "alice", "secret");
    let request = CreateDelegationTokenRequest { max_lifetime_ms: 10_000, ..Default::default() };
    let token = alice.call(&request, 3);
    assert_eq!((token.error_code, &*token.principal_name), (ErrorCode::NONE, "alice"));
    assert_eq!((token.issue_timestamp_ms, token.max_timestamp_ms), (1_700_000_000_000, 1_700_000_010_000));

    let password = STANDARD.encode(&token.hmac);
    let login = |client: &mut Client, password: &str| {
        scram(client, "SCRAM-SHA-256", &token.token_id, password, ",tokenauth=true")
    };
    let (mut worker, mut late) = (Client::new(broker.address()), Client::new(broker.address()));
    assert_eq!(login(&mut worker, &password), (ErrorCode::NONE, 10_000));
    assert_eq!(login(&mut late, "wrong").0, ErrorCode::SASL_AUTHENTICATION_FAILED);
    assert!(is_served(&mut worker));
    assert_eq!(broker.requests().pop().unwrap().principal(), &Principal::user("alice"));
    let denied = worker.call(&request, 3);
    assert_eq!(denied.error_code, ErrorCode::DELEGATION_TOKEN_REQUEST_NOT_ALLOWED);

    let mut bob = Client::new(broker.address());
    plain(&mut bob, "bob", "secret");
    let renew = RenewDelegationTokenRequest { hmac: token.hmac.clone(), renew_period_ms: -1, ..Default::default() };
    assert_eq!(bob.call(&renew, 2).error_code, ErrorCode::DELEGATION_TOKEN_OWNER_MISMATCH);
    assert_eq!(alice.call(&renew, 2).expiry_timestamp_ms, 1_700_000_010_000, "not longer than its maximum");
    let described: DescribeDelegationTokenResponse =
        alice.call(&DescribeDelegationTokenRequest { owners: None, ..Default::default() }, 3);
    assert_eq!((described.tokens.len(), &described.tokens[0].hmac), (1, &token.hmac));

    broker.cluster().advance(Duration::from_secs(11)).unwrap();
    assert!(!is_served(&mut worker), "the session of the token has ended");
    assert_eq!(alice.call(&renew, 2).error_code, ErrorCode::DELEGATION_TOKEN_EXPIRED);
    let mut late = Client::new(broker.address());
    assert_eq!(login(&mut late, &password), (ErrorCode::NONE, 0));
    assert!(!is_served(&mut late), "it is good for no request");
    let expire =
        ExpireDelegationTokenRequest { hmac: token.hmac.clone(), expiry_time_period_ms: -1, ..Default::default() };
    assert_eq!(alice.call(&expire, 2).error_code, ErrorCode::NONE);
    assert_eq!(login(&mut Client::new(broker.address()), &password).0, ErrorCode::SASL_AUTHENTICATION_FAILED);
}

#[cfg(feature = "tls")]
#[tokio::test(flavor = "multi_thread")]
async fn clients_of_tls_are_known_by_their_certificate() {
    use milena_broker::ClientAuth;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let security = SecurityConfig {
        protocol: SecurityProtocol::Ssl,
        client_auth: ClientAuth::Requested,
        ..SecurityConfig::default()
    };
    let broker = start(security).await;
    let tls = broker.tls().unwrap();
    let folder = std::env::temp_dir().join(format!("milena-broker-tls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).unwrap();
        folder.join(name)
    };
    let ca = file("ca.pem", tls.ca_pem());
    let alice = tls.client("alice, the first").unwrap();
    assert!(!format!("{alice:?} {tls:?}").contains("PRIVATE"));
    let identity = (file("alice.pem", alice.certificate_pem()), file("alice.key", alice.key_pem()));
    for (identity, principal) in [(None, "User:ANONYMOUS"), (Some(identity), r"User:CN=alice\, the first")] {
        let config = milena_transport::TlsConfig { ca: Some(ca.clone()), identity, ..Default::default() };
        let address = milena_transport::Address::parse(&broker.bootstrap()).unwrap();
        let client = milena_transport::Tls::new(&config).unwrap();
        let mut stream = milena_transport::dial(&address, Some(&client)).await.unwrap();
        // ApiVersions 0.
        stream.write_all(b"\0\0\0\x0a\0\x12\0\0\0\0\0\x01\xff\xff").await.unwrap();
        let mut size = [0; 4];
        stream.read_exact(&mut size).await.unwrap();
        assert_eq!(broker.requests().pop().unwrap().principal().to_string(), principal);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
