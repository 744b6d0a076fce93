//! The fields of a JSON body, each taken once.

use serde_json::{Map, Value};

use super::error::Refused;

/// What is left of a JSON object.
#[derive(Debug)]
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// Reads a body; an empty one has no fields.
    ///
    /// # Errors
    /// It is not a JSON object.
    pub(super) fn read(body: &[u8]) -> Result<Self, Refused> {
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self(Map::new()));
        }
        let read = serde_json::from_slice(body);
        read.map(Self).map_err(|error| Refused::bad(format!("the body is not a JSON object: {error}")))
    }

    /// A field that may be missing or null.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    /// Text that has to be there.
    pub(super) fn text(&mut self, name: &str) -> Result<String, Refused> {
        match self.take(name) {
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(Refused::bad(format!("`{name}` is not a string"))),
            None => Err(missing(name)),
        }
    }

    /// A number that has to be there.
    pub(super) fn number<N: TryFrom<i64>>(&mut self, name: &str) -> Result<N, Refused> {
        self.number_or(name)?.ok_or_else(|| missing(name))
    }

    /// A number that may be missing.
    pub(super) fn number_or<N: TryFrom<i64>>(&mut self, name: &str) -> Result<Option<N>, Refused> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let number = value.as_i64().and_then(|number| N::try_from(number).ok());
        number.map(Some).ok_or_else(|| Refused::bad(format!("`{name}` cannot be {value}")))
    }

    /// Refuses what nobody took.
    pub(super) fn end(self) -> Result<(), Refused> {
        match self.0.keys().next() {
            Some(name) => Err(Refused::bad(format!("there is no field `{name}` here"))),
            None => Ok(()),
        }
    }
}

fn missing(name: &str) -> Refused {
    Refused::bad(format!("`{name}` is missing"))
}
