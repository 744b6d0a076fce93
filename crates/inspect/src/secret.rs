//! Messages without their secrets.
//!
//! Tokens of SASL, keys of SCRAM, delegation tokens, messages that a broker forwards for a client, and the values of
//! settings such as passwords become asterisks. All sizes stay, so that everything else stays where it is.

use std::sync::OnceLock;

use bytes::{Bytes, BytesMut};
use milena_messages::ApiKey;
use milena_schema::{Field, MessageSpec, Scalar, Spec, StructSpec, Type};

use crate::conversation::Direction;

/// Fields that are secrets, by name; all of them are bytes: tokens of SASL, keys of SCRAM, tokens of delegation, and
/// whole messages inside of an Envelope.
const FIELDS: &[&str] = &[
    "AuthBytes",
    "Hmac",
    "RequestData",
    "RequestPrincipal",
    "ResponseData",
    "Salt",
    "SaltedPassword",
    "ServerKey",
    "StoredKey",
];

/// Parts of the names of settings whose values are secrets.
const SETTINGS: &[&str] = &["password", "secret", "jaas", "keystore.key", "credential", "token"];

/// What stands in place of a secret, as often as it is long.
const STAR: u8 = b'*';

/// Whether a message has fields that are or may be secrets, at any version.
pub fn may_hold(message: &MessageSpec) -> bool {
    static HOLDERS: OnceLock<Vec<&'static str>> = OnceLock::new();
    let holders = HOLDERS.get_or_init(|| {
        let holds = |message: &&MessageSpec| {
            message.structs.iter().flat_map(|inner| &inner.fields).any(|field| {
                is_secret_field(field) || (is_of_settings(message) && field.name == "Value" && field.ty == Type::String)
            })
        };
        Spec::kafka().messages.iter().filter(holds).map(|message| message.name.as_str()).collect()
    });
    holders.contains(&message.name.as_str())
}

/// A message at the start of `bytes`, without its secrets. Bytes after it stay.
///
/// What cannot be read of a message that may hold secrets is taken for one, as a whole.
pub fn hide(message: &MessageSpec, version: i16, bytes: &Bytes) -> Bytes {
    if !may_hold(message) {
        return bytes.clone();
    }
    let is_of_settings = is_of_settings(message);
    let is_wanted = |_: &StructSpec, field: &Field| {
        is_secret_field(field)
            || (is_of_settings && field.ty == Type::String && ["Name", "Value"].contains(&&*field.name))
    };
    let (mut places, mut is_secret_setting) = (Vec::new(), false);
    let found = message.finder(version, is_wanted).and_then(|finder| {
        finder.walk(bytes, 0, |found| match (found.field.name.as_str(), found.value) {
            (_, Scalar::Bytes(secret)) => places.push(found.range.end - secret.len()..found.range.end),
            ("Name", Scalar::Text(name)) => is_secret_setting = is_secret(&name),
            // Text that is not UTF-8 has another length as it is shown: what comes after its own length is hidden.
            ("Value", Scalar::Text(_)) if is_secret_setting => {
                let prefix = if found.flexible { varint_size(&bytes[found.range.clone()]) } else { 2 };
                places.push((found.range.start + prefix).min(found.range.end)..found.range.end);
            }
            _ => {}
        })
    });
    if found.is_err() {
        return stars(bytes, 0);
    }
    let mut hidden = BytesMut::from(&bytes[..]);
    places.into_iter().for_each(|place| hidden[place].fill(STAR));
    hidden.freeze()
}

/// A frame without its secrets, with `body` where its body begins, if that can be said. Of an API that no release has it
/// stays as it is.
pub fn hide_frame(api: ApiKey, version: i16, direction: Direction, frame: &Bytes, body: Option<usize>) -> Bytes {
    let suffix = if direction == Direction::Request { "Request" } else { "Response" };
    let message = api.name().and_then(|api| Spec::kafka().message(&format!("{api}{suffix}")).ok());
    let Some(message) = message.filter(|message| may_hold(message)) else { return frame.clone() };
    // The number of the request stands in front, and is no secret.
    let Some(body) = body.filter(|body| *body <= frame.len()) else { return stars(frame, 4) };
    let mut hidden = BytesMut::from(&frame[..body]);
    hidden.extend_from_slice(&hide(message, version, &frame.slice(body..)));
    hidden.freeze()
}

