use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::blob::Blob;
use crate::part::Part;

/// A record of one of Kafka's own topics.
#[derive(Clone, Debug)]
pub struct TopicRecord {
    /// What it is, such as `OffsetCommit` or `TopicRecord`; `None` for a type that is not known.
    pub name: Option<&'static str>,
    /// The key.
    pub key: RecordContent,
    /// The value.
    pub value: RecordContent,
    /// What members of a group sent each other in the value, by the path of the field.
    pub blobs: Vec<(String, Blob)>,
    /// What is odd about it, one sentence each.
    pub notes: Vec<String>,
}

/// The key or the value of such a record.
#[derive(Clone, Debug)]
pub enum RecordContent {
    /// Null.
    Null,
    /// Understood.
    Read {
        /// The message after the leading numbers; `base` is how many bytes those take.
        part: Part,
        /// The numbers in front, by name: `type`, `version`, `frameVersion`.
        prefix: Vec<(&'static str, i64)>,
        /// The message as JSON.
        json: Value,
        /// Bytes after the message.
        leftover: usize,
    },
    /// Not understood, and kept as it is.
    Raw {
        /// All of it.
        bytes: Bytes,
        /// Why it is not understood.
        why: String,
    },
}

impl RecordContent {
    /// The message, when it was understood.
    pub fn json(&self) -> Option<&Value> {
        match self {
            Self::Read { json, .. } => Some(json),
            _ => None,
        }
    }

    /// Understood to the last byte.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Self::Read { leftover: 0, .. })
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Read { part, prefix, json, leftover } => {
                let mut map: Map<String, Value> =
                    prefix.iter().map(|(name, number)| ((*name).to_owned(), json!(number))).collect();
                map.insert("name".to_owned(), json!(part.message.name));
                map.insert("data".to_owned(), json.clone());
                if *leftover > 0 {
                    let rest = part.bytes.get(part.bytes.len() - leftover..).unwrap_or_default();
                    map.insert("leftover".to_owned(), json!(STANDARD.encode(rest)));
                }
                Value::Object(map)
            }
            Self::Raw { bytes, why } => json!({ "raw": STANDARD.encode(bytes), "error": why }),
        }
    }
}

impl TopicRecord {
    /// Whether it says that what its key names is gone: a null value, which compaction takes literally.
    pub fn is_deletion(&self) -> bool {
        matches!(
            (&self.key, &self.value),
            (RecordContent::Read { .. } | RecordContent::Raw { .. }, RecordContent::Null)
        )
    }

    /// Whether key and value were understood, as far as there are any.
    pub fn is_understood(&self) -> bool {
        ![&self.key, &self.value].iter().any(|content| matches!(content, RecordContent::Raw { .. }))
    }

    /// An object with `name`, `key`, `value`, and, where there are such, `deletion`, `blobs` and `notes`.
    ///
    /// Key and value are null, or objects with the numbers in front (`type`, `version`), the `name` of the message and
    /// its `data`; or, when they are not understood, with `raw` in base64 and `error`.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        map.insert("name".to_owned(), json!(self.name));
        map.insert("key".to_owned(), self.key.to_json());
        map.insert("value".to_owned(), self.value.to_json());
        if self.is_deletion() {
            map.insert("deletion".to_owned(), json!(true));
        }
        if !self.blobs.is_empty() {
            let blobs: Map<String, Value> =
                self.blobs.iter().map(|(path, blob)| (path.clone(), blob.to_json())).collect();
            map.insert("blobs".to_owned(), Value::Object(blobs));
        }
        if !self.notes.is_empty() {
            map.insert("notes".to_owned(), json!(self.notes));
        }
        Value::Object(map)
    }
}
