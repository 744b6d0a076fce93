//! The exchanges that both brokers have to respond to alike.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use milena_messages::ApiKey;

use super::exchange::{Exchange, bearer, jwt};
use super::proof::Hash;
use super::stage::Stage;
use super::{management, tokens};
use crate::error::Result;

type Story<'a> = Pin<Box<dyn Future<Output = Result<Vec<String>>> + Send + 'a>>;

/// Something that clients do, and what comes back as text.
pub(super) struct Case {
    /// A claim, in the form of a test's name.
    pub(super) name: &'static str,
    tell: for<'a> fn(&'a Stage) -> Story<'a>,
}

impl Case {
    pub(super) async fn run(&self, stage: &Stage) -> Result<Vec<String>> {
        (self.tell)(stage).await
    }
}

macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        /// All of them.
        pub(super) const CASES: &[Case] =
            &[$(Case { name: stringify!($name), tell: |stage| Box::pin($name(stage)) }),+];
    };
}

cases![
    mechanisms_are_listed_and_others_refused,
    only_handshakes_come_before_a_login,
    versions_may_be_asked_once_before_a_login,
    other_requests_during_a_login_end_it,
    frames_before_a_login_are_small,
    passwords_are_checked,
    passwords_without_headers_are_checked,
    logins_out_of_place_are_refused,
    scram_proofs_are_checked,
    scram_messages_are_strict,
    unsecured_tokens_are_checked,
    bearer_messages_are_strict,
    a_refused_bearer_may_try_again,
    a_session_is_renewed_on_its_connection,
    a_session_that_is_not_renewed_ends,
    scram_users_are_managed,
    delegation_tokens_need_a_login,
    delegation_tokens_live_and_end,
];

async fn open(stage: &Stage, listener: &str) -> Result<Exchange> {
    Exchange::open(&stage.address(listener)?).await
}

async fn mechanisms_are_listed_and_others_refused(stage: &Stage) -> Result<Vec<String>> {
    let mut story = Vec::new();
    for (mechanism, version) in [("PLAIN", 0), ("PLAIN", 1), ("GSSAPI", 1), ("plain", 1), ("", 0)] {
        let mut exchange = open(stage, "LOGIN").await?;
        exchange.handshake(mechanism, version).await?;
        if mechanism != "PLAIN" {
            exchange.versions(0, "").await?;
        }
        story.append(&mut exchange.story);
    }
    Ok(story)
}

async fn only_handshakes_come_before_a_login(stage: &Stage) -> Result<Vec<String>> {
    let mut story = Vec::new();
    for (api, version, body) in [
        (ApiKey::METADATA, 1, &b"\0\0\0\0"[..]),
        (ApiKey::PRODUCE, 9, b""),
        (ApiKey::SASL_AUTHENTICATE, 0, b"\0\0\0\x01x"),
        (ApiKey::SASL_HANDSHAKE, 2, b"\0\x05PLAIN"),
        (ApiKey(999), 0, b""),
    ] {
        let mut exchange = open(stage, "LOGIN").await?;
        exchange.odd(api, version, body).await?;
        story.append(&mut exchange.story);
    }
    let mut exchange = open(stage, "LOGIN").await?;
    exchange.raw(b"hello there").await?;
    story.append(&mut exchange.story);
    Ok(story)
}

async fn versions_may_be_asked_once_before_a_login(stage: &Stage) -> Result<Vec<String>> {
    let mut story = Vec::new();
    for versions in [&[(0, "")][..], &[(0, ""), (0, "")], &[(3, ""), (3, "name")], &[(4, "name"), (4, "name")]] {
        let mut exchange = open(stage, "LOGIN").await?;
        for (version, name) in versions {
            exchange.versions(*version, name).await?;
        }
        if exchange.story.last().is_some_and(|text| text != "closed") {
            exchange.plain("alice", "alice-secret").await?;
            exchange.versions(3, "").await?;
            exchange.versions(3, "name").await?;
        }
        story.append(&mut exchange.story);
    }
    let mut exchange = open(stage, "LOGIN").await?;
    exchange.odd(ApiKey::API_VERSIONS, 99, b"").await?;
    exchange.versions(0, "").await?;
    story.append(&mut exchange.story);
    // Which versions there are may differ from one broker to the other.
    Ok(story.into_iter().map(|text| text.chars().take(40).collect()).collect())
}

