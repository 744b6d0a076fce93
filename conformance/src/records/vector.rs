use std::path::Path;

use milena_wire::Bytes;
use serde_json::{Map, Value};

use crate::Error;
use crate::vector::{from_hex, read_lines};

/// A record set and what Kafka's classes read from it.
#[derive(Clone, Debug)]
pub struct RecordVector {
    /// `set` for what Kafka wrote, `corruption` for what was damaged then, `reread` for either, read by another release,
    /// and `ours` for what milena wrote.
    pub kind: &'static str,
    /// The release that read it, and wrote it unless milena did.
    pub release: String,
    /// What it is, and what was done to it.
    pub name: String,
    /// The set.
    pub bytes: Bytes,
    /// What was read: `ok`, `partialTail`, `batches`, and `error` where the next batch could not be found.
    pub read: Value,
}

/// Reads all `records-*.jsonl.gz` of a folder, in the order of their names, and hands on vector by vector.
///
/// # Errors
/// The folder holds none, or a file is not what it should be; the error names file and line.
pub fn read_record_vectors(dir: &Path, mut each: impl FnMut(RecordVector)) -> Result<(), Error> {
    read_lines(dir, "records-", |map| {
        each(parse(map)?);
        Some(())
    })
}

fn parse(mut map: Map<String, Value>) -> Option<RecordVector> {
    let mut text = |name: &str| match map.remove(name)? {
        Value::String(text) => Some(text),
        _ => None,
    };
    let kind = match &*text("kind")? {
        "set" => "set",
        "corruption" => "corruption",
        "reread" => "reread",
        "ours" => "ours",
        _ => return None,
    };
    let (release, name, bytes) = (text("release")?, text("name")?, from_hex(&text("hex")?)?);
    Some(RecordVector { kind, release, name, bytes, read: Value::Object(map) })
}
