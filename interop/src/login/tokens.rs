//! Delegation tokens: what a broker says to those who ask for them, and who gets in with one.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milena_messages::create_delegation_token::request::CreatableRenewers;
use milena_messages::describe_delegation_token::request::DescribeDelegationTokenOwner;
use milena_messages::{
    Bytes, CreateDelegationTokenRequest, CreateDelegationTokenResponse, DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest, RenewDelegationTokenRequest,
};

use super::exchange::Exchange;
use super::proof::Hash;
use crate::error::Result;

/// Times in milliseconds that are compared to seconds.
const SECOND: i64 = 1000;

/// Until a broker knows what its controller has decided.
const SETTLED: Duration = Duration::from_secs(1);
/// How long it may take until the broker knows all tokens.
const PATIENCE: Duration = Duration::from_secs(15);

fn created(response: &CreateDelegationTokenResponse) -> String {
    let since = |time: i64| if time > 0 { (time - response.issue_timestamp_ms) / SECOND } else { time };
    format!(
        "created {} {}:{} by {}:{} {} {} {} id {} hmac {}",
        response.error_code,
        response.principal_type,
        response.principal_name,
        response.token_requester_principal_type,
        response.token_requester_principal_name,
        response.issue_timestamp_ms.min(1),
        since(response.expiry_timestamp_ms),
        since(response.max_timestamp_ms),
        response.token_id.len(),
        response.hmac.len(),
    )
}

fn create(renewers: &[(&str, &str)], owner: Option<&str>, max_lifetime_ms: i64) -> CreateDelegationTokenRequest {
    let renewer = |(kind, name): &(&str, &str)| CreatableRenewers {
        principal_type: (*kind).into(),
        principal_name: (*name).into(),
        ..Default::default()
    };
    let mut request = CreateDelegationTokenRequest {
        renewers: renewers.iter().map(renewer).collect(),
        max_lifetime_ms,
        ..Default::default()
    };
    if let Some(owner) = owner {
        request.owner_principal_type = Some("User".into());
        request.owner_principal_name = Some(owner.into());
    }
    request
}

async fn alice(address: &str) -> Result<Exchange> {
    let mut exchange = Exchange::open(address).await?;
    exchange.plain("alice", "alice-secret").await?;
    Ok(exchange)
}

/// Those who may not ask for tokens.
pub(super) async fn denied(plain: &str, login: &str) -> Result<Vec<String>> {
    let mut exchange = Exchange::open(plain).await?;
    let mut story = Vec::new();
    for version in [1, 3] {
        let response = exchange.call(&create(&[], None, -1), version).await?;
        story.push(created(&response));
    }
    let hmac = Bytes::from_static(b"x");
    let renew = RenewDelegationTokenRequest { hmac: hmac.clone(), ..Default::default() };
    let expire = ExpireDelegationTokenRequest { hmac, ..Default::default() };
    let describe = DescribeDelegationTokenRequest { owners: None, ..Default::default() };
    let renewed = exchange.call(&renew, 2).await?;
    let expired = exchange.call(&expire, 2).await?;
    let described = exchange.call(&describe, 3).await?;
    story.push(format!("renewed {} {}", renewed.error_code, renewed.expiry_timestamp_ms));
    story.push(format!("expired {} {}", expired.error_code, expired.expiry_timestamp_ms));
    story.push(format!("described {} {}", described.error_code, described.tokens.len()));
    let mut exchange = alice(login).await?;
    let renewed = exchange.call(&renew, 2).await?;
    let expired = exchange.call(&expire, 2).await?;
    story.push(format!("renewed {} {}", renewed.error_code, renewed.expiry_timestamp_ms));
    story.push(format!("expired {} {}", expired.error_code, expired.expiry_timestamp_ms));
    let response = exchange.call(&create(&[("Group", "x")], None, -1), 3).await?;
    story.push(created(&response));
    Ok(story)
}

