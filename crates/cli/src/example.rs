//! An example of a message, byte by byte.

use std::ops::Range;

use bytes::Bytes;
use milena_schema::{Api, Meaning, MessageKind, MessageSpec, Spec};
use milena_wire::{Result, Writer};
use serde_json::{Value, json};

use crate::history::api_of;
use crate::output::hex;
use crate::value::value;

/// Bytes and what each of them means.
pub(crate) struct Example {
    pub(crate) bytes: Bytes,
    pub(crate) lines: Vec<Line>,
}

/// A run of bytes that means one thing, or the title of what follows.
pub(crate) struct Line {
    pub(crate) range: Range<usize>,
    /// 0 for a title and for what is outside of messages, 1 for the fields of a message.
    pub(crate) depth: usize,
    pub(crate) name: String,
    pub(crate) ty: String,
    pub(crate) value: String,
    /// What the line is.
    pub(crate) role: Role,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Role {
    /// The name of a message.
    Title,
    /// A field or an element.
    Field,
    /// What belongs to the encoding: sizes, counts of tags.
    Frame,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Field => "field",
            Self::Frame => "frame",
        }
    }
}

impl Example {
    /// A message as it is on the wire or in a log: requests and responses with size and header, records with what comes before.
    ///
    /// # Errors
    /// A version that the message lacks.
    pub(crate) fn of(spec: &Spec, message: &MessageSpec, version: i16) -> Result<Self> {
        let mut builder = Builder::default();
        match (message.kind, api_of(spec, message)) {
            (MessageKind::Request, Some(api)) => {
                builder.frame(spec, api, message, version, api.request_header_version(version))
            }
            (MessageKind::Response, Some(api)) => {
                builder.frame(spec, api, message, version, api.response_header_version(version))
            }
            (MessageKind::Key, _) => {
                let number = message.key.unwrap_or_default();
                builder.int16("record type", number);
                builder.message(message, version, message.example_json(version)?)
            }
            (MessageKind::Value, _) => {
                builder.int16("version", version);
                builder.message(message, version, message.example_json(version)?)
            }
            (MessageKind::Metadata, _) => {
                // The record's value begins with three varints; the first, 1, is the version of this frame itself.
                let number = message.key.unwrap_or_default();
                for (name, value) in [("frame version", 1), ("record type", number), ("version", version)] {
                    builder.uvarint(name, u32::try_from(value).unwrap_or_default());
                }
                builder.message(message, version, message.example_json(version)?)
            }
            _ => builder.message(message, version, message.example_json(version)?),
        }?;
        Ok(Self { bytes: builder.writer.into_bytes(), lines: builder.lines })
    }

    /// A message alone, with these values.
    ///
    /// # Errors
    /// A version that the message lacks, or values that do not fit.
    pub(crate) fn body(message: &MessageSpec, version: i16, json: Value) -> Result<Self> {
        let mut builder = Builder::default();
        builder.message(message, version, json)?;
        Ok(Self { bytes: builder.writer.into_bytes(), lines: builder.lines })
    }

    /// Each byte of a line in hex.
    pub(crate) fn hex(&self, line: &Line) -> Vec<String> {
        let bytes = self.bytes.get(line.range.clone()).unwrap_or_default();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// An object with `hex`, and `lines` that each have `start`, `end`, `depth`, `role`, `name`, `type` and `value`.
    pub(crate) fn to_json(&self) -> Value {
        let lines = self.lines.iter().map(|line| {
            json!({
                "start": line.range.start,
                "end": line.range.end,
                "depth": line.depth,
                "role": line.role.name(),
                "name": line.name,
                "type": line.ty,
                "value": line.value,
            })
        });
        json!({ "hex": hex(&self.bytes), "lines": lines.collect::<Value>() })
    }
}

#[derive(Default)]
struct Builder {
    writer: Writer,
    lines: Vec<Line>,
}

impl Builder {
    fn frame(
        &mut self,
        spec: &Spec,
        api: &Api,
        message: &MessageSpec,
        version: i16,
        header_version: i16,
    ) -> Result<()> {
        let name = if message.kind == MessageKind::Request { "RequestHeader" } else { "ResponseHeader" };
        self.writer.i32(0);
        self.line(0..4, "size", "int32", String::new());
        // The spec that is shown may be a part without headers.
        if let Ok(header) = spec.message(name) {
            let mut json = header.example_json(header_version)?;
            if let Some(json) = json.as_object_mut().filter(|_| message.kind == MessageKind::Request) {
                json.insert("requestApiKey".to_owned(), api.key.into());
                json.insert("requestApiVersion".to_owned(), version.into());
            }
            self.message(header, header_version, json)?;
        }
        self.message(message, version, message.example_json(version)?)?;
        let size = i32::try_from(self.writer.len() - 4).unwrap_or(i32::MAX);
        self.writer.patch_i32(0, size);
        if let Some(line) = self.lines.first_mut() {
            line.value = size.to_string();
        }
        Ok(())
    }

