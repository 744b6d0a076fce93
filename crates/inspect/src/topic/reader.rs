use bytes::Bytes;
use milena_schema::{MessageKind, MessageSpec, Spec};
use milena_wire::Reader as Cursor;

use super::group;
use super::record::{RecordContent, TopicRecord};
use crate::part::Part;

/// The version of the frame around a record of the metadata log that Kafka writes since 3.0.
const FRAME_VERSION: u32 = 1;

/// How one of Kafka's own topics writes its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicReader {
    form: Form,
    /// The file of the spec that has its layouts.
    family: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The type in front of the key, a version in front of the value.
    Coordinator,
    /// No key; frame version, type and version in front of the value, as varints.
    Log,
}

const TOPICS: [(&str, Form, &str); 5] = [
    ("__consumer_offsets", Form::Coordinator, "group_coordinator"),
    ("__transaction_state", Form::Coordinator, "transaction_coordinator"),
    ("__share_group_state", Form::Coordinator, "share_coordinator"),
    ("__cluster_metadata", Form::Log, "metadata"),
    ("__remote_log_metadata", Form::Log, "remote_log"),
];

impl TopicReader {
    /// Of the topic of that name; `None` when it is none of Kafka's own.
    pub fn for_topic(name: &str) -> Option<Self> {
        // The preview of KRaft in 2.8 had another name for its log.
        let name = if name == "@metadata" { "__cluster_metadata" } else { name };
        let (_, form, family) = *TOPICS.iter().find(|(topic, ..)| *topic == name)?;
        Some(Self { form, family })
    }

    /// The names of all topics that can be read.
    pub fn topics() -> impl ExactSizeIterator<Item = &'static str> {
        TOPICS.iter().map(|(name, ..)| *name)
    }

    /// Reads a record. What cannot be understood is kept as it is, and says why.
    pub fn decode(&self, key: Option<&[u8]>, value: Option<&[u8]>) -> TopicRecord {
        let (key, value) = (key.map(Bytes::copy_from_slice), value.map(Bytes::copy_from_slice));
        match self.form {
            Form::Coordinator => self.coordinator(key, value),
            Form::Log => self.log(key, value),
        }
    }

    fn coordinator(&self, key: Option<Bytes>, value: Option<Bytes>) -> TopicRecord {
        let mut notes = Vec::new();
        let kind = key.as_ref().and_then(number);
        let layout = |of: MessageKind| kind.and_then(|kind| self.layouts(of, kind).next());
        let name = layout(MessageKind::Key).map(|message| message.name.strip_suffix("Key").unwrap_or(&message.name));
        let key = match (key, kind, layout(MessageKind::Key)) {
            (None, ..) => {
                notes.push("the key is null, where the type of the record should be".to_owned());
                RecordContent::Null
            }
            (Some(bytes), None, _) => too_short(bytes, "a type"),
            (Some(bytes), Some(kind), None) => unknown(bytes, self.unknown_type(kind.into(), MessageKind::Key)),
            // Up to Kafka 4.0 the number in front was called the version of the key; the bytes after it are the same.
            (Some(bytes), Some(kind), Some(message)) => {
                read(bytes, message, message.versions.max(), 2, vec![("type", kind.into())])
            }
        };
        let value = match (value, layout(MessageKind::Value)) {
            (None, _) => RecordContent::Null,
            (Some(bytes), message) => match (number(&bytes), message) {
                (None, _) => too_short(bytes, "a version"),
                (Some(_), None) => unknown(bytes, "the type of the record is not known".to_owned()),
                (Some(version), Some(message)) => {
                    let message = self.value_layout(message, version);
                    let prefix = vec![("version", version.into())];
                    let read_as = read(bytes.clone(), message, version, 2, prefix.clone());
                    match redpanda(message, version, prefix, &bytes) {
                        Some(content) if !read_as.is_whole() => {
                            notes.push(
                                "the version stands in front of each member too, as Redpanda writes it; ranges count without those".to_owned(),
                            );
                            content
                        }
                        _ => read_as,
                    }
                }
            },
        };
        let blobs = match &value {
            RecordContent::Read { part, json, .. } => group::blobs(part.message, json),
            _ => Vec::new(),
        };
        note_leftover(&mut notes, "key", &key);
        note_leftover(&mut notes, "value", &value);
        TopicRecord { name, key, value, blobs, notes }
    }

    /// Under the oldest type of an offset its value stood in any of the versions that the next type has.
    fn value_layout(&self, message: &'static MessageSpec, version: i16) -> &'static MessageSpec {
        let next = message.key.map(|kind| kind + 1).filter(|_| message.name.starts_with("Legacy"));
        let next = next.and_then(|kind| self.layouts(MessageKind::Value, kind).next());
        next.filter(|next| !message.versions.contains(version) && next.versions.contains(version)).unwrap_or(message)
    }

    fn log(&self, key: Option<Bytes>, value: Option<Bytes>) -> TopicRecord {
        let mut notes = Vec::new();
        let key = match key {
            None => RecordContent::Null,
            Some(bytes) => unknown(bytes, "records of this topic have no key".to_owned()),
        };
        let Some(bytes) = value else {
            notes.push("the value is null, which this topic does not have".to_owned());
            return TopicRecord { name: None, key, value: RecordContent::Null, blobs: Vec::new(), notes };
        };
        let mut cursor = Cursor::new(bytes.clone());
        let numbers = (|| Ok::<_, milena_wire::Error>((cursor.uvarint()?, cursor.uvarint()?, cursor.uvarint()?)))();
        let value = match numbers {
            Err(error) => unknown(bytes, error.to_string()),
            Ok((frame, ..)) if frame != FRAME_VERSION => {
                unknown(bytes, format!("frame version {frame} is not known, {FRAME_VERSION} is"))
            }
            Ok((frame, kind, version)) => {
                let prefix =
                    vec![("frameVersion", frame.into()), ("type", kind.into()), ("version", i64::from(version))];
                self.log_value(bytes, cursor.position(), kind, version, prefix)
            }
        };
        note_leftover(&mut notes, "value", &value);
        let name = match &value {
            RecordContent::Read { part, .. } => Some(part.message.name.as_str()),
            _ => None,
        };
        TopicRecord { name, key, value, blobs: Vec::new(), notes }
    }

    fn log_value(
        &self,
        bytes: Bytes,
        base: usize,
        kind: u32,
        version: u32,
        prefix: Vec<(&'static str, i64)>,
    ) -> RecordContent {
        let known = i16::try_from(kind).ok();
        let version = i16::try_from(version).unwrap_or(i16::MAX);
        let mut first = None;
        // A number may have had two uses; the one that takes all bytes is meant.
        for message in known.into_iter().flat_map(|kind| self.layouts(MessageKind::Metadata, kind)) {
            let content = read(bytes.clone(), message, version, base, prefix.clone());
            if content.is_whole() {
                return content;
            }
            first.get_or_insert(content);
        }
        first.unwrap_or_else(|| unknown(bytes, self.unknown_type(kind.into(), MessageKind::Metadata)))
    }

    fn layouts(&self, of: MessageKind, kind: i16) -> impl Iterator<Item = &'static MessageSpec> {
        let family = self.family;
        let fits =
            move |message: &&MessageSpec| message.family == family && message.kind == of && message.key == Some(kind);
        Spec::kafka().messages.iter().filter(fits)
    }

    fn unknown_type(&self, kind: i64, of: MessageKind) -> String {
        let all = Spec::kafka().messages.iter().filter(|message| message.family == self.family && message.kind == of);
        match all.filter_map(|message| message.key).max() {
            Some(highest) if kind > highest.into() => {
                format!("type {kind} is above those known, the highest is {highest}")
            }
            _ => format!("type {kind} is not known"),
        }
    }
}

