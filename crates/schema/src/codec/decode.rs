use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milena_wire::UnknownTags;
use serde_json::{Map, Number, Value};

use super::UNKNOWN_TAGGED_FIELDS;
use super::default::is_default;
use super::scan::Scalar;
use super::walk::{Place, Visit};
use crate::model::{Field, MessageSpec, StructId, StructSpec, Type};

/// Memory of one JSON value.
const VALUE: usize = size_of::<Value>();

/// Memory of one member of an object: hash, name, value, its place in the table, the text of its name.
const MEMBER: usize = size_of::<(u64, String, Value)>() + 24 + 16;

/// Elements for which room is made before the first is read.
const RESERVE: usize = 1024;

/// Makes JSON of a message.
pub(super) struct ToJson<'a> {
    message: &'a MessageSpec,
    version: i16,
}

/// An object while it is read.
pub(super) struct Object {
    map: Map<String, Value>,
    /// Tagged fields, by their place in the struct.
    tagged: Vec<(usize, Value)>,
}

impl<'a> ToJson<'a> {
    pub(super) fn new(message: &'a MessageSpec, version: i16) -> Self {
        Self { message, version }
    }

    /// Puts tagged fields, which come last on the wire, at their place in the order of the spec.
    fn merge(&self, structure: &StructSpec, map: &mut Map<String, Value>, mut found: Vec<(usize, Value)>) {
        let size = map.len() + found.len() + 1;
        let mut untagged = std::mem::replace(map, Map::with_capacity(size)).into_iter();
        for (index, field) in structure.fields.iter().enumerate() {
            if !field.versions.contains(self.version) {
                continue;
            }
            if field.tag.is_none() {
                map.extend(untagged.next());
            } else if let Some(at) = found.iter().position(|(other, _)| *other == index) {
                map.insert(field.json_name.clone(), found.swap_remove(at).1);
            }
        }
    }
}

impl<'a> Visit<'a> for ToJson<'a> {
    type Value = Value;
    type Struct = Object;
    type Array = Vec<Value>;

    fn begin(&mut self, fields: usize) -> Object {
        Object { map: Map::with_capacity(fields), tagged: Vec::new() }
    }

    #[inline]
    fn member(&mut self, into: &mut Object, structure: &'a StructSpec, index: usize, value: Value, _: usize) {
        let field = &structure.fields[index];
        if field.tag.is_none() {
            into.map.insert(field.json_name.clone(), value);
        } else {
            // As in Kafka, the last of several counts.
            into.tagged.retain(|(other, _)| *other != index);
            into.tagged.push((index, value));
        }
    }

    fn end(
        &mut self,
        Object { mut map, mut tagged }: Object,
        structure: &'a StructSpec,
        unknown: UnknownTags,
    ) -> Value {
        tagged.retain(|(index, value)| !is_default(self.message, &structure.fields[*index], value));
        if !tagged.is_empty() {
            self.merge(structure, &mut map, tagged);
        }
        if !unknown.is_empty() {
            map.insert(
                UNKNOWN_TAGGED_FIELDS.to_owned(),
                unknown.iter().map(|tag| unknown_json(tag.tag, &tag.data)).collect(),
            );
        }
        Value::Object(map)
    }

    fn open(&mut self, count: usize) -> Vec<Value> {
        Vec::with_capacity(count.min(RESERVE))
    }

    fn push(&mut self, into: &mut Vec<Value>, value: Value, _: usize) {
        into.push(value);
    }

    fn close(&mut self, from: Vec<Value>) -> Value {
        Value::Array(from)
    }

    fn null(&mut self) -> Value {
        Value::Null
    }

    fn scalar(&mut self, _: &'a Field, ty: &Type, value: Scalar, _: Place) -> Value {
        match value {
            Scalar::Integer(value) if *ty == Type::Bool => Value::Bool(value != 0),
            Scalar::Integer(value) => value.into(),
            Scalar::Float(value) => float_json(value),
            Scalar::Text(text) => Value::String(text.to_string()),
            Scalar::Uuid(id) => Value::String(id.to_string()),
            Scalar::Bytes(bytes) => base64_json(&bytes),
        }
    }
}

/// What one element costs at least; what it holds beyond that is backed by bytes of its own.
pub(super) fn memory(message: &MessageSpec, version: i16, ty: &Type) -> usize {
    VALUE
        + match ty {
            Type::Struct(id) => members(message, version, *id),
            _ => 0,
        }
}

fn members(message: &MessageSpec, version: i16, id: StructId) -> usize {
    let fields = message.structure(id).fields.iter();
    fields
        .filter(|field| field.tag.is_none() && field.versions.contains(version))
        .map(|field| match &field.ty {
            Type::Struct(id) if !field.nullable.contains(version) => MEMBER + members(message, version, *id),
            _ => MEMBER,
        })
        .sum()
}

pub(super) fn base64_json(bytes: &[u8]) -> Value {
    Value::String(STANDARD.encode(bytes))
}

pub(super) fn unknown_json(tag: u32, data: &[u8]) -> Value {
    let mut map = Map::with_capacity(2);
    map.insert("tag".to_owned(), tag.into());
    map.insert("data".to_owned(), base64_json(data));
    Value::Object(map)
}

/// JSON has no numbers for what is not finite; Kafka writes names.
pub(super) fn float_json(value: f64) -> Value {
    match Number::from_f64(value) {
        Some(number) => Value::Number(number),
        None if value.is_nan() => Value::from("NaN"),
        None => Value::from(if value > 0.0 { "Infinity" } else { "-Infinity" }),
    }
}
