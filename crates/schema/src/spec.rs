use std::collections::HashMap;
use std::sync::OnceLock;

use crate::model::{Api, ErrorSpec, MessageSpec, Release};
use crate::parser::{Parser, SpecError};

/// The whole protocol: every API, message, error code and release.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// In the order of their keys.
    pub apis: Vec<Api>,
    /// In the order of the spec files.
    pub messages: Vec<MessageSpec>,
    /// In the order of their codes.
    pub errors: Vec<ErrorSpec>,
    /// Oldest first.
    pub releases: Vec<Release>,
    pub(crate) by_name: HashMap<String, usize>,
}

/// The text of `spec/`: path below `spec/`, content.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/spec_files.rs"));

impl Spec {
    /// Kafka's protocol, from the text that this crate embeds. Parsed once, at the first call.
    ///
    /// # Panics
    /// Never in a released crate: the embedded text is parsed by the tests. [`Spec::embedded`] gives the error instead.
    pub fn kafka() -> &'static Self {
        static SPEC: OnceLock<Spec> = OnceLock::new();
        SPEC.get_or_init(|| match Self::embedded() {
            Ok(spec) => spec,
            Err(error) => panic!("{error}"),
        })
    }

    /// Parses the embedded text again.
    ///
    /// # Errors
    /// The first mistake in the text.
    pub fn embedded() -> Result<Self, SpecError> {
        let mut parser = Parser::new();
        for (file, text) in FILES {
            parser.file(file, text)?;
        }
        parser.finish()
    }

    /// The message of that name.
    ///
    /// # Errors
    /// There is none; the error lists names that are near.
    pub fn message(&self, name: &str) -> Result<&MessageSpec, UnknownName> {
        match self.by_name.get(name) {
            Some(index) => Ok(&self.messages[*index]),
            None => Err(UnknownName::new("message", name, self.messages.iter().map(|m| m.name.as_str()))),
        }
    }

    /// The API of that key.
    pub fn api(&self, key: i16) -> Option<&Api> {
        self.apis.binary_search_by_key(&key, |api| api.key).ok().map(|index| &self.apis[index])
    }

    /// The request of the API of that key.
    pub fn request(&self, key: i16) -> Option<&MessageSpec> {
        self.message(&format!("{}Request", self.api(key)?.name)).ok()
    }

    /// The response of the API of that key.
    pub fn response(&self, key: i16) -> Option<&MessageSpec> {
        self.message(&format!("{}Response", self.api(key)?.name)).ok()
    }

    /// The API of that name or number; case, dashes and underscores do not matter.
    ///
    /// # Errors
    /// There is none; the error lists names that are near.
    pub fn api_named(&self, name: &str) -> Result<&Api, UnknownName> {
        let found = match name.parse::<i16>() {
            Ok(key) => self.api(key),
            Err(_) => self.apis.iter().find(|api| fold(&api.name) == fold(name)),
        };
        found.ok_or_else(|| UnknownName::new("API", name, self.apis.iter().map(|api| api.name.as_str())))
    }

    /// The error code of that number.
    pub fn error(&self, code: i16) -> Option<&ErrorSpec> {
        self.errors.binary_search_by_key(&code, |error| error.code).ok().map(|index| &self.errors[index])
    }

    /// The error code of that number or name, also one of an earlier release; case, dashes and underscores do not matter.
    ///
    /// # Errors
    /// There is none; the error lists names that are near.
    pub fn error_named(&self, name: &str) -> Result<&ErrorSpec, UnknownName> {
        let is = |other: &str| fold(other) == fold(name);
        let found = match name.parse::<i16>() {
            Ok(code) => self.error(code),
            Err(_) => self.errors.iter().find(|error| is(&error.name) || error.was.as_deref().is_some_and(is)),
        };
        found.ok_or_else(|| UnknownName::new("error code", name, self.errors.iter().map(|error| error.name.as_str())))
    }

    /// The release before one; `None` for the first, and for a name that is none.
    pub fn release_before(&self, name: &str) -> Option<&Release> {
        let index = self.releases.iter().position(|release| release.name == name)?;
        self.releases.get(index.checked_sub(1)?)
    }
}

