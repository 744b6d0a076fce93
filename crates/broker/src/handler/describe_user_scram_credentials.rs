use std::collections::BTreeMap;

use milena_messages::describe_user_scram_credentials::response::{CredentialInfo, DescribeUserScramCredentialsResult};
use milena_messages::{
    ByteString, DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse, ErrorCode,
};

use super::Context;
use crate::cost::Cost;
use crate::security::acl::Operation;
use crate::security::sasl::scram::ScramHash;

pub(super) fn handle(
    context: &Context,
    request: DescribeUserScramCredentialsRequest,
    _cost: &mut Cost,
) -> DescribeUserScramCredentialsResponse {
    if let Err(refusal) = context.authorize_cluster(Operation::Describe) {
        let (error_code, error_message) = (refusal.code, refusal.text());
        // As in Kafka, one for each that was asked for, without its name.
        let refused = |_| DescribeUserScramCredentialsResult {
            error_code,
            error_message: error_message.clone(),
            ..Default::default()
        };
        let results = request.users.into_iter().flatten().map(refused).collect();
        return DescribeUserScramCredentialsResponse { error_code, error_message, results, ..Default::default() };
    }
    let users = context.state.credentials.scram_users();
    // How often each user is listed; no list means everybody.
    let mut wanted: BTreeMap<ByteString, usize> = BTreeMap::new();
    match request.users.filter(|users| !users.is_empty()) {
        Some(listed) => listed.into_iter().for_each(|user| *wanted.entry(user.name).or_default() += 1),
        None => wanted.extend(users.keys().map(|(name, _)| (name.as_str().into(), 1))),
    }
    let describe = |(user, times): (ByteString, usize)| {
        let refused = |user: ByteString, error_code, message: &str| DescribeUserScramCredentialsResult {
            error_code,
            error_message: Some(format!("{message}{user}").into()),
            user,
            ..Default::default()
        };
        if times > 1 {
            let message = "Cannot describe SCRAM credentials for the same user twice in a single request: ";
            return refused(user, ErrorCode::DUPLICATE_RESOURCE, message);
        }
        let of_hash = |hash: ScramHash| {
            let stored = users.get(&(user.to_string(), hash))?;
            Some(CredentialInfo { mechanism: hash.number(), iterations: stored.iterations(), ..Default::default() })
        };
        let credential_infos: Vec<_> = ScramHash::ALL.into_iter().filter_map(of_hash).collect();
        if credential_infos.is_empty() {
            let message = "Attempt to describe a user credential that does not exist: ";
            return refused(user, ErrorCode::RESOURCE_NOT_FOUND, message);
        }
        DescribeUserScramCredentialsResult { user, credential_infos, ..Default::default() }
    };
    let results = wanted.into_iter().map(describe).collect();
    DescribeUserScramCredentialsResponse { results, ..Default::default() }
}

#[cfg(test)]
mod tests {
    use milena_messages::describe_user_scram_credentials::request::UserName;

    use super::*;
    use crate::config::BrokerConfig;
    use crate::handler::tests::state_with;
    use crate::security::config::{SecurityConfig, User};
    use crate::security::protocol::SaslMechanism;

    /// Codes and messages of Kafka 4.4.
    #[test]
    fn users_of_the_settings_are_described() {
        let users = vec![
            User::new("a", "x"),
            User::new("b", "x").only_by(SaslMechanism::ScramSha512),
            User::new("c", "x").only_by(SaslMechanism::Plain),
        ];
        let security = SecurityConfig { users, ..SecurityConfig::default() };
        let state = state_with(BrokerConfig { security, ..BrokerConfig::default() });
        let ask = |names: Option<&[&str]>| {
            let user = |name: &&str| UserName { name: (*name).into(), ..Default::default() };
            let users = names.map(|names| names.iter().map(user).collect());
            let request = DescribeUserScramCredentialsRequest { users, ..Default::default() };
            let results = handle(&state.at(0), request, &mut Cost::quick()).results;
            let result = |result: DescribeUserScramCredentialsResult| {
                let infos = result.credential_infos.iter().map(|info| (info.mechanism, info.iterations)).collect();
                (result.user.to_string(), result.error_code, infos)
            };
            results.into_iter().map(result).collect::<Vec<(String, ErrorCode, Vec<(i8, i32)>)>>()
        };
        let a = ("a".to_owned(), ErrorCode::NONE, vec![(1, 4096), (2, 4096)]);
        let b = ("b".to_owned(), ErrorCode::NONE, vec![(2, 4096)]);
        assert_eq!(ask(None), [a.clone(), b.clone()]);
        assert_eq!(ask(Some(&[])), [a, b.clone()]);
        assert_eq!(
            ask(Some(&["b", "c", "d", "d"])),
            [
                b,
                ("c".to_owned(), ErrorCode::RESOURCE_NOT_FOUND, vec![]),
                ("d".to_owned(), ErrorCode::DUPLICATE_RESOURCE, vec![])
            ]
        );
    }
}
