//! The fields of batches beside their bytes, as a table or as JSON.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::command::decode::annotate::{self, Row};
use crate::failure::Result;
use crate::output;
use crate::value::bytes_text;

/// Fields that are kept before they are written: many small records in few compressed bytes have very many.
const MAX_FIELDS: usize = 10_000;

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
    range: Range<u64>,
    inner: bool,
    /// The first bytes of it.
    bytes: Bytes,
    content: Content,
}

/// Writes fields, a table or some elements of a JSON array at a time.
pub(super) struct Fields {
    out: BufWriter<StdoutLock<'static>>,
    as_json: bool,
    /// Goes into payloads that do not open to their end.
    pub(super) tolerant: bool,
    waiting: Vec<Field>,
    is_first: bool,
    failed: Option<io::Error>,
}

impl Fields {
    pub(super) fn new(as_json: bool, tolerant: bool) -> Self {
        let out = output::stdout();
        Self { out, as_json, tolerant, waiting: Vec::new(), is_first: true, failed: None }
    }

    /// Whether fields can be written no more.
    pub(super) fn is_closed(&self) -> bool {
        self.failed.is_some()
    }

    /// Another field; its path and the parts that it is inside of are those of `place`.
    pub(super) fn push(&mut self, place: &Place, name: &str, ty: &'static str, range: Range<usize>, content: Content) {
        if self.waiting.len() >= MAX_FIELDS {
            self.write();
        }
        let path = if place.path.is_empty() { name.to_owned() } else { format!("{}.{name}", place.path) };
        let bytes = place.bytes.get(range.start..range.end.min(place.bytes.len()));
        let bytes = bytes.map(|bytes| place.bytes.slice_ref(bytes)).unwrap_or_default();
        self.waiting.push(Field {
            depth: place.depth,
            path,
            name: name.to_owned(),
            ty,
            range: place.base + range.start as u64..place.base + range.end as u64,
            inner: place.inner,
            bytes,
            content,
        });
    }

    fn write(&mut self) {
        let written = if self.as_json { self.json() } else { self.table() };
        self.waiting.clear();
        self.is_first = false;
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }

    fn table(&mut self) -> io::Result<()> {
        if !self.is_first && !self.waiting.is_empty() {
            self.out.write_all(b"\n")?;
        }
        let rows: Vec<Row> = self.waiting.iter().map(Field::row).collect();
        match rows.is_empty() && !self.is_first {
            true => Ok(()),
            false => self.out.write_all(annotate::render(&rows).as_bytes()),
        }
    }

    /// Elements of one array, as they are in one that is written at once.
    fn json(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let all: Vec<Value> = self.waiting.iter().map(Field::to_json).collect();
        let text = serde_json::to_vec_pretty(&all)?;
        let elements = text.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"\n]")).unwrap_or_default();
        self.out.write_all(if self.is_first { b"[" } else { b"," })?;
        self.out.write_all(elements)
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> Result {
        let is_empty = self.is_first && self.waiting.is_empty();
        self.write();
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        if self.as_json {
            self.out.write_all(if is_empty { b"[]\n" } else { b"\n]\n" })?;
        }
        Ok(self.out.flush()?)
    }
}

/// Where fields are: in which bytes, and in which part of a batch.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) bytes: Bytes,
    /// Where in the input the bytes begin; 0 for what came out of decompression.
    pub(super) base: u64,
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
