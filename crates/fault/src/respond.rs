use bytes::Bytes;
use milena_connection::fault::Scope;
use milena_connection::response_body_start;
use milena_messages::{ApiKey, ErrorCode, VersionRange};
use milena_schema::{Entity, Field, MessageSpec, Spec, StructId, Type};
use serde_json::{Value, json};

use crate::build::{Builder, Built};
use crate::level::{Level, level};
use crate::patch::{Change, Patch};
use crate::session::Members;
use crate::subject::{TopicNames, Walk};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct FaultedRequest {
    /// The API.
    pub api: ApiKey,
    /// Its version.
    pub version: i16,
    /// The client's number for the request.
    pub correlation_id: i32,
    /// What follows the header.
    pub body: Bytes,
}

/// How to make a request fail.
#[derive(Clone, Debug)]
pub enum Injection {
    /// This is the response, header and body without the size in front. The request needs no broker.
    Response(Bytes),
    /// Only a broker knows the elements of the response: let it respond, then put the error into what it said.
    Patch(Box<Patch>),
    /// The version has no field for the code, or the request cannot be read.
    NoPlace,
}

impl FaultedRequest {
    /// The body as JSON; `None` when it is not what the protocol says.
    pub(crate) fn json(&self) -> Option<Value> {
        message(self.api, "Request")?.decode(self.body.clone(), self.version).ok().map(|decoded| decoded.json)
    }

    /// The same, with the partitions of the session that it belongs to.
    pub(crate) fn json_with(&self, session: Option<&Members>) -> Option<Value> {
        let mut json = self.json()?;
        if let Some(members) = session {
            json["topics"] = members.to_json(self.api);
        }
        Some(json)
    }
}

/// The error response to a request, as a broker reports the code.
///
/// `session` has the partitions of the fetch session or share session that the request belongs to, when it belongs to one:
/// [`Sessions`](crate::Sessions) gives them. Without it a Fetch that names no partitions fails for none.
pub fn respond(request: &FaultedRequest, code: ErrorCode, session: Option<&Members>) -> Injection {
    let built = request.json_with(session).and_then(|json| build(request, code, &json));
    built.unwrap_or(Injection::NoPlace)
}

/// The error response to a request of which only some topics and partitions fail; the others go to the broker, as
/// [`Patch::request_body`], and the errors into its response. Codes for the response as a whole are for all of it.
///
/// `names` gives the names of topics for their ids, in versions that have ids alone.
pub fn respond_within(
    request: &FaultedRequest,
    code: ErrorCode,
    session: Option<&Members>,
    scope: &Scope,
    names: TopicNames<'_>,
) -> Injection {
    if !scope.names_partitions() || level(request.api, code) == Some(Level::Whole) {
        return respond(request, code, session);
    }
    within(request, code, session, scope, names).unwrap_or(Injection::NoPlace)
}

fn within(
    request: &FaultedRequest,
    code: ErrorCode,
    session: Option<&Members>,
    scope: &Scope,
    names: TopicNames<'_>,
) -> Option<Injection> {
    let asked = message(request.api, "Request")?;
    let response = message(request.api, "Response")?;
    let walk = Walk { spec: asked, version: request.version, names };
    let whole = request.json_with(session)?;
    let (concerned, mut rest) = walk.split(StructId::ROOT, &whole, None, scope);
    match build(request, code, &concerned)? {
        Injection::Response(frame) => {
            if !walk.names_topics(StructId::ROOT, &rest) {
                return Some(Injection::Response(frame));
            }
            let start = response_body_start(&frame, request.api, request.version)?;
            let errors = response.decode(frame.slice(start..), request.version).ok()?.json;
            if request.api == ApiKey::FETCH {
                // The failed partitions should not wait for records of the others.
                rest["maxWaitMs"] = json!(0);
            }
            let body = asked.encode(&rest, request.version).ok()?;
            Some(Injection::Patch(Box::new(Patch::merging(request, code, errors, body))))
        }
        Injection::Patch(patch) => Some(Injection::Patch(Box::new(patch.within(scope.clone())))),
        Injection::NoPlace => None,
    }
}

