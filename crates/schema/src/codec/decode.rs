use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milena_wire::{Error, Reader, Result, UnknownTags, counted};
use serde_json::{Map, Number, Value};

use super::UNKNOWN_TAGGED_FIELDS;
use super::default::is_default;
use crate::model::{Field, MessageSpec, StructId, StructSpec, Type};

/// Is told what the decoder reads. Compiled in, so that listening to nothing costs nothing.
pub(super) trait Trace {
    /// A field begins.
    fn field(&mut self, message: &MessageSpec, field: &Field, start: usize);
    /// An element of an array begins.
    fn element(&mut self, message: &MessageSpec, ty: &Type, index: usize, start: usize);
    /// What began last is read.
    fn done(&mut self, value: &Value, end: usize);
    /// An unknown tagged field begins, its tag and size being read.
    fn unknown(&mut self, tag: u32, start: usize);
    /// The unknown tagged fields of a struct are read.
    fn unknown_done(&mut self, tags: &UnknownTags);
}

/// Nobody listens.
pub(super) struct Quiet;

impl Trace for Quiet {
    #[inline(always)]
    fn field(&mut self, _: &MessageSpec, _: &Field, _: usize) {}
    #[inline(always)]
    fn element(&mut self, _: &MessageSpec, _: &Type, _: usize, _: usize) {}
    #[inline(always)]
    fn done(&mut self, _: &Value, _: usize) {}
    #[inline(always)]
    fn unknown(&mut self, _: u32, _: usize) {}
    #[inline(always)]
    fn unknown_done(&mut self, _: &UnknownTags) {}
}

/// Memory of one JSON value.
const VALUE: usize = size_of::<Value>();

/// Memory of one member of an object: hash, name, value, its place in the table, the text of its name.
const MEMBER: usize = size_of::<(u64, String, Value)>() + 24 + 16;

/// Elements for which room is made before the first is read.
const RESERVE: usize = 1024;

pub(super) struct Decoder<'a, T> {
    message: &'a MessageSpec,
    version: i16,
    flexible: bool,
    pub(super) trace: T,
}

impl<'a, T: Trace> Decoder<'a, T> {
    pub(super) fn new(message: &'a MessageSpec, version: i16, trace: T) -> Self {
        Self { message, version, flexible: message.is_flexible(version), trace }
    }

    pub(super) fn structure(&mut self, reader: &mut Reader, id: StructId) -> Result<Value> {
        let structure = self.message.structure(id);
        // A shared struct states versions of its own, and Kafka refuses to read it in any other.
        if !structure.versions.contains(self.version) {
            return Err(Error::version(self.version, structure.versions).with_offset(reader.position()));
        }
        let mut map = Map::with_capacity(structure.fields.len());
        for field in &structure.fields {
            if field.tag.is_none() && field.versions.contains(self.version) {
                let value = self.field(reader, field)?;
                map.insert(field.json_name.clone(), value);
            }
        }
        if self.flexible {
            self.tags(reader, structure, &mut map)?;
        }
        Ok(Value::Object(map))
    }

