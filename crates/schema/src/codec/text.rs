use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milena_wire::UnknownTags;
use serde_json::Value;

use super::UNKNOWN_TAGGED_FIELDS;
use super::decode::{float_json, unknown_json};
use super::default::is_default;
use super::scan::Scalar;
use super::walk::{Place, Visit};
use crate::model::{Field, MessageSpec, StructSpec, Type};

/// Writes a message as JSON text. Writing to a `Vec` cannot fail, so the results of that are ignored.
pub(super) struct Text<'a, 'o> {
    message: &'a MessageSpec,
    out: &'o mut Vec<u8>,
    /// The members of all structs that are not at their end yet.
    members: Vec<Member>,
}

/// A member of an object: which field, and where its name and its value begin in the text.
struct Member {
    index: usize,
    name: usize,
    value: usize,
}

impl<'a, 'o> Text<'a, 'o> {
    pub(super) fn new(message: &'a MessageSpec, out: &'o mut Vec<u8>) -> Self {
        Self { message, out, members: Vec::new() }
    }

    fn value(&mut self, value: &Value) {
        serde_json::to_writer(&mut *self.out, value).ok();
    }

    fn base64(&mut self, bytes: &[u8]) {
        self.out.push(b'"');
        let start = self.out.len();
        self.out.resize(start + bytes.len().div_ceil(3) * 4, 0);
        STANDARD.encode_slice(bytes, &mut self.out[start..]).ok();
        self.out.push(b'"');
    }

    fn separate(&mut self) {
        // Of values only objects and arrays end in a bracket, and those in a closing one.
        if !matches!(self.out.last(), Some(b'{' | b'[')) {
            self.out.push(b',');
        }
    }

    /// Puts tagged fields, which come last on the wire, at their place in the order of the spec, but for those that have
    /// their default. As in Kafka, the last of several counts.
    fn arrange(&mut self, begun: usize, structure: &StructSpec) {
        let members = &self.members[begun..];
        let Some(first) = members.first() else { return };
        let ends = members.iter().skip(1).map(|next| next.name - 1).chain([self.out.len()]);
        let mut places: Vec<Option<(usize, usize)>> = vec![None; structure.fields.len()];
        for (member, end) in members.iter().zip(ends) {
            let field = &structure.fields[member.index];
            let is_shown = field.tag.is_none()
                || serde_json::from_slice(&self.out[member.value..end])
                    .is_ok_and(|value| !is_default(self.message, field, &value));
            places[member.index] = is_shown.then_some((member.name, end));
        }
        let shown = places.into_iter().flatten().map(|(start, end)| &self.out[start..end]);
        let arranged = shown.collect::<Vec<_>>().join(&b',');
        self.out.truncate(first.name);
        self.out.extend(arranged);
    }
}

impl<'a> Visit<'a> for Text<'a, '_> {
    type Value = ();
    /// How many members were there before.
    type Struct = usize;
    type Array = ();

    fn scalar(&mut self, _: &'a Field, ty: &Type, value: Scalar, _: Place) {
        match value {
            Scalar::Integer(value) if *ty == Type::Bool => self.value(&Value::Bool(value != 0)),
            Scalar::Integer(value) => self.value(&value.into()),
            Scalar::Float(value) => self.value(&float_json(value)),
            Scalar::Text(text) => {
                serde_json::to_writer(&mut *self.out, &*text).ok();
            }
            Scalar::Uuid(id) => {
                write!(self.out, "\"{id}\"").ok();
            }
            Scalar::Bytes(bytes) => self.base64(&bytes),
        }
    }

    fn begin(&mut self, _: usize) -> usize {
        self.out.push(b'{');
        self.members.len()
    }

    fn field(&mut self, structure: &'a StructSpec, index: usize, _: usize) {
        self.separate();
        let name = self.out.len();
        self.out.push(b'"');
        self.out.extend_from_slice(structure.fields[index].json_name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.members.push(Member { index, name, value: self.out.len() });
    }

    fn member(&mut self, _: &mut usize, _: &'a StructSpec, _: usize, (): (), _: usize) {}

    fn end(&mut self, begun: usize, structure: &'a StructSpec, unknown: UnknownTags) {
        // Only tagged fields are not where they belong, and they come last.
        if self.members[begun..].last().is_some_and(|last| structure.fields[last.index].tag.is_some()) {
            self.arrange(begun, structure);
        }
        self.members.truncate(begun);
        if !unknown.is_empty() {
            self.separate();
            write!(self.out, "\"{UNKNOWN_TAGGED_FIELDS}\":").ok();
            self.value(&unknown.iter().map(|tag| unknown_json(tag.tag, &tag.data)).collect());
        }
        self.out.push(b'}');
    }

    fn open(&mut self, _: usize) {
        self.out.push(b'[');
    }

    fn element(&mut self, _: &Type, _: usize, _: usize) {
        self.separate();
    }

    fn push(&mut self, (): &mut (), (): (), _: usize) {}

    fn close(&mut self, (): ()) {
        self.out.push(b']');
    }

    fn null(&mut self) {
        self.out.extend_from_slice(b"null");
    }
}
