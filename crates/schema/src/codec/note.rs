use std::ops::Range;

use bytes::Bytes;
use milena_wire::{Reader, Result, UnknownTags};
use serde_json::{Map, Value, json};

use super::decode::{Object, ToJson, base64_json};
use super::scan::Scalar;
use super::walk::{Place, Visit, Walker};
use super::{Decoded, JSON_LIMITS, UNKNOWN_TAGGED_FIELDS};
use crate::model::{Entity, Field, MessageSpec, StructSpec, Type};

/// A message and the bytes that each of its parts came from.
#[derive(Clone, Debug)]
pub struct Annotated {
    /// In the order of the bytes, each struct and array before what it holds. The first is the message itself.
    pub notes: Vec<Note>,
    /// The message, or what stopped the reader.
    pub outcome: Result<Decoded>,
}

/// Where one field, or element of an array, was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// 0 for the message, 1 for its fields.
    pub depth: usize,
    /// From the message's name, such as `FetchRequest.topics[0].topic`.
    pub path: String,
    /// The last step of the path: `topic`, `[0]`.
    pub name: String,
    /// As the spec writes it, with `?` where the version allows null: `string?`, `[]FetchTopic`; `unknown` for a tagged
    /// field that the spec does not know.
    pub ty: String,
    /// The tag of a tagged field. Its range is the value alone; tag and size stand in front.
    pub tag: Option<u32>,
    /// What the value refers to.
    pub entity: Option<Entity>,
    /// The bytes, with lengths, counts and null markers; up to where the reader stopped when it failed inside.
    pub range: Range<usize>,
    /// What was read.
    pub content: NoteContent,
}

/// What a note found.
#[derive(Clone, Debug, PartialEq)]
pub enum NoteContent {
    /// A value that holds no others, or null.
    Value(Value),
    /// An array of so many elements, which have notes of their own.
    Array(usize),
    /// A struct, whose fields have notes of their own.
    Struct,
    /// The reader failed here, or further inside.
    Failed,
}

impl Note {
    /// An object with `depth`, `path`, `type`, `start`, `end` and, where there are such, `tag`, `entity`, `value`,
    /// `count` and `failed`.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        map.insert("depth".to_owned(), json!(self.depth));
        map.insert("path".to_owned(), json!(self.path));
        map.insert("type".to_owned(), json!(self.ty));
        map.insert("start".to_owned(), json!(self.range.start));
        map.insert("end".to_owned(), json!(self.range.end));
        if let Some(tag) = self.tag {
            map.insert("tag".to_owned(), json!(tag));
        }
        if let Some(entity) = self.entity {
            map.insert("entity".to_owned(), json!(entity.name()));
        }
        match &self.content {
            NoteContent::Value(value) => map.insert("value".to_owned(), value.clone()),
            NoteContent::Array(count) => map.insert("count".to_owned(), json!(count)),
            NoteContent::Failed => map.insert("failed".to_owned(), json!(true)),
            NoteContent::Struct => None,
        };
        Value::Object(map)
    }
}

pub(super) fn annotate(message: &MessageSpec, bytes: Bytes, version: i16) -> Annotated {
    if let Err(error) = message.check_version(version) {
        return Annotated { notes: Vec::new(), outcome: Err(error) };
    }
    let mut reader = Reader::with_limits(bytes, JSON_LIMITS);
    let mut visit = Notes::new(message, version);
    visit.begin_note(&message.name, message.name.clone(), None, None, 0);
    let mut walker = Walker { message, version, visit };
    let outcome = walker.structure(&mut reader, message.plan(version));
    let mut notes = walker.visit;
    let outcome = match outcome {
        Ok(json) => {
            notes.done(&json, reader.position());
            Ok(Decoded { json, leftover: reader.remaining() })
        }
        Err(error) => {
            notes.fail(reader.position());
            Err(message.named(error))
        }
    };
    Annotated { notes: notes.notes, outcome }
}

/// Makes JSON, and notes down where each part of it came from.
struct Notes<'a> {
    json: ToJson<'a>,
    message: &'a MessageSpec,
    version: i16,
    notes: Vec<Note>,
    path: String,
    /// The notes that are begun and not done: index, and the length of the path before.
    open: Vec<(usize, usize)>,
    /// Unknown tags of structs that are not done: depth of the tag, index of its note.
    unknown: Vec<(usize, usize)>,
}

