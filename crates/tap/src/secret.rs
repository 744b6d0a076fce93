//! Frames without what nobody may see.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use bytes::{Bytes, BytesMut};
use milena_connection::read_request_header;
use milena_messages::ApiKey;
use milena_schema::{Field, Kind, Message, Spec, StructId, Type};

use crate::event::Exchange;
use crate::header::response_body;
use crate::walk::{Mark, Plan};

/// Fields that are secrets, by name; all of them are bytes: tokens of SASL, keys of SCRAM, tokens of delegation, and
/// whole messages inside of an Envelope.
const FIELDS: &[&str] =
    &["AuthBytes", "Hmac", "RequestData", "RequestPrincipal", "ResponseData", "Salt", "SaltedPassword"];

/// Parts of the names of settings whose values are secrets.
const SETTINGS: &[&str] = &["password", "secret", "jaas", "keystore.key", "credential", "token"];

/// What stands in place of a secret, as often as it is long.
const STAR: u8 = b'*';

impl Exchange {
    /// The same without secrets: tokens of SASL, keys of SCRAM, delegation tokens and the values of settings such as
    /// passwords have asterisks in their place. All sizes stay.
    ///
    /// What cannot be read of a message that may hold secrets is taken for one.
    #[must_use]
    pub fn without_secrets(mut self) -> Self {
        let Some(api) = self.api else {
            self.request = stars(&self.request, 0);
            self.response = self.response.map(|response| stars(&response, 0));
            return self;
        };
        if let Ok((_, body)) = read_request_header(self.request.clone()) {
            let at = self.request.len() - body.len();
            self.request = hidden(api, self.version, true, &self.request, Some(at));
        }
        self.response = self.response.map(|response| {
            let at = response_body(api, self.version, &response);
            hidden(api, self.version, false, &response, at)
        });
        self
    }
}

fn hidden(api: ApiKey, version: i16, is_request: bool, frame: &Bytes, body: Option<usize>) -> Bytes {
    if !may_hold_secrets(api, is_request) {
        return frame.clone();
    }
    // Of a version that no release has it is not known where they stand.
    let Some(body) = body else { return stars(frame, frame.len().min(4)) };
    let Some(plan) = plan(api, version, is_request) else { return stars(frame, body) };
    let mut places = Vec::new();
    let mut is_secret_setting = false;
    let walked = plan.walk(frame, body, &mut |found| match found.mark {
        Mark::SettingName => is_secret_setting = is_secret(&frame[found.value.clone()]),
        Mark::SettingValue if !is_secret_setting => {}
        _ => places.push(found.value.clone()),
    });
    if walked.is_err() {
        return stars(frame, body);
    }
    let mut bytes = BytesMut::from(&frame[..]);
    for place in places {
        bytes[place].fill(STAR);
    }
    bytes.freeze()
}

fn stars(frame: &Bytes, from: usize) -> Bytes {
    let mut bytes = BytesMut::from(&frame[..]);
    bytes[from..].fill(STAR);
    bytes.freeze()
}

fn is_secret(setting: &[u8]) -> bool {
    let name = String::from_utf8_lossy(setting).to_lowercase();
    SETTINGS.iter().any(|part| name.contains(part))
}

fn mark(message: &Message, id: StructId, field: &Field) -> Option<Mark> {
    let of_setting = message.structure(id).fields.iter().any(|field| field.name == "Value" && field.ty == Type::String);
    match field.name.as_str() {
        name if field.ty == Type::Bytes && FIELDS.contains(&name) => Some(Mark::Secret),
        "Name" if of_setting && message.name.contains("Config") => Some(Mark::SettingName),
        "Value" if of_setting && message.name.contains("Config") => Some(Mark::SettingValue),
        _ => None,
    }
}

fn message(api: ApiKey, is_request: bool) -> Option<&'static Message> {
    let name = format!("{}{}", api.name()?, if is_request { "Request" } else { "Response" });
    Spec::kafka().message(&name).ok()
}

fn may_hold_secrets(api: ApiKey, is_request: bool) -> bool {
    static HOLDERS: OnceLock<Vec<(Kind, i16)>> = OnceLock::new();
    let holders = HOLDERS.get_or_init(|| {
        let holds =
            |message: &&Message| message.versions.iter().any(|version| Plan::new(message, version, &mark).stops());
        let messages =
            Spec::kafka().messages.iter().filter(|message| matches!(message.kind, Kind::Request | Kind::Response));
        messages.filter(holds).filter_map(|message| Some((message.kind, message.key?))).collect()
    });
    holders.contains(&(if is_request { Kind::Request } else { Kind::Response }, api.0))
}

fn plan(api: ApiKey, version: i16, is_request: bool) -> Option<&'static Plan> {
    type Key = (i16, i16, bool);
    static PLANS: OnceLock<Mutex<HashMap<Key, &'static Plan>>> = OnceLock::new();
    let message = message(api, is_request).filter(|message| message.versions.contains(version))?;
    let mut plans = PLANS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    // There are as many plans as versions in the spec, so that none needs to go.
    let made = || &*Box::leak(Box::new(Plan::new(message, version, &mark)));
    Some(plans.entry((api.0, version, is_request)).or_insert_with(made))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_that_the_spec_calls_a_secret_is_one() {
        let mut holders = BTreeSet::new();
        for api in ApiKey::all() {
            for (is_request, kind) in [(true, "Request"), (false, "Response")] {
                if may_hold_secrets(api, is_request) {
                    holders.insert(format!("{api}{kind}"));
                }
            }
        }
        let known = [
            "AlterConfigsRequest",
            "AlterUserScramCredentialsRequest",
            "CreateDelegationTokenResponse",
            "DescribeConfigsResponse",
            "DescribeDelegationTokenResponse",
            "EnvelopeRequest",
            "EnvelopeResponse",
            "ExpireDelegationTokenRequest",
            "IncrementalAlterConfigsRequest",
            "RenewDelegationTokenRequest",
            "SaslAuthenticateRequest",
            "SaslAuthenticateResponse",
        ];
        assert_eq!(holders, known.map(str::to_owned).into_iter().collect());
    }

    #[test]
    fn secrets_become_asterisks_of_the_same_length_and_all_else_stays() {
        for version in 0..=1 {
            let message = Spec::kafka().message("IncrementalAlterConfigsRequest").unwrap();
            let json = |password: &str| {
                json!({ "resources": [{ "resourceType": 4, "resourceName": "1", "configs": [
                    { "name": "log.retention.ms", "configOperation": 0, "value": "1000" },
                    { "name": "ssl.keystore.password", "configOperation": 0, "value": password },
                    { "name": "listener.name.x.sasl.jaas.config", "configOperation": 1, "value": null },
                ]}]})
            };
            let frame = |password| message.encode(&json(password), version).unwrap();
            let after = hidden(ApiKey::INCREMENTAL_ALTER_CONFIGS, version, true, &frame("hunter2"), Some(0));
            assert_eq!(after, frame("*******"), "version {version}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_hidden_as_a_whole() {
        let frame = Bytes::from_static(b"headhunter2");
        for version in [0, 99] {
            assert_eq!(hidden(ApiKey::SASL_AUTHENTICATE, version, true, &frame, Some(4)), "head*******");
        }
        assert_eq!(hidden(ApiKey::FETCH, 99, true, &frame, Some(4)), frame);
    }
}
