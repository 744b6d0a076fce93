use std::collections::{BTreeMap, BTreeSet};

use milena_messages::alter_user_scram_credentials::request::ScramCredentialUpsertion;
use milena_messages::alter_user_scram_credentials::response::AlterUserScramCredentialsResult;
use milena_messages::{AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse, ByteString, ErrorCode};

use super::Context;
use crate::cost::Cost;
use crate::refusal::Refusal;
use crate::security::acl::Operation;
use crate::security::credentials::{ScramUsers, Stored};
use crate::security::sasl::scram::{ScramCredential, ScramHash};

/// Most credentials; Kafka has no limit.
const MAX_CREDENTIALS: usize = 100_000;

/// What happens to the one credential of a user that a request may change.
enum Change {
    Delete(ScramHash),
    Upsert(ScramHash, ScramCredential),
}

pub(super) fn handle(
    context: &Context,
    request: AlterUserScramCredentialsRequest,
    _cost: &mut Cost,
) -> AlterUserScramCredentialsResponse {
    if let Err(refusal) = context.authorize_cluster(Operation::Alter) {
        let names =
            request.deletions.into_iter().map(|one| one.name).chain(request.upsertions.into_iter().map(|one| one.name));
        let names: BTreeSet<ByteString> = names.collect();
        let results = names.into_iter().map(|user| result(user, Some(&refusal))).collect();
        return AlterUserScramCredentialsResponse { results, ..Default::default() };
    }
    let mut users = context.state.credentials.scram_users();
    let mut changes: BTreeMap<ByteString, Result<Change, Refusal>> = BTreeMap::new();
    let mut plan = |name: ByteString, change: Result<Change, Refusal>| {
        // A second change of a user refuses both; a refusal stays what it was.
        let twice = || {
            let message = "A user credential cannot be altered twice in the same request";
            Err(Refusal::new(ErrorCode::DUPLICATE_RESOURCE, message))
        };
        changes
            .entry(name)
            .and_modify(|known| {
                if known.is_ok() {
                    *known = twice()
                }
            })
            .or_insert(change);
    };
    for deletion in request.deletions {
        let change = check(&deletion.name, deletion.mechanism).and_then(|hash| {
            if users.contains_key(&(deletion.name.to_string(), hash)) {
                return Ok(Change::Delete(hash));
            }
            let message = "Attempt to delete a user credential that does not exist";
            Err(Refusal::new(ErrorCode::RESOURCE_NOT_FOUND, message))
        });
        plan(deletion.name, change);
    }
    let mut room = MAX_CREDENTIALS.saturating_sub(users.len());
    for upsertion in request.upsertions {
        let change = upsert(&upsertion, &mut room);
        plan(upsertion.name, change);
    }
    let mut results = Vec::new();
    for (user, change) in changes {
        let refusal = change.map(|change| apply(&mut users, &user, change)).err();
        results.push(result(user, refusal.as_ref()));
    }
    AlterUserScramCredentialsResponse { results, ..Default::default() }
}

fn result(user: ByteString, refusal: Option<&Refusal>) -> AlterUserScramCredentialsResult {
    AlterUserScramCredentialsResult {
        user,
        error_code: refusal.map_or(ErrorCode::NONE, |refusal| refusal.code),
        error_message: refusal.and_then(Refusal::text).filter(|text| !text.is_empty()),
        ..Default::default()
    }
}

fn apply(users: &mut ScramUsers, user: &ByteString, change: Change) {
    match change {
        Change::Delete(hash) => _ = users.remove(&(user.to_string(), hash)),
        Change::Upsert(hash, credential) => _ = users.insert((user.to_string(), hash), Stored::Salted(credential)),
    }
}