/// A name that the protocol does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {what} `{name}`{}", self.hint())]
pub struct UnknownName {
    what: &'static str,
    name: String,
    near: Vec<String>,
}

impl UnknownName {
    pub(crate) fn new<'a>(what: &'static str, name: &str, all: impl Iterator<Item = &'a str>) -> Self {
        let wanted = fold(name);
        let mut near: Vec<(usize, &str)> = all
            .map(|candidate| {
                let folded = fold(candidate);
                let inside = !wanted.is_empty() && folded.contains(&wanted);
                (if inside { folded.len() - wanted.len() } else { 2 * distance(&wanted, &folded) }, candidate)
            })
            .filter(|(distance, candidate)| *distance <= 2 + candidate.len() / 2)
            .collect();
        near.sort();
        near.truncate(5);
        Self { what, name: name.to_owned(), near: near.into_iter().map(|(_, name)| name.to_owned()).collect() }
    }

    /// Names that the protocol has and that look alike, nearest first.
    pub fn near(&self) -> &[String] {
        &self.near
    }

    fn hint(&self) -> String {
        if self.near.is_empty() { String::new() } else { format!("; near names: {}", self.near.join(", ")) }
    }
}

/// A name without case and separators.
fn fold(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Edits between two names; a name far too long to be meant is just far.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 100 {
        return a.len();
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = if x == *y { corner } else { 1 + corner.min(row[j]).min(row[j + 1]) };
            corner = row[j + 1];
            row[j + 1] = cost;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_those_of_kafka() {
        let spec = Spec::embedded().unwrap();
        let pairs = |versions: milena_wire::VersionRange| versions.iter().count();
        assert_eq!(spec.apis.len(), 95);
        assert_eq!(spec.apis.iter().map(|api| pairs(api.versions)).sum::<usize>(), 368);
        assert_eq!(spec.messages.len(), 292);
        assert_eq!(spec.messages.iter().map(|message| pairs(message.versions)).sum::<usize>(), 879);
        assert_eq!(spec.errors.len(), 138);
    }

    #[test]
    fn a_wrong_name_brings_near_ones() {
        let spec = Spec::kafka();
        assert_eq!(spec.message("FetchReqest").unwrap_err().near()[0], "FetchRequest");
        assert_eq!(spec.message("offsetcommitvalue").unwrap_err().near()[0], "OffsetCommitValue");
        assert_eq!(spec.api_named("list-offsets").unwrap().key, 2);
        assert_eq!(spec.api_named("18").unwrap().name, "ApiVersions");
        let text = spec.api_named("Meta").unwrap_err().to_string();
        assert!(text.starts_with("no API `Meta`; near names: Metadata"), "{text}");
    }

    #[test]
    fn an_error_code_has_a_number_a_name_and_may_have_had_another() {
        let spec = Spec::kafka();
        for name in ["6", "NOT_LEADER_OR_FOLLOWER", "not-leader-or-follower", "NOT_LEADER_FOR_PARTITION"] {
            assert_eq!(spec.error_named(name).unwrap().code, 6, "{name}");
        }
        let unknown = spec.error_named("OFFSET_OUT_OF_RANG").unwrap_err();
        assert_eq!(unknown.near()[0], "OFFSET_OUT_OF_RANGE");
        assert!(spec.error_named("32000").is_err());
        assert_eq!(spec.release_before("4.0").unwrap().name, "3.9");
        assert_eq!((spec.release_before("0.8.0"), spec.release_before("5")), (None, None));
    }

    #[test]
    fn header_versions_follow_the_rule_and_its_two_exceptions() {
        let spec = Spec::kafka();
        let headers = |key, version| {
            let api = spec.api(key).unwrap();
            (api.request_header_version(version), api.response_header_version(version))
        };
        assert_eq!(headers(1, 11), (1, 0));
        assert_eq!(headers(1, 12), (2, 1));
        assert_eq!(headers(7, 0), (0, 0));
        assert_eq!(headers(7, 3), (2, 1));
        assert_eq!(headers(18, 2), (1, 0));
        assert_eq!(headers(18, 4), (2, 0));
    }
}
