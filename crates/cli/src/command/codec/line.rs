use std::borrow::Cow;
use std::collections::BTreeMap;

use milena_wire::{Bytes, Error, Result};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::batches::wire_error_json;
use milena_inspect::text::from_hex;

/// One question. Its members are looked at when an operation asks for them.
pub(super) struct Line<'a>(BTreeMap<Cow<'a, str>, &'a RawValue>);

impl<'a> Line<'a> {
    pub(super) fn parse(text: &'a [u8]) -> Result<Self> {
        match serde_json::from_slice(text) {
            Ok(members) => Ok(Self(members)),
            Err(error) => Err(Error::invalid(format!("the line is no JSON object: {error}"))),
        }
    }

    /// The id in its own words.
    pub(super) fn id(&self) -> Option<&'a str> {
        self.0.get("id").map(|id| id.get())
    }

    fn raw(&self, name: &str) -> Result<&'a str> {
        self.0.get(name).map(|raw| raw.get()).ok_or_else(|| Error::invalid(format!("`{name}` is missing")))
    }

    /// A string.
    pub(super) fn text(&self, name: &str) -> Result<Cow<'a, str>> {
        let raw = self.raw(name)?;
        // What has no escapes is not copied.
        if let Ok(text) = serde_json::from_str::<&str>(raw) {
            return Ok(Cow::Borrowed(text));
        }
        serde_json::from_str(raw).map_err(|_| Error::invalid(format!("`{name}` is not a string")))
    }

    /// An int16. Numbers that are none are the same to the caller: there is no such version, API or code.
    pub(super) fn int16(&self, name: &str) -> Result<std::result::Result<i16, i64>> {
        match serde_json::from_str::<i64>(self.raw(name)?) {
            Ok(number) => Ok(i16::try_from(number).map_err(|_| number)),
            Err(_) => Err(Error::invalid(format!("`{name}` is not an integer"))),
        }
    }

    /// Bytes in hex.
    pub(super) fn bytes(&self, name: &str) -> Result<Bytes> {
        match from_hex(&self.text(name)?) {
            Ok(bytes) => Ok(bytes.into()),
            Err(error) => Err(Error::invalid(format!("`{name}`: {error}"))),
        }
    }

    /// Any JSON; `None` when it is missing or null.
    pub(super) fn optional(&self, name: &str) -> Result<Option<Value>> {
        match self.0.contains_key(name) {
            true => Ok(Some(self.json(name)?).filter(|json| !json.is_null())),
            false => Ok(None),
        }
    }

    /// Any JSON.
    pub(super) fn json(&self, name: &str) -> Result<Value> {
        serde_json::from_str(self.raw(name)?).map_err(|error| Error::invalid(format!("`{name}`: {error}")))
    }
}

/// The beginning of a response.
pub(super) fn begin(answer: &mut Vec<u8>, id: Option<&str>, ok: bool) {
    answer.extend_from_slice(b"{\"id\":");
    answer.extend_from_slice(id.unwrap_or("null").as_bytes());
    answer.extend_from_slice(if ok { b",\"ok\":true" } else { b",\"ok\":false" });
}

/// A whole response that says what went wrong.
pub(super) fn fail(answer: &mut Vec<u8>, id: Option<&str>, error: &Error) {
    begin(answer, id, false);
    answer.extend_from_slice(b",\"error\":");
    answer.extend_from_slice(wire_error_json(error).to_string().as_bytes());
    answer.extend_from_slice(b"}\n");
}