/// The life of a token, from its creation to its end.
pub(super) async fn life(login: &str) -> Result<Vec<String>> {
    let mut exchange = alice(login).await?;
    let mut story = Vec::new();
    let token = exchange.call(&create(&[("User", "bob")], None, 3_600_000), 3).await?;
    story.push(created(&token));
    for (owner, lifetime, version) in [(Some("carol"), -1, 3), (None, 0, 2), (None, i64::MAX, 2)] {
        let response = exchange.call(&create(&[], owner, lifetime), version).await?;
        story.push(created(&response));
    }
    let begun = Instant::now();
    let all = DescribeDelegationTokenRequest { owners: None, ..Default::default() };
    while exchange.call(&all, 3).await?.tokens.len() < 4 && begun.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for owners in [Some(vec!["bob"]), Some(vec!["carol", "nobody"]), Some(vec![]), Some(vec!["nobody"])] {
        let owner = |name: &str| DescribeDelegationTokenOwner {
            principal_type: "User".into(),
            principal_name: name.into(),
            ..Default::default()
        };
        let owners = owners.map(|owners| owners.into_iter().map(owner).collect());
        let response = exchange.call(&DescribeDelegationTokenRequest { owners, ..Default::default() }, 3).await?;
        let text = response.tokens.iter().map(|token| {
            let renewers: Vec<String> = token.renewers.iter().map(|one| one.principal_name.to_string()).collect();
            let (owner, requester) = (&token.principal_name, &token.token_requester_principal_name);
            format!("{owner} by {requester} for {} hmac {}", renewers.join(","), token.hmac.len())
        });
        let mut text: Vec<String> = text.collect();
        text.sort();
        story.push(format!("described {} {}", response.error_code, text.join("; ")));
    }

    let password = STANDARD.encode(&token.hmac);
    let first = |extension: &str| format!("n,,n={},r=nonce{extension}", token.token_id);
    for (hash, extension, password) in [
        (Hash::Sha256, ",tokenauth=true", &*password),
        (Hash::Sha512, ",tokenauth=true", &*password),
        (Hash::Sha256, ",tokenauth=TRUE", &*password),
        (Hash::Sha256, "", &*password),
        (Hash::Sha256, ",tokenauth=true", "wrong"),
    ] {
        let mut worker = Exchange::open(login).await?;
        worker.scram(hash, &first(extension), password, |without, proof| (without, proof)).await?;
        if worker.story.last().is_some_and(|text| text.starts_with("NONE")) {
            worker.metadata().await?;
            let denied = worker.call(&create(&[], None, -1), 3).await?;
            worker.story.push(created(&denied));
        }
        story.append(&mut worker.story);
    }

    let (now, hmac) = (token.issue_timestamp_ms, token.hmac.clone());
    let mut bob = Exchange::open(login).await?;
    bob.plain("bob", "bob-secret").await?;
    for period in [-1, 0, 60_000, i64::MAX] {
        tokio::time::sleep(SETTLED).await;
        let request = RenewDelegationTokenRequest { hmac: hmac.clone(), renew_period_ms: period, ..Default::default() };
        let response = bob.call(&request, 2).await?;
        let left = (response.expiry_timestamp_ms - now) / (10 * SECOND);
        story.push(format!("renewed {} {left}", response.error_code));
    }
    for period in [120_000, i64::MAX, 0, -1, -1] {
        tokio::time::sleep(SETTLED).await;
        let request =
            ExpireDelegationTokenRequest { hmac: hmac.clone(), expiry_time_period_ms: period, ..Default::default() };
        let response = bob.call(&request, 2).await?;
        let left = (response.expiry_timestamp_ms - now) / (10 * SECOND);
        let left = if response.error_code.is_none() { left } else { response.expiry_timestamp_ms };
        story.push(format!("expired {} {left}", response.error_code));
    }
    tokio::time::sleep(SETTLED).await;
    let mut worker = Exchange::open(login).await?;
    worker.scram(Hash::Sha256, &first(",tokenauth=true"), &password, |without, proof| (without, proof)).await?;
    story.append(&mut worker.story);
    Ok(story)
}
