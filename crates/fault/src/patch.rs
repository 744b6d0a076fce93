//! Errors put into the response that a broker gave.

use bytes::Bytes;
use milena_connection::fault::Scope;
use milena_connection::response_body_start;
use milena_messages::{ApiKey, ErrorCode};
use milena_schema::{MessageSpec, StructId, Type};
use serde_json::{Value, json};

use crate::level::{Level, level};
use crate::respond::{FaultedRequest, code_of, fields, has_code, message};
use crate::subject::{Walk, merge};

/// How to turn the broker's response into one that reports an error.
#[derive(Clone, Debug)]
pub struct Patch {
    api: ApiKey,
    version: i16,
    code: ErrorCode,
    change: Change,
    /// The body of the request for the broker, where it is another than the client's.
    body: Option<Bytes>,
    /// The topics and partitions that fail.
    scope: Scope,
}

#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// Every element that the broker named fails.
    Elements,
    /// The session lives on, and these are the partitions that fail.
    Fetch(Value),
    /// These are the elements that fail; the broker knows nothing of them.
    Merge(Value),
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
            Change::Elements | Change::Merge(_) => None,
        };
        Self { api, version, code, change, body, scope: Scope::default() }
    }

    /// Puts these failed elements beside what the broker says to the rest of the request.
    pub(crate) fn merging(request: &FaultedRequest, code: ErrorCode, errors: Value, rest: Bytes) -> Self {
        Self { body: Some(rest), ..Self::new(request, code, Change::Merge(errors)) }
    }

    /// Concerns these topics and partitions alone.
    pub(crate) fn within(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// The body that the broker should get in place of the client's. A failed Fetch does not wait for records, and a broker
    /// does not get what fails.
    pub fn request_body(&self) -> Option<&Bytes> {
        self.body.as_ref()
    }

    /// Puts the error into the broker's response, header and body without the size in front.
    pub fn apply(&self, frame: &Bytes) -> Patched {
        self.changed(frame).map_or(Patched::Unchanged, Patched::Changed)
    }

    fn changed(&self, frame: &Bytes) -> Option<Bytes> {
        let response = message(self.api, "Response")?;
        let start = response_body_start(frame, self.api, self.version)?;
        let mut json = response.decode(frame.slice(start..), self.version).ok()?.json;
        match &self.change {
            Change::Fetch(elements) => {
                let own = json.get("errorCode").and_then(Value::as_i64).unwrap_or(0);
                if own != 0 || elements.as_array().is_none_or(Vec::is_empty) {
                    return None;
                }
                let kept = match self.scope.names_partitions() {
                    true => others(&json["responses"], elements),
                    false => json!([]),
                };
                json["responses"] = kept;
                merge(&mut json, &json!({ "responses": elements }));
            }
            Change::Merge(errors) => merge(&mut json, errors),
            Change::Elements => {
                // Codes of the metadata of partitions stand there, all others in the topic.
                let deep = match self.api {
                    ApiKey::METADATA | ApiKey::DESCRIBE_TOPIC_PARTITIONS => {
                        [ErrorCode::REPLICA_NOT_AVAILABLE, ErrorCode::LISTENER_NOT_FOUND].contains(&self.code)
                    }
                    _ => level(self.api, self.code) == Some(Level::Elements),
                };
                if !self.elements(response, StructId::ROOT, &mut json, deep, None) {
                    return None;
                }
            }
        }
        let mut patched = frame[..start].to_vec();
        patched.extend(response.encode(&json, self.version).ok()?);
        Some(patched.into())
    }

    /// Lets each element fail that has a place for the code. Whether there was one.
    fn elements(
        &self,
        response: &MessageSpec,
        id: StructId,
        json: &mut Value,
        deep: bool,
        around: Option<&str>,
    ) -> bool {
        let mut placed = false;
        let walk = Walk { spec: response, version: self.version, names: &|_| None };
        for field in fields(response, id, self.version) {
            let Type::Array(element) = &field.ty else { continue };
            let Type::Struct(inner) = **element else { continue };
            if !has_code(response, inner, self.version) {
                continue;
            }
            let Some(values) = json.get_mut(&field.json_name).and_then(Value::as_array_mut) else { continue };
            for value in values {
                let topic = walk.topic(inner, value, around);
                let partition = walk.partition(inner, value);
                let is_other = topic.is_some() && !self.scope.has_topic(topic.as_deref())
                    || partition.is_some_and(|partition| !self.scope.has_partition(partition));
                if is_other {
                    continue;
                }
                let further = deep && self.elements(response, inner, value, deep, topic.as_deref());
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

/// The partitions of a Fetch response that are not among the failed ones.
fn others(responses: &Value, failed: &Value) -> Value {
    let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let same = |one: &Value, other: &Value| ["topic", "topicId"].iter().all(|key| one.get(key) == other.get(key));
    let fails = |topic: &Value, partition: &Value| {
        let topics = all(failed).into_iter().filter(|other| same(other, topic));
        let mut partitions = topics.flat_map(|other| all(&other["partitions"]));
        partitions.any(|other| other["partitionIndex"] == partition["partitionIndex"])
    };
    let kept = all(responses).into_iter().map(|mut topic| {
        let partitions = all(&topic["partitions"]).into_iter().filter(|partition| !fails(&topic, partition));
        topic["partitions"] = partitions.collect();
        topic
    });
    kept.filter(|topic| topic["partitions"].as_array().is_some_and(|partitions| !partitions.is_empty())).collect()
}
