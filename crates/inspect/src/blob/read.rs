use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use milena_wire::{Error, Reader, Writer};
use serde_json::{Map, Value, json};

use super::kind::{Kind, Prefix};
use super::plausible::is_plausible;
use crate::part::Part;

/// A blob that was understood.
#[derive(Clone, Debug)]
pub struct Blob {
    /// What it was taken for.
    pub kind: Kind,
    /// The version that it states; the highest of those that fit where it states none.
    pub version: i16,
    /// The message; its `base` is what stands in front of it.
    pub part: Part,
    /// The message as JSON.
    pub json: Value,
    /// Bytes after the message. Kafka ignores them in blobs with a version in front.
    pub leftover: usize,
    /// Blobs inside of it that were understood, by the name of their field.
    pub inner: Vec<(&'static str, Blob)>,
    /// What is odd about it, or speaks for it, one sentence each.
    pub notes: Vec<String>,
}

impl Blob {
    /// An object with `kind`, `version`, `name`, `data` and, where there are such, `leftover` in base64, `notes`, and
    /// the blobs inside under the names of their fields in `inner`.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        map.insert("kind".to_owned(), json!(self.kind.name()));
        map.insert("version".to_owned(), json!(self.version));
        map.insert("name".to_owned(), json!(self.part.message.name));
        map.insert("data".to_owned(), self.json.clone());
        if self.leftover > 0 {
            let rest = self.part.bytes.len() - self.leftover;
            let rest = self.part.bytes.get(rest..).unwrap_or_default();
            map.insert("leftover".to_owned(), json!(STANDARD.encode(rest)));
        }
        if !self.inner.is_empty() {
            let inner: Map<String, Value> =
                self.inner.iter().map(|(name, blob)| ((*name).to_owned(), blob.to_json())).collect();
            map.insert("inner".to_owned(), Value::Object(inner));
        }
        if !self.notes.is_empty() {
            map.insert("notes".to_owned(), json!(self.notes));
        }
        Value::Object(map)
    }

    /// The bytes of a field that holds some.
    fn field(&self, name: &str) -> Option<Bytes> {
        STANDARD.decode(self.json.get(name)?.as_str()?).ok().map(Bytes::from)
    }
}

/// Reads a blob as what the caller says that it is. Blobs inside of it are read too, where they can be.
///
/// As in Kafka, a version above those that are known is read as the highest of them.
///
/// # Errors
/// The bytes are no such blob. Offsets count from its start.
pub fn read(kind: Kind, bytes: Bytes) -> Result<Blob, Error> {
    read_within(kind, bytes, true)
}

/// Where the message of a blob is.
pub(super) struct Located {
    /// The version that it states; the highest of those that fit where it states none.
    pub(super) version: i16,
    pub(super) part: Part,
    /// What is odd about the version.
    pub(super) notes: Vec<String>,
}

/// Reads the version of a blob, and no more: the part shows what was read up to a fault.
///
/// # Errors
/// It is too short for a version, or states one that cannot be.
pub fn part(kind: Kind, bytes: &Bytes) -> Result<Part, Error> {
    Ok(locate(kind, bytes)?.part)
}

pub(super) fn locate(kind: Kind, bytes: &Bytes) -> Result<Located, Error> {
    let message = kind.message()?;
    let mut reader = Reader::new(bytes.clone());
    let (stated, base) = match kind.prefix() {
        Prefix::Int16 => (Some(i64::from(reader.i16().map_err(|error| error.within("version"))?)), 2),
        Prefix::Inside => (Some(i64::from(reader.i32().map_err(|error| error.within("version"))?)), 0),
        Prefix::None => (None, 0),
    };
    let highest = message.versions.max();
    let mut notes = Vec::new();
    let (stated, known) = match stated {
        Some(version) if version < message.versions.min().into() => {
            let what = format!("version {version} cannot be, the lowest is {}", message.versions.min());
            return Err(Error::malformed(0, what).within("version").within(message.name.clone()));
        }
        Some(version) if version > highest.into() => {
            if kind.prefix() == Prefix::Inside {
                let what = format!("version {version} is not known, the highest is {highest}");
                return Err(Error::malformed(0, what).within("version").within(message.name.clone()));
            }
            notes.push(format!("version {version} is not known and was read as {highest}, as Kafka does"));
            (i16::try_from(version).unwrap_or(i16::MAX), highest)
        }
        Some(version) => (version as i16, version as i16),
        None => {
            let fits = |version: &i16| message.decode(bytes.clone(), *version).is_ok_and(|read| read.leftover == 0);
            let version = message.versions.iter().rev().find(fits).unwrap_or(message.versions.min());
            (version, version)
        }
    };
    let part = Part { message, version: known, base, bytes: bytes.slice(base..) };
    Ok(Located { version: stated, part, notes })
}

fn read_within(kind: Kind, bytes: Bytes, outermost: bool) -> Result<Blob, Error> {
    let Located { version, part, mut notes } = locate(kind, &bytes)?;
    let decoded = part.decode()?;
    let leftover = decoded.leftover;
    if leftover > 0 {
        let at = bytes.len() - leftover;
        let count = if leftover == 1 { "1 byte".to_owned() } else { format!("{leftover} bytes") };
        notes.push(format!("{count} left over, from byte {at}"));
    }
    let mut blob = Blob { kind, version, part, json: decoded.json, leftover, inner: Vec::new(), notes };
    if outermost {
        blob.inner = inner(&blob);
    }
    Ok(blob)
}

/// Blobs in blobs go no deeper than one level.
fn inner(blob: &Blob) -> Vec<(&'static str, Blob)> {
    let inner = match blob.kind {
        Kind::Subscription => blob.field("userData").and_then(guess_user_data).map(|user_data| ("userData", user_data)),
        Kind::ConnectSubscription => blob
            .field("allocation")
            .and_then(|bytes| read_within(Kind::ConnectAssignment, bytes, false).ok())
            .map(|allocation| ("allocation", allocation)),
        _ => None,
    };
    inner.into_iter().collect()
}

/// What stands in the user data of a consumer's subscription; that of assignors of others is not known.
fn guess_user_data(bytes: Bytes) -> Option<Blob> {
    [Kind::StreamsSubscription, Kind::StickyUserData, Kind::CooperativeStickyUserData]
        .into_iter()
        .filter_map(|kind| read_within(kind, bytes.clone(), true).ok())
        .find(|blob| blob.leftover == 0 && is_plausible(&blob.json))
}

/// Writes a blob, with its version in front where it has one there. `json` is the `data` of [`Blob::to_json`].
///
/// # Errors
/// A version that there is not, or a value that the version cannot carry.
pub fn encode(kind: Kind, version: i16, json: &Value) -> Result<Bytes, Error> {
    let mut writer = Writer::new();
    if kind.prefix() == Prefix::Int16 {
        writer.i16(version);
    }
    kind.message()?.encode_into(&mut writer, json, version)?;
    Ok(writer.into_bytes())
}