    fn tags(&mut self, reader: &mut Reader, structure: &'a StructSpec, map: &mut Map<String, Value>) -> Result<()> {
        let mut found: Vec<(usize, Value)> = Vec::new();
        let unknown = reader.tags(|reader, tag| {
            let Some(index) = structure.fields.iter().position(|field| field.tag == Some(tag)) else {
                self.trace.unknown(tag, reader.position());
                return Ok(false);
            };
            let field = &structure.fields[index];
            if !field.versions.contains(self.version) {
                return Err(Error::tag_version(reader.position(), tag, self.version));
            }
            let value = self.field(reader, field)?;
            // As in Kafka, the last of several counts.
            found.retain(|(other, _)| *other != index);
            found.push((index, value));
            Ok(true)
        })?;
        found.retain(|(index, value)| !is_default(self.message, &structure.fields[*index], value));
        if !found.is_empty() {
            self.merge(structure, map, found);
        }
        if !unknown.is_empty() {
            self.trace.unknown_done(&unknown);
            map.insert(
                UNKNOWN_TAGGED_FIELDS.to_owned(),
                unknown.iter().map(|tag| unknown_json(tag.tag, &tag.data)).collect(),
            );
        }
        Ok(())
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

    fn field(&mut self, reader: &mut Reader, field: &'a Field) -> Result<Value> {
        self.trace.field(self.message, field, reader.position());
        match self.value(reader, field) {
            Ok(value) => {
                self.trace.done(&value, reader.position());
                Ok(value)
            }
            Err(error) => Err(error.within(field.json_name.clone())),
        }
    }

    fn value(&mut self, reader: &mut Reader, field: &'a Field) -> Result<Value> {
        let nullable = field.nullable.contains(self.version);
        let flexible = field.flexible.map_or(self.flexible, |versions| versions.contains(self.version));
        let start = reader.position();
        match &field.ty {
            Type::String if nullable => {
                Ok(reader.nullable_string(flexible)?.map_or(Value::Null, |text| Value::String(text.to_string())))
            }
            Type::Bytes | Type::Records if nullable => {
                Ok(reader.nullable_bytes(flexible)?.map_or(Value::Null, |bytes| base64_json(&bytes)))
            }
            Type::Array(element) => match self.array(reader, element, flexible)? {
                Value::Null if !nullable => Err(Error::malformed(start, "null array where null is not allowed")),
                array => Ok(array),
            },
            Type::Struct(id) => {
                let present = match (nullable, field.tag) {
                    (false, _) => true,
                    (true, None) => reader.present()?,
                    (true, Some(_)) => reader.tagged_present()?,
                };
                if present { self.structure(reader, *id) } else { Ok(Value::Null) }
            }
            ty => self.element(reader, ty, flexible),
        }
    }

    fn array(&mut self, reader: &mut Reader, element: &'a Type, flexible: bool) -> Result<Value> {
        let start = reader.position();
        let Some(count) = reader.count(flexible, memory(self.message, self.version, element))? else {
            return Ok(Value::Null);
        };
        // Typed messages read these in one go; the error is to be the same.
        if *element == Type::Int32 && count.saturating_mul(4) > reader.remaining() {
            return Err(Error::malformed(
                start,
                format!("{count} int32, but {} left", counted(reader.remaining(), "byte")),
            ));
        }
        let mut array = Vec::with_capacity(count.min(RESERVE));
        for index in 0..count {
            self.trace.element(self.message, element, index, reader.position());
            match self.element(reader, element, flexible) {
                Ok(value) => {
                    self.trace.done(&value, reader.position());
                    array.push(value);
                }
                Err(error) => return Err(error.within_index(index)),
            }
        }
        Ok(Value::Array(array))
    }

    /// A value that is not null.
    fn element(&mut self, reader: &mut Reader, ty: &'a Type, flexible: bool) -> Result<Value> {
        Ok(match ty {
            Type::Bool => Value::Bool(reader.bool()?),
            Type::Int8 => reader.i8()?.into(),
            Type::Int16 => reader.i16()?.into(),
            Type::Int32 => reader.i32()?.into(),
            Type::Int64 => reader.i64()?.into(),
            Type::Uint16 => reader.u16()?.into(),
            Type::Uint32 => reader.u32()?.into(),
            Type::Float64 => float_json(reader.f64()?),
            Type::Uuid => Value::String(reader.uuid()?.to_string()),
            Type::String => Value::String(reader.string(flexible)?.to_string()),
            Type::Bytes | Type::Records => base64_json(&reader.bytes(flexible)?),
            Type::Struct(id) => self.structure(reader, *id)?,
            Type::Array(element) => self.array(reader, element, flexible)?,
        })
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