/// The int16 in front.
fn number(bytes: &Bytes) -> Option<i16> {
    bytes.first_chunk().map(|number| i16::from_be_bytes(*number))
}

fn read(
    bytes: Bytes,
    message: &'static MessageSpec,
    version: i16,
    base: usize,
    prefix: Vec<(&'static str, i64)>,
) -> RecordContent {
    let part = Part { message, version, base, bytes: bytes.slice(base.min(bytes.len())..) };
    match part.decode() {
        Ok(decoded) => RecordContent::Read { part, prefix, json: decoded.json, leftover: decoded.leftover },
        Err(error) => unknown(bytes, error.to_string()),
    }
}

/// The value of a group in the form of Redpanda, if that takes all of its bytes.
fn redpanda(
    message: &'static MessageSpec,
    version: i16,
    prefix: Vec<(&'static str, i64)>,
    bytes: &Bytes,
) -> Option<RecordContent> {
    let kafkas = group::without_member_versions(message, &bytes.slice(2..), version)?;
    let part = Part { message, version, base: 2, bytes: kafkas };
    let decoded = part.decode().ok().filter(|decoded| decoded.leftover == 0)?;
    Some(RecordContent::Read { part, prefix, json: decoded.json, leftover: 0 })
}

fn unknown(bytes: Bytes, why: String) -> RecordContent {
    RecordContent::Raw { bytes, why }
}

fn too_short(bytes: Bytes, what: &str) -> RecordContent {
    let why = match bytes.len() {
        1 => format!("1 byte is too few for {what}"),
        length => format!("{length} bytes are too few for {what}"),
    };
    unknown(bytes, why)
}

fn note_leftover(notes: &mut Vec<String>, what: &str, content: &RecordContent) {
    if let RecordContent::Read { leftover: count @ 1.., part, .. } = content {
        let bytes = if *count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") };
        let at = part.base + part.bytes.len() - count;
        notes.push(format!("unexpected {bytes} after the {what}, from byte {at} of it"));
    }
}
