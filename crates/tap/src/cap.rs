//! Versions and features that clients do not get to see: what ApiVersions names is cut short.

use std::collections::BTreeMap;
use std::ops::Range;
use std::str::FromStr;

use bytes::Bytes;
use milena_connection::{refuse_api_versions, tagged_fields_end};
use milena_messages::{ApiKey, ErrorCode, VersionRange};
use milena_wire::varint;

use crate::header::{i16_at, i32_at};
use crate::patch::Patches;

/// The highest version of an API, or the highest level of a feature of the cluster (KIP-584), that clients get to see. Text
/// is `produce=7` or `transaction.version=1`.
///
/// A feature that clients use by way of versions above a cap is lowered with them: with `produce=11` clients see no
/// `transaction.version` above 1.
///
/// ```
/// use milena_messages::ApiKey;
/// use milena_tap::Cap;
///
/// assert_eq!("produce=7".parse(), Ok(Cap::Api { api: ApiKey::PRODUCE, version: 7 }));
/// assert_eq!("group.version=0".parse(), Ok(Cap::Feature { name: "group.version".to_owned(), level: 0 }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cap {
    /// Of an API.
    Api {
        /// The API.
        api: ApiKey,
        /// The version; one below the lowest of the broker makes the API disappear.
        version: i16,
    },
    /// Of a feature.
    Feature {
        /// The name, as ApiVersions has it.
        name: String,
        /// The level; 0 makes the feature disappear.
        level: i16,
    },
}

/// Text that is no cap.
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
        let (name, number) = text
            .split_once('=')
            .ok_or_else(|| wrong("write API=VERSION or FEATURE=LEVEL, such as produce=7".to_owned()))?;
        let (name, number) = (name.trim(), number.trim());
        // Features have a dot in their names, and APIs have none.
        if name.contains('.') {
            let level = number.parse().ok().filter(|level| *level >= 0);
            let level = level.ok_or_else(|| wrong(format!("`{number}` is not a level; write a number from 0")))?;
            return Ok(Self::Feature { name: name.to_owned(), level });
        }
        let api: ApiKey = name.parse().map_err(|error| wrong(format!("{error}")))?;
        let version = number.parse().ok().filter(|version| *version >= -1);
        let version = version.ok_or_else(|| wrong(format!("`{number}` is not a version; write a number from -1")))?;
        let known = api.versions();
        if api.name().is_some() && version > known.max() {
            return Err(wrong(format!("{api} has versions {known}, so that {version} hides none")));
        }
        Ok(Self::Api { api, version })
    }
}

/// A feature at a level that clients use by this version of an API and those above it.
struct Needed {
    feature: &'static str,
    level: i16,
    api: ApiKey,
    version: i16,
}

const fn needs(feature: &'static str, level: i16, api: ApiKey, version: i16) -> Needed {
    Needed { feature, level, api, version }
}

const NEEDED: &[Needed] = &[
    // KIP-890: these add partitions to the transaction, and raise its epoch.
    needs("transaction.version", 2, ApiKey::PRODUCE, 12),
    needs("transaction.version", 2, ApiKey::TXN_OFFSET_COMMIT, 5),
    needs("transaction.version", 2, ApiKey::END_TXN, 5),
    // KIP-848.
    needs("group.version", 1, ApiKey::CONSUMER_GROUP_HEARTBEAT, 0),
    // KIP-932.
    needs("share.version", 1, ApiKey::SHARE_GROUP_HEARTBEAT, 0),
    needs("share.version", 1, ApiKey::SHARE_FETCH, 0),
    needs("share.version", 1, ApiKey::SHARE_ACKNOWLEDGE, 0),
    // KIP-1071.
    needs("streams.version", 1, ApiKey::STREAMS_GROUP_HEARTBEAT, 0),
];

/// All caps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caps {
    apis: BTreeMap<ApiKey, i16>,
    features: BTreeMap<String, i16>,
}

impl FromIterator<Cap> for Caps {
    fn from_iter<I: IntoIterator<Item = Cap>>(caps: I) -> Self {
        let mut all = Self::default();
        for cap in caps {
            match cap {
                Cap::Api { api, version } => drop(all.apis.insert(api, version)),
                Cap::Feature { name, level } => drop(all.features.insert(name, level)),
            }
        }
        for Needed { feature, level, api, version } in NEEDED {
            if all.apis.get(api).is_some_and(|cap| cap < version) {
                let known = all.features.entry((*feature).to_owned()).or_insert(level - 1);
                *known = (*known).min(level - 1);
            }
        }
        all
    }
}

impl Caps {
    /// Whether a request is above what clients got to see.
    pub(crate) fn refuse(&self, api: ApiKey, version: i16) -> bool {
        self.apis.get(&api).is_some_and(|cap| version > *cap)
    }

