//! The fields of batches beside their bytes, as a table or as JSON.

use std::io::Write;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::command::decode::annotate::{self, Row};
use crate::failure::Result;
use crate::value::bytes_text;

/// Fields above this are not told: many small records in few compressed bytes would take very much memory.
const MAX_FIELDS: usize = 1_000_000;

/// What a field holds.
pub(super) enum Content {
    /// Nothing of its own.
    Part,
    /// A number, with what it means if that is more.
    Number(i64, String),
    /// Bytes, or null.
    Bytes(Option<Bytes>),
    /// Bytes that stand for others, or for nothing.
    Opaque(String),
    /// Cannot be read.
    Failed,
}

/// One field.
struct Field {
    depth: usize,
    path: String,
    name: String,
    ty: &'static str,
    /// Counted from the start of the input, or of the decompressed payload.
    range: Range<usize>,
    inner: bool,
    /// The first bytes of it.
    bytes: Bytes,
    content: Content,
}

/// All fields so far, and what they are fields of.
pub(super) struct Fields {
    input: Bytes,
    /// Goes into payloads that do not open to their end.
    pub(super) tolerant: bool,
    all: Vec<Field>,
    left_out: bool,
}

impl Fields {
    pub(super) fn new(input: Bytes, tolerant: bool) -> Self {
        Self { input, tolerant, all: Vec::new(), left_out: false }
    }

    pub(super) fn input(&self) -> Bytes {
        self.input.clone()
    }

    /// No more fields are told.
    pub(super) fn is_full(&self) -> bool {
        self.left_out
    }

    /// Another field; its path and the parts that it is inside of are those of `cursor`.
    pub(super) fn push(&mut self, place: &Place, name: &str, ty: &'static str, range: Range<usize>, content: Content) {
        if self.all.len() >= MAX_FIELDS {
            self.left_out = true;
            return;
        }
        let path = if place.path.is_empty() { name.to_owned() } else { format!("{}.{name}", place.path) };
        let bytes = place.bytes.get(range.clone()).map(|bytes| place.bytes.slice_ref(bytes)).unwrap_or_default();
        self.all.push(Field {
            depth: place.depth,
            path,
            name: name.to_owned(),
            ty,
            range,
            inner: place.inner,
            bytes,
            content,
        });
    }

    /// Prints them all.
    pub(super) fn print(&self, out: &mut impl Write, as_json: bool) -> Result {
        if as_json {
            let all: Vec<Value> = self.all.iter().map(Field::to_json).collect();
            serde_json::to_writer_pretty(&mut *out, &all)?;
            out.write_all(b"\n")?;
        } else {
            let rows: Vec<Row> = self.all.iter().map(Field::row).collect();
            out.write_all(annotate::render(&rows).as_bytes())?;
        }
        if self.left_out {
            eprintln!("note: these are the first {MAX_FIELDS} fields");
        }
        Ok(())
    }
}

/// Where fields are: in which bytes, and in which part of a batch.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) bytes: Bytes,
    /// The bytes are what came out of decompression.
    pub(super) inner: bool,
    pub(super) path: String,
    pub(super) depth: usize,
}

impl Place {
    /// Inside of a part.
    pub(super) fn inside(&self, name: &str) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Self { path, depth: self.depth + 1, ..self.clone() }
    }
}

impl Field {
    fn row(&self) -> Row {
        let range = format!("{}..{}", self.range.start, self.range.end);
        let value = match &self.content {
            Content::Part => String::new(),
            Content::Number(number, meaning) if meaning.is_empty() => number.to_string(),
            Content::Number(number, meaning) => format!("{number} {meaning}"),
            Content::Bytes(None) => "null".to_owned(),
            Content::Bytes(Some(bytes)) => bytes_text(bytes),
            Content::Opaque(text) => text.clone(),
            Content::Failed => "<-- cannot be read".to_owned(),
        };
        Row {
            range: if self.inner { format!("({range})") } else { range },
            hex: if matches!(self.content, Content::Part) { String::new() } else { annotate::hex(&self.bytes) },
            field: annotate::indent(self.depth, &self.name),
            ty: self.ty.to_owned(),
            value,
        }
    }

    fn to_json(&self) -> Value {
        let mut json = Map::new();
        json.insert("depth".to_owned(), json!(self.depth));
        json.insert("path".to_owned(), json!(self.path));
        json.insert("type".to_owned(), json!(self.ty));
        json.insert("start".to_owned(), json!(self.range.start));
        json.insert("end".to_owned(), json!(self.range.end));
        if self.inner {
            json.insert("decompressed".to_owned(), json!(true));
        }
        match &self.content {
            Content::Part => {}
            Content::Number(number, _) => {
                json.insert("value".to_owned(), json!(number));
            }
            Content::Bytes(bytes) => {
                json.insert("value".to_owned(), json!(bytes.as_ref().map(|bytes| STANDARD.encode(bytes))));
            }
            Content::Opaque(text) => {
                json.insert("note".to_owned(), json!(text));
            }
            Content::Failed => {
                json.insert("failed".to_owned(), json!(true));
            }
        }
        Value::Object(json)
    }
}
