use std::sync::LazyLock;

use bytes::Bytes;
use milena_messages::ApiKey;
use milena_schema::{Annotated, Api, Decoded, MessageSpec, Note, Spec};
use milena_wire::VersionRange;

/// A message somewhere in bytes, not read yet.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its layout.
    pub message: &'static MessageSpec,
    /// Its version.
    pub version: i16,
    /// Where `bytes` begin in what they were found in: the offsets of errors count from there.
    pub base: usize,
    /// The message, and what may follow it.
    pub bytes: Bytes,
}

impl Part {
    /// Reads the message.
    ///
    /// # Errors
    /// The bytes are no such message.
    pub fn decode(&self) -> Result<Decoded, milena_wire::Error> {
        self.message.decode(self.bytes.clone(), self.version).map_err(|error| error.shift(self.base))
    }

    /// Writes the JSON of the message as text after what `out` holds, which is much faster than to read and print it. Gives
    /// the count of bytes after the message.
    ///
    /// # Errors
    /// As [`Part::decode`]; `out` is then as it was.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<usize, milena_wire::Error> {
        self.message.write_json(self.bytes.clone(), self.version, out).map_err(|error| error.shift(self.base))
    }

    /// Reads the message, with the bytes that each field came from, up to where reading failed. Like the errors,
    /// the ranges count from where `base` does.
    pub fn annotate(&self) -> Annotated {
        let Annotated { mut notes, outcome } = self.message.decode_annotated(self.bytes.clone(), self.version);
        notes.iter_mut().for_each(|note: &mut Note| {
            note.range = note.range.start + self.base..note.range.end + self.base;
        });
        Annotated { notes, outcome: outcome.map_err(|error| error.shift(self.base)) }
    }
}

/// Why there is no message to be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// The frame names an API key that no release has.
    #[error("no release has API key {0}")]
    UnknownApi(i16),
    /// The frame names a version that no release has.
    #[error("{api} has no version {version}; versions {released} were released")]
    UnknownVersion {
        /// The API.
        api: ApiKey,
        /// The version that the frame names.
        version: i16,
        /// Those that were released.
        released: VersionRange,
    },
    /// A raw SASL token, as it follows SaslHandshake version 0.
    #[error("a raw SASL token, which has no header")]
    SaslToken,
    /// Its request is not known, and the response alone does not say what it is.
    #[error("a response to a request that was not seen")]
    RequestNotSeen,
    /// Not all of it was seen.
    #[error("{missing} bytes of it were not seen")]
    Cut {
        /// Bytes that were not seen.
        missing: usize,
    },
    /// There is none.
    #[error("there is no such frame")]
    Missing,
    /// The bytes are not what the protocol says.
    #[error(transparent)]
    Malformed(#[from] milena_wire::Error),
}

/// The layouts of header and body, and the version of the header.
pub(crate) fn layouts(
    api: ApiKey,
    version: i16,
    request: bool,
) -> Result<(&'static MessageSpec, i16, &'static MessageSpec), Unreadable> {
    let found = Layouts::kafka().binary_search_by_key(&api.0, |layouts| layouts.api.key);
    let Layouts { api: known, request: request_specs, response: response_specs } = match found {
        Ok(index) => &Layouts::kafka()[index],
        Err(_) => return Err(Unreadable::UnknownApi(api.0)),
    };
    if !known.versions.contains(version) {
        return Err(Unreadable::UnknownVersion { api, version, released: known.versions });
    }
    let ([header, body], header_version) = match request {
        true => (request_specs, known.request_header_version(version)),
        false => (response_specs, known.response_header_version(version)),
    };
    Ok((header, header_version, body))
}

/// Header and body of request and response of an API.
struct Layouts {
    api: &'static Api,
    request: [&'static MessageSpec; 2],
    response: [&'static MessageSpec; 2],
}

impl Layouts {
    /// In the order of the keys. Found once: to look for two names in every frame takes longer than to read most frames.
    fn kafka() -> &'static [Self] {
        static LAYOUTS: LazyLock<Vec<Layouts>> = LazyLock::new(|| {
            let spec = Spec::kafka();
            let pair = |api: &Api, what: &str| {
                let header = spec.message(&format!("{what}Header")).ok()?;
                Some([header, spec.message(&format!("{}{what}", api.name)).ok()?])
            };
            let layouts = |api| Some(Layouts { api, request: pair(api, "Request")?, response: pair(api, "Response")? });
            spec.apis.iter().filter_map(layouts).collect()
        });
        &LAYOUTS
    }
}