    /// How a broker responds to ApiVersions at a version that it does not have (KIP-511), without its size.
    pub(crate) fn refusal(&self, correlation_id: i32) -> Option<Vec<Bytes>> {
        let max_version = *self.apis.get(&ApiKey::API_VERSIONS)?;
        let known = if max_version < 0 { VersionRange::NONE } else { VersionRange::new(0, max_version) };
        let frame = refuse_api_versions(correlation_id, known).ok()?;
        Some(vec![frame.slice(4..)])
    }

    /// The response to ApiVersions with lower versions and levels. `None` when nothing changes, or it cannot be read.
    pub(crate) fn rewrite(&self, version: i16, frame: &Bytes) -> Option<Vec<Bytes>> {
        if self.apis.is_empty() && self.features.is_empty() {
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
            let end = if flexible { tagged_fields_end(frame, at + 6)? } else { at + 6 };
            let entry = frame.get(at..end)?;
            let (api, min, max) = (ApiKey(i16_at(entry, 0)?), i16_at(entry, 2)?, i16_at(entry, 4)?);
            let capped = self.apis.get(&api).map_or(max, |cap| max.min(*cap));
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
        if flexible {
            // The throttle time stands before the features.
            self.features(frame, at + 4, &mut patches)?;
        }
        Some(patches.apply(frame))
    }

    /// Lowers the features in the tagged fields that begin at `at`.
    fn features(&self, frame: &Bytes, at: usize, patches: &mut Patches) -> Option<()> {
        let mut at = at;
        for _ in 0..uvarint(frame, &mut at)? {
            let tag = uvarint(frame, &mut at)?;
            let start = at;
            let size = uvarint(frame, &mut at)? as usize;
            let value = at..at.checked_add(size).filter(|end| *end <= frame.len())?;
            at = value.end;
            // Supported features have tag 0, those in force tag 2.
            if tag == 0 || tag == 2 {
                let lowered = self.lowered(&frame[value.clone()], tag == 0)?;
                let mut bytes = Vec::new();
                varint::write_u32(&mut bytes, u32::try_from(lowered.len()).ok()?);
                bytes.extend(lowered);
                patches.put(start..value.end, bytes.into());
            }
        }
        Some(())
    }

    /// A list of features: name, then lowest and highest version where these are `supported`, or highest and lowest level
    /// where these are in force.
    fn lowered(&self, list: &[u8], supported: bool) -> Option<Vec<u8>> {
        let mut at = 0;
        let count = uvarint(list, &mut at)?.checked_sub(1)?;
        let (mut kept, mut entries) = (0u32, Vec::new());
        for _ in 0..count {
            let start = at;
            let length = uvarint(list, &mut at)?.checked_sub(1)? as usize;
            let name: Range<usize> = at..at.checked_add(length)?;
            let numbers = name.end;
            let end = tagged_fields_end(list, numbers + 4)?;
            let (first, second) = (i16_at(list, numbers)?, i16_at(list, numbers + 2)?);
            let (low, high) = if supported { (first, second) } else { (second, first) };
            let cap = self.features.get(std::str::from_utf8(list.get(name)?).ok()?).copied().unwrap_or(i16::MAX);
            let (low, high) = if supported { (low, high.min(cap)) } else { (low.min(cap), high.min(cap)) };
            if high >= low && (high > 0 || cap == i16::MAX) {
                kept += 1;
                entries.extend(&list[start..numbers]);
                let (first, second) = if supported { (low, high) } else { (high, low) };
                entries.extend(first.to_be_bytes());
                entries.extend(second.to_be_bytes());
                entries.extend(&list[numbers + 4..end]);
            }
            at = end;
        }
        let mut lowered = Vec::new();
        varint::write_u32(&mut lowered, kept + 1);
        lowered.extend(entries);
        lowered.extend(&list[at..]);
        Some(lowered)
    }
}

fn uvarint(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let (value, size) = varint::read_u32(bytes.get(*at..)?)?;
    *at += size;
    Some(value)
}

#[cfg(test)]
mod tests {
    use milena_messages::api_versions::response::ApiVersion;
    use milena_messages::{ApiVersionsResponse, Message};

    use super::*;