impl<'a> Notes<'a> {
    fn new(message: &'a MessageSpec, version: i16) -> Self {
        Self {
            json: ToJson::new(message, version),
            message,
            version,
            notes: Vec::new(),
            path: String::new(),
            open: Vec::new(),
            unknown: Vec::new(),
        }
    }

    fn begin_note(&mut self, step: &str, ty: String, tag: Option<u32>, entity: Option<Entity>, start: usize) {
        self.open.push((self.notes.len(), self.path.len()));
        if !self.path.is_empty() && !step.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(step);
        self.notes.push(Note {
            depth: self.open.len() - 1,
            path: self.path.clone(),
            name: step.to_owned(),
            ty,
            tag,
            entity,
            range: start..start,
            content: NoteContent::Failed,
        });
    }

    fn fail(&mut self, end: usize) {
        for (index, _) in self.open.drain(..) {
            self.notes[index].range.end = end;
        }
    }

    /// What began last is read.
    fn done(&mut self, value: &Value, end: usize) {
        if let Some((index, path)) = self.open.pop() {
            self.path.truncate(path);
            let note = &mut self.notes[index];
            note.range.end = end;
            note.content = match value {
                Value::Array(array) => NoteContent::Array(array.len()),
                Value::Object(_) => NoteContent::Struct,
                value => NoteContent::Value(value.clone()),
            };
        }
    }

    /// The unknown tagged fields of a struct are read.
    fn unknown_done(&mut self, tags: &UnknownTags) {
        let first = self.unknown.len().saturating_sub(tags.len());
        for ((_, index), tag) in self.unknown.drain(first..).zip(tags) {
            let note = &mut self.notes[index];
            note.range.end = note.range.start + tag.data.len();
            note.content = NoteContent::Value(base64_json(&tag.data));
        }
    }
}

impl<'a> Visit<'a> for Notes<'a> {
    type Value = Value;
    type Struct = Object;
    type Array = Vec<Value>;

    fn begin(&mut self, fields: usize) -> Object {
        self.json.begin(fields)
    }

    fn field(&mut self, structure: &'a StructSpec, index: usize, start: usize) {
        let field = &structure.fields[index];
        let mut ty = field.ty.text(self.message);
        if field.nullable.contains(self.version) {
            ty.push('?');
        }
        self.begin_note(&field.json_name, ty, field.tag, field.entity, start);
    }

    fn member(&mut self, into: &mut Object, structure: &'a StructSpec, index: usize, value: Value, end: usize) {
        self.done(&value, end);
        self.json.member(into, structure, index, value, end);
    }

    fn unknown(&mut self, tag: u32, start: usize) {
        let depth = self.open.len();
        let index = self.unknown.iter().rev().take_while(|(other, _)| *other == depth).count();
        self.unknown.push((depth, self.notes.len()));
        self.begin_note(&format!("{UNKNOWN_TAGGED_FIELDS}[{index}]"), "unknown".to_owned(), Some(tag), None, start);
        // Not left open: its bytes are read by the reader, which gives all of them at once afterwards.
        if let Some((_, path)) = self.open.pop() {
            self.path.truncate(path);
        }
    }

    fn end(&mut self, from: Object, structure: &'a StructSpec, unknown: UnknownTags) -> Value {
        if !unknown.is_empty() {
            self.unknown_done(&unknown);
        }
        self.json.end(from, structure, unknown)
    }

    fn open(&mut self, count: usize) -> Vec<Value> {
        self.json.open(count)
    }

    fn element(&mut self, ty: &Type, index: usize, start: usize) {
        // An entity on an array is that of its elements.
        let entity = self.open.last().and_then(|(array, _)| self.notes[*array].entity);
        self.begin_note(&format!("[{index}]"), ty.text(self.message), None, entity, start);
    }

    fn push(&mut self, into: &mut Vec<Value>, value: Value, end: usize) {
        self.done(&value, end);
        self.json.push(into, value, end);
    }

    fn close(&mut self, from: Vec<Value>) -> Value {
        self.json.close(from)
    }

    fn null(&mut self) -> Value {
        self.json.null()
    }

    fn scalar(&mut self, field: &'a Field, ty: &Type, value: Scalar, place: Place) -> Value {
        self.json.scalar(field, ty, value, place)
    }
}
