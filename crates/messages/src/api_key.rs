use std::fmt;
use std::str::FromStr;

use milena_wire::{Fixed, VersionRange};

use crate::generated::api_table::APIS;

/// The number of an API. Any number can stand here, known or not.
///
/// Text is Kafka's name, or the number when no release has it. Parsing takes both; case does not matter.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiKey(pub i16);

pub(crate) struct ApiInfo {
    pub(crate) name: &'static str,
    pub(crate) versions: VersionRange,
    pub(crate) flexible: VersionRange,
    pub(crate) newest_kafka: VersionRange,
    pub(crate) unstable: VersionRange,
    pub(crate) request_header: Option<(VersionRange, i16)>,
    pub(crate) response_header: Option<(VersionRange, i16)>,
}

impl Fixed for ApiKey {
    const SIZES: &'static [usize] = i16::SIZES;
    const SIZE: usize = i16::SIZE;

    #[inline(always)]
    fn take(bytes: &[u8]) -> Self {
        Self(i16::take(bytes))
    }

    #[inline(always)]
    fn put(&self, bytes: &mut [u8]) {
        self.0.put(bytes);
    }
}

impl ApiKey {
    fn info(self) -> Option<&'static ApiInfo> {
        APIS.get(usize::try_from(self.0).ok()?)
    }

    /// Every API that a release of Kafka ever had, in the order of the keys.
    pub fn all() -> impl ExactSizeIterator<Item = Self> + DoubleEndedIterator + Clone {
        (0..APIS.len()).map(|key| Self(key as i16))
    }

    /// Kafka's name, such as `ListOffsets`; `None` when no release has the key.
    pub fn name(self) -> Option<&'static str> {
        self.info().map(|info| info.name)
    }

    /// Every version ever released; none for an unknown key.
    pub fn versions(self) -> VersionRange {
        self.info().map_or(VersionRange::NONE, |info| info.versions)
    }

    /// The versions with compact lengths and tagged fields (KIP-482); none for an unknown key.
    pub fn flexible_versions(self) -> VersionRange {
        self.info().map_or(VersionRange::NONE, |info| info.flexible)
    }

    /// The versions that the newest release of Kafka serves; none when it dropped the API.
    pub fn newest_kafka_versions(self) -> VersionRange {
        self.info().map_or(VersionRange::NONE, |info| info.newest_kafka)
    }

    /// Versions that the newest release offers only when unstable versions are enabled; a client should not pick them.
    pub fn unstable_versions(self) -> VersionRange {
        self.info().map_or(VersionRange::NONE, |info| info.unstable)
    }

    /// The version of the request header: 2 with a flexible version and 1 without, but 0 for ControlledShutdown 0.
    ///
    /// An unknown key or version is taken as the newest form, which is what Kafka would give it.
    pub fn request_header_version(self, version: i16) -> i16 {
        self.header(version, |info| info.request_header, 1)
    }

    /// The version of the response header: 1 with a flexible version and 0 without, but always 0 for ApiVersions, whose
    /// reader cannot know yet which version the broker chose (KIP-511).
    pub fn response_header_version(self, version: i16) -> i16 {
        self.header(version, |info| info.response_header, 0)
    }

    fn header(self, version: i16, exception: impl Fn(&ApiInfo) -> Option<(VersionRange, i16)>, base: i16) -> i16 {
        match self.info() {
            None => base + 1,
            Some(info) => match exception(info) {
                Some((versions, header)) if versions.contains(version) => header,
                _ if !info.flexible.is_empty() && version >= info.flexible.min() => base + 1,
                _ => base,
            },
        }
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&self.0.to_string()),
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}({})", self.0)
    }
}

/// Text that is neither the name nor the number of an API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownApi(String);

impl fmt::Display for UnknownApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no API is named `{}`", self.0)
    }
}

impl std::error::Error for UnknownApi {}

impl FromStr for ApiKey {
    type Err = UnknownApi;

    fn from_str(text: &str) -> Result<Self, UnknownApi> {
        if let Ok(key) = text.parse() {
            return Ok(Self(key));
        }
        let position = APIS.iter().position(|info| info.name.eq_ignore_ascii_case(text));
        position.map(|key| Self(key as i16)).ok_or_else(|| UnknownApi(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_95_apis_and_368_versions_of_them() {
        assert_eq!(ApiKey::all().len(), 95);
        assert_eq!(ApiKey::all().map(|key| key.versions().iter().count()).sum::<usize>(), 368);
        let newest = ApiKey::all().map(|key| key.newest_kafka_versions());
        assert_eq!(newest.clone().filter(|versions| !versions.is_empty()).count(), 91);
        assert_eq!(newest.map(|versions| versions.iter().count()).sum::<usize>(), 309);
    }

    #[test]
    fn header_versions_follow_the_rule_and_its_two_exceptions() {
        let headers =
            |key: ApiKey, version| (key.request_header_version(version), key.response_header_version(version));
        assert_eq!(headers(ApiKey::PRODUCE, 8), (1, 0));
        assert_eq!(headers(ApiKey::PRODUCE, 9), (2, 1));
        assert_eq!(headers(ApiKey::CONTROLLED_SHUTDOWN, 0), (0, 0));
        assert_eq!(headers(ApiKey::CONTROLLED_SHUTDOWN, 1), (1, 0));
        assert_eq!(headers(ApiKey::API_VERSIONS, 0), (1, 0));
        assert_eq!(headers(ApiKey::API_VERSIONS, 4), (2, 0));
        assert_eq!(headers(ApiKey::SASL_HANDSHAKE, 1), (1, 0));
        assert_eq!(headers(ApiKey::DESCRIBE_CLUSTER, 0), (2, 1));
    }

    #[test]
    fn an_unknown_key_survives() {
        assert_eq!(ApiKey(10_000).to_string(), "10000");
        assert_eq!("listoffsets".parse(), Ok(ApiKey::LIST_OFFSETS));
        assert_eq!("10000".parse(), Ok(ApiKey(10_000)));
        assert!("Fletch".parse::<ApiKey>().is_err());
        assert!(ApiKey(-1).versions().is_empty());
    }
}
