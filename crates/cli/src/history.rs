//! Which release of Apache Kafka has which version, in runs of versions that have everything in common.

use milena_schema::{Api, MessageKind, MessageSpec, Spec};
use milena_wire::VersionRange;
use serde_json::{Value, json};

/// Adjacent versions with the same history.
#[derive(Clone, PartialEq)]
pub(crate) struct Era {
    pub(crate) versions: VersionRange,
    /// The first release that has them.
    pub(crate) first: String,
    /// The last release that has them; `None` while the newest does.
    pub(crate) last: Option<String>,
    /// The versions of the headers of request and response, for messages of an API.
    pub(crate) headers: Option<(i16, i16)>,
    pub(crate) flexible: bool,
    pub(crate) deprecated: bool,
    /// The releases that offered them only when unstable versions were enabled.
    pub(crate) unstable: Option<String>,
}

impl Era {
    fn of_api(spec: &Spec, api: &Api, version: i16) -> Self {
        Self {
            versions: VersionRange::new(version, version),
            first: api.added_in(version).unwrap_or_default().to_owned(),
            last: last(spec, api.dropped_in(version)),
            headers: Some((api.request_header_version(version), api.response_header_version(version))),
            flexible: api.flexible.contains(version),
            deprecated: api.deprecated.contains(version),
            unstable: api.unstable_in(version).map(ToOwned::to_owned),
        }
    }

    fn of_message(spec: &Spec, message: &MessageSpec, version: i16) -> Self {
        Self {
            versions: VersionRange::new(version, version),
            first: message.added_in(version).unwrap_or_default().to_owned(),
            last: last(spec, message.dropped_in(version)),
            headers: None,
            flexible: message.is_flexible(version),
            deprecated: false,
            unstable: None,
        }
    }

    /// What is special about them, as text.
    pub(crate) fn notes(&self) -> String {
        let mut notes = Vec::new();
        if self.flexible {
            notes.push("flexible".to_owned());
        }
        if self.deprecated {
            notes.push("deprecated from 3.7".to_owned());
        }
        if let Some(unstable) = &self.unstable {
            notes.push(format!("unstable in {unstable}"));
        }
        notes.join(", ")
    }

    /// An object with `versions`, `firstRelease`, `lastRelease`, `flexible`, `deprecated` and `unstable`; for messages of
    /// an API also `requestHeader` and `responseHeader`.
    pub(crate) fn to_json(&self) -> Value {
        let mut json = json!({
            "versions": self.versions.to_string(),
            "firstRelease": self.first,
            "lastRelease": self.last,
            "flexible": self.flexible,
            "deprecated": self.deprecated,
            "unstable": self.unstable,
        });
        if let Some((request, response)) = self.headers {
            json["requestHeader"] = request.into();
            json["responseHeader"] = response.into();
        }
        json
    }
}

fn last(spec: &Spec, dropped: Option<&str>) -> Option<String> {
    Some(spec.release_before(dropped?)?.name.clone())
}

/// The API that a message is the request or response of.
pub(crate) fn api_of<'a>(spec: &'a Spec, message: &MessageSpec) -> Option<&'a Api> {
    match message.kind {
        MessageKind::Request | MessageKind::Response => spec.api(message.key?),
        _ => None,
    }
}

/// All versions of a message, oldest first.
pub(crate) fn eras(spec: &Spec, message: &MessageSpec) -> Vec<Era> {
    let api = api_of(spec, message);
    let mut eras: Vec<Era> = Vec::new();
    for version in message.versions.iter() {
        let next = match api {
            Some(api) => Era::of_api(spec, api, version),
            None => Era::of_message(spec, message, version),
        };
        match eras.last_mut() {
            Some(era) if (Era { versions: next.versions, ..era.clone() }) == next => {
                era.versions = VersionRange::new(era.versions.min(), version);
            }
            _ => eras.push(next),
        }
    }
    eras
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_of_fetch_lie_where_kafka_released_them() {
        let spec = Spec::kafka();
        let eras = eras(spec, spec.message("FetchRequest").unwrap());
        let era = |version: i16| eras.iter().find(|era| era.versions.contains(version)).unwrap();
        assert_eq!(
            (era(0).first.as_str(), era(0).last.as_deref(), era(0).headers),
            ("0.8.0", Some("3.9"), Some((1, 0)))
        );
        assert_eq!((era(12).first.as_str(), era(12).last.as_deref(), era(12).headers), ("2.7", None, Some((2, 1))));
        assert_eq!(era(4).versions, VersionRange::new(4, 5));
    }
}
