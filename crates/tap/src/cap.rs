//! Versions that clients are not to use: what ApiVersions names is cut short.

use std::collections::BTreeMap;
use std::str::FromStr;

use bytes::Bytes;
use milena_connection::refuse_api_versions;
use milena_messages::{ApiKey, ErrorCode, VersionRange};
use milena_wire::varint;

use crate::header::{i16_at, i32_at, tags_end};
use crate::patch::Patches;

/// The highest version of an API that clients are let know of. Text is `produce=7`.
///
/// ```
/// use milena_messages::ApiKey;
/// use milena_tap::Cap;
///
/// assert_eq!("produce=7".parse(), Ok(Cap { api: ApiKey::PRODUCE, version: 7 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    /// The API.
    pub api: ApiKey,
    /// The version; one below the lowest of the broker makes the API disappear.
    pub version: i16,
}

/// A text that is no cap.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cap `{text}`: {why}")]
pub struct CapError {
    text: String,
    why: String,
}

impl FromStr for Cap {
    type Err = CapError;

    fn from_str(text: &str) -> Result<Self, CapError> {
        let wrong = |why: String| CapError { text: text.to_owned(), why };
        let (api, version) =
            text.split_once('=').ok_or_else(|| wrong("write API=VERSION, as in produce=7".to_owned()))?;
        let api = api.trim().parse().map_err(|error| wrong(format!("{error}")))?;
        match version.trim().parse() {
            Ok(version) => Ok(Self { api, version }),
            Err(_) => Err(wrong(format!("`{version}` is no version"))),
        }
    }
}

/// All caps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caps(BTreeMap<ApiKey, i16>);

impl FromIterator<Cap> for Caps {
    fn from_iter<I: IntoIterator<Item = Cap>>(caps: I) -> Self {
        Self(caps.into_iter().map(|cap| (cap.api, cap.version)).collect())
    }
}

impl Caps {
    /// Whether a request is above what clients were let know.
    pub(crate) fn refuse(&self, api: ApiKey, version: i16) -> bool {
        self.0.get(&api).is_some_and(|cap| version > *cap)
    }

    /// What a broker answers to ApiVersions at a version that it does not have (KIP-511), without its size.
    pub(crate) fn refusal(&self, correlation_id: i32) -> Option<Vec<Bytes>> {
        let max_version = *self.0.get(&ApiKey::API_VERSIONS)?;
        let known = if max_version < 0 { VersionRange::NONE } else { VersionRange::new(0, max_version) };
        let frame = refuse_api_versions(correlation_id, known).ok()?;
        Some(vec![frame.slice(4..)])
    }

    /// The answer to ApiVersions with lower versions. `None` when nothing changes, or it cannot be read.
    pub(crate) fn rewrite(&self, version: i16, frame: &Bytes) -> Option<Vec<Bytes>> {
        if self.0.is_empty() {
            return None;
        }
        // Header version 0 always; a refusal comes in the form of version 0.
        let refused = i16_at(frame, 4)? == ErrorCode::UNSUPPORTED_VERSION.0;
        let flexible = !refused && ApiKey::API_VERSIONS.flexible_versions().contains(version);
        let (count, mut at) = match flexible {
            true => {
                let (count, size) = varint::read_u32(frame.get(6..)?)?;
                (count.checked_sub(1)?, 6 + size)
            }
            false => (u32::try_from(i32_at(frame, 6)?).ok()?, 10),
        };
        let start = at;
        let (mut kept, mut entries) = (0u32, Vec::new());
        for _ in 0..count {
            let end = if flexible { tags_end(frame, at + 6)? } else { at + 6 };
            let entry = frame.get(at..end)?;
            let (api, min, max) = (ApiKey(i16_at(entry, 0)?), i16_at(entry, 2)?, i16_at(entry, 4)?);
            let capped = self.0.get(&api).map_or(max, |cap| max.min(*cap));
            if capped >= min {
                kept += 1;
                entries.extend(&entry[..4]);
                entries.extend(capped.to_be_bytes());
                entries.extend(&entry[6..]);
            }
            at = end;
        }
        let mut patches = Patches::default();
        let mut counted = Vec::new();
        match flexible {
            true => varint::write_u32(&mut counted, kept + 1),
            false => counted.extend(kept.to_be_bytes()),
        }
        patches.put(6..start, counted.into());
        patches.put(start..at, entries.into());
        Some(patches.apply(frame))
    }
}

#[cfg(test)]
mod tests {
    use milena_messages::{Message, VersionRange};

    use milena_messages::ApiVersionsResponse;
    use milena_messages::api_versions::response::ApiVersion;

    use super::*;

    fn answer(version: i16, apis: &[(i16, i16, i16)]) -> Bytes {
        let entry = |&(key, min_version, max_version): &(i16, i16, i16)| ApiVersion {
            api_key: ApiKey(key),
            min_version,
            max_version,
            ..Default::default()
        };
        let response = ApiVersionsResponse { api_keys: apis.iter().map(entry).collect(), ..Default::default() };
        let mut frame = vec![0, 0, 0, 7];
        frame.extend(response.to_bytes(version).unwrap());
        frame.extend(b"trailing");
        frame.into()
    }

    #[test]
    fn what_is_above_a_cap_is_cut_and_what_is_below_it_disappears() {
        let caps: Caps =
            ["produce=7", "Fetch=3", "9999=1"].map(|text| text.parse::<Cap>().unwrap()).into_iter().collect();
        for version in VersionRange::new(0, 5).iter() {
            let before = answer(version, &[(0, 3, 13), (1, 4, 18), (3, 0, 13), (9999, 0, 5)]);
            let after = caps.rewrite(version, &before).unwrap().concat();
            assert_eq!(after, answer(version, &[(0, 3, 7), (3, 0, 13), (9999, 0, 1)]), "version {version}");
            for size in 0..before.len() - 8 {
                let _ = caps.rewrite(version, &before.slice(..size));
            }
        }
        assert!(caps.refuse(ApiKey::PRODUCE, 8) && !caps.refuse(ApiKey::PRODUCE, 7));
        assert!(!caps.refuse(ApiKey::METADATA, 13));
    }

    #[test]
    fn a_cap_on_api_versions_itself_is_answered_in_the_oldest_form() {
        let caps: Caps = ["apiversions=2".parse::<Cap>().unwrap()].into_iter().collect();
        // Correlation id 7, error 35, one entry: key 18, versions 0 to 2.
        assert_eq!(caps.refusal(7).unwrap().concat(), b"\0\0\0\x07\0\x23\0\0\0\x01\0\x12\0\0\0\x02");
        assert_eq!(Caps::default().refusal(7), None);
    }

    #[test]
    fn what_is_no_cap_is_refused_with_what_to_write() {
        for (text, why) in [("produce", "API=VERSION"), ("x=1", "no API is named `x`"), ("produce=high", "no version")]
        {
            assert!(text.parse::<Cap>().unwrap_err().to_string().contains(why), "{text}");
        }
    }
}
