use std::collections::BTreeMap;

use bytes::Bytes;
use milena_messages::api_versions::response::ApiVersion;
use milena_messages::{ApiKey, ApiVersionsResponse, ErrorCode, Request, VersionRange};

use crate::error::{ConnectionError, Result};
use crate::header::response_frame;

/// What a broker speaks: for each API a range of versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiVersions(BTreeMap<ApiKey, VersionRange>);

impl ApiVersions {
    /// What the broker speaks of an API; none when it does not know it.
    pub fn of(&self, api: ApiKey) -> VersionRange {
        self.0.get(&api).copied().unwrap_or(VersionRange::NONE)
    }

    /// Every API that the broker named, in the order of the keys; also those that no release we know has.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ApiKey, VersionRange)> + '_ {
        self.0.iter().map(|(api, versions)| (*api, *versions))
    }

    /// Whether the broker named none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The version to speak: the highest that both sides have and that is not marked unstable.
    ///
    /// # Errors
    /// There is none.
    pub fn pick(&self, api: ApiKey) -> Result<i16> {
        let all = api.versions();
        let unstable = api.unstable_versions();
        let ours = if unstable.is_empty() { all } else { VersionRange::new(all.min(), unstable.min() - 1) };
        let theirs = self.of(api);
        ours.highest_common(theirs).ok_or(ConnectionError::NoCommonVersion { api, ours, theirs })
    }

    /// [`ApiVersions::pick`] for the API of a request type.
    ///
    /// # Errors
    /// As [`ApiVersions::pick`].
    pub fn pick_for<R: Request>(&self) -> Result<i16> {
        self.pick(R::API_KEY)
    }
}

/// The response, as a whole frame, to ApiVersions at a version that is not served: it has the form of version 0, error 35
/// and, if there is one, the range that is served, so that the client can ask again (KIP-511).
///
/// # Errors
/// None that is known: the result is that of every function that makes a frame.
pub fn refuse_api_versions(correlation_id: i32, served: VersionRange) -> Result<Bytes> {
    let entry = ApiVersion {
        api_key: ApiKey::API_VERSIONS,
        min_version: served.min(),
        max_version: served.max(),
        ..Default::default()
    };
    let response = ApiVersionsResponse {
        error_code: ErrorCode::UNSUPPORTED_VERSION,
        api_keys: if served.is_empty() { Vec::new() } else { vec![entry] },
        ..Default::default()
    };
    response_frame(&response, 0, correlation_id)
}

/// The version in which the body of an ApiVersions response is written: the one that was asked for, but 0 when the broker
/// refused it with error 35 (KIP-511). The error code comes first in every version.
///
/// ```
/// use milena_connection::api_versions_response_version;
///
/// assert_eq!(api_versions_response_version(&[0, 35, 0, 0, 0, 0], 4), 0);
/// assert_eq!(api_versions_response_version(&[0, 0, 1, 0, 0, 0, 0, 0], 4), 4);
/// ```
pub fn api_versions_response_version(body: &[u8], asked: i16) -> i16 {
    match body.first_chunk().map(|code| ErrorCode(i16::from_be_bytes(*code))) {
        Some(ErrorCode::UNSUPPORTED_VERSION) => 0,
        _ => asked,
    }
}

impl FromIterator<(ApiKey, VersionRange)> for ApiVersions {
    fn from_iter<I: IntoIterator<Item = (ApiKey, VersionRange)>>(list: I) -> Self {
        Self(list.into_iter().filter(|(_, versions)| !versions.is_empty()).collect())
    }
}

impl From<&ApiVersionsResponse> for ApiVersions {
    fn from(response: &ApiVersionsResponse) -> Self {
        response
            .api_keys
            .iter()
            .map(|entry| (entry.api_key, VersionRange::new(entry.min_version, entry.max_version)))
            .collect()
    }
}

impl From<&ApiVersions> for Vec<ApiVersion> {
    fn from(versions: &ApiVersions) -> Self {
        let entry = |(api_key, range): (ApiKey, VersionRange)| ApiVersion {
            api_key,
            min_version: range.min(),
            max_version: range.max(),
            ..Default::default()
        };
        versions.iter().map(entry).collect()
    }
}
