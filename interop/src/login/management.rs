//! Requests about users and delegation tokens.

use std::num::NonZeroU32;
use std::time::Duration;

use milena_client::{Client, ClientConfig, Target};
use milena_messages::alter_user_scram_credentials::request::{ScramCredentialDeletion, ScramCredentialUpsertion};
use milena_messages::describe_user_scram_credentials::request::UserName;
use milena_messages::{AlterUserScramCredentialsRequest, DescribeUserScramCredentialsRequest};

use super::proof::Hash;
use super::stage::USERS;
use crate::error::{Error, Result};

const ITERATIONS: NonZeroU32 = NonZeroU32::new(4096).unwrap();

fn other(error: impl std::error::Error) -> Error {
    Error::Other(milena_client::Report(&error).to_string())
}

pub(super) async fn client(address: &str) -> Result<Client> {
    let config = ClientConfig { bootstrap: vec![address.to_owned()], ..ClientConfig::default() };
    Client::connect(config).await.map_err(other)
}

fn upsertion(name: &str, password: &str, hash: Hash) -> ScramCredentialUpsertion {
    ScramCredentialUpsertion {
        name: name.into(),
        mechanism: hash.number(),
        iterations: 4096,
        salt: "some salt".into(),
        salted_password: hash.salted(password.as_bytes(), b"some salt", ITERATIONS).into(),
        ..Default::default()
    }
}

/// Adds the users of SCRAM, and waits until the broker knows them.
pub(super) async fn add_scram_users(address: &str) -> Result<()> {
    let client = client(address).await?;
    for hash in [Hash::Sha256, Hash::Sha512] {
        let upsertions = USERS.iter().map(|(name, password)| upsertion(name, password, hash)).collect();
        let request = AlterUserScramCredentialsRequest { upsertions, ..Default::default() };
        let response = client.send(Target::Controller, &request).await.map_err(other)?;
        if let Some(failed) = response.results.iter().find(|result| !result.error_code.is_none()) {
            return Err(Error::Other(format!("{failed:?}")));
        }
    }
    for _ in 0..100 {
        let users = USERS.iter().map(|(name, _)| UserName { name: (*name).into(), ..Default::default() }).collect();
        let request = DescribeUserScramCredentialsRequest { users: Some(users), ..Default::default() };
        let response = client.send(Target::Any, &request).await.map_err(other)?;
        if response.results.iter().all(|result| result.credential_infos.len() == 2) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(Error::Other("the users of SCRAM do not appear".to_owned()))
}

/// What a broker says to changes of users that are wrong, and to those that are right.
pub(super) async fn users(address: &str) -> Result<Vec<String>> {
    let client = client(address).await?;
    let change = |name: &str, mechanism, iterations| ScramCredentialUpsertion {
        mechanism,
        iterations,
        ..upsertion(name, "x", Hash::Sha256)
    };
    let delete = |name: &str, mechanism| ScramCredentialDeletion { name: name.into(), mechanism, ..Default::default() };
    let mut story = Vec::new();
    for (deletions, upsertions) in [
        (vec![], vec![change("", 1, 4096), change("few", 1, 4095), change("many", 2, 16_385), change("odd", 3, 4096)]),
        (vec![delete("nobody", 1), delete("alice", 3), delete("", 1)], vec![]),
        (vec![delete("alice", 1)], vec![change("alice", 2, 4096)]),
        (vec![delete("bob", 1), delete("bob", 2)], vec![change("bob", 2, 4096)]),
        (vec![], vec![change("new", 1, 5000), change("twice", 1, 4096), change("twice", 2, 4096)]),
        (vec![], vec![ScramCredentialUpsertion { salted_password: "".into(), ..change("empty", 1, 4096) }]),
        (vec![], vec![ScramCredentialUpsertion { salt: "".into(), ..change("unsalted", 1, 4096) }]),
        (vec![delete("unsalted", 1)], vec![]),
        (vec![], vec![]),
    ] {
        let request = AlterUserScramCredentialsRequest { deletions, upsertions, ..Default::default() };
        let response = client.send(Target::Controller, &request).await.map_err(other)?;
        let text = response
            .results
            .iter()
            .map(|one| format!("{}: {} {}", one.user, one.error_code, one.error_message.as_deref().unwrap_or("null")));
        let mut text: Vec<String> = text.collect();
        text.sort();
        story.push(text.join(", "));
        // Until the broker has it from its controller.
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    for users in [None, Some(vec![]), Some(vec!["alice", "nobody", "new", "new", "twice", ""])] {
        let user = |name: &str| UserName { name: name.into(), ..Default::default() };
        let users = users.map(|users| users.into_iter().map(user).collect());
        let request = DescribeUserScramCredentialsRequest { users, ..Default::default() };
        let response = client.send(Target::Any, &request).await.map_err(other)?;
        let text = response.results.iter().map(|one| {
            let mut infos: Vec<_> = one.credential_infos.iter().map(|info| (info.mechanism, info.iterations)).collect();
            infos.sort_unstable();
            let message = one.error_message.as_deref().unwrap_or("null");
            format!("{}: {} {message} {infos:?}", one.user, one.error_code)
        });
        let mut text: Vec<String> = text.collect();
        text.sort();
        story.push(format!("{} {}", response.error_code, text.join(", ")));
    }
    let deletions = vec![delete("new", 1)];
    let request = AlterUserScramCredentialsRequest { deletions, ..Default::default() };
    let response = client.send(Target::Controller, &request).await.map_err(other)?;
    story.push(format!("{:?}", response.results.iter().map(|one| one.error_code).collect::<Vec<_>>()));
    Ok(story)
}
