//! Errors put into the response that a broker gave.

use bytes::Bytes;
use milena_messages::{ApiKey, ErrorCode};
use milena_schema::{MessageSpec, StructId, Type};
use milena_wire::varint;
use serde_json::{Value, json};

use crate::level::{Level, level};
use crate::respond::{FaultedRequest, code_of, fields, has_code, message};

/// How to turn the broker's response into one that reports an error.
#[derive(Clone, Debug)]
pub struct Patch {
    api: ApiKey,
    version: i16,
    code: ErrorCode,
    change: Change,
    /// The body of the request for the broker, where it is another than the client's.
    body: Option<Bytes>,
}

#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// Every element that the broker named fails.
    Elements,
    /// The session lives on, and these are the partitions that fail.
    Fetch(Value),
}

/// What became of the broker's response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Patched {
    /// It reports the error now. Without the size in front, as it came.
    Changed(Bytes),
    /// It names nothing that could fail, reports an error of the broker's own, or cannot be read.
    Unchanged,
}

impl Patch {
    pub(crate) fn new(request: &FaultedRequest, code: ErrorCode, change: Change) -> Self {
        let FaultedRequest { api, version, .. } = *request;
        let body = match change {
            Change::Fetch(_) => at_once(request),
            Change::Elements => None,
        };
        Self { api, version, code, change, body }
    }

    /// The body that the broker should get in place of the client's; it has the same length. A failed Fetch does not wait
    /// for records.
    pub fn request_body(&self) -> Option<&Bytes> {
        self.body.as_ref()
    }

    /// Puts the error into the broker's response, header and body without the size in front.
    pub fn apply(&self, frame: &Bytes) -> Patched {
        self.changed(frame).map_or(Patched::Unchanged, Patched::Changed)
    }

    fn changed(&self, frame: &Bytes) -> Option<Bytes> {
        let response = message(self.api, "Response")?;
        let start = header_end(self.api, self.version, frame)?;
        let mut json = response.decode(frame.slice(start..), self.version).ok()?.json;
        match &self.change {
            Change::Fetch(elements) => {
                let own = json.get("errorCode").and_then(Value::as_i64).unwrap_or(0);
                if own != 0 || elements.as_array().is_none_or(Vec::is_empty) {
                    return None;
                }
                json["responses"] = elements.clone();
            }
            Change::Elements => {
                // Codes of the metadata of partitions stand there, all others in the topic.
                let deep = match self.api {
                    ApiKey::METADATA | ApiKey::DESCRIBE_TOPIC_PARTITIONS => {
                        [ErrorCode::REPLICA_NOT_AVAILABLE, ErrorCode::LISTENER_NOT_FOUND].contains(&self.code)
                    }
                    _ => level(self.api, self.code) == Some(Level::Elements),
                };
                if !self.elements(response, StructId::ROOT, &mut json, deep) {
                    return None;
                }
            }
        }
        let mut patched = frame[..start].to_vec();
        patched.extend(response.encode(&json, self.version).ok()?);
        Some(patched.into())
    }

    /// Lets each element fail that has a place for the code. Whether there was one.
    fn elements(&self, response: &MessageSpec, id: StructId, json: &mut Value, deep: bool) -> bool {
        let mut placed = false;
        for field in fields(response, id, self.version) {
            let Type::Array(element) = &field.ty else { continue };
            let Type::Struct(inner) = **element else { continue };
            if !has_code(response, inner, self.version) {
                continue;
            }
            let Some(values) = json.get_mut(&field.json_name).and_then(Value::as_array_mut) else { continue };
            for value in values {
                let further = deep && self.elements(response, inner, value, deep);
                if !further {
                    if let Some(code) = code_of(response, inner, self.version) {
                        value[&code.json_name] = json!(self.code.0);
                        self.empty(response, inner, value);
                        placed = true;
                    }
                }
                placed |= further;
            }
        }
        placed
    }

    /// What a broker does not say of an element that failed.
    fn empty(&self, response: &MessageSpec, id: StructId, json: &mut Value) {
        for field in fields(response, id, self.version) {
            match &field.ty {
                Type::Array(element) if matches!(**element, Type::Struct(_)) => json[&field.json_name] = json!([]),
                Type::Int64 if field.tag.is_none() => json[&field.json_name] = json!(-1),
                Type::Records => json[&field.json_name] = json!(""),
                _ => {}
            }
        }
        if json.get("leaderId").is_some() {
            json["leaderId"] = json!(-1);
        }
        if json.get("committedOffset").is_some() {
            json["metadata"] = json!("");
        }
    }
}

/// The body of a Fetch with a longest wait of 0. The field stands at the start, after the replica id up to version 14.
fn at_once(request: &FaultedRequest) -> Option<Bytes> {
    let at = if request.version < 15 { 4 } else { 0 };
    let mut body = request.body.to_vec();
    body.get_mut(at..at + 4)?.fill(0);
    Some(body.into())
}

/// Where the header of a response ends.
fn header_end(api: ApiKey, version: i16, frame: &[u8]) -> Option<usize> {
    let mut at = 4;
    if frame.len() < at {
        return None;
    }
    if api.response_header_version(version) == 0 {
        return Some(at);
    }
    let next = |at: &mut usize| {
        let (value, size) = varint::read_u32(frame.get(*at..)?)?;
        *at += size;
        Some(value)
    };
    for _ in 0..next(&mut at)? {
        next(&mut at)?;
        let size = next(&mut at)? as usize;
        at = at.checked_add(size).filter(|at| *at <= frame.len())?;
    }
    Some(at)
}
