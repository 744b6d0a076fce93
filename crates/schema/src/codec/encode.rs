use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use milena_wire::{Error, Result, UnknownTags, Uuid, Writer};
use serde_json::{Map, Value};

use super::UNKNOWN_TAGGED_FIELDS;
use super::default::{self, is_default};
use crate::model::{Field, MessageSpec, StructId, StructSpec, Type};
use crate::spec::UnknownName;

pub(super) struct Encoder<'a> {
    message: &'a MessageSpec,
    version: i16,
    flexible: bool,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(message: &'a MessageSpec, version: i16) -> Self {
        Self { message, version, flexible: message.is_flexible(version) }
    }

    pub(super) fn structure(&self, writer: &mut Writer, id: StructId, json: &Value) -> Result<()> {
        let structure = self.message.structure(id);
        let Value::Object(map) = json else {
            return Err(wrong_type(json, "an object"));
        };
        if !structure.versions.contains(self.version) {
            return Err(Error::version(self.version, structure.versions));
        }
        let mut seen = 0;
        let mut tagged = 0;
        for field in &structure.fields {
            let value = map.get(&field.json_name);
            seen += usize::from(value.is_some());
            let written = match (field.versions.contains(self.version), field.tag) {
                (true, None) => match value {
                    Some(value) => self.value(writer, field, value),
                    None => self.value(writer, field, &default::value(field, self.version)),
                },
                (true, Some(_)) => {
                    tagged += usize::from(self.tag_value(field, map).is_some());
                    Ok(())
                }
                (false, _) => match value {
                    Some(value) if !field.ignorable && !is_default(self.message, field, value) => {
                        Err(Error::absent(self.version))
                    }
                    _ => Ok(()),
                },
            };
            written.map_err(|error| error.within(field.json_name.clone()))?;
        }
        let unknown = match map.get(UNKNOWN_TAGGED_FIELDS) {
            Some(value) => {
                seen += 1;
                unknown_tags(value).map_err(|error| error.within(UNKNOWN_TAGGED_FIELDS))?
            }
            None => UnknownTags::default(),
        };
        if seen != map.len() {
            return Err(stranger(structure, map));
        }
        if tagged == 0 && unknown.is_empty() {
            return writer.unknown_tags(&unknown, self.flexible);
        }
        if !self.flexible {
            return writer.unknown_tags(&unknown, false).map_err(|error| error.within(UNKNOWN_TAGGED_FIELDS));
        }
        self.tags(writer, structure, map, tagged, &unknown)
    }

    fn tags(
        &self,
        writer: &mut Writer,
        structure: &StructSpec,
        map: &Map<String, Value>,
        tagged: usize,
        unknown: &UnknownTags,
    ) -> Result<()> {
        let mut tags = writer.tags(tagged, unknown);
        // The tags of a struct are 0, 1, 2 and so on without a gap.
        for tag in 0.. {
            let Some(field) = structure.fields.iter().find(|field| field.tag == Some(tag)) else { break };
            // Also for a tag that this version lacks, so that no unknown one takes its number, which could not be read.
            let value = self.tag_value(field, map).filter(|_| field.versions.contains(self.version));
            let written = match value {
                Some(value) => tags.field(tag, true, |writer| self.value(writer, field, value)),
                None => tags.field(tag, false, |_| Ok(())),
            };
            written.map_err(|error| error.within(field.json_name.clone()))?;
        }
        tags.finish()
    }

    /// The value of a tagged field if it has to be written.
    fn tag_value<'v>(&self, field: &Field, map: &'v Map<String, Value>) -> Option<&'v Value> {
        map.get(&field.json_name).filter(|value| !is_default(self.message, field, value))
    }

    fn value(&self, writer: &mut Writer, field: &Field, value: &Value) -> Result<()> {
        let nullable = field.nullable.contains(self.version);
        let flexible = field.flexible.map_or(self.flexible, |versions| versions.contains(self.version));
        if value.is_null() {
            if !nullable {
                return Err(Error::null(self.version));
            }
            match (&field.ty, field.tag) {
                (Type::String, _) => writer.nullable_string(None, flexible)?,
                (Type::Struct(_), None) => writer.i8(-1),
                (Type::Struct(_), Some(_)) => writer.uvarint(0),
                _ => writer.null(flexible),
            }
            return Ok(());
        }
        if nullable && matches!(field.ty, Type::Struct(_)) {
            // int8 and unsigned varint write 1 alike.
            writer.i8(1);
        }
        self.element(writer, &field.ty, flexible, value)
    }

    /// A value that is not null.
    fn element(&self, writer: &mut Writer, ty: &Type, flexible: bool, value: &Value) -> Result<()> {
        match ty {
            Type::Bool => writer.bool(value.as_bool().ok_or_else(|| wrong_type(value, "a bool"))?),
            Type::Int8 => writer.i8(integer(value, "int8")?),
            Type::Int16 => writer.i16(integer(value, "int16")?),
            Type::Int32 => writer.i32(integer(value, "int32")?),
            Type::Int64 => writer.i64(integer(value, "int64")?),
            Type::Uint16 => writer.u16(integer(value, "uint16")?),
            Type::Uint32 => writer.u32(integer(value, "uint32")?),
            Type::Float64 => writer.f64(float(value)?),
            Type::Uuid => {
                let id: Uuid = text(value, "a uuid")?.parse().map_err(|error| Error::invalid(format!("{error}")))?;
                writer.uuid(id);
            }
            Type::String => writer.string(text(value, "a string")?, flexible)?,
            Type::Bytes | Type::Records => writer.bytes(&base64(value)?, flexible)?,
            Type::Struct(id) => self.structure(writer, *id, value)?,
            Type::Array(element) => {
                let array = value.as_array().ok_or_else(|| wrong_type(value, "an array"))?;
                writer.array(array, flexible, |writer, value| {
                    if value.is_null() {
                        return Err(Error::null(self.version));
                    }
                    self.element(writer, element, flexible, value)
                })?;
            }
        }
        Ok(())
    }
}