    fn response(version: i16, apis: &[(i16, i16, i16)]) -> Bytes {
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
    fn versions_above_a_cap_are_cut_and_apis_without_any_below_it_disappear() {
        let caps: Caps =
            ["produce=7", "Fetch=3", "9999=1"].map(|text| text.parse::<Cap>().unwrap()).into_iter().collect();
        for version in VersionRange::new(0, 5).iter() {
            let before = response(version, &[(0, 3, 13), (1, 4, 18), (3, 0, 13), (9999, 0, 5)]);
            let after = caps.rewrite(version, &before).unwrap().concat();
            assert_eq!(after, response(version, &[(0, 3, 7), (3, 0, 13), (9999, 0, 1)]), "version {version}");
            for size in 0..before.len() - 8 {
                let _ = caps.rewrite(version, &before.slice(..size));
            }
        }
        assert!(caps.refuse(ApiKey::PRODUCE, 8) && !caps.refuse(ApiKey::PRODUCE, 7));
        assert!(!caps.refuse(ApiKey::METADATA, 13));
    }

    type Levels = Vec<(String, i16)>;

    /// What Kafka 4.4 says of its features, after caps: those supported, with their highest versions, and those in force.
    fn features(version: i16, caps: &[&str]) -> (Levels, Levels) {
        use milena_messages::api_versions::response::{FinalizedFeatureKey, SupportedFeatureKey};
        let supported = [("transaction.version", 0, 2), ("metadata.version", 7, 33), ("group.version", 0, 1)];
        let supported = supported.map(|(name, min_version, max_version)| SupportedFeatureKey {
            name: name.into(),
            min_version,
            max_version,
            ..Default::default()
        });
        let finalized = [("transaction.version", 2), ("metadata.version", 33), ("group.version", 1)];
        let finalized = finalized.map(|(name, level)| FinalizedFeatureKey {
            name: name.into(),
            max_version_level: level,
            min_version_level: level,
            ..Default::default()
        });
        let response = ApiVersionsResponse {
            supported_features: supported.to_vec(),
            finalized_features_epoch: 7,
            finalized_features: finalized.to_vec(),
            zk_migration_ready: true,
            ..Default::default()
        };
        let frame: Bytes = [&b"\0\0\0\x07"[..], &response.to_bytes(version).unwrap()].concat().into();
        let caps: Caps = caps.iter().map(|text| text.parse::<Cap>().unwrap()).collect();
        for size in 4..frame.len() {
            let _ = caps.rewrite(version, &frame.slice(..size));
        }
        let after = Bytes::from(caps.rewrite(version, &frame).unwrap().concat());
        let after = ApiVersionsResponse::from_bytes(after.slice(4..), version).unwrap();
        assert_eq!((after.finalized_features_epoch, after.zk_migration_ready), (7, true));
        for feature in &after.finalized_features {
            assert_eq!(feature.max_version_level, feature.min_version_level);
        }
        let supported = after.supported_features.iter().map(|feature| (feature.name.to_string(), feature.max_version));
        let finalized =
            after.finalized_features.iter().map(|feature| (feature.name.to_string(), feature.max_version_level));
        (supported.collect(), finalized.collect())
    }

    #[test]
    fn a_feature_is_lowered_with_the_versions_that_clients_use_it_by() {
        let named =
            |list: &[(&str, i16)]| list.iter().map(|(name, level)| ((*name).to_owned(), *level)).collect::<Vec<_>>();
        let all = [("transaction.version", 2), ("metadata.version", 33), ("group.version", 1)];
        for version in 3..=5 {
            // KIP-890 begins with Produce 12, EndTxn 5 and TxnOffsetCommit 5.
            for harmless in ["produce=12", "endtxn=5", "fetch=3", "addpartitionstotxn=3", "consumergroupheartbeat=0"] {
                assert_eq!(features(version, &[harmless]), (named(&all), named(&all)), "{harmless}");
            }
            let lower = named(&[("transaction.version", 1), all[1], all[2]]);
            for cap in ["produce=11", "endtxn=4", "txnoffsetcommit=4", "transaction.version=1"] {
                assert_eq!(features(version, &[cap]), (lower.clone(), lower.clone()), "{cap}");
            }
            let gone = named(&all[..2]);
            for cap in ["consumergroupheartbeat=-1", "group.version=0"] {
                assert_eq!(features(version, &[cap]), (gone.clone(), gone.clone()), "{cap}");
            }
            let both = features(version, &["produce=3", "transaction.version=0"]);
            assert_eq!(both, (named(&all[1..]), named(&all[1..])));
        }
    }

    #[test]
    fn a_cap_on_api_versions_itself_gets_a_response_in_the_oldest_form() {
        let caps: Caps = ["apiversions=2".parse::<Cap>().unwrap()].into_iter().collect();
        // Correlation id 7, error 35, one entry: key 18, versions 0 to 2.
        assert_eq!(caps.refusal(7).unwrap().concat(), b"\0\0\0\x07\0\x23\0\0\0\x01\0\x12\0\0\0\x02");
        assert_eq!(Caps::default().refusal(7), None);
    }

    #[test]
    fn text_that_is_no_cap_is_refused_with_what_to_write() {
        for (text, why) in [
            ("produce", "API=VERSION"),
            ("x=1", "no API is named `x`"),
            ("produce=high", "not a version"),
            ("produce=-2", "not a version"),
            ("produce=99", "Produce has versions 0-13"),
            ("group.version=-1", "not a level"),
            ("group.version=x", "not a level"),
        ] {
            assert!(text.parse::<Cap>().unwrap_err().to_string().contains(why), "{text}");
        }
    }
}
