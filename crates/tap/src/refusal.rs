//! Answers that say that something failed, made from the request and the layouts alone.

use bytes::Bytes;
use milena_messages::{ApiKey, ErrorCode};
use milena_schema::{Entity, Field, MessageSpec, Spec, StructId, Type};
use serde_json::{Map, Value, json};

/// Codes that are about a request as a whole, and stand as far out in the answer as they can.
const WHOLE: &[ErrorCode] = &[
    ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode::COORDINATOR_NOT_AVAILABLE,
    ErrorCode::NOT_COORDINATOR,
    ErrorCode::ILLEGAL_GENERATION,
    ErrorCode::UNKNOWN_MEMBER_ID,
    ErrorCode::REBALANCE_IN_PROGRESS,
    ErrorCode::GROUP_AUTHORIZATION_FAILED,
    ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode::UNSUPPORTED_VERSION,
    ErrorCode::NOT_CONTROLLER,
    ErrorCode::FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode::INVALID_FETCH_SESSION_EPOCH,
];

/// A whole answer, without its size. `None` when the version has no place for a code, or the request cannot be read.
///
/// The code stands as far in as the request has elements to answer for: in each partition of a Fetch, in each topic of a
/// DeleteTopics. What is known of an element from the request is echoed.
pub(crate) fn frame(
    api: ApiKey,
    version: i16,
    correlation_id: i32,
    request: &Bytes,
    body: usize,
    code: ErrorCode,
) -> Option<Vec<Bytes>> {
    let name = api.name()?;
    let asked = Spec::kafka().message(&format!("{name}Request")).ok()?;
    let message = Spec::kafka().message(&format!("{name}Response")).ok()?;
    let json = asked.decode(request.slice(body..), version).ok()?.json;
    let maker = Maker { message, asked, version, code };
    let answer = maker.structure(StructId::ROOT, Some((StructId::ROOT, &json)))?;
    let mut frame = correlation_id.to_be_bytes().to_vec();
    if api.response_header_version(version) >= 1 {
        frame.push(0);
    }
    // ApiVersions is refused in its oldest form, whatever was asked (KIP-511).
    let version = if api == ApiKey::API_VERSIONS && code == ErrorCode::UNSUPPORTED_VERSION { 0 } else { version };
    frame.extend(message.encode(&answer, version).ok()?);
    Some(vec![frame.into()])
}

struct Maker<'a> {
    message: &'a MessageSpec,
    asked: &'a MessageSpec,
    version: i16,
    code: ErrorCode,
}

/// A struct of the request with its value.
type Asked<'a> = (StructId, &'a Value);

