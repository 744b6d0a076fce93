use milena_wire::Uuid;
use serde_json::{Map, Value};

use super::UNKNOWN_TAGGED_FIELDS;
use crate::model::{Field, FieldDefault, MessageSpec, StructId, Type};

/// A struct with each untagged field of the version at its default.
pub(super) fn structure(message: &MessageSpec, id: StructId, version: i16) -> Value {
    let mut map = Map::new();
    for field in &message.structure(id).fields {
        if field.tag.is_none() && field.versions.contains(version) {
            let value = match (&field.default, &field.ty) {
                (FieldDefault::Empty, Type::Struct(id)) => structure(message, *id, version),
                _ => value(field, version),
            };
            map.insert(field.json_name.clone(), value);
        }
    }
    Value::Object(map)
}

/// The default of a field in the shortest form: a struct is an object without members, which stands for its defaults.
pub(crate) fn value(field: &Field, version: i16) -> Value {
    match (&field.default, &field.ty) {
        (FieldDefault::Null, _) => Value::Null,
        (FieldDefault::Number(number), Type::Bool) => Value::Bool(*number != 0),
        (FieldDefault::Number(number), _) => Value::from(*number),
        (FieldDefault::Empty, ty) => match ty {
            Type::Bool => Value::Bool(false),
            Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64 | Type::Uint16 | Type::Uint32 => Value::from(0),
            Type::Float64 => Value::from(0.0),
            Type::Uuid => Value::String(Uuid::ZERO.to_string()),
            // Kafka's records are null unless set; that cannot be written where the version takes no null.
            Type::Records if field.nullable.contains(version) => Value::Null,
            Type::String | Type::Bytes | Type::Records => Value::String(String::new()),
            Type::Array(_) => Value::Array(Vec::new()),
            Type::Struct(_) => Value::Object(Map::new()),
        },
    }
}

/// Whether a value is the default of its field. What is of the wrong type is not.
pub(super) fn is_default(message: &MessageSpec, field: &Field, value: &Value) -> bool {
    match (&field.default, &field.ty) {
        (FieldDefault::Null, _) => value.is_null(),
        (FieldDefault::Number(number), Type::Bool) => value.as_bool() == Some(*number != 0),
        (FieldDefault::Number(number), _) => value.as_i64() == Some(*number),
        (FieldDefault::Empty, ty) => match ty {
            Type::Bool => value.as_bool() == Some(false),
            Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64 | Type::Uint16 | Type::Uint32 => {
                value.as_i64() == Some(0)
            }
            Type::Float64 => value.as_f64() == Some(0.0),
            Type::Uuid => value.as_str().and_then(|text| text.parse().ok()) == Some(Uuid::ZERO),
            Type::String | Type::Bytes => value.as_str() == Some(""),
            Type::Records => value.is_null(),
            Type::Array(_) => value.as_array().is_some_and(Vec::is_empty),
            Type::Struct(id) => value.as_object().is_some_and(|map| all_default(message, *id, map)),
        },
    }
}

/// Whether a struct is one of defaults, counting fields of all versions, as the `equals` of Kafka's classes does.
fn all_default(message: &MessageSpec, id: StructId, map: &Map<String, Value>) -> bool {
    let fields = &message.structure(id).fields;
    map.iter().all(|(name, value)| match fields.iter().find(|field| field.json_name == *name) {
        Some(field) => is_default(message, field, value),
        None => name == UNKNOWN_TAGGED_FIELDS && value.as_array().is_some_and(Vec::is_empty),
    })
}
