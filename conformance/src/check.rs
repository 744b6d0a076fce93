use std::fmt;

use milena_messages::{ApiKey, ErrorCode};
use milena_schema::{MessageSpec, Spec};
use milena_wire::{Bytes, Error, ErrorKind};
use serde_json::Value;

use crate::typed::{Outcome, reencode, transcode, typed_default};
use crate::vector::{Expected, Transcoded, Vector, VectorKind, to_hex};

/// Which of the codecs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Codec {
    /// The structs of `milena-messages`.
    Typed,
    /// The codec of `milena-schema`, to JSON and back.
    Schema,
    /// The reader and the builders of `milena-records`.
    Records,
}

impl Codec {
    /// The keyword of `deviations.md`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Typed => "typed",
            Self::Schema => "schema",
            Self::Records => "records",
        }
    }
}

/// What a codec did otherwise than Kafka.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    /// Kafka reads it, the codec does not.
    RefusesToRead,
    /// Kafka writes it, the codec does not.
    RefusesToWrite,
    /// Kafka does not read it, the codec does.
    Reads,
    /// Kafka does not write it, the codec does.
    Writes,
    /// Both write it, as different bytes.
    OtherBytes,
    /// Both read it, and the JSON is not the same.
    OtherJson,
    /// Both read it, but not the same number of bytes.
    OtherLeftover,
    /// Both refuse it, but blame something else.
    OtherError,
    /// Another number, name or flag in a table.
    OtherEntry,
}

impl Found {
    /// The keyword of `deviations.md`.
    pub fn name(self) -> &'static str {
        match self {
            Self::RefusesToRead => "refuses to read",
            Self::RefusesToWrite => "refuses to write",
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::OtherBytes => "other bytes",
            Self::OtherJson => "other json",
            Self::OtherLeftover => "other leftover",
            Self::OtherError => "other error",
            Self::OtherEntry => "other entry",
        }
    }
}

/// A place where a codec and Kafka are not of one mind.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Schema name of the message.
    pub message: String,
    /// Its version.
    pub version: i16,
    /// Kind of the vector.
    pub kind: &'static str,
    /// The codec.
    pub codec: Codec,
    /// What it did.
    pub found: Found,
    /// Kafka's exception or the codec's error, or what else tells more.
    pub detail: String,
    /// The vector's bytes in hex, or the path in it.
    pub input: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, version, kind, codec, found, detail, input } = self;
        write!(f, "{message} v{version} {kind} {}: {}: {detail}\n    {input}", codec.name(), found.name())
    }
}

/// Holds both codecs against one vector.
pub fn differences(vector: &Vector) -> Vec<Difference> {
    let mut check = Check { vector, input: String::new(), found: Vec::new() };
    match &vector.kind {
        VectorKind::Header { api, request, response } => check.header(*api, (*request, *response)),
        VectorKind::ErrorCode { code, name, retriable } => check.error_code(*code, name, *retriable),
        _ => match Spec::kafka().message(&vector.message) {
            Ok(message) => check.message(message),
            Err(error) => check.note(Codec::Schema, Found::OtherEntry, error),
        },
    }
    check.found
}

struct Check<'a> {
    vector: &'a Vector,
    input: String,
    found: Vec<Difference>,
}

