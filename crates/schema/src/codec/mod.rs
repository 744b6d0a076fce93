//! Bytes to JSON and back, driven by the layout of a [`MessageSpec`]. [`Decoded`] describes the form.

mod decode;
mod default;
mod encode;
mod example;
mod find;
mod note;
mod plan;
mod sample;
mod scan;
mod span;
#[cfg(test)]
mod tests;
mod text;
mod walk;

use bytes::Bytes;
use milena_wire::{Error, Limits, Reader, Result, Writer};
use serde_json::Value;

use crate::model::{Field, MessageSpec, StructId};

pub(crate) use default::value as default_value;
pub use find::{Finder, Found, TagSize};
pub use note::{Annotated, Note, NoteContent};
use plan::Plan;
pub(crate) use plan::Plans;
pub use scan::Scalar;
pub use span::{Meaning, Span};

/// The name under which tagged fields that the spec does not know stand in the JSON form of their struct.
pub const UNKNOWN_TAGGED_FIELDS: &str = "_unknownTaggedFields";

/// What decoding may cost when the result is JSON: 160 bytes of memory per byte of input.
///
/// A JSON value takes some 70 bytes and a member of an object twice that, while the field itself may take one byte
/// on the wire. The figure is chosen so that no array of any message is ever refused whose bytes are really there; what
/// it does refuse, before anything is reserved, are counts that claim more than the input can hold.
pub const JSON_LIMITS: Limits = Limits { memory_per_byte: 160, memory_floor: 64 * 1024 };

/// A message as JSON.
///
/// The JSON form is that of Kafka's `*JsonConverter` classes:
///
/// | type | JSON |
/// |---|---|
/// | bool | `true`, `false` |
/// | int8 to int64, uint16, uint32 | number |
/// | float64 | number; `"NaN"`, `"Infinity"`, `"-Infinity"` as strings |
/// | uuid | Kafka's text of 22 characters |
/// | string | string |
/// | bytes, records | standard base64 with padding |
/// | array, struct | array, object |
/// | null | `null` |
///
/// An object has the fields in the order of the spec, by [`Field::json_name`](crate::Field::json_name): every untagged
/// field of the version, and those tagged fields that are not at their default. Two things have no form in Kafka and
/// take ours: the content of records shows (Kafka's converter leaves it out), and tagged fields that the spec does not
/// know follow as `"_unknownTaggedFields": [{"tag": 7, "data": "base64"}]`. The payload bits of a NaN are lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The message.
    pub json: Value,
    /// Bytes after the message, which Kafka ignores.
    pub leftover: usize,
}

impl MessageSpec {
    /// Reads a message of that version from the start of `bytes`.
    ///
    /// As lenient as Kafka's own code: see [`Reader`]. Memory is bounded by [`JSON_LIMITS`].
    ///
    /// ```
    /// use milena_schema::Spec;
    ///
    /// let message = Spec::kafka().message("HeartbeatResponse")?;
    /// let decoded = message.decode(vec![0, 0, 0, 5, 0, 27].into(), 1)?;
    /// assert_eq!(decoded.json, serde_json::json!({ "throttleTimeMs": 5, "errorCode": 27 }));
    /// assert_eq!(decoded.leftover, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A version that the message lacks, bytes that are not such a message, or more memory than the limits allow. The
    /// path begins with the message's name and goes on with JSON names.
    pub fn decode(&self, bytes: Bytes, version: i16) -> Result<Decoded> {
        let mut reader = Reader::with_limits(bytes, JSON_LIMITS);
        let json = self.decode_from(&mut reader, version)?;
        Ok(Decoded { json, leftover: reader.remaining() })
    }

    /// Reads a message of that version where `reader` stands: for a header with its body after it, or for limits of
    /// one's own. The default limits of a reader are those of typed messages and may be too tight for JSON.
    ///
    /// # Errors
    /// As [`MessageSpec::decode`].
    pub fn decode_from(&self, reader: &mut Reader, version: i16) -> Result<Value> {
        self.check_version(version)?;
        self.walk(reader, version, decode::ToJson::new(self, version))
    }

    /// Walks over a message of that version at the start of `bytes` and shows each value that is a number, text, an id
    /// or bytes, in the order of the wire, with its field. Nulls are not shown. Takes no memory, and a small part of the
    /// time of [`MessageSpec::decode`]; for a few fields [`MessageSpec::finder`] is faster. Gives the count of bytes after the
    /// message.
    ///
    /// ```
    /// use milena_schema::{Scalar, Spec};
    ///
    /// let message = Spec::kafka().message("HeartbeatResponse")?;
    /// let mut code = None;
    /// message.scan(vec![0, 0, 0, 5, 0, 27].into(), 1, |field, value| {
    ///     if field.name == "ErrorCode" {
    ///         code = Some(value);
    ///     }
    /// })?;
    /// assert_eq!(code, Some(Scalar::Integer(27)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`MessageSpec::decode`]; what was shown before the error was there.
    pub fn scan<'a>(&'a self, bytes: Bytes, version: i16, see: impl FnMut(&'a Field, Scalar)) -> Result<usize> {
        self.check_version(version)?;
        let mut reader = Reader::with_limits(bytes, JSON_LIMITS);
        self.walk(&mut reader, version, scan::See(see))?;
        Ok(reader.remaining())
    }