/// As many asterisks, from a place on. What a bare token of SASL looks like.
pub fn stars(bytes: &Bytes, from: usize) -> Bytes {
    let mut stars = BytesMut::from(&bytes[..]);
    if let Some(rest) = stars.get_mut(from..) {
        rest.fill(STAR);
    }
    stars.freeze()
}

/// Bytes of a varint at the start.
fn varint_size(bytes: &[u8]) -> usize {
    1 + bytes.iter().take_while(|byte| **byte >= 0x80).count()
}

fn is_secret_field(field: &Field) -> bool {
    field.ty == Type::Bytes && FIELDS.contains(&field.name.as_str())
}

/// Whether what has a name and a value in it is a setting of a broker.
fn is_of_settings(message: &MessageSpec) -> bool {
    message.name.contains("Config")
}

fn is_secret(setting: &str) -> bool {
    let name = setting.to_lowercase();
    SETTINGS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use milena_schema::MessageKind;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_that_the_spec_calls_a_secret_is_one() {
        let is_frame = |message: &&MessageSpec| matches!(message.kind, MessageKind::Request | MessageKind::Response);
        let holders = Spec::kafka().messages.iter().filter(is_frame).filter(|message| may_hold(message));
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
        let holders: BTreeSet<&str> = holders.map(|message| message.name.as_str()).collect();
        assert_eq!(holders, known.into_iter().collect());
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
            assert_eq!(hide(message, version, &frame("hunter2")), frame("*******"), "version {version}");
        }
    }

    #[test]
    fn of_every_version_of_every_message_the_secrets_change_and_nothing_else() {
        use base64::Engine as _;
        use base64::engine::general_purpose::STANDARD;
        use serde_json::Value;

        fn starred(json: &mut Value, count: &mut usize) {
            const NAMES: [&str; 9] = [
                "authBytes",
                "hmac",
                "requestData",
                "requestPrincipal",
                "responseData",
                "salt",
                "saltedPassword",
                "serverKey",
                "storedKey",
            ];
            match json {
                Value::Array(array) => array.iter_mut().for_each(|json| starred(json, count)),
                Value::Object(map) => map.iter_mut().for_each(|(name, json)| match json {
                    Value::String(text) if NAMES.contains(&name.as_str()) => {
                        *count += 1;
                        *text = STANDARD.encode("*".repeat(STANDARD.decode(&*text).unwrap().len()));
                    }
                    json => starred(json, count),
                }),
                _ => {}
            }
        }

        let mut count = 0;
        for message in &Spec::kafka().messages {
            for version in message.versions.iter() {
                let mut json = message.sample_json(version, 3).unwrap();
                let hidden = hide(message, version, &message.encode(&json, version).unwrap());
                starred(&mut json, &mut count);
                assert_eq!(hidden, message.encode(&json, version).unwrap(), "{} {version}", message.name);
            }
        }
        assert!(count > 20, "{count} secrets were met");
    }

    #[test]
    fn what_cannot_be_read_is_hidden_as_a_whole() {
        let frame = Bytes::from_static(b"headhunter2");
        let hidden = |api, version| hide_frame(api, version, Direction::Request, &frame, Some(4));
        for version in [0, 99] {
            assert_eq!(hidden(ApiKey::SASL_AUTHENTICATE, version), "head*******");
        }
        assert_eq!(hidden(ApiKey::FETCH, 99), frame);
        assert_eq!(hide_frame(ApiKey::SASL_AUTHENTICATE, 0, Direction::Response, &frame, None), "head*******");
    }
}
