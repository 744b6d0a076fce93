use bytes::Bytes;
use milena_messages::{ApiKey, ErrorCode};
use milena_schema::{Entity, MessageSpec, Spec, StructId, Type, UNKNOWN_TAGGED_FIELDS};
use milena_wire::{Reader, VersionRange};
use serde_json::Value;

use crate::entity;

/// A frame above this is not guessed at: it is read by some 370 layouts.
const MAX_FRAME: usize = 128 << 10;

/// Guesses that are kept.
const KEPT: usize = 5;

/// What a response can be.
#[derive(Clone, Debug, PartialEq)]
pub struct Guess {
    /// The API.
    pub api_key: ApiKey,
    /// The versions that read the same out of it.
    pub versions: VersionRange,
    /// What speaks for and against it, one sentence each.
    pub reasons: Vec<String>,
    weight: i32,
    /// Readable text is in it.
    text: bool,
}

impl Guess {
    /// Whether more speaks for it than that it fits: few bytes fit many layouts.
    pub(super) fn is_strong(&self) -> bool {
        self.text
    }
}

/// Tries the layouts of all responses on a frame without its size, and gives the best of those that read it to its last
/// byte. Nothing in a response says what it is: this is a guess, with its reasons. A reading against which more speaks than
/// for it is none. Frames above 128 KiB are not guessed at.
pub fn guess(frame: &Bytes) -> Vec<Guess> {
    if frame.len() > MAX_FRAME {
        return Vec::new();
    }
    let mut guesses: Vec<Guess> = Vec::new();
    for api in &Spec::kafka().apis {
        let Ok(message) = Spec::kafka().message(&format!("{}Response", api.name)) else { continue };
        let mut last: Option<Value> = None;
        for version in api.versions.iter() {
            let Some(json) = whole(message, frame, version, api.response_header_version(version)) else {
                last = None;
                continue;
            };
            // Versions that say the same of the bytes are one guess.
            match (guesses.last_mut(), &last) {
                (Some(guess), Some(other)) if *other == json && guess.api_key.0 == api.key => {
                    guess.versions = VersionRange::new(guess.versions.min(), version);
                }
                _ => {
                    let (weight, text, reasons) = weigh(message, &json);
                    let versions = VersionRange::new(version, version);
                    guesses.push(Guess { api_key: ApiKey(api.key), versions, reasons, weight, text });
                }
            }
            last = Some(json);
        }
    }
    guesses.retain(|guess| guess.weight >= 0);
    // Stable: of equals the API with the lower key comes first, which is the older one and met more often.
    guesses.sort_by_key(|guess| -guess.weight);
    guesses.truncate(KEPT);
    guesses
}

/// The body as JSON, if header and body take all bytes.
fn whole(message: &MessageSpec, frame: &Bytes, version: i16, header: i16) -> Option<Value> {
    let mut reader = Reader::new(frame.clone());
    reader.i32().ok()?;
    reader.unknown_tags(header >= 1).ok()?;
    let decoded = message.decode(frame.slice(reader.position()..), version).ok()?;
    (decoded.leftover == 0).then_some(decoded.json)
}

/// How much speaks for a reading, and why.
fn weigh(message: &MessageSpec, json: &Value) -> (i32, bool, Vec<String>) {
    let mut weight = 0;
    let mut reasons = vec!["no bytes are left over".to_owned()];
    let (mut known, mut unknown, mut far) = (0, 0, 0);
    entity::visit(message, json, &mut |entity, value| {
        let number = value.as_i64().unwrap_or_default();
        let small = i16::try_from(number).ok();
        match entity {
            Entity::ErrorCode if small.is_some_and(|code| ErrorCode(code).name().is_some()) => known += 1,
            Entity::ApiKey if small.is_some_and(|key| ApiKey(key).name().is_some()) => known += 1,
            Entity::ErrorCode | Entity::ApiKey => unknown += 1,
            Entity::BrokerId if !(-2..1 << 24).contains(&number) => far += 1,
            _ => {}
        }
    });
    if unknown > 0 {
        weight -= 60;
        reasons.push(format!("{unknown} error codes or API keys that no release has"));
    } else if known > 0 {
        weight += 10;
        reasons.push("error codes and API keys are known ones".to_owned());
    }
    let mut seen = Seen { far, ..Seen::default() };
    seen.structure(message, StructId::ROOT, json);
    if seen.far > 0 {
        weight -= 40;
        reasons.push("ids, ports or times that cannot be".to_owned());
    }
    if seen.unreadable > 0 {
        weight -= 60;
        reasons.push("some of its text is not readable".to_owned());
    } else if seen.text > 0 {
        weight += 20 + (seen.text / 4).min(20) as i32;
        reasons.push("its text is readable".to_owned());
    }
    if seen.unknown_tags > 0 {
        weight -= 40;
        reasons.push("tagged fields that no release has".to_owned());
    }
    (weight, seen.text > 0 && seen.unreadable == 0, reasons)
}

#[derive(Default)]
struct Seen {
    /// Bytes of readable text.
    text: usize,
    unreadable: usize,
    unknown_tags: usize,
    /// Numbers far from what they usually are.
    far: usize,
}

impl Seen {
    fn structure(&mut self, message: &MessageSpec, id: StructId, json: &Value) {
        let Value::Object(map) = json else { return };
        for field in &message.structure(id).fields {
            if let Some(json) = map.get(&field.json_name) {
                self.value(message, &field.ty, &field.json_name, json);
            }
        }
        self.unknown_tags += map.get(UNKNOWN_TAGGED_FIELDS).and_then(Value::as_array).map_or(0, Vec::len);
    }

    fn value(&mut self, message: &MessageSpec, ty: &Type, name: &str, json: &Value) {
        match (ty, json) {
            (Type::Array(element), Value::Array(array)) => {
                array.iter().for_each(|json| self.value(message, element, name, json));
            }
            (Type::Struct(id), json) => self.structure(message, *id, json),
            (Type::String, Value::String(text)) if text.chars().any(|c| c.is_control() || c == '\u{fffd}') => {
                self.unreadable += 1;
            }
            (Type::String, Value::String(text)) => self.text += text.len(),
            (_, Value::Number(number)) => {
                let number = number.as_i64().unwrap_or_default();
                self.far += usize::from(match name {
                    "port" => !(0..=65_535).contains(&number),
                    "throttleTimeMs" => !(0..=3_600_000).contains(&number),
                    // From 2001 to 2100, or none.
                    name if name.ends_with("TimestampMs") => {
                        !(-1..=0).contains(&number) && !(978_307_200_000..4_102_444_800_000).contains(&number)
                    }
                    "partitionIndex" | "partition" => !(-1..1 << 24).contains(&number),
                    _ => false,
                });
            }
            _ => {}
        }
    }
}