    fn int16(&mut self, name: &str, value: i16) {
        let start = self.writer.len();
        self.writer.i16(value);
        self.line(start..start + 2, name, "int16", value.to_string());
    }

    fn uvarint(&mut self, name: &str, value: u32) {
        let start = self.writer.len();
        self.writer.uvarint(value);
        self.line(start..self.writer.len(), name, "uvarint", value.to_string());
    }

    /// A line outside of messages.
    fn line(&mut self, range: Range<usize>, name: &str, ty: &str, value: String) {
        let (name, ty) = (name.to_owned(), ty.to_owned());
        self.lines.push(Line { range, depth: 0, name, ty, value, role: Role::Frame });
    }

    fn message(&mut self, message: &MessageSpec, version: i16, json: Value) -> Result<()> {
        let start = self.writer.len();
        let bytes = message.encode(&json, version)?;
        self.writer.raw(&bytes);
        let annotated = message.decode_annotated(bytes.clone(), version);
        for span in annotated.spans(&bytes) {
            let mut line = Line {
                range: span.range.start + start..span.range.end + start,
                depth: span.depth,
                name: String::new(),
                ty: String::new(),
                value: String::new(),
                role: Role::Frame,
            };
            match span.meaning {
                Meaning::Note(note) if note.depth == 0 => {
                    line.name = format!("{} version {version}", message.name);
                    line.role = Role::Title;
                }
                Meaning::Note(note) => {
                    line.name.clone_from(&note.name);
                    line.ty.clone_from(&note.ty);
                    line.value = value(note);
                    line.role = Role::Field;
                }
                Meaning::TagCount(count) => {
                    line.name = "tagged fields".to_owned();
                    line.ty = "uvarint".to_owned();
                    line.value = count.to_string();
                }
                Meaning::Tag { tag, size } => {
                    line.name = format!("tag {tag}");
                    line.ty = "2 uvarints".to_owned();
                    line.value = format!("tag {tag}, {}", self::size(size));
                }
                Meaning::Other => {}
            }
            self.lines.push(line);
        }
        Ok(())
    }
}

fn size(bytes: u32) -> String {
    crate::output::size(usize::try_from(bytes).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use milena_records::Batches;

    use super::*;

    #[test]
    fn every_byte_of_every_example_has_one_meaning() {
        let spec = Spec::kafka();
        for message in &spec.messages {
            for version in message.versions.iter() {
                let example = Example::of(spec, message, version).unwrap();
                let mut at = 0;
                for line in &example.lines {
                    assert_eq!(line.range.start, at, "{} version {version}: {}", message.name, line.name);
                    at = line.range.end;
                }
                assert_eq!(at, example.bytes.len(), "{} version {version}", message.name);
            }
        }
    }

    #[test]
    fn the_records_in_examples_are_records_with_checksums_that_hold() {
        let spec = Spec::kafka();
        let magics = [0, 0, 1, 2, 2].into_iter().enumerate();
        for (version, magic) in magics {
            let json = spec.message("ProduceRequest").unwrap().example_json(version as i16).unwrap();
            let pointer = "/topicData/0/partitionData/0/records";
            let bytes = STANDARD.decode(json.pointer(pointer).unwrap().as_str().unwrap()).unwrap();
            let batches: Vec<_> = Batches::new(bytes.into()).collect::<Result<_, _>>().unwrap();
            assert_eq!((batches.len(), batches[0].magic()), (1, magic));
            batches[0].check_crc().unwrap();
            let record = batches[0].records().next().unwrap().unwrap();
            assert_eq!((record.key, record.value), (Some(&b"prague"[..]), Some(&b"Dear Milena"[..])));
        }
    }
}