fn check(name: &str, mechanism: i8) -> Result<ScramHash, Refusal> {
    if name.is_empty() {
        return Err(Refusal::new(ErrorCode::UNACCEPTABLE_CREDENTIAL, "Username must not be empty"));
    }
    let unknown = || Refusal::new(ErrorCode::UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism");
    ScramHash::of_number(mechanism).ok_or_else(unknown)
}

fn upsert(wanted: &ScramCredentialUpsertion, room: &mut usize) -> Result<Change, Refusal> {
    let hash = check(&wanted.name, wanted.mechanism)?;
    let refused = |message: &'static str| Err(Refusal::new(ErrorCode::UNACCEPTABLE_CREDENTIAL, message));
    if wanted.iterations < ScramHash::MIN_ITERATIONS {
        return refused("Too few iterations");
    }
    if wanted.iterations > ScramHash::MAX_ITERATIONS {
        return refused("Too many iterations");
    }
    if wanted.salted_password.is_empty() {
        // Java has no keys without a byte, and Kafka no message for that.
        return Err(Refusal::new(ErrorCode::UNKNOWN_SERVER_ERROR, ""));
    }
    *room = room.checked_sub(1).ok_or_else(|| {
        let message = format!("There are at most {MAX_CREDENTIALS} credentials.");
        Refusal::new(ErrorCode::POLICY_VIOLATION, message)
    })?;
    let salt = wanted.salt.to_vec();
    let credential = ScramCredential::of_salted(hash, salt, &wanted.salted_password, wanted.iterations);
    Ok(Change::Upsert(hash, credential))
}

#[cfg(test)]
mod tests {
    use milena_messages::alter_user_scram_credentials::request::ScramCredentialDeletion;

    use super::*;
    use crate::handler::tests::state;

    /// Codes and messages of Kafka 4.4.
    #[test]
    fn each_user_is_changed_once_or_not_at_all() {
        let state = state();
        let upsertion = |name: &str, mechanism, iterations| ScramCredentialUpsertion {
            name: name.into(),
            mechanism,
            iterations,
            salt: "salt".into(),
            salted_password: "salted".into(),
            ..Default::default()
        };
        let deletion =
            |name: &str, mechanism| ScramCredentialDeletion { name: name.into(), mechanism, ..Default::default() };
        let ask = |deletions: Vec<_>, upsertions: Vec<_>| {
            let request = AlterUserScramCredentialsRequest { deletions, upsertions, ..Default::default() };
            let results = handle(&state.at(0), request, &mut Cost::quick()).results;
            let result = |result: AlterUserScramCredentialsResult| {
                let message = result.error_message.map(|text| text.to_string()).unwrap_or_default();
                (result.user.to_string(), result.error_code, message)
            };
            results.into_iter().map(result).collect::<Vec<_>>()
        };
        let one = |name: &str, code, message: &str| vec![(name.to_owned(), code, message.to_owned())];
        assert_eq!(ask(vec![], vec![upsertion("a", 1, 4096)]), one("a", ErrorCode::NONE, ""));
        for (upsertion, code, message) in [
            (upsertion("", 1, 4096), ErrorCode::UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
            (upsertion("a", 1, 4095), ErrorCode::UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
            (upsertion("a", 1, 16_385), ErrorCode::UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
            (upsertion("a", 3, 4096), ErrorCode::UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        ] {
            assert_eq!(ask(vec![], vec![upsertion.clone()]), one(&upsertion.name, code, message));
        }
        let twice = "A user credential cannot be altered twice in the same request";
        assert_eq!(
            ask(vec![deletion("a", 1)], vec![upsertion("a", 2, 4096)]),
            one("a", ErrorCode::DUPLICATE_RESOURCE, twice)
        );
        let missing = "Attempt to delete a user credential that does not exist";
        assert_eq!(ask(vec![deletion("a", 2)], vec![]), one("a", ErrorCode::RESOURCE_NOT_FOUND, missing));
        assert_eq!(ask(vec![deletion("a", 1)], vec![]), one("a", ErrorCode::NONE, ""));
        assert!(state.credentials.scram_users().is_empty());
    }
}
