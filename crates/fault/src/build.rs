//! Error responses made from the request and the layouts alone.

use milena_messages::{ApiKey, ErrorCode};
use milena_schema::{Entity, Field, MessageSpec, StructId, Type};
use serde_json::{Map, Value, json};

use crate::level::{Level, is_repeated};
use crate::respond::{fields, has_code, is_code};
use crate::value;

pub(crate) struct Builder<'a> {
    pub(crate) response: &'a MessageSpec,
    pub(crate) request: &'a MessageSpec,
    pub(crate) version: i16,
    pub(crate) code: ErrorCode,
    pub(crate) level: Level,
}

/// A struct of the response.
pub(crate) struct Built {
    pub(crate) json: Value,
    /// Whether the code stands in elements of the request.
    pub(crate) in_elements: bool,
}

/// An element of an array in the request: its type, its value, and the structs around it from the outermost, with their
/// values.
#[derive(Clone)]
struct Row<'a> {
    ty: &'a Type,
    value: &'a Value,
    around: Vec<(StructId, &'a Value)>,
}

/// An array of the request, flattened over all elements of those around it.
struct Source<'a> {
    field: &'a Field,
    depth: usize,
    rows: Vec<Row<'a>>,
}

impl Builder<'_> {
    /// The response with the code in its place. `None` when there is no place.
    pub(crate) fn response(&self, request: &Value) -> Option<Built> {
        let root = Type::Struct(StructId::ROOT);
        let mut built = self.structure(StructId::ROOT, &Row { ty: &root, value: request, around: Vec::new() })?;
        value::finish(self.api(), self.version, self.code, request, &mut built.json);
        Some(built)
    }

    fn api(&self) -> ApiKey {
        ApiKey(self.response.key.unwrap_or(-1))
    }

    fn structure(&self, id: StructId, row: &Row<'_>) -> Option<Built> {
        let mut map = Map::new();
        let mut in_elements = false;
        let own = self.own_code(id);
        let whole = own.is_some() && self.level == Level::Whole;
        let repeated = whole && is_repeated(self.api(), self.version, self.code);
        for field in self.fields(id) {
            let value = match &field.ty {
                Type::Array(element) => match **element {
                    Type::Struct(inner) if has_code(self.response, inner, self.version) => {
                        let elements = if whole && !repeated { Vec::new() } else { self.elements(inner, row) };
                        in_elements |= !elements.is_empty();
                        Some(elements.into())
                    }
                    Type::Struct(inner) if field.json_name == "entity" => self.copied(field, inner, row),
                    _ => None,
                },
                _ if id != StructId::ROOT && identifies(field) => self.echo(field, row),
                _ => None,
            };
            let value = value.or_else(|| value::default(self.api(), field, self.version));
            if let Some(value) = value {
                map.insert(field.json_name.clone(), value);
            }
        }
        match own {
            Some(own) if whole || !in_elements => {
                map.insert(own.json_name.clone(), json!(self.code.0));
            }
            _ if in_elements => {}
            _ => return None,
        }
        Some(Built { json: Value::Object(map), in_elements })
    }

    /// The field for the code in a struct. Acknowledgements within a ShareFetch have one of their own.
    fn own_code(&self, id: StructId) -> Option<&Field> {
        let acknowledgement = self.api() == ApiKey::SHARE_FETCH && self.code == ErrorCode::INVALID_RECORD_STATE;
        let mut codes = self.fields(id).filter(|field| is_code(field));
        let first = codes.next();
        codes.find(|field| acknowledgement && field.json_name == "acknowledgeErrorCode").or(first)
    }

    fn fields(&self, id: StructId) -> impl Iterator<Item = &Field> {
        fields(self.response, id, self.version)
    }

    /// The elements of an array of the response, one for each element of the request that they are about.
    fn elements(&self, id: StructId, row: &Row<'_>) -> Vec<Value> {
        let mut elements: Vec<Value> = Vec::new();
        for row in self.rows(id, row) {
            if let Some(one) = self.structure(id, &row) {
                // Users whose credentials are deleted and set have one result.
                if self.api() != ApiKey::ALTER_USER_SCRAM_CREDENTIALS || !elements.contains(&one.json) {
                    elements.push(one.json);
                }
            }
        }
        elements
    }

    /// The elements of the request that name the most of what identifies an element of the response.
    fn rows<'v>(&'v self, id: StructId, row: &Row<'v>) -> Vec<Row<'v>> {
        let mut sources = Vec::new();
        self.sources(row, 0, &mut sources);
        sources.retain(|source| !source.rows.is_empty());
        let score = |source: &Source<'_>| {
            source.rows.first().map_or(0, |row| {
                self.fields(id).filter(|field| identifies(field) && self.echo(field, row).is_some()).count()
            })
        };
        // Results without a name: one for each element of the request, in its order, as those of CreateAcls.
        let nameless = !self.fields(id).any(identifies);
        let best = sources.iter().map(|source| (score(source), usize::MAX - source.depth)).max();
        let Some(best) = best.filter(|(score, _)| *score > 0 || nameless) else { return Vec::new() };
        let mut chosen = sources.into_iter().filter(|source| (score(source), usize::MAX - source.depth) == best);
        let mut rows = chosen.next().map_or_else(Vec::new, |source| source.rows);
        if self.api() == ApiKey::ALTER_USER_SCRAM_CREDENTIALS {
            rows.extend(chosen.flat_map(|source| source.rows));
        }
        rows
    }

    /// All arrays of the request inside a row.
    fn sources<'v>(&'v self, row: &Row<'v>, depth: usize, all: &mut Vec<Source<'v>>) {
        let Type::Struct(id) = row.ty else { return };
        for field in fields(self.request, *id, self.version) {
            let Type::Array(element) = &field.ty else { continue };
            let values = row.value.get(&field.json_name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let around: Vec<_> = row.around.iter().copied().chain([(*id, row.value)]).collect();
            let rows: Vec<Row<'v>> =
                values.iter().map(|value| Row { ty: element, value, around: around.clone() }).collect();
            for row in &rows {
                self.sources(row, depth + 1, all);
            }
            match all.iter_mut().find(|source| std::ptr::eq(source.field, field)) {
                Some(known) => known.rows.extend(rows),
                None => all.push(Source { field, depth, rows }),
            }
        }
    }

    /// An array of the response that repeats one of the request, such as the entities of quotas.
    fn copied(&self, field: &Field, id: StructId, row: &Row<'_>) -> Option<Value> {
        let Type::Struct(source) = row.ty else { return None };
        let twin = fields(self.request, *source, self.version).find(|other| other.json_name == field.json_name)?;
        let Type::Array(element) = &twin.ty else { return None };
        let values = row.value.get(&twin.json_name)?.as_array()?;
        let copies = values.iter().map(|value| {
            let row = Row { ty: element, value, around: Vec::new() };
            let fields = self.fields(id).filter_map(|field| Some((field.json_name.clone(), self.echo(field, &row)?)));
            Value::Object(fields.collect())
        });
        Some(copies.collect())
    }

    /// What the request says where the response has to say the same.
    fn echo(&self, field: &Field, row: &Row<'_>) -> Option<Value> {
        let own = match row.ty {
            Type::Struct(id) => Some((*id, row.value)),
            ty if *ty == field.ty && self.is_name(field) => return Some(row.value.clone()),
            _ => None,
        };
        let around = row.around.iter().copied().filter(|(id, _)| *id != StructId::ROOT);
        let chain: Vec<_> = around.chain(own).collect();
        self.twin(field, &chain)
    }

    /// Whether a plain value of the request goes into this field: into the first of its type, or one that is a name for
    /// sure.
    fn is_name(&self, field: &Field) -> bool {
        let mut structs = self.response.structs.iter();
        let Some(own) = structs.find(|one| one.fields.iter().any(|other| std::ptr::eq(other, field))) else {
            return false;
        };
        let candidates = own
            .fields
            .iter()
            .filter(|other| other.versions.contains(self.version) && other.ty == field.ty && identifies(other));
        let best = candidates.enumerate().max_by_key(|(at, other)| (rank(other), usize::MAX - at));
        best.is_some_and(|(_, best)| std::ptr::eq(best, field))
    }

    /// The value of the innermost field that means the same.
    fn twin(&self, field: &Field, chain: &[(StructId, &Value)]) -> Option<Value> {
        let wanted = meaning(field);
        chain.iter().rev().find_map(|(id, value)| {
            let mut fields = fields(self.request, *id, self.version);
            let twin = fields.find(|other| other.ty == field.ty && meaning(other) == wanted)?;
            value.get(&twin.json_name).filter(|value| !value.is_null()).cloned()
        })
    }
}

/// Whether a field says what an element is about, and is no result.
fn identifies(field: &Field) -> bool {
    let name = field.json_name.as_str();
    match field.ty {
        Type::String | Type::Uuid => !["errorMessage", "acknowledgeErrorMessage", "metadata"].contains(&name),
        Type::Int32 => meaning(field) == "partitionIndex",
        Type::Int8 => name == "resourceType",
        Type::Int64 => field.entity == Some(Entity::ProducerId) && name == "producerId",
        _ => false,
    }
}

/// How surely a field is the name of its element.
fn rank(field: &Field) -> u8 {
    u8::from(matches!(field.entity, Some(Entity::GroupId | Entity::TopicName | Entity::TransactionalId)))
}

/// One word for fields that go by different names.
pub(crate) fn meaning(field: &Field) -> &str {
    match field.entity {
        Some(entity @ (Entity::TopicName | Entity::GroupId | Entity::TransactionalId)) => entity.name(),
        _ => match field.json_name.as_str() {
            "partition" | "index" | "partitionId" => "partitionIndex",
            // Of SCRAM credentials.
            "user" => "name",
            name => name,
        },
    }
}