async fn other_requests_during_a_login_end_it(stage: &Stage) -> Result<Vec<String>> {
    let mut story = Vec::new();
    for (api, version, body) in [
        (ApiKey::API_VERSIONS, 0, &b""[..]),
        (ApiKey::METADATA, 1, b"\0\0\0\0"),
        (ApiKey::METADATA, 1, b"\0\0\0\x01\0\x01a"),
        (ApiKey::SASL_HANDSHAKE, 1, b"\0\x05PLAIN"),
        (ApiKey::FIND_COORDINATOR, 0, b"\0\x01g"),
        (ApiKey::HEARTBEAT, 0, b"\0\x01g\0\0\0\x01\0\x01m"),
        (ApiKey::LIST_GROUPS, 0, b""),
        (ApiKey::FETCH, 4, b"\xff\xff\xff\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
        (ApiKey::PRODUCE, 3, b"\xff\xff\0\0\0\0\0\x01\0\0\0\0"),
        (ApiKey::SASL_AUTHENTICATE, 3, b""),
        (ApiKey::SASL_AUTHENTICATE, 0, b"\0"),
        (ApiKey(999), 0, b"\0"),
    ] {
        let mut exchange = open(stage, "LOGIN").await?;
        exchange.handshake("PLAIN", 1).await?;
        exchange.odd(api, version, body).await?;
        exchange.versions(0, "").await?;
        story.append(&mut exchange.story);
    }
    Ok(story)
}

async fn frames_before_a_login_are_small(stage: &Stage) -> Result<Vec<String>> {
    let mut story = Vec::new();
    for size in [524_289, -5i32, i32::MAX] {
        let mut exchange = open(stage, "LOGIN").await?;
        exchange.bytes(&size.to_be_bytes()).await;
        exchange.versions(0, "").await?;
        story.append(&mut exchange.story);
    }
    let mut exchange = open(stage, "LOGIN").await?;
    exchange.handshake("PLAIN", 1).await?;
    let long = format!("\0alice\0{}", "x".repeat(524_000));
    exchange.token(long.as_bytes(), 0).await?;
    exchange.versions(0, "").await?;
    story.append(&mut exchange.story);
    let mut exchange = open(stage, "LOGIN").await?;
    exchange.plain("alice", "alice-secret").await?;
    exchange.bytes(&1_000_000u32.to_be_bytes()).await;
    exchange.bytes(b"\0\x12\0\0\0\0\0\x01\xff\xff").await;
    exchange.bytes(&vec![0; 1_000_000 - 10]).await;
    exchange.versions(0, "").await?;
    story.append(&mut exchange.story);
    Ok(story)
}

const PASSWORDS: [&[u8]; 15] = [
    b"\0alice\0alice-secret",
    b"alice\0alice\0alice-secret",
    b"bob\0alice\0alice-secret",
    b"\0alice\0wrong",
    b"\0alice\0alice-secret ",
    b"\0nobody\0alice-secret",
    b"\0Alice\0alice-secret",
    b"\0\0x",
    b"\0alice\0",
    b"",
    b"x",
    b"a\0b",
    b"a\0b\0c\0d",
    b"a\0b\0c\0d\0e",
    b"\0al\xff\0x",
];

async fn passwords_are_checked(stage: &Stage) -> Result<Vec<String>> {
    let mut story = Vec::new();
    for token in PASSWORDS {
        let mut exchange = open(stage, "LOGIN").await?;
        exchange.handshake("PLAIN", 1).await?;
        exchange.token(token, 2).await?;
        exchange.metadata().await?;
        story.append(&mut exchange.story);
    }
    Ok(story)
}

async fn passwords_without_headers_are_checked(stage: &Stage) -> Result<Vec<String>> {
    let mut story = Vec::new();
    for token in PASSWORDS {
        let mut exchange = open(stage, "LOGIN").await?;
        exchange.handshake("PLAIN", 0).await?;
        exchange.raw(token).await?;
        exchange.metadata().await?;
        story.append(&mut exchange.story);
    }
    Ok(story)
}

async fn logins_out_of_place_are_refused(stage: &Stage) -> Result<Vec<String>> {
    let mut exchange = open(stage, "PLAIN").await?;
    exchange.handshake("PLAIN", 1).await?;
    exchange.token(b"x", 2).await?;
    exchange.metadata().await?;
    let mut story = exchange.story;
    let mut exchange = open(stage, "LOGIN").await?;
    exchange.plain("alice", "alice-secret").await?;
    exchange.token(b"x", 1).await?;
    exchange.handshake("PLAIN", 0).await?;
    exchange.handshake("SCRAM-SHA-256", 1).await?;
    exchange.metadata().await?;
    story.append(&mut exchange.story);
    Ok(story)
}

async fn scram_proofs_are_checked(stage: &Stage) -> Result<Vec<String>> {
    let mut story = Vec::new();
    let first = "n,,n=alice,r=abc";
    let right = "alice-secret";
    let mut scram = async |hash, first: &str, password: &str, change: fn(String, Vec<u8>) -> (String, Vec<u8>)| {
        let mut exchange = open(stage, "LOGIN").await?;
        exchange.scram(hash, first, password, change).await?;
        exchange.metadata().await?;
        story.append(&mut exchange.story);
        Ok::<(), crate::error::Error>(())
    };
    for hash in [Hash::Sha256, Hash::Sha512] {
        scram(hash, first, right, |without, proof| (without, proof)).await?;
        scram(hash, first, "wrong", |without, proof| (without, proof)).await?;
        scram(hash, "n,,n=nobody,r=abc", right, |without, proof| (without, proof)).await?;
        scram(hash, first, right, |without, _| (without, Vec::new())).await?;
        scram(hash, first, right, |without, proof| (without, proof[1..].to_vec())).await?;
    }
    let hash = Hash::Sha256;
    for change in [
        |without: String, proof: Vec<u8>| (without.replace("r=", "r=zz"), proof),
        |without: String, proof: Vec<u8>| (without.replace("abc", "abd"), proof),
        |without: String, proof: Vec<u8>| (without.replace("biws", "eSws"), proof),
        |without: String, proof: Vec<u8>| (format!("{without},x=y"), proof),
        |without: String, proof: Vec<u8>| (format!("{without},x"), proof),
        |_: String, proof: Vec<u8>| ("nonsense".to_owned(), proof),
    ] {
        scram(hash, first, right, change).await?;
    }
    for first in [
        "n,,n=alice,r=abc,tokenauth=false",
        "n,,n=alice,r=abc,zone=z",
        "n,,m=reserved,n=alice,r=abc",
        "n,a=alice,n=alice,r=abc",
    ] {
        scram(hash, first, right, |without, proof| (without, proof)).await?;
    }
    Ok(story)
}

async fn scram_messages_are_strict(stage: &Stage) -> Result<Vec<String>> {
    let mut story = Vec::new();
    for first in [
        "",
        "n,,n=,r=abc",
        "y,,n=alice,r=abc",
        "p=x,,n=alice,r=abc",
        "n,a=bob,n=alice,r=abc",
        "n,a=,n=alice,r=abc",
        "n,,n=alice,r=a b",
        "n,,n=alice",
        "n,,n=al=2Cice,r=x",
        "n,,n=al=ice,r=x",
        "n,,n=alice,r=x,1=b",
        "n,,n=alice,r=x,a=",
        "n,,n=alice,r=x,tokenauth=true",
        "n,,n=ä,r=x",
    ] {
        let mut exchange = open(stage, "LOGIN").await?;
        exchange.scram(Hash::Sha256, first, "alice-secret", |without, proof| (without, proof)).await?;
        story.append(&mut exchange.story);
    }
    Ok(story)
}

/// Sends one bearer message; after an error the client confirms it.
async fn bear(stage: &Stage, message: &[u8], story: &mut Vec<String>) -> Result<()> {
    let mut exchange = open(stage, "LOGIN").await?;
    exchange.handshake("OAUTHBEARER", 1).await?;
    exchange.token(message, 1).await?;
    if exchange.story.last().is_some_and(|text| text.contains("status")) {
        exchange.token(b"\x01", 1).await?;
    }
    exchange.metadata().await?;
    story.append(&mut exchange.story);
    Ok(())
}

async fn unsecured_tokens_are_checked(stage: &Stage) -> Result<Vec<String>> {
    let none = r#"{"alg":"none"}"#;
    let mut story = Vec::new();
    for (header, claims, signature) in [
        (none, r#"{"sub":"alice","exp":{in 100}}"#, ""),
        (none, r#"{"sub":"alice","exp":{in 100}.5,"iat":{in -9}}"#, ""),
        (none, r#"{"sub":"alice","exp":{in -1}}"#, ""),
        (none, r#"{"sub":"alice"}"#, ""),
        (none, r#"{"sub":"alice","exp":"{in 9}"}"#, ""),
        (none, r#"{"sub":"alice","exp":true}"#, ""),
        (none, r#"{"sub":"alice","exp":1e11}"#, ""),
        (none, r#"{"sub":"alice","exp":1e300}"#, ""),
        (none, r#"{"sub":"alice","exp":null}"#, ""),
        (none, r#"{"exp":{in 9}}"#, ""),
        (none, r#"{"sub":5,"exp":{in 9}}"#, ""),
        (none, r#"{"sub":true,"exp":{in 9}}"#, ""),
        (none, r#"{"sub":null,"exp":{in 9}}"#, ""),
        (none, r#"{"sub":["a"],"exp":{in 9}}"#, ""),
        (none, r#"{"sub":{},"exp":{in 9}}"#, ""),
        (none, r#"{"sub":"  ","exp":{in 9}}"#, ""),
        (none, r#"{"sub":"alice","exp":{in 100},"iat":{in 50}}"#, ""),
        (none, r#"{"sub":"alice","exp":{in 9},"iat":"x"}"#, ""),
        (none, r#"{"sub":"alice","exp":{in 9},"scope":5}"#, ""),
        (none, r#"{"sub":"alice","exp":{in 9},"scope":["a",1,null]}"#, ""),
        (none, r#"{"sub":"a","sub":"alice","exp":{in 9}}"#, ""),
        (none, "[1]", ""),
        (none, "", ""),
        (none, "{", ""),
        (none, r#"{"sub":"alice","exp":{in 9}} more"#, ""),
        (none, r#"{"sub":"alice","exp":{in 9}}"#, "abc"),
        ("{}", r#"{"sub":"alice","exp":{in 9}}"#, ""),
        ("[1]", r#"{"sub":"alice","exp":{in 9}}"#, ""),
        ("", r#"{"sub":"alice","exp":{in 9}}"#, ""),
        ("{", r#"{"sub":"alice","exp":{in 9}}"#, ""),
        (r#"{"alg":"NONE"}"#, r#"{"sub":"alice","exp":{in 9}}"#, ""),
        (r#"{"alg":"HS256"}"#, r#"{"sub":"alice","exp":{in 9}}"#, ""),
        (r#"{"alg":null}"#, r#"{"sub":"alice","exp":{in 9}}"#, ""),
        (r#"{"alg":"x","alg":"none"} more"#, r#"{"sub":"alice","exp":{in 9}}"#, ""),
    ] {
        story.push(format!("{header} {claims}"));
        bear(stage, &bearer(&jwt(header, claims, signature)), &mut story).await?;
    }
    Ok(story)
}

async fn bearer_messages_are_strict(stage: &Stage) -> Result<Vec<String>> {
    let token = jwt(r#"{"alg":"none"}"#, r#"{"sub":"alice","exp":{in 100}}"#, "");
    let mut story = Vec::new();
    for message in [
        "".to_owned(),
        "\u{1}".to_owned(),
        "n,,\u{1}\u{1}".to_owned(),
        "n,,\u{1}a=b\u{1}\u{1}".to_owned(),
        format!("y,,\u{1}auth=Bearer {token}\u{1}\u{1}"),
        format!("n,a=alice,\u{1}auth=Bearer {token}\u{1}\u{1}"),
        format!("n,a=bob,\u{1}auth=Bearer {token}\u{1}\u{1}"),
        format!("n,,\u{1}auth=bEARER   {token}\u{1}\u{1}"),
        format!("n,,\u{1}auth=Basic {token}\u{1}\u{1}"),
        format!("n,,\u{1}auth={token}\u{1}\u{1}"),
        format!("n,,\u{1}auth=Bearer {token}\u{1}"),
        format!("n,,\u{1}auth=Bearer {token} x\u{1}\u{1}"),
        format!("n,,\u{1}auth=Bearer {token}\u{1}a=b\u{1}a=c\u{1}\u{1}"),
        format!("n,,\u{1}auth=Bearer x\u{1}auth=Bearer {token}\u{1}\u{1}"),
        format!("n,,\u{1}1=2\u{1}auth=Bearer {token}\u{1}\u{1}"),
        format!("n,,\u{1}auth=Bearer {token}==\u{1}\u{1}"),
        "n,,\u{1}auth=Bearer a.b\u{1}\u{1}".to_owned(),
        "n,,\u{1}auth=Bearer a..\u{1}\u{1}".to_owned(),
        "n,,\u{1}auth=Bearer a.b.c.d\u{1}\u{1}".to_owned(),
    ] {
        story.push(message.replace(&token, "TOKEN"));
        bear(stage, message.as_bytes(), &mut story).await?;
    }
    Ok(story)
}

async fn a_refused_bearer_may_try_again(stage: &Stage) -> Result<Vec<String>> {
    let token = jwt(r#"{"alg":"none"}"#, r#"{"sub":"alice","exp":{in 100}}"#, "");
    let mut exchange = open(stage, "LOGIN").await?;
    exchange.handshake("OAUTHBEARER", 1).await?;
    exchange.token(&bearer("a.b.c"), 1).await?;
    exchange.token(&bearer(&token), 1).await?;
    exchange.metadata().await?;
    let mut story = exchange.story;
    let mut exchange = open(stage, "LOGIN").await?;
    exchange.handshake("OAUTHBEARER", 0).await?;
    exchange.raw(&bearer("a.b.c")).await?;
    exchange.raw(b"\x01").await?;
    story.append(&mut exchange.story);
    Ok(story)
}

async fn a_session_is_renewed_on_its_connection(stage: &Stage) -> Result<Vec<String>> {
    let mut exchange = open(stage, "REAUTH").await?;
    exchange.plain("alice", "alice-secret").await?;
    exchange.plain("alice", "alice-secret").await?;
    // The second time within a second is too early.
    exchange.handshake("PLAIN", 1).await?;
    exchange.metadata().await?;
    let mut story = exchange.story;
    for (name, password) in [("bob", "bob-secret"), ("alice", "wrong")] {
        let mut exchange = open(stage, "REAUTH").await?;
        exchange.plain("alice", "alice-secret").await?;
        exchange.plain(name, password).await?;
        exchange.metadata().await?;
        story.append(&mut exchange.story);
    }
    for mechanism in ["SCRAM-SHA-256", "GSSAPI"] {
        let mut exchange = open(stage, "REAUTH").await?;
        exchange.plain("alice", "alice-secret").await?;
        exchange.handshake(mechanism, 1).await?;
        exchange.token(b"n,,n=alice,r=abc", 1).await?;
        story.append(&mut exchange.story);
    }
    let mut exchange = open(stage, "REAUTH").await?;
    exchange.plain("alice", "alice-secret").await?;
    exchange.handshake("PLAIN", 1).await?;
    exchange.metadata().await?;
    exchange.metadata().await?;
    story.append(&mut exchange.story);
    let mut exchange = open(stage, "REAUTH").await?;
    exchange.plain("alice", "alice-secret").await?;
    exchange.handshake("PLAIN", 0).await?;
    exchange.raw(b"\0alice\0alice-secret").await?;
    exchange.metadata().await?;
    story.append(&mut exchange.story);
    let mut exchange = open(stage, "REAUTH").await?;
    let first = "n,,n=alice,r=abc";
    for password in ["alice-secret", "wrong"] {
        exchange.scram(Hash::Sha256, first, password, |without, proof| (without, proof)).await?;
    }
    story.append(&mut exchange.story);
    let mut exchange = open(stage, "REAUTH").await?;
    exchange.handshake("OAUTHBEARER", 1).await?;
    let token = jwt(r#"{"alg":"none"}"#, r#"{"sub":"alice","exp":{in 100}}"#, "");
    exchange.token(&bearer(&token), 1).await?;
    story.append(&mut exchange.story);
    Ok(story)
}

async fn a_session_that_is_not_renewed_ends(stage: &Stage) -> Result<Vec<String>> {
    let (mut silent, mut late) = (open(stage, "REAUTH").await?, open(stage, "REAUTH").await?);
    silent.plain("alice", "alice-secret").await?;
    late.plain("alice", "alice-secret").await?;
    tokio::time::sleep(Duration::from_millis(3300)).await;
    silent.metadata().await?;
    // A login is possible even now.
    late.plain("alice", "alice-secret").await?;
    late.metadata().await?;
    silent.story.append(&mut late.story);
    Ok(silent.story)
}

async fn scram_users_are_managed(stage: &Stage) -> Result<Vec<String>> {
    management::users(&stage.address("PLAIN")?).await
}

async fn delegation_tokens_need_a_login(stage: &Stage) -> Result<Vec<String>> {
    tokens::denied(&stage.address("PLAIN")?, &stage.address("LOGIN")?).await
}

async fn delegation_tokens_live_and_end(stage: &Stage) -> Result<Vec<String>> {
    tokens::life(&stage.address("LOGIN")?).await
}