#[cold]
fn wrong_type(value: &Value, expected: &str) -> Error {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a bool",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    Error::invalid(format!("{found}, expected {expected}"))
}

fn integer<T: TryFrom<i64>>(value: &Value, ty: &str) -> Result<T> {
    let Value::Number(number) = value else {
        return Err(wrong_type(value, &format!("a number of type {ty}")));
    };
    match number.as_i64().and_then(|number| T::try_from(number).ok()) {
        Some(number) => Ok(number),
        None => Err(Error::invalid(format!("{number} does not fit {ty}"))),
    }
}

fn float(value: &Value) -> Result<f64> {
    let expected = "a number, \"NaN\", \"Infinity\" or \"-Infinity\"";
    match value {
        Value::Number(number) => number.as_f64().ok_or_else(|| wrong_type(value, expected)),
        Value::String(text) => match text.as_str() {
            "NaN" => Ok(f64::NAN),
            "Infinity" => Ok(f64::INFINITY),
            "-Infinity" => Ok(f64::NEG_INFINITY),
            _ => Err(wrong_type(value, expected)),
        },
        _ => Err(wrong_type(value, expected)),
    }
}

fn text<'v>(value: &'v Value, expected: &str) -> Result<&'v str> {
    value.as_str().ok_or_else(|| wrong_type(value, expected))
}

fn base64(value: &Value) -> Result<Bytes> {
    match STANDARD.decode(text(value, "a string of base64")?) {
        Ok(bytes) => Ok(Bytes::from(bytes)),
        Err(error) => Err(Error::invalid(format!("not base64: {error}"))),
    }
}

fn unknown_tags(value: &Value) -> Result<UnknownTags> {
    let mut tags = UnknownTags::default();
    for (index, value) in value.as_array().ok_or_else(|| wrong_type(value, "an array"))?.iter().enumerate() {
        let (tag, data) = unknown_tag(value).map_err(|error| error.within_index(index))?;
        tags.push(tag, data);
    }
    Ok(tags)
}

fn unknown_tag(value: &Value) -> Result<(u32, Bytes)> {
    let Value::Object(map) = value else {
        return Err(wrong_type(value, "an object"));
    };
    match (map.get("tag"), map.get("data")) {
        (Some(tag), Some(data)) if map.len() == 2 => Ok((
            integer(tag, "uint32").map_err(|error| error.within("tag"))?,
            base64(data).map_err(|error| error.within("data"))?,
        )),
        _ => Err(Error::invalid("expected the members tag and data, and no other")),
    }
}

/// The error about a name that no version of the struct has.
#[cold]
fn stranger(structure: &StructSpec, map: &Map<String, Value>) -> Error {
    let names = || structure.fields.iter().map(|field| field.json_name.as_str());
    let name = map.keys().find(|key| *key != UNKNOWN_TAGGED_FIELDS && names().all(|name| name != *key));
    let name = name.map_or("", String::as_str);
    let unknown = UnknownName::new("field", name, names());
    let text = if unknown.near().is_empty() {
        format!("{unknown} in {}; valid names: {}", structure.name, names().collect::<Vec<_>>().join(", "))
    } else {
        unknown.to_string()
    };
    Error::invalid(text).within(name.to_owned())
}