impl Maker<'_> {
    /// The struct with the code in its place. `None` when there is none.
    fn structure(&self, id: StructId, asked: Option<Asked<'_>>) -> Option<Value> {
        let mut map = Map::new();
        let mut placed = false;
        let own = self.fields(id).find(|field| field.entity == Some(Entity::ErrorCode) && !is_array(field));
        for field in self.fields(id) {
            let value = match &field.ty {
                Type::Array(element) if asked.is_some() => {
                    let whole = own.is_some() && WHOLE.contains(&self.code);
                    let (value, inside) = self.array(field, element, asked?, whole);
                    placed |= inside;
                    value
                }
                // What is not known is -1 in nearly all fields of this width: offsets, timestamps, producers.
                Type::Int64 if field.tag.is_none() => self.echo(field, asked).or_else(|| Some(json!(-1))),
                Type::Records => Some(json!("")),
                Type::Struct(_) => None,
                _ => self.echo(field, asked),
            };
            if let Some(value) = value {
                map.insert(field.json_name.clone(), value);
            }
        }
        if let Some(own) = own.filter(|_| !placed) {
            map.insert(own.json_name.clone(), json!(self.code.0));
            placed = true;
        }
        placed.then_some(Value::Object(map))
    }

    fn fields(&self, id: StructId) -> impl Iterator<Item = &Field> {
        self.message.structure(id).fields.iter().filter(|field| field.versions.contains(self.version))
    }

    /// An array of the answer, and whether the code is in it.
    fn array(&self, field: &Field, element: &Type, asked: Asked<'_>, whole: bool) -> (Option<Value>, bool) {
        let Type::Struct(id) = element else { return (self.echo(field, Some(asked)), false) };
        if !self.has_code(*id) || whole {
            return (None, false);
        }
        // Results that only count along with what was asked, as those of CreateAcls.
        let nameless = self.fields(*id).all(|field| {
            is_array(field) || field.entity == Some(Entity::ErrorCode) || field.json_name == "errorMessage"
        });
        let mut elements = Vec::new();
        for (source, values) in self.sources(asked) {
            let fitting = match source {
                Type::Struct(source) => self.fields(*id).any(|field| self.twin(*source, field).is_some()),
                primitive => self.fields(*id).any(|field| field.ty == *primitive),
            };
            if values.is_empty() || !(fitting || nameless) {
                continue;
            }
            for value in values {
                let one = match source {
                    Type::Struct(source) => self.structure(*id, Some((*source, value))),
                    primitive => self.structure(*id, None).map(|one| self.named(one, *id, primitive, value)),
                };
                elements.extend(one);
            }
            break;
        }
        let placed = !elements.is_empty();
        (Some(Value::Array(elements)), placed)
    }

    /// The arrays of a struct of the request, and behind them those one level further in.
    fn sources<'v>(&self, (id, value): Asked<'v>) -> Vec<(&Type, Vec<&'v Value>)> {
        let mut all = self.arrays(id, value);
        for at in 0..all.len() {
            let (Type::Struct(inner), values) = (&all[at].0, all[at].1.clone()) else { continue };
            for value in values {
                let further = self.arrays(*inner, value);
                all.extend(further);
            }
        }
        all
    }

    fn arrays<'v>(&self, id: StructId, value: &'v Value) -> Vec<(&Type, Vec<&'v Value>)> {
        let arrays = self.asked.structure(id).fields.iter().filter_map(|field| match &field.ty {
            Type::Array(element) => Some((&**element, value.get(&field.json_name)?.as_array()?.iter().collect())),
            _ => None,
        });
        arrays.collect()
    }

    /// Puts a value of an array of plain values into the first field of its type.
    fn named(&self, mut one: Value, id: StructId, ty: &Type, value: &Value) -> Value {
        if let Some(field) = self.fields(id).find(|field| field.ty == *ty) {
            one[&field.json_name] = value.clone();
        }
        one
    }

    /// What the request says where the answer has to say the same.
    fn echo(&self, field: &Field, asked: Option<Asked<'_>>) -> Option<Value> {
        let (id, value) = asked?;
        let twin = self.twin(id, field)?;
        value.get(&twin.json_name).filter(|value| !value.is_null()).cloned()
    }

    /// The field of the request that means the same as one of the answer.
    fn twin(&self, id: StructId, field: &Field) -> Option<&Field> {
        let means = |field: &Field| match field.entity {
            Some(entity @ (Entity::TopicName | Entity::GroupId | Entity::TransactionalId)) => entity.name().to_owned(),
            _ => match field.json_name.as_str() {
                "partition" | "index" | "partitionId" => "partitionIndex".to_owned(),
                // Of SCRAM credentials.
                "user" => "name".to_owned(),
                name => name.to_owned(),
            },
        };
        let (wanted, fields) = (means(field), self.asked.structure(id).fields.iter());
        fields
            .filter(|other| other.ty == field.ty && other.versions.contains(self.version))
            .find(|other| means(other) == wanted)
    }

    fn has_code(&self, id: StructId) -> bool {
        self.fields(id).any(|field| match field.ty.struct_id() {
            Some(inner) => self.has_code(inner),
            None => field.entity == Some(Entity::ErrorCode),
        })
    }
}

fn is_array(field: &Field) -> bool {
    matches!(field.ty, Type::Array(_))
}

#[cfg(test)]
mod tests;
