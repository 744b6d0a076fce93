use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::read::GzDecoder;
use milena_wire::Bytes;
use serde_json::{Map, Value};

use crate::Error;

/// One thing that Kafka's classes did.
#[derive(Clone, Debug)]
pub struct Vector {
    /// The release whose classes did it.
    pub release: String,
    /// Schema name; empty for error codes.
    pub message: String,
    /// Version of the message.
    pub version: i16,
    /// What they did.
    pub kind: VectorKind,
}

/// What Kafka's classes did.
#[derive(Clone, Debug)]
pub enum VectorKind {
    /// Wrote an untouched object.
    Default {
        /// As bytes.
        bytes: Bytes,
        /// As JSON.
        json: Value,
    },
    /// Wrote an object.
    Value {
        /// As bytes.
        bytes: Bytes,
        /// As JSON.
        json: Value,
    },
    /// Refused to write an object.
    Refuse {
        /// As JSON.
        json: Value,
        /// Class of the exception.
        exception: String,
    },
    /// Took or refused null in each of these fields; the path names fields only and goes through every array.
    Nulls(BTreeMap<String, bool>),
    /// Read bytes of another version and wrote them as this one.
    Transcode {
        /// The other version.
        from: i16,
        /// The only field that is not at its default there, if it is only one.
        field: Option<String>,
        /// Bytes of the other version.
        bytes: Bytes,
        /// What came out.
        to: Transcoded,
    },
    /// Read bytes that may be no message at all.
    Input {
        /// Whether they were thought up by a person, and are the same for every seed.
        by_hand: bool,
        /// The bytes.
        bytes: Bytes,
        /// What came of it.
        expected: Expected,
    },
    /// Read JSON, thought up by a person, and wrote it.
    Json {
        /// The JSON.
        json: Value,
        /// What came of it.
        to: Transcoded,
    },
    /// Chose headers for a request and its response.
    Header {
        /// Key of the API.
        api: i16,
        /// Version of the request header.
        request: i16,
        /// Version of the response header.
        response: i16,
    },
    /// Defines an error code.
    ErrorCode {
        /// The number.
        code: i16,
        /// The name.
        name: String,
        /// Whether its exception is a `RetriableException`.
        retriable: bool,
    },
}

/// What came of writing a value at another version.
#[derive(Clone, Debug)]
pub enum Transcoded {
    /// Bytes.
    Bytes(Bytes),
    /// An exception of this class.
    Exception(String),
}

/// What came of reading any bytes.
#[derive(Clone, Debug)]
pub enum Expected {
    /// An exception of this class.
    Exception(String),
    /// They were read.
    Read {
        /// Bytes after the message.
        leftover: usize,
        /// The message written again, or the class of the exception.
        written: Transcoded,
    },
}

impl VectorKind {
    /// The keyword in the files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Default { .. } => "default",
            Self::Value { .. } => "value",
            Self::Refuse { .. } => "refuse",
            Self::Nulls(_) => "nulls",
            Self::Transcode { .. } => "transcode",
            Self::Input { by_hand: true, .. } => "input",
            Self::Input { by_hand: false, .. } => "mutant",
            Self::Json { .. } => "json",
            Self::Header { .. } => "header",
            Self::ErrorCode { .. } => "error",
        }
    }
}

/// Reads all `kafka-*.jsonl.gz` of a folder, in the order of their names, and hands on vector by vector.
///
/// # Errors
/// The folder holds none, or a file is not what it should be; the error names file and line.
pub fn read_vectors(dir: &Path, mut each: impl FnMut(Vector)) -> Result<(), Error> {
    read_lines(dir, "kafka-", |map| {
        each(parse(map)?);
        Some(())
    })
}

/// Hands on line by line what stands in the files of a folder whose names begin so. `each` gives `None` for a line that is
/// none.
pub(crate) fn read_lines(
    dir: &Path,
    prefix: &str,
    mut each: impl FnMut(Map<String, Value>) -> Option<()>,
) -> Result<(), Error> {
    read_files(dir, prefix, |_, map| each(map))
}