impl Check<'_> {
    fn note(&mut self, codec: Codec, found: Found, detail: impl fmt::Display) {
        self.found.push(Difference {
            message: self.vector.message.clone(),
            version: self.vector.version,
            kind: self.vector.kind.name(),
            codec,
            found,
            detail: detail.to_string(),
            input: self.input.clone(),
        });
    }

    fn header(&mut self, api: i16, kafka: (i16, i16)) {
        let version = self.vector.version;
        let key = ApiKey(api);
        let typed = (key.request_header_version(version), key.response_header_version(version));
        let schema = Spec::kafka()
            .api(api)
            .map(|api| (api.request_header_version(version), api.response_header_version(version)));
        if typed != kafka {
            self.note(Codec::Typed, Found::OtherEntry, format!("{typed:?}, Kafka {kafka:?}"));
        }
        if schema != Some(kafka) {
            self.note(Codec::Schema, Found::OtherEntry, format!("{schema:?}, Kafka {kafka:?}"));
        }
    }

    fn error_code(&mut self, code: i16, name: &str, retriable: bool) {
        let typed = (ErrorCode(code).name(), ErrorCode(code).is_retriable());
        if typed != (Some(name), retriable) {
            self.note(Codec::Typed, Found::OtherEntry, format!("{code}: {typed:?}, Kafka {name} {retriable}"));
        }
        let schema = Spec::kafka().error(code).map(|error| (error.name.as_str(), error.retriable));
        if schema != Some((name, retriable)) {
            self.note(Codec::Schema, Found::OtherEntry, format!("{code}: {schema:?}, Kafka {name} {retriable}"));
        }
    }

    fn message(&mut self, message: &MessageSpec) {
        let version = self.vector.version;
        match &self.vector.kind {
            VectorKind::Default { bytes, json } => {
                self.input = to_hex(bytes);
                self.typed(typed_default(&message.name, version), &read(0, bytes));
                match message.default_json(version) {
                    Ok(default) if default != *json => self.note(Codec::Schema, Found::OtherJson, default),
                    Ok(_) => {}
                    Err(error) => self.note(Codec::Schema, Found::RefusesToWrite, error),
                }
                self.value(message, bytes, json);
            }
            VectorKind::Value { bytes, json } => {
                self.input = to_hex(bytes);
                self.value(message, bytes, json);
            }
            VectorKind::Refuse { json, exception } => {
                self.input = json.to_string();
                self.input.truncate(100);
                self.written(Codec::Schema, message.encode(json, version), &Transcoded::Exception(exception.clone()));
            }
            VectorKind::Nulls(fields) => {
                for (path, nullable) in fields {
                    self.input.clone_from(path);
                    self.null(message, path, *nullable);
                }
            }
            VectorKind::Transcode { from, field: _, bytes, to } => {
                self.input = format!("v{from} {}", to_hex(bytes));
                let expected = Expected::Read { leftover: 0, written: to.clone() };
                self.typed(transcode(&message.name, *from, version, bytes.clone()), &expected);
                self.schema(message, *from, bytes, &expected);
            }
            VectorKind::Input { bytes, expected, .. } => {
                self.input = to_hex(bytes);
                self.typed(reencode(&message.name, version, bytes.clone()), expected);
                self.schema(message, version, bytes, expected);
            }
            VectorKind::Json { json, to } => {
                self.input = json.to_string();
                self.written(Codec::Schema, message.encode(json, version), to);
            }
            VectorKind::Header { .. } | VectorKind::ErrorCode { .. } => {}
        }
    }

    fn value(&mut self, message: &MessageSpec, bytes: &Bytes, json: &Value) {
        let version = self.vector.version;
        let expected = read(0, bytes);
        self.typed(reencode(&message.name, version, bytes.clone()), &expected);
        if let Ok(decoded) = message.decode(bytes.clone(), version) {
            if decoded.json != *json {
                self.note(Codec::Schema, Found::OtherJson, format!("{}\n    Kafka: {json}", decoded.json));
            }
        }
        self.schema(message, version, bytes, &expected);
        self.written(Codec::Schema, message.encode(json, version), &Transcoded::Bytes(bytes.clone()));
    }

    /// Sets one field of a message to null that otherwise has no null.
    fn null(&mut self, message: &MessageSpec, path: &str, nullable: bool) {
        let version = self.vector.version;
        let mut json = match message.sample_json(version, 1) {
            Ok(json) => json,
            Err(error) => return self.note(Codec::Schema, Found::RefusesToWrite, error),
        };
        let mut place = Some(&mut json);
        for name in path.split('.') {
            place = place.and_then(|value| match value {
                Value::Array(array) => array.first_mut().and_then(|element| element.get_mut(name)),
                value => value.get_mut(name),
            });
        }
        let Some(place) = place else {
            return self.note(Codec::Schema, Found::OtherJson, "no such field");
        };
        *place = Value::Null;
        match message.encode(&json, version) {
            Ok(_) if !nullable => self.note(Codec::Schema, Found::Writes, "NullPointerException"),
            Err(error) if nullable => self.note(Codec::Schema, Found::RefusesToWrite, error),
            Err(error) if error.kind() != ErrorKind::InvalidValue => {
                self.note(Codec::Schema, Found::OtherError, error);
            }
            _ => {}
        }
    }

    fn typed(&mut self, outcome: Option<Outcome>, expected: &Expected) {
        match outcome {
            None => self.note(Codec::Typed, Found::OtherEntry, "no such message"),
            Some(outcome) => self.outcome(Codec::Typed, outcome, expected),
        }
    }

    fn schema(&mut self, message: &MessageSpec, from: i16, bytes: &Bytes, expected: &Expected) {
        let outcome = match message.decode(bytes.clone(), from) {
            Err(error) => Outcome::Refused(error),
            Ok(decoded) => Outcome::Read {
                leftover: decoded.leftover,
                written: message.encode(&decoded.json, self.vector.version),
            },
        };
        self.outcome(Codec::Schema, outcome, expected);
    }

    fn outcome(&mut self, codec: Codec, outcome: Outcome, expected: &Expected) {
        match (outcome, expected) {
            (Outcome::Refused(error), Expected::Exception(exception)) => self.error(codec, &error, exception),
            (Outcome::Refused(error), Expected::Read { .. }) => self.note(codec, Found::RefusesToRead, error),
            (Outcome::Read { .. }, Expected::Exception(exception)) => self.note(codec, Found::Reads, exception),
            (Outcome::Read { leftover, written }, Expected::Read { leftover: kafkas, written: expected }) => {
                if leftover != *kafkas {
                    self.note(codec, Found::OtherLeftover, format!("{leftover}, Kafka {kafkas}"));
                }
                self.written(codec, written, expected);
            }
        }
    }

    fn written(&mut self, codec: Codec, written: Result<Bytes, Error>, expected: &Transcoded) {
        match (written, expected) {
            (Ok(bytes), Transcoded::Bytes(expected)) if bytes == expected => {}
            (Ok(bytes), Transcoded::Bytes(expected)) => {
                self.note(codec, Found::OtherBytes, format!("{}\n    Kafka: {}", to_hex(&bytes), to_hex(expected)));
            }
            (Ok(_), Transcoded::Exception(exception)) => self.note(codec, Found::Writes, exception),
            (Err(error), Transcoded::Bytes(_)) => self.note(codec, Found::RefusesToWrite, error),
            (Err(error), Transcoded::Exception(exception)) => self.error(codec, &error, exception),
        }
    }

    /// Kafka tells only one fault by a class of its own.
    fn error(&mut self, codec: Codec, error: &Error, exception: &str) {
        let version = exception == "UnsupportedVersionException";
        if version != (error.kind() == ErrorKind::UnsupportedVersion) {
            self.note(codec, Found::OtherError, format!("{error}, Kafka {exception}"));
        }
    }
}

fn read(leftover: usize, bytes: &Bytes) -> Expected {
    Expected::Read { leftover, written: Transcoded::Bytes(bytes.clone()) }
}