    /// Writes the JSON of [`MessageSpec::decode`] as text after what `out` holds, in a small part of the time that it takes
    /// to build and print values. Gives the count of bytes after the message.
    ///
    /// ```
    /// use milena_schema::Spec;
    ///
    /// let message = Spec::kafka().message("HeartbeatResponse")?;
    /// let mut text = Vec::new();
    /// message.write_json(vec![0, 0, 0, 5, 0, 27].into(), 1, &mut text)?;
    /// assert_eq!(text, br#"{"throttleTimeMs":5,"errorCode":27}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`MessageSpec::decode`]; `out` is then as it was.
    pub fn write_json(&self, bytes: Bytes, version: i16, out: &mut Vec<u8>) -> Result<usize> {
        self.check_version(version)?;
        let before = out.len();
        let mut reader = Reader::with_limits(bytes, JSON_LIMITS);
        if let Err(error) = self.walk(&mut reader, version, text::Text::new(self, out)) {
            out.truncate(before);
            return Err(error);
        }
        Ok(reader.remaining())
    }

    /// Reads a message and notes down for every field which bytes it came from. When reading fails, the notes up to the
    /// failure are still there.
    ///
    /// The notes cost several times what the JSON does: this is for people, not for a proxy.
    pub fn decode_annotated(&self, bytes: Bytes, version: i16) -> Annotated {
        note::annotate(self, bytes, version)
    }

    /// Writes the JSON form of a message as bytes of that version.
    ///
    /// A missing field takes the spec's default. A field of another version is dropped if the spec calls it ignorable
    /// or if it has its default value. Tagged fields are written only when they are not at their default.
    ///
    /// ```
    /// use milena_schema::Spec;
    ///
    /// let message = Spec::kafka().message("MetadataRequest")?;
    /// let bytes = message.encode(&serde_json::json!({ "topics": null }), 1)?;
    /// assert_eq!(&bytes[..], &[0xff; 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A version that the message lacks, a value in a field that the version lacks, a name that the message never had,
    /// or a value of another type or range than the field's. The path names the field.
    pub fn encode(&self, json: &Value, version: i16) -> Result<Bytes> {
        let mut writer = Writer::with_capacity(128);
        self.encode_into(&mut writer, json, version)?;
        Ok(writer.into_bytes())
    }

    /// Writes after what `writer` already holds: for a body after its header.
    ///
    /// # Errors
    /// As [`MessageSpec::encode`]; what was written before the error stays.
    pub fn encode_into(&self, writer: &mut Writer, json: &Value, version: i16) -> Result<()> {
        self.check_version(version)?;
        encode::Encoder::new(self, version).structure(writer, StructId::ROOT, json).map_err(|error| self.named(error))
    }

    /// The JSON form with every field of the version at its default; tagged fields, which are absent then, are not
    /// shown.
    ///
    /// # Errors
    /// A version that the message lacks.
    pub fn default_json(&self, version: i16) -> Result<Value> {
        self.check_version(version)?;
        Ok(default::structure(self, StructId::ROOT, version))
    }

    /// A JSON form in which every field of the version, nested and tagged ones too, has a value that is not its
    /// default: arrays have two or three elements, text is not ASCII, nothing is null, and in flexible versions each
    /// struct carries an unknown tagged field. The same seed gives the same values.
    ///
    /// # Errors
    /// A version that the message lacks.
    pub fn sample_json(&self, version: i16, seed: u64) -> Result<Value> {
        self.check_version(version)?;
        Ok(sample::Sampler::new(self, version, seed).structure(StructId::ROOT))
    }

    /// A JSON form that shows a reader what the fields of the version are for: one element in most arrays, names, ports,
    /// offsets and times as they could be, tagged fields too. The values are each plausible, not all at once; they are
    /// the same at every call.
    ///
    /// # Errors
    /// A version that the message lacks.
    pub fn example_json(&self, version: i16) -> Result<Value> {
        self.check_version(version)?;
        Ok(example::Exampler::new(self, version).structure(StructId::ROOT))
    }

    /// How a version that the message has is read by who wants to see everything.
    fn plan(&self, version: i16) -> &Plan {
        self.plans.get(self, version)
    }

    fn walk<'a, V: walk::Visit<'a>>(&'a self, reader: &mut Reader, version: i16, visit: V) -> Result<V::Value> {
        let mut walker = walk::Walker { message: self, version, visit };
        walker.structure(reader, self.plan(version)).map_err(|error| self.named(error))
    }

    fn check_version(&self, version: i16) -> Result<()> {
        if self.versions.contains(version) { Ok(()) } else { Err(self.named(Error::version(version, self.versions))) }
    }

    #[cold]
    fn named(&self, error: Error) -> Error {
        error.within(self.name.clone())
    }
}