/// As [`read_lines`], with the name of the file.
pub(crate) fn read_files(
    dir: &Path,
    prefix: &str,
    mut each: impl FnMut(&str, Map<String, Value>) -> Option<()>,
) -> Result<(), Error> {
    let entries = std::fs::read_dir(dir).map_err(|error| Error::new(dir.display(), error))?;
    let mut files: Vec<_> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(prefix) && name.ends_with(".jsonl.gz")
        })
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(Error::new(dir.display(), format!("no file {prefix}*.jsonl.gz")));
    }
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = File::open(&path).map_err(|error| Error::new(path.display(), error))?;
        for (number, line) in BufReader::new(GzDecoder::new(file)).lines().enumerate() {
            let place = || format!("{}:{}", path.display(), number + 1);
            let line = line.map_err(|error| Error::new(place(), error))?;
            let map: Map<String, Value> = serde_json::from_str(&line).map_err(|error| Error::new(place(), error))?;
            each(&name, map).ok_or_else(|| Error::new(place(), "not a line of such a file"))?;
        }
    }
    Ok(())
}

fn parse(mut map: Map<String, Value>) -> Option<Vector> {
    let kind = match map.get("kind")?.as_str()? {
        "default" => VectorKind::Default { bytes: hex(&map, "hex")?, json: map.remove("json")? },
        "value" => VectorKind::Value { bytes: hex(&map, "hex")?, json: map.remove("json")? },
        "refuse" => VectorKind::Refuse { exception: text(&map, "exception")?, json: map.remove("json")? },
        "nulls" => VectorKind::Nulls(
            map.get("fields")?
                .as_object()?
                .iter()
                .map(|(path, nullable)| Some((path.clone(), nullable.as_bool()?)))
                .collect::<Option<_>>()?,
        ),
        "transcode" => VectorKind::Transcode {
            from: int16(&map, "from")?,
            field: text(&map, "field"),
            bytes: hex(&map, "hex")?,
            to: match hex(&map, "to") {
                Some(bytes) => Transcoded::Bytes(bytes),
                None => Transcoded::Exception(text(&map, "exception")?),
            },
        },
        kind @ ("mutant" | "input") => VectorKind::Input {
            by_hand: kind == "input",
            bytes: hex(&map, "hex")?,
            expected: if map.get("ok")?.as_bool()? {
                Expected::Read {
                    leftover: usize::try_from(map.get("leftover")?.as_u64()?).ok()?,
                    written: match hex(&map, "canonical") {
                        Some(bytes) => Transcoded::Bytes(bytes),
                        None => Transcoded::Exception(text(&map, "unwritable")?),
                    },
                }
            } else {
                Expected::Exception(text(&map, "exception")?)
            },
        },
        "json" => VectorKind::Json {
            json: serde_json::from_str(map.get("text")?.as_str()?).ok()?,
            to: match hex(&map, "hex") {
                Some(bytes) => Transcoded::Bytes(bytes),
                None => Transcoded::Exception(text(&map, "exception")?),
            },
        },
        "header" => VectorKind::Header {
            api: int16(&map, "api")?,
            request: int16(&map, "request")?,
            response: int16(&map, "response")?,
        },
        "error" => VectorKind::ErrorCode {
            code: int16(&map, "code")?,
            name: text(&map, "name")?,
            retriable: map.get("retriable")?.as_bool()?,
        },
        _ => return None,
    };
    Some(Vector {
        release: text(&map, "release")?,
        message: text(&map, "message").unwrap_or_default(),
        version: int16(&map, "version").unwrap_or_default(),
        kind,
    })
}

fn text(map: &Map<String, Value>, name: &str) -> Option<String> {
    Some(map.get(name)?.as_str()?.to_owned())
}

fn int16(map: &Map<String, Value>, name: &str) -> Option<i16> {
    i16::try_from(map.get(name)?.as_i64()?).ok()
}

fn hex(map: &Map<String, Value>, name: &str) -> Option<Bytes> {
    from_hex(map.get(name)?.as_str()?)
}

/// Bytes of two digits each; `None` when it is something else.
pub fn from_hex(text: &str) -> Option<Bytes> {
    let digit = |c: u8| char::from(c).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| Some((digit(pair[0])? * 16 + digit(*pair.get(1)?)?) as u8))
        .collect::<Option<Vec<u8>>>()
        .map(Bytes::from)
}

/// Two small digits per byte.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