/// `json` is the request, or the part of it that fails.
fn build(request: &FaultedRequest, code: ErrorCode, json: &Value) -> Option<Injection> {
    let FaultedRequest { api, version, .. } = *request;
    if !has_place(api, version, code) {
        return None;
    }
    let asked = message(api, "Request")?;
    let response = message(api, "Response")?;
    let level = level(api, code).unwrap_or(Level::Elements);
    let builder = Builder { response, request: asked, version, code, level };
    if level == Level::Elements {
        if api == ApiKey::FETCH && json["sessionEpoch"].as_i64().is_some_and(|epoch| epoch >= 0) {
            let elements = match builder.response(json) {
                Some(Built { json, .. }) => json["responses"].clone(),
                None => json!([]),
            };
            return Some(Injection::Patch(Box::new(Patch::new(request, code, Change::Fetch(elements)))));
        }
        let broker_knows = match api {
            // Clients throw a response away that names no brokers.
            ApiKey::METADATA | ApiKey::DESCRIBE_LOG_DIRS => true,
            ApiKey::DESCRIBE_TOPIC_PARTITIONS
            | ApiKey::OFFSET_FETCH
            | ApiKey::DESCRIBE_USER_SCRAM_CREDENTIALS
            | ApiKey::DESCRIBE_SHARE_GROUP_OFFSETS => !builder.response(json).is_some_and(|built| built.in_elements),
            _ => false,
        };
        if broker_knows {
            return Some(Injection::Patch(Box::new(Patch::new(request, code, Change::Elements))));
        }
    }
    let built = builder.response(json)?;
    let mut frame = request.correlation_id.to_be_bytes().to_vec();
    if api.response_header_version(version) >= 1 {
        frame.push(0);
    }
    // ApiVersions is refused in its oldest form, whatever was asked (KIP-511).
    let version = if api == ApiKey::API_VERSIONS && code == ErrorCode::UNSUPPORTED_VERSION { 0 } else { version };
    frame.extend(response.encode(&built.json, version).ok()?);
    Some(Injection::Response(frame.into()))
}

/// Whether responses of an API and version have a field for a code. `true` for what is not known here.
pub fn has_place(api: ApiKey, version: i16, code: ErrorCode) -> bool {
    let Some(response) = message(api, "Response").filter(|message| message.versions.contains(version)) else {
        return true;
    };
    match (api, level(api, code)) {
        (ApiKey::DESCRIBE_LOG_DIRS | ApiKey::METADATA, Some(Level::Whole)) => {
            code_of(response, StructId::ROOT, version).is_some()
        }
        _ => has_code(response, StructId::ROOT, version),
    }
}

/// The first of these APIs that has no version in the range whose responses have a field for a code: a rule that injects
/// the code there can do nothing. APIs that are not known here are left out.
pub fn without_place(apis: &[ApiKey], versions: VersionRange, code: ErrorCode) -> Option<ApiKey> {
    let has = |api: ApiKey| {
        let mut wanted = api.versions().iter().filter(|version| versions.contains(*version)).peekable();
        wanted.peek().is_none() || wanted.any(|version| has_place(api, version, code))
    };
    apis.iter().copied().find(|api| api.name().is_some() && !has(*api))
}

/// `FetchRequest` and its like.
pub(crate) fn message(api: ApiKey, kind: &str) -> Option<&'static MessageSpec> {
    Spec::kafka().message(&format!("{}{kind}", api.name()?)).ok()
}

pub(crate) fn fields(message: &MessageSpec, id: StructId, version: i16) -> impl Iterator<Item = &Field> {
    message.structure(id).fields.iter().filter(move |field| field.versions.contains(version))
}

/// The field for the code of a struct itself.
pub(crate) fn code_of(message: &MessageSpec, id: StructId, version: i16) -> Option<&Field> {
    fields(message, id, version).find(|field| is_code(field))
}

pub(crate) fn is_code(field: &Field) -> bool {
    field.entity == Some(Entity::ErrorCode) && field.ty == Type::Int16
}

/// Whether a struct or one inside of it has a field for a code.
pub(crate) fn has_code(message: &MessageSpec, id: StructId, version: i16) -> bool {
    fields(message, id, version).any(|field| match field.ty.struct_id() {
        Some(inner) => has_code(message, inner, version),
        None => is_code(field),
    })
}
